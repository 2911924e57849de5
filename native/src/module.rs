//! The module that Python imports, and the shield around each of its functions.

use std::ffi::c_void;
use std::os::raw::{c_char, c_int};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;

use crate::python::{given, Answer, Borrowed, Failure, Owned, PyObject, Raw};

pub type Fast = unsafe extern "C" fn(Raw, *const Raw, isize) -> Raw;

#[repr(C)]
pub struct Method {
    name: *const c_char,
    call: Option<Fast>,
    flags: c_int,
    doc: *const c_char,
}

#[repr(C)]
pub struct ModuleDef {
    base: PyObject,
    init: *mut c_void,
    index: isize,
    copy: *mut c_void,
    name: *const c_char,
    doc: *const c_char,
    size: isize,
    methods: *mut Method,
    slots: *mut c_void,
    traverse: *mut c_void,
    clear: *mut c_void,
    free: *mut c_void,
}

const FASTCALL: c_int = 0x80;
const ABI3: c_int = 3;

extern "C" {
    static mut PyExc_RuntimeError: Raw;
    static mut PyExc_ValueError: Raw;
    fn PyErr_SetString(kind: Raw, message: *const c_char);
    fn PyModule_Create2(definition: *mut ModuleDef, api: c_int) -> Raw;
    fn PyModule_AddStringConstant(module: Raw, name: *const c_char, text: *const c_char) -> c_int;
}

/// Every call from Python passes here: no panic crosses the border, errors become exceptions.
///
/// # Safety
/// `arguments` points to `count` objects that live as long as the call, as Python promises.
pub unsafe fn enter<const N: usize>(
    arguments: *const Raw,
    count: isize,
    run: fn([Borrowed<'_>; N]) -> Answer<Owned>,
) -> Raw {
    raw(shielded(|| run(given(arguments, count)?)))
}

/// What Python gets: null where an exception is set.
pub fn raw(found: Option<Owned>) -> Raw {
    found.map_or(ptr::null_mut(), Owned::into_raw)
}

/// What comes out of it; None, and an exception is set, where it fails or panics.
pub fn shielded<T>(run: impl FnOnce() -> Answer<T>) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(found)) => return Some(found),
        Ok(Err(Failure::Raised)) => {}
        Ok(Err(Failure::Unfit(why))) => unsafe {
            PyErr_SetString(PyExc_ValueError, why.as_ptr().cast())
        },
        Err(_) => unsafe {
            PyErr_SetString(
                PyExc_RuntimeError,
                "the native part failed\0".as_ptr().cast(),
            )
        },
    }
    None
}

impl Method {
    pub const fn new(name: &'static str, call: Fast, doc: &'static str) -> Method {
        Method {
            name: name.as_ptr().cast(),
            call: Some(call),
            flags: FASTCALL,
            doc: doc.as_ptr().cast(),
        }
    }

    pub const fn end() -> Method {
        Method {
            name: ptr::null(),
            call: None,
            flags: 0,
            doc: ptr::null(),
        }
    }
}

/// The module with its texts and functions; every text ends with a NUL. Called once, by the import.
pub fn module(
    name: &'static str,
    texts: &[(&'static str, &'static str)],
    methods: Vec<Method>,
) -> Raw {
    // A panic's message may quote content: nothing is written about it.
    std::panic::set_hook(Box::new(|_| {}));
    let definition = Box::new(ModuleDef {
        base: PyObject::new(),
        init: ptr::null_mut(),
        index: 0,
        copy: ptr::null_mut(),
        name: name.as_ptr().cast(),
        doc: ptr::null(),
        size: -1,
        methods: Box::leak(methods.into_boxed_slice()).as_mut_ptr(),
        slots: ptr::null_mut(),
        traverse: ptr::null_mut(),
        clear: ptr::null_mut(),
        free: ptr::null_mut(),
    });
    unsafe {
        let made = PyModule_Create2(Box::leak(definition), ABI3);
        for (name, text) in texts.iter().filter(|_| !made.is_null()) {
            PyModule_AddStringConstant(made, name.as_ptr().cast(), text.as_ptr().cast());
        }
        made
    }
}
