//! The bytes of a file, which several threads read concurrently.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::sync::Arc;

/// A file, or the contents of one that cannot be read twice. A clone has the same bytes.
#[derive(Clone, Debug)]
pub(super) enum Bytes {
    /// A regular file.
    File(Arc<File>),
    /// What was read from a stream, or decoded from text.
    Memory(Arc<Vec<u8>>),
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Memory(Arc::new(bytes))
    }
}

impl Bytes {
    /// Fills `into` with the bytes from `at` on.
    pub(super) fn read_exact_at(&self, mut at: u64, mut into: &mut [u8]) -> io::Result<()> {
        while !into.is_empty() {
            match self.read_at(at, into) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    at += count as u64;
                    into = &mut into[count..];
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads some of the bytes from `at` on; none at the end.
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        match self {
            #[cfg(unix)]
            Self::File(file) => std::os::unix::fs::FileExt::read_at(&**file, into, at),
            #[cfg(windows)]
            Self::File(file) => std::os::windows::fs::FileExt::seek_read(&**file, into, at),
            Self::Memory(bytes) => {
                let at = usize::try_from(at).map_or(bytes.len(), |at| at.min(bytes.len()));
                (&bytes[at..]).read(into)
            }
        }
    }

    /// Reads from the first byte.
    pub(super) fn reader(&self) -> InOrder<'_> {
        InOrder { bytes: self, at: 0 }
    }
}

/// Bytes read in order.
pub(super) struct InOrder<'a> {
    bytes: &'a Bytes,
    at: u64,
}

impl Read for InOrder<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read_at(self.at, into)?;
        self.at += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_place_is_read_and_the_end_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bytes");
        std::fs::write(&path, b"0123456789").unwrap();
        let file = Bytes::File(Arc::new(File::open(&path).unwrap()));
        for bytes in [file, Bytes::from(b"0123456789".to_vec())] {
            let mut three = [0; 3];
            bytes.read_exact_at(7, &mut three).unwrap();
            assert_eq!(&three, b"789");
            bytes.read_exact_at(99, &mut []).unwrap();
            for beyond in [8, 10, 99] {
                let error = bytes.read_exact_at(beyond, &mut three).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{beyond}");
            }
            let mut reader = bytes.reader();
            reader.read_exact(&mut three).unwrap();
            assert_eq!(&three, b"012");
        }
    }
}
