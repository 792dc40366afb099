//! The options in `#[kernel(..)]`.

use proc_macro2::TokenStream;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{
    Error, Expr, Ident, Lit, LitInt, LitStr, Path, Result, Token, Type, bracketed, parenthesized,
    token,
};

use crate::tokens;

const EXPECTED: &str = "`#[kernel]` takes no arguments but `grid_dim` and `block_dim`, each `1d`, `2d` or `3d`, `max_threads` with `min_blocks`, \
     each a number of at least 1, `instances(..)`, `name = \"..\"`, `require(..)`, `shared(..)`, `starts_early`, \
     `allow_divergence = \"..\"` and `crate = path`";

const LAUNCH_BOUNDS: &str =
    "CUDA C++'s `__launch_bounds__(256, 2)` is `#[kernel(max_threads = 256, min_blocks = 2)]`";

const NO_REASON: &str = "say why every thread that a barrier waits for arrives at it, as in \
     `allow_divergence = \"only whole warps branch\"`";

#[derive(Default)]
pub(super) struct Options {
    pub(super) max_threads: Option<u32>,
    /// One number for all instances, or one per instance in order.
    pub(super) min_blocks: Option<Vec<u32>>,
    /// Products of columns, each a list of alternatives. `None` without the option.
    pub(super) instances: Option<Vec<Vec<Vec<Argument>>>>,
    pub(super) name: Option<LitStr>,
    pub(super) require: Vec<Rule>,
    /// The lengths of dynamic shared arrays.
    pub(super) shared: Vec<Size>,
    /// Whether a launch may start before the one before it has ended.
    pub(super) starts_early: bool,
    /// Why some threads may miss a barrier.
    pub(super) allow_divergence: Option<LitStr>,
    pub(super) path: Option<Path>,
}

/// A type or constant argument as written: a path may be either.
#[derive(Clone)]
pub(super) enum Argument {
    Type(Type),
    Const(Expr),
}

/// One requirement of the kernel's contract.
pub(super) struct Rule {
    pub(super) condition: Expr,
    pub(super) text: String,
}

/// `tile = block.threads() + 2`.
pub(super) struct Size {
    pub(super) name: Ident,
    pub(super) length: Expr,
    pub(super) text: String,
}

impl Options {
    pub(super) fn parse(arguments: TokenStream) -> Result<Self> {
        let all = arguments.clone();
        let options = Self::parse_list.parse2(arguments)?;
        if options.max_threads.is_some() != options.min_blocks.is_some() {
            let message = "`max_threads` and `min_blocks` belong together, as in `max_threads = 256, min_blocks = 1`";
            return Err(Error::new_spanned(all, message));
        }
        Ok(options)
    }

    fn parse_list(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self::default();
        let mut seen: Vec<Ident> = Vec::new();
        while !input.is_empty() {
            let word =
                Ident::parse_any(input).map_err(|error| Error::new(error.span(), EXPECTED))?;
            if seen.contains(&word) {
                return Err(Error::new(word.span(), format!("`{word}` is given twice")));
            }
            options.parse_one(&word, input)?;
            seen.push(word);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }

    fn parse_one(&mut self, word: &Ident, input: ParseStream<'_>) -> Result<()> {
        match &*word.to_string().to_ascii_lowercase() {
            // rust-cuda's hints about dimensions have no effect, there or here.
            "grid_dim" | "block_dim" => {
                input.parse::<Token![=]>()?;
                let value: Lit = input.parse()?;
                let text = quote::quote!(#value).to_string().to_ascii_lowercase();
                if !["1d", "2d", "3d"].contains(&&*text) {
                    return Err(Error::new(value.span(), EXPECTED));
                }
            }
            "launch_bounds" | "__launch_bounds__" => {
                return Err(Error::new(word.span(), LAUNCH_BOUNDS));
            }
            "max_threads" => self.max_threads = Some(number(input)?),
            "min_blocks" => self.min_blocks = Some(numbers(input)?),
            "instances" => {
                let list;
                parenthesized!(list in input);
                let instances = Punctuated::<_, Token![,]>::parse_terminated_with(&list, instance)?;
                if instances.is_empty() {
                    return Err(Error::new(
                        word.span(),
                        "`instances(..)` names at least one",
                    ));
                }
                self.instances = Some(instances.into_iter().collect());
            }
            "name" => {
                input.parse::<Token![=]>()?;
                self.name = Some(input.parse()?);
            }
            "require" => {
                let list;
                parenthesized!(list in input);
                let rules = Punctuated::<Rule, Token![,]>::parse_terminated(&list)?;
                self.require = rules.into_iter().collect();
            }
            "shared" => {
                let list;
                parenthesized!(list in input);
                let sizes = Punctuated::<Size, Token![,]>::parse_terminated(&list)?;
                self.shared = sizes.into_iter().collect();
            }
            "starts_early" => self.starts_early = true,
            "allow_divergence" => {
                let reason = reason(input).ok_or_else(|| Error::new(word.span(), NO_REASON))?;
                self.allow_divergence = Some(reason);
            }
            "crate" => {
                input.parse::<Token![=]>()?;
                self.path = Some(path(input)?);
            }
            _ => return Err(Error::new(word.span(), EXPECTED)),
        }
        Ok(())
    }
}

/// `= 256`, at least 1.
fn number(input: ParseStream<'_>) -> Result<u32> {
    input.parse::<Token![=]>()?;
    positive(input)
}

/// `= 2`, or `= [8, 6]`.
fn numbers(input: ParseStream<'_>) -> Result<Vec<u32>> {
    input.parse::<Token![=]>()?;
    if !input.peek(token::Bracket) {
        return Ok(vec![positive(input)?]);
    }
    let list;
    bracketed!(list in input);
    let numbers = Punctuated::<_, Token![,]>::parse_terminated_with(&list, positive)?;
    Ok(numbers.into_iter().collect())
}

fn positive(input: ParseStream<'_>) -> Result<u32> {
    let refuse = |span| Error::new(span, EXPECTED);
    let literal: LitInt = input.parse().map_err(|error| refuse(error.span()))?;
    match literal.base10_parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(refuse(literal.span())),
    }
}

/// `= "why"`.
fn reason(input: ParseStream<'_>) -> Option<LitStr> {
    input.parse::<Token![=]>().ok()?;
    let reason: LitStr = input.parse().ok()?;
    (!reason.value().trim().is_empty()).then_some(reason)
}

/// A path, not a string.
fn path(input: ParseStream<'_>) -> Result<Path> {
    let message = "`crate` is followed by a path, as in `crate = other::cuda_std`";
    (input.call(Path::parse_mod_style)).map_err(|error| Error::new(error.span(), message))
}

/// `f32`, `f32 | f64` or `(f32 | f64, 4 | 8)`.
fn instance(input: ParseStream<'_>) -> Result<Vec<Vec<Argument>>> {
    if !input.peek(token::Paren) {
        return Ok(vec![alternatives(input)?]);
    }
    let columns;
    parenthesized!(columns in input);
    let columns = Punctuated::<_, Token![,]>::parse_terminated_with(&columns, alternatives)?;
    Ok(columns.into_iter().collect())
}

fn alternatives(input: ParseStream<'_>) -> Result<Vec<Argument>> {
    Ok(
        Punctuated::<Argument, Token![|]>::parse_separated_nonempty(input)?
            .into_iter()
            .collect(),
    )
}

impl Parse for Argument {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let constant = input.peek(Lit) || input.peek(Token![-]) || input.peek(token::Brace);
        if !constant {
            return Ok(Argument::Type(input.parse()?));
        }
        if let Some(minus) = input.parse::<Option<Token![-]>>()? {
            let value: Lit = input.parse()?;
            return Ok(Argument::Const(syn::parse_quote!(#minus #value)));
        }
        if input.peek(Lit) {
            let value: Lit = input.parse()?;
            return Ok(Argument::Const(syn::parse_quote!(#value)));
        }
        Ok(Argument::Const(Expr::Block(input.parse()?)))
    }
}

impl Parse for Rule {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let condition: Expr = input.parse()?;
        let text = tokens::expression(quote::quote!(#condition));
        Ok(Self { condition, text })
    }
}

impl Parse for Size {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let refuse = |error: Error| {
            let message = "each dynamic array has its length here, as in `shared(tile = block.threads() + 2)`";
            Error::new(error.span(), message)
        };
        let name = input.parse().map_err(refuse)?;
        input.parse::<Token![=]>().map_err(refuse)?;
        let length: Expr = input.parse()?;
        let text = format!("{name} = {}", tokens::expression(quote::quote!(#length)));
        Ok(Self { name, length, text })
    }
}
