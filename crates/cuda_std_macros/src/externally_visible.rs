//! `#[externally_visible]`: keeps a function or static in the PTX under its own name.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Error, Item, Path, Result, Safety};

use crate::symbols;

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    if !arguments.is_empty() {
        return Err(Error::new_spanned(
            arguments,
            "`#[externally_visible]` takes no arguments",
        ));
    }
    let parsed: Item = syn::parse2(item.clone()).map_err(|_| misplaced(item.clone()))?;
    let own = match &parsed {
        Item::Fn(function) if matches!(function.sig.safety, Safety::Unsafe(_)) => None,
        Item::Fn(function) => Some(&function.sig.ident),
        Item::Static(variable) => Some(&variable.ident),
        _ => None,
    };
    if let Some(name) = own {
        symbols::refuse_reserved(&name.to_string(), name.span())?;
    }
    // rust-cuda's attribute requires `#[no_mangle]` next to it; a duplicate is dropped.
    let attributes = match &parsed {
        Item::Fn(function) => &function.attrs,
        Item::Static(variable) => &variable.attrs,
        _ => return Err(misplaced(item)),
    };
    let no_mangle = (!attributes.iter().any(is_no_mangle)).then(|| quote! { unsafe(no_mangle), });
    // The section's name is the mark for cuda_builder, which removes it.
    Ok(quote! {
        #[cfg_attr(target_arch = "nvptx64", #no_mangle unsafe(link_section = "cuda_std.externally_visible"))]
        #item
    })
}

fn misplaced(item: TokenStream) -> Error {
    Error::new_spanned(
        item,
        "`#[externally_visible]` goes on a function or a static",
    )
}

/// `#[no_mangle]`, or `#[unsafe(no_mangle)]` as newer editions require.
fn is_no_mangle(attribute: &Attribute) -> bool {
    attribute.path().is_ident("no_mangle")
        || (attribute.path().is_ident("unsafe")
            && attribute
                .parse_args::<Path>()
                .is_ok_and(|path| path.is_ident("no_mangle")))
}
