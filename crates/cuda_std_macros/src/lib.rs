//! Macros of `cuda_std`: [`kernel`], [`Plain`], [`address_space`], [`gpu_only`] and
//! [`externally_visible`]. Use them through that crate.

mod address_space;
mod cuda_std;
mod externally_visible;
mod gpu_only;
mod kernel;
mod paste;
mod plain;
mod rooted;
mod symbols;
mod tokens;

use proc_macro::TokenStream;
use rooted::Rooted;

/// Marks a function as a kernel: an entry point that the host launches.
///
/// On the device the function gets PTX's calling convention; a slice becomes two parameters,
/// pointer and length in elements. On the host a type of the same name launches it:
/// `saxpy::on(&device)?.grid(4).block(256).launch(..)`. The launch has the kernel's signature and is
/// `unsafe` if the kernel is. An `unsafe` kernel stays an ordinary function too; a safe one that
/// takes what only a launch makes, such as `Out`, cannot be called. No other type, module or trait
/// beside the kernel can have its name.
///
/// | parameter | argument of `launch` |
/// | --- | --- |
/// | `&[T]`, `*const [T]`; `&T`, which needs one element; `&str` | memory to read: `&buffer`, a view |
/// | `&mut [T]`, `*mut [T]`, `Out<T>`, `Out<T, Map>`, `Atomics<T>` | memory to write: `&mut buffer`, a mutable view |
/// | `Matrix<T>` | memory to read and its size: `(&buffer, rows, cols)` |
/// | `OutMatrix<T, R, C>` | memory to write and its size: `(&mut buffer, rows, cols)` |
/// | `Append<T>` | memory to write and its count, one `u64`: `(&mut buffer, &mut count)` |
/// | `Scatter<T>` | memory to write and a checked permutation of its length: `(&mut buffer, &permutation)` |
/// | `*const T`, `*mut T` | the same memory, or a `DevicePointer` |
/// | `&mut Block<X, Y, Z>`, `Shared<A>`, `Ring<A, N>`, `Scratch<T>` | none: the launch makes it |
/// | anything else, which is `Copy` | the value |
///
/// A kernel returns nothing and is not a method. Each broken rule is a compile error that says so.
///
/// # Safe kernels
/// A kernel without `unsafe` takes all of these parameters except raw pointers and `&mut` slices.
/// Elements and values are of plain types (`Plain`). Its launch is safe, and its crate may be under
/// `#![forbid(unsafe_code)]`; `cuda_std::launch` shows one.
///
/// - `&mut Block<16, 16>` is for blocks of 16 x 16 threads: the launch uses that block by default
///   and refuses any other. An extent `ANY` is left to the launch; plain `Block` is
///   one-dimensional.
/// - `Shared<[T; N]>` and `Shared<Tile<..>>` are static arrays. `Shared<[T]>` is dynamic:
///   `shared(..)` gives its length, and the launch computes the bytes.
/// - A matrix has `rows * cols` elements in memory. With `&mut Block`, `Out<T>` needs a
///   one-dimensional grid, `OutMatrix` a grid of at most two dimensions, and `Out<T, PerBlock>` an
///   element for each block.
/// - A kernel with `Out<T>` and no `Block` needs a one-dimensional grid and one-dimensional blocks;
///   one with `&mut Block<X>` and no output needs a one-dimensional grid. A rule in `require(..)`
///   that names `grid` lifts this.
/// - Every barrier is reached by all threads of the block, or the build fails.
///
/// `unsafe` kernels may take these parameters too.
///
/// # Options, separated by commas
/// - `instances(f32, f64)`: the entry points of a generic kernel, here `saxpy_f32` and `saxpy_f64`.
///   With several generic parameters: `instances((f32, 4), (f64, 8))`; `(f32 | f64, Sum | Min)` means
///   all four pairs. The body is compiled separately for each instance, with `T` a plain alias:
///   `shared_array![T; N]` works in it, and an associated type is written `<T as Trait>::Name`.
/// - `name = "{O}_tree_{T}"`: names by a pattern. A parameter stands for the last segment of its
///   argument, a type's in lower case.
/// - `require(x.len() == y.len(), block.x % 32 == 0)`: requirements on a launch in addition to the
///   types; breaking one is an error that quotes it. Slices and pointers have `.len()` and
///   `.is_aligned_to(bytes)`, matrices `.rows()`, `.cols()` and `.len()`; values are used by name;
///   `grid` and `block` have `.x`, `.y` and `.z`, and `grid.blocks()` and `block.threads()` are
///   their products; `shared_bytes` is the dynamic shared memory. A rule on a bare `DevicePointer`
///   is not checked.
/// - `shared(tile = block.threads() + 2)`: the length of each dynamic shared array, a `usize`
///   written with the same words. `+ - * / %` are checked: a launch for which one of them overflows
///   or divides by zero is refused.
/// - `max_threads = 256, min_blocks = 2`: CUDA's `__launch_bounds__(256, 2)`. The driver refuses a
///   block of more than 256 threads, and the assembler limits registers so that two blocks fit on a
///   multiprocessor. `min_blocks = [8, 6]` has a number for each instance, in order.
/// - `starts_early`: CUDA's programmatic dependent launch. A launch may start while the kernel before
///   it in the stream still runs, and waits for its end before the first access to memory; without
///   this the device starts it after that end, half a microsecond to two later. For the second of
///   two short kernels. On devices below compute capability 9.0 it has no effect.
/// - `allow_divergence = "why"`, for `unsafe` kernels: silences the build's warning that some
///   threads may miss a barrier.
/// - `crate = other::cuda_std`: the path of cuda_std, for a crate that has it only through another
///   one. A renamed dependency is found without this. A crate with neither gets the kernel but no
///   launch.
/// - `grid_dim = 1d`, `block_dim = 1d`: rust-cuda's hints; they have no effect.
#[proc_macro_attribute]
pub fn kernel(arguments: TokenStream, item: TokenStream) -> TokenStream {
    kernel::begin(arguments.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// The second step of [`kernel`].
#[doc(hidden)]
#[proc_macro_attribute]
pub fn __kernel(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let expand = |root, arguments| kernel::expand(Some(root), arguments, item.into());
    Rooted::expand(arguments.into(), expand)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Places a static in an address space of the GPU: `#[address_space(shared)]` or
/// `#[address_space(constant)]`.
///
/// `shared`: one copy for each running block, never initialised, whatever its initialiser. It must
/// therefore be a `static mut` or a `MaybeUninit`. `constant`: a read-only table whose contents are
/// known when the crate is built. Pass what the host chooses as an argument, of up to 32,764 bytes:
/// CUDA keeps arguments in constant memory too, and each launch has its own. There is no
/// `cudaMemcpyToSymbol`: a Rust static does not change, and kernels are compiled with its value.
#[proc_macro_attribute]
pub fn address_space(arguments: TokenStream, item: TokenStream) -> TokenStream {
    address_space::begin(arguments.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// The second step of [`address_space`], for statics that need a check.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn __address_space(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let expand = |root, arguments| address_space::expand(Some(root), arguments, item.into());
    Rooted::expand(arguments.into(), expand)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Marks a function that works only in kernels: on the host it keeps its signature and panics with
/// a message that says so.
#[proc_macro_attribute]
pub fn gpu_only(arguments: TokenStream, item: TokenStream) -> TokenStream {
    gpu_only::expand(arguments.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Keeps a function or static in the PTX under its own name even if no kernel uses it, for code
/// that is linked later.
#[proc_macro_attribute]
pub fn externally_visible(arguments: TokenStream, item: TokenStream) -> TokenStream {
    externally_visible::expand(arguments.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Lets kernels take a struct as an element or a value. It must be `#[repr(C)]` or
/// `#[repr(transparent)]`, with plain fields and no padding.
///
/// Its name in a kernel's signature is `Affine{gain:f32,bias:f32}`. Padding is a compile error.
/// `#[plain(crate = path)]` gives the path of cuda_std for a crate that has it through another one.
#[proc_macro_derive(Plain, attributes(plain))]
pub fn plain(item: TokenStream) -> TokenStream {
    plain::begin(item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// The second step of [`Plain`].
#[doc(hidden)]
#[proc_macro]
pub fn __plain(tokens: TokenStream) -> TokenStream {
    Rooted::expand(tokens.into(), |root, item| plain::expand(&root, item))
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// For `embedded_kernels!`, with the path of cuda_std: the error of the build script, if there is one.
#[doc(hidden)]
#[proc_macro]
pub fn __not_built(cuda_std: TokenStream) -> TokenStream {
    kernel::not_built(&cuda_std.into()).into()
}

/// Makes one identifier of each `[<part part>]`: for cuda_std's own functions, whose names are
/// operation, ordering, type and scope.
#[doc(hidden)]
#[proc_macro]
pub fn paste(tokens: TokenStream) -> TokenStream {
    paste::expand(tokens.into()).into()
}
