//! `#[kernel]`: checks the rules of a kernel and writes its entry point.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{
    Error, FnArg, ItemFn, Pat, PatType, Result, ReturnType, Signature, Type, TypePtr, TypeReference,
};

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let bounds = launch_bounds(arguments)?;
    let function: ItemFn = syn::parse2(item.clone())
        .map_err(|_| Error::new_spanned(item, "`#[kernel]` goes on a function with a body"))?;
    check(&function.sig)?;
    let parameters = function
        .sig
        .inputs
        .iter()
        .enumerate()
        .map(|(index, argument)| Parameter::new(index, argument))
        .collect::<Result<Vec<_>>>()?;

    let ItemFn {
        attrs,
        vis,
        sig,
        block,
    } = &function;
    let (name, inputs, lifetimes) = (&sig.ident, &sig.inputs, &sig.generics);
    let program_of_optix = program_of_optix(name);
    let no_hidden_slices = no_hidden_slices(&parameters);
    let copies = parameters.iter().filter_map(Parameter::assert_copy);
    let entry = parameters.iter().map(|parameter| &parameter.entry);
    let rebuild = parameters.iter().map(|parameter| &parameter.rebuild);
    let passed = parameters.iter().map(|parameter| &parameter.name);
    Ok(quote! {
        #program_of_optix

        #(#attrs)*
        #[cfg(not(target_arch = "nvptx64"))]
        #vis unsafe fn #name #lifetimes (#inputs) #block

        // The body stays a function of its own, with the signature as written: slices are slices in it, and what it may
        // not do (return a value, say) the compiler checks.
        #(#attrs)*
        #[cfg(target_arch = "nvptx64")]
        #[unsafe(no_mangle)]
        #bounds
        #[allow(improper_ctypes_definitions)]
        #vis unsafe extern "ptx-kernel" fn #name #lifetimes (#(#entry),*) {
            #[inline(always)]
            unsafe fn body #lifetimes (#inputs) #block
            #no_hidden_slices
            #(#rebuild)*
            unsafe { body(#(#passed),*) }
        }

        // No path of cuda_std's is in all this: a crate may have it under another name, or through another crate.
        const _: () = {
            fn kernel_parameter<T: ::core::marker::Copy>() {}
            fn parameters_are_copy #lifetimes () { #(#copies)* }
        };
    })
}

/// Fails to compile for the device where an alias hides a slice: the host passes two parameters for one, and the entry would take one.
///
/// A constant of the type itself goes before one of a trait's, so that each type tells what it is.
fn no_hidden_slices(parameters: &[Parameter<'_>]) -> TokenStream {
    let checks = parameters
        .iter()
        .filter(|parameter| Slice::of(parameter.ty).is_none())
        .map(|parameter| {
            let ty = parameter.ty;
            let message = format!(
                "the type of the kernel's parameter `{}` is another name of a slice: write the slice itself (`&[T]`, `*const [T]`), \
                 for `#[kernel]` makes two parameters of it, pointer and length",
                parameter.name
            );
            quote! { const { ::core::assert!(!KernelParameterKind::<#ty>::IS_SLICE, #message) }; }
        });
    quote! {
        #[allow(dead_code)]
        struct KernelParameterKind<T>(::core::marker::PhantomData<T>);
        #[allow(dead_code)]
        trait KernelParameterIsNoSlice {
            const IS_SLICE: bool = false;
        }
        impl<T> KernelParameterIsNoSlice for KernelParameterKind<T> {}
        #[allow(dead_code)]
        impl<T> KernelParameterKind<&[T]> {
            const IS_SLICE: bool = true;
        }
        #[allow(dead_code)]
        impl<T> KernelParameterKind<*const [T]> {
            const IS_SLICE: bool = true;
        }
        #[allow(dead_code)]
        impl<T> KernelParameterKind<*mut [T]> {
            const IS_SLICE: bool = true;
        }
        #[allow(dead_code)]
        impl KernelParameterKind<&str> {
            const IS_SLICE: bool = true;
        }
        #(#checks)*
    }
}

/// The section that tells cuda_builder the bounds of the launches, when there are any. rust-cuda's hints on the dimensions, such
/// as `grid_dim = 1d`, change nothing, there and here.
fn launch_bounds(arguments: TokenStream) -> Result<Option<TokenStream>> {
    let refuse = || {
        Err(Error::new_spanned(
            &arguments,
            "`#[kernel]` takes no arguments but `grid_dim` and `block_dim`, each `1d`, `2d` or `3d`, and `max_threads` with `min_blocks`, each a number of at least 1",
        ))
    };
    let text = arguments.to_string().replace(' ', "").to_ascii_lowercase();
    let (mut threads, mut blocks) = (None, None);
    for hint in text.split(',').filter(|hint| !hint.is_empty()) {
        let number = |value: &str| value.parse::<u32>().ok().filter(|&number| number > 0);
        match hint.split_once('=') {
            Some(("grid_dim" | "block_dim", "1d" | "2d" | "3d")) => {}
            Some(("max_threads", value)) => threads = Some(number(value)),
            Some(("min_blocks", value)) => blocks = Some(number(value)),
            _ => return refuse(),
        }
    }
    match (threads, blocks) {
        (None, None) => Ok(None),
        (Some(Some(threads)), Some(Some(blocks))) => {
            let section = format!("cuda_std.launch_bounds.{threads}.{blocks}");
            Ok(Some(quote! { #[unsafe(link_section = #section)] }))
        }
        _ => refuse(),
    }
}

/// OptiX knows its programs by their names. On the device such a kernel is an error: nothing here could launch it.
fn program_of_optix(name: &syn::Ident) -> Option<TokenStream> {
    const PROGRAMS: [&str; 8] = [
        "raygen",
        "intersection",
        "anyhit",
        "closesthit",
        "miss",
        "exception",
        "direct_callable",
        "continuation_callable",
    ];
    let text = name.to_string();
    let kind = text.strip_prefix("__")?.split("__").next()?;
    PROGRAMS.contains(&kind).then(|| {
        let message = format!(
            "`{text}` names a program of OptiX, which only OptiX can compile and launch; leave it out of this build (`#[cfg]`), \
             or give a kernel of CUDA another name"
        );
        quote_spanned! { name.span() =>
            #[cfg(target_arch = "nvptx64")]
            ::core::compile_error!(#message);
        }
    })
}

/// The rules that show in the signature.
fn check(sig: &Signature) -> Result<()> {
    let refuse = |tokens: &dyn quote::ToTokens, message: &str| {
        Err(Error::new_spanned(tokens.to_token_stream(), message))
    };
    if let Some(receiver) = sig.receiver() {
        return refuse(receiver, "a kernel is a free function, not a method");
    }
    if sig.unsafety.is_none() {
        return refuse(
            &sig.ident,
            "a kernel is `unsafe`: the compiler cannot check what the host passes or how the threads share memory",
        );
    }
    if let ReturnType::Type(_, ty) = &sig.output
        && !matches!(&**ty, Type::Tuple(tuple) if tuple.elems.is_empty())
    {
        return refuse(
            ty,
            "a kernel returns nothing: write results through a pointer parameter",
        );
    }
    if let Some(constness) = &sig.constness {
        return refuse(constness, "a kernel cannot be `const`");
    }
    if let Some(asyncness) = &sig.asyncness {
        return refuse(asyncness, "a kernel cannot be `async`");
    }
    // rust-cuda's kernels may say it, although the attribute gives them a convention of their own, there and here.
    if let Some(abi) = &sig.abi
        && abi.name.as_ref().is_some_and(|name| name.value() != "C")
    {
        return refuse(
            abi,
            "a kernel's calling convention comes from `#[kernel]`; only `extern \"C\"` may be written too, and means nothing",
        );
    }
    if let Some(variadic) = &sig.variadic {
        return refuse(variadic, "a kernel has a fixed number of parameters");
    }
    if sig.generics.type_params().next().is_some() || sig.generics.const_params().next().is_some() {
        return refuse(
            &sig.generics,
            "a kernel has no type or const parameters: its name must stand for one entry point",
        );
    }
    Ok(())
}

/// One parameter of the kernel and what becomes of it in the entry point.
struct Parameter<'a> {
    name: syn::Ident,
    ty: &'a Type,
    /// The entry's parameter, or two for a slice.
    entry: TokenStream,
    /// A statement that makes `name` from them; empty when it is the entry's parameter itself.
    rebuild: TokenStream,
}

impl<'a> Parameter<'a> {
    fn new(index: usize, argument: &'a FnArg) -> Result<Self> {
        let FnArg::Typed(PatType { pat, ty, .. }) = argument else {
            return Err(Error::new_spanned(
                argument,
                "a kernel is a free function, not a method",
            ));
        };
        // The body takes it apart; in the entry point a pattern needs a name.
        let name = match &**pat {
            Pat::Ident(ident) if ident.subpat.is_none() => ident.ident.clone(),
            _ => format_ident!("parameter_{index}"),
        };
        let parameter = match Slice::of(ty) {
            None => Parameter {
                entry: quote! { #name: #ty },
                rebuild: quote! {},
                name,
                ty,
            },
            Some(slice) => {
                let (pointer, length) = (
                    format_ident!("{name}_pointer"),
                    format_ident!("{name}_length"),
                );
                let (kind, whole) = (slice.pointer(), slice.assemble(&pointer, &length));
                Parameter {
                    entry: quote! { #pointer: #kind, #length: usize },
                    rebuild: quote! { let #name = #whole; },
                    name,
                    ty,
                }
            }
        };
        Ok(parameter)
    }

    /// Fails to compile, pointing at the type, unless it may be copied byte by byte into the launch. A slice's pointer and
    /// length always may.
    fn assert_copy(&self) -> Option<TokenStream> {
        let ty = self.ty;
        let span = ty.span().resolved_at(Span::mixed_site());
        Slice::of(ty)
            .is_none()
            .then(|| quote_spanned! { span => kernel_parameter::<#ty>(); })
    }
}

/// A parameter's type that is a pointer and a length.
enum Slice<'a> {
    /// `&[T]`, or `&mut [T]`.
    Reference { element: &'a Type, mutable: bool },
    /// `*const [T]`, or `*mut [T]`.
    Raw { element: &'a Type, mutable: bool },
    /// `&str`.
    Text,
}

impl<'a> Slice<'a> {
    fn of(ty: &'a Type) -> Option<Self> {
        match ty {
            Type::Reference(TypeReference {
                elem, mutability, ..
            }) => match &**elem {
                Type::Slice(slice) => Some(Slice::Reference {
                    element: &slice.elem,
                    mutable: mutability.is_some(),
                }),
                Type::Path(path) if path.path.is_ident("str") && mutability.is_none() => {
                    Some(Slice::Text)
                }
                _ => None,
            },
            Type::Ptr(TypePtr {
                elem, mutability, ..
            }) => match &**elem {
                Type::Slice(slice) => Some(Slice::Raw {
                    element: &slice.elem,
                    mutable: mutability.is_some(),
                }),
                _ => None,
            },
            Type::Paren(inner) => Slice::of(&inner.elem),
            Type::Group(inner) => Slice::of(&inner.elem),
            _ => None,
        }
    }

    /// The type of the pointer to the first element.
    fn pointer(&self) -> TokenStream {
        match self {
            Slice::Reference { element, mutable } | Slice::Raw { element, mutable } => {
                if *mutable {
                    quote! { *mut #element }
                } else {
                    quote! { *const #element }
                }
            }
            Slice::Text => quote! { *const u8 },
        }
    }

    /// The whole, from its two parts.
    fn assemble(&self, pointer: &syn::Ident, length: &syn::Ident) -> TokenStream {
        match self {
            Slice::Reference { mutable: true, .. } => {
                quote! { unsafe { ::core::slice::from_raw_parts_mut(#pointer, #length) } }
            }
            Slice::Reference { mutable: false, .. } => {
                quote! { unsafe { ::core::slice::from_raw_parts(#pointer, #length) } }
            }
            Slice::Raw { mutable: true, .. } => {
                quote! { ::core::ptr::slice_from_raw_parts_mut(#pointer, #length) }
            }
            Slice::Raw { mutable: false, .. } => {
                quote! { ::core::ptr::slice_from_raw_parts(#pointer, #length) }
            }
            Slice::Text => quote! {
                unsafe {
                    ::core::str::from_utf8_unchecked(::core::slice::from_raw_parts(#pointer, #length))
                }
            },
        }
    }
}
