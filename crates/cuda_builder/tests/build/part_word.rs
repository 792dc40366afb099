//! Atomics of bytes, halves and flags: right, clean under every detector, up to the end of a
//! buffer; and one scope for all of core's atomics.

use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI8, AtomicI16, AtomicU8, AtomicU16, AtomicU64, Ordering::*};

use cuda_builder::tools::ptxas;
use ptx_emulator::testing::Launch;

use crate::common::{build, repository, text};

/// All operations of one type, by one thread, on host and device alike.
macro_rules! all {
    ($atomic:ident, $t:ty, $cell:expr, $x:expr) => {{
        let (cell, x): (&$atomic, [$t; 4]) = ($cell, $x);
        [
            cell.fetch_add(x[0], Relaxed),
            cell.fetch_sub(x[1], AcqRel),
            cell.swap(x[2], SeqCst),
            cell.fetch_and(x[3], Acquire),
            cell.fetch_or(x[1], Release),
            cell.fetch_xor(x[0], Relaxed),
            cell.fetch_nand(x[2], Relaxed),
            cell.fetch_max(x[1], Relaxed),
            cell.fetch_min(x[3], Relaxed),
            cell.fetch_add(0, SeqCst),
            cell.compare_exchange(x[0], x[1], SeqCst, Relaxed)
                .unwrap_or_else(|old| old ^ 1),
            cell.compare_exchange(x[3], x[2], AcqRel, Acquire)
                .unwrap_or_else(|old| old ^ 1),
            cell.fetch_update(AcqRel, Acquire, |old| Some(old.wrapping_mul(3)))
                .unwrap_or(0),
            cell.load(Acquire),
        ]
    }};
}

const SOURCE: &str = "
use core::sync::atomic::*;
use core::sync::atomic::Ordering::*;

#[kernel] pub unsafe fn every_u8(cell: *mut u8, x: [u8; 4], out: *mut [u8; 14]) { unsafe { *out = all!(AtomicU8, u8, AtomicU8::from_ptr(cell), x) } }
#[kernel] pub unsafe fn every_i8(cell: *mut i8, x: [i8; 4], out: *mut [i8; 14]) { unsafe { *out = all!(AtomicI8, i8, AtomicI8::from_ptr(cell), x) } }
#[kernel] pub unsafe fn every_u16(cell: *mut u16, x: [u16; 4], out: *mut [u16; 14]) { unsafe { *out = all!(AtomicU16, u16, AtomicU16::from_ptr(cell), x) } }
#[kernel] pub unsafe fn every_i16(cell: *mut i16, x: [i16; 4], out: *mut [i16; 14]) { unsafe { *out = all!(AtomicI16, i16, AtomicI16::from_ptr(cell), x) } }
#[kernel] pub unsafe fn every_u64(cell: *mut u64, x: [u64; 4], out: *mut [u64; 14]) { unsafe { *out = all!(AtomicU64, u64, AtomicU64::from_ptr(cell), x) } }

/// Each byte counts the threads that chose it.
#[kernel] pub unsafe fn counts(bytes: &[u8], first: *mut u8) {
    unsafe { AtomicU8::from_ptr(first.add(thread::index_1d() as usize % bytes.len())).fetch_add(1, Relaxed) };
}
/// Threads of even numbers have a plain byte each, between the atomic ones.
#[kernel] pub unsafe fn neighbours(first: *mut u8) {
    let i = thread::index_1d() as usize;
    unsafe {
        if i % 2 == 0 { *first.add(i) = i as u8 } else { AtomicU8::from_ptr(first.add(i)).fetch_max(200, Relaxed); }
    }
}
#[kernel] pub unsafe fn own_halves(halves: *mut u16) {
    unsafe { AtomicU16::from_ptr(halves.add(thread::index_1d() as usize)).fetch_add(1, Relaxed) };
}
/// The first thread of a block wins; the others leave their bytes beside the flag.
#[kernel] pub unsafe fn winners(firsts: *mut u32) {
    let taken = shared_array![bool; 1];
    let beside = shared_array![u8; 64];
    let t = thread::thread_idx_x() as usize;
    unsafe {
        if t == 0 { *taken = false }
        thread::sync_threads();
        if !AtomicBool::from_ptr(taken).swap(true, Relaxed) { *firsts.add(thread::block_idx_x() as usize) = 1 }
        *beside.add(t) = 0;
        if t == 5 { AtomicBool::from_ptr(beside.add(5).cast()).swap(true, Relaxed); } else { *beside.add(t) += 1 }
    }
}
/// A lock of one byte around a plain counter, with data of other threads beside the lock.
#[kernel] pub unsafe fn locked(lock: *mut u8, counter: *mut u32) {
    let mine = thread::index_1d() as usize + 1;
    unsafe {
        let lock = { *lock.add(mine) = 7; AtomicBool::from_ptr(lock.cast()) };
        let mut done = false;
        while !done {
            if lock.compare_exchange(false, true, Acquire, Relaxed).is_ok() {
                *counter += 1;
                lock.store(false, Release);
                done = true;
            }
        }
    }
}
/// The last thread to add, in any block, sees what all others have written.
#[kernel] pub unsafe fn last_sums(parts: *mut u32, done: *mut u8, out: *mut u32) {
    let (i, n) = (thread::index_1d() as usize, (thread::grid_dim_x() * thread::block_dim_x()) as usize);
    unsafe {
        *parts.add(i) = i as u32;
        if AtomicU8::from_ptr(done).fetch_add(1, AcqRel) as usize == n - 1 {
            *out = core::slice::from_raw_parts(parts, n).iter().sum();
        }
    }
}
/// Racy: the byte that others change atomically is written plainly.
#[kernel] pub unsafe fn racy(byte: *mut u8) {
    unsafe {
        if thread::index_1d() == 3 { *byte = 1 } else { AtomicU8::from_ptr(byte).fetch_add(1, Relaxed); }
    }
}
#[kernel] pub unsafe fn both(cell: *mut u32, float: &cuda_std::atomic::AtomicF32) {
    let cell = unsafe { AtomicU32::from_ptr(cell) };
    cell.fetch_add(1, Relaxed);
    cell.fetch_max(1, AcqRel);
    let _ = cell.compare_exchange(5, 6, Relaxed, Relaxed);
    cell.store(cell.load(Acquire), SeqCst);
    fence(SeqCst);
    float.fetch_min(1.0, Relaxed);
}
";

static PTX: LazyLock<String> = LazyLock::new(|| {
    let both = include_str!("part_word.rs");
    let start = both.find("macro_rules! all").unwrap();
    let end = both.find("const SOURCE").unwrap();
    let path = build("part_word", &format!("{}{SOURCE}", &both[start..end])).unwrap();
    let assembler = ptxas::Ptxas::find_or_fetch(&repository().join("target/tools")).unwrap();
    let output = Command::new(&assembler.path)
        .args(["-arch=sm_80", "-o", "/dev/null"])
        .arg(&path)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text(path)
});

/// One thread's operations, in each place of a word.
macro_rules! check_all {
    ($kernel:literal, $atomic:ident, $t:ty, $x:expr) => {
        for at in 0..4 {
            let mut cells: [$t; 4] = [17 as $t, (0 as $t).wrapping_sub(2), 90, 3];
            let (expected, mut out) = (cells, [[0 as $t; 14]]);
            let host = $atomic::new(cells[at]);
            let results = all!($atomic, $t, &host, $x);
            // The kernel's pointer is to the place itself: the cells before it are not given.
            let launch = Launch::of(&PTX).unwrap().kernel($kernel);
            let launch = launch
                .inout(&mut cells[at..])
                .value::<[$t; 4]>($x)
                .output(&mut out);
            launch.check().unwrap().assert_clean();
            assert_eq!(out[0], results, "{} {at}", $kernel);
            assert_eq!(cells[at], host.into_inner());
            assert_eq!(cells[at + 1..], expected[at + 1..]);
        }
    };
}

#[test]
fn every_operation_gives_what_it_gives_on_the_host() {
    check_all!("every_u8", AtomicU8, u8, [200, 100, 0xa5, 0x3c]);
    check_all!("every_i8", AtomicI8, i8, [100, -100, -91, 60]);
    check_all!("every_u16", AtomicU16, u16, [40000, 30000, 0xa5a5, 0x3c3c]);
    check_all!("every_i16", AtomicI16, i16, [30000, -30000, -23131, 15420]);
    check_all!("every_u64", AtomicU64, u64, [1 << 63, 7, 0xa5, 0x3c]);
}

#[test]
fn a_byte_s_atomic_is_an_access_to_that_byte_up_to_the_end_of_a_buffer() {
    for len in 1..=9 {
        let mut bytes = vec![0_u8; len];
        let launch = Launch::of(&PTX).unwrap().kernel("counts").grid(3).block(48);
        let sizes = vec![0_u8; len];
        let launch = launch.slice(&sizes).inout(&mut bytes);
        launch.schedules(8).check().unwrap().assert_clean();
        let expected: Vec<u8> = (0..len)
            .map(|at| ((144 - at).div_ceil(len)) as u8)
            .collect();
        assert_eq!(bytes, expected);
    }
    let mut bytes = [1_u8; 61];
    let launch = Launch::of(&PTX).unwrap().kernel("neighbours").block(61);
    launch
        .inout(&mut bytes)
        .schedules(8)
        .check()
        .unwrap()
        .assert_clean();
    assert_eq!(
        bytes,
        std::array::from_fn(|i| if i % 2 == 0 { i as u8 } else { 200 })
    );
    let mut halves = [0_u16; 33];
    let launch = Launch::of(&PTX).unwrap().kernel("own_halves").block(33);
    launch
        .inout(&mut halves)
        .schedules(8)
        .check()
        .unwrap()
        .assert_clean();
    assert_eq!(halves, [1; 33]);
}

#[test]
fn flags_elect_lock_and_order() {
    let mut firsts = [0_u32; 2];
    let launch = Launch::of(&PTX)
        .unwrap()
        .kernel("winners")
        .grid(2)
        .block(64);
    launch
        .inout(&mut firsts)
        .schedules(8)
        .check()
        .unwrap()
        .assert_clean();
    assert_eq!(firsts, [1, 1]);

    let (mut lock, mut counter) = ([0_u8; 41], [0_u32]);
    let launch = Launch::of(&PTX).unwrap().kernel("locked").grid(2).block(20);
    let launch = launch.inout(&mut lock).inout(&mut counter);
    launch.schedules(8).check().unwrap().assert_clean();
    assert_eq!((lock[0], &lock[1..], counter), (0, &[7; 40][..], [40]));

    let (mut parts, mut done, mut out) = ([0_u32; 96], [0_u8], [0_u32]);
    let launch = Launch::of(&PTX)
        .unwrap()
        .kernel("last_sums")
        .grid(3)
        .block(32);
    let launch = launch.inout(&mut parts).inout(&mut done).inout(&mut out);
    launch.schedules(8).check().unwrap().assert_clean();
    assert_eq!(out, [95 * 96 / 2]);
}

#[test]
fn a_race_with_a_byte_s_atomic_is_still_one() {
    let mut byte = [0_u8];
    let launch = Launch::of(&PTX).unwrap().kernel("racy").block(64);
    let report = launch.inout(&mut byte).check().unwrap();
    assert!(report.to_string().contains("race"), "{report}");
}

#[test]
fn all_of_core_s_atomics_have_the_scope_of_the_system() {
    let kernel = PTX.split(".entry both(").nth(1).unwrap();
    let kernel = kernel.split("\n}").next().unwrap();
    let lines = kernel.lines().map(str::trim_start);
    let starts = [
        "atom.",
        "fence.",
        "ld.relaxed",
        "ld.acquire",
        "st.release",
        "st.relaxed",
    ];
    let atomics: Vec<_> = lines
        .filter(|line| starts.iter().any(|start| line.starts_with(start)))
        .collect();
    // All operations of a float's cell have its own scope.
    let (of_core, of_float): (Vec<&str>, Vec<&str>) =
        (atomics.iter().copied()).partition(|line| line.contains(".sys"));
    assert_eq!((of_core.len(), of_float.len()), (9, 2), "{atomics:?}");
    assert!(
        of_float.iter().all(|line| line.contains(".relaxed.gpu")),
        "{atomics:?}"
    );
}
