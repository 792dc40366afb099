//! The kernel's parameters: their names, and the PTX parameters of each.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{Error, FnArg, Ident, Pat, PatType, Result, Type};

use super::kind::{Kind, View};

/// One parameter of the kernel.
pub(super) struct Parameter<'a> {
    /// As written; for a pattern, a generated name.
    pub(super) name: Ident,
    pub(super) ty: &'a Type,
    pub(super) kind: Kind<'a>,
}

/// One of the PTX parameters that together form a kernel's parameter.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Part {
    Pointer,
    Length,
    Rows,
    Cols,
    /// The address of the second memory of a pair.
    Second,
}

impl Part {
    /// How a rule refers to it.
    pub(super) fn method(self) -> &'static str {
        match self {
            Part::Pointer => "is_aligned_to",
            Part::Length => "len",
            Part::Rows => "rows",
            Part::Cols => "cols",
            Part::Second => "second",
        }
    }
}

impl<'a> Parameter<'a> {
    pub(super) fn new(index: usize, argument: &'a FnArg) -> Result<Self> {
        let FnArg::Typed(PatType { pat, ty, .. }) = argument else {
            return Err(Error::new_spanned(
                argument,
                "a kernel is a free function, not a method",
            ));
        };
        // The body destructures it; in the entry point a pattern needs a name.
        let name = match &**pat {
            Pat::Ident(ident) if ident.subpat.is_none() => ident.ident.clone(),
            _ => format_ident!("parameter_{index}", span = pat.span()),
        };
        let kind = Kind::of(ty);
        Ok(Parameter { name, ty, kind })
    }

    /// The span of the type, with macro hygiene.
    pub(super) fn type_span(&self) -> Span {
        self.ty.span().resolved_at(Span::mixed_site())
    }

    /// The entry point's parameter for a part, under a name that no parameter of the kernel has.
    pub(super) fn part(&self, part: Part) -> Ident {
        let suffix = match part {
            Part::Pointer => "pointer",
            Part::Length => "length",
            Part::Rows => "rows",
            Part::Cols => "cols",
            Part::Second => "second",
        };
        format_ident!("__{}_{suffix}", self.name, span = Span::mixed_site())
    }
}

impl Kind<'_> {
    /// The parts that the entry point takes. `None`: the parameter itself.
    pub(super) fn parts(&self) -> Option<&'static [Part]> {
        match self {
            Kind::Slice { .. } | Kind::RawSlice { .. } | Kind::Text => {
                Some(&[Part::Pointer, Part::Length])
            }
            Kind::View { view, .. } if view.is_matrix() => {
                Some(&[Part::Pointer, Part::Rows, Part::Cols])
            }
            Kind::View { view, .. } if view.is_pair() => {
                Some(&[Part::Pointer, Part::Length, Part::Second])
            }
            Kind::View { .. } => Some(&[Part::Pointer, Part::Length]),
            Kind::Dynamic { .. } => Some(&[Part::Length]),
            Kind::Block { .. } | Kind::Static { .. } => Some(&[]),
            Kind::Reference { .. } | Kind::Pointer { .. } | Kind::Value => None,
        }
    }

    /// The type of one of the parts.
    pub(super) fn type_of(&self, part: Part, core: &TokenStream) -> TokenStream {
        match (part, self) {
            (Part::Pointer, _) => {}
            (Part::Second, Kind::View { view, .. }) if *view == View::Append => {
                return quote! { *mut #core::primitive::u64 };
            }
            (Part::Second, _) => return quote! { *const #core::primitive::u32 },
            (Part::Length | Part::Rows | Part::Cols, _) => {
                return quote! { #core::primitive::usize };
            }
        }
        let (element, mutable) = match self {
            Kind::Slice { element, mutable } | Kind::RawSlice { element, mutable } => {
                (element, *mutable)
            }
            Kind::View { view, element, .. } => (element, view.is_written()),
            _ => return quote! { *const #core::primitive::u8 },
        };
        if mutable {
            quote! { *mut #element }
        } else {
            quote! { *const #element }
        }
    }
}
