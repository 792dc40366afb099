//! `#[gpu_only]`: a function with a body for the device and a panic for the host.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, ItemFn, Result};

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    if !arguments.is_empty() {
        return Err(Error::new_spanned(
            arguments,
            "`#[gpu_only]` takes no arguments",
        ));
    }
    let ItemFn {
        attrs,
        vis,
        modifiers,
        sig,
        block,
    } = syn::parse2(item.clone())
        .map_err(|_| Error::new_spanned(item, "`#[gpu_only]` goes on a function with a body"))?;
    modifiers.require_empty()?;
    let message = format!(
        "`{}` works only in a kernel on the GPU or on the emulator, not on the host",
        sig.ident
    );
    Ok(quote! {
        #[cfg(target_arch = "nvptx64")]
        #(#attrs)*
        #vis #sig #block

        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(unused_variables)]
        #(#attrs)*
        #vis #sig {
            ::core::panic!(#message)
        }
    })
}
