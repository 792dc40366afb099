//! The entry points of a kernel: one, or one for each instance of a generic one.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{
    Error, Expr, GenericArgument, GenericParam, Generics, LitStr, PathArguments, Result, Signature,
    Type,
};

use super::of_the_macro;
use super::options::{Argument, Options};
use crate::tokens;

/// One entry point.
pub(super) struct Instance {
    /// Its name in the PTX.
    pub(super) entry: String,
    /// The type and constant arguments.
    pub(super) arguments: Vec<TokenStream>,
    /// `type T = f32; const N: usize = 4;`
    pub(super) aliases: TokenStream,
    /// What replaces each parameter in the text of a type.
    pub(super) texts: Vec<(String, String)>,
    /// Its entry in `min_blocks`.
    pub(super) min_blocks: Option<u32>,
}

/// The kernel's type and const parameters.
pub(super) fn parameters(generics: &Generics) -> impl Iterator<Item = &GenericParam> {
    let is_lifetime = |parameter: &GenericParam| matches!(parameter, GenericParam::Lifetime(_));
    (generics.params.iter()).filter(move |parameter| !is_lifetime(parameter))
}

pub(super) fn all(sig: &Signature, options: &Options) -> Result<Vec<Instance>> {
    let mut instances = named(sig, options)?;
    let Some(blocks) = &options.min_blocks else {
        return Ok(instances);
    };
    let count = instances.len();
    if blocks.len() != 1 && blocks.len() != count {
        let numbers = blocks.len();
        let message = format!(
            "`min_blocks` has {numbers} numbers for {count} instance{}: give one for all, or one for each",
            if count == 1 { "" } else { "s" },
        );
        return Err(Error::new_spanned(&sig.ident, message));
    }
    for (instance, &blocks) in instances.iter_mut().zip(blocks.iter().cycle()) {
        instance.min_blocks = Some(blocks);
    }
    Ok(instances)
}

fn named(sig: &Signature, options: &Options) -> Result<Vec<Instance>> {
    let parameters: Vec<_> = parameters(&sig.generics).collect();
    let Some(products) = &options.instances else {
        if !parameters.is_empty() {
            return Err(Error::new_spanned(
                &sig.generics,
                "a generic kernel names its entry points: `#[kernel(instances(f32, f64))]`, or `instances((f32, 4), (f64, 8))` for two parameters",
            ));
        }
        return Ok(vec![Instance {
            entry: entry_name(sig, options, &[])?,
            arguments: Vec::new(),
            aliases: TokenStream::new(),
            texts: Vec::new(),
            min_blocks: None,
        }]);
    };
    if parameters.is_empty() {
        return Err(Error::new_spanned(
            &sig.ident,
            "a kernel without type and const parameters has one entry point: it takes no `instances(..)`",
        ));
    }
    let mut instances: Vec<Instance> = Vec::new();
    for arguments in products.iter().flat_map(|columns| product(columns)) {
        let instance = Instance::new(sig, options, &parameters, &arguments)?;
        if instances.iter().any(|other| other.entry == instance.entry) {
            return Err(Error::new_spanned(
                &sig.ident,
                format!(
                    "two instances would have the entry point `{}`: give a pattern that tells them apart, such as `name = \"{}_{{{}}}\"`",
                    instance.entry,
                    sig.ident,
                    name_of(parameters[0]),
                ),
            ));
        }
        instances.push(instance);
    }
    Ok(instances)
}

/// Every combination of one item per column, the last column fastest.
fn product(columns: &[Vec<Argument>]) -> Vec<Vec<Argument>> {
    columns.iter().fold(vec![Vec::new()], |rows, column| {
        let longer = |row: Vec<Argument>| {
            column.iter().map(move |argument| {
                let mut row = row.clone();
                row.push(argument.clone());
                row
            })
        };
        rows.into_iter().flat_map(longer).collect()
    })
}

fn name_of(parameter: &GenericParam) -> String {
    match parameter {
        GenericParam::Type(parameter) => parameter.ident.to_string(),
        GenericParam::Const(parameter) => parameter.ident.to_string(),
        GenericParam::Lifetime(parameter) => parameter.lifetime.to_string(),
    }
}

impl Instance {
    fn new(
        sig: &Signature,
        options: &Options,
        parameters: &[&GenericParam],
        written: &[Argument],
    ) -> Result<Self> {
        if written.len() != parameters.len() {
            let names: Vec<_> = (parameters.iter())
                .map(|parameter| format!("`{}`", name_of(parameter)))
                .collect();
            let given = written.iter().map(Argument::tokens);
            return Err(Error::new_spanned(
                quote!(#(#given),*),
                format!(
                    "an instance of this kernel has {} argument{}, for {}; here {} {} given",
                    parameters.len(),
                    if parameters.len() == 1 { "" } else { "s" },
                    names.join(" and "),
                    written.len(),
                    if written.len() == 1 { "is" } else { "are" },
                ),
            ));
        }
        let mut instance = Self {
            entry: String::new(),
            arguments: Vec::new(),
            aliases: TokenStream::new(),
            texts: Vec::new(),
            min_blocks: None,
        };
        let mut words = Vec::new();
        for (parameter, written) in parameters.iter().zip(written) {
            refuse_own_name(parameters, written)?;
            let tokens = match (parameter, written) {
                (GenericParam::Type(parameter), Argument::Type(ty)) => {
                    let ident = of_the_macro(&parameter.ident);
                    instance.aliases.extend(quote! { type #ident = #ty; });
                    quote!(#ty)
                }
                (GenericParam::Const(parameter), value) => {
                    let (ident, ty) = (of_the_macro(&parameter.ident), &parameter.ty);
                    let value = value.value();
                    instance
                        .aliases
                        .extend(quote! { const #ident: #ty = #value; });
                    quote!({ #value })
                }
                (parameter, value) => {
                    return Err(Error::new_spanned(
                        value.tokens(),
                        format!(
                            "`{}` is a type parameter: its argument is a type",
                            name_of(parameter)
                        ),
                    ));
                }
            };
            let word = match parameter {
                GenericParam::Const(_) => written.word(),
                _ => written.word().to_ascii_lowercase(),
            };
            words.push((name_of(parameter), word));
            instance
                .texts
                .push((name_of(parameter), tokens::of_type(written.tokens())));
            instance.arguments.push(tokens);
        }
        instance.entry = entry_name(sig, options, &words)?;
        Ok(instance)
    }
}

/// `type T = T` would be circular.
fn refuse_own_name(parameters: &[&GenericParam], argument: &Argument) -> Result<()> {
    let text = argument.tokens().to_string();
    if parameters
        .iter()
        .any(|parameter| name_of(parameter) == text)
    {
        return Err(Error::new_spanned(
            argument.tokens(),
            format!(
                "`{text}` is also the name of a parameter of the kernel: rename one of the two"
            ),
        ));
    }
    Ok(())
}

/// The name by the pattern; without one, the kernel's name and the words.
fn entry_name(sig: &Signature, options: &Options, words: &[(String, String)]) -> Result<String> {
    let kernel = sig.ident.to_string();
    let kernel = kernel.trim_start_matches("r#");
    let Some(pattern) = &options.name else {
        let name = (words.iter()).fold(kernel.to_owned(), |name, (_, word)| name + "_" + word);
        if !name.is_ascii() {
            let pattern: String = (parameters(&sig.generics))
                .map(|parameter| format!("_{{{}}}", name_of(parameter)))
                .collect();
            let ascii: String = kernel.chars().filter(char::is_ascii).collect();
            let message = format!(
                "`{name}` is no name for PTX, which knows ASCII letters, digits and `_` only: give the entry point one, as in \
                 `#[kernel(name = \"{ascii}{pattern}\")]`"
            );
            return Err(Error::new_spanned(&sig.ident, message));
        }
        return Ok(name);
    };
    let name = fill(pattern, words)?;
    let valid = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !valid {
        return Err(Error::new(
            pattern.span(),
            format!("`{name}` is no name of an entry point: letters, digits and `_` make one"),
        ));
    }
    Ok(name)
}

fn fill(pattern: &LitStr, words: &[(String, String)]) -> Result<String> {
    let text = pattern.value();
    let mut name = String::new();
    let mut rest = &*text;
    while let Some((before, after)) = rest.split_once('{') {
        let refuse = |message: String| Err(Error::new(pattern.span(), message));
        let Some((parameter, after)) = after.split_once('}') else {
            return refuse("a `{` of the pattern has no `}`".to_owned());
        };
        let Some((_, word)) = words.iter().find(|(name, _)| name == parameter) else {
            return refuse(format!(
                "the kernel has no type or const parameter `{parameter}`"
            ));
        };
        name = name + before + word;
        rest = after;
    }
    Ok(name + rest)
}

impl Argument {
    fn tokens(&self) -> TokenStream {
        match self {
            Argument::Type(ty) => ty.to_token_stream(),
            Argument::Const(value) => value.to_token_stream(),
        }
    }

    /// A constant's value, in a form that needs no braces.
    fn value(&self) -> TokenStream {
        match self {
            Argument::Const(Expr::Block(block)) => match &*block.block.stmts {
                [syn::Stmt::Expr(value, None)] => value.to_token_stream(),
                _ => self.tokens(),
            },
            _ => self.tokens(),
        }
    }

    /// Its word in a name.
    fn word(&self) -> String {
        let text = match self {
            Argument::Type(ty) => word_of_type(ty),
            Argument::Const(Expr::Block(block)) => match &*block.block.stmts {
                [syn::Stmt::Expr(Expr::Path(path), None)] => last_segment(&path.path),
                _ => self.tokens().to_string(),
            },
            Argument::Const(value) => value.to_token_stream().to_string(),
        };
        let text = text.replace(' ', "").replace('-', "m");
        let parts = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        parts
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("_")
    }
}

fn last_segment(path: &syn::Path) -> String {
    path.segments
        .last()
        .map(|segment| segment.ident.to_string())
        .unwrap_or_default()
}

/// The last segment of a path and its arguments' words.
fn word_of_type(ty: &Type) -> String {
    match ty {
        Type::Path(path) => {
            let mut word = last_segment(&path.path);
            if let Some(PathArguments::AngleBracketed(list)) =
                path.path.segments.last().map(|segment| &segment.arguments)
            {
                for argument in &list.args {
                    let argument = match argument {
                        GenericArgument::Type(ty) => word_of_type(ty),
                        GenericArgument::Const(value) => value.to_token_stream().to_string(),
                        _ => continue,
                    };
                    word = word + "_" + &argument;
                }
            }
            word
        }
        Type::Array(array) => {
            let length = array.len.to_token_stream().to_string();
            word_of_type(&array.elem) + "_" + &length
        }
        Type::Tuple(tuple) => tuple
            .elems
            .iter()
            .map(word_of_type)
            .collect::<Vec<_>>()
            .join("_"),
        Type::Paren(inner) => word_of_type(&inner.elem),
        Type::Group(inner) => word_of_type(&inner.elem),
        other => tokens::of_type(other.to_token_stream()),
    }
}
