//! The record of an entry point's signature, the same on both sides.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::Type;

use super::Kernel;
use super::instances::Instance;
use super::parameter::{Kind, Parameter};
use crate::tokens;

impl Kernel<'_> {
    /// The variable in the PTX.
    pub(super) fn record(&self, instance: &Instance) -> Option<TokenStream> {
        let path = self.cuda_std.as_ref()?;
        let parts = self.parts(instance)?;
        let name = format!("{}__signature", instance.entry);
        Some(quote! {
            const KERNEL_PARTS: &[&str] = { #parts };
            // The section's name is the mark for cuda_builder, which takes it off again.
            #[unsafe(export_name = #name)]
            #[unsafe(link_section = "cuda_std.externally_visible")]
            static KERNEL_SIGNATURE: [u8; #path::launch::length(KERNEL_PARTS)] = #path::launch::join(KERNEL_PARTS);
        })
    }

    /// On the host: the entry as the launch knows it.
    pub(super) fn entry(&self, instance: &Instance) -> Option<TokenStream> {
        let path = self.cuda_std.as_ref()?;
        let (parts, sizes) = (self.parts(instance)?, self.sizes());
        let (kernel, arguments) = (&self.function.sig.ident, &instance.arguments);
        let entry = &instance.entry;
        let kernels = if crate::cuda_std::has_embedded_kernels() {
            quote! { ::core::option::Option::Some(&crate::KERNELS) }
        } else {
            quote! { ::core::option::Option::None }
        };
        Some(quote! {
            #[cfg(not(target_arch = "nvptx64"))]
            const _: () = {
                const KERNEL_PARTS: &[&str] = { #parts };
                const KERNEL_SIGNATURE: [u8; #path::launch::length(KERNEL_PARTS)] = #path::launch::join(KERNEL_PARTS);
                const KERNEL_SIZES: &[usize] = &[#(#sizes),*];
                const KERNEL_PARAMETERS: &([usize; KERNEL_SIZES.len()], usize) = &#path::launch::present(KERNEL_SIZES);
                static KERNEL_ENTRY: #path::launch::Entry = #path::launch::Entry {
                    name: #entry,
                    signature: #path::launch::text(&KERNEL_SIGNATURE),
                    parameter_bytes: KERNEL_PARAMETERS.0.split_at(KERNEL_PARAMETERS.1).0,
                    kernels: #kernels,
                };
                // SAFETY: the handle's launch passes what the signature says.
                unsafe impl #path::launch::Instance for #kernel<#(#arguments),*> {
                    const ENTRY: &'static #path::launch::Entry = &KERNEL_ENTRY;
                }
            };
        })
    }

    /// The list of the texts that make the signature.
    fn parts(&self, instance: &Instance) -> Option<TokenStream> {
        let path = self.cuda_std.as_ref()?;
        let parts = self
            .parameters
            .iter()
            .enumerate()
            .map(|(index, parameter)| {
                let comma = if index == 0 { "" } else { ", " };
                let name = parameter.name.to_string();
                let (before, ty, after) = around(parameter);
                let head = format!("{comma}{}: {before}", name.trim_start_matches("r#"));
                let Some(ty) = ty else {
                    return quote! { #head };
                };
                let text = tokens::of_type(instance.substitute(ty.to_token_stream()));
                let opened = format!("{text}(");
                let ty = self.without_lifetimes(ty);
                quote! {
                    #head,
                    #path::launch::otherwise(#path::launch::NameOf::<#ty>::NAME, true, #opened),
                    #path::launch::otherwise(
                        #path::launch::NameOf::<#ty>::NAME,
                        false,
                        #path::launch::Decimal::<{ ::core::mem::size_of::<#ty>() }>::TEXT
                    ),
                    #path::launch::otherwise(#path::launch::NameOf::<#ty>::NAME, false, ")"),
                    #after
                }
            });
        Some(quote! {
            use #path::launch::Unnamed as _;
            &[#(#parts),*]
        })
    }

    /// The bytes of the parameters of the PTX.
    fn sizes(&self) -> impl Iterator<Item = TokenStream> {
        self.parameters
            .iter()
            .map(|parameter| match &parameter.kind {
                kind if kind.is_pair() => quote! { 8, 8 },
                Kind::Reference { .. } | Kind::Pointer { .. } => quote! { 8 },
                _ => {
                    let ty = self.without_lifetimes(parameter.ty);
                    quote! { ::core::mem::size_of::<#ty>() }
                }
            })
    }
}

/// What stands before and after the type that the parameter is made of.
fn around<'a>(parameter: &Parameter<'a>) -> (&'static str, Option<&'a Type>, &'static str) {
    match parameter.kind {
        Kind::Slice { element, mutable } => {
            (if mutable { "&mut [" } else { "&[" }, Some(element), "]")
        }
        Kind::RawSlice { element, mutable } => (
            if mutable { "*mut [" } else { "*const [" },
            Some(element),
            "]",
        ),
        Kind::Text => ("&str", None, ""),
        Kind::Out { element } => ("Out<", Some(element), ">"),
        Kind::Reference { element } => ("&", Some(element), ""),
        Kind::Pointer { element, mutable } => {
            (if mutable { "*mut " } else { "*const " }, Some(element), "")
        }
        Kind::Value => ("", Some(parameter.ty), ""),
    }
}

impl Instance {
    /// The type's tokens with the arguments in the place of the parameters.
    fn substitute(&self, tokens: TokenStream) -> TokenStream {
        tokens::replace(tokens, &|is_lifetime, word| {
            let (_, text) = self
                .texts
                .iter()
                .find(|(name, _)| !is_lifetime && word == name)?;
            text.parse().ok()
        })
    }
}
