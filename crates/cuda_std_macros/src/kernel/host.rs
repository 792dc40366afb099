//! A [`Tree`] as the host's code, which checks a launch.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use super::kind::Kind;
use super::parameter::Parameter;
use super::rule::{Tree, WORDS};
use super::variable;
use crate::tokens;

/// The names that a rule refers to.
pub(super) struct Names<'a> {
    pub(super) path: &'a TokenStream,
    pub(super) core: &'a TokenStream,
    pub(super) parameters: &'a [Parameter<'a>],
    /// The launch's shape.
    pub(super) shape: &'a Ident,
}

impl Names<'_> {
    /// The tree as the host evaluates it, in a function that returns an `Option`.
    pub(super) fn host(&self, tree: &Tree) -> TokenStream {
        let Names {
            path, core, shape, ..
        } = self;
        let extent = |index: usize| {
            let parameter = &self.parameters[index];
            let name = &parameter.name;
            let ty = match &parameter.kind {
                Kind::View { view, .. } if view.is_matrix() => quote! { MatrixExtent },
                _ => quote! { Extent },
            };
            let ty = quote! { #path::launch::#ty };
            let memory = match &parameter.kind {
                Kind::View { view, .. } if view.is_pair() => quote! { #name.memory },
                _ => quote! { #name },
            };
            (ty.clone(), quote! { #ty::of(&#memory) })
        };
        match tree {
            Tree::Literal(tokens, _) => tokens.clone(),
            // The record accepts scalars only.
            Tree::Constant(expression, _) => expression.to_token_stream(),
            Tree::Value(index, span) => {
                let mut name = self.parameters[*index].name.clone();
                name.set_span(name.span().located_at(*span));
                let (path, span) = self.at(*span);
                quote_spanned! { span => #path::launch::scalar(#name) }
            }
            Tree::Extent(index, part) => {
                let (ty, of) = extent(*index);
                let method = Ident::new(part.method(), Span::mixed_site());
                quote! { #ty::#method(#of) }
            }
            Tree::Axis(of, axis) => {
                let of = Ident::new(of.word(), Span::mixed_site());
                quote! { #shape.#of.#axis }
            }
            Tree::Volume(of) => {
                let of = Ident::new(of.word(), Span::mixed_site());
                quote! { #path::launch::Dim::threads(#shape.#of) }
            }
            Tree::SharedBytes => quote! { #shape.shared_bytes },
            Tree::Cast(ty, tree) => {
                let ((path, span), tree) = (self.at(ty.span()), self.host(tree));
                quote_spanned! { span => #path::launch::scalar::<#ty>((#tree) as #ty) }
            }
            Tree::Arithmetic(operator, both, span) => {
                let (path, span) = self.at(*span);
                let function = Ident::new(operator.function(), span);
                let [left, right] = both.each_ref().map(|tree| self.host(tree));
                quote_spanned! { span => #path::launch::#function(#left, #right)? }
            }
            Tree::Checked(operator, both, span) => {
                let (path, span) = self.at(*span);
                let function = Ident::new(operator.function(), span);
                let [left, right] = both.each_ref().map(|tree| self.host(tree));
                quote_spanned! { span => #path::launch::#function(#left, #right) }
            }
            Tree::Some(tree) => {
                let tree = self.host(tree);
                quote! { #core::option::Option::Some(#tree) }
            }
            Tree::Compare(op, both) => {
                let [left, right] = both.each_ref().map(|tree| self.host(tree));
                quote! { (#left #op #right) }
            }
            Tree::And(both) => {
                let [left, right] = both.each_ref().map(|tree| self.host(tree));
                quote! { (#left && #right) }
            }
            Tree::Or(both) => {
                let [left, right] = both.each_ref().map(|tree| self.host(tree));
                quote! { (#left || #right) }
            }
            Tree::Not(tree) => {
                let tree = self.host(tree);
                quote! { !(#tree) }
            }
            Tree::Empty(index) => {
                let (ty, of) = extent(*index);
                quote! { #ty::is_empty(#of) }
            }
            Tree::Aligned(index, bytes) => {
                let ((ty, of), bytes) = (extent(*index), self.host(bytes));
                quote! { #ty::is_aligned_to(#of, #bytes) }
            }
            Tree::Multiple(both, span) => {
                let (path, span) = self.at(*span);
                let [left, right] = both.each_ref().map(|tree| self.host(tree));
                quote_spanned! { span => #path::launch::is_multiple_of(#left, #right) }
            }
            Tree::IsSome(tree) => {
                let tree = self.host(tree);
                quote! { #core::option::Option::is_some(&#tree) }
            }
            // In a function of its own: the user's expression may `return`.
            Tree::Host(expression) => {
                let expression = expression.to_token_stream();
                let (words, expression) = (self.words(&expression), self.resolved(&expression));
                let holds = variable("holds");
                quote! {
                    {
                        let #holds = || -> #core::primitive::bool {
                            #words
                            let #holds: #core::primitive::bool = #expression;
                            #holds
                        };
                        #holds()
                    }
                }
            }
        }
    }

    /// The path of cuda_std in code placed at the user's, and the span of that code. All of it has
    /// one origin; otherwise the compiler would point at the whole attribute.
    fn at(&self, place: Span) -> (TokenStream, Span) {
        let at_place = |token: TokenTree| {
            let span = token.span().located_at(place);
            let mut token = token;
            token.set_span(span);
            (token, span)
        };
        let tokens = self.path.clone().into_iter().map(at_place);
        let (path, spans): (TokenStream, Vec<Span>) = tokens.unzip();
        (path, spans.first().copied().unwrap_or(place))
    }

    /// Definitions of the words in the user's expression: the extents of the shape and of the
    /// parameters.
    pub(super) fn words(&self, expression: &TokenStream) -> TokenStream {
        let Names { path, shape, .. } = self;
        let mentioned = |name: &str| tokens::find(expression.clone(), name).is_some();
        let is_own = |word: &str| self.parameters.iter().any(|own| own.name.unraw() == word);
        let dimensions = WORDS
            .into_iter()
            .filter(|word| mentioned(word) && !is_own(word))
            .map(|word| {
                let word = Ident::new(word, Span::mixed_site());
                quote! { let #word = #shape.#word; }
            });
        let extents = (self.parameters.iter())
            .filter(|parameter| mentioned(&parameter.name.unraw().to_string()))
            .filter_map(|parameter| {
                let name = &parameter.name;
                match &parameter.kind {
                    Kind::Value | Kind::Static { .. } | Kind::Dynamic { .. } => None,
                    Kind::Block { .. } => Some(quote! { let #name = #shape.block; }),
                    Kind::View { view, .. } if view.is_matrix() => {
                        Some(quote! { let #name = #path::launch::MatrixExtent::of(&#name); })
                    }
                    Kind::View { view, .. } if view.is_pair() => {
                        Some(quote! { let #name = #path::launch::Extent::of(&#name.memory); })
                    }
                    _ => Some(quote! { let #name = #path::launch::Extent::of(&#name); }),
                }
            });
        quote! { #(#dimensions)* #(#extents)* }
    }

    /// The user's expression with each word replaced by what it stands for, whatever macro it comes
    /// from.
    pub(super) fn resolved(&self, expression: &TokenStream) -> TokenStream {
        tokens::replace(expression.clone(), &|is_lifetime, word| {
            if is_lifetime {
                return None;
            }
            let text = word.unraw();
            let mut parameters = self.parameters.iter();
            let parameter = parameters.find(|parameter| parameter.name.unraw() == text);
            let span = match parameter {
                Some(parameter) => parameter.name.span(),
                None if WORDS.iter().any(|own| text == own) => Span::mixed_site(),
                None => return None,
            };
            let mut word = word.clone();
            word.set_span(word.span().resolved_at(span));
            Some(word.to_token_stream())
        })
    }
}
