//! `ptr::is_in_address_space`.

use cuda_std::prelude::*;
use cuda_std::ptr::{is_in_address_space, AddressSpace};

#[address_space(constant)]
static TABLE: [u32; 4] = [1, 2, 3, 4];

/// One bit for each kind of pointer (global, shared, constant, local), each 1 if it is where it
/// should be and nowhere else.
#[kernel]
pub unsafe fn pointer_spaces(out: *mut u32) {
    use AddressSpace::{Constant, Global, Local, Shared};
    let spaces = [Global, Shared, Constant, Local];
    let mut local = [thread::block_dim_x(); 2];
    let shared = shared_array![u32; 4];
    let pointers = [
        out.cast_const(),
        shared.cast_const(),
        TABLE.as_ptr(),
        core::hint::black_box(&mut local).as_ptr(),
    ];
    let mut bits = 0;
    for (at, pointer) in pointers.into_iter().enumerate() {
        let right = spaces
            .into_iter()
            .enumerate()
            .all(|(space, name)| is_in_address_space(pointer, name) == (space == at));
        bits |= u32::from(right) << at;
    }
    *out.add(thread::index_1d() as usize) = bits;
}
