//! Panics.

use alloc::vec;
use core::cell::RefCell;
use core::hint::black_box;
use core::sync::atomic::{AtomicU32, Ordering};

use cuda_std::prelude::*;

/// How many cases [`fail`] knows.
pub const CASES: u32 = 30;

/// Panics, each case in its own way. `n` is 7; the compiler must not know it.
pub fn fail(case: u32, n: usize) {
    let values = [1, 2, 3, 4, 5];
    let values = black_box(&values[..]);
    let none = black_box(None::<u32>);
    let error = black_box(Err::<u32, &str>("no such thing"));
    let zero = black_box(n as i32 - 7);
    match case {
        0 => panic!("without arguments"),
        1 => panic!("with {} arguments, {:#x} and {:?}", n, n + 248, "text"),
        2 => drop(black_box(values[n])),
        3 => drop(black_box(&values[n..])),
        4 => drop(black_box(&values[..n])),
        5 => drop(black_box(&values[n - 3..n - 5])),
        6 => drop(black_box(none.unwrap())),
        7 => drop(black_box(none.expect("a value"))),
        8 => drop(black_box(error.unwrap())),
        9 => drop(black_box(error.expect("a good one"))),
        10 => drop(black_box(black_box(Ok::<u32, u32>(n as u32)).unwrap_err())),
        11 => drop(black_box(n as i32 / zero)),
        12 => drop(black_box(n as i32 % zero)),
        13 => drop(black_box((i32::MIN + zero) / (zero - 1))),
        14 => drop(black_box((i32::MAX - 3).strict_add(n as i32))),
        15 => drop(black_box(1_u32.strict_shl(n as u32 + 30))),
        16 => {
            let cell = RefCell::new(n);
            let _first = cell.borrow_mut();
            drop(black_box(cell.borrow_mut()));
        }
        17 => assert!(n < 7),
        18 => assert!(n < 7, "{n} is not less than {}", 7 + zero),
        19 => assert_eq!(n, 8),
        20 => assert_ne!(n, 7, "message {n}"),
        21 => unreachable!("case {case}"),
        22 => drop(black_box(black_box("7x").parse::<u32>().unwrap())),
        23 => panic!("{}% of ñ: {}", n, "x".repeat(600)),
        24 => cuda_std::assert_eq!(n, 8),
        25 => cuda_std::assert_ne!(n, 7, "both are {n}"),
        26 => drop(black_box(vec![1_u8; n << 61])),
        27 => black_box(&mut [0; 4][..]).copy_from_slice(values),
        28 => drop(black_box(&values[..=n])),
        29 => drop(black_box(values.split_at(n))),
        _ => {}
    }
}

/// Thread `at` of the grid fails with `case`, or every thread if `at` is `u32::MAX`; the others add
/// up to `out[0]`.
#[kernel]
pub unsafe fn fails(case: u32, at: u32, n: usize, out: *mut u32) {
    let t = thread::index_1d();
    if t == at || at == u32::MAX {
        fail(case, n);
    }
    // No thread waits for one that has panicked.
    thread::sync_threads();
    // SAFETY: the crate's rule.
    unsafe { AtomicU32::from_ptr(out) }.fetch_add(1, Ordering::Relaxed);
}

/// Thread 0 fails when `fails` is not 0; the others wait until it has set a flag.
#[kernel]
pub unsafe fn waits_for_a_panicked_thread(fails: u32, out: *mut u32) {
    // SAFETY: the crate's rule.
    let flag = unsafe { AtomicU32::from_ptr(out) };
    if thread::index_1d() == 0 {
        assert!(fails == 0, "the flag is never set");
        flag.store(1, Ordering::Release);
    }
    while flag.load(Ordering::Acquire) == 0 {}
}

/// Writes to `address`.
#[kernel]
pub unsafe fn writes_to(address: *mut u32) {
    // SAFETY: none. A GPU gives up the context when there is no memory.
    unsafe { address.write_volatile(1) }
}
