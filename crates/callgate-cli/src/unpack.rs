//! Unpacking: what was packed with gzip or zstd is read as it was before, told by its first bytes and not by its name.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The bytes as they were before they were packed, and whether they were.
pub(crate) fn unpacked(mut input: Box<dyn Read + Send>) -> io::Result<(Box<dyn Read + Send>, bool)> {
    let mut start = Vec::new();
    // No more is read than it takes to tell: what comes from a live pipe is not to wait.
    while [GZIP, ZSTD].iter().any(|magic| magic.len() > start.len() && magic.starts_with(&start)) {
        let mut byte = [0];
        match input.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => start.extend_from_slice(&byte),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let is_gzip = start == GZIP;
    let is_zstd = start == ZSTD;
    let whole = io::Cursor::new(start).chain(input);
    if is_gzip {
        return Ok((Box::new(MultiGzDecoder::new(BufReader::new(whole))), true));
    }
    if is_zstd {
        return Ok((Box::new(Zstd::new(BufReader::new(whole))), true));
    }
    Ok((Box::new(whole), false))
}

/// Whether these are the bytes of a packed file.
pub(crate) fn is_packed(bytes: &[u8]) -> bool {
    [GZIP, ZSTD].iter().any(|magic| bytes.starts_with(magic))
}

/// Frames of zstd, one after the other.
struct Zstd<R> {
    packed: R,
    frame: FrameDecoder,
}

impl<R: BufRead> Zstd<R> {
    fn new(packed: R) -> Self {
        Zstd { packed, frame: FrameDecoder::new() }
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
            if self.frame.is_finished() {
                if self.frame.blocks_decoded() > 0 {
                    self.check()?;
                }
                if !self.begin()? {
                    return Ok(0);
                }
            }
            let some = BlockDecodingStrategy::UptoBlocks(1);
            self.frame.decode_blocks(&mut self.packed, some).map_err(io::Error::other)?;
        }
        self.frame.read(buffer)
    }
}
