//! Shared memory as a parameter: a static array for each, or its position in the dynamic shared
//! memory.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Expr, ExprClosure, GenericArgument, Ident, Type, parse_quote_spanned};

use super::kind::{Kind, Static};
use super::parameter::{Parameter, Part};
use super::rule::Tree;
use super::{Kernel, Length, variable};

const COMPUTED: &str = "no other shared bytes than `shared(..)` computes";

impl Kernel<'_> {
    /// The call with a handle for each shared array; no two handles have the same lifetime.
    pub(super) fn with_shared_memory(&self, call: TokenStream) -> TokenStream {
        let path = self.path();
        let dynamic = variable("dynamic");
        let statements = self
            .parameters
            .iter()
            .filter_map(|parameter| self.memory(parameter, &dynamic));
        let call = (self.parameters.iter().rev()).fold(call, |call, parameter| {
            let with = match &parameter.kind {
                Kind::Static { array, .. } => {
                    format_ident!("with_{}", array.name().to_string().to_lowercase())
                }
                Kind::Dynamic { .. } => format_ident!("with_shared"),
                _ => return call,
            };
            let (name, memory) = (&parameter.name, memory(parameter));
            quote! { unsafe { #path::block::#with(#memory, |#name| #call) } }
        });
        let first = self.has_dynamic_arrays().then(|| {
            quote! { let mut #dynamic = #path::launch::DynamicShared::new(); }
        });
        quote! { #first #(#statements)* #call }
    }

    pub(super) fn has_dynamic_arrays(&self) -> bool {
        let is_dynamic = |parameter: &Parameter<'_>| matches!(parameter.kind, Kind::Dynamic { .. });
        self.parameters.iter().any(is_dynamic)
    }

    /// On the host: the statements that compute each dynamic array's length, and their total shared
    /// memory.
    pub(super) fn sizes_of_arrays(&self, refused: &Ident, shape: &Ident) -> Vec<TokenStream> {
        if !self.has_dynamic_arrays() {
            return Vec::new();
        }
        let (path, core) = (self.path(), &self.core);
        let (dynamic, bytes) = (variable("dynamic"), variable("bytes"));
        let mut statements = vec![quote! {
            let mut #dynamic = #path::launch::DynamicShared::new();
        }];
        for Length {
            array,
            length,
            text,
        } in &self.lengths
        {
            let parameter = &self.parameters[*array];
            let Kind::Dynamic { element } = &parameter.kind else {
                continue;
            };
            let pointers = self.pointers_in(length);
            let names = self.names(shape);
            let (words, computed) = match length {
                Tree::Host(length) => {
                    let length = checked(length, core).to_token_stream();
                    (names.words(&length), names.resolved(&length))
                }
                tree => (TokenStream::new(), names.host(tree)),
            };
            let (name, size, text) = (
                parameter.part(Part::Length),
                variable("size"),
                format!("a size from 0 to 4 GiB for {text}"),
            );
            let number = quote! { #core::option::Option<#core::primitive::usize> };
            // Placed outside the closure, which the expression may leave by `return`.
            statements.push(quote! {
                let #size = || -> #number {
                    #(let #pointers = #pointers.memory?;)*
                    #words
                    let #size: #core::primitive::usize = #computed;
                    #core::option::Option::Some(#size)
                };
                let #size: #number = #size();
                let #size = match #size {
                    #core::option::Option::Some(#size)
                        if #core::option::Option::is_some(
                            &#path::launch::DynamicShared::place::<#element>(&mut #dynamic, #size)
                        ) => #core::option::Option::Some(#size),
                    _ => #core::option::Option::None,
                };
                let #core::option::Option::Some(#name) = #size else {
                    return #core::result::Result::Err(#refused(#text));
                };
            });
        }
        statements.push(quote! {
            let #bytes = #path::launch::DynamicShared::bytes(&#dynamic);
            if #shape.shared_bytes != 0 && #shape.shared_bytes != #bytes {
                return #core::result::Result::Err(#refused(#COMPUTED));
            }
            let #shape = #path::launch::Shape { shared_bytes: #bytes, ..#shape };
        });
        statements
    }

    /// The statement that finds the array's memory. No token of the user's is inside an `unsafe`
    /// block.
    fn memory(&self, parameter: &Parameter<'_>, dynamic: &Ident) -> Option<TokenStream> {
        let (path, memory) = (self.path(), memory(parameter));
        match &parameter.kind {
            Kind::Static {
                array,
                first,
                arguments,
            } => {
                let count = arguments.get(1);
                let ty = match array {
                    Static::Shared => quote! { #first },
                    Static::Ring => quote! { [#first; #count] },
                    Static::Scratch => quote! { #path::block::ScratchMemory<#first> },
                };
                Some(quote! { let #memory: *mut #ty = #path::shared_array![#ty; 1]; })
            }
            Kind::Dynamic { element } => {
                let length = parameter.part(Part::Length);
                Some(quote! {
                    let #memory: *mut [#element] =
                        unsafe { #path::launch::dynamic_array(&mut #dynamic, #length) };
                })
            }
            _ => None,
        }
    }
}

/// The variable that points to the array.
fn memory(parameter: &Parameter<'_>) -> Ident {
    format_ident!("__{}_memory", parameter.name, span = Span::mixed_site())
}

/// The expression with checked arithmetic; it returns `None` where a result does not fit `usize`.
fn checked(length: &Expr, core: &TokenStream) -> Expr {
    let mut length = length.clone();
    Checked { core }.visit_expr_mut(&mut length);
    length
}

struct Checked<'c> {
    core: &'c TokenStream,
}

impl VisitMut for Checked<'_> {
    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        visit_mut::visit_expr_mut(self, expression);
        let binary = match expression {
            Expr::Binary(binary) => binary,
            // A call needs no parentheses.
            Expr::Paren(inner) if matches!(*inner.expr, Expr::Try(_)) => {
                *expression = (*inner.expr).clone();
                return;
            }
            _ => return,
        };
        let function = match binary.op {
            BinOp::Add(_) => "checked_add",
            BinOp::Sub(_) => "checked_sub",
            BinOp::Mul(_) => "checked_mul",
            BinOp::Div(_) => "checked_div",
            BinOp::Rem(_) => "checked_rem",
            _ => return,
        };
        let span = binary.span().resolved_at(Span::mixed_site());
        let (function, left, right) = (Ident::new(function, span), &binary.left, &binary.right);
        let core = self.core;
        *expression =
            parse_quote_spanned! { span => #core::primitive::usize::#function(#left, #right)? };
    }

    // A `?` in these would return from the closure.
    fn visit_expr_closure_mut(&mut self, _: &mut ExprClosure) {}
    fn visit_type_mut(&mut self, _: &mut Type) {}
    fn visit_generic_argument_mut(&mut self, _: &mut GenericArgument) {}
}
