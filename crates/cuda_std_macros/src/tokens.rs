//! Tokens as text, spaced as a person writes them.

use proc_macro2::{Delimiter, Group, Ident, Spacing, Span, TokenStream, TokenTree};

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
    writer.text
}

struct Writer {
    text: String,
    /// What stands at both sides of an operator.
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
    /// `.` or `::`, or an operator of one operand: what follows sticks to it.
    Prefix,
    /// An operator whose operand follows after a space.
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
                        // A lifetime.
                        tokens.next();
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
                    self.operator(&operator);
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
        self.text += open;
        let generics = std::mem::take(&mut self.generics);
        self.last = Last::Nothing;
        self.write(content);
        self.generics = generics;
        self.last = Last::Operand;
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
        self.last = if matches!(word, "mut" | "const" | "dyn") && self.space.is_empty() {
            Last::Operand
        } else {
            Last::Operand
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

/// Whether `next` belongs to the operator, so that `<&` is two and `<=` is one.
fn is_operator(operator: &str, next: char) -> bool {
    const OPERATORS: [&str; 25] = [
        "::", "..", "..=", "...", "->", "=>", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "+=",
        "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<<=", ">>=", "<-",
    ];
    let joined = format!("{operator}{next}");
    OPERATORS.contains(&&*joined)
}

/// Where `'static` stands, if it does.
pub(crate) fn static_lifetime(tokens: TokenStream) -> Option<Span> {
    let mut quote = false;
    for token in tokens {
        match token {
            TokenTree::Ident(word) if quote && word == "static" => return Some(word.span()),
            TokenTree::Group(group) => {
                if let Some(span) = static_lifetime(group.stream()) {
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

/// The same with other words: each lifetime and each identifier goes through `word`, which says what to write for it.
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

/// Whether the identifier stands in the tokens, and where first.
pub(crate) fn find(tokens: TokenStream, name: &str) -> Option<Span> {
    let mut field = false;
    for token in tokens {
        match token {
            // `block.grid` does not name the grid.
            TokenTree::Ident(word) if !field && word == name => return Some(word.span()),
            TokenTree::Group(group) => {
                if let Some(span) = find(group.stream(), name) {
                    return Some(span);
                }
                field = false;
            }
            TokenTree::Punct(punct) => field = punct.as_char() == '.',
            _ => field = false,
        }
    }
    None
}
