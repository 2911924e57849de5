//! The border to Python: what is used of its stable ABI (3.11 and later), and safe wrappers.
//!
//! Written out instead of taken from a binding crate: forty lines of declarations that never change
//! are less to trust, to fetch and to build than a dozen crates.

use std::ffi::{c_void, CStr};
use std::marker::PhantomData;
use std::os::raw::{c_char, c_int, c_longlong};
use std::ptr::{self, NonNull};

#[repr(C)]
pub struct PyObject {
    references: isize,
    kind: *mut c_void,
}

impl PyObject {
    /// The head of an object that is written out here.
    pub fn new() -> PyObject {
        PyObject {
            references: 1,
            kind: ptr::null_mut(),
        }
    }
}

pub type Raw = *mut PyObject;

extern "C" {
    static mut _Py_NoneStruct: PyObject;
    fn Py_IncRef(object: Raw);
    fn Py_DecRef(object: Raw);
    fn PyErr_Clear();
    fn PyErr_Occurred() -> Raw;
    fn PyObject_GetAttr(object: Raw, name: Raw) -> Raw;
    fn PyObject_CallObject(callable: Raw, arguments: Raw) -> Raw;
    fn PyObject_IsTrue(object: Raw) -> c_int;
    fn PyUnicode_AsUTF8AndSize(object: Raw, size: *mut isize) -> *const c_char;
    fn PyUnicode_GetLength(object: Raw) -> isize;
    fn PyUnicode_InternFromString(text: *const c_char) -> Raw;
    fn PyUnicode_FromStringAndSize(text: *const c_char, size: isize) -> Raw;
    fn PyBytes_AsStringAndSize(object: Raw, at: *mut *mut c_char, size: *mut isize) -> c_int;
    fn PyBytes_FromStringAndSize(bytes: *const c_char, size: isize) -> Raw;
    fn PyLong_AsLongLong(object: Raw) -> c_longlong;
    fn PyLong_FromSsize_t(value: isize) -> Raw;
    fn PyList_New(size: isize) -> Raw;
    fn PyList_Size(list: Raw) -> isize;
    fn PyList_GetItem(list: Raw, at: isize) -> Raw;
    fn PyList_Append(list: Raw, item: Raw) -> c_int;
    fn PyTuple_New(size: isize) -> Raw;
    fn PyTuple_Size(tuple: Raw) -> isize;
    fn PyTuple_GetItem(tuple: Raw, at: isize) -> Raw;
    fn PyTuple_SetItem(tuple: Raw, at: isize, item: Raw) -> c_int;
    fn PyCapsule_New(
        pointer: *mut c_void,
        name: *const c_char,
        destroy: Option<unsafe extern "C" fn(Raw)>,
    ) -> Raw;
    fn PyCapsule_GetPointer(capsule: Raw, name: *const c_char) -> *mut c_void;
}

/// A Python exception is set, or (`Unfit`) the value is none that the native part reads.
#[derive(Debug)]
pub enum Failure {
    Raised,
    Unfit(&'static str),
}

pub type Answer<T> = Result<T, Failure>;

/// A reference that lives as long as the call or the object it was taken from.
#[derive(Clone, Copy)]
pub struct Borrowed<'a>(NonNull<PyObject>, PhantomData<&'a ()>);

/// A reference of our own.
pub struct Owned(NonNull<PyObject>);

impl Drop for Owned {
    fn drop(&mut self) {
        unsafe { Py_DecRef(self.0.as_ptr()) }
    }
}

impl Owned {
    /// # Safety
    /// `object` is a new reference, or null with an exception set.
    unsafe fn take(object: Raw) -> Answer<Owned> {
        NonNull::new(object).map(Owned).ok_or(Failure::Raised)
    }

    pub fn get(&self) -> Borrowed<'_> {
        Borrowed(self.0, PhantomData)
    }

    pub fn into_raw(self) -> Raw {
        let raw = self.0.as_ptr();
        std::mem::forget(self);
        raw
    }

    #[allow(unused_unsafe)] // older compilers want it
    pub fn none() -> Owned {
        let none = unsafe { ptr::addr_of_mut!(_Py_NoneStruct) };
        unsafe { Py_IncRef(none) };
        Owned(NonNull::new(none).expect("None is an object"))
    }

    pub fn bytes(content: &[u8]) -> Answer<Owned> {
        unsafe {
            Owned::take(PyBytes_FromStringAndSize(
                content.as_ptr().cast(),
                content.len() as isize,
            ))
        }
    }

    pub fn integer(value: usize) -> Answer<Owned> {
        unsafe { Owned::take(PyLong_FromSsize_t(value as isize)) }
    }

    pub fn interned(name: &CStr) -> Answer<Owned> {
        unsafe { Owned::take(PyUnicode_InternFromString(name.as_ptr())) }
    }

    /// An empty list. One with places to fill would be seen by Python code that runs meanwhile.
    pub fn list() -> Answer<Owned> {
        unsafe { Owned::take(PyList_New(0)) }
    }

    pub fn append(&self, item: &Owned) -> Answer<()> {
        match unsafe { PyList_Append(self.0.as_ptr(), item.0.as_ptr()) } {
            0 => Ok(()),
            _ => Err(Failure::Raised),
        }
    }

    pub fn tuple<const N: usize>(items: [Owned; N]) -> Answer<Owned> {
        let made = unsafe { Owned::take(PyTuple_New(N as isize))? };
        for (at, item) in items.into_iter().enumerate() {
            if unsafe { PyTuple_SetItem(made.0.as_ptr(), at as isize, item.into_raw()) } != 0 {
                return Err(Failure::Raised);
            }
        }
        Ok(made)
    }

    /// Give a value to Python, which drops it when it is no longer used.
    pub fn capsule<T: Capsule>(value: T) -> Answer<Owned> {
        let pointer = Box::into_raw(Box::new(value));
        let made = unsafe {
            Owned::take(PyCapsule_New(
                pointer.cast(),
                T::NAME.as_ptr(),
                Some(destroy::<T>),
            ))
        };
        if made.is_err() {
            drop(unsafe { Box::from_raw(pointer) });
        }
        made
    }
}

/// What may be handed to Python as a capsule, under a name of its own.
pub trait Capsule {
    const NAME: &'static CStr;
}

unsafe extern "C" fn destroy<T: Capsule>(capsule: Raw) {
    let pointer: *mut T = PyCapsule_GetPointer(capsule, T::NAME.as_ptr()).cast();
    if !pointer.is_null() {
        drop(Box::from_raw(pointer));
    }
}

impl<'a> Borrowed<'a> {
    /// # Safety
    /// `object` lives as long as 'a, or is null with an exception set.
    unsafe fn take(object: Raw) -> Answer<Borrowed<'a>> {
        NonNull::new(object)
            .map(|object| Borrowed(object, PhantomData))
            .ok_or(Failure::Raised)
    }

    pub fn raw(self) -> Raw {
        self.0.as_ptr()
    }

    pub fn keep(self) -> Owned {
        unsafe { Py_IncRef(self.raw()) };
        Owned(self.0)
    }

    #[allow(unused_unsafe)] // older compilers want it
    pub fn is_none(self) -> bool {
        ptr::eq(self.raw(), unsafe { ptr::addr_of!(_Py_NoneStruct) })
    }

    pub fn is_true(self) -> Answer<bool> {
        match unsafe { PyObject_IsTrue(self.raw()) } {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Failure::Raised),
        }
    }

    pub fn attribute(self, name: &Owned) -> Answer<Owned> {
        unsafe { Owned::take(PyObject_GetAttr(self.raw(), name.0.as_ptr())) }
    }

    pub fn call<const N: usize>(self, arguments: [Owned; N]) -> Answer<Owned> {
        let arguments = Owned::tuple(arguments)?;
        unsafe { Owned::take(PyObject_CallObject(self.raw(), arguments.0.as_ptr())) }
    }

    /// UTF-8 of a `str`; of one with lone surrogates there is none.
    pub fn text(self) -> Option<&'a [u8]> {
        let mut size = 0;
        let at = unsafe { PyUnicode_AsUTF8AndSize(self.raw(), &mut size) };
        if at.is_null() {
            unsafe { PyErr_Clear() };
            return None;
        }
        // Kept by the string object for as long as it lives.
        Some(unsafe { std::slice::from_raw_parts(at.cast(), size as usize) })
    }

    /// Characters of a `str`.
    pub fn characters(self) -> Answer<usize> {
        usize::try_from(unsafe { PyUnicode_GetLength(self.raw()) }).map_err(|_| Failure::Raised)
    }

    pub fn bytes(self) -> Answer<&'a [u8]> {
        let (mut at, mut size) = (ptr::null_mut(), 0);
        match unsafe { PyBytes_AsStringAndSize(self.raw(), &mut at, &mut size) } {
            0 => Ok(unsafe { std::slice::from_raw_parts(at.cast(), size as usize) }),
            _ => Err(Failure::Raised),
        }
    }

    /// An integer that fits; None for any other value.
    pub fn integer(self) -> Option<i64> {
        let value = unsafe { PyLong_AsLongLong(self.raw()) };
        if value == -1 && unsafe { !PyErr_Occurred().is_null() } {
            unsafe { PyErr_Clear() };
            return None;
        }
        Some(value)
    }

    pub fn list_size(self) -> Answer<usize> {
        usize::try_from(unsafe { PyList_Size(self.raw()) }).map_err(|_| Failure::Raised)
    }

    /// A reference of our own: Python code that runs meanwhile may take the item out of the list.
    pub fn list_item(self, at: usize) -> Answer<Owned> {
        let item: Borrowed<'_> =
            unsafe { Borrowed::take(PyList_GetItem(self.raw(), at as isize))? };
        Ok(item.keep())
    }

    pub fn tuple_size(self) -> Answer<usize> {
        usize::try_from(unsafe { PyTuple_Size(self.raw()) }).map_err(|_| Failure::Raised)
    }

    pub fn tuple_item(self, at: usize) -> Answer<Borrowed<'a>> {
        unsafe { Borrowed::take(PyTuple_GetItem(self.raw(), at as isize)) }
    }

    pub fn capsule<T: Capsule>(self) -> Answer<&'a T> {
        let pointer = unsafe { PyCapsule_GetPointer(self.raw(), T::NAME.as_ptr()) };
        unsafe { pointer.cast::<T>().as_ref() }.ok_or(Failure::Raised)
    }
}

pub fn string(content: &[u8]) -> Answer<Owned> {
    unsafe {
        Owned::take(PyUnicode_FromStringAndSize(
            content.as_ptr().cast(),
            content.len() as isize,
        ))
    }
}

/// # Safety
/// `arguments` points to `count` objects that live as long as 'a, the call.
pub unsafe fn given<'a, const N: usize>(
    arguments: *const Raw,
    count: isize,
) -> Answer<[Borrowed<'a>; N]> {
    if count != N as isize {
        return Err(Failure::Unfit("another number of arguments\0"));
    }
    let mut given = [Borrowed(NonNull::dangling(), PhantomData); N];
    for (at, place) in given.iter_mut().enumerate() {
        *place = Borrowed::take(*arguments.add(at))?;
    }
    Ok(given)
}
