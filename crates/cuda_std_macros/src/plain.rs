//! `#[derive(Plain)]`: a struct whose bytes host and device read alike.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, Ident, Path, Result};

use crate::cuda_std;

/// The first step: finds cuda_std, whose macro calls the second.
pub(crate) fn begin(item: TokenStream) -> Result<TokenStream> {
    let parsed: DeriveInput = syn::parse2(item.clone())?;
    let path = match attributes(&parsed)?.path {
        Some(path) => quote!(#path),
        None => cuda_std::path().unwrap_or_else(|| quote! { ::cuda_std }),
    };
    Ok(quote! { #path::__plain! { #item } })
}

/// `path` is the path of cuda_std in generated code.
pub(crate) fn expand(path: &TokenStream, item: TokenStream) -> Result<TokenStream> {
    let item: DeriveInput = syn::parse2(item)?;
    let name = &item.ident;
    let fields = match &item.data {
        Data::Struct(data) => &data.fields,
        Data::Enum(data) => {
            return Err(Error::new_spanned(
                data.enum_token,
                "an enum is not plain: only some of its numbers are values; pass a number",
            ));
        }
        Data::Union(data) => {
            return Err(Error::new_spanned(
                data.union_token,
                "a union is not plain: its name would not say which field is meant",
            ));
        }
    };
    if !item.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &item.generics,
            "a plain struct has no parameters: its name in the PTX must say its layout",
        ));
    }
    if fields.is_empty() {
        return Err(Error::new_spanned(
            name,
            "a struct without fields has nothing to pass",
        ));
    }
    let Attributes { align, .. } = attributes(&item)?;
    let core = quote! { #path::__private::core };
    let types: Vec<_> = fields.iter().map(|field| &field.ty).collect();
    let checks = types.iter().map(|ty| {
        quote_spanned! { ty.span() => #path::launch::is_plain::<#ty>(); }
    });
    let parts = names(fields).into_iter().zip(&types).map(|(name, ty)| {
        quote! { #name, <#ty as #path::launch::Plain>::NAME }
    });
    let (head, tail) = (
        name.to_string(),
        align.map_or("}".to_owned(), |align| format!("}}@{align}")),
    );
    let padding = format!(
        "`{name}` has padding, whose bytes have no value: order its fields by size, or fill the gaps with fields of their own"
    );
    let fields_are_these = fields_are_these(name, fields, align, &core);
    Ok(quote! {
        const _: () = {
            #(#checks)*
            #core::assert!(#core::mem::size_of::<#name>() == 0 #(+ #core::mem::size_of::<#types>())*, #padding);
            #fields_are_these
            const __PLAIN_PARTS: &[&#core::primitive::str] = &[#head, #(#parts,)* #tail];
            const __PLAIN_NAME: [#core::primitive::u8; #path::launch::length(__PLAIN_PARTS)] = #path::launch::join(__PLAIN_PARTS);
            // SAFETY: all fields are plain, in C's order and without padding; the name lists them
            // all.
            unsafe impl #path::launch::Plain for #name {
                const NAME: &'static #core::primitive::str = #path::launch::text(&__PLAIN_NAME);
            }
        };
    })
}

/// Fails to compile unless the struct has these fields, in this order, and this alignment: any code
/// can call the macro that generates this from a struct, and pass it another one.
fn fields_are_these(
    name: &Ident,
    fields: &Fields,
    align: Option<u32>,
    core: &TokenStream,
) -> TokenStream {
    let types: Vec<_> = fields.iter().map(|field| &field.ty).collect();
    let members: Vec<_> = fields.members().collect();
    let values: Vec<_> = (0..types.len())
        .map(|index| format_ident!("__field_{index}", span = Span::mixed_site()))
        .collect();
    let offsets = members.iter().enumerate().map(|(index, member)| {
        let before = &types[..index];
        quote! { #core::mem::offset_of!(#name, #member) == 0 #(+ #core::mem::size_of::<#before>())* }
    });
    let aligned = align.map(
        |align| quote! { || #core::mem::align_of::<#name>() == #align as #core::primitive::usize },
    );
    let other = format!("`{name}` is another struct: `#[derive(Plain)]` stands at its definition");
    quote! {
        let _ = |#name { #(#members: #values),* }: #name| { #(let _: #types = #values;)* };
        #core::assert!(
            (false #(|| #core::mem::align_of::<#types>() == #core::mem::align_of::<#name>())* #aligned)
                #(&& #offsets)*,
            #other
        );
    }
}

/// `{gain:` of the first field, `,bias:` of others.
fn names(fields: &Fields) -> Vec<String> {
    let name = |(index, field): (usize, &syn::Field)| {
        let name = match &field.ident {
            Some(name) => name.to_string(),
            None => index.to_string(),
        };
        format!("{}{name}:", if index == 0 { "{" } else { "," })
    };
    fields.iter().enumerate().map(name).collect()
}

struct Attributes {
    /// The requested alignment.
    align: Option<u32>,
    /// `#[plain(crate = path)]`.
    path: Option<Path>,
}

fn attributes(item: &DeriveInput) -> Result<Attributes> {
    let mut found = Attributes {
        align: None,
        path: None,
    };
    let mut ordered = false;
    for attribute in &item.attrs {
        if attribute.path().is_ident("plain") {
            attribute.parse_nested_meta(|meta| {
                if !meta.path.is_ident("crate") {
                    return Err(meta.error("expected `crate = path`"));
                }
                found.path = Some(meta.value()?.call(Path::parse_mod_style)?);
                Ok(())
            })?;
        }
        if attribute.path().is_ident("repr") {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("C") || meta.path.is_ident("transparent") {
                    ordered = true;
                } else if meta.path.is_ident("align") {
                    let content;
                    syn::parenthesized!(content in meta.input);
                    found.align = Some(content.parse::<syn::LitInt>()?.base10_parse()?);
                } else {
                    return Err(meta.error(
                        "a plain struct is `repr(C)` or `repr(transparent)`, without `packed`",
                    ));
                }
                Ok(())
            })?;
        }
    }
    if !ordered {
        return Err(Error::new_spanned(
            &item.ident,
            "a plain struct needs `#[repr(C)]` or `#[repr(transparent)]`: without it the compiler may order the fields anew",
        ));
    }
    Ok(found)
}
