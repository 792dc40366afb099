//! `threadIdx.x` and its like in a kernel. The prelude has these names, each with an error that shows
//! what to write. They have no fields, which would be an error of its own, before that one.

use proc_macro2::TokenStream;
use syn::spanned::Spanned as _;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, ItemFn, Member, PatIdent, parse_quote, parse_quote_spanned};

use super::assigned::{compound, word};
use crate::tokens;

const NAMES: [&str; 4] = ["threadIdx", "blockIdx", "blockDim", "gridDim"];

/// Gives the prelude's names fields. An item of the user's of that name stays what it is: which one it
/// is, `Named` of cuda_std knows by its type. Names that the body binds, writes or gives to a macro
/// are left alone.
pub(super) fn with_fields(function: &mut ItemFn, root: &TokenStream) {
    let mut names = Names {
        items: NAMES.to_vec(),
        found: Vec::new(),
        replaces: false,
    };
    // All bindings must be known before anything changes.
    names.visit_item_fn_mut(&mut function.clone());
    if names.items.iter().any(|item| names.found.contains(item)) {
        names.replaces = true;
        names.visit_block_mut(&mut function.block);
        let import = parse_quote! { use #root::__private::{Named as __Named, OfTheUser as _}; };
        function.block.stmts.insert(0, import);
    }
}

struct Names {
    /// Those that can only be items.
    items: Vec<&'static str>,
    found: Vec<&'static str>,
    replaces: bool,
}

impl Names {
    fn leave(&mut self, name: &str) {
        self.items.retain(|item| *item != name);
    }

    /// The name in `threadIdx.x`.
    fn name(&self, expression: &Expr) -> Option<&'static str> {
        let Expr::Field(field) = expression else {
            return None;
        };
        let is_axis = matches!(&field.member, Member::Named(axis) if ["x", "y", "z"].iter().any(|known| axis == known));
        let name = word(&field.base).filter(|_| is_axis)?;
        self.items.iter().find(|item| name == *item).copied()
    }
}

impl VisitMut for Names {
    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        let written = match expression {
            Expr::Assign(assign) => Some(&assign.left),
            Expr::Binary(binary) => compound(&binary.op).map(|_| &binary.left),
            Expr::Reference(reference) => reference.mutability.map(|_| &reference.expr),
            Expr::RawAddr(address) => Some(&address.expr),
            _ => None,
        };
        if let Some(name) = written.and_then(|place| self.name(place)) {
            self.leave(name);
        }
        let name = self.name(expression);
        self.found.extend(name);
        match expression {
            Expr::Field(field) if name.is_some() && self.replaces => {
                // Wholly at the name's place: there the compiler reports an error once.
                let name = &field.base;
                *field.base = parse_quote_spanned! { name.span()=> __Named(&#name).value() };
            }
            _ => visit_mut::visit_expr_mut(self, expression),
        }
    }

    fn visit_pat_ident_mut(&mut self, pattern: &mut PatIdent) {
        self.leave(&pattern.ident.to_string());
        visit_mut::visit_pat_ident_mut(self, pattern);
    }

    fn visit_macro_mut(&mut self, of: &mut syn::Macro) {
        for word in tokens::words(of.tokens.clone()) {
            self.leave(&word);
        }
    }

    /// Another function's names are its own.
    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}

#[cfg(test)]
mod tests {
    use quote::{ToTokens, quote};
    use syn::parse_quote;

    use super::with_fields;

    #[track_caller]
    fn check(mut function: syn::ItemFn, expected: syn::ItemFn) {
        with_fields(&mut function, &quote! { of });
        let text = |function: syn::ItemFn| function.into_token_stream().to_string();
        assert_eq!(text(function), text(expected));
    }

    #[test]
    fn what_may_be_the_preludes_is_asked() {
        check(
            parse_quote! { fn k() { let i = blockIdx.x * a.x + f(|| threadIdx.y); } },
            parse_quote! { fn k() {
                use of::__private::{Named as __Named, OfTheUser as _};
                let i = __Named(&blockIdx).value().x * a.x + f(|| __Named(&threadIdx).value().y);
            } },
        );
    }

    #[test]
    fn what_cannot_be_the_preludes_is_left_alone() {
        let bodies: [syn::Block; 8] = [
            parse_quote! { { blockIdx.w + blockIdx.x() + blockIdx } },
            parse_quote! { { threadIdx.x = 1; let y = threadIdx.x; } },
            parse_quote! { { threadIdx.x += 1; let y = threadIdx.x; } },
            parse_quote! { { change(&mut threadIdx.x, threadIdx.x); } },
            parse_quote! { { change(&raw mut threadIdx.x, threadIdx.x); } },
            parse_quote! { { let y = threadIdx.x; let threadIdx = 1; } },
            parse_quote! { { with!(threadIdx, threadIdx.x); threadIdx.x } },
            parse_quote! { { fn inner(x: u32) { threadIdx.x } a::threadIdx.x } },
        ];
        for body in bodies {
            check(parse_quote! { fn k() #body }, parse_quote! { fn k() #body });
        }
        let parameter: syn::ItemFn = parse_quote! { fn k(gridDim: A) { gridDim.x } };
        check(parameter.clone(), parameter);
    }
}
