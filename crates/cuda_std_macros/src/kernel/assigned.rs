//! Elements that the body of a safe kernel assigns to, and that it may only read: an input's, and those
//! of a shared array that a barrier has published. The compiler would refuse both, by rules that say
//! nothing of kernels.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Error, Expr, Local, Pat, PatIdent, Result};

use super::kind::Kind;
use super::parameter::Parameter;
use crate::tokens;

/// Refuses them, with the line to write. A name that the body binds in another way is left to the
/// compiler.
pub(super) fn check(parameters: &[Parameter<'_>], body: &syn::Block) -> Result<()> {
    let block = (parameters.iter())
        .find(|parameter| matches!(parameter.kind, Kind::Block { .. }))
        .map(|parameter| parameter.name.to_string());
    let mut names = Names {
        block,
        ..Names::default()
    };
    let mut body = body.clone();
    names.visit_block_mut(&mut body);
    let inputs = (parameters.iter()).filter_map(|parameter| match &parameter.kind {
        Kind::Slice {
            element,
            mutable: false,
        } => Some((parameter.name.to_string(), element)),
        _ => None,
    });
    let inputs: Vec<_> = inputs
        .filter(|(name, _)| !names.bound.contains(name))
        .collect();
    let first = names.assigned.iter().find_map(|assigned| {
        let name = assigned.name.to_string();
        let input = inputs.iter().find(|(input, _)| *input == name);
        let message = match input {
            Some((_, element)) => {
                input_message(&name, &tokens::of_type(element.to_token_stream()), assigned)
            }
            // Each of its bindings is one by a barrier.
            None if names.published.contains(&name) && !names.bound.contains(&name) => {
                published_message(&name, names.block.as_deref().unwrap_or("block"))
            }
            None => return None,
        };
        Some(Error::new_spanned(&assigned.name, message))
    });
    first.map_or(Ok(()), Err)
}

fn input_message(name: &str, element: &str, assigned: &Assigned) -> String {
    let (operator, value) = (assigned.operator, &assigned.value);
    format!(
        "`{name}` is an input, which no thread writes: take it as an output, `mut {name}: Out<{element}>`, each of whose elements one thread writes: `for (i, {name}) in {name}.mine() {{ *{name} {operator} {value}; }}`"
    )
}

fn published_message(name: &str, block: &str) -> String {
    format!(
        "`{name}` is published, and other threads may read it: elements are written before the barrier, by `.write({block}, |i| ..)`, or after another one, which makes the array writable again: `let {name} = {block}.sync_threads({name});`"
    )
}

/// An assignment to an element.
struct Assigned {
    /// Of the array.
    name: Ident,
    /// `=` or `+=`.
    operator: &'static str,
    value: String,
}

#[derive(Default)]
struct Names {
    block: Option<String>,
    /// Names that `let y = x.write(..)` binds.
    written: Vec<String>,
    /// Names that `let x = block.sync_threads(y)` binds, of such a `y`.
    published: Vec<String>,
    /// Names that anything else binds.
    bound: Vec<String>,
    assigned: Vec<Assigned>,
}

impl Names {
    fn assigns(&mut self, left: &Expr, operator: &'static str, right: &Expr) {
        if let Some(name) = array(left, false) {
            self.assigned.push(Assigned {
                name,
                operator,
                value: tokens::expression(right.to_token_stream()),
            });
        }
    }

    fn is_barrier(&self, value: &Expr) -> bool {
        let Expr::MethodCall(call) = value else {
            return false;
        };
        let is_of_block = word(&call.receiver).is_some_and(|of| Some(of.to_string()) == self.block);
        let array = call.args.first().and_then(word);
        let is_written = array.is_some_and(|array| self.written.contains(&array.to_string()));
        is_of_block && call.method == "sync_threads" && call.args.len() == 1 && is_written
    }
}

impl VisitMut for Names {
    fn visit_local_mut(&mut self, local: &mut Local) {
        match (&local.pat, &local.init) {
            (Pat::Ident(name), Some(init)) if self.is_barrier(&init.expr) => {
                self.published.push(name.ident.to_string());
            }
            (Pat::Ident(name), Some(init)) => {
                if matches!(&*init.expr, Expr::MethodCall(call) if call.method == "write") {
                    self.written.push(name.ident.to_string());
                }
                visit_mut::visit_local_mut(self, local);
            }
            _ => visit_mut::visit_local_mut(self, local),
        }
    }

    fn visit_pat_ident_mut(&mut self, pattern: &mut PatIdent) {
        self.bound.push(pattern.ident.to_string());
        visit_mut::visit_pat_ident_mut(self, pattern);
    }

    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        match expression {
            Expr::Assign(assign) => self.assigns(&assign.left, "=", &assign.right),
            Expr::Binary(binary) => {
                if let Some(operator) = compound(&binary.op) {
                    self.assigns(&binary.left, operator, &binary.right);
                }
            }
            _ => {}
        }
        visit_mut::visit_expr_mut(self, expression);
    }

    /// A macro may bind the names that it is given.
    fn visit_macro_mut(&mut self, of: &mut syn::Macro) {
        self.bound.extend(tokens::words(of.tokens.clone()));
    }

    /// Another function's names are its own.
    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}

/// The array of `x[i]`, `x[i].field`, `x[i][j]`.
fn array(place: &Expr, is_indexed: bool) -> Option<Ident> {
    match place {
        Expr::Index(index) => array(&index.expr, true),
        Expr::Field(field) => array(&field.base, is_indexed),
        Expr::Paren(inner) => array(&inner.expr, is_indexed),
        _ if is_indexed => word(place).cloned(),
        _ => None,
    }
}

pub(super) fn word(expression: &Expr) -> Option<&Ident> {
    match expression {
        Expr::Path(path) => path.path.get_ident(),
        _ => None,
    }
}

pub(super) fn compound(operator: &BinOp) -> Option<&'static str> {
    Some(match operator {
        BinOp::AddAssign(_) => "+=",
        BinOp::SubAssign(_) => "-=",
        BinOp::MulAssign(_) => "*=",
        BinOp::DivAssign(_) => "/=",
        BinOp::RemAssign(_) => "%=",
        BinOp::BitAndAssign(_) => "&=",
        BinOp::BitOrAssign(_) => "|=",
        BinOp::BitXorAssign(_) => "^=",
        BinOp::ShlAssign(_) => "<<=",
        BinOp::ShrAssign(_) => ">>=",
        _ => return None,
    })
}
