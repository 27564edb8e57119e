//! The structures of the Arrow C data interface, as its specification writes them.

use std::ffi::{CStr, c_char, c_int, c_void};

/// What a capsule with a schema is called.
pub(super) const SCHEMA: &CStr = c"arrow_schema";
/// What a capsule with an array is called.
pub(super) const ARRAY: &CStr = c"arrow_array";
/// What a capsule with a stream of arrays is called.
pub(super) const STREAM: &CStr = c"arrow_array_stream";

/// A column may hold nulls.
pub(super) const NULLABLE: i64 = 2;

#[repr(C)]
pub(super) struct ArrowSchema {
    pub(super) format: *const c_char,
    pub(super) name: *const c_char,
    pub(super) metadata: *const c_char,
    pub(super) flags: i64,
    pub(super) n_children: i64,
    pub(super) children: *mut *mut ArrowSchema,
    pub(super) dictionary: *mut ArrowSchema,
    pub(super) release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    pub(super) private_data: *mut c_void,
}

#[repr(C)]
pub(super) struct ArrowArray {
    pub(super) length: i64,
    pub(super) null_count: i64,
    pub(super) offset: i64,
    pub(super) n_buffers: i64,
    pub(super) n_children: i64,
    pub(super) buffers: *mut *const c_void,
    pub(super) children: *mut *mut ArrowArray,
    pub(super) dictionary: *mut ArrowArray,
    pub(super) release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    pub(super) private_data: *mut c_void,
}

#[repr(C)]
pub(super) struct ArrowArrayStream {
    pub(super) get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    pub(super) get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    pub(super) get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    pub(super) release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    pub(super) private_data: *mut c_void,
}

impl ArrowSchema {
    /// A place for a schema that somebody else fills.
    pub(super) fn empty() -> Self {
        ArrowSchema {
            format: std::ptr::null(),
            name: std::ptr::null(),
            metadata: std::ptr::null(),
            flags: 0,
            n_children: 0,
            children: std::ptr::null_mut(),
            dictionary: std::ptr::null_mut(),
            release: None,
            private_data: std::ptr::null_mut(),
        }
    }
}

impl ArrowArray {
    /// A place for an array that somebody else fills; also what ends a stream.
    pub(super) fn empty() -> Self {
        ArrowArray {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: std::ptr::null_mut(),
            children: std::ptr::null_mut(),
            dictionary: std::ptr::null_mut(),
            release: None,
            private_data: std::ptr::null_mut(),
        }
    }
}

// Whoever holds one of these calls its own `release` when it is dropped, so that nothing of a producer leaks.
impl Drop for ArrowSchema {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the producer set it, it has not been called, and the structure is where the producer was told.
            unsafe { release(self) };
        }
    }
}

impl Drop for ArrowArray {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: as above.
            unsafe { release(self) };
        }
    }
}

impl Drop for ArrowArrayStream {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: as above.
            unsafe { release(self) };
        }
    }
}
