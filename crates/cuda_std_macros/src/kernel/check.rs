//! The rules of a kernel that show in its signature.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote_spanned};
use syn::{Error, Ident, Result, ReturnType, Signature, Type};

use super::parameter::{Kind, Parameter};
use crate::tokens;

pub(super) fn signature(sig: &Signature) -> Result<()> {
    let refuse = |tokens: &dyn ToTokens, message: &str| {
        Err(Error::new_spanned(tokens.to_token_stream(), message))
    };
    if let Some(receiver) = sig.receiver() {
        return refuse(receiver, "a kernel is a free function, not a method");
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
    Ok(())
}

/// What a kernel may take that says it is safe.
pub(super) fn safe(parameters: &[Parameter<'_>]) -> Result<()> {
    for parameter in parameters {
        let message = match &parameter.kind {
            Kind::Value if matches!(parameter.ty, Type::Reference(_)) => SHARED,
            Kind::Slice { mutable: true, .. } => SHARED,
            Kind::Pointer { .. } | Kind::RawSlice { .. } => RAW,
            Kind::Reference { .. } | Kind::Text => REFERENCE,
            Kind::Slice { .. } | Kind::Out { .. } | Kind::Value => continue,
        };
        return Err(Error::new_spanned(parameter.ty, message));
    }
    for parameter in parameters {
        if let Some(lifetime) = tokens::static_lifetime(parameter.ty.to_token_stream()) {
            return Err(Error::new(
                lifetime,
                "a kernel's memory lives for its launch only: leave `'static` out",
            ));
        }
    }
    Ok(())
}

const SHARED: &str = "all threads of a launch would have the same `&mut`: a safe kernel takes `Out<T>` for its output, of which a thread reaches \
     its own elements only; or write `unsafe fn`";
const RAW: &str = "a safe kernel takes no raw pointers: take `&[T]` for an input and `Out<T>` for an output, or write `unsafe fn`";
const REFERENCE: &str = "a safe kernel takes values, slices `&[T]` and outputs `Out<T>`: take one of them, or write `unsafe fn`";

/// OptiX knows its programs by their names. On the device such a kernel is an error: nothing here could launch it.
pub(super) fn program_of_optix(name: &Ident) -> Option<TokenStream> {
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
