//! Locks that threads hold for microseconds.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a thread spins before it sleeps. Between sleeping threads each hand-over costs a
/// wake-up, which takes longer than the work under the lock.
const ATTENTIVE: Duration = Duration::from_micros(300);

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    let mut start = None;
    loop {
        match mutex.try_lock() {
            Ok(guard) => return guard,
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {}
        }
        if start.get_or_insert_with(Instant::now).elapsed() > ATTENTIVE {
            return mutex.lock().unwrap_or_else(PoisonError::into_inner);
        }
        for _ in 0..20 {
            std::hint::spin_loop();
        }
        // The owner of the lock may need this processor to release it.
        thread::yield_now();
    }
}
