//! Generated checks of a kernel's types, in addition to the code that uses them.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};

use super::Kernel;
use super::instances::Instance;
use super::kind::{Kind, View};

impl Kernel<'_> {
    /// Fails to compile unless the instance's arguments satisfy the kernel's bounds.
    pub(super) fn assert_bounds(&self, instance: &Instance) -> TokenStream {
        let generics = &self.function.sig.generics;
        let (parameters, clause) = (&generics.params, &generics.where_clause);
        let arguments = &instance.arguments;
        quote! {
            fn __kernel_bounds<#parameters>() #clause {}
            const _: () = { let _ = __kernel_bounds::<#(#arguments),*>; };
        }
    }

    /// Fails to compile, pointing at the type, unless it may be copied byte by byte into the
    /// launch. The parts of slices and of cuda_std's types always may. In a safe kernel, values and
    /// elements must be plain; all of cuda_std's types but `Out` require that themselves.
    pub(super) fn checks(&self) -> TokenStream {
        let (path, core, lifetimes) = (self.path(), &self.core, self.lifetimes());
        let checks = self.parameters.iter().map(|parameter| {
            let (ty, span) = (parameter.ty, parameter.type_span());
            let copied = (parameter.kind.parts().is_none())
                .then(|| quote_spanned! { span => __kernel_parameter::<#ty>(); });
            let (check, plain) = match &parameter.kind {
                Kind::Slice { element, .. } => (quote! { is_plain }, Some(*element)),
                Kind::View {
                    view: View::Out,
                    element,
                    ..
                } => (quote! { is_plain }, Some(*element)),
                kind if kind.is_of_cuda_std() => (quote! { is_plain }, None),
                _ => (quote! { is_value }, Some(ty)),
            };
            let plain = plain
                .filter(|_| self.is_safe())
                .map(|plain| quote_spanned! { span => #path::launch::#check::<#plain>(); });
            // The block's extents are compared below.
            let own = (parameter.kind.is_of_cuda_std()
                && !matches!(parameter.kind, Kind::Block { .. }))
            .then(|| quote_spanned! { span => #path::block::made_by_launch::<#ty>(); });
            let same = self.taken_for(&parameter.kind).map(|expected| {
                let value = format_ident!("__parameter", span = span);
                quote! { let _ = |#value: #ty| { let _: #expected = #value; }; }
            });
            quote! { #own #copied #plain #same }
        });
        quote! {
            fn __kernel_parameter<T: #core::marker::Copy>() {}
            fn __parameters_are_copy #lifetimes () { #(#checks)* }
        }
    }

    /// The type that the launch assumes for the parameter, where an alias could hide another block
    /// or another map.
    fn taken_for(&self, kind: &Kind<'_>) -> Option<TokenStream> {
        let path = self.path();
        match kind {
            Kind::Block { extents } => Some(quote! { &mut #path::block::Block<#(#extents),*> }),
            Kind::View {
                view: View::Out,
                arguments,
                ..
            } => {
                let map = &arguments[1..];
                Some(quote! { #path::block::Out<'_, _ #(, #map)*> })
            }
            _ => None,
        }
    }
}
