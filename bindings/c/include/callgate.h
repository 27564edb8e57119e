/* Callgate: the doorway between a language model and the tools it may call. Made by cbindgen from bindings/c/src/border.rs;
 * docs/c.md explains it. */

#ifndef CALLGATE_H
#define CALLGATE_H

#include <stddef.h>
#include <stdint.h>

// How a call of this interface ended. Zero is good.
typedef enum callgate_status {
  // What was asked for is in `out`.
  CALLGATE_STATUS_OK = 0,
  // The request cannot be used: `out` holds `{"error": {"code", "path", "message", "help", …}}`.
  CALLGATE_STATUS_ERROR = 1,
  // A pointer is null that must not be; `out` holds the error, unless it is the one.
  CALLGATE_STATUS_NULL = 2,
  // A text is not UTF-8; `out` holds the error.
  CALLGATE_STATUS_NOT_UTF8 = 3,
  // A fault of this library; `out` holds the error. The session is closed to everything but `callgate_close`.
  CALLGATE_STATUS_INTERNAL = 4,
} callgate_status;

// One conversation: what it is read with, the response that is being read, and what came of the one before it.
//
// One thread at a time may use a session, and it may go from one thread to another. Different sessions may be used by
// different threads at the same time.
typedef struct callgate_session callgate_session;

// A text that this library made: UTF-8, with a zero behind its last byte that `length` does not count. It is freed by
// `callgate_string_free` and by nothing else.
typedef struct callgate_string {
  // The first byte; null if there is no text.
  char *data;
  // How many bytes there are.
  size_t length;
} callgate_string;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Opens a session. `options` is a JSON object of `length` bytes with any of `tools`, `dialect`, `model`, `profile`,
// `policy`, `prompt_tail`, `untrusted` and `strikes`; with no bytes everything is as in the profile `standard`. The new
// session goes to `session`; `out` gets `{"notes": […]}`.
//
// # Safety
//
// `options` points to `length` readable bytes, or is null with a length of zero. `session` and `out` are null or point to
// writable places.
enum callgate_status callgate_open(const char *options,
                                   size_t length,
                                   struct callgate_session **session,
                                   struct callgate_string *out);

// Frees a session. Null is no session and is left alone.
//
// # Safety
//
// `session` is null, or comes from `callgate_open` and has not been closed.
void callgate_close(struct callgate_session *session);

// Reads a piece of the response, cut anywhere between characters; `out` gets a list of events. The first piece after the
// end of a response begins the next one.
//
// # Safety
//
// `session` is null or open. `bytes` points to `length` readable bytes, or is null with a length of zero. `out` is null or
// points to a writable place. So it is in all functions below.
enum callgate_status callgate_push(struct callgate_session *session,
                                   const char *bytes,
                                   size_t length,
                                   struct callgate_string *out);

// Reads a piece that came as special tokens of the model's vocabulary; the knob `special` says whether that matters.
//
// # Safety
//
// As `callgate_push`.
enum callgate_status callgate_push_special(struct callgate_session *session,
                                           const char *bytes,
                                           size_t length,
                                           struct callgate_string *out);

// Passes on reasoning that the provider sent apart from the text; `out` gets a list of events.
//
// # Safety
//
// As `callgate_push`.
enum callgate_status callgate_reasoning(struct callgate_session *session,
                                        const char *bytes,
                                        size_t length,
                                        struct callgate_string *out);

// Reads structured calls of a provider from their JSON: an object is a delta of one (`index`, `id`, `name`, `arguments`,
// `done`), a list holds whole ones. `out` gets a list of events.
//
// # Safety
//
// As `callgate_push`.
enum callgate_status callgate_native(struct callgate_session *session,
                                     const char *json,
                                     size_t length,
                                     struct callgate_string *out);

// Ends the response for a reason in the provider's word (`stop`, `length`, …; no bytes if nobody said); `out` gets the
// last events, calls and rejections among them, and one that says how the response ended.
//
// # Safety
//
// As `callgate_push`.
enum callgate_status callgate_finish(struct callgate_session *session,
                                     const char *reason,
                                     size_t length,
                                     struct callgate_string *out);

// Reads a whole response at once and leaves the session as it is; `out` gets `text`, `reasoning`, `calls`, `rejected`,
// `model_error`, `findings` and `finish_reason`.
//
// # Safety
//
// As `callgate_push`; `reason` points to `reason_length` readable bytes, or is null with a length of zero.
enum callgate_status callgate_parse(struct callgate_session *session,
                                    const char *bytes,
                                    size_t length,
                                    const char *reason,
                                    size_t reason_length,
                                    struct callgate_string *out);

// `out` gets the message that tells the model what to correct in the last response, as a JSON string, or `null`.
//
// # Safety
//
// `session` is null or open. `out` is null or points to a writable place.
enum callgate_status callgate_feedback(struct callgate_session *session,
                                       struct callgate_string *out);

// `out` gets how many responses in a row were rejected and what was wrong with the last one: `count`, `left`, and where
// it was rejected `is_last`, `code`, `message` and `details`.
//
// # Safety
//
// As `callgate_feedback`.
enum callgate_status callgate_strikes(struct callgate_session *session,
                                      struct callgate_string *out);

// Makes JSON of any text; `out` gets `{"output": …, "repairs": […]}`. It needs no session.
//
// # Safety
//
// `bytes` points to `length` readable bytes, or is null with a length of zero. `out` is null or points to a writable
// place.
enum callgate_status callgate_repair(const char *bytes,
                                     size_t length,
                                     struct callgate_string *out);

// Frees a text, and leaves an empty one in its place. Null and the empty one are left alone.
//
// # Safety
//
// `string` is null or points to a text of this library or to an empty one.
void callgate_string_free(struct callgate_string *string);

// The version of this library, which nobody has to free.
const char *callgate_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CALLGATE_H */
