//! Address spaces of pointers.
//!
//! A Rust pointer is generic: it reaches global, shared, constant and local memory. PTX also has
//! addresses within one space, which only assembly understands.

use crate::gpu_only;

/// Where memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressSpace {
    /// Memory of the device, for all threads.
    Global,
    /// Memory of a block, for its threads.
    Shared,
    /// Memory of the device that kernels only read.
    Constant,
    /// A thread's own memory, such as its stack.
    Local,
}

/// Whether `ptr` points into the address space (PTX `isspacep`).
///
/// # Safety
/// Always safe: the pointer is not dereferenced. rust-cuda declares it `unsafe`.
#[gpu_only]
#[inline(always)]
pub unsafe fn is_in_address_space<T>(ptr: *const T, address_space: AddressSpace) -> bool {
    macro_rules! query {
        ($space:literal) => {{
            let inside: u32;
            // SAFETY: computes with the address only.
            unsafe {
                core::arch::asm!(
                    "{{",
                    ".reg .pred inside;",
                    concat!("isspacep.", $space, " inside, {ptr};"),
                    "selp.u32 {inside}, 1, 0, inside;",
                    "}}",
                    ptr = in(reg64) ptr,
                    inside = out(reg32) inside,
                    options(pure, nomem, nostack),
                )
            }
            inside != 0
        }};
    }
    match address_space {
        AddressSpace::Global => query!("global"),
        AddressSpace::Shared => query!("shared"),
        AddressSpace::Constant => query!("const"),
        AddressSpace::Local => query!("local"),
    }
}

/// The two directions of PTX's `cvta`.
#[cfg(target_arch = "nvptx64")]
macro_rules! convert {
    ($to:literal, $ptr:ident, $space:ident) => {{
        macro_rules! instruction {
                                    ($name:literal) => {{
                                        let converted: *const T;
                                        // SAFETY: computes with the address only.
                                        unsafe {
                                            core::arch::asm!(
                                                concat!("cvta", $to, ".", $name, ".u64 {}, {};"),
                                                out(reg64) converted,
                                                in(reg64) $ptr,
                                                options(pure, nomem, nostack),
                                            )
                                        }
                                        converted
                                    }};
                                }
        match $space {
            AddressSpace::Global => instruction!("global"),
            AddressSpace::Shared => instruction!("shared"),
            AddressSpace::Constant => instruction!("const"),
            AddressSpace::Local => instruction!("local"),
        }
    }};
}

/// The address of a generic pointer within its address space. Only assembly can use it.
///
/// # Safety
/// `ptr` points into the address space.
#[gpu_only]
#[inline(always)]
pub unsafe fn convert_generic_to_specific_address_space<T>(
    ptr: *const T,
    address_space: AddressSpace,
) -> *const T {
    convert!(".to", ptr, address_space)
}

/// The generic pointer for an address within a space.
///
/// # Safety
/// `ptr` is an address within the address space.
#[gpu_only]
#[inline(always)]
pub unsafe fn convert_specific_address_space_to_generic<T>(
    ptr: *const T,
    address_space: AddressSpace,
) -> *const T {
    convert!("", ptr, address_space)
}
