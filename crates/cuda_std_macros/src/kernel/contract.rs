//! What a launch checks before it starts, and the lengths of its dynamic shared arrays.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{GenericArgument, Ident, Type, parse_quote};

use super::host::Names;
use super::kind::{Kind, View, named};
use super::parameter::Parameter;
use super::rule::{Dimensions, Tree};
use super::{Kernel, variable};
use crate::tokens;

impl Kernel<'_> {
    /// The statements that return a refusal. They read the shape from `shape` and store the shared
    /// memory of the arrays there.
    pub(super) fn contract(
        &self,
        entry: &TokenStream,
        error: &TokenStream,
        shape: &Ident,
    ) -> TokenStream {
        let (path, core) = (self.path(), &self.core);
        let (refused, rule) = (variable("refused"), variable("rule"));
        let mut statements: Vec<_> = (self.types_rules(shape).into_iter())
            .map(|(condition, text)| self.refuse_unless(&condition, &refused, &text))
            .collect();
        let texts = self.options.require.iter().map(|rule| &*rule.text);
        let rules = self.rules.iter().zip(texts);
        statements.extend(rules.map(|rule| self.rule(rule, &refused, shape)));
        statements.extend(self.sizes_of_arrays(&refused, shape));
        if statements.is_empty() {
            return TokenStream::new();
        }
        let given = self.parameters.iter().flat_map(given);
        quote! {
            let #refused = |#rule: &'static #core::primitive::str| {
                <#error as #core::convert::From<#path::launch::Refusal>>::from(#path::launch::Refusal {
                    kernel: #entry.name,
                    rule: #rule,
                    given: #path::launch::given(&[#(#given),*], #shape),
                })
            };
            #(#statements)*
        }
    }

    /// The requirements of the parameters' types: conditions, and their texts.
    fn types_rules(&self, shape: &Ident) -> Vec<(TokenStream, String)> {
        let (path, core) = (self.path(), &self.core);
        let mut rules = Vec::new();
        for parameter in &self.parameters {
            let name = &parameter.name;
            match &parameter.kind {
                Kind::Reference { .. } => {
                    rules.push((quote! { #name.len >= 1 }, format!("{name}.len() >= 1")));
                }
                Kind::View { view, .. } if view.is_matrix() => rules.extend([
                    (
                        quote! { #path::launch::MatrixMemory::is_whole(&#name) },
                        format!("{name}.len() == {name}.rows() * {name}.cols()"),
                    ),
                    (
                        quote! { #path::launch::MatrixMemory::is_addressable(&#name) },
                        format!("at most isize::MAX rows and columns of {name}, 2³² if it is empty"),
                    ),
                ]),
                Kind::View {
                    view: View::Append, ..
                } => rules.push((
                    quote! { #name.second.len == 1 },
                    format!("one count of {name}"),
                )),
                Kind::View {
                    view: View::Scatter,
                    ..
                } => rules.push((
                    quote! { #name.second.len == #name.memory.len },
                    format!("{name}.len() == its permutation's length"),
                )),
                Kind::View {
                    view, arguments, ..
                } if is_per_block(*view, arguments) => rules.push((
                    quote! { #name.len >= #path::launch::Dim::blocks(#shape.grid) as #core::primitive::u64 },
                    format!("{name}.len() >= grid.blocks()"),
                )),
                _ => {}
            }
        }
        let names = self.names(shape);
        rules.extend((self.implied().into_iter()).map(|(rule, text)| (names.host(&rule), text)));
        rules
    }

    /// The requirements of the parameters' types on the launch's shape, with texts. The device
    /// assumes them, so they are in the record.
    pub(super) fn implied(&self) -> Vec<(Tree, String)> {
        let has_block =
            (self.parameters.iter()).any(|parameter| matches!(parameter.kind, Kind::Block { .. }));
        let one = |of: Dimensions, axis: &str| {
            let one = Tree::Literal(quote! { 1 }, "1".to_owned());
            let both = [Tree::Axis(of, Ident::new(axis, Span::mixed_site())), one].map(Box::new);
            Tree::Compare(parse_quote!(==), both)
        };
        let flat = |of: Dimensions| {
            let what = of.word();
            (
                Tree::And(["y", "z"].map(|axis| Box::new(one(of, axis)))),
                format!("{what}.y == 1 && {what}.z == 1"),
            )
        };
        // A block owns tiles by its index along x; a matrix's tiles by x and y.
        if has_block && (self.has(View::Out) || self.has(View::Scatter)) {
            vec![flat(Dimensions::Grid)]
        } else if self.has(View::OutMatrix) {
            vec![(one(Dimensions::Grid, "z"), "grid.z == 1".to_owned())]
        } else if self.is_of_one_dimension() {
            vec![flat(Dimensions::Grid), flat(Dimensions::Block)]
        } else if self.is_safe() && self.has_line_of_threads() && !self.names_grid() {
            // Blocks that differ along y would repeat the same tiles.
            vec![flat(Dimensions::Grid)]
        } else {
            Vec::new()
        }
    }

    fn has(&self, wanted: View) -> bool {
        let is_wanted =
            |kind: &Kind<'_>| matches!(kind, Kind::View { view, .. } if *view == wanted);
        (self.parameters.iter()).any(|parameter| is_wanted(&parameter.kind))
    }

    /// Whether threads count along x only: a safe kernel with an output, no block, and no rule of
    /// its own on the grid. Threads along other axes would have nothing to do.
    pub(super) fn is_of_one_dimension(&self) -> bool {
        let blocks = |parameter: &Parameter<'_>| matches!(parameter.kind, Kind::Block { .. });
        self.is_safe()
            && (self.has(View::Out) || self.has(View::Scatter))
            && !self.has(View::OutMatrix)
            && !self.parameters.iter().any(blocks)
            && !self.names_grid()
    }

    /// `&mut Block<X>`.
    fn has_line_of_threads(&self) -> bool {
        self.parameters.iter().any(|parameter| {
            let Kind::Block { extents: [_, y, z] } = &parameter.kind else {
                return false;
            };
            [y, z].iter().all(|extent| extent.to_string() == "1")
        })
    }

    /// Whether one of the kernel's own rules is about the grid.
    fn names_grid(&self) -> bool {
        (self.options.require.iter())
            .any(|rule| tokens::find(rule.condition.to_token_stream(), "grid").is_some())
    }

    fn rule(&self, (rule, text): (&Tree, &str), refused: &Ident, shape: &Ident) -> TokenStream {
        let core = &self.core;
        let holds = variable("holds");
        let condition = self.names(shape).host(rule);
        let checked = quote! {
            let #holds = || -> #core::option::Option<#core::primitive::bool> {
                #core::option::Option::Some(#condition)
            };
            if !#core::matches!(#holds(), #core::option::Option::Some(true)) {
                return #core::result::Result::Err(#refused(#text));
            }
        };
        // A bare address has no extent to check.
        let checked = (self.pointers_in(rule).into_iter()).fold(checked, |checked, name| {
            quote! { if let #core::option::Option::Some(#name) = #name.memory { #checked } }
        });
        quote! { { #checked } }
    }

    fn refuse_unless(&self, condition: &TokenStream, refused: &Ident, text: &str) -> TokenStream {
        let core = &self.core;
        quote! {
            if !(#condition) {
                return #core::result::Result::Err(#refused(#text));
            }
        }
    }

    pub(super) fn names<'n>(&'n self, shape: &'n Ident) -> Names<'n> {
        Names {
            path: self.path(),
            core: &self.core,
            parameters: &self.parameters,
            shape,
        }
    }

    /// The pointers that a rule mentions.
    pub(super) fn pointers_in(&self, rule: &Tree) -> Vec<&Ident> {
        let (known, hosts) = (rule.parameters(), rule.hosts());
        let is_mentioned = |index: usize, name: &Ident| {
            let name = name.unraw().to_string();
            let mut hosts = hosts.iter();
            known.contains(&index)
                || hosts.any(|host| tokens::find(host.to_token_stream(), &name).is_some())
        };
        (self.parameters.iter().enumerate())
            .filter(|(_, parameter)| matches!(parameter.kind, Kind::Pointer { .. }))
            .filter(|(index, parameter)| is_mentioned(*index, &parameter.name))
            .map(|(_, parameter)| &parameter.name)
            .collect()
    }
}

/// `Out<T, PerBlock>`.
fn is_per_block(view: View, arguments: &[&GenericArgument]) -> bool {
    let Some(GenericArgument::Type(map)) = arguments.get(1) else {
        return false;
    };
    view == View::Out && named(map).is_some_and(|(name, _)| name == "PerBlock")
}

/// The texts of what was passed for the parameter, with the values.
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
        Kind::View { view, .. } if view.is_pair() => {
            let second = match view {
                View::Append => "count",
                _ => "permutation",
            };
            let text = format!("{name}'s {second}.len()");
            vec![
                extent("len", quote! { #name.memory.len }),
                quote! { (#text, &#name.second.len) },
            ]
        }
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
