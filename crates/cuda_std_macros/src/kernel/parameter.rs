//! The kernel's parameters: what each is on the device, in the launch and in the record.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{
    Error, FnArg, GenericArgument, Ident, Pat, PatType, PathArguments, Result, Type, TypePtr,
    TypeReference,
};

/// One parameter of the kernel.
pub(super) struct Parameter<'a> {
    /// As written, or for a pattern a name of ours.
    pub(super) name: Ident,
    pub(super) ty: &'a Type,
    pub(super) kind: Kind<'a>,
}

pub(super) enum Kind<'a> {
    /// `&[T]`, or `&mut [T]`.
    Slice { element: &'a Type, mutable: bool },
    /// `*const [T]`, or `*mut [T]`.
    RawSlice { element: &'a Type, mutable: bool },
    /// `&str`.
    Text,
    /// `Out<T>`.
    Out { element: &'a Type },
    /// `&T`.
    Reference { element: &'a Type },
    /// `*const T`, or `*mut T`.
    Pointer { element: &'a Type, mutable: bool },
    /// Anything else is copied.
    Value,
}

impl<'a> Parameter<'a> {
    pub(super) fn new(index: usize, argument: &'a FnArg) -> Result<Self> {
        let FnArg::Typed(PatType { pat, ty, .. }) = argument else {
            return Err(Error::new_spanned(
                argument,
                "a kernel is a free function, not a method",
            ));
        };
        // The body takes it apart; in the entry point a pattern needs a name.
        let name = match &**pat {
            Pat::Ident(ident) if ident.subpat.is_none() => ident.ident.clone(),
            _ => format_ident!("parameter_{index}"),
        };
        let kind = Kind::of(ty);
        Ok(Parameter { name, ty, kind })
    }

    /// The span of the type, with the names of the macro.
    pub(super) fn type_span(&self) -> Span {
        self.ty.span().resolved_at(Span::mixed_site())
    }
}

impl<'a> Kind<'a> {
    fn of(ty: &'a Type) -> Self {
        match ty {
            Type::Reference(TypeReference {
                elem, mutability, ..
            }) => match (&**elem, mutability.is_some()) {
                (Type::Slice(slice), mutable) => Kind::Slice {
                    element: &slice.elem,
                    mutable,
                },
                (Type::Path(path), false) if path.path.is_ident("str") => Kind::Text,
                (_, false) => Kind::Reference { element: elem },
                // Which is not `Copy`, and the compiler says so.
                (_, true) => Kind::Value,
            },
            Type::Ptr(TypePtr {
                elem, mutability, ..
            }) => match &**elem {
                Type::Slice(slice) => Kind::RawSlice {
                    element: &slice.elem,
                    mutable: mutability.is_some(),
                },
                _ => Kind::Pointer {
                    element: elem,
                    mutable: mutability.is_some(),
                },
            },
            Type::Path(_) => match element_of_out(ty) {
                Some(element) => Kind::Out { element },
                None => Kind::Value,
            },
            Type::Paren(inner) => Kind::of(&inner.elem),
            Type::Group(inner) => Kind::of(&inner.elem),
            _ => Kind::Value,
        }
    }

    /// Whether the entry point has a pointer and a length for it.
    pub(super) fn is_pair(&self) -> bool {
        matches!(
            self,
            Kind::Slice { .. } | Kind::RawSlice { .. } | Kind::Text | Kind::Out { .. }
        )
    }

    /// The type of the pointer to the first element of a pair.
    pub(super) fn pointer(&self) -> TokenStream {
        match self {
            Kind::Slice {
                element,
                mutable: true,
            }
            | Kind::RawSlice {
                element,
                mutable: true,
            }
            | Kind::Out { element } => quote! { *mut #element },
            Kind::Slice { element, .. } | Kind::RawSlice { element, .. } => {
                quote! { *const #element }
            }
            _ => quote! { *const u8 },
        }
    }
}

/// The `T` of `Out<T>`, `Out<'a, T>` or `cuda_std::Out<'_, T>`.
fn element_of_out(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(list) = &last.arguments else {
        return None;
    };
    let mut types = list.args.iter().filter_map(|argument| match argument {
        GenericArgument::Lifetime(_) => None,
        GenericArgument::Type(ty) => Some(Some(ty)),
        _ => Some(None),
    });
    match (last.ident == "Out", types.next(), types.next()) {
        (true, Some(element), None) => element,
        _ => None,
    }
}
