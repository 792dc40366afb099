//! The record of an entry point's signature, the same on both sides.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::Type;

use super::Kernel;
use super::instances::Instance;
use super::kind::Kind;
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
        let (parts, sizes, block) = (self.parts(instance)?, self.sizes(), self.block());
        let (kernel, arguments) = (&self.function.sig.ident, &instance.arguments);
        let entry = &instance.entry;
        let (own, kernels) = if crate::cuda_std::has_embedded_kernels() {
            (
                // Another crate's type is an error here: its PTX has other kernels of the same
                // names.
                quote! { impl crate::EmbeddedKernels {} },
                quote! { ::core::option::Option::Some(<crate::EmbeddedKernels as #path::launch::Embedded>::KERNELS) },
            )
        } else {
            (quote! {}, quote! { ::core::option::Option::None })
        };
        Some(quote! {
            #[cfg(not(target_arch = "nvptx64"))]
            const _: () = {
                #own
                const KERNEL_PARTS: &[&str] = { #parts };
                const KERNEL_SIGNATURE: [u8; #path::launch::length(KERNEL_PARTS)] = #path::launch::join(KERNEL_PARTS);
                const KERNEL_SIZES: &[usize] = &[#(#sizes),*];
                const KERNEL_PARAMETERS: &([usize; KERNEL_SIZES.len()], usize) = &#path::launch::present(KERNEL_SIZES);
                static KERNEL_ENTRY: #path::launch::Entry = #path::launch::Entry {
                    name: #entry,
                    signature: #path::launch::text(&KERNEL_SIGNATURE),
                    block: #block,
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
            .filter(|parameter| !matches!(parameter.kind, Kind::Static { .. }))
            .enumerate()
            .map(|(index, parameter)| {
                let comma = if index == 0 { "" } else { ", " };
                let name = parameter.name.to_string();
                let Text {
                    before,
                    middle,
                    after,
                } = Text::of(&parameter.kind, parameter.ty);
                let head = format!("{comma}{}: {before}", name.trim_start_matches("r#"));
                let middle = match middle {
                    Middle::Nothing => return quote! { #head },
                    Middle::Type(ty) => self.name_of(instance, ty),
                    Middle::Extents([x, y, z]) => {
                        let decimal = |extent: &TokenStream| {
                            quote! { #path::launch::Decimal::<#extent>::TEXT }
                        };
                        let (x, y, z) = (decimal(x), decimal(y), decimal(z));
                        quote! { #x, ",", #y, ",", #z }
                    }
                };
                quote! { #head, #middle, #after }
            });
        Some(quote! {
            use #path::launch::Unnamed as _;
            &[#(#parts),*]
        })
    }

    /// The parts that tell a type: a plain type's name, or how it is written and its size.
    fn name_of(&self, instance: &Instance, ty: &Type) -> TokenStream {
        let path = &self.cuda_std;
        let text = tokens::of_type(instance.substitute(ty.to_token_stream()));
        let opened = format!("{text}(");
        let ty = self.without_lifetimes(ty);
        quote! {
            #path::launch::otherwise(#path::launch::NameOf::<#ty>::NAME, true, #opened),
            #path::launch::otherwise(
                #path::launch::NameOf::<#ty>::NAME,
                false,
                #path::launch::Decimal::<{ ::core::mem::size_of::<#ty>() }>::TEXT
            ),
            #path::launch::otherwise(#path::launch::NameOf::<#ty>::NAME, false, ")")
        }
    }

    /// The bytes of the parameters of the PTX.
    fn sizes(&self) -> impl Iterator<Item = TokenStream> {
        self.parameters.iter().flat_map(|parameter| {
            if let Some(parts) = parameter.kind.parts() {
                return vec![quote! { 8 }; parts.len()];
            }
            if matches!(
                parameter.kind,
                Kind::Reference { .. } | Kind::Pointer { .. }
            ) {
                return vec![quote! { 8 }];
            }
            let ty = self.without_lifetimes(parameter.ty);
            vec![quote! { ::core::mem::size_of::<#ty>() }]
        })
    }

    /// The threads of a block that the kernel is written for.
    fn block(&self) -> TokenStream {
        let path = &self.cuda_std;
        let extents = self
            .parameters
            .iter()
            .find_map(|parameter| match &parameter.kind {
                Kind::Block { extents } => Some(extents),
                _ => None,
            });
        match extents {
            Some(extents) => quote! { #path::launch::block_of([#(#extents),*]) },
            None => quote! { [0; 3] },
        }
    }
}

/// How a parameter stands in the record: the type that it is made of, between two texts.
struct Text<'k> {
    before: String,
    middle: Middle<'k>,
    after: &'static str,
}

enum Middle<'k> {
    Nothing,
    Type(&'k Type),
    Extents(&'k [TokenStream; 3]),
}

impl<'k> Text<'k> {
    fn of(kind: &'k Kind<'k>, ty: &'k Type) -> Self {
        let (before, middle, after) = match kind {
            Kind::Slice { element, mutable } => {
                let before = if *mutable { "&mut [" } else { "&[" };
                (before.to_owned(), Middle::Type(element), "]")
            }
            Kind::RawSlice { element, mutable } => {
                let before = if *mutable { "*mut [" } else { "*const [" };
                (before.to_owned(), Middle::Type(element), "]")
            }
            Kind::Text => ("&str".to_owned(), Middle::Nothing, ""),
            Kind::Reference { element } => ("&".to_owned(), Middle::Type(element), ""),
            Kind::Pointer { element, mutable } => {
                let before = if *mutable { "*mut " } else { "*const " };
                (before.to_owned(), Middle::Type(element), "")
            }
            Kind::Block { extents } => ("&mut Block<".to_owned(), Middle::Extents(extents), ">"),
            Kind::View { view, element, .. } => {
                (format!("{}<", view.name()), Middle::Type(element), ">")
            }
            Kind::Dynamic { element } => ("Shared<[".to_owned(), Middle::Type(element), "]>"),
            Kind::Value | Kind::Static { .. } => (String::new(), Middle::Type(ty), ""),
        };
        Self {
            before,
            middle,
            after,
        }
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
