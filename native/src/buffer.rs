//! Memory of Python's objects that have some, without a copy.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::os::raw::{c_char, c_int};

use crate::python::{Answer, Borrowed, Failure, Raw};

/// `Py_buffer`, part of the stable ABI since 3.11.
#[repr(C)]
struct View {
    content: *mut c_void,
    owner: Raw,
    size: isize,
    item_size: isize,
    is_read_only: c_int,
    dimensions: c_int,
    format: *mut c_char,
    shape: *mut isize,
    strides: *mut isize,
    suboffsets: *mut isize,
    internal: *mut c_void,
}

const SIMPLE: c_int = 0;

extern "C" {
    fn PyObject_GetBuffer(object: Raw, view: *mut View, flags: c_int) -> c_int;
    fn PyBuffer_Release(view: *mut View);
}

/// Memory of an object that has some: of bytes, of a part of a mapping. It stays while this lives.
pub struct Buffer<'a>(View, PhantomData<&'a ()>);

impl<'a> Borrowed<'a> {
    pub fn buffer(self) -> Answer<Buffer<'a>> {
        let mut view = std::mem::MaybeUninit::<View>::zeroed();
        match unsafe { PyObject_GetBuffer(self.raw(), view.as_mut_ptr(), SIMPLE) } {
            0 => Ok(Buffer(unsafe { view.assume_init() }, PhantomData)),
            _ => Err(Failure::Raised),
        }
    }
}

impl Buffer<'_> {
    /// Nobody may write to it meanwhile, as with every reader of such memory.
    pub fn content(&self) -> &[u8] {
        match self.0.size {
            0 => &[],
            size => unsafe { std::slice::from_raw_parts(self.0.content.cast(), size as usize) },
        }
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        unsafe { PyBuffer_Release(&mut self.0) }
    }
}
