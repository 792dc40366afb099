//! Lines that people who know CUDA C++ write in a safe kernel, for which the compiler's own error
//! would be about types: a tile for an index, `(x, y)` of a number, an index into the pointer of
//! `shared_array!`, and parameters whose sizes are missing or not constants.

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{Error, Expr, ExprForLoop, Local, Pat, PatIdent, Result, Type};

use super::assigned::word;
use super::kind::{self, Kind};
use super::parameter::Parameter;
use crate::tokens;

/// Refuses such lines; the error has the line to write instead. A name that the body binds twice is
/// left to the compiler.
pub(super) fn check(parameters: &[Parameter<'_>], body: &syn::Block) -> Result<()> {
    for parameter in parameters {
        if let Some(message) = unsized_parameter(parameter, parameters) {
            return Err(Error::new_spanned(parameter.ty, message));
        }
    }
    let mut habits = Habits::default();
    habits.visit_block_mut(&mut body.clone());
    let is_block = |name: &Ident| {
        (parameters.iter())
            .any(|other| other.name == *name && matches!(other.kind, Kind::Block { .. }))
    };
    let found = habits.found.iter().find_map(|found| match found {
        Found::Index { array, at, whole } => {
            let bound = habits.bound.iter().filter(|name| *name == at).count();
            let is_tile = habits.tiles.contains(at) && bound == 1;
            is_tile.then(|| Error::new_spanned(whole, tile_message(array, at)))
        }
        Found::Element { array, at, whole } => {
            let bound = habits.bound.iter().filter(|name| *name == array).count();
            let is_pointer = habits.pointers.contains(array) && bound == 1;
            is_pointer.then(|| Error::new_spanned(whole, pointer_message(array, at)))
        }
        Found::Pair { block, whole } if is_block(block) => {
            Some(Error::new_spanned(whole, pair_message(block)))
        }
        Found::Pair { .. } => None,
        Found::Rows { array, whole } => {
            rows_message(array, parameters).map(|message| Error::new_spanned(whole, message))
        }
    });
    found.map_or(Ok(()), Err)
}

fn tile_message(array: &str, tile: &Ident) -> String {
    format!(
        "`{tile}` is a tile, the indices of the whole block: an output stores it, `y.store(block, {tile}, |i| {array}[i]);`, which calls the closure with each index of this thread; the tile's first index is `{tile}.start()`"
    )
}

fn pointer_message(array: &Ident, at: &str) -> String {
    format!(
        "`shared_array!` is a pointer: `unsafe {{ *{array}.add({at}) }}`; without `unsafe`, a parameter `{array}: Shared<[f32; 256]>`, which `let written = {array}.write(block, |i| x[i]);` writes and `let {array} = block.sync_threads(written);` publishes"
    )
}

fn pair_message(block: &Ident) -> String {
    format!(
        "this is one number: in two dimensions `let (x, y) = {block}.thread_xy();`, `let (x, y, z) = {block}.index_xyz();`"
    )
}

/// The message for a parameter whose type lacks its size, or has a parameter for one.
fn unsized_parameter(of: &Parameter<'_>, parameters: &[Parameter<'_>]) -> Option<String> {
    let name = &of.name;
    let (kind, arguments) = kind::named(of.ty)?;
    let words: Vec<_> = (arguments.iter())
        .map(|argument| tokens::of_type(argument.to_token_stream()))
        .collect();
    if kind == "OutMatrix" && words.len() == 1 {
        let element = &words[0];
        return Some(format!(
            "a block stores an `OutMatrix` in tiles, whose rows and columns are in its type: `mut {name}: OutMatrix<{element}, 16, 16>`"
        ));
    }
    let array = array_of(of)?;
    let element = tokens::of_type(array.elem.to_token_stream());
    let length = word(&array.len)?;
    let is_parameter = parameters.iter().any(|other| other.name == *length);
    is_parameter.then(|| {
        format!(
            "the length of a type is a constant, and `{length}` is a parameter: write `{name}: Shared<[{element}]>` and `#[kernel(shared({name} = {length} as usize))]`, or `const N: usize = 256;` and `Shared<[{element}; N]>`"
        )
    })
}

/// The array in a type of shared memory, such as `[T; N]` of `Shared<[T; N]>`.
fn array_of<'a>(of: &Parameter<'a>) -> Option<&'a syn::TypeArray> {
    match &of.kind {
        Kind::Static {
            first: Type::Array(array),
            ..
        } => Some(array),
        _ => None,
    }
}

/// The message for `tile.write(block, |row, col| ..)`.
fn rows_message(name: &Ident, parameters: &[Parameter<'_>]) -> Option<String> {
    let of = parameters.iter().find(|other| other.name == *name)?;
    let rows = array_of(of)?;
    let Type::Array(cols) = &*rows.elem else {
        return None;
    };
    let [element, r, c] = [
        cols.elem.to_token_stream(),
        rows.len.to_token_stream(),
        cols.len.to_token_stream(),
    ]
    .map(tokens::of_type);
    Some(format!(
        "each element of `{name}` is a whole row: a parameter `{name}: Shared<Tile<{element}, {r}, {c}>>` is written by elements, `{name}.write(block, |(row, col)| ..)`, and read as `{name}[row][col]`"
    ))
}

/// A line that may be one of the habits: whether it is, the names' bindings decide.
enum Found {
    /// `tile.write(block, |row, col| ..)`.
    Rows { array: Ident, whole: TokenStream },
    /// `x[tile]`.
    Index {
        array: String,
        at: Ident,
        whole: TokenStream,
    },
    /// `tile[t]`.
    Element {
        array: Ident,
        at: String,
        whole: TokenStream,
    },
    /// `let (x, y) = block.thread();` or `block.index()`.
    Pair { block: Ident, whole: TokenStream },
}

#[derive(Default)]
struct Habits {
    /// Names that `for tile in block.tiles(n)` binds.
    tiles: Vec<Ident>,
    /// Names that `let tile = shared_array![..];` binds.
    pointers: Vec<Ident>,
    /// Names that any pattern or macro binds.
    bound: Vec<Ident>,
    found: Vec<Found>,
}

fn pattern(pattern: &Pat) -> Option<&Ident> {
    match pattern {
        Pat::Ident(name) => Some(&name.ident),
        Pat::Type(typed) => self::pattern(&typed.pat),
        _ => None,
    }
}

impl VisitMut for Habits {
    fn visit_expr_for_loop_mut(&mut self, of: &mut ExprForLoop) {
        let is_tiles = matches!(&*of.expr, Expr::MethodCall(call) if call.method == "tiles" || call.method == "tiles_of");
        if let (Some(name), true) = (pattern(&of.pat), is_tiles) {
            self.tiles.push(name.clone());
        }
        visit_mut::visit_expr_for_loop_mut(self, of);
    }

    fn visit_local_mut(&mut self, local: &mut Local) {
        let value = local.init.as_ref().map(|init| &*init.expr);
        match (value, &local.pat) {
            (Some(Expr::Macro(of)), pat) if of.mac.path.is_ident("shared_array") => {
                self.pointers.extend(pattern(pat).cloned());
            }
            (Some(Expr::MethodCall(call)), Pat::Tuple(_))
                if call.method == "thread" || call.method == "index" =>
            {
                if let Some(block) = word(&call.receiver) {
                    self.found.push(Found::Pair {
                        block: block.clone(),
                        whole: call.to_token_stream(),
                    });
                }
            }
            _ => {}
        }
        visit_mut::visit_local_mut(self, local);
    }

    fn visit_expr_index_mut(&mut self, index: &mut syn::ExprIndex) {
        if let Some(at) = word(&index.index) {
            self.found.push(Found::Index {
                array: tokens::expression(index.expr.to_token_stream()),
                at: at.clone(),
                whole: at.to_token_stream(),
            });
        }
        if let Some(array) = word(&index.expr) {
            self.found.push(Found::Element {
                array: array.clone(),
                at: tokens::expression(index.index.to_token_stream()),
                whole: array.to_token_stream(),
            });
        }
        visit_mut::visit_expr_index_mut(self, index);
    }

    fn visit_expr_method_call_mut(&mut self, call: &mut syn::ExprMethodCall) {
        if let (Some(array), "write", Some(Expr::Closure(value))) = (
            word(&call.receiver),
            &*call.method.to_string(),
            call.args.last(),
        ) && value.inputs.len() == 2
        {
            self.found.push(Found::Rows {
                array: array.clone(),
                whole: value.inputs.to_token_stream(),
            });
        }
        visit_mut::visit_expr_method_call_mut(self, call);
    }

    fn visit_pat_ident_mut(&mut self, pattern: &mut PatIdent) {
        self.bound.push(pattern.ident.clone());
        visit_mut::visit_pat_ident_mut(self, pattern);
    }

    /// Another function's names are its own.
    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}
