//! Values that are opaque to LLVM, so that it does not compute with them early, ahead of a loop or
//! a rare branch, and hold the results in registers.

use cuda_std::gpu_only;

/// The thread's index along x.
#[gpu_only]
#[inline(always)]
pub(crate) fn thread_here() -> u32 {
    let index: u32;
    // SAFETY: reads a register.
    unsafe {
        core::arch::asm!("mov.u32 {index}, %tid.x;", index = out(reg32) index, options(nomem, nostack));
    }
    index
}

/// The block's index along y: in a batch, the number of its product.
#[gpu_only]
#[inline(always)]
pub(crate) fn product_here() -> usize {
    let index: u32;
    // SAFETY: it reads a register, with the same number in all threads of the block.
    let index = unsafe {
        core::arch::asm!("mov.u32 {index}, %ctaid.y;", index = out(reg32) index, options(nomem, nostack));
        cuda_std::uniform::assume_block_uniform(index)
    };
    index as usize
}

/// Zero, opaque to LLVM: what is computed from a sum with it is not hoisted.
#[gpu_only]
#[inline(always)]
pub(crate) fn zero_here() -> usize {
    let zero: u32;
    // SAFETY: it writes a register, with the same number in all threads.
    let zero = unsafe {
        core::arch::asm!("mov.u32 {zero}, 0;", zero = out(reg32) zero, options(nomem, nostack));
        cuda_std::uniform::assume_block_uniform(zero)
    };
    zero as usize
}

/// Calls `body` with 0 to `count` − 1, of which there is one at least. PTX has the body once, as the
/// start is opaque to LLVM; ptxas knows it, and unrolls the loop.
#[inline(always)]
pub(crate) fn rolled(count: u32, mut body: impl FnMut(u32)) {
    let mut i = zero_here() as u32;
    loop {
        body(i);
        i += 1;
        if i == count {
            return;
        }
    }
}

/// The pointer. LLVM then advances it by a stride at a time, instead of keeping a register for each
/// multiple of the stride.
#[gpu_only]
#[inline(always)]
pub(crate) fn pointer_here<T>(pointer: *const T) -> *const T {
    let same: *const T;
    // SAFETY: a move between registers.
    unsafe {
        core::arch::asm!("mov.b64 {same}, {pointer};", same = out(reg64) same, pointer = in(reg64) pointer, options(pure, nomem, nostack));
    }
    same
}

/// [`pointer_here`] of a pointer that LLVM still sees to be one to global memory. Not used where ptxas
/// then generates other loops: [`narrow`](crate::matmul::narrow), and along an axis.
#[gpu_only]
#[inline(always)]
pub(crate) fn global_here<T>(pointer: *const T) -> *const T {
    let same: *const T;
    // SAFETY: a move between registers: cuda_builder moves the conversions out.
    unsafe {
        core::arch::asm!(
            "{{",
            ".reg .u64 from;",
            ".reg .u64 to;",
            "cvta.to.global.u64 from, {pointer};",
            "mov.u64 to, from;",
            "cvta.global.u64 {same}, to;",
            "}}",
            same = out(reg64) same,
            pointer = in(reg64) pointer,
            options(pure, nomem, nostack),
        );
    }
    same
}
