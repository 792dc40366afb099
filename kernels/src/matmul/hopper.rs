//! Instructions of compute capability 9.0 for [`tensor`](super::tensor). Addresses are offsets
//! within shared memory.
//!
//! No access is marked pure, so all of them stay in order with each other and with the barriers.

use cuda_std::gpu_only;

/// Initialises 8 bytes as an `mbarrier` whose phases complete after `arrivals`.
///
/// # Safety
/// The word is in shared memory, aligned, and is used for nothing else.
#[gpu_only]
#[inline(always)]
pub(super) unsafe fn init(barrier: u32, arrivals: u32) {
    // SAFETY: passed on to the caller.
    unsafe {
        core::arch::asm!(
            "mbarrier.init.shared::cta.b64 [{barrier}], {arrivals};",
            barrier = in(reg32) barrier,
            arrivals = in(reg32) arrivals,
            options(nostack),
        )
    }
}

/// Makes new barriers visible to the bulk-copy engine; a block barrier must follow.
#[gpu_only]
#[inline(always)]
pub(super) fn publish_barriers() {
    // SAFETY: only orders.
    unsafe { core::arch::asm!("fence.mbarrier_init.release.cluster;", options(nostack)) }
}

/// Arrives at the barrier.
///
/// # Safety
/// The barrier was initialised.
#[gpu_only]
#[inline(always)]
pub(super) unsafe fn arrive(barrier: u32) {
    // SAFETY: passed on to the caller.
    unsafe {
        core::arch::asm!(
            "mbarrier.arrive.shared::cta.b64 _, [{barrier}];",
            barrier = in(reg32) barrier,
            options(nostack),
        )
    }
}

/// Arrives, and lets the phase complete only after N more bytes have been copied.
///
/// # Safety
/// The barrier was initialised, and those copies are started.
#[gpu_only]
#[inline(always)]
pub(super) unsafe fn arrive_with_copies(barrier: u32, bytes: u32) {
    // SAFETY: passed on to the caller.
    unsafe {
        core::arch::asm!(
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [{barrier}], {bytes};",
            barrier = in(reg32) barrier,
            bytes = in(reg32) bytes,
            options(nostack),
        )
    }
}

/// Waits until the phase of this parity completes. Before the first phase, parity 1 counts as
/// complete.
///
/// # Safety
/// The barrier was initialised.
#[gpu_only]
#[inline(always)]
pub(super) unsafe fn wait(barrier: u32, parity: u32) {
    loop {
        let ended: u32;
        // SAFETY: passed on to the caller.
        unsafe {
            core::arch::asm!(
                "{{",
                ".reg .pred ended;",
                "mbarrier.try_wait.parity.shared::cta.b64 ended, [{barrier}], {parity};",
                "selp.u32 {ended}, 1, 0, ended;",
                "}}",
                barrier = in(reg32) barrier,
                parity = in(reg32) parity,
                ended = out(reg32) ended,
                options(nostack),
            )
        }
        if ended != 0 {
            return;
        }
    }
}

/// Starts a copy from global to shared memory, whose completion the barrier counts.
///
/// # Safety
/// Both sides stay valid during the copy, are aligned to 16 bytes and have a length divisible by
/// 16; the barrier was initialised.
#[gpu_only]
#[inline(always)]
pub(super) unsafe fn copy_bulk(slot: u32, source: *const u32, bytes: u32, barrier: u32) {
    // SAFETY: passed on to the caller.
    unsafe {
        core::arch::asm!(
            "{{",
            ".reg .u64 global;",
            "cvta.to.global.u64 global, {source};",
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{slot}], [global], {bytes}, [{barrier}];",
            "}}",
            slot = in(reg32) slot,
            source = in(reg64) source,
            bytes = in(reg32) bytes,
            barrier = in(reg32) barrier,
            options(nostack),
        )
    }
}

/// Releases registers of this warp, down to `N` per thread.
#[gpu_only]
#[inline(always)]
pub(super) fn release_registers<const N: u32>() {
    // SAFETY: the assembler honours the count or ignores it.
    unsafe {
        core::arch::asm!("setmaxnreg.dec.sync.aligned.u32 {n};", n = const N, options(nostack));
    }
}

/// Waits for free registers and claims them for this warp, up to `N` per thread.
#[gpu_only]
#[inline(always)]
pub(super) fn take_registers<const N: u32>() {
    // SAFETY: the assembler honours the count or ignores it.
    unsafe {
        core::arch::asm!("setmaxnreg.inc.sync.aligned.u32 {n};", n = const N, options(nostack));
    }
}

/// The `wgmma` descriptor of an operand in shared memory: its start, 8 contiguous rows of 64 bytes,
/// and the 64-byte swizzle (code 2).
#[inline(always)]
pub(super) fn operand(address: u32) -> u64 {
    2 << 62 | (512 >> 4) << 32 | u64::from(address >> 4)
}

/// The product of 64 × 32 elements of A and 32 × 128 of B by a group of four warps, which waits for
/// the result. Lane l of warp w owns rows 16·w + l / 4 and that + 8. In every 8 columns it owns
/// two, from 2·(l mod 4) on: first both of the first row, then both of the second, then the next 8
/// columns.
///
/// # Safety
/// All four warps call it with the same operands in shared memory: three terms each, 32 elements of
/// the inner extent.
#[gpu_only]
#[inline(always)]
pub(super) unsafe fn multiply(a: u64, b: u64) -> [f32; 64] {
    // The 64 sums of a thread, as operands of the instruction.
    macro_rules! sums {
        () => {
            "{{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12}, {13}, {14}, {15}, {16}, {17}, {18}, {19}, {20}, {21}, {22}, {23}, {24}, {25}, {26}, {27}, {28}, {29}, {30}, {31}, {32}, {33}, {34}, {35}, {36}, {37}, {38}, {39}, {40}, {41}, {42}, {43}, {44}, {45}, {46}, {47}, {48}, {49}, {50}, {51}, {52}, {53}, {54}, {55}, {56}, {57}, {58}, {59}, {60}, {61}, {62}, {63}}}"
        };
    }

    // One `wgmma`: with the predicate `add` sums +=, with `none` sums = term `$a` of A · term `$b`
    // of B, for the first or second 16 elements of the inner extent. Terms are 128 rows of 64 bytes
    // apart, halves 32 bytes; descriptor addresses count 16-byte units.
    macro_rules! product {
        ($add:literal, $a:literal, $b:literal, $half:literal) => {
            concat!(
                "add.s64 a, {a}, ",
                $a,
                " * 512 + ",
                $half,
                " * 2;",
                "add.s64 b, {b}, ",
                $b,
                " * 512 + ",
                $half,
                " * 2;",
                "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 ",
                sums!(),
                ", a, b, ",
                $add,
                ", 1, 1, 0, 0;",
            )
        };
    }

    let d0: f32;
    let d1: f32;
    let d2: f32;
    let d3: f32;
    let d4: f32;
    let d5: f32;
    let d6: f32;
    let d7: f32;
    let d8: f32;
    let d9: f32;
    let d10: f32;
    let d11: f32;
    let d12: f32;
    let d13: f32;
    let d14: f32;
    let d15: f32;
    let d16: f32;
    let d17: f32;
    let d18: f32;
    let d19: f32;
    let d20: f32;
    let d21: f32;
    let d22: f32;
    let d23: f32;
    let d24: f32;
    let d25: f32;
    let d26: f32;
    let d27: f32;
    let d28: f32;
    let d29: f32;
    let d30: f32;
    let d31: f32;
    let d32: f32;
    let d33: f32;
    let d34: f32;
    let d35: f32;
    let d36: f32;
    let d37: f32;
    let d38: f32;
    let d39: f32;
    let d40: f32;
    let d41: f32;
    let d42: f32;
    let d43: f32;
    let d44: f32;
    let d45: f32;
    let d46: f32;
    let d47: f32;
    let d48: f32;
    let d49: f32;
    let d50: f32;
    let d51: f32;
    let d52: f32;
    let d53: f32;
    let d54: f32;
    let d55: f32;
    let d56: f32;
    let d57: f32;
    let d58: f32;
    let d59: f32;
    let d60: f32;
    let d61: f32;
    let d62: f32;
    let d63: f32;
    // SAFETY: passed on to the caller.
    unsafe {
        core::arch::asm!(
            "{{",
            ".reg .b64 a, b;",
            ".reg .pred add, none;",
            "setp.eq.u32 add, 0, 0;",
            "setp.ne.u32 none, 0, 0;",
            "wgmma.fence.sync.aligned;",
            // The smallest products first.
            product!("none", 0, 2, 0),
            product!("add", 0, 2, 1),
            product!("add", 2, 0, 0),
            product!("add", 2, 0, 1),
            product!("add", 1, 1, 0),
            product!("add", 1, 1, 1),
            product!("add", 0, 1, 0),
            product!("add", 0, 1, 1),
            product!("add", 1, 0, 0),
            product!("add", 1, 0, 1),
            product!("add", 0, 0, 0),
            product!("add", 0, 0, 1),
            "wgmma.commit_group.sync.aligned;",
            "wgmma.wait_group.sync.aligned 0;",
            "}}",
            out(reg32) d0, out(reg32) d1, out(reg32) d2, out(reg32) d3, out(reg32) d4, out(reg32) d5, out(reg32) d6, out(reg32) d7, out(reg32) d8, out(reg32) d9, out(reg32) d10, out(reg32) d11, out(reg32) d12, out(reg32) d13, out(reg32) d14, out(reg32) d15, out(reg32) d16, out(reg32) d17, out(reg32) d18, out(reg32) d19, out(reg32) d20, out(reg32) d21, out(reg32) d22, out(reg32) d23, out(reg32) d24, out(reg32) d25, out(reg32) d26, out(reg32) d27, out(reg32) d28, out(reg32) d29, out(reg32) d30, out(reg32) d31, out(reg32) d32, out(reg32) d33, out(reg32) d34, out(reg32) d35, out(reg32) d36, out(reg32) d37, out(reg32) d38, out(reg32) d39, out(reg32) d40, out(reg32) d41, out(reg32) d42, out(reg32) d43, out(reg32) d44, out(reg32) d45, out(reg32) d46, out(reg32) d47, out(reg32) d48, out(reg32) d49, out(reg32) d50, out(reg32) d51, out(reg32) d52, out(reg32) d53, out(reg32) d54, out(reg32) d55, out(reg32) d56, out(reg32) d57, out(reg32) d58, out(reg32) d59, out(reg32) d60, out(reg32) d61, out(reg32) d62, out(reg32) d63,
            a = in(reg64) a,
            b = in(reg64) b,
            options(nostack),
        )
    }
    [
        d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19,
        d20, d21, d22, d23, d24, d25, d26, d27, d28, d29, d30, d31, d32, d33, d34, d35, d36, d37,
        d38, d39, d40, d41, d42, d43, d44, d45, d46, d47, d48, d49, d50, d51, d52, d53, d54, d55,
        d56, d57, d58, d59, d60, d61, d62, d63,
    ]
}
