//! `ptr`, `mem`, `misc`, `cfg`, `async_copy` and the attributes.

use cuda_std::async_copy;
use cuda_std::cfg::ComputeCapability;
use cuda_std::prelude::*;
use cuda_std::ptr::{
    AddressSpace, convert_generic_to_specific_address_space,
    convert_specific_address_space_to_generic, is_in_address_space,
};
use cuda_std::{externally_visible, gpu_only, mem, misc};

use crate::put;

#[address_space(constant)]
static SEVEN: [u32; 2] = [7, 8];

/// One thread; 16 columns: whether a pointer to global, shared, constant and local memory is in
/// each space.
#[kernel]
pub unsafe fn address_spaces(out: *mut u32) {
    use AddressSpace::{Constant, Global, Local, Shared};
    let mut local = [thread::block_dim_x(); 2];
    let shared = shared_array![u32; 4];
    let pointers = [
        out.cast_const(),
        shared.cast_const(),
        SEVEN.as_ptr(),
        core::hint::black_box(&mut local).as_ptr(),
    ];
    for (row, pointer) in (0..).zip(pointers) {
        for (column, space) in (0..).zip([Global, Shared, Constant, Local]) {
            // SAFETY: the crate's rule.
            unsafe {
                put(
                    out,
                    row,
                    4,
                    column,
                    is_in_address_space(pointer, space) as u32,
                )
            };
        }
    }
}

/// One thread: reads `input[0]` through its global address made generic again, and the second of a
/// constant likewise.
#[kernel]
pub unsafe fn converted_pointers(input: *const u32, out: *mut u32) {
    use AddressSpace::{Constant, Global};
    // SAFETY: the crate's rule; each pointer is in the space that is named.
    unsafe {
        let global = convert_generic_to_specific_address_space(input, Global);
        out.write(*convert_specific_address_space_to_generic(global, Global));
        let constant = convert_generic_to_specific_address_space(&raw const SEVEN[1], Constant);
        out.add(1).write(*convert_specific_address_space_to_generic(
            constant, Constant,
        ));
    }
}

/// One thread; 5 columns: bytes of dynamic and of total shared memory, whether the clock went on,
/// the compute capability in tens (by comparison), and what the cfgs say (80 or newer, 200 or
/// newer).
#[kernel]
#[allow(unexpected_cfgs, reason = "cuda_builder sets them")]
pub unsafe fn machine(out: *mut u32) {
    let start = misc::clock();
    misc::profiler_counter(3);
    let shared = shared_array![u32; 16];
    let cfgs = u32::from(cfg!(target_feature = "compute_80"))
        + 2 * u32::from(cfg!(target_feature = "compute_200"));
    let capability = if ComputeCapability::from_cuda_arch_env() >= ComputeCapability::Compute90 {
        90
    } else if ComputeCapability::from_cuda_arch_env() >= ComputeCapability::Compute80 {
        80
    } else {
        0
    };
    // SAFETY: the crate's rule.
    unsafe {
        shared.write_volatile(1);
        out.write(mem::dynamic_smem_size());
        out.add(1).write(mem::total_smem_size());
        out.add(2).write(u32::from(misc::clock() > start));
        out.add(3).write(capability);
        out.add(4).write(cfgs);
    }
}

/// A block of 32: each thread copies 16 bytes past the caches and twice 4 through them, and writes
/// what its neighbour copied.
#[kernel]
pub unsafe fn copied_beside(input: *const [u32; 4], out: *mut u32) {
    let wide = shared_array![[u32; 4]; 32];
    let narrow = shared_array![u32; 32];
    let by_address = shared_array![u32; 32];
    let thread = thread::thread_idx_x() as usize;
    // SAFETY: the crate's rule; the arrays are of 32, and a barrier stands between writing and
    // reading.
    unsafe {
        async_copy::cp_async_cg(wide.add(thread), input.add(thread));
        async_copy::cp_async_commit_group();
        async_copy::cp_async_ca(narrow.add(thread), input.add(thread).cast());
        let slot = async_copy::shared_address(by_address) + 4 * thread as u32;
        async_copy::cp_async_ca_to(slot, input.add(thread).cast::<u32>().add(1));
        async_copy::cp_async_commit_group();
        async_copy::cp_async_wait_group::<1>();
        async_copy::cp_async_wait_all();
        thread::sync_threads();
        let neighbour = (thread + 1) % 32;
        put(out, thread as u32, 3, 0, (*wide.add(neighbour))[3]);
        put(out, thread as u32, 3, 1, *narrow.add(neighbour));
        put(out, thread as u32, 3, 2, *by_address.add(neighbour));
    }
}

/// Doubles on the device, panics on the host.
#[gpu_only]
#[inline(never)]
pub fn doubled(x: u32) -> u32 {
    2 * x
}

/// Not called by any kernel, and in the PTX all the same.
#[externally_visible]
pub fn visible_helper(x: u32) -> u32 {
    x ^ 0x5a
}

/// One thread: `out[0] = 2 · x`.
#[kernel(grid_dim = 1d, block_dim = 1d)]
pub unsafe fn hinted(x: u32, out: *mut u32) {
    // SAFETY: the crate's rule.
    unsafe { out.write(doubled(x)) };
}
