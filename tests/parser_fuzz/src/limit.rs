//! The allocator: what the whole process has is counted, and beyond a limit there is no memory.
//! Code that cannot go on without it aborts, which is what fuzzing looks for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes that an input may take, whatever its length.
const BASE: usize = 64 << 20;

/// And for each of its own.
const EACH: usize = 4;

/// The program's allocator, which the binary names by `#[global_allocator]`.
pub struct Limited;

static USED: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Runs with the memory that an input of this length may take.
pub(crate) fn within<R>(len: usize, run: impl FnOnce() -> R) -> R {
    LIMIT.store(USED.load(Relaxed) + BASE + EACH * len, Relaxed);
    let result = run();
    LIMIT.store(usize::MAX, Relaxed);
    result
}

/// Whether the allocator is in use, and has a limit while it is asked for one.
pub fn works() -> bool {
    within(0, || {
        let mut room: Vec<u8> = Vec::new();
        room.try_reserve_exact(BASE / 2).is_ok() && room.try_reserve_exact(2 * BASE).is_err()
    })
}

fn take(bytes: usize) -> bool {
    let used = USED.fetch_add(bytes, Relaxed).saturating_add(bytes);
    if used > LIMIT.load(Relaxed) {
        USED.fetch_sub(bytes, Relaxed);
        return false;
    }
    true
}

// SAFETY: memory comes from the system's allocator and goes back to it, with the layouts that it
// was asked for with; counting allocates nothing.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !take(layout.size()) {
            return null_mut();
        }
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        let memory = unsafe { System.alloc(layout) };
        if memory.is_null() {
            USED.fetch_sub(layout.size(), Relaxed);
        }
        memory
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !take(layout.size()) {
            return null_mut();
        }
        // SAFETY: as for `alloc`.
        let memory = unsafe { System.alloc_zeroed(layout) };
        if memory.is_null() {
            USED.fetch_sub(layout.size(), Relaxed);
        }
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: it is memory of this layout that `System` gave.
        unsafe { System.dealloc(memory, layout) };
        USED.fetch_sub(layout.size(), Relaxed);
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let more = size.saturating_sub(layout.size());
        if !take(more) {
            return null_mut();
        }
        // SAFETY: as for `dealloc`, and the caller's promises on `size`.
        let moved = unsafe { System.realloc(memory, layout, size) };
        let less = match moved.is_null() {
            true => more,
            false => layout.size().saturating_sub(size),
        };
        USED.fetch_sub(less, Relaxed);
        moved
    }
}
