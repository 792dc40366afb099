//! What the launch has checked, as facts for the compiler of the device.
//!
//! A rule that says that two lengths are equal spares the kernel the second one's bounds checks. A
//! fact that does not hold is undefined behaviour, so only what means the same on the host and on
//! the device becomes one: comparisons of lengths, extents, numbers and literals, rebuilt from the
//! entry point's own parameters. A call, a constant or a type of the user's could have another
//! value there (`#[cfg]`, a shadowed name); such a rule is checked and not assumed.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::{BinOp, Expr, ExprBinary, ExprLit, ExprMethodCall, Ident, Lit, LitInt, UnOp};

use super::Kernel;
use super::kind::Kind;
use super::options::Size;
use super::parameter::Part;
use crate::tokens;

impl Kernel<'_> {
    /// A statement for each rule of a safe kernel that can be one. The parameters have been
    /// assembled.
    pub(super) fn assumptions(&self) -> Vec<TokenStream> {
        if !self.is_safe() {
            return Vec::new();
        }
        let rules = (self.options.require.iter())
            .filter_map(|rule| self.fact(&rule.condition))
            .map(|fact| quote! { unsafe { ::core::hint::assert_unchecked(#fact) }; });
        let lengths = self.options.shared.iter().filter_map(|size| {
            let Size { name, length, .. } = size;
            let mut arrays = self.parameters.iter();
            let array = arrays.find(|parameter| parameter.name == *name)?;
            // Computed again rather than compared: `block.threads()` is a register of 32 bits, the
            // length a parameter of 64.
            let (of_array, length) = (array.part(Part::Length), self.sum(length)?);
            Some(quote! { let #of_array = unsafe { #length }; })
        });
        rules.chain(lengths).collect()
    }

    /// The condition, or the part of it that can be assumed.
    fn fact(&self, condition: &Expr) -> Option<TokenStream> {
        match ungrouped(condition) {
            Expr::Binary(ExprBinary {
                left,
                op: BinOp::And(_),
                right,
                ..
            }) => match (self.fact(left), self.fact(right)) {
                (Some(left), Some(right)) => Some(quote! { (#left) & (#right) }),
                (one, other) => one.or(other),
            },
            Expr::Binary(ExprBinary {
                left, op, right, ..
            }) if is_comparison(op) => {
                let (left, right) = (self.number(left)?, self.number(right)?);
                Some(quote! { #left #op #right })
            }
            Expr::Unary(not) if matches!(not.op, UnOp::Not(_)) => {
                let Expr::MethodCall(call) = ungrouped(&not.expr) else {
                    return None;
                };
                let length = (call.method == "is_empty").then(|| self.extent(call, Part::Length));
                length.flatten().map(|length| quote! { #length != 0 })
            }
            // `a.checked_add(b).is_some()`
            Expr::MethodCall(is_some) if is_some.method == "is_some" => {
                let Expr::MethodCall(call) = ungrouped(&is_some.receiver) else {
                    return None;
                };
                let [argument] = Vec::from_iter(&call.args)[..] else {
                    return None;
                };
                let function = ["checked_add", "checked_mul", "checked_sub"]
                    .into_iter()
                    .find(|function| call.method == function)?;
                let function = Ident::new(function, call.method.span());
                let (left, right) = (self.number(&call.receiver)?, self.number(argument)?);
                Some(quote! {
                    ::core::primitive::usize::#function(#left, #right).is_some()
                })
            }
            _ => None,
        }
    }

    /// A number, of arithmetic that cannot wrap: another one wraps elsewhere on a host of 32 bits.
    fn number(&self, expression: &Expr) -> Option<TokenStream> {
        match ungrouped(expression) {
            Expr::Lit(_) => literal(expression).map(ToTokens::to_token_stream),
            Expr::Path(path) => {
                let mut parameters = self.parameters.iter();
                let found = parameters.find(|parameter| path.path.is_ident(&parameter.name))?;
                let is_usize = matches!(found.kind, Kind::Value)
                    && tokens::of_type(found.ty.to_token_stream()) == "usize";
                let (name, span) = (&found.name, found.type_span());
                // It does not compile where `usize` is a type of the user's.
                let number = quote_spanned! { span => ::core::primitive::usize };
                is_usize.then(|| quote! { ::core::convert::identity::<#number>(#name) })
            }
            Expr::Binary(binary) if matches!(binary.op, BinOp::Div(_) | BinOp::Rem(_)) => {
                let (left, op) = (self.number(&binary.left)?, &binary.op);
                let by = literal(&binary.right).filter(|by| !is_zero(by))?;
                Some(quote! { (#left #op #by) })
            }
            Expr::MethodCall(call) => {
                if call.method == "threads" {
                    return self.threads(call);
                }
                let (_, part) = [
                    ("len", Part::Length),
                    ("rows", Part::Rows),
                    ("cols", Part::Cols),
                ]
                .into_iter()
                .find(|(method, _)| call.method == method)?;
                self.extent(call, part)
            }
            _ => None,
        }
    }

    /// A number, or sums, differences and products of numbers. The host computed it with checks, so
    /// no operation overflows.
    fn sum(&self, expression: &Expr) -> Option<TokenStream> {
        let Expr::Binary(binary) = ungrouped(expression) else {
            return self.number(expression);
        };
        let function = match binary.op {
            BinOp::Add(_) => quote! { unchecked_add },
            BinOp::Sub(_) => quote! { unchecked_sub },
            BinOp::Mul(_) => quote! { unchecked_mul },
            _ => return None,
        };
        let (left, right) = (self.sum(&binary.left)?, self.sum(&binary.right)?);
        Some(quote! { ::core::primitive::usize::#function(#left, #right) })
    }

    /// `x.len()` of a parameter that the entry point takes in parts.
    fn extent(&self, call: &ExprMethodCall, part: Part) -> Option<TokenStream> {
        let Expr::Path(path) = ungrouped(&call.receiver) else {
            return None;
        };
        let mut parameters = self.parameters.iter();
        let found = parameters.find(|parameter| path.path.is_ident(&parameter.name))?;
        let is_memory = matches!(found.kind, Kind::Slice { .. } | Kind::View { .. });
        let same = |&own: &Part| core::mem::discriminant(&own) == core::mem::discriminant(&part);
        let has_part = found.kind.parts()?.iter().any(same);
        (call.args.is_empty() && is_memory && has_part).then(|| found.part(part).to_token_stream())
    }

    /// `block.threads()`, which a parameter of that name does not hide.
    fn threads(&self, call: &ExprMethodCall) -> Option<TokenStream> {
        let Expr::Path(path) = ungrouped(&call.receiver) else {
            return None;
        };
        let is_block = |kind: &Kind<'_>| matches!(kind, Kind::Block { .. });
        let block = (self.parameters.iter()).find(|parameter| is_block(&parameter.kind))?;
        let hides = |name| move |other: &super::Parameter<'_>| other.name == name;
        let is_shape = path.path.is_ident("block") && !self.parameters.iter().any(hides("block"));
        let (name, cuda_std) = (&block.name, &self.cuda_std);
        (call.args.is_empty() && (is_shape || path.path.is_ident(name)))
            .then(|| quote! { #cuda_std::block::Block::threads(&*#name) })
    }
}

/// A `usize`, as written.
fn literal(expression: &Expr) -> Option<&LitInt> {
    match ungrouped(expression) {
        Expr::Lit(ExprLit {
            lit: Lit::Int(number),
            ..
        }) if ["", "usize"].contains(&number.suffix()) => Some(number),
        _ => None,
    }
}

fn is_zero(number: &LitInt) -> bool {
    number.base10_parse::<u128>().unwrap_or(0) == 0
}

fn is_comparison(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_)
    )
}

/// Without the parentheses, and the groups that `macro_rules!` makes.
fn ungrouped(expression: &Expr) -> &Expr {
    match expression {
        Expr::Paren(inner) => ungrouped(&inner.expr),
        Expr::Group(inner) => ungrouped(&inner.expr),
        _ => expression,
    }
}

#[cfg(test)]
mod tests {
    use proc_macro2::TokenStream;

    /// What the entry point of a kernel with this rule assumes, and the lengths that it computes.
    fn assumed(arguments: &str, parameters: &str) -> String {
        let tokens = |text: &str| -> TokenStream { text.parse().unwrap() };
        let kernel = tokens(&format!("fn k({parameters}) {{}}"));
        let arguments = tokens(&format!("crate = cuda_std, {arguments}"));
        let expanded = crate::kernel::expand(arguments, kernel).unwrap();
        let text = expanded.to_string().replace(' ', "");
        let facts = text.split("assert_unchecked(").skip(1);
        let facts: Vec<_> = facts
            .map(|rest| rest.split(")};").next().unwrap().to_owned())
            .collect();
        facts.join("; ")
    }

    const SLICES: &str =
        "block: &mut Block, a: &[f32], b: Matrix<f32>, c: Out<f32>, n: usize, m: u32";

    #[test]
    fn lengths_and_numbers_are_assumed() {
        let rule = |rule: &str| assumed(&format!("require({rule})"), SLICES);
        assert_eq!(rule("a.len() == c.len()"), "a_length==c_length");
        assert_eq!(rule("b.rows() <= b.cols()"), "b_rows<=b_cols");
        assert_eq!(rule("!a.is_empty()"), "a_length!=0");
        assert_eq!(rule("a.len() % 256 == 0"), "(a_length%256)==0");
        assert_eq!(
            rule("block.threads() % 32 == 0"),
            "(cuda_std::block::Block::threads(&*block)%32)==0"
        );
        assert_eq!(
            rule("n.checked_add(c.len()).is_some()"),
            "::core::primitive::usize::checked_add(::core::convert::identity::<::core::primitive::usize>(n),c_length).is_some()"
        );
        assert_eq!(
            rule("a.len() > 3 && m > 4"),
            "a_length>3",
            "the part that can be"
        );
    }

    #[test]
    fn what_could_differ_on_the_device_is_not() {
        for rule in [
            "a.len() == SIZE",
            "a.len() == size()",
            "a.len() == size!()",
            "a.len() == { 3 }",
            "a.len() == 3u64 as usize",
            "m == 4",
            "m.len() == 4",
            "b.len() == 4",
            "a.len() + 1 == c.len()",
            "a.len() % n == 0",
            "a.len() % 0 == 0",
            "a.get().len() == 3",
            "a.len() == 3 || c.len() == 3",
            "!(a.len() == 3)",
            "grid.x == 1",
            "a.is_aligned_to(16)",
        ] {
            assert_eq!(assumed(&format!("require({rule})"), SLICES), "", "{rule}");
        }
    }

    #[test]
    fn an_unsafe_kernel_assumes_nothing() {
        let tokens = |text: &str| -> TokenStream { text.parse().unwrap() };
        let expanded = crate::kernel::expand(
            tokens("crate = cuda_std, require(a.len() == b.len())"),
            tokens("unsafe fn k(a: &[f32], b: &[f32]) {}"),
        );
        assert!(!expanded.unwrap().to_string().contains("assert_unchecked"));
    }

    #[test]
    fn the_length_of_a_shared_array_is_computed_where_it_can_be() {
        let text = |length: &str| {
            let arguments = format!("crate = cuda_std, shared(tile = {length})");
            let kernel = "fn k(block: &mut Block, tile: Shared<[f32]>, a: &[f32], n: usize) {}";
            let expanded =
                crate::kernel::expand(arguments.parse().unwrap(), kernel.parse().unwrap());
            expanded.unwrap().to_string().replace(' ', "")
        };
        let threads = "cuda_std::block::Block::threads(&*block)";
        assert!(text("block.threads()").contains(&format!("lettile_length=unsafe{{{threads}}};")));
        let sum = format!(
            "lettile_length=unsafe{{::core::primitive::usize::unchecked_sub(::core::primitive::usize::unchecked_add({threads},a_length),1)}};"
        );
        assert!(text("block.threads() + a.len() - 1").contains(&sum));
        assert!(!text("block.threads() + SIZE").contains("lettile_length"));
    }
}
