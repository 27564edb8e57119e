//! The border: C's pointers become Rust's values and back, and nothing unwinds across. The only place with `unsafe`.

// Names and types are C's here, and each crossing is an `extern` function.
#![allow(unsafe_code, non_camel_case_types)]

use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

use callgate_core::Finding;
use callgate_core::internal::batch::Conversation;
use serde_json::json;

use crate::requests::{open, repaired, unusable};

/// How a call of this interface ended. Zero is good.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum callgate_status {
    /// What was asked for is in `out`.
    Ok = 0,
    /// The request cannot be used: `out` holds `{"error": {"code", "path", "message", "help", …}}`.
    Error = 1,
    /// A pointer is null that must not be; `out` holds the error, unless it is the one.
    Null = 2,
    /// A text is not UTF-8; `out` holds the error.
    NotUtf8 = 3,
    /// A fault of this library; `out` holds the error. The session is closed to everything but `callgate_close`.
    Internal = 4,
}

/// A text that this library made: UTF-8, with a zero behind its last byte that `length` does not count. It is freed by
/// `callgate_string_free` and by nothing else.
#[repr(C)]
#[derive(Debug)]
pub struct callgate_string {
    /// The first byte; null if there is no text.
    pub data: *mut c_char,
    /// How many bytes there are.
    pub length: usize,
}

/// One conversation: what it is read with, the response that is being read, and what came of the one before it.
///
/// One thread at a time may use a session, and it may go from one thread to another. Different sessions may be used by
/// different threads at the same time.
#[derive(Debug)]
pub struct callgate_session {
    /// Empty after a fault of this library: what was being read is not certain any more.
    conversation: Option<Conversation>,
}

/// Why nothing came of a call.
type Failure = (callgate_status, Finding);

/// What a call gives, or why it gives nothing.
type Answer = Result<String, Failure>;

/// Opens a session. `options` is a JSON object of `length` bytes with any of `tools`, `dialect`, `model`, `profile`,
/// `policy`, `prompt_tail`, `untrusted` and `strikes`; with no bytes everything is as in the profile `standard`. The new
/// session goes to `session`; `out` gets `{"notes": […]}`.
///
/// # Safety
///
/// `options` points to `length` readable bytes, or is null with a length of zero. `session` and `out` are null or point to
/// writable places.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_open(
    options: *const c_char,
    length: usize,
    session: *mut *mut callgate_session,
    out: *mut callgate_string,
) -> callgate_status {
    // SAFETY: the caller says that the bytes can be read while this call runs.
    let options = unsafe { text(options, length) };
    let mut opened = null_mut();
    let status = cross(out, || {
        if session.is_null() {
            return Err(null("session"));
        }
        let conversation = open(options?).map_err(refused)?;
        let notes = json!({"notes": conversation.notes()}).to_string();
        opened = Box::into_raw(Box::new(callgate_session { conversation: Some(conversation) }));
        Ok(notes)
    });
    if !session.is_null() {
        // SAFETY: the caller says that it can be written to.
        unsafe { session.write(opened) };
    }
    status
}

/// Frees a session. Null is no session and is left alone.
///
/// # Safety
///
/// `session` is null, or comes from `callgate_open` and has not been closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_close(session: *mut callgate_session) {
    if !session.is_null() {
        // SAFETY: it was made by `Box::into_raw` in `callgate_open`, and the caller gives it up here.
        let session = unsafe { Box::from_raw(session) };
        // What is dropped must not unwind into C either.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(session)));
    }
}

/// Reads a piece of the response, cut anywhere between characters; `out` gets a list of events. The first piece after the
/// end of a response begins the next one.
///
/// # Safety
///
/// `session` is null or open. `bytes` points to `length` readable bytes, or is null with a length of zero. `out` is null or
/// points to a writable place. So it is in all functions below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_push(
    session: *mut callgate_session,
    bytes: *const c_char,
    length: usize,
    out: *mut callgate_string,
) -> callgate_status {
    // SAFETY: the caller keeps to what is said above.
    unsafe { feed(session, (bytes, length), out, |conversation, text| Ok(conversation.push(text))) }
}

/// Reads a piece that came as special tokens of the model's vocabulary; the knob `special` says whether that matters.
///
/// # Safety
///
/// As `callgate_push`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_push_special(
    session: *mut callgate_session,
    bytes: *const c_char,
    length: usize,
    out: *mut callgate_string,
) -> callgate_status {
    // SAFETY: the caller keeps to what is said of `callgate_push`.
    unsafe { feed(session, (bytes, length), out, |conversation, text| Ok(conversation.push_special(text))) }
}

/// Passes on reasoning that the provider sent apart from the text; `out` gets a list of events.
///
/// # Safety
///
/// As `callgate_push`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_reasoning(
    session: *mut callgate_session,
    bytes: *const c_char,
    length: usize,
    out: *mut callgate_string,
) -> callgate_status {
    // SAFETY: the caller keeps to what is said of `callgate_push`.
    unsafe { feed(session, (bytes, length), out, |conversation, text| Ok(conversation.reasoning(text))) }
}

/// Reads structured calls of a provider from their JSON: an object is a delta of one (`index`, `id`, `name`, `arguments`,
/// `done`), a list holds whole ones. `out` gets a list of events.
///
/// # Safety
///
/// As `callgate_push`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_native(
    session: *mut callgate_session,
    json: *const c_char,
    length: usize,
    out: *mut callgate_string,
) -> callgate_status {
    // SAFETY: the caller keeps to what is said of `callgate_push`.
    unsafe { feed(session, (json, length), out, |conversation, json| conversation.native(json)) }
}

/// Ends the response for a reason in the provider's word (`stop`, `length`, …; no bytes if nobody said); `out` gets the
/// last events, calls and rejections among them, and one that says how the response ended.
///
/// # Safety
///
/// As `callgate_push`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_finish(
    session: *mut callgate_session,
    reason: *const c_char,
    length: usize,
    out: *mut callgate_string,
) -> callgate_status {
    // SAFETY: the caller keeps to what is said of `callgate_push`.
    unsafe { feed(session, (reason, length), out, |conversation, reason| conversation.finish(reason)) }
}

/// Reads a whole response at once and leaves the session as it is; `out` gets `text`, `reasoning`, `calls`, `rejected`,
/// `model_error`, `findings` and `finish_reason`.
///
/// # Safety
///
/// As `callgate_push`; `reason` points to `reason_length` readable bytes, or is null with a length of zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_parse(
    session: *mut callgate_session,
    bytes: *const c_char,
    length: usize,
    reason: *const c_char,
    reason_length: usize,
    out: *mut callgate_string,
) -> callgate_status {
    // SAFETY: the caller says that the bytes can be read while this call runs.
    let reason = unsafe { text(reason, reason_length) };
    let mut failed = None;
    // SAFETY: the caller keeps to what is said of `callgate_push`.
    let status = unsafe {
        feed(session, (bytes, length), out, |conversation, text| match reason {
            Ok(reason) => conversation.parse(text, reason),
            Err((status, finding)) => {
                failed = Some(status);
                Err(finding)
            }
        })
    };
    failed.unwrap_or(status)
}

/// `out` gets the message that tells the model what to correct in the last response, as a JSON string, or `null`.
///
/// # Safety
///
/// `session` is null or open. `out` is null or points to a writable place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_feedback(
    session: *mut callgate_session,
    out: *mut callgate_string,
) -> callgate_status {
    // SAFETY: the caller keeps to what is said of `callgate_push`; there is no text.
    unsafe { feed(session, (std::ptr::null(), 0), out, |conversation, _| conversation.feedback()) }
}

/// `out` gets how many responses in a row were rejected and what was wrong with the last one: `count`, `left`, and where
/// it was rejected `is_last`, `code`, `message` and `details`.
///
/// # Safety
///
/// As `callgate_feedback`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_strikes(
    session: *mut callgate_session,
    out: *mut callgate_string,
) -> callgate_status {
    // SAFETY: the caller keeps to what is said of `callgate_push`; there is no text.
    unsafe { feed(session, (std::ptr::null(), 0), out, |conversation, _| conversation.strikes()) }
}

/// Makes JSON of any text; `out` gets `{"output": …, "repairs": […]}`. It needs no session.
///
/// # Safety
///
/// `bytes` points to `length` readable bytes, or is null with a length of zero. `out` is null or points to a writable
/// place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_repair(
    bytes: *const c_char,
    length: usize,
    out: *mut callgate_string,
) -> callgate_status {
    // SAFETY: the caller says that the bytes can be read while this call runs.
    let text = unsafe { text(bytes, length) };
    cross(out, || repaired(text?).map_err(refused))
}

/// Frees a text, and leaves an empty one in its place. Null and the empty one are left alone.
///
/// # Safety
///
/// `string` is null or points to a text of this library or to an empty one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callgate_string_free(string: *mut callgate_string) {
    // SAFETY: it is null, or the caller says that it can be read and written.
    let Some(string) = (unsafe { string.as_mut() }) else { return };
    let (data, length) =
        (std::mem::replace(&mut string.data, null_mut()), std::mem::take(&mut string.length));
    if !data.is_null() {
        let bytes = std::ptr::slice_from_raw_parts_mut(data.cast::<u8>(), length + 1);
        // SAFETY: `give` made it from a box of this length, the zero included, and nobody has it any more.
        drop(unsafe { Box::from_raw(bytes) });
    }
}

/// The version of this library, which nobody has to free.
#[unsafe(no_mangle)]
pub extern "C" fn callgate_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    CStr::from_bytes_with_nul(VERSION.as_bytes()).map_or(c"".as_ptr(), CStr::as_ptr)
}

/// Lets a session read a text.
///
/// # Safety
///
/// As `callgate_push` says.
unsafe fn feed(
    session: *mut callgate_session,
    (bytes, length): (*const c_char, usize),
    out: *mut callgate_string,
    ask: impl FnOnce(&mut Conversation, &str) -> Result<String, Finding>,
) -> callgate_status {
    // SAFETY: it is null, or the caller says that it is open and that no other thread uses it.
    let session = unsafe { session.as_mut() };
    // SAFETY: the caller says that the bytes can be read while this call runs.
    let text = unsafe { text(bytes, length) };
    cross(out, || {
        let session = session.ok_or_else(|| null("session"))?;
        let text = text?;
        // Where this unwinds, the session stays without a conversation.
        let mut conversation = session.conversation.take().ok_or_else(|| {
            refused(unusable("the session is closed, because an error of the library ended it"))
        })?;
        let answer = ask(&mut conversation, text);
        session.conversation = Some(conversation);
        answer.map_err(refused)
    })
}

/// Does what is asked, writes what came of it and says how it ended. Nothing unwinds out of here.
fn cross(out: *mut callgate_string, ask: impl FnOnce() -> Answer) -> callgate_status {
    // SAFETY: it is null, or the caller says that it can be written to.
    let Some(out) = (unsafe { out.as_mut() }) else { return callgate_status::Null };
    *out = callgate_string { data: null_mut(), length: 0 };
    let done = catch_unwind(AssertUnwindSafe(|| match ask() {
        Ok(answer) => (callgate_status::Ok, give(answer)),
        Err((status, finding)) => (status, give(json!({"error": finding}).to_string())),
    }));
    let (status, text) = done.unwrap_or_else(|_| {
        let error = json!({"code": "internal", "path": "", "message": "a fault of the library", "help": "Close the session and report this, please."});
        (callgate_status::Internal, give(json!({"error": error}).to_string()))
    });
    *out = text;
    status
}

/// A text that C may keep.
fn give(text: String) -> callgate_string {
    let length = text.len();
    let mut bytes = text.into_bytes();
    bytes.push(0);
    let data = Box::into_raw(bytes.into_boxed_slice()).cast::<c_char>();
    callgate_string { data, length }
}

/// The text of so many bytes.
///
/// # Safety
///
/// `bytes` points to `length` bytes that can be read and do not change as long as the text is used, or is null.
unsafe fn text<'a>(bytes: *const c_char, length: usize) -> Result<&'a str, Failure> {
    if bytes.is_null() {
        return if length == 0 { Ok("") } else { Err(null("text")) };
    }
    if length > isize::MAX as usize {
        return Err(refused(unusable("the length is more than any text has")));
    }
    // SAFETY: the caller says so, the pointer is not null, and the length is one that a slice can have.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), length) };
    std::str::from_utf8(bytes).map_err(|error| {
        let message = format!("byte {} of the text is not UTF-8", error.valid_up_to());
        let finding = unusable(&message).help("Give UTF-8, cut between characters.");
        (callgate_status::NotUtf8, finding)
    })
}

fn refused(finding: Finding) -> Failure {
    (callgate_status::Error, finding)
}

fn null(what: &str) -> Failure {
    (callgate_status::Null, unusable(&format!("the pointer `{what}` is null")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_unwinds_across_the_border_and_the_session_is_closed_behind_it() {
        std::panic::set_hook(Box::new(|_| {}));
        let mut session = null_mut();
        let mut out = callgate_string { data: null_mut(), length: 0 };
        // SAFETY: both places are this function's own, and there are no options.
        let status = unsafe { callgate_open(std::ptr::null(), 0, &raw mut session, &raw mut out) };
        assert_eq!(status, callgate_status::Ok);
        // SAFETY: the text comes from the call above; so do those below.
        unsafe { callgate_string_free(&raw mut out) };
        let nothing = (std::ptr::null(), 0);
        // SAFETY: the session is open.
        let status = unsafe { feed(session, nothing, &raw mut out, |_, _| std::panic::panic_any("a fault")) };
        assert_eq!(status, callgate_status::Internal);
        // SAFETY: as above.
        unsafe { callgate_string_free(&raw mut out) };
        // SAFETY: the session is open.
        let status = unsafe { callgate_feedback(session, &raw mut out) };
        assert_eq!(status, callgate_status::Error);
        // SAFETY: as above.
        unsafe { callgate_string_free(&raw mut out) };
        // SAFETY: the session is open, and not used any more.
        unsafe { callgate_close(session) };
    }
}
