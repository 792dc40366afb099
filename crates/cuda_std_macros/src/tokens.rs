//! Tokens as text, spaced as a person would.

use proc_macro2::{Delimiter, Group, Ident, Spacing, Span, TokenStream, TokenTree};
use syn::ext::IdentExt;

/// An expression: `x.len() == y.len()`.
pub(crate) fn expression(tokens: TokenStream) -> String {
    let mut writer = Writer::new(" ");
    writer.write(tokens);
    writer.text
}

/// A type, without spaces and without lifetimes: `Option<&u32>`, `(f32,f32)`, `&mut[f32;4]`.
pub(crate) fn of_type(tokens: TokenStream) -> String {
    let mut writer = Writer::new("");
    writer.write(tokens);
    writer.text.replace("for<>", "").replace("<>", "")
}

/// All words, those of lifetimes among them.
pub(crate) fn words(tokens: TokenStream) -> Vec<String> {
    let words = tokens.into_iter().flat_map(|token| match token {
        TokenTree::Group(group) => words(group.stream()),
        TokenTree::Ident(word) => vec![word.to_string()],
        TokenTree::Literal(_) | TokenTree::Punct(_) => Vec::new(),
    });
    words.collect()
}

struct Writer {
    text: String,
    /// The space on both sides of an operator.
    space: &'static str,
    last: Last,
    /// Open `<` of generic arguments.
    generics: usize,
}

/// What was written last.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    Nothing,
    /// A word, a literal or a closed group.
    Operand,
    /// `.` or `::`, or a unary operator: what follows is not separated.
    Prefix,
    /// A binary operator, whose operand follows after a space.
    Operator,
}

impl Writer {
    fn new(space: &'static str) -> Self {
        Self {
            text: String::new(),
            space,
            last: Last::Nothing,
            generics: 0,
        }
    }

    fn write(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Group(group) => self.group(group.delimiter(), group.stream()),
                TokenTree::Ident(word) => self.word(&word.to_string()),
                TokenTree::Literal(literal) => self.word(&literal.to_string()),
                TokenTree::Punct(punct) => {
                    let mut operator = String::from(punct.as_char());
                    let mut spacing = punct.spacing();
                    if operator == "'" {
                        // A lifetime, and the comma of a list.
                        tokens.next();
                        tokens.next_if(
                            |next| matches!(next, TokenTree::Punct(next) if next.as_char() == ','),
                        );
                        continue;
                    }
                    while spacing == Spacing::Joint
                        && let Some(TokenTree::Punct(next)) = tokens.peek()
                        && next.as_char() != '\''
                        && is_operator(&operator, next.as_char())
                    {
                        operator.push(next.as_char());
                        spacing = next.spacing();
                        tokens.next();
                    }
                    let of_macro = operator == "!"
                        && self.last == Last::Operand
                        && matches!(tokens.peek(), Some(TokenTree::Group(_)));
                    if of_macro {
                        self.text += "!";
                        self.last = Last::Prefix;
                    } else {
                        self.operator(&operator);
                    }
                }
            }
        }
    }

    fn group(&mut self, delimiter: Delimiter, content: TokenStream) {
        let (open, close) = match delimiter {
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::Brace => ("{", "}"),
            Delimiter::None => ("", ""),
        };
        if self.last == Last::Operator
            || delimiter == Delimiter::Brace && self.last == Last::Operand
        {
            self.text += self.space;
        }
        let inner = if delimiter == Delimiter::Brace {
            self.space
        } else {
            ""
        };
        self.text += open;
        self.text += inner;
        let generics = std::mem::take(&mut self.generics);
        self.last = Last::Nothing;
        self.write(content);
        self.generics = generics;
        self.last = Last::Operand;
        self.text += inner;
        self.text += close;
    }

    fn word(&mut self, word: &str) {
        match self.last {
            // Two words, as in `&mut x` and `x as u32`, are always apart.
            Last::Operand
                if self
                    .text
                    .ends_with(|c: char| c.is_alphanumeric() || c == '_') =>
            {
                self.text += " ";
            }
            Last::Operator | Last::Operand => self.text += self.space,
            Last::Nothing | Last::Prefix => {}
        }
        self.text += word;
        self.last = match word {
            "if" | "else" | "match" | "in" | "as" => Last::Operator,
            _ => Last::Operand,
        };
    }

    fn operator(&mut self, operator: &str) {
        let after_operand = self.last == Last::Operand;
        self.last = match operator {
            "." | "::" | ".." | "..=" => {
                self.text += operator;
                Last::Prefix
            }
            "," | ";" => {
                self.text += operator;
                Last::Operator
            }
            "<" if self.text.ends_with("::") || self.space.is_empty() => {
                self.generics += 1;
                self.text += operator;
                Last::Prefix
            }
            ">" if self.generics > 0 => {
                self.generics -= 1;
                self.text += operator;
                Last::Operand
            }
            "!" | "-" | "*" | "&" | "&&" | "#" | "?" if !after_operand || operator == "?" => {
                if self.last == Last::Operator {
                    self.text += self.space;
                }
                self.text += operator;
                if operator == "?" {
                    Last::Operand
                } else {
                    Last::Prefix
                }
            }
            _ => {
                self.text += self.space;
                self.text += operator;
                Last::Operator
            }
        };
    }
}

/// Whether `next` continues the operator, so that `<&` is two operators and `<=` is one.
fn is_operator(operator: &str, next: char) -> bool {
    const OPERATORS: [&str; 25] = [
        "::", "..", "..=", "...", "->", "=>", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "+=",
        "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<<=", ">>=", "<-",
    ];
    let joined = format!("{operator}{next}");
    OPERATORS.contains(&&*joined)
}

/// The position of `'static`, if it occurs.
pub(crate) fn static_lifetime(tokens: TokenStream) -> Option<Span> {
    lifetime(tokens, &|name| name == "static")
}

/// The position of a named lifetime, if one occurs.
pub(crate) fn named_lifetime(tokens: TokenStream) -> Option<Span> {
    lifetime(tokens, &|name| name != "_")
}

fn lifetime(tokens: TokenStream, wanted: &impl Fn(&Ident) -> bool) -> Option<Span> {
    let mut quote = false;
    for token in tokens {
        match token {
            TokenTree::Ident(word) if quote && wanted(&word) => return Some(word.span()),
            TokenTree::Group(group) => {
                if let Some(span) = lifetime(group.stream(), wanted) {
                    return Some(span);
                }
                quote = false;
            }
            TokenTree::Punct(punct) => quote = punct.as_char() == '\'',
            _ => quote = false,
        }
    }
    None
}

/// The same tokens with other words: `word` gives the replacement of each lifetime and identifier.
pub(crate) fn replace(
    tokens: TokenStream,
    word: &impl Fn(bool, &Ident) -> Option<TokenStream>,
) -> TokenStream {
    let mut replaced = TokenStream::new();
    let mut quote = false;
    for token in tokens {
        let lifetime = std::mem::replace(&mut quote, false);
        match token {
            TokenTree::Ident(ident) => match word(lifetime, &ident) {
                Some(other) => replaced.extend(other),
                None => replaced.extend([TokenTree::Ident(ident)]),
            },
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), replace(group.stream(), word));
                inner.set_span(group.span());
                replaced.extend([TokenTree::Group(inner)]);
            }
            other => {
                quote = matches!(&other, TokenTree::Punct(punct) if punct.as_char() == '\'');
                replaced.extend([other]);
            }
        }
    }
    replaced
}

/// The same words at the same positions, marked as written by the attribute.
pub(crate) fn generated(tokens: TokenStream) -> TokenStream {
    let own = |mut token: TokenTree| {
        token.set_span(token.span().resolved_at(Span::call_site()));
        token
    };
    tokens.into_iter().map(own).collect()
}

/// The position of the first wanted identifier, if one occurs.
pub(crate) fn find_word(tokens: TokenStream, wanted: &impl Fn(&Ident) -> bool) -> Option<Span> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(word) => wanted(&word).then(|| word.span()),
        TokenTree::Group(group) => find_word(group.stream(), wanted),
        _ => None,
    })
}

/// The position of the first occurrence of the identifier, if any.
pub(crate) fn find(tokens: TokenStream, name: &str) -> Option<Span> {
    let (mut field, mut range) = (false, false);
    for token in tokens {
        let dot = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '.');
        match token {
            // `block.grid` does not name the grid; `1..grid` does.
            TokenTree::Ident(word) if !field && word.unraw() == name => return Some(word.span()),
            TokenTree::Group(group) => {
                if let Some(span) = find(group.stream(), name) {
                    return Some(span);
                }
            }
            _ => {}
        }
        (field, range) = (dot && !field && !range, dot && (field || range));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{expression, find, named_lifetime, of_type, replace, static_lifetime};
    use proc_macro2::TokenStream;

    fn tokens(text: &str) -> TokenStream {
        text.parse().unwrap()
    }

    #[test]
    fn expressions_are_spaced_as_a_person_writes_them() {
        for text in [
            "x.len() == y.len()",
            "block.x % 32 == 0",
            "!x.is_empty() && n > -1",
            "(a + b) * 2 <= c",
            "a as usize * N == x.len()",
            "fits(&x, n, *p)",
            "[1, 2].contains(&n)",
            "core::mem::size_of::<f32>() == 4",
            "Policy::of::<T, 4>().rows == 1",
            "matches!(n, 1 | 2)",
            "(1..=4).contains(&n)",
            "a && !b || c",
            "x >> 2 != y << 1",
            "if a { b } else { c }",
        ] {
            assert_eq!(expression(tokens(&text.replace(' ', "  "))), text);
        }
    }

    #[test]
    fn types_have_no_spaces_and_no_lifetimes() {
        for (text, expected) in [
            ("Option < & 'a u32 >", "Option<&u32>"),
            ("Pair<'a, T>", "Pair<T>"),
            ("Borrowed<'_>", "Borrowed"),
            ("for<'a> fn(&'a u8)", "fn(&u8)"),
            ("(f32, f32)", "(f32,f32)"),
            ("& mut [f32; 2 * N]", "&mut[f32;2*N]"),
            ("* const T", "*const T"),
            ("fn(u32, & u8) -> u32", "fn(u32,&u8)->u32"),
            ("a::B<C, { N + 1 }>", "a::B<C,{N+1}>"),
            ("Vec<Vec<f32>>", "Vec<Vec<f32>>"),
            ("&dyn Shape", "&dyn Shape"),
        ] {
            assert_eq!(of_type(tokens(text)), expected);
        }
    }

    #[test]
    fn words_are_found_unless_they_are_fields() {
        assert!(find(tokens("grid.x > 1"), "grid").is_some());
        assert!(find(tokens("f(&[grid.x])"), "grid").is_some());
        assert!(find(tokens("x.grid > 1"), "grid").is_none());
        assert!(find(tokens("(1..grid).contains(&n)"), "grid").is_some());
        assert!(find(tokens("(1..=grid).contains(&n)"), "grid").is_some());
        assert!(find(tokens("(..r#grid).contains(&n)"), "grid").is_some());
        assert!(find(tokens("(x.0..x.grid).contains(&n)"), "grid").is_none());
        assert!(find(tokens("n > 1"), "grid").is_none());
    }

    #[test]
    fn lifetimes_are_told_from_words() {
        assert!(static_lifetime(tokens("Out<'static, f32>")).is_some());
        assert!(static_lifetime(tokens("Out<'a, f32>")).is_none());
        assert!(named_lifetime(tokens("Shared<'a, [f32]>")).is_some());
        assert!(named_lifetime(tokens("Shared<'_, [f32]>")).is_none());
        let replaced = replace(tokens("Pair<'a, a>"), &|is_lifetime, word| {
            (is_lifetime && word == "a").then(|| tokens("b"))
        });
        assert_eq!(of_type(replaced.clone()), "Pair<a>");
        assert!(replaced.to_string().contains("'b"));
    }
}
