//! Unpacking: what was packed with gzip or zstd, or written in UTF-16, is read as it was before, told by its first bytes and
//! not by its name.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// The marks with which text in UTF-16 begins. Some shells write what goes to a file in it.
const LITTLE: &[u8] = &[0xff, 0xfe];
const BIG: &[u8] = &[0xfe, 0xff];

/// The bytes as they were before they were packed, in UTF-8 if they begin as UTF-16 does, and whether they are others.
pub(crate) fn unpacked(input: Box<dyn Read + Send>) -> io::Result<(Box<dyn Read + Send>, bool)> {
    let (start, whole) = begun(input, &[GZIP, ZSTD, LITTLE, BIG])?;
    match &*start {
        GZIP => Ok((in_utf8(Box::new(MultiGzDecoder::new(BufReader::new(whole))))?.0, true)),
        ZSTD => Ok((in_utf8(Box::new(Zstd::new(BufReader::new(whole))))?.0, true)),
        _ => in_utf8(whole),
    }
}

/// The bytes in UTF-8, and whether they were not.
fn in_utf8(input: Box<dyn Read + Send>) -> io::Result<(Box<dyn Read + Send>, bool)> {
    let (start, mut whole) = begun(input, &[LITTLE, BIG])?;
    if [LITTLE, BIG].contains(&&*start) {
        // The mark is no part of the text.
        whole.read_exact(&mut [0; 2])?;
    }
    Ok(match &*start {
        LITTLE => (Box::new(Utf16::new(whole, u16::from_le_bytes)), true),
        BIG => (Box::new(Utf16::new(whole, u16::from_be_bytes)), true),
        _ => (whole, false),
    })
}

/// The first bytes of an input, as many as it takes to tell whether it begins with one of these, and all of it.
fn begun(mut input: Box<dyn Read + Send>, marks: &[&[u8]]) -> io::Result<(Vec<u8>, Box<dyn Read + Send>)> {
    let mut start = Vec::new();
    // No more is read than it takes to tell: what comes from a live pipe is not to wait.
    while marks.iter().any(|mark| mark.len() > start.len() && mark.starts_with(&start)) {
        let mut byte = [0];
        match input.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => start.extend_from_slice(&byte),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let whole = io::Cursor::new(start.clone()).chain(input);
    Ok((start, Box::new(whole)))
}

/// Whether these are the bytes of a packed file, or of one in UTF-16.
pub(crate) fn is_packed(bytes: &[u8]) -> bool {
    [GZIP, ZSTD, LITTLE, BIG].iter().any(|magic| bytes.starts_with(magic))
}

/// The last block of a frame, without content, and a place for the checksum of the frame.
const LAST: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

/// Frames of zstd, one after the other.
struct Zstd<R> {
    packed: R,
    frame: FrameDecoder,
    /// What went wrong, while there is still something to give that was read before.
    failed: Option<io::Error>,
}

impl<R: BufRead> Zstd<R> {
    fn new(packed: R) -> Self {
        Zstd { packed, frame: FrameDecoder::new(), failed: None }
    }

    /// Begins the next frame, if there is one. Frames that hold no data are passed over.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            if self.packed.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.frame.reset(&mut self.packed) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut (&mut self.packed).take(u64::from(length)), &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }

    /// Whether the frame is what its packer wrote, as far as it says so.
    fn check(&self) -> io::Result<()> {
        match self.frame.get_checksum_from_data() {
            Some(sum) if self.frame.get_calculated_checksum() != Some(sum) => {
                Err(io::Error::other("the checksum of a zstd frame does not fit its content"))
            }
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Only a frame that has begun is not finished.
        while !buffer.is_empty() && self.frame.can_collect() == 0 {
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            if self.frame.is_finished() {
                if self.frame.blocks_decoded() > 0 {
                    self.check()?;
                }
                if !self.begin()? {
                    return Ok(0);
                }
            }
            let one = || BlockDecodingStrategy::UptoBlocks(1);
            if let Err(error) = self.frame.decode_blocks(&mut self.packed, one()) {
                // A frame gives the last of what it holds at its end only, so it gets one: an empty block behind those that
                // are whole.
                let end = &LAST[..];
                self.frame.decode_blocks(end, one()).map_err(io::Error::other)?;
                self.failed = Some(io::Error::other(error));
            }
        }
        self.frame.read(buffer)
    }
}

/// Text in UTF-16 as UTF-8. What is no character becomes U+FFFD.
struct Utf16<R> {
    input: R,
    unit: fn([u8; 2]) -> u16,
    /// Bytes that are not read yet: the half of a unit, or of a pair of them.
    rest: Vec<u8>,
    text: io::Cursor<String>,
}

impl<R: Read> Utf16<R> {
    fn new(input: R, unit: fn([u8; 2]) -> u16) -> Self {
        Utf16 { input, unit, rest: Vec::new(), text: io::Cursor::new(String::new()) }
    }

    /// Takes what has come, up to the last whole character.
    fn take(&mut self, is_over: bool) {
        let whole = self.rest.len() / 2 * 2;
        let pairs = self.rest.get(..whole).unwrap_or_default().chunks_exact(2);
        let mut units: Vec<u16> = pairs.filter_map(|pair| Some((self.unit)(pair.try_into().ok()?))).collect();
        let is_half = |unit: &u16| (0xd800..0xdc00).contains(unit);
        if !is_over && units.last().is_some_and(is_half) {
            units.pop();
        }
        self.rest.drain(..units.len() * 2);
        let mut text: String =
            char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        if is_over && !self.rest.is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            self.rest.clear();
        }
        self.text = io::Cursor::new(text);
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.text.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let mut some = [0; 8 << 10];
            let count = self.input.read(&mut some)?;
            self.rest.extend_from_slice(some.get(..count).unwrap_or_default());
            let is_over = count == 0;
            if is_over && self.rest.is_empty() {
                return Ok(0);
            }
            self.take(is_over);
        }
    }
}
