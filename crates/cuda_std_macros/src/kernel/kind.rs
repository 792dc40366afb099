//! What a parameter is, judged by how its type is written.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{GenericArgument, PathArguments, PointerMutability, Type, TypePtr, TypeReference};

pub(super) enum Kind<'a> {
    /// `&[T]`, or `&mut [T]`.
    Slice { element: &'a Type, mutable: bool },
    /// `*const [T]`, or `*mut [T]`.
    RawSlice { element: &'a Type, mutable: bool },
    /// `&str`.
    Text,
    /// `&T`.
    Reference { element: &'a Type },
    /// `*const T`, or `*mut T`.
    Pointer { element: &'a Type, mutable: bool },
    /// `&mut Block<X, Y, Z>`: the extents, 0 where the launch decides.
    Block { extents: [TokenStream; 3] },
    /// Global memory as one of cuda_std's types.
    View {
        view: View,
        element: &'a Type,
        arguments: Vec<&'a GenericArgument>,
    },
    /// Shared memory whose size is in the type.
    Static {
        array: Static,
        first: &'a Type,
        arguments: Vec<&'a GenericArgument>,
    },
    /// `Shared<[T]>`, whose length is in `shared(..)`.
    Dynamic { element: &'a Type },
    /// Anything else: copied.
    Value,
}

/// cuda_std's types of global memory, by their names.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum View {
    Out,
    Atomics,
    Matrix,
    OutMatrix,
    Append,
    Scatter,
}

impl View {
    pub(super) fn name(self) -> Ident {
        format_ident!("{self:?}")
    }

    pub(super) fn is_matrix(self) -> bool {
        matches!(self, View::Matrix | View::OutMatrix)
    }

    /// Memory of two kinds: the elements, and their count or their permutation.
    pub(super) fn is_pair(self) -> bool {
        matches!(self, View::Append | View::Scatter)
    }

    pub(super) fn is_written(self) -> bool {
        self != View::Matrix
    }
}

/// cuda_std's types of shared memory, by their names.
#[derive(Clone, Copy, Debug)]
pub(super) enum Static {
    Shared,
    Ring,
    Scratch,
}

impl Static {
    pub(super) fn name(self) -> Ident {
        format_ident!("{self:?}")
    }
}

impl<'a> Kind<'a> {
    pub(super) fn of(ty: &'a Type) -> Self {
        match ungrouped(ty) {
            Type::Reference(TypeReference {
                elem, mutability, ..
            }) => match (ungrouped(elem), mutability.is_some()) {
                (Type::Slice(slice), mutable) => Kind::Slice {
                    element: &slice.elem,
                    mutable,
                },
                (Type::Path(path), false) if path.path.is_ident("str") => Kind::Text,
                (_, false) => Kind::Reference { element: elem },
                // Any other type is not `Copy`, and the compiler says so.
                (ty, true) => match named(ty) {
                    Some((name, arguments)) if name == "Block" => Kind::Block {
                        extents: extents(&arguments),
                    },
                    _ => Kind::Value,
                },
            },
            Type::Ptr(TypePtr {
                elem, mutability, ..
            }) => match ungrouped(elem) {
                Type::Slice(slice) => Kind::RawSlice {
                    element: &slice.elem,
                    mutable: matches!(mutability, PointerMutability::Mut(_)),
                },
                _ => Kind::Pointer {
                    element: elem,
                    mutable: matches!(mutability, PointerMutability::Mut(_)),
                },
            },
            ty => of_cuda_std(ty).unwrap_or(Kind::Value),
        }
    }
}

impl Kind<'_> {
    /// Whether the launch creates one of cuda_std's types for it.
    pub(super) fn is_of_cuda_std(&self) -> bool {
        matches!(
            self,
            Kind::Block { .. } | Kind::View { .. } | Kind::Static { .. } | Kind::Dynamic { .. }
        )
    }
}

/// `Out<T>`, `cuda_std::Out<'_, T>` and the like.
fn of_cuda_std(ty: &Type) -> Option<Kind<'_>> {
    let (name, arguments) = named(ty)?;
    let Some(GenericArgument::Type(first)) = arguments.first() else {
        return None;
    };
    let first = ungrouped(first);
    let view = |view| Kind::View {
        view,
        element: first,
        arguments: arguments.clone(),
    };
    let array = |array| Kind::Static {
        array,
        first,
        arguments: arguments.clone(),
    };
    Some(match &*name.to_string() {
        "Out" => view(View::Out),
        "Atomics" => view(View::Atomics),
        "Matrix" => view(View::Matrix),
        "OutMatrix" => view(View::OutMatrix),
        "Append" => view(View::Append),
        "Scatter" => view(View::Scatter),
        "Shared" => match first {
            Type::Slice(slice) => Kind::Dynamic {
                element: &slice.elem,
            },
            _ => array(Static::Shared),
        },
        "Ring" => array(Static::Ring),
        "Scratch" => array(Static::Scratch),
        _ => return None,
    })
}

/// The last word of a path, and its arguments without lifetimes.
pub(super) fn named(ty: &Type) -> Option<(&Ident, Vec<&GenericArgument>)> {
    let Type::Path(path) = ungrouped(ty) else {
        return None;
    };
    let last = path.path.segments.last()?;
    let arguments = match &last.arguments {
        PathArguments::AngleBracketed(list) => (list.args.iter())
            .filter(|argument| !matches!(argument, GenericArgument::Lifetime(_)))
            .collect(),
        _ => Vec::new(),
    };
    Some((&last.ident, arguments))
}

/// A type that came through a `macro_rules!` macro is in a group of its own.
fn ungrouped(ty: &Type) -> &Type {
    match ty {
        Type::Group(inner) => ungrouped(&inner.elem),
        Type::Paren(inner) => ungrouped(&inner.elem),
        _ => ty,
    }
}

/// The extents as `Block` declares them.
fn extents(arguments: &[&GenericArgument]) -> [TokenStream; 3] {
    let mut extents = [quote! { 0 }, quote! { 1 }, quote! { 1 }];
    for (extent, argument) in extents.iter_mut().zip(arguments) {
        *extent = argument.to_token_stream();
    }
    extents
}
