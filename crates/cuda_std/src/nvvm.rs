//! LLVM's NVPTX intrinsics: declared on the device, panicking stand-ins on the host.

/// Declares each intrinsic under its LLVM name. The relevant attributes (convergent, no memory, …)
/// come from LLVM's own table. Safe ones only read a register; the others are `unsafe` because
/// threads must call them together.
macro_rules! intrinsics {
    ($($link:literal => $safety:tt fn $name:ident($($arg:ident: $type:ty),*) $(-> $ret:ty)?;)*) => {
        #[cfg(target_arch = "nvptx64")]
        unsafe extern "C" {
            $(
                #[link_name = $link]
                pub(crate) $safety fn $name($($arg: $type),*) $(-> $ret)?;
            )*
        }
        #[cfg(not(target_arch = "nvptx64"))]
        mod host {
            $( intrinsics!(@host $safety fn $name($($arg: $type),*) $(-> $ret)?); )*
        }
    };
    (@host safe fn $name:ident($($arg:ident: $type:ty),*) $(-> $ret:ty)?) => {
        pub(crate) fn $name($(_: $type),*) $(-> $ret)? { super::only_on_device(stringify!($name)) }
    };
    (@host unsafe fn $name:ident($($arg:ident: $type:ty),*) $(-> $ret:ty)?) => {
        pub(crate) unsafe fn $name($(_: $type),*) $(-> $ret)? { super::only_on_device(stringify!($name)) }
    };
}
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) use host::*;

intrinsics! {
    "llvm.nvvm.read.ptx.sreg.tid.x" => safe fn tid_x() -> u32;
    "llvm.nvvm.read.ptx.sreg.tid.y" => safe fn tid_y() -> u32;
    "llvm.nvvm.read.ptx.sreg.tid.z" => safe fn tid_z() -> u32;
    "llvm.nvvm.read.ptx.sreg.ntid.x" => safe fn ntid_x() -> u32;
    "llvm.nvvm.read.ptx.sreg.ntid.y" => safe fn ntid_y() -> u32;
    "llvm.nvvm.read.ptx.sreg.ntid.z" => safe fn ntid_z() -> u32;
    "llvm.nvvm.read.ptx.sreg.ctaid.x" => safe fn ctaid_x() -> u32;
    "llvm.nvvm.read.ptx.sreg.ctaid.y" => safe fn ctaid_y() -> u32;
    "llvm.nvvm.read.ptx.sreg.ctaid.z" => safe fn ctaid_z() -> u32;
    "llvm.nvvm.read.ptx.sreg.nctaid.x" => safe fn nctaid_x() -> u32;
    "llvm.nvvm.read.ptx.sreg.nctaid.y" => safe fn nctaid_y() -> u32;
    "llvm.nvvm.read.ptx.sreg.nctaid.z" => safe fn nctaid_z() -> u32;
    "llvm.nvvm.read.ptx.sreg.laneid" => safe fn laneid() -> u32;
    "llvm.nvvm.activemask" => unsafe fn activemask() -> u32;

    "llvm.nvvm.shfl.sync.idx.i32" => unsafe fn shfl_idx(mask: u32, value: u32, b: u32, c: u32) -> u32;
    "llvm.nvvm.shfl.sync.up.i32" => unsafe fn shfl_up(mask: u32, value: u32, b: u32, c: u32) -> u32;
    "llvm.nvvm.shfl.sync.down.i32" => unsafe fn shfl_down(mask: u32, value: u32, b: u32, c: u32) -> u32;
    "llvm.nvvm.shfl.sync.bfly.i32" => unsafe fn shfl_bfly(mask: u32, value: u32, b: u32, c: u32) -> u32;

    "llvm.nvvm.barrier.cta.sync.aligned.all" => unsafe fn barrier_sync(id: u32);
    "llvm.nvvm.barrier.cta.red.popc.aligned.all" => unsafe fn barrier_red_popc(id: u32, predicate: bool) -> u32;
    "llvm.nvvm.barrier.cta.red.and.aligned.all" => unsafe fn barrier_red_and(id: u32, predicate: bool) -> bool;
    "llvm.nvvm.barrier.cta.red.or.aligned.all" => unsafe fn barrier_red_or(id: u32, predicate: bool) -> bool;
    "llvm.nvvm.bar.warp.sync" => unsafe fn bar_warp_sync(mask: u32);
    "llvm.nvvm.membar.cta" => safe fn membar_cta();
    "llvm.nvvm.membar.gl" => safe fn membar_gl();
    "llvm.nvvm.membar.sys" => safe fn membar_sys();
    "llvm.nvvm.nanosleep" => safe fn nanosleep(nanos: u32);

    "llvm.nvvm.vote.all.sync" => unsafe fn vote_all(mask: u32, predicate: bool) -> bool;
    "llvm.nvvm.vote.any.sync" => unsafe fn vote_any(mask: u32, predicate: bool) -> bool;
    "llvm.nvvm.vote.ballot.sync" => unsafe fn vote_ballot(mask: u32, predicate: bool) -> u32;
    "llvm.nvvm.match.any.sync.i32" => unsafe fn match_any_32(mask: u32, value: u32) -> u32;
    "llvm.nvvm.match.any.sync.i64" => unsafe fn match_any_64(mask: u32, value: u64) -> u32;
    "llvm.nvvm.redux.sync.add" => unsafe fn redux_add(value: u32, mask: u32) -> u32;
    "llvm.nvvm.redux.sync.umin" => unsafe fn redux_umin(value: u32, mask: u32) -> u32;
    "llvm.nvvm.redux.sync.umax" => unsafe fn redux_umax(value: u32, mask: u32) -> u32;
    "llvm.nvvm.redux.sync.min" => unsafe fn redux_min(value: u32, mask: u32) -> u32;
    "llvm.nvvm.redux.sync.max" => unsafe fn redux_max(value: u32, mask: u32) -> u32;
    "llvm.nvvm.redux.sync.and" => unsafe fn redux_and(value: u32, mask: u32) -> u32;
    "llvm.nvvm.redux.sync.or" => unsafe fn redux_or(value: u32, mask: u32) -> u32;
    "llvm.nvvm.redux.sync.xor" => unsafe fn redux_xor(value: u32, mask: u32) -> u32;
}

/// Panics in a call that is meaningful only in a kernel.
#[cfg(not(target_arch = "nvptx64"))]
#[cold]
pub(crate) fn only_on_device(what: &str) -> ! {
    panic!(
        "cuda_std: `{what}` works only in a kernel on the GPU or on the emulator, not on the host"
    )
}
