//! A kernel that the host calls like a function: the error is the line that launches it.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::ItemFn;

use super::{Kernel, fresh, lifetime, of_the_macro};
use crate::tokens;

impl Kernel<'_> {
    /// Whether nothing but a launch makes the kernel's parameters.
    pub(super) fn is_only_launched(&self) -> bool {
        let mut parameters = self.parameters.iter();
        self.root.is_some()
            && self.is_safe()
            && !self.is_generic()
            && parameters.any(|parameter| parameter.kind.is_of_cuda_std())
    }

    /// The function, under no name that other code sees. The host compiles it, with the constants
    /// of generic types that it uses: the pointer asks for that.
    pub(super) fn compiled(&self) -> TokenStream {
        let ItemFn {
            attrs, sig, block, ..
        } = self.function;
        let core = &self.core;
        let (safety, name, inputs) = (&sig.safety, &sig.ident, &sig.inputs);
        let (lifetimes, predicates) = (self.lifetimes(), self.lifetime_predicates());
        let conditions = self.conditions();
        let attrs = (attrs.iter()).filter(|attribute| !attribute.path().is_ident("deprecated"));
        quote! {
            #(#conditions)*
            #[cfg(all(not(target_arch = "nvptx64"), not(doc)))]
            const _: () = {
                #(#attrs)*
                #safety fn #name #lifetimes (#inputs) #predicates #block
                const _: () = {
                    static COMPILED: #core::sync::atomic::AtomicPtr<#core::primitive::u8> =
                        #core::sync::atomic::AtomicPtr::new(#name as *mut #core::primitive::u8);
                    let _ = &COMPILED;
                };
            };
        }
    }

    /// What has the kernel's name in its place. It takes anything, so that its bound, which nothing
    /// meets, is the only error of a call, and the first of a method's.
    pub(super) fn called(&self) -> TokenStream {
        let (path, core) = (self.path(), &self.core);
        let function = self.function;
        let vis = tokens::generated(function.vis.to_token_stream());
        let name = of_the_macro(&function.sig.ident);
        let mentioned = self.mentioned_words();
        let names = |wanted: &str| format_ident!("{}", fresh(wanted, &mentioned));
        let taken: Vec<_> = (0..self.parameters.len())
            .map(|index| names(&format!("P{index}_")))
            .collect();
        let returned = names("R");
        let called = lifetime(&fresh("called", &self.taken_names()));
        let conditions = self.conditions();
        // Added only where needed, because some crates forbid `allow`.
        let many = (taken.len() > 7).then(|| quote! { #[allow(clippy::too_many_arguments)] });
        quote! {
            #(#conditions)*
            #[cfg(all(not(target_arch = "nvptx64"), not(doc)))]
            #[doc(hidden)]
            #many
            #vis fn #name<#called, #(#taken,)* #returned>(#(_: #taken),*) -> #returned
            where
                &#called (): #path::launch::Called<#name>
            {
                #core::unreachable!()
            }
        }
    }
}
