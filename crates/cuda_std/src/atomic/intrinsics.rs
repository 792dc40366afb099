//! One PTX instruction each: `atom`, `ld`, `st`, `fence` and `membar` of every ordering, type and
//! scope.
//!
//! A name consists of operation, ordering, type and scope: `atomic_fetch_add_acqrel_u32_device`. A
//! scope is the set of threads that the operation is ordered with: `block`, `device`, or `system`
//! (the device, its peers and the host). `volatile` is the form without ordering of GPUs before
//! sm_70; it is relaxed.
//!
//! They are inline assembly because Rust has no scopes, and because LLVM prints some orderings as
//! relaxed.
//!
//! # Safety
//! All functions: the pointer is valid for reads and writes of its type, aligned to its size, and
//! points to global or shared memory; concurrent accesses to the same location are atomic. They
//! work in kernels only; on the host they panic.

#![allow(
    clippy::missing_safety_doc,
    reason = "the module's documentation states it once"
)]
#![cfg_attr(
    not(target_arch = "nvptx64"),
    allow(unused_variables, reason = "nothing is done there")
)]

use cuda_std_macros::paste;

#[cfg(target_arch = "nvptx64")]
use super::word::Word;

#[cfg(target_arch = "nvptx64")]
macro_rules! ordering {
    (relaxed) => {
        ".relaxed"
    };
    (acquire) => {
        ".acquire"
    };
    (release) => {
        ".release"
    };
    (acqrel) => {
        ".acq_rel"
    };
    (volatile) => {
        ""
    };
}

#[cfg(target_arch = "nvptx64")]
macro_rules! scope {
    (block) => {
        ".cta"
    };
    (device) => {
        ".gpu"
    };
    (system) => {
        ".sys"
    };
}

/// An `asm!` of one instruction on the device, a panic on the host.
macro_rules! instruction {
    ($name:expr, $($asm:tt)*) => {{
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the registers are what the instruction takes; the rest is passed on to the
        // caller.
        unsafe {
            core::arch::asm!($($asm)*, options(nostack, preserves_flags))
        }
        #[cfg(not(target_arch = "nvptx64"))]
        crate::nvvm::only_on_device($name)
    }};
}

/// Functions without arguments.
macro_rules! fences {
    ($($name:ident $text:literal;)*) => {$(
        #[doc = concat!("`", $text, "`.")]
        #[inline(always)]
        pub unsafe fn $name() {
            instruction!(stringify!($name), concat!($text, ";"))
        }
    )*};
}
fences! {
    membar_block "membar.cta";
    membar_device "membar.gl";
    membar_system "membar.sys";
    fence_sc_block "fence.sc.cta";
    fence_sc_device "fence.sc.gpu";
    fence_sc_system "fence.sc.sys";
    fence_acqrel_block "fence.acq_rel.cta";
    fence_acqrel_device "fence.acq_rel.gpu";
    fence_acqrel_system "fence.acq_rel.sys";
}

macro_rules! load_store {
    ($($width:literal $t:ident $class:ident;)*) => {$(
        load_store!(@one $width $t $class block device system);
    )*};
    (@one $width:literal $t:ident $class:ident $($scope:ident)*) => { paste! {$(
        load_store!(@load [<atomic_load_relaxed_ $width _ $scope>] $t $class concat!("ld.relaxed", scope!($scope)));
        load_store!(@load [<atomic_load_acquire_ $width _ $scope>] $t $class concat!("ld.acquire", scope!($scope)));
        load_store!(@load [<atomic_load_volatile_ $width _ $scope>] $t $class "ld.volatile");
        load_store!(@store [<atomic_store_relaxed_ $width _ $scope>] $t $class concat!("st.relaxed", scope!($scope)));
        load_store!(@store [<atomic_store_release_ $width _ $scope>] $t $class concat!("st.release", scope!($scope)));
        load_store!(@store [<atomic_store_volatile_ $width _ $scope>] $t $class "st.volatile");
    )*}};
    (@load $name:ident $t:ident $class:ident $text:expr) => {
        #[doc = concat!("Reads `", stringify!($t), "`.")]
        #[inline(always)]
        pub unsafe fn $name(ptr: *const $t) -> $t {
            #[cfg(target_arch = "nvptx64")]
            let value: $t;
            instruction!(stringify!($name), concat!($text, ".", stringify!($t), " {value}, [{ptr}];"), value = out($class) value, ptr = in(reg64) ptr);
            #[cfg(target_arch = "nvptx64")]
            value
        }
    };
    (@store $name:ident $t:ident $class:ident $text:expr) => {
        #[doc = concat!("Writes `", stringify!($t), "`.")]
        #[inline(always)]
        pub unsafe fn $name(ptr: *mut $t, val: $t) {
            instruction!(stringify!($name), concat!($text, ".", stringify!($t), " [{ptr}], {val};"), ptr = in(reg64) ptr, val = in($class) val)
        }
    };
}
load_store! {
    32 u32 reg32;
    64 u64 reg64;
}

/// The value unchanged.
#[cfg(target_arch = "nvptx64")]
const fn id<T: Copy>(val: T) -> T {
    val
}

/// `old = op([ptr], val)` for every ordering and scope. `$argument` makes the register's contents
/// from `val`.
macro_rules! fetch {
    ($($op:ident = $instruction:literal: $($t:ident $class:ident $type:literal $argument:expr),*;)*) => {
        $($( fetch!(@orderings $op $instruction $t $class $type $argument); )*)*
    };
    (@orderings $op:ident $instruction:literal $t:ident $class:ident $type:literal $argument:expr) => {
        fetch!(@scopes relaxed $op $instruction $t $class $type $argument);
        fetch!(@scopes acquire $op $instruction $t $class $type $argument);
        fetch!(@scopes release $op $instruction $t $class $type $argument);
        fetch!(@scopes acqrel $op $instruction $t $class $type $argument);
        fetch!(@scopes volatile $op $instruction $t $class $type $argument);
    };
    (@scopes $ordering:ident $op:ident $instruction:literal $t:ident $class:ident $type:literal $argument:expr) => {
        fetch!(@one block $ordering $op $instruction $t $class $type $argument);
        fetch!(@one device $ordering $op $instruction $t $class $type $argument);
        fetch!(@one system $ordering $op $instruction $t $class $type $argument);
    };
    (@one $scope:ident $ordering:ident $op:ident $instruction:literal $t:ident $class:ident $type:literal $argument:expr) => { paste! {
        #[doc = concat!("Replaces the value by the result of `", stringify!($op), "` with `val`, and returns the old one.")]
        #[inline(always)]
        pub unsafe fn [<atomic_fetch_ $op _ $ordering _ $t _ $scope>](ptr: *mut $t, val: $t) -> $t {
            #[cfg(target_arch = "nvptx64")]
            let val = ($argument as fn($t) -> $t)(val).bits();
            #[cfg(target_arch = "nvptx64")]
            let old;
            instruction!(
                concat!("atomic_fetch_", stringify!($op)),
                concat!("atom", ordering!($ordering), scope!($scope), ".", $instruction, ".", $type, " {old}, [{ptr}], {val};"),
                old = out($class) old, ptr = in(reg64) ptr, val = in($class) val
            );
            #[cfg(target_arch = "nvptx64")]
            $t::of(old)
        }
    }};
}
fetch! {
    and = "and": u32 reg32 "b32" id, u64 reg64 "b64" id, i32 reg32 "b32" id, i64 reg64 "b64" id, f32 reg32 "b32" id, f64 reg64 "b64" id;
    or = "or": u32 reg32 "b32" id, u64 reg64 "b64" id, i32 reg32 "b32" id, i64 reg64 "b64" id, f32 reg32 "b32" id, f64 reg64 "b64" id;
    xor = "xor": u32 reg32 "b32" id, u64 reg64 "b64" id, i32 reg32 "b32" id, i64 reg64 "b64" id, f32 reg32 "b32" id, f64 reg64 "b64" id;
    exch = "exch": u32 reg32 "b32" id, u64 reg64 "b64" id, i32 reg32 "b32" id, i64 reg64 "b64" id, f32 reg32 "b32" id, f64 reg64 "b64" id;
    add = "add": u32 reg32 "u32" id, u64 reg64 "u64" id, i32 reg32 "s32" id, i64 reg64 "u64" id, f32 reg32 "f32" id, f64 reg64 "f64" id;
    sub = "add": u32 reg32 "u32" u32::wrapping_neg, u64 reg64 "u64" u64::wrapping_neg, i32 reg32 "s32" i32::wrapping_neg, i64 reg64 "u64" i64::wrapping_neg, f32 reg32 "f32" |val| -val, f64 reg64 "f64" |val| -val;
    min = "min": u32 reg32 "u32" id, u64 reg64 "u64" id, i32 reg32 "s32" id, i64 reg64 "s64" id;
    max = "max": u32 reg32 "u32" id, u64 reg64 "u64" id, i32 reg32 "s32" id, i64 reg64 "s64" id;
}

/// The same with other arguments: increment, decrement, and compare-and-swap.
macro_rules! fetch_others {
    ($($t:ident)*; $($any:ident $class:ident $bits:literal)*) => {
        $( fetch_others!(@orderings step $t); )*
        $( fetch_others!(@orderings cas $any $class $bits); )*
    };
    (@orderings $kind:ident $($rest:tt)*) => {
        fetch_others!(@scopes $kind relaxed $($rest)*);
        fetch_others!(@scopes $kind acquire $($rest)*);
        fetch_others!(@scopes $kind release $($rest)*);
        fetch_others!(@scopes $kind acqrel $($rest)*);
        fetch_others!(@scopes $kind volatile $($rest)*);
    };
    (@scopes $kind:ident $($rest:tt)*) => {
        fetch_others!(@$kind block $($rest)*);
        fetch_others!(@$kind device $($rest)*);
        fetch_others!(@$kind system $($rest)*);
    };
    (@step $scope:ident $ordering:ident $t:ident) => { paste! {
        /// Adds 1, wrapping, and returns the old value.
        #[inline(always)]
        pub unsafe fn [<atomic_fetch_inc_ $ordering _ $t _ $scope>](ptr: *mut $t) -> $t {
            // SAFETY: passed on to the caller.
            unsafe { [<atomic_fetch_add_ $ordering _ $t _ $scope>](ptr, 1) }
        }
        /// Subtracts 1, wrapping, and returns the old value.
        #[inline(always)]
        pub unsafe fn [<atomic_fetch_dec_ $ordering _ $t _ $scope>](ptr: *mut $t) -> $t {
            // SAFETY: passed on to the caller.
            unsafe { [<atomic_fetch_sub_ $ordering _ $t _ $scope>](ptr, 1) }
        }
    }};
    (@cas $scope:ident $ordering:ident $t:ident $class:ident $bits:literal) => { paste! {
        /// Writes `new` if the value has the bits of `current`, and returns the old value.
        #[inline(always)]
        pub unsafe fn [<atomic_fetch_cas_ $ordering _ $t _ $scope>](ptr: *mut $t, current: $t, new: $t) -> $t {
            #[cfg(target_arch = "nvptx64")]
            let old;
            instruction!(
                "atomic_fetch_cas",
                concat!("atom", ordering!($ordering), scope!($scope), ".cas.", $bits, " {old}, [{ptr}], {current}, {new};"),
                old = out($class) old, ptr = in(reg64) ptr, current = in($class) current.bits(), new = in($class) new.bits()
            );
            #[cfg(target_arch = "nvptx64")]
            $t::of(old)
        }
    }};
}
fetch_others! {
    u32 u64 i32 i64;
    u32 reg32 "b32" u64 reg64 "b64" i32 reg32 "b32" i64 reg64 "b64" f32 reg32 "b32" f64 reg64 "b64"
}
