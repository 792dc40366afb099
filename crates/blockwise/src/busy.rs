//! Locks that threads hold for microseconds.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

/// Many threads that sleep for one lock hand it on at the speed of the system's wake-ups, which take
/// longer than the work under it. So they try for some time first.
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
        // Another thread may need this processor to give the lock back.
        thread::yield_now();
    }
}
