//! `require(..)`: what a launch checks before it starts.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Ident, Type};

use super::Kernel;
use super::options::Rule;
use super::parameter::{Kind, Parameter};
use crate::tokens;

impl Kernel<'_> {
    /// The statements that return a refusal. They find the shape in `shape`.
    pub(super) fn contract(
        &self,
        entry: &TokenStream,
        error: &TokenStream,
        shape: &Ident,
    ) -> TokenStream {
        let references: Vec<_> = (self.parameters.iter())
            .filter(|parameter| matches!(parameter.kind, Kind::Reference { .. }))
            .collect();
        if self.options.require.is_empty() && references.is_empty() {
            return TokenStream::new();
        }
        let path = &self.cuda_std;
        let refused = local("refused");
        let given = self.parameters.iter().filter_map(given);
        let present = references.iter().map(|parameter| {
            let name = &parameter.name;
            let text = format!("{name}.len() >= 1");
            quote! {
                if #name.len == 0 {
                    return ::core::result::Result::Err(#refused(#text));
                }
            }
        });
        let rules = (self.options.require.iter()).map(|rule| self.rule(rule, &refused, shape));
        quote! {
            let #refused = |rule: &'static str| {
                <#error as ::core::convert::From<#path::launch::Refusal>>::from(#path::launch::Refusal {
                    kernel: #entry.name,
                    rule,
                    given: #path::launch::given(&[#(#given),*], #shape),
                })
            };
            #(#present)*
            #(#rules)*
        }
    }

    fn rule(&self, rule: &Rule, refused: &Ident, shape: &Ident) -> TokenStream {
        let Rule { condition, text } = rule;
        let path = &self.cuda_std;
        let holds = local("holds");
        let mentioned = |name: &str| tokens::find(condition.to_token_stream(), name);
        let dimensions = ["grid", "block", "shared_bytes"]
            .into_iter()
            .filter_map(|name| {
                let name = Ident::new(name, mentioned(name)?);
                Some(quote! { let #name = #shape.#name; })
            });
        let named: Vec<_> = (self.parameters.iter())
            .filter(|parameter| mentioned(&parameter.name.to_string()).is_some())
            .collect();
        let extents = (named.iter())
            .filter(|parameter| !matches!(parameter.kind, Kind::Value))
            .map(|parameter| {
                let name = &parameter.name;
                quote! { let #name = #path::launch::Extent::of(&#name); }
            });
        let checked = quote! {
            #(#extents)*
            let #holds: bool = #condition;
            if !#holds {
                return ::core::result::Result::Err(#refused(#text));
            }
        };
        // A bare address has no extent to check.
        let checked = (named.iter())
            .filter(|parameter| matches!(parameter.kind, Kind::Pointer { .. }))
            .fold(checked, |checked, parameter| {
                let name = &parameter.name;
                quote! { if let ::core::option::Option::Some(#name) = #name.memory { #checked } }
            });
        quote! { { #(#dimensions)* #checked } }
    }
}

fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// The text of what the parameter was given, and the value.
fn given(parameter: &Parameter<'_>) -> Option<TokenStream> {
    let name = &parameter.name;
    let (text, value) = match parameter.kind {
        Kind::Value if is_number(parameter.ty) => (name.to_string(), quote! { #name }),
        Kind::Value | Kind::Pointer { .. } => return None,
        _ => (format!("{name}.len()"), quote! { #name.len }),
    };
    Some(quote! { (#text, &#value) })
}

fn is_number(ty: &Type) -> bool {
    const NUMBERS: [&str; 16] = [
        "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "u128", "i128", "usize", "isize",
        "f32", "f64", "bool", "char",
    ];
    NUMBERS.contains(&&*tokens::of_type(ty.to_token_stream()))
}
