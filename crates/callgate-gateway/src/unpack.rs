//! Unpacking: bodies that clients send compressed, up to a limit on what comes out.

use std::io::Read;

use axum::http::header::{CONTENT_ENCODING, HeaderMap};

use crate::fault::Fault;

/// The body as it was before it was packed.
pub(crate) fn unpack(headers: &HeaderMap, body: &[u8], most: usize) -> Result<Option<Vec<u8>>, Fault> {
    let encoding = headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or("identity");
    let broken =
        |error: &dyn std::fmt::Display| Fault::bad_request(format!("the body is no {encoding}: {error}"));
    match encoding.trim().to_ascii_lowercase().as_str() {
        "" | "identity" => Ok(None),
        "gzip" | "x-gzip" => limited(flate2::read::MultiGzDecoder::new(body), most, &broken).map(Some),
        "deflate" => limited(flate2::read::ZlibDecoder::new(body), most, &broken).map(Some),
        "zstd" => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(body).map_err(|error| broken(&error))?;
            limited(decoder, most, &broken).map(Some)
        }
        other => Err(Fault::new(
            415,
            "unknown-encoding",
            format!("bodies in {other:?} are not read; gzip, deflate and zstd are"),
        )),
    }
}

fn limited(
    reader: impl Read,
    most: usize,
    broken: &dyn Fn(&dyn std::fmt::Display) -> Fault,
) -> Result<Vec<u8>, Fault> {
    let mut body = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    reader.take(limit).read_to_end(&mut body).map_err(|error| broken(&error))?;
    match body.len() > most {
        true => Err(too_large(most)),
        false => Ok(body),
    }
}

/// The fault of a body that is too large.
pub(crate) fn too_large(most: usize) -> Fault {
    Fault::new(
        413,
        "too-large",
        format!("the body is larger than {most} bytes; `limits.body` sets the limit"),
    )
}
