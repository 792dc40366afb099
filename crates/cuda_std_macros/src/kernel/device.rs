//! The entry points in the device build.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{Ident, ItemFn, Type};

use super::instances::Instance;
use super::kind::Kind;
use super::options::Options;
use super::parameter::Parameter;
use super::{Kernel, fresh, variable};
use crate::tokens;

impl Kernel<'_> {
    /// The entry point, and the record of its signature.
    pub(super) fn on_device(&self, instance: &Instance) -> TokenStream {
        let ItemFn {
            attrs, vis, sig, ..
        } = self.function;
        let (name, lifetimes, predicates) =
            (&sig.ident, self.lifetimes(), self.lifetime_predicates());
        let (inputs, body) = (self.entry_inputs(), self.entry_body());
        let entry = &instance.entry;
        let exported = if !self.is_generic() && self.options.name.is_none() {
            quote! { no_mangle }
        } else {
            quote! { export_name = #entry }
        };
        let flags = self.flags(instance);
        let conditions = self.conditions();
        let record = self.record(instance);
        // Lints decide by an item's first token whether it is the user's: inside a `macro_rules` of
        // theirs, `forbid(unsafe_code)` would refuse it.
        let vis = (!self.is_generic()).then(|| tokens::generated(vis.to_token_stream()));
        // The body stays a function of its own, with the signature as written: its slices are
        // slices, and the compiler checks what it must not do, such as return a value.
        let function = quote! {
            #(#attrs)*
            #[cfg(target_arch = "nvptx64")]
            #[unsafe(#exported)]
            #flags
            #[allow(improper_ctypes_definitions)]
            #vis unsafe extern "ptx-kernel" fn #name #lifetimes (#(#inputs),*) #predicates { #body }
        };
        if !self.is_generic() {
            let record = record.map(|record| {
                quote! {
                    #(#conditions)*
                    #[cfg(target_arch = "nvptx64")]
                    const _: () = { #record };
                }
            });
            return quote! { #function #record };
        }
        let (aliases, checks) = (&instance.aliases, self.checks());
        let asserted = self.assert_bounds(instance);
        quote! {
            #(#conditions)*
            #[cfg(target_arch = "nvptx64")]
            const _: () = {
                #asserted
                const _: () = {
                    #aliases
                    #function
                    #checks
                    const _: () = { #record };
                };
            };
        }
    }

    fn entry_inputs(&self) -> impl Iterator<Item = TokenStream> {
        self.parameters.iter().flat_map(|parameter| {
            let (name, ty) = (&parameter.name, parameter.ty);
            let Some(parts) = parameter.kind.parts() else {
                let ty = (self.passed(parameter)).map_or(ty.to_token_stream(), |passed| {
                    quote! { #passed::Type }
                });
                return vec![quote! { #name: #ty }];
            };
            let input = |&part| {
                let (name, ty) = (
                    parameter.part(part),
                    parameter.kind.type_of(part, &self.core),
                );
                quote! { #name: #ty }
            };
            parts.iter().map(input).collect()
        })
    }

    /// How a value of a non-simple type is passed.
    fn passed(&self, parameter: &Parameter<'_>) -> Option<TokenStream> {
        let (path, core, ty) = (self.root.as_ref()?, &self.core, parameter.ty);
        if !matches!(parameter.kind, Kind::Value) || is_simple(ty) {
            return None;
        }
        let fixed = self.without_lifetimes(ty);
        let size_and_align =
            quote! { #core::mem::size_of::<#fixed>(), #core::mem::align_of::<#fixed>() };
        Some(quote! {
            <
                #path::launch::InWords<{ #path::launch::word_of(#size_and_align) }>
                as #path::launch::Passed<#ty, { #path::launch::words_of(#size_and_align) }>
            >
        })
    }

    fn entry_body(&self) -> TokenStream {
        let ItemFn { sig, block, .. } = self.function;
        let (safety, inputs) = (&sig.safety, &sig.inputs);
        let (lifetimes, predicates) = (self.lifetimes(), self.lifetime_predicates());
        let launch = launch_scope();
        let scope = match &self.root {
            Some(path) => quote! { unsafe { #path::launch::Scope::new() } },
            None => quote! { () },
        };
        // A macro of the user's may call a function that the kernel's words do not show.
        let taken = tokens::words(self.function.to_token_stream());
        let kernel_body = format_ident!("{}", fresh("__kernel_body", &taken));
        let no_hidden_slices = no_hidden_slices(&self.parameters, &self.core);
        let whole = self
            .parameters
            .iter()
            .map(|parameter| self.assemble(parameter));
        let passed = self.parameters.iter().map(|parameter| &parameter.name);
        let call = if self.is_safe() {
            quote! { #kernel_body(#(#passed),*) }
        } else {
            quote! { unsafe { #kernel_body(#(#passed),*) } }
        };
        let (assumptions, call) = (self.assumptions(), self.with_shared_memory(call));
        // The launch checks this.
        let wait = self.options.starts_early.then(|| {
            let path = self.path();
            quote! { #path::launch::wait_for_earlier(); }
        });
        let line = self.is_of_one_dimension().then(|| {
            let path = self.path();
            quote! { unsafe { #path::block::one_dimensional() }; }
        });
        quote! {
            #[inline(always)]
            #safety fn #kernel_body #lifetimes (#inputs) #predicates #block
            #no_hidden_slices
            // The arguments of safe code live no longer than this.
            #[allow(unused_variables)]
            let #launch = #scope;
            #wait
            #(#whole)*
            #line
            #(#assumptions)*
            #call
        }
    }

    /// The whole parameter, assembled from its parts.
    fn assemble(&self, parameter: &Parameter<'_>) -> Option<TokenStream> {
        let name = &parameter.name;
        let (path, core, launch) = (self.path(), &self.core, launch_scope());
        let parts = parameter.kind.parts().unwrap_or_default();
        let parts: Vec<_> = parts.iter().map(|&part| parameter.part(part)).collect();
        let whole = match &parameter.kind {
            // In safe code the slice's lifetime must not be chosen by the caller.
            Kind::Slice { mutable: false, .. } if self.is_safe() => {
                quote! { unsafe { #path::launch::borrowed(&#launch, #(#parts),*) } }
            }
            Kind::Slice { mutable: true, .. } => {
                quote! { unsafe { #core::slice::from_raw_parts_mut(#(#parts),*) } }
            }
            Kind::Slice { mutable: false, .. } => {
                quote! { unsafe { #core::slice::from_raw_parts(#(#parts),*) } }
            }
            Kind::RawSlice { mutable: true, .. } => {
                quote! { #core::ptr::slice_from_raw_parts_mut(#(#parts),*) }
            }
            Kind::RawSlice { mutable: false, .. } => {
                quote! { #core::ptr::slice_from_raw_parts(#(#parts),*) }
            }
            Kind::Text => quote! {
                unsafe {
                    #core::str::from_utf8_unchecked(#core::slice::from_raw_parts(#(#parts),*))
                }
            },
            Kind::View { view, .. } => {
                let view = view.name();
                quote! { unsafe { #path::block::#view::new(&#launch, #(#parts),*) } }
            }
            Kind::Block { .. } => quote! { &mut unsafe { #path::block::Block::new() } },
            Kind::Value => {
                let passed = self.passed(parameter)?;
                quote! { unsafe { #passed::take(#name) } }
            }
            Kind::Static { .. }
            | Kind::Dynamic { .. }
            | Kind::Reference { .. }
            | Kind::Pointer { .. } => return None,
        };
        Some(quote! { let #name = #whole; })
    }

    /// The section that tells cuda_builder the kernel's options, if there are any.
    fn flags(&self, instance: &Instance) -> Option<TokenStream> {
        let Options {
            max_threads,
            allow_divergence,
            ..
        } = &self.options;
        let mut section = "cuda_std.kernel".to_owned();
        if let Some(threads) = max_threads {
            section += &format!(".max_threads={threads}");
        }
        if let Some(blocks) = instance.min_blocks {
            section += &format!(".min_blocks={blocks}");
        }
        if self.is_safe() {
            section += ".uniform=error";
        } else if allow_divergence.is_some() {
            section += ".uniform=allow";
        }
        (section.contains('=')).then(|| quote! { #[unsafe(link_section = #section)] })
    }
}

/// A scope that lives as long as the entry point.
fn launch_scope() -> Ident {
    variable("launch")
}

/// Fails to compile for the device if a type alias hides a slice: the host passes two parameters
/// for a slice, and the entry point would take one.
///
/// An inherent constant takes precedence over a trait's, which tells the types apart.
fn no_hidden_slices(parameters: &[Parameter<'_>], core: &TokenStream) -> TokenStream {
    let checks = parameters
        .iter()
        .filter(|parameter| parameter.kind.parts().is_none())
        .map(|parameter| {
            let ty = parameter.ty;
            let message = format!(
                "the type of the kernel's parameter `{}` is another name of a slice: write the slice itself (`&[T]`, `*const [T]`), \
                 for `#[kernel]` makes two parameters of it, pointer and length",
                parameter.name
            );
            quote! { const { #core::assert!(!__KernelParameterKind::<#ty>::IS_SLICE, #message) }; }
        });
    // In a block, so that the kernel's body does not see these names.
    quote! {
        {
            #[allow(dead_code)]
            struct __KernelParameterKind<T>(#core::marker::PhantomData<T>);
            #[allow(dead_code)]
            trait __KernelParameterIsNoSlice {
                const IS_SLICE: #core::primitive::bool = false;
            }
            impl<T> __KernelParameterIsNoSlice for __KernelParameterKind<T> {}
            #[allow(dead_code)]
            impl<T> __KernelParameterKind<&[T]> {
                const IS_SLICE: #core::primitive::bool = true;
            }
            #[allow(dead_code)]
            impl<T> __KernelParameterKind<*const [T]> {
                const IS_SLICE: #core::primitive::bool = true;
            }
            #[allow(dead_code)]
            impl<T> __KernelParameterKind<*mut [T]> {
                const IS_SLICE: #core::primitive::bool = true;
            }
            #[allow(dead_code)]
            impl __KernelParameterKind<&#core::primitive::str> {
                const IS_SLICE: #core::primitive::bool = true;
            }
            #(#checks)*
        }
    }
}

/// A number or a pointer.
fn is_simple(ty: &Type) -> bool {
    const NUMBERS: [&str; 14] = [
        "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "usize", "isize", "f32", "f64",
        "bool", "char",
    ];
    match ty {
        Type::Path(path) => NUMBERS.iter().any(|number| path.path.is_ident(number)),
        Type::Paren(inner) => is_simple(&inner.elem),
        Type::Group(inner) => is_simple(&inner.elem),
        Type::Reference(_) | Type::Ptr(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proc_macro2::TokenStream;

    fn expand(arguments: &str, kernel: &str) -> syn::Result<String> {
        let tokens = |text: &str| -> TokenStream { text.parse().unwrap() };
        let (root, arguments) = (Some(tokens("cuda_std")), tokens(arguments));
        crate::kernel::expand(root, arguments, tokens(kernel)).map(|expanded| expanded.to_string())
    }

    /// The sections of the entry points that have one.
    fn sections(arguments: &str, kernel: &str) -> Vec<String> {
        let text = expand(arguments, kernel).unwrap();
        let (_, rest) = text.split_once("\"cuda_std.kernel.").unwrap_or_default();
        rest.split("\"cuda_std.kernel.")
            .filter_map(|section| section.split_once('"'))
            .map(|(parts, _)| parts.to_owned())
            .collect()
    }

    fn section(arguments: &str, kernel: &str) -> Option<String> {
        sections(arguments, kernel).pop()
    }

    #[test]
    fn the_section_says_what_the_build_has_to_know() {
        let (safe, raw) = ("fn k(n: u32) {}", "unsafe fn k(n: u32) {}");
        let bounds = "max_threads = 256, min_blocks = 2";
        assert_eq!(section("", raw), None);
        assert_eq!(
            section(bounds, raw).unwrap(),
            "max_threads=256.min_blocks=2"
        );
        assert_eq!(section("", safe).unwrap(), "uniform=error");
        assert_eq!(
            section(bounds, safe).unwrap(),
            "max_threads=256.min_blocks=2.uniform=error"
        );
        assert_eq!(
            section("allow_divergence = \"whole warps\"", raw).unwrap(),
            "uniform=allow"
        );
    }
    #[test]
    fn each_instance_can_have_its_own_number_of_blocks() {
        let kernel = "fn k<T: Plain>(n: T) {}";
        let blocks = |list: &str| {
            let arguments = format!("instances(f32, f64), max_threads = 256, min_blocks = {list}");
            expand(&arguments, kernel).map(|_| sections(&arguments, kernel))
        };
        let section = |blocks| format!("max_threads=256.min_blocks={blocks}.uniform=error");
        assert_eq!(blocks("[8, 6]").unwrap(), [section(8), section(6)]);
        assert_eq!(blocks("8").unwrap(), [section(8), section(8)]);
        let refused = blocks("[8, 6, 4]").unwrap_err().to_string();
        assert!(refused.contains("`min_blocks` has 3 numbers for 2 instances"));
        assert!(blocks("[8, 0]").is_err());
        assert!(blocks("[]").is_err());
    }
}
