//! The record of an entry point: its signature and its contract, as each side sees them.
//! `cuda_std::launch::RECORD_SUFFIX` documents the text.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{ItemFn, Type};

use super::instances::Instance;
use super::kind::{Kind, Static, View};
use super::parameter::Parameter;
use super::rule::Tree;
use super::{Kernel, Length};
use crate::tokens;

impl Kernel<'_> {
    /// The variable in the PTX.
    pub(super) fn record(&self, instance: &Instance) -> Option<TokenStream> {
        let path = self.root.as_ref()?;
        let core = &self.core;
        let parts = self.parts(instance)?;
        let name = format!("{}__signature", instance.entry);
        Some(quote! {
            const __KERNEL_PARTS: &[&#core::primitive::str] = { #parts };
            // The section's name is the mark for cuda_builder, which removes it.
            #[unsafe(export_name = #name)]
            #[unsafe(link_section = "cuda_std.externally_visible")]
            static __KERNEL_RECORD: [#core::primitive::u8; #path::launch::length(__KERNEL_PARTS)] = #path::launch::join(__KERNEL_PARTS);
        })
    }

    /// On the host: the entry as the launch sees it.
    pub(super) fn entry(&self, instance: &Instance) -> Option<TokenStream> {
        let path = self.root.as_ref()?;
        let core = &self.core;
        let (parts, sizes, block) = (self.parts(instance)?, self.sizes(), self.block());
        let (kernel, arguments) = (&self.function.sig.ident, &instance.arguments);
        let entry = &instance.entry;
        let (own, kernels) = if crate::cuda_std::has_embedded_kernels() {
            (
                // A type of another crate is an error here: that crate's PTX has other kernels of
                // the same names.
                quote! { impl crate::EmbeddedKernels {} },
                quote! { #core::option::Option::Some(<crate::EmbeddedKernels as #path::launch::Embedded>::KERNELS) },
            )
        } else {
            (quote! {}, quote! { #core::option::Option::None })
        };
        let number = quote! { #core::primitive::usize };
        Some(quote! {
            #[cfg(not(target_arch = "nvptx64"))]
            const _: () = {
                #own
                const __KERNEL_PARTS: &[&#core::primitive::str] = { #parts };
                const __KERNEL_RECORD: [#core::primitive::u8; #path::launch::length(__KERNEL_PARTS)] = #path::launch::join(__KERNEL_PARTS);
                const __KERNEL_SIZES: &[#number] = &[#(#sizes),*];
                const __KERNEL_PARAMETERS: &([#number; __KERNEL_SIZES.len()], #number) = &#path::launch::present(__KERNEL_SIZES);
                static __KERNEL_ENTRY: #path::launch::Entry = #path::launch::Entry {
                    name: #entry,
                    signature: #path::launch::first_line(#path::launch::text(&__KERNEL_RECORD)),
                    record: #path::launch::text(&__KERNEL_RECORD),
                    place: #core::concat!(#core::file!(), ":", #core::line!()),
                    block: #block,
                    parameter_bytes: #path::launch::first(&__KERNEL_PARAMETERS.0, __KERNEL_PARAMETERS.1),
                    kernels: #kernels,
                };
                // SAFETY: the handle's launch passes what the signature says.
                unsafe impl #path::launch::Instance for #kernel<#(#arguments),*> {
                    const ENTRY: &'static #path::launch::Entry = &__KERNEL_ENTRY;
                }
            };
        })
    }

    /// The list of the texts that form the record.
    fn parts(&self, instance: &Instance) -> Option<TokenStream> {
        let path = self.root.as_ref()?;
        let mut parts = Parts::default();
        for (index, &at) in self.recorded().iter().enumerate() {
            let parameter = &self.parameters[at];
            let comma = if index == 0 { "" } else { ", " };
            let name = parameter.name.to_string();
            let Text {
                before,
                middle,
                after,
            } = Text::of(&parameter.kind, parameter.ty);
            let name = name.trim_start_matches("r#");
            parts.text(&format!("{comma}{name}: {before}"));
            match middle {
                Middle::Nothing => {}
                Middle::Type(ty) => parts.tokens(self.name_of(instance, ty)),
                Middle::Extents([x, y, z]) => {
                    let decimal = |extent: &TokenStream| {
                        quote! { #path::launch::Decimal::<#extent>::TEXT }
                    };
                    let (x, y, z) = (decimal(x), decimal(y), decimal(z));
                    parts.tokens(quote! { #x, ",", #y, ",", #z });
                }
            }
            parts.text(after);
        }
        let ItemFn { sig, block, .. } = self.function;
        let safety = if self.is_safe() { "safe" } else { "unsafe" };
        let trees = self.rules.iter();
        let trees = trees.chain(self.lengths.iter().map(|length| &length.length));
        let hosts = trees.flat_map(|tree| tree.hosts());
        let definition = hash(quote! { #sig #block #(#hosts)* });
        parts.text(&format!("\nkernel {safety} {definition:016x}"));
        if let (Some(threads), Some(blocks)) = (self.options.max_threads, instance.min_blocks) {
            parts.text(&format!("\nbounds {threads} {blocks}"));
        }
        if self.options.starts_early {
            parts.text("\nstarts early");
        }
        for parameter in &self.parameters {
            self.layout(
                &mut parts,
                &parameter.name.to_string(),
                &parameter.kind,
                parameter.ty,
            );
            self.map(&mut parts, parameter);
        }
        for (rule, _) in self.implied() {
            parts.text("\nimplied ");
            self.tree(&mut parts, instance, &rule);
        }
        for rule in &self.rules {
            parts.text("\nrequire ");
            self.tree(&mut parts, instance, rule);
        }
        for Length { array, length, .. } in &self.lengths {
            parts.text(&format!("\nlength {} ", self.number_of(*array)));
            self.tree(&mut parts, instance, length);
        }
        let parts = parts.list();
        Some(quote! {
            use #path::launch::Unnamed as _;
            &[#parts]
        })
    }

    /// The parameters in the signature: a static array exists on the device only.
    fn recorded(&self) -> Vec<usize> {
        let is_recorded =
            |index: &usize| !matches!(self.parameters[*index].kind, Kind::Static { .. });
        (0..self.parameters.len()).filter(is_recorded).collect()
    }

    /// The number of a parameter in the signature.
    fn number_of(&self, parameter: usize) -> usize {
        let recorded = self.recorded();
        recorded
            .iter()
            .position(|&index| index == parameter)
            .unwrap_or(usize::MAX)
    }

    /// The bytes and the alignment of an element or a value whose type has no plain name, and of a
    /// static array.
    fn layout(&self, parts: &mut Parts, name: &str, kind: &Kind<'_>, ty: &Type) {
        let (path, core) = (self.path(), &self.core);
        let name = name.trim_start_matches("r#");
        let (word, of) = match kind {
            Kind::Block { .. } | Kind::Text => return,
            Kind::Slice { element, .. }
            | Kind::RawSlice { element, .. }
            | Kind::Reference { element }
            | Kind::Pointer { element, .. }
            | Kind::View { element, .. }
            | Kind::Dynamic { element } => ("type", element.to_token_stream()),
            Kind::Value => ("type", ty.to_token_stream()),
            Kind::Static {
                array,
                first,
                arguments,
            } => {
                let count = arguments.get(1);
                let of = match array {
                    Static::Shared => first.to_token_stream(),
                    Static::Ring => quote! { [#first; #count] },
                    Static::Scratch => quote! { #path::block::ScratchMemory<#first> },
                };
                ("array", of)
            }
        };
        let of = self.without_lifetimes(of);
        let texts = [
            format!("\n{word} {name} ").to_token_stream(),
            quote! { #path::launch::Decimal::<{ #core::mem::size_of::<#of>() }>::TEXT },
            quote! { "/" },
            quote! { #path::launch::Decimal::<{ #core::mem::align_of::<#of>() }>::TEXT },
        ];
        for text in texts {
            // A plain type's name in the signature says its layout.
            parts.tokens(match word {
                "type" => quote! {
                    #path::launch::otherwise(#path::launch::NameOf::<#of>::NAME, false, #text)
                },
                _ => text,
            });
        }
    }

    /// The type arguments that determine which elements of an output a thread owns.
    fn map(&self, parts: &mut Parts, parameter: &Parameter<'_>) {
        let Kind::View {
            view, arguments, ..
        } = &parameter.kind
        else {
            return;
        };
        let Some((_, arguments)) = arguments.split_first().filter(|(_, map)| !map.is_empty())
        else {
            return;
        };
        let path = self.path();
        parts.text(&format!("\nmap {}", parameter.name.unraw()));
        for (index, argument) in arguments.iter().enumerate() {
            parts.text(" ");
            parts.tokens(match (view, index) {
                // A tile's rows and columns.
                (View::OutMatrix, 0 | 1) => {
                    quote! { #path::launch::Decimal::<{ #argument }>::TEXT }
                }
                _ => {
                    let name = quote! { <#argument as #path::block::Map>::NAME };
                    quote! { #name[0], #name[1], #name[2] }
                }
            });
        }
    }

    /// A rule or a length, in the record's grammar.
    fn tree(&self, parts: &mut Parts, instance: &Instance, tree: &Tree) {
        let path = self.path();
        let mut node = |word: &str, children: &[Box<Tree>]| {
            parts.text(&format!("({word}"));
            for child in children {
                parts.text(" ");
                self.tree(parts, instance, child);
            }
            parts.text(")");
        };
        match tree {
            Tree::Literal(_, text) => parts.text(text),
            Tree::Constant(expression, text) => {
                parts.text(&format!("(const {} ", quoted(text)));
                // Written without an item, whose name could shadow one in the expression.
                parts.tokens(quote! {
                    #path::launch::digits_of(const { &#path::launch::digits(#expression) })
                });
                parts.text(")");
            }
            Tree::Value(index, _) => parts.text(&format!("(value {})", self.number_of(*index))),
            Tree::Extent(index, part) => {
                parts.text(&format!("({} {})", part.method(), self.number_of(*index)));
            }
            Tree::Axis(of, axis) => parts.text(&format!("({} {axis})", of.word())),
            Tree::Volume(of) => parts.text(&format!("({} *)", of.word())),
            Tree::SharedBytes => parts.text("(shared_bytes)"),
            Tree::Cast(ty, tree) => {
                parts.text("(as ");
                parts.tokens(self.name_of(instance, ty));
                parts.text(" ");
                self.tree(parts, instance, tree);
                parts.text(")");
            }
            Tree::Arithmetic(operator, both, _) => node(operator.sign(), both),
            Tree::Checked(operator, both, _) => node(operator.function(), both),
            Tree::Some(tree) => node("some", std::slice::from_ref(tree)),
            Tree::Compare(op, both) => node(&op.to_token_stream().to_string(), both),
            Tree::And(both) => node("&&", both),
            Tree::Or(both) => node("||", both),
            Tree::Not(tree) => node("!", std::slice::from_ref(tree)),
            Tree::Empty(index) => parts.text(&format!("(is_empty {})", self.number_of(*index))),
            Tree::Aligned(index, bytes) => {
                parts.text(&format!("(is_aligned_to {} ", self.number_of(*index)));
                self.tree(parts, instance, bytes);
                parts.text(")");
            }
            Tree::Multiple(both, _) => node("is_multiple_of", both),
            Tree::IsSome(tree) => node("is_some", std::slice::from_ref(tree)),
            Tree::Host(_) => parts.text("(host)"),
        }
    }

    /// The parts that identify a type: a plain type's name, or its text and size.
    fn name_of(&self, instance: &Instance, ty: &Type) -> TokenStream {
        let (path, core) = (self.path(), &self.core);
        let text = tokens::of_type(instance.substitute(ty.to_token_stream()));
        let opened = format!("{text}(");
        let ty = self.without_lifetimes(ty);
        quote! {
            #path::launch::otherwise(#path::launch::NameOf::<#ty>::NAME, true, #opened),
            #path::launch::otherwise(
                #path::launch::NameOf::<#ty>::NAME,
                false,
                #path::launch::Decimal::<{ #core::mem::size_of::<#ty>() }>::TEXT
            ),
            #path::launch::otherwise(#path::launch::NameOf::<#ty>::NAME, false, ")")
        }
    }

    /// The bytes of the PTX parameters.
    fn sizes(&self) -> impl Iterator<Item = TokenStream> {
        let core = &self.core;
        self.parameters.iter().flat_map(move |parameter| {
            if let Some(parts) = parameter.kind.parts() {
                return vec![quote! { 8 }; parts.len()];
            }
            if matches!(
                parameter.kind,
                Kind::Reference { .. } | Kind::Pointer { .. }
            ) {
                return vec![quote! { 8 }];
            }
            let ty = self.without_lifetimes(parameter.ty);
            vec![quote! { #core::mem::size_of::<#ty>() }]
        })
    }

    /// The block's threads that the kernel is written for.
    fn block(&self) -> TokenStream {
        let path = self.path();
        let extents = self
            .parameters
            .iter()
            .find_map(|parameter| match &parameter.kind {
                Kind::Block { extents } => Some(extents),
                _ => None,
            });
        match extents {
            Some(extents) => quote! { #path::launch::block_of([#(#extents),*]) },
            None => quote! { [0; 3] },
        }
    }
}

/// The texts of a record; adjacent ones are joined.
#[derive(Default)]
struct Parts {
    list: TokenStream,
    last: String,
}

impl Parts {
    fn text(&mut self, text: &str) {
        self.last += text;
    }

    /// Expressions of texts, with commas between them.
    fn tokens(&mut self, tokens: TokenStream) {
        let last = std::mem::take(&mut self.last);
        if !last.is_empty() {
            self.list.extend(quote! { #last, });
        }
        if !tokens.is_empty() {
            self.list.extend(quote! { #tokens, });
        }
    }

    fn list(mut self) -> TokenStream {
        self.tokens(TokenStream::new());
        self.list
    }
}

/// The user's text in the record, on one line.
fn quoted(text: &str) -> String {
    format!("{text:?}")
}

/// Tells definitions apart: a hash of all words, numbers and punctuation, without their positions.
fn hash(tokens: TokenStream) -> u64 {
    // FNV-1a.
    fn add(hash: &mut u64, text: &str) {
        for byte in text.bytes().chain([0]) {
            *hash = (*hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    fn walk(hash: &mut u64, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => {
                    let (open, close) = match group.delimiter() {
                        Delimiter::Parenthesis => ("(", ")"),
                        Delimiter::Bracket => ("[", "]"),
                        Delimiter::Brace => ("{", "}"),
                        Delimiter::None => ("", ""),
                    };
                    add(hash, open);
                    walk(hash, group.stream());
                    add(hash, close);
                }
                other => add(hash, &other.to_string()),
            }
        }
    }
    let mut of_all = 0xcbf2_9ce4_8422_2325;
    walk(&mut of_all, tokens);
    of_all
}

/// How a parameter appears in the record: the type that it is made of, between two texts.
struct Text<'k> {
    before: String,
    middle: Middle<'k>,
    after: &'static str,
}

enum Middle<'k> {
    Nothing,
    Type(&'k Type),
    Extents(&'k [TokenStream; 3]),
}

impl<'k> Text<'k> {
    fn of(kind: &'k Kind<'k>, ty: &'k Type) -> Self {
        let (before, middle, after) = match kind {
            Kind::Slice { element, mutable } => {
                let before = if *mutable { "&mut [" } else { "&[" };
                (before.to_owned(), Middle::Type(element), "]")
            }
            Kind::RawSlice { element, mutable } => {
                let before = if *mutable { "*mut [" } else { "*const [" };
                (before.to_owned(), Middle::Type(element), "]")
            }
            Kind::Text => ("&str".to_owned(), Middle::Nothing, ""),
            Kind::Reference { element } => ("&".to_owned(), Middle::Type(element), ""),
            Kind::Pointer { element, mutable } => {
                let before = if *mutable { "*mut " } else { "*const " };
                (before.to_owned(), Middle::Type(element), "")
            }
            Kind::Block { extents } => ("&mut Block<".to_owned(), Middle::Extents(extents), ">"),
            Kind::View { view, element, .. } => {
                (format!("{}<", view.name()), Middle::Type(element), ">")
            }
            Kind::Dynamic { element } => ("Shared<[".to_owned(), Middle::Type(element), "]>"),
            Kind::Value | Kind::Static { .. } => (String::new(), Middle::Type(ty), ""),
        };
        Self {
            before,
            middle,
            after,
        }
    }
}

impl Instance {
    /// The type's tokens with parameters replaced by arguments.
    fn substitute(&self, tokens: TokenStream) -> TokenStream {
        tokens::replace(tokens, &|is_lifetime, word| {
            let (_, text) = self
                .texts
                .iter()
                .find(|(name, _)| !is_lifetime && word == name)?;
            text.parse().ok()
        })
    }
}
