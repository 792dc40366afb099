//! `#[externally_visible]`: keeps a function or static in the PTX under its own name.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Item, Result};

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    if !arguments.is_empty() {
        return Err(Error::new_spanned(
            arguments,
            "`#[externally_visible]` takes no arguments",
        ));
    }
    let parsed: Item = syn::parse2(item.clone())?;
    if !matches!(parsed, Item::Fn(_) | Item::Static(_)) {
        return Err(Error::new_spanned(
            item,
            "`#[externally_visible]` goes on a function or a static",
        ));
    }
    // The section's name is the mark for cuda_builder, which takes it off again.
    Ok(quote! {
        #[cfg_attr(target_arch = "nvptx64", unsafe(no_mangle), unsafe(link_section = "cuda_std.externally_visible"))]
        #item
    })
}
