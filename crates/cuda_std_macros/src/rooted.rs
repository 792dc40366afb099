//! The root of generated code: cuda_std's own `$crate`.
//!
//! What `::core` or `::cuda_std` is, the crate that is compiled decides: `extern crate other as
//! core` gives safe code another `Option`, another `assert!`. So an attribute generates no code by
//! such a path. It calls a macro of cuda_std's, `__kernel!` or the like, whose `$crate` is cuda_std
//! whatever its names are, and that macro calls the second step with it. A path that leads to
//! another macro leads nowhere: the second step's input begins with `unsafe`, which safe code
//! cannot write.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::{Error, Result};

/// The root and the rest of `unsafe $crate, ..`.
pub(crate) fn split(tokens: TokenStream) -> Result<(TokenStream, TokenStream)> {
    let mut tokens = tokens.into_iter();
    let mut next =
        |wanted: &dyn Fn(&TokenTree) -> bool| tokens.next().filter(|token| wanted(token));
    let is_unsafe = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "unsafe");
    let is_root = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "$crate");
    let is_comma =
        |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ',');
    let root = next(&is_unsafe).and_then(|_| next(&is_root));
    match root.filter(|_| next(&is_comma).is_some()) {
        Some(root) => Ok((root.into(), tokens.collect())),
        None => Err(Error::new(
            Span::call_site(),
            "only macros of cuda_std write this: use `#[kernel]`, `#[derive(Plain)]` and `#[address_space(..)]`",
        )),
    }
}
