//! The rules that a kernel's signature must obey.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote_spanned};
use syn::ext::IdentExt;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Attribute, Error, FnArg, GenericArgument, Ident, Pat, PatIdent, PatType, Result, ReturnType,
    Signature, Type, parse_quote,
};

use super::kind::{self, Kind};
use super::options::Options;
use super::parameter::Parameter;
use super::rule::WORDS;
use crate::tokens;

pub(super) fn signature(sig: &Signature) -> Result<()> {
    let refuse = |tokens: &dyn ToTokens, message: &str| {
        Err(Error::new_spanned(tokens.to_token_stream(), message))
    };
    if let Some(receiver) = sig.receiver() {
        return refuse(receiver, "a kernel is a free function, not a method");
    }
    if let ReturnType::Type(_, ty) = &sig.output
        && !matches!(&**ty, Type::Tuple(tuple) if tuple.elems.is_empty())
    {
        let message = format!(
            "a kernel returns nothing: write results to an output, a parameter `mut result: Out<{0}>` (`Out<{0}, PerBlock>` for one \
             of each block); in an `unsafe fn`, also through a pointer",
            tokens::of_type(ty.to_token_stream())
        );
        return refuse(ty, &message);
    }
    if let Some(constness) = &sig.constness {
        return refuse(constness, "a kernel cannot be `const`");
    }
    if let Some(asyncness) = &sig.asyncness {
        return refuse(asyncness, "a kernel cannot be `async`");
    }
    // rust-cuda's kernels may name an ABI, although the attribute sets one, there and here.
    if let Some(abi) = &sig.abi
        && abi.name.as_ref().is_some_and(|name| name.value() != "C")
    {
        return refuse(
            abi,
            "a kernel's calling convention comes from `#[kernel]`; only `extern \"C\"` may be written too, and means nothing",
        );
    }
    if let Some(variadic) = &sig.variadic {
        return refuse(variadic, "a kernel has a fixed number of parameters");
    }
    Ok(())
}

/// What a kernel may take if it is declared safe.
pub(super) fn safe(parameters: &[Parameter<'_>]) -> Result<()> {
    for parameter in parameters {
        let name = &parameter.name;
        let message = match &parameter.kind {
            Kind::Value | Kind::Reference { .. } if is_reference_to_own(parameter.ty) => {
                BY_VALUE.to_owned()
            }
            Kind::Value if names(parameter.ty, &["Block"]) => BLOCK.to_owned(),
            Kind::Value if names(parameter.ty, &LATER) => FIRST.to_owned(),
            Kind::Reference { element } if names(element, &["Block"]) => BLOCK.to_owned(),
            Kind::Value if matches!(parameter.ty, Type::ImplTrait(_)) => CODE.to_owned(),
            Kind::Slice { element, .. } if is_memory(element) => {
                let element = elements_of(element);
                format!(
                    "memory of the device holds values, no references: write `{name}: Matrix<{element}>` for rows of one length, \
                     `{name}: &[{element}]` for all rows one after the other"
                )
            }
            Kind::View { view, element, .. } if is_memory(element) => {
                let (view, element) = (view.name(), elements_of(element));
                format!("`{view}` takes the type of one element: write `{view}<{element}>`")
            }
            Kind::Value => match parameter.ty {
                Type::Reference(reference) => exclusive(name, &reference.elem),
                _ => continue,
            },
            Kind::Slice {
                mutable: true,
                element,
            } => exclusive(name, element),
            Kind::Pointer { element, mutable } | Kind::RawSlice { element, mutable } => {
                raw(name, element, *mutable)
            }
            Kind::Reference { element } => reference(name, element),
            Kind::Text => reference(name, &parse_quote!(u8)),
            Kind::Slice { .. }
            | Kind::View { .. }
            | Kind::Block { .. }
            | Kind::Static { .. }
            | Kind::Dynamic { .. } => continue,
        };
        return Err(Error::new_spanned(parameter.ty, message));
    }
    for parameter in parameters {
        if let Some(lifetime) = tokens::static_lifetime(parameter.ty.to_token_stream()) {
            return Err(Error::new(
                lifetime,
                "a kernel's memory lives for its launch only: leave `'static` out",
            ));
        }
    }
    Ok(())
}

/// Each word of a rule must have exactly one meaning.
pub(super) fn words(
    parameters: &[Parameter<'_>],
    sig: &Signature,
    options: &Options,
) -> Result<()> {
    for (index, parameter) in parameters.iter().enumerate() {
        let name = parameter.name.unraw();
        if (parameters[..index].iter()).any(|other| other.name.unraw() == name) {
            let message = format!(
                "two parameters are called `{name}`, which only a macro's hygiene tells apart: rename one, for the kernel's \
                 rules and the launch know parameters by their names"
            );
            return Err(Error::new(parameter.name.span(), message));
        }
    }
    let rules = options.require.iter().map(|rule| &rule.condition);
    let lengths = options.shared.iter().map(|size| &size.length);
    let expressions = || rules.clone().chain(lengths.clone());
    let used = |word: &str| {
        let mut found = expressions().map(|rule| tokens::find(rule.to_token_stream(), word));
        found.find_map(|found| found)
    };
    for parameter in parameters {
        let name = parameter.name.unraw().to_string();
        let is_block = matches!(parameter.kind, Kind::Block { .. }) && name == "block";
        if WORDS.contains(&&*name) && !is_block && used(&name).is_some() {
            let message = format!(
                "`{name}` in a rule of this kernel is the launch's: give the parameter another name"
            );
            return Err(Error::new(parameter.name.span(), message));
        }
    }
    // In the handle's methods, a parameter of that name would be a pattern that matches the
    // constant.
    let constants = sig.generics.const_params().map(|constant| &constant.ident);
    for name in constants {
        if WORDS.contains(&&*name.unraw().to_string()) {
            let message = format!("`{name}` is the launch's: give the constant another name");
            return Err(Error::new(name.span(), message));
        }
    }
    for argument in &sig.inputs {
        let FnArg::Typed(PatType { pat, attrs, .. }) = argument else {
            continue;
        };
        let conditional = |attribute: &&Attribute| {
            attribute.path().is_ident("cfg") || attribute.path().is_ident("cfg_attr")
        };
        if let Some(attribute) = attrs.iter().find(conditional) {
            let message = "a kernel has the same parameters in every build: put the condition on the whole kernel";
            return Err(Error::new_spanned(attribute, message));
        }
        for name in parts_of(pat) {
            if let Some(span) = used(&name.unraw().to_string()) {
                let message = format!(
                    "a rule is about whole parameters, and `{name}` is a part of one: take the parameter apart in the body"
                );
                return Err(Error::new(span, message));
            }
        }
    }
    Ok(())
}

/// The names that a pattern binds to parts of a parameter.
fn parts_of(pat: &Pat) -> Vec<Ident> {
    struct Parts(Vec<Ident>);
    impl VisitMut for Parts {
        fn visit_pat_ident_mut(&mut self, part: &mut PatIdent) {
            self.0.push(part.ident.clone());
            visit_mut::visit_pat_ident_mut(self, part);
        }
    }
    let mut parts = Parts(Vec::new());
    match pat {
        Pat::Ident(ident) if ident.subpat.is_none() => {}
        pat => parts.visit_pat_mut(&mut pat.clone()),
    }
    parts.0
}

/// Rules for the block and its shared arrays, in any kernel.
pub(super) fn shared(parameters: &[Parameter<'_>], options: &Options) -> Result<()> {
    let mut blocks =
        (parameters.iter()).filter(|parameter| matches!(parameter.kind, Kind::Block { .. }));
    let block = blocks.next();
    if let Some(second) = blocks.next() {
        return Err(Error::new_spanned(second.ty, ONE_BLOCK));
    }
    for parameter in parameters {
        let (Kind::Static { .. } | Kind::Dynamic { .. }) = &parameter.kind else {
            continue;
        };
        if block.is_none() {
            return Err(Error::new_spanned(parameter.ty, NO_BLOCK));
        }
        if let Some(lifetime) = tokens::named_lifetime(parameter.ty.to_token_stream()) {
            return Err(Error::new(lifetime, OWN_LIFETIME));
        }
        let name = &parameter.name;
        let is_sized = options.shared.iter().any(|size| size.name == *name);
        if matches!(parameter.kind, Kind::Dynamic { .. }) && !is_sized {
            let message = format!(
                "the launch does not know the length of `{name}`: say it, as in `#[kernel(shared({name} = block.threads()))]`, \
                 or give the array a length of its own, `Shared<[T; 256]>`"
            );
            return Err(Error::new_spanned(parameter.ty, message));
        }
    }
    for (index, size) in options.shared.iter().enumerate() {
        let name = &size.name;
        if options.shared[..index]
            .iter()
            .any(|other| other.name == *name)
        {
            return Err(Error::new(
                name.span(),
                format!("`{name}` has a length already"),
            ));
        }
        let is_dynamic = |parameter: &&Parameter<'_>| {
            parameter.name == *name && matches!(parameter.kind, Kind::Dynamic { .. })
        };
        if parameters.iter().find(is_dynamic).is_none() {
            let message = format!(
                "the kernel has no parameter `{name}: Shared<[T]>`, whose length this could be"
            );
            return Err(Error::new(name.span(), message));
        }
    }
    for rule in &options.require {
        let span = tokens::find(rule.condition.to_token_stream(), "shared_bytes");
        if let (Some(span), false) = (span, options.shared.is_empty()) {
            return Err(Error::new(span, COMPUTED));
        }
    }
    Ok(())
}

/// Whether the last word of the type's path is one of these.
fn names(ty: &Type, words: &[&str]) -> bool {
    kind::named(ty).is_some_and(|(name, _)| words.iter().any(|word| name == word))
}

/// `&Matrix<T>`, `&mut Shared<A>` and the like.
fn is_reference_to_own(ty: &Type) -> bool {
    const OWN: [&str; 9] = [
        "Shared",
        "Ring",
        "Scratch",
        "Matrix",
        "OutMatrix",
        "Out",
        "Atomics",
        "Append",
        "Scatter",
    ];
    matches!(ty, Type::Reference(reference) if names(&reference.elem, &OWN))
}

/// Types whose values a kernel makes itself, from its parameters.
const LATER: [&str; 9] = [
    "Written",
    "Published",
    "Refill",
    "Slots",
    "Zeroed",
    "Counting",
    "Warp",
    "TileRange",
    "Tiles",
];

const FIRST: &str = "the kernel makes this itself: an array begins as `Shared<..>`, a warp and tiles come from `&mut Block`";
/// What a safe kernel takes instead of `&mut [T]`, or `&mut T`.
fn exclusive(name: &Ident, element: &Type) -> String {
    let element = elements_of(element);
    format!(
        "all threads of a launch would have the same `&mut`: write `mut {name}: Out<{element}>`, an output of which a thread reaches \
         its own elements only, `OutMatrix<{element}, R, C>` for a matrix, `Atomics<{element}>` for counters; or `unsafe fn`"
    )
}

/// What a safe kernel takes instead of a raw pointer.
fn raw(name: &Ident, element: &Type, mutable: bool) -> String {
    let element = elements_of(element);
    let instead = match mutable {
        true => format!("`mut {name}: Out<{element}>` for an output"),
        false => format!("`{name}: &[{element}]` for an input"),
    };
    format!("a safe kernel takes no raw pointers: write {instead}, or `unsafe fn`")
}

/// What a safe kernel takes instead of `&T`.
fn reference(name: &Ident, element: &Type) -> String {
    let elements = elements_of(element);
    let value = match element {
        Type::Path(_) if !is_container(element) => {
            format!("`{name}: {elements}` for a value, ")
        }
        _ => String::new(),
    };
    format!(
        "a safe kernel takes values, slices, matrices, outputs, shared arrays and its block: write {value}`{name}: &[{elements}]` for \
         an input, or `unsafe fn`"
    )
}

/// The refusal of a parameter that is memory of the host, or a slice without `&`.
pub(super) fn owner(parameter: &Parameter<'_>) -> Option<String> {
    let (Kind::Value | Kind::Reference { .. }) = parameter.kind else {
        return None;
    };
    let ty = match parameter.ty {
        Type::Reference(reference) => &*reference.elem,
        ty => ty,
    };
    let is_owner = matches!(ty, Type::Slice(_)) || names(ty, &["Vec", "Box"]);
    is_owner.then(|| {
        let (name, elements) = (&parameter.name, elements_of(ty));
        format!(
            "a kernel takes device memory, as slices: write `{name}: &[{elements}]` for an input, `mut {name}: Out<{elements}>` for an \
             output; the launch passes `&buffer` and `&mut buffer`"
        )
    })
}

/// Whether a type of that name holds elements: `[T]`, `[T; N]`, `Vec<T>`, `Buffer<T>`.
fn is_container(ty: &Type) -> bool {
    const OWNERS: [&str; 5] = ["Vec", "Box", "Buffer", "DeviceBuffer", "CudaSlice"];
    match ty {
        Type::Slice(_) | Type::Array(_) => true,
        Type::Path(_) => names(ty, &OWNERS),
        _ => false,
    }
}

/// `&T` and `[T]`, which are no elements.
fn is_memory(ty: &Type) -> bool {
    matches!(ty, Type::Reference(_) | Type::Slice(_))
}

/// The type of the elements, as written.
fn elements_of(ty: &Type) -> String {
    match ty {
        Type::Reference(reference) => return elements_of(&reference.elem),
        Type::Slice(slice) => return elements_of(&slice.elem),
        Type::Array(array) => return elements_of(&array.elem),
        Type::Path(_) if is_container(ty) => {
            let arguments = kind::named(ty).map(|(_, arguments)| arguments);
            if let Some(GenericArgument::Type(first)) = arguments.iter().flatten().next() {
                return elements_of(first);
            }
        }
        _ => {}
    }
    tokens::of_type(ty.to_token_stream())
}

const BY_VALUE: &str =
    "this is a handle that the launch makes for each thread: take it by value, without `&`";
const CODE: &str = "a kernel takes data, no functions: call one of this crate, or make the kernel generic in a number or a type \
     that decides which one, `#[kernel(instances(..))]`";
const BLOCK: &str =
    "barriers need the whole block: take `&mut Block`, or `&mut Block<256>` of a size";
const ONE_BLOCK: &str = "a thread is in one block: the kernel has its `&mut Block` already";
const NO_BLOCK: &str = "the threads of a block share this array, and only a barrier tells that it is written: add a parameter \
     `block: &mut Block`, or `block: &mut Block<256>` of a size";
const OWN_LIFETIME: &str = "each shared array has a lifetime that nothing else has, so that no two are exchanged: leave it out";
pub(super) const SAFE_DIVERGENCE: &str =
    "a safe kernel's barriers are for all threads of the block: an exception needs `unsafe fn`";
const COMPUTED: &str = "the launch computes `shared_bytes` from `shared(..)`: leave the rule out";

/// OptiX finds its programs by name. On the device such a kernel is an error: nothing here could
/// launch it.
pub(super) fn program_of_optix(name: &Ident, core: &TokenStream) -> Option<TokenStream> {
    const PROGRAMS: [&str; 8] = [
        "raygen",
        "intersection",
        "anyhit",
        "closesthit",
        "miss",
        "exception",
        "direct_callable",
        "continuation_callable",
    ];
    let text = name.to_string();
    let kind = text.strip_prefix("__")?.split("__").next()?;
    PROGRAMS.contains(&kind).then(|| {
        let message = format!(
            "`{text}` names a program of OptiX, which only OptiX can compile and launch; leave it out of this build (`#[cfg]`), \
             or give a kernel of CUDA another name"
        );
        quote_spanned! { name.span() =>
            #[cfg(target_arch = "nvptx64")]
            #core::compile_error!(#message);
        }
    })
}
