//! The host's own work, on all of its cores.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, available_parallelism, scope};

use blockwise::Type;
use blockwise_ops::{AnyArray, LaunchError};

/// Elements that one thread looks at, at a time.
const CHUNK: usize = 1 << 16;
/// Bytes that one thread writes at a time.
const WRITTEN: usize = 1 << 23;

/// What a function makes of each part, in the parts' order.
pub(super) fn each<T, R: Send>(
    parts: impl Iterator<Item = T> + Send,
    of: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let cores = available_parallelism().map_or(1, usize::from);
    let threads = cores.min(parts.size_hint().1.unwrap_or(cores));
    let parts = Mutex::new(parts.enumerate());
    let work = || {
        let mut made = Vec::new();
        loop {
            // A statement of its own: the lock is not held while a part is worked on.
            let next = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
            match next {
                Some((at, part)) => made.push((at, of(part))),
                None => return made,
            }
        }
    };
    let mut made = scope(|scope| {
        // What cannot be started is no loss: this thread takes what the others leave.
        let others: Vec<_> = (1..threads)
            .filter_map(|_| Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut made = work();
        for other in others {
            made.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        made
    });
    made.sort_unstable_by_key(|&(at, _)| at);
    made.into_iter().map(|(_, made)| made).collect()
}

/// Room for results. Its pages are taken here: a driver's copy takes them one after the other.
pub(super) fn room(ty: Type, len: usize) -> Result<AnyArray, LaunchError> {
    let mut room = AnyArray::zeros(ty, &[len])?;
    each(room.bytes_mut().chunks_mut(WRITTEN), |bytes| bytes.fill(0));
    Ok(room)
}

/// How many elements are NaN: with finite inputs, those that a kernel did not write.
pub(super) fn unwritten(result: &AnyArray) -> u64 {
    let len = result.len();
    let of = |start: usize| {
        let places = start..len.min(start + CHUNK);
        places
            .filter(|&at| result.number(at).to_f64().is_nan())
            .count() as u64
    };
    each((0..len).step_by(CHUNK), of).into_iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_parts_order_whoever_is_faster() {
        let slow = |part: u64| {
            let end = if part.is_multiple_of(7_u64) {
                100_000
            } else {
                10
            };
            (0..end).fold(part, |sum, number| {
                std::hint::black_box(sum ^ number ^ number)
            })
        };
        let numbers: Vec<u64> = (0..1000).collect();
        assert_eq!(each(0..1000, slow), numbers);
        let mut own = numbers.clone();
        each(own.chunks_mut(33).enumerate(), |(at, chunk)| {
            chunk.fill(at as u64);
        });
        assert!((0..1000).all(|at| own[at as usize] == at / 33));
        assert_eq!(each(0..0, slow), [0; 0]);
    }

    #[test]
    fn a_panic_goes_through() {
        let panic = std::panic::catch_unwind(|| each(0..100, |part| assert_ne!(part, 99)));
        assert!(panic.is_err());
    }
}
