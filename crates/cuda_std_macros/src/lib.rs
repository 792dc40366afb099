//! Attribute macros of `cuda_std`: [`kernel`], [`address_space`], [`gpu_only`] and [`externally_visible`]. Use them through that crate.

mod address_space;
mod cuda_std;
mod externally_visible;
mod gpu_only;
mod kernel;
mod plain;
mod tokens;

use proc_macro::TokenStream;

/// Marks a function as a kernel: an entry point that the host launches.
///
/// On the device the function gets PTX's calling convention and its own name as the entry's name; a slice parameter
/// `&[T]` or `&mut [T]` becomes two entry parameters, pointer and length in elements, as `cust::launch!` passes them. On the
/// host it stays an ordinary function.
///
/// A kernel is an `unsafe fn` (a launch can't be checked by the compiler), returns nothing, is no method, has no generics, and its
/// parameters are slices or `Copy` types. Each rule broken is a compile error that says so.
///
/// `#[kernel(max_threads = 256, min_blocks = 2)]` is CUDA's `__launch_bounds__(256, 2)`: a launch has at most that many threads in a
/// block, and the assembler leaves registers for that many blocks on a multiprocessor. A larger block is refused by the driver.
#[proc_macro_attribute]
pub fn kernel(arguments: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(arguments.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Places a static in an address space of the GPU: `#[address_space(shared)]` or `#[address_space(constant)]`.
///
/// `shared`: one copy for each running block, never initialised whatever the initialiser says. `constant`: read-only for
/// kernels; the host may set it between launches.
#[proc_macro_attribute]
pub fn address_space(arguments: TokenStream, item: TokenStream) -> TokenStream {
    address_space::expand(arguments.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// A function that works in kernels only: on the host it keeps its signature and panics with a message that says so.
#[proc_macro_attribute]
pub fn gpu_only(arguments: TokenStream, item: TokenStream) -> TokenStream {
    gpu_only::expand(arguments.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Keeps a function or static in the PTX, under its own name, although no kernel uses it: for code that is linked to it later.
#[proc_macro_attribute]
pub fn externally_visible(arguments: TokenStream, item: TokenStream) -> TokenStream {
    externally_visible::expand(arguments.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Makes a `#[repr(C)]` or `#[repr(transparent)]` struct of plain fields, without padding, an element and a value of kernels.
///
/// Its name in a kernel's signature is `Affine{gain:f32,bias:f32}`. Padding is a compile error. `#[plain(crate = path)]` says where
/// cuda_std is when the crate has it through another one.
#[proc_macro_derive(Plain, attributes(plain))]
pub fn plain(item: TokenStream) -> TokenStream {
    plain::expand(item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
