//! The handle: a type of the kernel's name, whose `launch` has the kernel's signature.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{Expr, ExprLit, GenericParam, Ident, Lit, Meta, Result};

use super::{ImplGenerics, Kernel, fresh, instances, lifetime, of_the_macro, variable};
use crate::tokens;

impl Kernel<'_> {
    /// Empty if cuda_std has no known name.
    pub(super) fn handle(&self) -> Result<Option<TokenStream>> {
        let Some(path) = &self.root else {
            return Ok(None);
        };
        let core = &self.core;
        let function = self.function;
        let name = &function.sig.ident;
        let handle = of_the_macro(name);
        let ImplGenerics {
            lifetimes,
            others,
            predicates,
        } = ImplGenerics::of(function);
        let mentioned = self.mentioned_words();
        let names = |wanted: &str| format_ident!("{}", fresh(wanted, &mentioned));
        let (l, f, d) = (names("L"), names("F"), names("D"));
        let s = lifetime(&fresh("s", &self.taken_names()));

        let declared = others.iter().map(without_bounds);
        let arguments: Vec<Ident> = others.iter().map(ident_of).collect();
        let types = others.iter().filter_map(|parameter| match parameter {
            GenericParam::Type(parameter) => Some(&parameter.ident),
            _ => None,
        });
        let is_instance = self.is_generic().then(|| {
            quote! { #handle<#(#arguments),*>: #path::launch::Instance }
        });
        let entry = quote! { <#handle<#(#arguments),*> as #path::launch::Instance>::ENTRY };
        let prepared = |function: TokenStream| {
            quote! { #handle<#(#arguments,)* #path::launch::Prepared<#s, #function>> }
        };
        let (found, own) = (prepared(quote! { #d::Function }), prepared(quote! { #f }));

        let (vis, conditions) = (&function.vis, self.conditions());
        let documents = self.attributes("doc");
        // Reported where the handle is created, because the code here uses the handle too.
        let deprecated = self.attributes("deprecated");
        let usage = self.usage();
        let launch = self.launch(&entry, &f, is_instance.as_ref());
        let [
            grid,
            block,
            shared_bytes,
            shape,
            stream,
            threads,
            target,
            prepared_,
            formatter,
        ] = [
            "grid",
            "block",
            "shared_bytes",
            "shape",
            "stream",
            "threads",
            "target",
            "prepared",
            "f",
        ]
        .map(variable);
        let with = |call: TokenStream| {
            let prepared = quote! { #path::launch::Prepared::#call };
            quote! { #handle { prepared: #prepared, instance: self.instance } }
        };
        let (with_grid, with_block) = (
            with(quote! { grid(self.prepared, #grid) }),
            with(quote! { block(self.prepared, #block) }),
        );
        let with_bytes = with(quote! { shared_bytes(self.prepared, #shared_bytes) });
        let shared_bytes = match self.has_dynamic_arrays() {
            false => quote! {
                /// The bytes of dynamic shared memory of a block.
                #[must_use = "it returns the launch with the shared memory"]
                pub fn shared_bytes(self, #shared_bytes: #core::primitive::u32) -> Self {
                    #with_bytes
                }
            },
            // The launch computes it; the error says so.
            true => quote! {
                #[doc(hidden)]
                #[must_use]
                pub fn shared_bytes<#d: #path::launch::SharedBytes>(self, _: #d) -> Self {
                    self
                }
            },
        };
        let (with_shape, with_stream) = (
            with(quote! { with_shape(self.prepared, #shape) }),
            with(quote! { stream(self.prepared, #stream) }),
        );
        let [named_grid, named_block, named_covering] =
            ["grid", "block", "covering"].map(|name| self.method(name));
        let covering = with(quote! { covering(self.prepared, #threads)? });
        Ok(Some(quote! {
            #(#conditions)*
            #[cfg(not(target_arch = "nvptx64"))]
            #(#documents)*
            #[doc = #usage]
            #[must_use = "a kernel starts with `launch`"]
            #vis struct #handle<#(#declared,)* #l = ()> {
                prepared: #l,
                instance: #core::marker::PhantomData<fn() -> (#(#types,)*)>,
            }

            #(#conditions)*
            #[cfg(not(target_arch = "nvptx64"))]
            impl<#(#lifetimes,)* #(#others),*> #handle<#(#arguments),*> where #(#predicates,)* {
                /// Finds the kernel in the device's or the module's PTX, to be launched.
                ///
                /// # Errors
                /// When the PTX has no such kernel, or one with another signature.
                #(#deprecated)*
                pub fn on<#s, #d: #path::launch::Target>(#target: &#d) -> #core::result::Result<#found, #d::Error>
                where #is_instance
                {
                    let #prepared_ = #path::launch::Prepared::new(#target, #entry)?;
                    #core::result::Result::Ok(#handle { prepared: #prepared_, instance: #core::marker::PhantomData })
                }

                /// The entry point: its name and its signature.
                pub fn entry() -> &'static #path::launch::Entry where #is_instance {
                    #entry
                }
            }

            #(#conditions)*
            #[cfg(not(target_arch = "nvptx64"))]
            impl<#s, #(#lifetimes,)* #(#others,)* #f: #path::launch::Function> #own where #(#predicates,)* {
                /// The blocks of the launch.
                #[must_use = "it returns the launch with the grid"]
                #[doc(alias = "gridDim")]
                pub fn #named_grid(self, #grid: impl #path::launch::Extents) -> Self {
                    #with_grid
                }

                /// The threads of a block.
                #[must_use = "it returns the launch with the block"]
                #[doc(alias = "blockDim")]
                pub fn #named_block(self, #block: impl #path::launch::Extents) -> Self {
                    #with_block
                }

                #shared_bytes

                /// Grid, block and dynamic shared memory.
                #[must_use = "it returns the launch with the shape"]
                pub fn shape(self, #shape: #path::launch::Shape) -> Self {
                    #with_shape
                }

                /// The stream of the launch, instead of the device's own.
                #[must_use = "it returns the launch with the stream"]
                pub fn stream(self, #stream: &#s #f::Stream) -> Self {
                    #with_stream
                }

                /// A grid of at least `threads` threads along x, in blocks of a size that suits the
                /// device unless a block was set.
                ///
                /// # Errors
                /// When the device cannot suggest a block, or the grid would have too many.
                pub fn #named_covering(self, #threads: #core::primitive::usize) -> #core::result::Result<Self, #f::Error> {
                    #core::result::Result::Ok(#covering)
                }

                #launch
            }

            #(#conditions)*
            #[cfg(not(target_arch = "nvptx64"))]
            impl<#s, #(#lifetimes,)* #(#others,)* #f: #path::launch::Function> #core::clone::Clone for #own where #(#predicates,)* {
                fn clone(&self) -> Self {
                    #handle { prepared: #core::clone::Clone::clone(&self.prepared), instance: self.instance }
                }
            }

            #(#conditions)*
            #[cfg(not(target_arch = "nvptx64"))]
            #[doc(hidden)]
            impl<#s, #(#lifetimes,)* #(#others,)* #f: #path::launch::Function> #core::ops::Deref for #own where #(#predicates,)* {
                type Target = #path::launch::Guesses;

                fn deref(&self) -> &Self::Target {
                    &#path::launch::Guesses
                }
            }

            #(#conditions)*
            #[cfg(not(target_arch = "nvptx64"))]
            impl<#s, #(#lifetimes,)* #(#others,)* #f: #path::launch::Function> #core::fmt::Debug for #own where #(#predicates,)* {
                fn fmt(&self, #formatter: &mut #core::fmt::Formatter<'_>) -> #core::fmt::Result {
                    #core::fmt::Debug::fmt(&self.prepared, #formatter)
                }
            }
        }))
    }

    /// All names that the kernel's generics have.
    pub(super) fn taken_names(&self) -> Vec<String> {
        let generics = &self.function.sig.generics;
        let lifetimes = generics
            .lifetimes()
            .map(|parameter| parameter.lifetime.ident.to_string());
        let others =
            instances::parameters(generics).map(|parameter| ident_of(parameter).to_string());
        lifetimes.chain(others).collect()
    }

    /// All words of the signature, the rules and the sizes. A type parameter of the handle with the
    /// name of a type among them would shadow it.
    pub(super) fn mentioned_words(&self) -> Vec<String> {
        let rules = self.options.require.iter().map(|rule| &rule.condition);
        let sizes = self.options.shared.iter().map(|size| &size.length);
        let mut tokens = self.function.sig.to_token_stream();
        tokens.extend(rules.chain(sizes).map(ToTokens::to_token_stream));
        tokens::words(tokens)
    }

    /// The kernel's own attributes of a name.
    fn attributes(&self, name: &str) -> impl Iterator<Item = &syn::Attribute> {
        let attributes = self.function.attrs.iter();
        attributes.filter(move |attribute| attribute.path().is_ident(name))
    }

    /// The lines of the kernel's documentation.
    pub(super) fn lines(&self) -> Vec<String> {
        let text = |attribute: &syn::Attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
                Expr::Lit(ExprLit {
                    lit: Lit::Str(text),
                    ..
                }) => Some(text.value()),
                _ => None,
            },
            _ => None,
        };
        let texts = self.attributes("doc").filter_map(text);
        texts
            .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
            .collect()
    }

    /// How the handle is used.
    fn usage(&self) -> String {
        let (name, sig) = (&self.function.sig.ident, &self.function.sig);
        let arguments: Vec<_> = (instances::parameters(&sig.generics))
            .map(|parameter| ident_of(parameter).to_string())
            .collect();
        let turbofish = if arguments.is_empty() {
            String::new()
        } else {
            format!("::<{}>", arguments.join(", "))
        };
        let entries: Vec<_> = (self.instances.iter())
            .map(|instance| format!("`{}`", instance.entry))
            .collect();
        format!(
            "\n\n`{name}{turbofish}::on(&device)?.grid(..){}.launch({})` launches it. In the PTX: {}.",
            if self.has_fixed_block() {
                ""
            } else {
                ".block(..)"
            },
            self.texts_of_arguments().join(", "),
            entries.join(", "),
        )
    }
}

fn ident_of(parameter: &GenericParam) -> Ident {
    match parameter {
        GenericParam::Type(parameter) => parameter.ident.clone(),
        GenericParam::Const(parameter) => parameter.ident.clone(),
        GenericParam::Lifetime(parameter) => parameter.lifetime.ident.clone(),
    }
}

/// `T` and `const N: usize`.
fn without_bounds(parameter: &GenericParam) -> TokenStream {
    match parameter {
        GenericParam::Const(parameter) => {
            let (ident, ty) = (&parameter.ident, &parameter.ty);
            quote! { const #ident: #ty }
        }
        other => ident_of(other).to_token_stream(),
    }
}
