//! `cuda_std::atomic`: every operation, ordering, type and scope.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

use cuda_std::atomic::{BlockAtomicF32, SystemAtomicF64, intrinsics, mid};
use cuda_std::prelude::*;

/// Kernels `old[0..] = fetch_op(places[0..], value)` with the 15 combinations of ordering and
/// scope, each on a place of its own, then the 15 of `mid` with its orderings. One thread; 30
/// places.
macro_rules! all_orderings {
    ($($t:ident $kernel:ident: $($op:ident)*;)*) => { pastey::paste! { $($(
        #[doc = concat!("`", stringify!($op), "` on `", stringify!($t), "`.")]
        #[kernel]
        pub unsafe fn [<atomic_ $op _ $t>](value: $t, places: *mut $t, old: *mut $t) {
            let mut at = 0;
            // SAFETY: the crate's rule: there are 30 places.
            unsafe {
                all_orderings!(@intrinsics $op $t at value places old: relaxed acquire release acqrel volatile);
                for ordering in [Relaxed, Acquire, Release, AcqRel, SeqCst] {
                    old.add(at).write(mid::[<atomic_fetch_ $op _ $t _block>](places.add(at), ordering, value));
                    old.add(at + 1).write(mid::[<atomic_fetch_ $op _ $t _device>](places.add(at + 1), ordering, value));
                    old.add(at + 2).write(mid::[<atomic_fetch_ $op _ $t _system>](places.add(at + 2), ordering, value));
                    at += 3;
                }
            }
        }
    )*)* }};
    (@intrinsics $op:ident $t:ident $at:ident $value:ident $places:ident $old:ident: $($ordering:ident)*) => { pastey::paste! { $(
        $old.add($at).write(intrinsics::[<atomic_fetch_ $op _ $ordering _ $t _block>]($places.add($at), $value));
        $old.add($at + 1).write(intrinsics::[<atomic_fetch_ $op _ $ordering _ $t _device>]($places.add($at + 1), $value));
        $old.add($at + 2).write(intrinsics::[<atomic_fetch_ $op _ $ordering _ $t _system>]($places.add($at + 2), $value));
        $at += 3;
    )* }};
}
all_orderings! {
    u32 all_u32: and or xor add sub exch min max;
    i32 all_i32: and or xor add sub exch min max;
    u64 all_u64: and or xor add sub exch min max;
    i64 all_i64: and or xor add sub exch min max;
    f32 all_f32: and or xor add sub exch;
    f64 all_f64: and or xor add sub exch;
}

/// One thread; `places` holds 8 values: 0 to 2 lose 1, 3 and 4 are compared and swapped to 7 if
/// they are 5, 5 is read into `old[5]`, 6 is overwritten by 9, 7 is read after a fence. `old` gets
/// what each held before.
#[kernel]
pub unsafe fn atomic_others(places: *mut u32, old: *mut u32) {
    // SAFETY: the crate's rule.
    unsafe {
        old.write(intrinsics::atomic_fetch_dec_relaxed_u32_block(places));
        old.add(1)
            .write(intrinsics::atomic_fetch_dec_acqrel_u32_system(
                places.add(1),
            ));
        old.add(2)
            .write(intrinsics::atomic_fetch_inc_acquire_u32_device(
                places.add(2),
            ));
        old.add(3)
            .write(intrinsics::atomic_fetch_cas_acqrel_u32_device(
                places.add(3),
                5,
                7,
            ));
        old.add(4)
            .write(intrinsics::atomic_fetch_cas_relaxed_u32_block(
                places.add(4),
                5,
                7,
            ));
        old.add(5)
            .write(mid::atomic_load_32_device(places.add(5), Acquire));
        old.add(6)
            .write(intrinsics::atomic_load_volatile_32_system(places.add(6)));
        mid::atomic_store_32_system(places.add(6), Release, 9);
        mid::device_thread_fence(SeqCst);
        old.add(7)
            .write(mid::atomic_load_32_block(places.add(7), SeqCst));
    }
}

/// Any one-dimensional launch: every thread adds its `values[thread]` to `sums[block]` in its
/// block's scope and to `total` in the system's.
#[kernel]
pub unsafe fn scoped_sums(values: &[f32], sums: *mut f32, total: *mut f64) {
    let value = values[thread::index_1d() as usize];
    // SAFETY: everybody accesses these places atomically, a block its own.
    unsafe {
        let sum = BlockAtomicF32::from_ptr(sums.add(thread::block_idx_x() as usize));
        sum.fetch_add(value, Relaxed);
        SystemAtomicF64::from_ptr(total).fetch_add(f64::from(value), AcqRel);
    }
}
