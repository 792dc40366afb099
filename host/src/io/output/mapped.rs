//! Large writes into a file in memory (tmpfs), by several threads.
//!
//! Linux locks a file for each write, so a second thread gains nothing there. Into pages that are
//! mapped, as many threads copy as there are. Only where the pages exist: on a disk, a page that
//! cannot be had would end the process by a signal.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::thread::available_parallelism;

use rustix::fs::FsWord;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::super::pieces;

/// The shortest write that is worth it.
const LEAST: usize = 4 << 20;
/// Bytes that a thread maps at a time: a multiple of every page's size.
const PIECE: u64 = 2 << 20;
/// Mapped pages take a thread twice as long as a write: fewer threads write.
const FEWEST: usize = 4;

/// Whether a file lies in memory.
pub(super) fn is_in_memory(file: &File) -> bool {
    const TMPFS: FsWord = 0x0102_1994;
    rustix::fs::fstatfs(file).is_ok_and(|of| of.f_type == TMPFS)
}

/// Whether a write of `len` bytes is faster this way.
pub(super) fn is_worth_it(len: usize) -> bool {
    len >= LEAST && available_parallelism().is_ok_and(|threads| threads.get() >= FEWEST)
}

/// Writes `bytes` from the file's byte `at` on. All of that room is taken, and in memory.
pub(super) fn write(file: &File, at: u64, bytes: &[u8]) -> io::Result<()> {
    let end = at + bytes.len() as u64;
    let first = at / PIECE;
    let starts = (first..end.div_ceil(PIECE)).map(|piece| (piece * PIECE).max(at));
    let part = |start: u64| {
        let next = (start / PIECE + 1) * PIECE;
        let bytes = &bytes[(start - at) as usize..(next.min(end) - at) as usize];
        match copy(file, start, bytes) {
            Ok(()) => Ok(()),
            // There may be too many maps.
            Err(_) => file.write_all_at(bytes, start),
        }
    };
    pieces::each(starts.collect::<Vec<_>>().into_iter(), part)
}

/// Copies into the mapped pages of a part that lies between two multiples of [`PIECE`].
fn copy(file: &File, start: u64, bytes: &[u8]) -> io::Result<()> {
    let before = (start % PIECE) as usize;
    let len = before + bytes.len();
    let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
    // SAFETY: a new map, where the system finds room; nothing here refers to its memory.
    let map = unsafe {
        mmap(
            std::ptr::null_mut(),
            len,
            protection,
            flags,
            file,
            start - before as u64,
        )
    }?;
    // SAFETY: the map has `before` + `bytes.len()` bytes, and no other thread of this process writes
    // the copied part. Its pages exist: `fallocate` took them, and nothing here shortens the file.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), map.cast::<u8>().add(before), bytes.len())
    };
    // SAFETY: the map is this function's own, and no reference to it is left.
    Ok(unsafe { munmap(map, len) }?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_lands_in_its_place_whatever_the_start() {
        let piece = PIECE as usize;
        let file = tempfile::tempfile().unwrap();
        file.set_len(4 * PIECE).unwrap();
        let bytes: Vec<u8> = (0..2 * piece + 77).map(|at| (at % 251) as u8 + 1).collect();
        for (at, len) in [
            (0, 0),
            (0, 1),
            (128, piece),
            (128, piece - 128),
            (128, piece - 127),
            (piece, piece + 1),
            (piece - 1, 2 * piece + 77),
        ] {
            file.write_all_at(&vec![0; 4 * piece], 0).unwrap();
            write(&file, at as u64, &bytes[..len]).unwrap();
            let mut all = vec![0; 4 * piece];
            file.read_exact_at(&mut all, 0).unwrap();
            assert!(all[at..at + len] == bytes[..len], "{at}, {len}");
            let rest = all[..at].iter().chain(&all[at + len..]);
            assert!(rest.copied().all(|byte| byte == 0), "{at}, {len}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_mapped_is_written_all_the_same() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(8).unwrap();
        // A map is one to read, too.
        let unread = File::options().write(true).open(file.path()).unwrap();
        assert!(copy(&unread, 3, &[7; 5]).is_err());
        write(&unread, 3, &[7; 5]).unwrap();
        assert_eq!(
            std::fs::read(file.path()).unwrap(),
            [0, 0, 0, 7, 7, 7, 7, 7]
        );
    }
}
