//! Rules and lengths as trees.
//!
//! The host's check, the device's assumption and the record in the PTX are generated from one tree,
//! so that they cannot differ. A word of a rule names a parameter by its text, whatever macro it
//! comes from. `cuda_std::launch::RECORD_SUFFIX` documents the grammar; only the host evaluates
//! what is outside it, as the user wrote it.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{BinOp, Expr, ExprLit, ExprMethodCall, ExprPath, Lit, Member, Type, UnOp};

use super::kind::Kind;
use super::parameter::{Parameter, Part};
use super::variable;
use crate::tokens;

/// The words that stand for the launch's shape.
pub(super) const WORDS: [&str; 3] = ["grid", "block", "shared_bytes"];

pub(super) enum Tree {
    /// As written, and its text in the record.
    Literal(TokenStream, String),
    /// What each side evaluates, and its text.
    Constant(Expr, String),
    /// A parameter that is passed by value, and where the rule names it.
    Value(usize, Span),
    /// The length, rows or columns of a parameter.
    Extent(usize, Part),
    /// `block.x`.
    Axis(Dimensions, Ident),
    /// `grid.blocks()`, `block.threads()`.
    Volume(Dimensions),
    SharedBytes,
    Cast(Type, Box<Tree>),
    /// A launch for which the result does not exist is refused.
    Arithmetic(Operator, [Box<Tree>; 2], Span),
    /// `a.checked_mul(b)`.
    Checked(Operator, [Box<Tree>; 2], Span),
    Some(Box<Tree>),
    Compare(BinOp, [Box<Tree>; 2]),
    And([Box<Tree>; 2]),
    Or([Box<Tree>; 2]),
    Not(Box<Tree>),
    /// `x.is_empty()`.
    Empty(usize),
    /// `x.is_aligned_to(16)`.
    Aligned(usize, Box<Tree>),
    /// `a.is_multiple_of(b)`.
    Multiple([Box<Tree>; 2], Span),
    IsSome(Box<Tree>),
    /// Outside the grammar.
    Host(Expr, String),
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Dimensions {
    Grid,
    Block,
}

impl Dimensions {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Grid => "grid",
            Self::Block => "block",
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Operator {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
}

impl Operator {
    fn of(op: &BinOp) -> Option<Self> {
        Some(match op {
            BinOp::Add(_) => Self::Add,
            BinOp::Sub(_) => Self::Sub,
            BinOp::Mul(_) => Self::Mul,
            BinOp::Div(_) => Self::Div,
            BinOp::Rem(_) => Self::Rem,
            BinOp::Shl(_) => Self::Shl,
            BinOp::Shr(_) => Self::Shr,
            _ => return None,
        })
    }

    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Rem => "%",
            Self::Shl => "<<",
            Self::Shr => ">>",
        }
    }

    pub(super) fn function(self) -> &'static str {
        match self {
            Self::Add => "checked_add",
            Self::Sub => "checked_sub",
            Self::Mul => "checked_mul",
            Self::Div => "checked_div",
            Self::Rem => "checked_rem",
            Self::Shl => "checked_shl",
            Self::Shr => "checked_shr",
        }
    }
}

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

impl Tree {
    /// The parameters that it depends on, without those of the host's own part.
    pub(super) fn parameters(&self) -> Vec<usize> {
        let of_all = |trees: &[Box<Tree>]| {
            let of_each = trees.iter().flat_map(|tree| tree.parameters());
            of_each.collect()
        };
        match self {
            Tree::Value(index, _) | Tree::Extent(index, _) | Tree::Empty(index) => vec![*index],
            Tree::Aligned(index, tree) => [vec![*index], tree.parameters()].concat(),
            Tree::Cast(_, tree) | Tree::Some(tree) | Tree::Not(tree) | Tree::IsSome(tree) => {
                tree.parameters()
            }
            Tree::Arithmetic(_, both, _)
            | Tree::Checked(_, both, _)
            | Tree::Compare(_, both)
            | Tree::And(both)
            | Tree::Or(both)
            | Tree::Multiple(both, _) => of_all(both),
            Tree::Literal(..)
            | Tree::Constant(..)
            | Tree::Axis(..)
            | Tree::Volume(_)
            | Tree::SharedBytes
            | Tree::Host(..) => Vec::new(),
        }
    }

    /// The parts that only the host evaluates.
    pub(super) fn hosts(&self) -> Vec<&Expr> {
        match self {
            Tree::Host(expression, _) => vec![expression],
            Tree::And(both) => both.iter().flat_map(|tree| tree.hosts()).collect(),
            _ => Vec::new(),
        }
    }
}

fn host(expression: &Expr) -> Tree {
    let text = tokens::expression(expression.to_token_stream());
    Tree::Host(expression.clone(), text)
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
pub(super) fn ungrouped(expression: &Expr) -> &Expr {
    match expression {
        Expr::Paren(inner) => ungrouped(&inner.expr),
        Expr::Group(inner) => ungrouped(&inner.expr),
        _ => expression,
    }
}

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
            Tree::Host(expression, _) => {
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
