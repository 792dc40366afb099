//! Large arrays read or written by several threads, each with a piece at a time.

use std::num::NonZero;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder};

/// The most threads. A single one cannot keep up with a GPU's copies.
const THREADS: usize = 16;

/// Lets `fill` write `values` in pieces; it receives the index of a piece's first value.
///
/// The error is that of [`each`].
pub(super) fn fill<T: Send, E: Send>(
    values: &mut [T],
    piece: usize,
    fill: impl Fn(usize, &mut [T]) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let pieces = values.chunks_mut(piece).enumerate();
    each(pieces, |(number, values)| fill(number * piece, values))
}

/// Does something with each piece, on several threads.
///
/// The error is that of the first piece that fails: pieces start in order, and none starts after a
/// failure.
pub(super) fn each<P: Send, E: Send>(
    pieces: impl ExactSizeIterator<Item = P> + Send,
    of: impl Fn(P) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = threads.min(THREADS).min(pieces.len());
    let pieces = Mutex::new(pieces.enumerate());
    let failure = Mutex::new(None::<(usize, E)>);
    let work = || {
        while lock(&failure).is_none() {
            let next = lock(&pieces).next();
            let Some((number, piece)) = next else {
                return;
            };
            if let Err(error) = of(piece) {
                let mut failure = lock(&failure);
                if failure.as_ref().is_none_or(|(first, _)| number < *first) {
                    *failure = Some((number, error));
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // If no thread can be started, the others do its work.
            let _ = Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or(Ok(()), |(_, error)| Err(error))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_written_once_whatever_the_pieces() {
        for len in [0, 1, 6, 7, 8, 100] {
            for piece in [1, 7, 1000] {
                let mut values = vec![usize::MAX; len];
                let filled = fill(&mut values, piece, |first, values| {
                    for (index, value) in (first..).zip(values) {
                        assert_eq!(*value, usize::MAX, "written twice");
                        *value = index;
                    }
                    Ok::<_, ()>(())
                });
                assert_eq!(filled, Ok(()));
                assert!(values.into_iter().eq(0..len), "{len}, {piece}");
            }
        }
    }

    #[test]
    fn the_first_failure_is_reported_and_ends_the_work() {
        let mut values = vec![0_u8; 10_000];
        let failed = fill(&mut values, 1, |first, values| {
            values[0] = 1;
            match first {
                // Later than the next piece's.
                40 => {
                    thread::sleep(std::time::Duration::from_millis(20));
                    Err(first)
                }
                41.. => Err(first),
                _ => Ok(()),
            }
        });
        assert_eq!(failed, Err(40));
        let begun = values.iter().filter(|&&value| value == 1).count();
        assert!(begun < 41 + 2 * THREADS, "{begun}");
    }
}
