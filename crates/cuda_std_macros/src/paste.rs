//! Names that are put together from parts: `[<atomic_load_ $width _ $scope>]`.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};

/// The tokens with each `[<…>]` as one identifier.
pub(crate) fn expand(tokens: TokenStream) -> TokenStream {
    let expanded = tokens.into_iter().map(|token| match token {
        TokenTree::Group(group) => match name(&group) {
            Some(name) => name.into(),
            None => {
                let inside = expand(group.stream());
                let delimiter = match group.delimiter() {
                    // A `macro_rules` fragment: without the group the compiler would forget that
                    // its tokens belong together.
                    Delimiter::None if inside.clone().into_iter().nth(1).is_some() => {
                        Delimiter::Parenthesis
                    }
                    delimiter => delimiter,
                };
                let mut group_of_names = Group::new(delimiter, inside);
                group_of_names.set_span(group.span());
                group_of_names.into()
            }
        },
        other => other,
    });
    expanded.collect()
}

/// The identifier of `[<…>]`.
fn name(group: &Group) -> Option<Ident> {
    if group.delimiter() != Delimiter::Bracket {
        return None;
    }
    let text = group.stream().to_string();
    let parts = text.strip_prefix('<')?.strip_suffix('>')?;
    let name: String = parts.split_whitespace().collect();
    // A part's own span, so that messages point at it.
    let span = group.stream().into_iter().nth(1)?.span();
    let is_name = syn::parse_str::<Ident>(&name).is_ok();
    is_name.then(|| Ident::new(&name, span))
}

#[cfg(test)]
mod tests {
    use super::expand;
    use quote::quote;

    #[test]
    fn parts_become_one_name_wherever_they_stand() {
        let tokens = quote! { fn [<load_ 32 _ device>]() { [<fence_ x>]([1, 2], [<y>]); } };
        let expected = quote! { fn load_32_device() { fence_x([1, 2], y); } };
        assert_eq!(expand(tokens).to_string(), expected.to_string());
    }

    #[test]
    fn other_brackets_stay() {
        let tokens = quote! { [<T as Trait>::N] };
        assert_eq!(expand(tokens.clone()).to_string(), tokens.to_string());
    }
}
