//! `ptr`: a generic pointer to an address of its space and back.

use cuda_std::prelude::*;
use cuda_std::ptr::{
    convert_generic_to_specific_address_space, convert_specific_address_space_to_generic,
    AddressSpace::{Global, Shared},
};

/// Reads `input[i]` by way of its global address, and the neighbour's copy by way of its shared
/// one. One block of 32.
#[kernel]
pub unsafe fn pointer_conversions(input: *const u32, out: *mut u32) {
    let copy = shared_array![u32; 32];
    let t = thread::thread_idx_x() as usize;
    let address = convert_generic_to_specific_address_space(input.add(t), Global);
    *copy.add(t) = 3 * *convert_specific_address_space_to_generic(address, Global);
    thread::sync_threads();
    let neighbour = copy.add((t + 1) % 32).cast_const();
    let address = convert_generic_to_specific_address_space(neighbour, Shared);
    *out.add(t) = *convert_specific_address_space_to_generic(address, Shared);
}
