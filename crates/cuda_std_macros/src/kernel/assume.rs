//! What the launch has checked, as facts for the device compiler.
//!
//! A rule that two lengths are equal saves the kernel the bounds checks of the second. A false fact
//! is undefined behaviour, so a rule becomes a fact only if it means the same on host and device:
//! comparisons of lengths, extents, numbers and literals, rebuilt from the entry point's own
//! parameters. A call, a constant or a type of the user's could have another value there (`#[cfg]`,
//! a shadowed name); such a rule is checked but not assumed.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Ident, LitInt};

use super::kind::Kind;
use super::parameter::Part;
use super::rule::{Dimensions, Operator, Tree};
use super::{Kernel, Length};
use crate::tokens;

impl Kernel<'_> {
    /// A statement for each rule of a safe kernel that can be assumed. The parameters have been
    /// assembled.
    pub(super) fn assumptions(&self) -> Vec<TokenStream> {
        if !self.is_safe() {
            return Vec::new();
        }
        let core = &self.core;
        let rules = (self.rules.iter())
            .filter_map(|rule| self.fact(rule))
            .map(|fact| quote! { unsafe { #core::hint::assert_unchecked(#fact) }; });
        let lengths = self
            .lengths
            .iter()
            .filter_map(|Length { array, length, .. }| {
                // Recomputed rather than compared: `block.threads()` is a 32-bit register, the
                // length a 64-bit parameter.
                let of_array = self.parameters[*array].part(Part::Length);
                let length = self.sum(length)?;
                Some(quote! { let #of_array = unsafe { #length }; })
            });
        rules.chain(lengths).collect()
    }

    /// The condition, or the part of it that can be assumed.
    fn fact(&self, condition: &Tree) -> Option<TokenStream> {
        let core = &self.core;
        match condition {
            Tree::And([left, right]) => match (self.fact(left), self.fact(right)) {
                (Some(left), Some(right)) => Some(quote! { (#left) & (#right) }),
                (one, other) => one.or(other),
            },
            Tree::Compare(op, [left, right]) => {
                let (left, right) = (self.number(left)?, self.number(right)?);
                Some(quote! { #left #op #right })
            }
            Tree::Not(tree) => {
                let Tree::Empty(index) = **tree else {
                    return None;
                };
                let length = self.extent(index, Part::Length)?;
                Some(quote! { #length != 0 })
            }
            // `a.checked_add(b).is_some()`
            Tree::IsSome(tree) => {
                let Tree::Checked(operator, [left, right], _) = &**tree else {
                    return None;
                };
                let function = Ident::new(operator.function(), Span::mixed_site());
                let (left, right) = (self.number(left)?, self.number(right)?);
                let checked = quote! { #core::primitive::usize::#function(#left, #right) };
                Some(quote! { #core::option::Option::is_some(&#checked) })
            }
            _ => None,
        }
    }

    /// A number, from arithmetic that cannot wrap: other arithmetic wraps differently on a 32-bit
    /// host.
    fn number(&self, tree: &Tree) -> Option<TokenStream> {
        let core = &self.core;
        match tree {
            Tree::Literal(tokens, _) => {
                literal(tokens)?;
                Some(tokens.clone())
            }
            Tree::Value(index, _) => {
                let found = &self.parameters[*index];
                let is_usize = tokens::of_type(found.ty.to_token_stream()) == "usize";
                let (name, span) = (&found.name, found.type_span());
                // Does not compile if `usize` is a type of the user's.
                let number = quote_spanned! { span => #core::primitive::usize };
                is_usize.then(|| quote! { #core::convert::identity::<#number>(#name) })
            }
            Tree::Arithmetic(operator @ (Operator::Div | Operator::Rem), [left, right], _) => {
                let Tree::Literal(by, _) = &**right else {
                    return None;
                };
                let is_zero = literal(by)?.base10_parse::<u128>().unwrap_or(0) == 0;
                let op: TokenStream = operator.sign().parse().ok()?;
                let left = self.number(left)?;
                (!is_zero).then(|| quote! { (#left #op #by) })
            }
            Tree::Volume(Dimensions::Block) => self.threads(),
            Tree::Extent(index, part) => self.extent(*index, *part),
            _ => None,
        }
    }

    /// A number, or sums, differences and products of numbers. The host computed them with checks,
    /// so no operation overflows.
    fn sum(&self, tree: &Tree) -> Option<TokenStream> {
        let Tree::Arithmetic(operator, [left, right], _) = tree else {
            return self.number(tree);
        };
        let function = match operator {
            Operator::Add => quote! { unchecked_add },
            Operator::Sub => quote! { unchecked_sub },
            Operator::Mul => quote! { unchecked_mul },
            _ => return None,
        };
        let (core, left, right) = (&self.core, self.sum(left)?, self.sum(right)?);
        Some(quote! { #core::primitive::usize::#function(#left, #right) })
    }

    /// `x.len()` of a parameter that the entry point receives in parts.
    fn extent(&self, index: usize, part: Part) -> Option<TokenStream> {
        let found = &self.parameters[index];
        let is_memory = matches!(found.kind, Kind::Slice { .. } | Kind::View { .. });
        let has_part = found.kind.parts()?.contains(&part);
        (is_memory && has_part).then(|| found.part(part).to_token_stream())
    }

    /// `block.threads()`.
    fn threads(&self) -> Option<TokenStream> {
        let is_block = |kind: &Kind<'_>| matches!(kind, Kind::Block { .. });
        let block = (self.parameters.iter()).find(|parameter| is_block(&parameter.kind))?;
        let (name, path) = (&block.name, self.path());
        Some(quote! { #path::block::Block::threads(&*#name) })
    }
}

/// A `usize`, as written.
fn literal(tokens: &TokenStream) -> Option<LitInt> {
    let number: LitInt = syn::parse2(tokens.clone()).ok()?;
    ["", "usize"].contains(&number.suffix()).then_some(number)
}

#[cfg(test)]
mod tests {
    use proc_macro2::TokenStream;

    /// What the entry point of a kernel with this rule assumes, and the lengths that it computes.
    fn assumed(arguments: &str, parameters: &str) -> String {
        let tokens = |text: &str| -> TokenStream { text.parse().unwrap() };
        let kernel = tokens(&format!("fn k({parameters}) {{}}"));
        let (root, arguments) = (Some(tokens("cuda_std")), tokens(arguments));
        let expanded = crate::kernel::expand(root, arguments, kernel).unwrap();
        let text = expanded.to_string().replace(' ', "");
        let text = text.replace("cuda_std::__private::core", "CORE");
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
        assert_eq!(rule("a.len() == c.len()"), "__a_length==__c_length");
        assert_eq!(rule("b.rows() <= b.cols()"), "__b_rows<=__b_cols");
        assert_eq!(rule("!a.is_empty()"), "__a_length!=0");
        assert_eq!(rule("a.len() % 256 == 0"), "(__a_length%256)==0");
        assert_eq!(
            rule("block.threads() % 32 == 0"),
            "(cuda_std::block::Block::threads(&*block)%32)==0"
        );
        assert_eq!(
            rule("n.checked_add(c.len()).is_some()"),
            "CORE::option::Option::is_some(&CORE::primitive::usize::checked_add(CORE::convert::identity::<CORE::primitive::usize>(n),__c_length))"
        );
        assert_eq!(
            rule("a.len() > 3 && m > 4"),
            "__a_length>3",
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
            Some(tokens("cuda_std")),
            tokens("require(a.len() == b.len())"),
            tokens("unsafe fn k(a: &[f32], b: &[f32]) {}"),
        );
        assert!(!expanded.unwrap().to_string().contains("assert_unchecked"));
    }

    #[test]
    fn the_length_of_a_shared_array_is_computed_where_it_can_be() {
        let text = |length: &str| {
            let arguments = format!("shared(tile = {length})");
            let root = Some("cuda_std".parse().unwrap());
            let kernel = "fn k(block: &mut Block, tile: Shared<[f32]>, a: &[f32], n: usize) {}";
            let expanded =
                crate::kernel::expand(root, arguments.parse().unwrap(), kernel.parse().unwrap());
            let text = expanded.unwrap().to_string().replace(' ', "");
            text.replace("cuda_std::__private::core", "CORE")
        };
        let threads = "cuda_std::block::Block::threads(&*block)";
        assert!(
            text("block.threads()").contains(&format!("let__tile_length=unsafe{{{threads}}};"))
        );
        let sum = format!(
            "let__tile_length=unsafe{{CORE::primitive::usize::unchecked_sub(CORE::primitive::usize::unchecked_add({threads},__a_length),1)}};"
        );
        assert!(text("block.threads() + a.len() - 1").contains(&sum));
        assert!(!text("block.threads() + SIZE").contains("let__tile_length"));
    }
}
