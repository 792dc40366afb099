//! Instructions that the compiler does not choose by itself, for the tuned kernels. Addresses are
//! offsets within shared memory.
//!
//! No access is marked pure, so all of them stay in order with the barriers.

use cuda_std::gpu_only;

use crate::number::Scalar;

/// The offset of the block's dynamic shared memory.
#[gpu_only]
#[inline(always)]
pub(super) fn dynamic_shared() -> u32 {
    cuda_std::async_copy::shared_address(cuda_std::shared::dynamic_shared_mem::<f32>())
}

/// Loads four words from shared memory.
///
/// # Safety
/// `address` points to four written words and is aligned to 16 bytes.
#[gpu_only]
#[inline(always)]
pub(super) unsafe fn load_four(address: u32) -> [f32; 4] {
    let (x, y, z, w): (f32, f32, f32, f32);
    // SAFETY: passed on to the caller.
    unsafe {
        core::arch::asm!(
            "ld.shared.v4.f32 {{{x}, {y}, {z}, {w}}}, [{address}];",
            address = in(reg32) address,
            x = out(reg32) x,
            y = out(reg32) y,
            z = out(reg32) z,
            w = out(reg32) w,
            options(nostack, readonly),
        )
    }
    [x, y, z, w]
}

/// Stores four words to shared memory.
///
/// # Safety
/// `address` points to four words that no other thread accesses, and is aligned to 16 bytes.
#[gpu_only]
#[inline(always)]
pub(super) unsafe fn store_four(address: u32, [x, y, z, w]: [f32; 4]) {
    // SAFETY: passed on to the caller.
    unsafe {
        core::arch::asm!(
            "st.shared.v4.f32 [{address}], {{{x}, {y}, {z}, {w}}};",
            address = in(reg32) address,
            x = in(reg32) x,
            y = in(reg32) y,
            z = in(reg32) z,
            w = in(reg32) w,
            options(nostack),
        )
    }
}

/// Loads two doubles from shared memory.
///
/// # Safety
/// `address` points to two written doubles and is aligned to 16 bytes.
#[gpu_only]
#[inline(always)]
pub(super) unsafe fn load_pair(address: u32) -> [f64; 2] {
    let (x, y): (f64, f64);
    // SAFETY: passed on to the caller.
    unsafe {
        core::arch::asm!(
            "ld.shared.v2.f64 {{{x}, {y}}}, [{address}];",
            address = in(reg32) address,
            x = out(reg64) x,
            y = out(reg64) y,
            options(nostack, readonly),
        )
    }
    [x, y]
}

/// Loads two doubles from shared memory to the registers of `over`. `always` is not 0.
///
/// A load to registers that a multiplication still reads waits for it. `ptxas` chose those of the
/// multiplication just before for 24 of 24 loads of a step; a condition that it cannot tell to be
/// true leaves it no choice.
///
/// # Safety
/// As for [`load_pair`].
#[gpu_only]
#[inline(always)]
pub(super) unsafe fn load_pair_over(address: u32, always: u32, over: &mut [f64; 2]) {
    let [mut x, mut y] = *over;
    // SAFETY: passed on to the caller.
    unsafe {
        core::arch::asm!(
            "{{",
            ".reg .pred always;",
            "setp.ne.u32 always, {always}, 0;",
            "@always ld.shared.v2.f64 {{{x}, {y}}}, [{address}];",
            "}}",
            always = in(reg32) always,
            address = in(reg32) address,
            x = inout(reg64) x,
            y = inout(reg64) y,
            options(nostack, readonly),
        )
    }
    *over = [x, y];
}

/// Keeps `ptxas` from moving loads up across this point, by a branch that no thread takes.
///
/// It moves each load up to the last multiplication that reads the registers that the load
/// overwrites, as if the multiplication read them at once. It reads them late, and the warp waits
/// before its next multiplication. A load stays behind the end of a basic block. `ptxas` would
/// leave out a branch whose condition it has seen before, so each place has a `number` of its own.
/// `extent` is below 2³¹.
#[gpu_only]
#[inline(always)]
pub(super) fn loads_stay_below(extent: u32, number: usize) {
    // SAFETY: the condition is false.
    unsafe {
        core::arch::asm!(
            "{{",
            ".reg .pred never;",
            "setp.eq.u32 never, {extent}, {number};",
            "@never exit;",
            "}}",
            extent = in(reg32) extent,
            number = in(reg32) (1 << 31) | number as u32,
            options(nostack),
        )
    }
}

/// Loads LANES elements from shared memory: one, or 16 bytes.
///
/// # Safety
/// `address` points to as many written elements and is aligned to all of them.
#[gpu_only]
#[inline(always)]
pub(super) unsafe fn load_shared<T: Scalar, const LANES: usize>(address: u32) -> [T; LANES] {
    const { assert!(LANES == 1 || LANES == crate::pack::lanes::<T>()) };
    // SAFETY: passed on to the caller.
    unsafe {
        match (size_of::<T>(), LANES) {
            (4, 1) => {
                let x: u32;
                core::arch::asm!(
                    "ld.shared.b32 {x}, [{address}];",
                    address = in(reg32) address,
                    x = out(reg32) x,
                    options(nostack, readonly),
                );
                [T::of_bits(x.into()); LANES]
            }
            (4, _) => {
                let words = load_four(address);
                core::array::from_fn(|lane| T::of_bits(words[lane % 4].to_bits().into()))
            }
            (_, 1) => {
                let x: u64;
                core::arch::asm!(
                    "ld.shared.b64 {x}, [{address}];",
                    address = in(reg32) address,
                    x = out(reg64) x,
                    options(nostack, readonly),
                );
                [T::of_bits(x); LANES]
            }
            _ => {
                let words = load_pair(address);
                core::array::from_fn(|lane| T::of_bits(words[lane % 2].to_bits()))
            }
        }
    }
}

/// C += A·B for a 16 × 8 fragment of A and an 8 × 8 fragment of B, spread over the lanes of a warp.
/// Lane 4g + t holds A\[g + 8h, t + 4k\] at index 2k + h, B\[t + 4k, g\] at k, and C\[g + 8h, 2t +
/// i\] at 2h + i.
///
/// # Safety
/// All lanes of the warp call it.
#[gpu_only]
#[inline(always)]
pub(super) unsafe fn multiply_add(a: [f64; 4], b: [f64; 2], c: &mut [f64; 4]) {
    let [mut c0, mut c1, mut c2, mut c3] = *c;
    // SAFETY: all lanes are here; computes with registers only.
    #[cfg(target_feature = "compute_90")]
    unsafe {
        core::arch::asm!(
            "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {{{c0}, {c1}, {c2}, {c3}}}, ",
            "{{{a0}, {a1}, {a2}, {a3}}}, {{{b0}, {b1}}}, {{{c0}, {c1}, {c2}, {c3}}};",
            c0 = inout(reg64) c0,
            c1 = inout(reg64) c1,
            c2 = inout(reg64) c2,
            c3 = inout(reg64) c3,
            a0 = in(reg64) a[0],
            a1 = in(reg64) a[1],
            a2 = in(reg64) a[2],
            a3 = in(reg64) a[3],
            b0 = in(reg64) b[0],
            b1 = in(reg64) b[1],
            options(nostack, nomem),
        )
    }
    #[cfg(not(target_feature = "compute_90"))]
    cuda_std::unroll::unrolled::<2>(|k| {
        // SAFETY: all lanes are here; computes with registers only.
        unsafe {
            core::arch::asm!(
                "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{{c0}, {c1}}}, {{{a0}}}, {{{b}}}, {{{c0}, {c1}}};",
                "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{{c2}, {c3}}}, {{{a1}}}, {{{b}}}, {{{c2}, {c3}}};",
                c0 = inout(reg64) c0,
                c1 = inout(reg64) c1,
                c2 = inout(reg64) c2,
                c3 = inout(reg64) c3,
                a0 = in(reg64) a[2 * k],
                a1 = in(reg64) a[2 * k + 1],
                b = in(reg64) b[k],
                options(nostack, nomem),
            )
        }
    });
    *c = [c0, c1, c2, c3];
}

/// Loads words from global memory if `$inside`, else gives zeros.
#[cfg(target_arch = "nvptx64")]
macro_rules! load {
    ($inside:ident, $from:ident, $class:ident, $type:literal, $zero:expr; $form:literal; $($word:ident)*) => {{
        $( let mut $word = $zero; )*
        // SAFETY: passed on to the caller.
        unsafe {
            core::arch::asm!(
                "{{",
                ".reg .pred inside;",
                ".reg .u64 global;",
                "setp.ne.u32 inside, {inside}, 0;",
                "cvta.to.global.u64 global, {from};",
                concat!("@inside ld.global.", $type, " ", $form, ", [global];"),
                "}}",
                inside = in(reg32) u32::from($inside),
                from = in(reg64) $from,
                $( $word = inout($class) $word, )*
                options(nostack, readonly),
            )
        }
        [$( $word ),*]
    }};
}

/// Loads LANES elements, or gives zeros unless `inside`, as [`load_or`].
///
/// # Safety
/// As of [`load_or`].
#[inline(always)]
pub(crate) unsafe fn load_if<T: Scalar, const LANES: usize>(
    from: *const T,
    inside: bool,
) -> [T; LANES] {
    // SAFETY: passed on to the caller.
    unsafe { load_or(from, inside, T::ZERO) }
}

/// Loads LANES elements, or gives others unless `inside`: registers have these before, so that no
/// predicate is kept until the load ends: ptxas has seven, and would wait for the first loads before
/// it starts the others. LLVM neither delays it until the elements are needed nor makes a branch of
/// it, so that many are in flight.
///
/// # Safety
/// If `inside`, `from` points to these elements in global memory. It is aligned to 16 bytes, or
/// LANES is 1; else they fill 16 bytes.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn load_or<T: Scalar, const LANES: usize>(
    from: *const T,
    inside: bool,
    other: T,
) -> [T; LANES] {
    let (single, double) = (other.bits() as u32, other.bits());
    // Generic code names packs of other types in branches that it never takes.
    const { assert!(LANES == 1 || LANES == 2 || LANES == 4) };
    match (size_of::<T>(), LANES) {
        (4, 1) => {
            let [x] = load!(inside, from, reg32, "b32", single; "{x}"; x);
            [T::of_bits(x.into()); LANES]
        }
        (4, 2) => {
            let words = load!(inside, from, reg32, "v2.b32", single; "{{{x}, {y}}}"; x y);
            core::array::from_fn(|lane| T::of_bits(words[lane % 2].into()))
        }
        (4, _) => {
            let words =
                load!(inside, from, reg32, "v4.b32", single; "{{{x}, {y}, {z}, {w}}}"; x y z w);
            core::array::from_fn(|lane| T::of_bits(words[lane % 4].into()))
        }
        (_, 1) => {
            let [x] = load!(inside, from, reg64, "b64", double; "{x}"; x);
            [T::of_bits(x); LANES]
        }
        _ => {
            let words = load!(inside, from, reg64, "v2.b64", double; "{{{x}, {y}}}"; x y);
            core::array::from_fn(|lane| T::of_bits(words[lane % 2]))
        }
    }
}

/// Stores words to global memory if `$inside`.
#[cfg(target_arch = "nvptx64")]
macro_rules! store {
    ($inside:ident, $to:ident, $class:ident, $type:literal; $form:literal; $($name:ident $word:expr),*) => {
        // SAFETY: passed on to the caller.
        unsafe {
            core::arch::asm!(
                "{{",
                ".reg .pred inside;",
                ".reg .u64 global;",
                "setp.ne.u32 inside, {inside}, 0;",
                "cvta.to.global.u64 global, {to};",
                concat!("@inside st.global.", $type, " [global], ", $form, ";"),
                "}}",
                inside = in(reg32) u32::from($inside),
                to = in(reg64) $to,
                $( $name = in($class) $word, )*
                options(nostack),
            )
        }
    };
}

/// Stores LANES elements to global memory if `inside`, without a branch: one, or 16 bytes.
///
/// # Safety
/// If `inside`, `to` points to these elements of global memory, which no other thread accesses. It
/// is aligned to 16 bytes, or LANES is 1.
#[gpu_only]
#[inline(always)]
pub(super) unsafe fn store_if<T: Scalar, const LANES: usize>(
    to: *mut T,
    elements: [T; LANES],
    inside: bool,
) {
    // Generic code names packs of other types in branches that it never takes.
    const { assert!(LANES == 1 || LANES == 2 || LANES == 4) };
    let bits = |lane: usize| elements[lane % LANES].bits();
    match (size_of::<T>(), LANES) {
        (4, 1) => store!(inside, to, reg32, "b32"; "{x}"; x bits(0) as u32),
        (4, 2) => store!(
            inside, to, reg32, "v2.b32"; "{{{x}, {y}}}"; x bits(0) as u32, y bits(1) as u32
        ),
        (4, _) => store!(
            inside, to, reg32, "v4.b32"; "{{{x}, {y}, {z}, {w}}}";
            x bits(0) as u32, y bits(1) as u32, z bits(2) as u32, w bits(3) as u32
        ),
        (_, 1) => store!(inside, to, reg64, "b64"; "{x}"; x bits(0)),
        _ => store!(inside, to, reg64, "v2.b64"; "{{{x}, {y}}}"; x bits(0), y bits(1)),
    }
}

/// Where a copy's source is, after the conversion of its pointer.
#[cfg(target_arch = "nvptx64")]
macro_rules! from {
    () => {
        "global"
    };
    ($ahead:ident) => {
        "from"
    };
}

/// Starts a copy of N bytes from global to shared memory; writes zeros unless `$inside`. With
/// `$exists`, only if that is not 0; with `$ahead`, from as many bytes after `$source`.
#[cfg(target_arch = "nvptx64")]
macro_rules! copy {
    (
        $cache:literal, $bytes:literal, $slot:ident, $source:ident, $inside:ident
        $(, $exists:ident $(, $ahead:ident)?)?
    ) => {
        // SAFETY: passed on to the caller.
        unsafe {
            core::arch::asm!(
                "{{",
                ".reg .u64 global;",
                $(concat!(".reg .pred exists; setp.ne.u32 exists, {", stringify!($exists), "}, 0;"),)?
                "cvta.to.global.u64 global, {source};",
                $($(concat!(".reg .u64 from; add.u64 from, global, {", stringify!($ahead), "};"),)?)?
                concat!($("@", stringify!($exists), " ",)? "cp.async.", $cache, ".shared.global [{slot}], [", from!($($($ahead)?)?), "], ", $bytes, ", {valid};"),
                "}}",
                slot = in(reg32) $slot,
                source = in(reg64) $source,
                valid = in(reg32) if $inside { $bytes } else { 0 },
                $($exists = in(reg32) $exists, $($ahead = in(reg64) $ahead,)?)?
                options(nostack),
            )
        }
    };
}

/// Starts to copy one element, or [`VECTOR`](super::policy::VECTOR) of them, to shared memory.
/// Unless `inside`, writes zeros and does not read `source`.
///
/// # Safety
/// `slot` points to that many words of shared memory and `source` to that many elements of global
/// memory, both aligned to their size. They stay valid until the copy has been waited for.
#[gpu_only]
#[inline(always)]
pub(super) unsafe fn copy(elements: usize, slot: u32, source: *const f32, inside: bool) {
    match elements {
        super::policy::VECTOR => copy!("cg", 16, slot, source, inside),
        _ => copy!("ca", 4, slot, source, inside),
    }
}

/// As [`copy`] of a vector, but nothing if `exists` is 0.
///
/// # Safety
/// As for [`copy`], unless `exists` is 0.
#[gpu_only]
#[inline(always)]
pub(super) unsafe fn copy_if(slot: u32, source: *const f32, inside: bool, exists: u32) {
    copy!("cg", 16, slot, source, inside, exists);
}

/// As [`copy`], for one double or two.
///
/// # Safety
/// As for [`copy`].
#[gpu_only]
#[inline(always)]
pub(super) unsafe fn copy_doubles(elements: usize, slot: u32, source: *const f64, inside: bool) {
    match elements {
        2 => copy!("cg", 16, slot, source, inside),
        _ => copy!("ca", 8, slot, source, inside),
    }
}

/// As [`copy_doubles`] of a pair, from `ahead` elements after `source`, but nothing if `exists` is 0.
/// The sum is hidden from LLVM, which would else make a chain of additions from copy to copy.
///
/// # Safety
/// As for [`copy`], unless `exists` is 0.
#[gpu_only]
#[inline(always)]
pub(super) unsafe fn copy_pair_ahead(
    slot: u32,
    source: *const f64,
    ahead: usize,
    inside: bool,
    exists: u32,
) {
    let ahead = ahead * size_of::<f64>();
    copy!("cg", 16, slot, source, inside, exists, ahead);
}

/// Moves the element to a register that `ptxas` cannot identify with the original one.
///
/// A 16-byte store needs four adjacent registers, and `ptxas` would allocate the sums to such
/// groups from the start. Then 565 of the 1024 FMAs in a round of
/// [`Tiles::Wide`](super::policy::Tiles::Wide) find operands in the same register bank; with this
/// move, 150 do (ptxas 13.0, by the wider rule in `pipelined`, which says what a bank conflict costs;
/// `verify-ptx` counts three registers of one bank).
#[gpu_only]
#[inline(always)]
pub(super) fn moved(element: f32) -> f32 {
    let zero: u32;
    // SAFETY: reads a register that is 0 in blocks of one dimension.
    unsafe {
        core::arch::asm!("mov.u32 {zero}, %tid.z;", zero = out(reg32) zero, options(pure, nomem, nostack));
    }
    f32::from_bits(element.to_bits() ^ zero)
}
