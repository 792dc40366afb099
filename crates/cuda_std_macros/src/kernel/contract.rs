//! What a launch checks before it starts, and the lengths of its dynamic shared arrays.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{GenericArgument, Ident, Type};

use super::Kernel;
use super::kind::{Kind, View, named};
use super::options::Rule;
use super::parameter::Parameter;
use crate::tokens;

impl Kernel<'_> {
    /// The statements that return a refusal. They find the shape in `shape`, and leave there the
    /// shared memory of the arrays.
    pub(super) fn contract(
        &self,
        entry: &TokenStream,
        error: &TokenStream,
        shape: &Ident,
    ) -> TokenStream {
        let path = &self.cuda_std;
        let refused = local("refused");
        let mut statements: Vec<_> = (self.types_rules(shape).into_iter())
            .map(|(condition, text)| refuse_unless(&condition, &refused, &text))
            .collect();
        let rules = self.options.require.iter();
        statements.extend(rules.map(|rule| self.rule(rule, &refused, shape)));
        statements.extend(self.sizes_of_arrays(&refused, shape));
        if statements.is_empty() {
            return TokenStream::new();
        }
        let given = self.parameters.iter().flat_map(given);
        quote! {
            let #refused = |rule: &'static str| {
                <#error as ::core::convert::From<#path::launch::Refusal>>::from(#path::launch::Refusal {
                    kernel: #entry.name,
                    rule,
                    given: #path::launch::given(&[#(#given),*], #shape),
                })
            };
            #(#statements)*
        }
    }

    /// What the parameters' types ask for: conditions, and their texts.
    fn types_rules(&self, shape: &Ident) -> Vec<(TokenStream, String)> {
        let mut rules = Vec::new();
        for parameter in &self.parameters {
            let name = &parameter.name;
            match &parameter.kind {
                Kind::Reference { .. } => {
                    rules.push((quote! { #name.len >= 1 }, format!("{name}.len() >= 1")));
                }
                Kind::View { view, .. } if view.is_matrix() => rules.extend([
                    (
                        quote! { #name.is_whole() },
                        format!("{name}.len() == {name}.rows() * {name}.cols()"),
                    ),
                    (
                        quote! { #name.is_addressable() },
                        format!("at most isize::MAX rows and columns of {name}"),
                    ),
                ]),
                Kind::View {
                    view, arguments, ..
                } if is_per_block(*view, arguments) => rules.push((
                    quote! { #name.len >= #shape.grid.blocks() as ::core::primitive::u64 },
                    format!("{name}.len() >= grid.blocks()"),
                )),
                _ => {}
            }
        }
        let kinds = || self.parameters.iter().map(|parameter| &parameter.kind);
        let has_block = kinds().any(|kind| matches!(kind, Kind::Block { .. }));
        let has =
            |wanted| kinds().any(|kind| matches!(kind, Kind::View { view, .. } if *view == wanted));
        // A block owns the tiles that its index along x says, and a matrix's by x and y.
        if has_block && has(View::Out) {
            rules.push((
                quote! { #shape.grid.y == 1 && #shape.grid.z == 1 },
                "grid.y == 1 && grid.z == 1".to_owned(),
            ));
        } else if has(View::OutMatrix) {
            rules.push((quote! { #shape.grid.z == 1 }, "grid.z == 1".to_owned()));
        }
        rules
    }

    fn rule(&self, rule: &Rule, refused: &Ident, shape: &Ident) -> TokenStream {
        let Rule { condition, text } = rule;
        let holds = local("holds");
        let words = self.words(&condition.to_token_stream(), shape);
        let refuse = refuse_unless(&holds.to_token_stream(), refused, text);
        let checked = quote! {
            #words
            let #holds: bool = #condition;
            #refuse
        };
        // A bare address has no extent to check.
        let checked =
            (self.pointers_in(&condition.to_token_stream())).fold(checked, |checked, name| {
                quote! { if let ::core::option::Option::Some(#name) = #name.memory { #checked } }
            });
        quote! { { #checked } }
    }

    /// What the words of an expression stand for: the shape's extents, and those of the parameters.
    pub(super) fn words(&self, expression: &TokenStream, shape: &Ident) -> TokenStream {
        let path = &self.cuda_std;
        let mentioned = |name: &str| tokens::find(expression.clone(), name);
        let dimensions = ["grid", "block", "shared_bytes"]
            .into_iter()
            .filter_map(|name| {
                let name = Ident::new(name, mentioned(name)?);
                Some(quote! { let #name = #shape.#name; })
            });
        let extents = (self.parameters.iter())
            .filter(|parameter| mentioned(&parameter.name.to_string()).is_some())
            .filter_map(|parameter| {
                let name = &parameter.name;
                match &parameter.kind {
                    Kind::Value | Kind::Static { .. } | Kind::Dynamic { .. } => None,
                    Kind::Block { .. } if name == "block" => None,
                    Kind::Block { .. } => Some(quote! { let #name = #shape.block; }),
                    Kind::View { view, .. } if view.is_matrix() => {
                        Some(quote! { let #name = #path::launch::MatrixExtent::of(&#name); })
                    }
                    _ => Some(quote! { let #name = #path::launch::Extent::of(&#name); }),
                }
            });
        quote! { #(#dimensions)* #(#extents)* }
    }

    /// The pointers that an expression mentions.
    pub(super) fn pointers_in<'b>(
        &'b self,
        expression: &'b TokenStream,
    ) -> impl Iterator<Item = &'b Ident> {
        (self.parameters.iter())
            .filter(|parameter| matches!(parameter.kind, Kind::Pointer { .. }))
            .map(|parameter| &parameter.name)
            .filter(|name| tokens::find(expression.clone(), &name.to_string()).is_some())
    }
}

/// `Out<T, PerBlock>`.
fn is_per_block(view: View, arguments: &[&GenericArgument]) -> bool {
    let Some(GenericArgument::Type(map)) = arguments.get(1) else {
        return false;
    };
    view == View::Out && named(map).is_some_and(|(name, _)| name == "PerBlock")
}

pub(super) fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

fn refuse_unless(condition: &TokenStream, refused: &Ident, text: &str) -> TokenStream {
    quote! {
        if !(#condition) {
            return ::core::result::Result::Err(#refused(#text));
        }
    }
}

/// The texts of what the parameter was given, with the values.
fn given(parameter: &Parameter<'_>) -> Vec<TokenStream> {
    let name = &parameter.name;
    let extent = |word: &str, value: TokenStream| {
        let text = format!("{name}.{word}()");
        quote! { (#text, &#value) }
    };
    match parameter.kind {
        Kind::Value if is_number(parameter.ty) => {
            let text = name.to_string();
            vec![quote! { (#text, &#name) }]
        }
        Kind::View { view, .. } if view.is_matrix() => vec![
            extent("rows", quote! { #name.rows }),
            extent("cols", quote! { #name.cols }),
            extent("len", quote! { #name.memory.len }),
        ],
        Kind::Slice { .. }
        | Kind::RawSlice { .. }
        | Kind::Text
        | Kind::Reference { .. }
        | Kind::View { .. } => vec![extent("len", quote! { #name.len })],
        _ => Vec::new(),
    }
}

fn is_number(ty: &Type) -> bool {
    const NUMBERS: [&str; 16] = [
        "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "u128", "i128", "usize", "isize",
        "f32", "f64", "bool", "char",
    ];
    NUMBERS.contains(&&*tokens::of_type(ty.to_token_stream()))
}
