//! Reads a rule or a length as a [`Tree`]. A word of a rule names a parameter by its text, whatever
//! macro it comes from.

use proc_macro2::{Ident, Span};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{BinOp, Expr, ExprLit, ExprMethodCall, ExprPath, Lit, Member, UnOp};

use super::kind::Kind;
use super::parameter::{Parameter, Part};
use super::rule::{Dimensions, Operator, Tree, WORDS};
use crate::tokens;

/// What the words of a rule may stand for.
pub(super) struct Reader<'a> {
    pub(super) parameters: &'a [Parameter<'a>],
}

impl Reader<'_> {
    /// A condition. Only an operand of the outermost `&&` may be evaluated by the host alone:
    /// without it the device still has a valid, weaker rule.
    pub(super) fn rule(&self, expression: &Expr) -> Tree {
        if let Expr::Binary(binary) = ungrouped(expression)
            && matches!(binary.op, BinOp::And(_))
        {
            return Tree::And([&binary.left, &binary.right].map(|side| Box::new(self.rule(side))));
        }
        self.condition(expression)
            .unwrap_or_else(|| host(expression))
    }

    /// A shared array's length.
    pub(super) fn length(&self, expression: &Expr) -> Tree {
        self.number(expression).unwrap_or_else(|| host(expression))
    }

    fn condition(&self, expression: &Expr) -> Option<Tree> {
        match ungrouped(expression) {
            Expr::Binary(binary) => {
                let (left, right) = (&*binary.left, &*binary.right);
                match &binary.op {
                    BinOp::And(_) => Some(Tree::And(self.both(left, right, Self::condition)?)),
                    BinOp::Or(_) => Some(Tree::Or(self.both(left, right, Self::condition)?)),
                    op if is_comparison(op) => self.comparison(op, left, right),
                    _ => None,
                }
            }
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => {
                Some(Tree::Not(Box::new(self.condition(&unary.expr)?)))
            }
            Expr::MethodCall(call) => self.test(call),
            expression @ (Expr::Path(_) | Expr::Lit(_) | Expr::Field(_)) => {
                let is_true = Tree::Literal(quote! { true }, "true".to_owned());
                let equal = syn::parse_quote!(==);
                let value = self.number(expression)?;
                Some(Tree::Compare(equal, [value, is_true].map(Box::new)))
            }
            _ => None,
        }
    }

    fn both(
        &self,
        left: &Expr,
        right: &Expr,
        read: impl Fn(&Self, &Expr) -> Option<Tree>,
    ) -> Option<[Box<Tree>; 2]> {
        Some([Box::new(read(self, left)?), Box::new(read(self, right)?)])
    }

    fn comparison(&self, op: &BinOp, left: &Expr, right: &Expr) -> Option<Tree> {
        let compare = |left, right| Tree::Compare(*op, [left, right].map(Box::new));
        let is_equal = matches!(op, BinOp::Eq(_));
        if let (true, Some(pairs)) = (is_equal, pairs(left, right)) {
            let pairs = pairs.into_iter().map(|(left, right)| {
                let [left, right] = self.both(&left, &right, Self::number)?;
                Some(compare(*left, *right))
            });
            return all(pairs.collect::<Option<Vec<_>>>()?);
        }
        if let (true, Some(of)) = (is_equal, self.dimensions(left)) {
            let axes = match ungrouped(right) {
                Expr::Tuple(tuple) => tuple.elems.iter().cloned().collect(),
                one => vec![one.clone()],
            };
            if axes.len() > 3 {
                return None;
            }
            let one = || Some(Tree::Literal(quote! { 1 }, "1".to_owned()));
            let axes = ["x", "y", "z"].iter().enumerate().map(|(index, axis)| {
                let own = Tree::Axis(of, Ident::new(axis, Span::mixed_site()));
                let given = axes.get(index).map_or_else(one, |axis| self.number(axis))?;
                Some(compare(own, given))
            });
            return all(axes.collect::<Option<Vec<_>>>()?);
        }
        if let Some([left, right]) = self.both(left, right, Self::number) {
            return Some(compare(*left, *right));
        }
        let is_equality = matches!(op, BinOp::Eq(_) | BinOp::Ne(_));
        let [left, right] = self.both(left, right, Self::option)?;
        is_equality.then(|| compare(*left, *right))
    }

    /// `x.is_empty()` and the like.
    fn test(&self, call: &ExprMethodCall) -> Option<Tree> {
        let arguments = Vec::from_iter(&call.args);
        let memory = || self.parameter(&call.receiver);
        match (&*call.method.to_string(), &arguments[..]) {
            ("is_empty", []) => {
                let index = memory().filter(|&index| self.has(index, Part::Length))?;
                Some(Tree::Empty(index))
            }
            ("is_aligned_to", [bytes]) => {
                let index = memory().filter(|&index| self.has(index, Part::Pointer))?;
                Some(Tree::Aligned(index, Box::new(self.number(bytes)?)))
            }
            ("is_multiple_of", [of]) => {
                let both = self.both(&call.receiver, of, Self::number)?;
                Some(Tree::Multiple(both, call.method.span()))
            }
            ("is_some", []) => Some(Tree::IsSome(Box::new(self.option(&call.receiver)?))),
            ("is_none", []) => {
                let is_some = Tree::IsSome(Box::new(self.option(&call.receiver)?));
                Some(Tree::Not(Box::new(is_some)))
            }
            _ => None,
        }
    }

    fn number(&self, expression: &Expr) -> Option<Tree> {
        match ungrouped(expression) {
            Expr::Lit(_) => literal(expression),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
                let Tree::Literal(tokens, text) = literal(&unary.expr)? else {
                    return None;
                };
                Some(Tree::Literal(quote! { -#tokens }, format!("-{text}")))
            }
            Expr::Path(path) => self.word(path).or_else(|| constant(expression)),
            Expr::Field(field) => {
                if let (Some(of), Member::Named(axis)) =
                    (self.dimensions(&field.base), &field.member)
                {
                    return ["x", "y", "z"]
                        .iter()
                        .any(|name| axis == name)
                        .then(|| Tree::Axis(of, axis.clone()));
                }
                self.is_constant(&field.base)
                    .then(|| constant(expression))?
            }
            Expr::Index(index) => {
                let number = self.number(&index.index)?;
                let is_fixed = matches!(number, Tree::Literal(..) | Tree::Constant(..));
                (is_fixed && self.is_constant(&index.expr)).then(|| constant(expression))?
            }
            Expr::Const(_) => constant(expression),
            Expr::Cast(cast) => Some(Tree::Cast(
                (*cast.ty).clone(),
                Box::new(self.number(&cast.expr)?),
            )),
            Expr::Binary(binary) => {
                let operator = Operator::of(&binary.op)?;
                // The span of its first word: compiler messages suggest what to write after it.
                let span = binary.span();
                if matches!(operator, Operator::Shl | Operator::Shr) {
                    let by = literal(&binary.right)?;
                    let left = self.number(&binary.left)?;
                    return Some(Tree::Arithmetic(operator, [left, by].map(Box::new), span));
                }
                let both = self.both(&binary.left, &binary.right, Self::number)?;
                Some(Tree::Arithmetic(operator, both, span))
            }
            Expr::MethodCall(call) if call.args.is_empty() => self.extent(call),
            Expr::Call(call) if call.args.is_empty() => {
                let Expr::Path(function) = ungrouped(&call.func) else {
                    return None;
                };
                let last = function.path.segments.last()?;
                let is_size = last.ident == "size_of" || last.ident == "align_of";
                is_size.then(|| constant(expression))?
            }
            _ => None,
        }
    }

    /// A number that may not exist.
    fn option(&self, expression: &Expr) -> Option<Tree> {
        match ungrouped(expression) {
            Expr::MethodCall(call) => {
                let operator = [Operator::Add, Operator::Sub, Operator::Mul]
                    .into_iter()
                    .find(|operator| call.method == operator.function())?;
                let [by] = Vec::from_iter(&call.args)[..] else {
                    return None;
                };
                let both = self.both(&call.receiver, by, Self::number)?;
                Some(Tree::Checked(operator, both, call.method.span()))
            }
            Expr::Call(call) => {
                let Expr::Path(function) = ungrouped(&call.func) else {
                    return None;
                };
                let [value] = Vec::from_iter(&call.args)[..] else {
                    return None;
                };
                let is_some = function.path.is_ident("Some");
                is_some.then(|| Some(Tree::Some(Box::new(self.number(value)?))))?
            }
            _ => None,
        }
    }

    /// A parameter or a word of the shape.
    fn word(&self, path: &ExprPath) -> Option<Tree> {
        let expression = Expr::Path(path.clone());
        if let Some(index) = self.parameter(&expression) {
            // Any other parameter has extents only.
            let is_value = matches!(self.parameters[index].kind, Kind::Value);
            return is_value.then(|| Tree::Value(index, path.span()));
        }
        let word = single(&expression)?;
        (word == "shared_bytes").then_some(Tree::SharedBytes)
    }

    /// `x.len()`, `block.threads()`.
    fn extent(&self, call: &ExprMethodCall) -> Option<Tree> {
        let method = call.method.to_string();
        if let Some(of) = self.dimensions(&call.receiver) {
            return ["threads", "blocks"]
                .contains(&&*method)
                .then_some(Tree::Volume(of));
        }
        let part = match &*method {
            "len" => Part::Length,
            "rows" => Part::Rows,
            "cols" => Part::Cols,
            _ => return None,
        };
        let index = self.parameter(&call.receiver)?;
        self.has(index, part).then_some(Tree::Extent(index, part))
    }

    /// Whether the host knows this part of the parameter.
    fn has(&self, index: usize, part: Part) -> bool {
        match &self.parameters[index].kind {
            Kind::View { view, .. } if view.is_matrix() => !matches!(part, Part::Pointer),
            Kind::Slice { .. }
            | Kind::RawSlice { .. }
            | Kind::Text
            | Kind::Reference { .. }
            | Kind::Pointer { .. }
            | Kind::View { .. } => matches!(part, Part::Pointer | Part::Length),
            _ => false,
        }
    }

    /// `grid`, `block` and the kernel's own `&mut Block`.
    fn dimensions(&self, expression: &Expr) -> Option<Dimensions> {
        if let Some(index) = self.parameter(expression) {
            let is_block = matches!(self.parameters[index].kind, Kind::Block { .. });
            return is_block.then_some(Dimensions::Block);
        }
        match &*single(expression)?.to_string() {
            "grid" => Some(Dimensions::Grid),
            "block" => Some(Dimensions::Block),
            _ => None,
        }
    }

    fn parameter(&self, expression: &Expr) -> Option<usize> {
        let word = single(expression)?;
        let mut parameters = self.parameters.iter();
        parameters.position(|parameter| parameter.name.unraw() == word)
    }

    /// A path to one of the user's items, and its contents.
    fn is_constant(&self, expression: &Expr) -> bool {
        match ungrouped(expression) {
            Expr::Path(path) => {
                let is_word =
                    single(expression).is_some_and(|word| WORDS.iter().any(|w| word == w));
                !is_word && self.parameter(&Expr::Path(path.clone())).is_none()
            }
            Expr::Field(field) => self.is_constant(&field.base),
            Expr::Index(_) => matches!(self.number(expression), Some(Tree::Constant(..))),
            _ => false,
        }
    }
}

fn host(expression: &Expr) -> Tree {
    Tree::Host(expression.clone())
}

fn constant(expression: &Expr) -> Option<Tree> {
    let text = tokens::expression(expression.to_token_stream());
    Some(Tree::Constant(expression.clone(), text))
}

fn literal(expression: &Expr) -> Option<Tree> {
    let Expr::Lit(ExprLit { lit, .. }) = ungrouped(expression) else {
        return None;
    };
    let text = match lit {
        Lit::Int(number) => format!("{}{}", number.base10_digits(), number.suffix()),
        Lit::Float(number) => format!("{}{}", number.base10_digits(), number.suffix()),
        Lit::Bool(value) => value.value().to_string(),
        _ => return None,
    };
    Some(Tree::Literal(lit.to_token_stream(), text))
}

/// The pairs of elements in a comparison of two arrays: `[a, b] == [1; 2]`.
fn pairs(left: &Expr, right: &Expr) -> Option<Vec<(Expr, Expr)>> {
    let (left, right) = (elements(left)?, elements(right)?);
    let count = match (&left, &right) {
        (Elements::Each(left), Elements::Each(right)) if left.len() != right.len() => return None,
        (Elements::Each(each), _) | (_, Elements::Each(each)) => each.len(),
        _ => return None,
    };
    let all = |elements| match elements {
        Elements::Each(each) => Some(each),
        Elements::Repeated(value, times) => (times == count).then(|| vec![*value; count]),
    };
    let (left, right) = (all(left)?, all(right)?);
    Some(left.into_iter().zip(right).collect())
}

enum Elements {
    Each(Vec<Expr>),
    Repeated(Box<Expr>, usize),
}

fn elements(expression: &Expr) -> Option<Elements> {
    match ungrouped(expression) {
        Expr::Array(array) => Some(Elements::Each(array.elems.iter().cloned().collect())),
        Expr::Repeat(repeat) => {
            let Expr::Lit(ExprLit {
                lit: Lit::Int(times),
                ..
            }) = ungrouped(&repeat.len)
            else {
                return None;
            };
            let times = times.base10_parse().ok()?;
            Some(Elements::Repeated(repeat.expr.clone(), times))
        }
        _ => None,
    }
}

/// The conjunction of all; `None` if there are none.
fn all(trees: Vec<Tree>) -> Option<Tree> {
    let and = |left, right| Tree::And([left, right].map(Box::new));
    trees.into_iter().reduce(and)
}

/// The only word of a path, without `r#`.
fn single(expression: &Expr) -> Option<Ident> {
    match ungrouped(expression) {
        Expr::Path(ExprPath {
            qself: None, path, ..
        }) => path.get_ident().map(IdentExt::unraw),
        _ => None,
    }
}

fn is_comparison(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_)
    )
}

/// Without parentheses, and without the groups that `macro_rules!` adds.
fn ungrouped(expression: &Expr) -> &Expr {
    match expression {
        Expr::Paren(inner) => ungrouped(&inner.expr),
        Expr::Group(inner) => ungrouped(&inner.expr),
        _ => expression,
    }
}
