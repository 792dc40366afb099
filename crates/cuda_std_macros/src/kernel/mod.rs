//! `#[kernel]`: checks a kernel against the rules, and writes its entry points, their records and
//! the handle that launches them.

mod assigned;
mod assume;
mod called;
mod check;
mod contract;
mod device;
mod habits;
mod handle;
mod host;
mod indices;
mod instances;
mod kind;
mod launch;
mod options;
mod parameter;
mod reader;
mod record;
mod refused;
mod rule;
mod shared;
mod types;

pub(crate) use refused::not_built;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::{
    Attribute, Error, GenericParam, Ident, ItemFn, Lifetime, LifetimeParam, LitStr, Result, Safety,
    Signature, WherePredicate,
};

use crate::{cuda_std, symbols, tokens};
use instances::Instance;
use options::Options;
use parameter::Parameter;
use reader::Reader;
use rule::Tree;

/// The first step: finds cuda_std, whose macro calls the second.
pub(crate) fn begin(arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let options = Options::parse(arguments.clone())?;
    let path = match options.path {
        Some(path) => Some(path.to_token_stream()),
        None => cuda_std::path(),
    };
    match path {
        Some(path) => Ok(quote! { #path::__kernel! { {#arguments} #item } }),
        None => expand(None, arguments, item),
    }
}

/// `root` is the path of cuda_std in generated code. Without it there is no launch, only the
/// kernel.
pub(crate) fn expand(
    root: Option<TokenStream>,
    arguments: TokenStream,
    item: TokenStream,
) -> Result<TokenStream> {
    let (places, arguments) = places(arguments);
    let options = Options::parse(arguments)?;
    let mut function: ItemFn = syn::parse2(item.clone()).map_err(|error| {
        // Of a body that is no Rust, the compiler shows the error, and this one at the same place.
        match tokens::words(item.clone()).contains(&"fn".to_owned()) && has_body(&item) {
            true => error,
            false => Error::new_spanned(item, "`#[kernel]` goes on a function with a body"),
        }
    })?;
    function.modifiers.require_empty()?;
    if let Some(root) = &root {
        indices::with_fields(&mut function, root);
    }
    Kernel::new(&function, options, root, places)?.expand()
}

/// Names of the launch's methods, at places of cuda_std's, which its macro puts before the arguments.
fn places(arguments: TokenStream) -> (Vec<TokenTree>, TokenStream) {
    let mut rest = arguments.clone().into_iter();
    match rest.next() {
        Some(TokenTree::Group(names)) if names.delimiter() == Delimiter::Bracket => {
            (names.stream().into_iter().collect(), rest.collect())
        }
        _ => (Vec::new(), arguments),
    }
}

fn has_body(item: &TokenStream) -> bool {
    let last = item.clone().into_iter().last();
    matches!(last, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace)
}

/// A kernel that obeys the rules.
struct Kernel<'a> {
    function: &'a ItemFn,
    options: Options,
    parameters: Vec<Parameter<'a>>,
    instances: Vec<Instance>,
    /// The rules in `require(..)`.
    rules: Vec<Tree>,
    /// The lengths of the dynamic arrays, in the order of the parameters; both sides place them so.
    lengths: Vec<Length>,
    /// The path of cuda_std in generated code. `None` if the crate has it only through another
    /// crate and did not say so.
    root: Option<TokenStream>,
    /// The path of `core` in generated code.
    core: TokenStream,
    /// Names of the launch's methods, where errors about them show them.
    places: Vec<TokenTree>,
}

/// An array's length in `shared(..)`.
struct Length {
    /// Which parameter it is.
    array: usize,
    length: Tree,
    /// As written.
    text: String,
}

fn is_safe(sig: &Signature) -> bool {
    !matches!(sig.safety, Safety::Unsafe(_))
}

impl<'a> Kernel<'a> {
    fn new(
        function: &'a ItemFn,
        options: Options,
        root: Option<TokenStream>,
        places: Vec<TokenTree>,
    ) -> Result<Self> {
        let sig = &function.sig;
        check::signature(sig)?;
        let parameters = (sig.inputs.iter().enumerate())
            .map(|(index, argument)| Parameter::new(index, argument))
            .collect::<Result<Vec<_>>>()?;
        for parameter in &parameters {
            if let Some(message) = check::owner(parameter) {
                return Err(Error::new_spanned(parameter.ty, message));
            }
        }
        if is_safe(sig) {
            check::safe(&parameters)?;
            assigned::check(&parameters, &function.block)?;
            habits::check(&parameters, &function.block)?;
            if let Some(reason) = &options.allow_divergence {
                return Err(Error::new(reason.span(), check::SAFE_DIVERGENCE));
            }
        }
        check::words(&parameters, sig, &options)?;
        check::shared(&parameters, &options)?;
        let instances = instances::all(sig, &options)?;
        if is_safe(sig) {
            let span = (options.name.as_ref()).map_or(sig.ident.span(), LitStr::span);
            for instance in &instances {
                symbols::refuse_reserved(&instance.entry, span)?;
            }
        }
        let needs_cuda_std = is_safe(sig)
            || !options.require.is_empty()
            || parameters
                .iter()
                .any(|parameter| parameter.kind.is_of_cuda_std());
        if root.is_none() && needs_cuda_std {
            return Err(Error::new_spanned(
                &sig.ident,
                "this crate has cuda_std through another one: say how it is named, as in `#[kernel(crate = other::cuda_std)]`",
            ));
        }
        let reader = Reader {
            parameters: &parameters,
        };
        let rules = (options.require.iter())
            .map(|rule| reader.rule(&rule.condition))
            .collect();
        let length = |(index, array): (usize, &Parameter<'_>)| {
            let size = options.shared.iter().find(|size| size.name == array.name)?;
            Some(Length {
                array: index,
                length: reader.length(&size.length),
                text: size.text.clone(),
            })
        };
        let lengths = parameters.iter().enumerate().filter_map(length).collect();
        let core = match &root {
            Some(root) => quote! { #root::__private::core },
            None => quote! { ::core },
        };
        Ok(Self {
            function,
            options,
            parameters,
            instances,
            rules,
            lengths,
            root,
            core,
            places,
        })
    }

    /// The path of cuda_std, where generated code needs one.
    fn path(&self) -> &TokenStream {
        self.root.as_ref().unwrap_or(&self.core)
    }

    fn expand(&self) -> Result<TokenStream> {
        let program_of_optix = check::program_of_optix(&self.function.sig.ident, &self.core);
        let entries = self.instances.iter().map(|instance| {
            let (on_host, on_device) = (self.on_host(instance), self.on_device(instance));
            quote! { #on_host #on_device }
        });
        let handle = self.handle()?;
        let names = self.instances.iter().map(|instance| &*instance.entry);
        let refused = refused::errors(names, self.function.sig.ident.span());
        Ok(quote! { #program_of_optix #(#entries)* #handle #refused })
    }

    /// The name of a method of the launch, at its place in cuda_std. It counts as written there, in
    /// no macro: otherwise an error would show `#[kernel]` in its place.
    fn method(&self, name: &str) -> Ident {
        let place = self.places.iter().find(|place| place.to_string() == name);
        let written = self.function.sig.ident.span();
        let span = place.map_or(written, |place| written.located_at(place.span()));
        Ident::new(name, span)
    }

    fn is_generic(&self) -> bool {
        instances::parameters(&self.function.sig.generics)
            .next()
            .is_some()
    }

    fn is_safe(&self) -> bool {
        is_safe(&self.function.sig)
    }

    /// The function's `#[cfg]`s, which apply to everything generated from it.
    fn conditions(&self) -> Vec<&Attribute> {
        let attributes = self.function.attrs.iter();
        attributes
            .filter(|attribute| attribute.path().is_ident("cfg"))
            .collect()
    }

    /// `<'a, 'b: 'a>`.
    fn lifetimes(&self) -> TokenStream {
        let lifetimes: Vec<_> = self.function.sig.generics.lifetimes().collect();
        if lifetimes.is_empty() {
            return TokenStream::new();
        }
        quote! { <#(#lifetimes),*> }
    }

    /// The `where` clauses about lifetimes only.
    fn lifetime_predicates(&self) -> TokenStream {
        let clause = &self.function.sig.generics.where_clause;
        let predicates: Vec<_> = (clause.iter().flat_map(|clause| &clause.predicates))
            .filter(|predicate| matches!(predicate, WherePredicate::Lifetime(_)))
            .collect();
        if predicates.is_empty() {
            return TokenStream::new();
        }
        quote! { where #(#predicates),* }
    }

    /// The tokens of a type where the kernel's lifetimes are unknown: they become `'static`.
    fn without_lifetimes(&self, tokens: impl ToTokens) -> TokenStream {
        let generics = &self.function.sig.generics;
        crate::tokens::replace(tokens.to_token_stream(), &|is_lifetime, word| {
            let own = |parameter: &LifetimeParam| parameter.lifetime.ident == *word;
            (is_lifetime && generics.lifetimes().any(own))
                .then(|| Ident::new("static", word.span()).to_token_stream())
        })
    }

    /// On the host: the function itself, or for an instance of a generic kernel a copy that is only
    /// checked; and the entry's description.
    fn on_host(&self, instance: &Instance) -> TokenStream {
        let ItemFn {
            attrs,
            vis,
            sig,
            block,
            ..
        } = self.function;
        let (safety, name, inputs) = (&sig.safety, &sig.ident, &sig.inputs);
        let (lifetimes, predicates) = (self.lifetimes(), self.lifetime_predicates());
        let conditions = self.conditions();
        let checks = self.checks();
        let entry = self.entry(instance);
        if self.is_only_launched() {
            let (function, called) = (self.compiled(), self.called());
            return quote! {
                #function
                #called

                #(#conditions)*
                const _: () = { #checks #entry };
            };
        }
        if !self.is_generic() {
            // In the documentation the handle stands for both: otherwise links to the kernel would
            // be ambiguous, and its examples would run twice.
            let documented = self.root.is_none().then(|| quote! { doc, });
            return quote! {
                #(#attrs)*
                #[cfg(all(not(target_arch = "nvptx64"), any(#documented not(doc))))]
                #vis #safety fn #name #lifetimes (#inputs) #predicates #block

                #(#conditions)*
                const _: () = { #checks #entry };
            };
        }
        let aliases = &instance.aliases;
        let bounds = self.assert_bounds(instance);
        let attrs = (attrs.iter()).filter(|attribute| !attribute.path().is_ident("deprecated"));
        quote! {
            #(#conditions)*
            #[cfg(not(target_arch = "nvptx64"))]
            const _: () = {
                #bounds
                const _: () = {
                    #aliases
                    #(#attrs)*
                    #safety fn #name #lifetimes (#inputs) #predicates #block
                    // Used, so that the compiler reports unused code only in its body.
                    const _: () = { let _ = #name; };
                    #checks
                    #entry
                };
            };
        }
    }
}

/// The parameters of an `impl`: lifetimes, and the others with their bounds.
struct ImplGenerics<'a> {
    lifetimes: Vec<LifetimeParam>,
    others: Vec<GenericParam>,
    predicates: Vec<&'a WherePredicate>,
}

impl<'a> ImplGenerics<'a> {
    fn of(function: &'a ItemFn) -> Self {
        let generics = &function.sig.generics;
        // Marked as the macro's, because an `impl` may not use all of them.
        let own = |parameter: &LifetimeParam| {
            let mut parameter = parameter.clone();
            parameter.lifetime.ident = of_the_macro(&parameter.lifetime.ident);
            parameter
        };
        Self {
            lifetimes: generics.lifetimes().map(own).collect(),
            others: instances::parameters(generics).cloned().collect(),
            predicates: (generics.where_clause.iter())
                .flat_map(|clause| &clause.predicates)
                .collect(),
        }
    }
}

/// The same name and place, marked as the macro's: lints look only at what the user wrote.
fn of_the_macro(name: &Ident) -> Ident {
    let mut name = name.clone();
    name.set_span(name.span().resolved_at(Span::call_site()));
    name
}

/// A variable of generated code. A local variable has hygiene, but a pattern finds the user's unit
/// structs, constants and statics: `let launch = ..` would not compile beside `struct launch;`.
fn variable(name: &str) -> Ident {
    format_ident!("__{name}", span = Span::mixed_site())
}

/// A lifetime or identifier that differs from all those names.
fn fresh(wanted: &str, taken: &[String]) -> String {
    let mut name = wanted.to_owned();
    while taken.contains(&name) {
        name += "_";
    }
    name
}

fn lifetime(name: &str) -> Lifetime {
    Lifetime::new(&format!("'{name}"), Span::call_site())
}
