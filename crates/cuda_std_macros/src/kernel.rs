//! `#[kernel]`: checks the rules of a kernel and writes its entry point.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, FnArg, ItemFn, Pat, PatType, Result, ReturnType, Signature, Type, TypeReference};

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    check_hints(arguments)?;
    let function: ItemFn = syn::parse2(item.clone())
        .map_err(|_| Error::new_spanned(item, "`#[kernel]` goes on a function with a body"))?;
    check(&function.sig)?;
    let parameters = function
        .sig
        .inputs
        .iter()
        .map(Parameter::new)
        .collect::<Result<Vec<_>>>()?;

    let ItemFn {
        attrs,
        vis,
        sig,
        block,
    } = &function;
    let (name, inputs, lifetimes) = (&sig.ident, &sig.inputs, &sig.generics);
    let copies = parameters.iter().filter_map(Parameter::assert_copy);
    let entry = parameters.iter().map(|parameter| &parameter.entry);
    let rebuild = parameters.iter().map(|parameter| &parameter.rebuild);
    let passed = parameters.iter().map(|parameter| &parameter.name);
    Ok(quote! {
        #(#attrs)*
        #[cfg(not(target_arch = "nvptx64"))]
        #vis unsafe fn #name #lifetimes (#inputs) #block

        // The body stays a function of its own, with the signature as written: slices are slices in it, and what it may
        // not do (return a value, say) the compiler checks.
        #(#attrs)*
        #[cfg(target_arch = "nvptx64")]
        #[unsafe(no_mangle)]
        #[allow(improper_ctypes_definitions)]
        #vis unsafe extern "ptx-kernel" fn #name #lifetimes (#(#entry),*) {
            #[inline(always)]
            unsafe fn body #lifetimes (#inputs) #block
            #(#rebuild)*
            unsafe { body(#(#passed),*) }
        }

        const _: () = {
            fn parameters_are_copy #lifetimes () { #(#copies)* }
        };
    })
}

/// rust-cuda's hints on the launch's dimensions, such as `grid_dim = 1d`. They change nothing, there and here.
fn check_hints(arguments: TokenStream) -> Result<()> {
    let refuse = |tokens: &TokenStream| {
        Err(Error::new_spanned(
            tokens,
            "`#[kernel]` takes no arguments but `grid_dim` and `block_dim`, each `1d`, `2d` or `3d`",
        ))
    };
    let text = arguments.to_string().replace(' ', "").to_ascii_lowercase();
    for hint in text.split(',').filter(|hint| !hint.is_empty()) {
        match hint.split_once('=') {
            Some(("grid_dim" | "block_dim", "1d" | "2d" | "3d")) => {}
            _ => return refuse(&arguments),
        }
    }
    Ok(())
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
    if let Some(abi) = &sig.abi {
        return refuse(abi, "a kernel's calling convention comes from `#[kernel]`");
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
    fn new(argument: &'a FnArg) -> Result<Self> {
        let FnArg::Typed(PatType { pat, ty, .. }) = argument else {
            return Err(Error::new_spanned(
                argument,
                "a kernel is a free function, not a method",
            ));
        };
        let Pat::Ident(ident) = &**pat else {
            return Err(Error::new_spanned(
                pat,
                "a kernel's parameter is a plain name",
            ));
        };
        let name = ident.ident.clone();
        let parameter = match slice_element(ty) {
            None => Parameter {
                entry: quote! { #name: #ty },
                rebuild: quote! {},
                name,
                ty,
            },
            Some((element, mutable)) => {
                let (pointer, length) = (
                    format_ident!("{name}_pointer"),
                    format_ident!("{name}_length"),
                );
                let (kind, from_raw) = if mutable {
                    (quote! { *mut #element }, quote! { from_raw_parts_mut })
                } else {
                    (quote! { *const #element }, quote! { from_raw_parts })
                };
                Parameter {
                    entry: quote! { #pointer: #kind, #length: usize },
                    rebuild: quote! { let #name = unsafe { ::core::slice::#from_raw(#pointer, #length) }; },
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
        slice_element(ty)
            .is_none()
            .then(|| quote_spanned! { span => ::cuda_std::__private::assert_copy::<#ty>(); })
    }
}

/// The element type of `&[T]` or `&mut [T]`, and whether it is mutable.
fn slice_element(ty: &Type) -> Option<(&Type, bool)> {
    match ty {
        Type::Reference(TypeReference {
            elem, mutability, ..
        }) => match &**elem {
            Type::Slice(slice) => Some((&slice.elem, mutability.is_some())),
            _ => None,
        },
        Type::Paren(inner) => slice_element(&inner.elem),
        Type::Group(inner) => slice_element(&inner.elem),
        _ => None,
    }
}
