//! Calls that let other threads of Python run while they work.
//!
//! Where Python has ended in the meantime, `PyEval_RestoreThread` ends the thread (up to 3.13) by
//! unwinding its stack, which a Rust frame with something to clean up or to catch answers with an
//! abort of the process. So `call` is a plain function of C with nothing to drop, and what it calls
//! catches its own panics. A job that is left behind then is lost, with the thread.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;

use crate::module::{raw, shielded};
use crate::python::{given, Answer, Borrowed, Owned, Raw};

extern "C" {
    fn PyEval_SaveThread() -> *mut c_void;
    fn PyEval_RestoreThread(state: *mut c_void);
}

/// A call in three steps, of which `work` touches no object.
pub trait Job<'a, const N: usize>: Sized {
    fn begin(given: [Borrowed<'a>; N]) -> Answer<Self>;
    /// Whether others are woken for it.
    fn is_long(&self) -> bool;
    fn work(&mut self);
    fn end(self) -> Answer<Owned>;
}

/// A function for Python's table of methods.
///
/// # Safety
/// `arguments` points to `count` objects that live as long as the call, as Python promises.
pub unsafe extern "C" fn call<'a, T: Job<'a, N>, const N: usize>(
    _: Raw,
    arguments: *const Raw,
    count: isize,
) -> Raw {
    let mut place = MaybeUninit::<T>::uninit();
    let job = place.as_mut_ptr();
    match begin::<T, N>(job, arguments, count) {
        BEGUN => end::<T, N>(job, work::<T, N>(job)),
        BEGUN_LONG => {
            let state = PyEval_SaveThread();
            let is_done = work::<T, N>(job);
            PyEval_RestoreThread(state);
            end::<T, N>(job, is_done)
        }
        _ => ptr::null_mut(),
    }
}

const FAILED: u8 = 0;
const BEGUN: u8 = 1;
const BEGUN_LONG: u8 = 2;

#[inline(never)]
unsafe extern "C" fn begin<'a, T: Job<'a, N>, const N: usize>(
    place: *mut T,
    arguments: *const Raw,
    count: isize,
) -> u8 {
    match shielded(|| T::begin(given(arguments, count)?)) {
        None => FAILED,
        Some(job) => {
            let how = if job.is_long() { BEGUN_LONG } else { BEGUN };
            place.write(job);
            how
        }
    }
}

/// False where it panicked.
#[inline(never)]
unsafe extern "C" fn work<'a, T: Job<'a, N>, const N: usize>(job: *mut T) -> bool {
    catch_unwind(AssertUnwindSafe(|| (*job).work())).is_ok()
}

#[inline(never)]
unsafe extern "C" fn end<'a, T: Job<'a, N>, const N: usize>(job: *mut T, is_done: bool) -> Raw {
    raw(shielded(|| {
        let job = job.read();
        assert!(is_done);
        job.end()
    }))
}
