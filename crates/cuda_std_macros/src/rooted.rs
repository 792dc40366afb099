//! The root of generated code: cuda_std's own `$crate`.
//!
//! The crate being compiled decides what `::core` and `::cuda_std` are: `extern crate other as
//! core` gives safe code another `Option`, another `assert!`. So an attribute generates no code
//! with such a path. It calls a macro of cuda_std's, `__kernel!` for instance, whose `$crate` is
//! cuda_std under any name, and that macro calls the second step with it. A path to an impostor's
//! macro does not help: the second step needs the word `unsafe`, and wraps it in a block that the
//! compiler refuses where `unsafe` is forbidden.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::quote;
use syn::{Error, Result};

/// The input of a second step: `unsafe $crate, ..`.
pub(crate) struct Rooted {
    /// The path of cuda_std in generated code.
    pub(crate) path: TokenStream,
    pub(crate) rest: TokenStream,
    /// An item that does not compile if the writer of `unsafe` may not use it.
    pub(crate) claim: TokenStream,
}

impl Rooted {
    pub(crate) fn of(tokens: TokenStream) -> Result<Self> {
        let mut tokens = tokens.into_iter();
        if let (Some(word), Some(path), Some(comma)) = (tokens.next(), tokens.next(), tokens.next())
            && matches!(&word, TokenTree::Ident(word) if word == "unsafe")
            && matches!(&path, TokenTree::Ident(path) if path == "$crate")
            && matches!(&comma, TokenTree::Punct(comma) if comma.as_char() == ',')
        {
            let path: TokenStream = path.into();
            // The whole block has the span of that word, by which the compiler identifies the
            // writer.
            let body = quote! { #path::__private::core::hint::assert_unchecked(true) };
            let mut body = Group::new(Delimiter::Brace, body);
            body.set_span(word.span());
            let claim = quote! { const _: () = #word #body; };
            let rest = tokens.collect();
            return Ok(Self { path, rest, claim });
        }
        Err(Error::new(
            Span::call_site(),
            "only macros of cuda_std write this: use `#[kernel]`, `#[derive(Plain)]` and `#[address_space(..)]`",
        ))
    }

    /// The second step's output with the claim.
    pub(crate) fn expand(
        tokens: TokenStream,
        expand: impl FnOnce(TokenStream, TokenStream) -> Result<TokenStream>,
    ) -> Result<TokenStream> {
        let Self { path, rest, claim } = Self::of(tokens)?;
        let expanded = expand(path, rest)?;
        Ok(quote! { #expanded #claim })
    }
}
