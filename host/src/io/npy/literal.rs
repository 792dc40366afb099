//! The Python literals that occur in headers: strings, numbers, `True`, `False`, `None`, tuples,
//! lists and dictionaries.

/// How deeply NumPy nests the field names of a record array.
const DEEPEST: usize = 32;

/// A value as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    Text(String),
    Bool(bool),
    None,
    /// The digits of an integer, with its sign. Python's have no limit.
    Integer(String),
    Tuple(Vec<Literal>),
    List(Vec<Literal>),
    Dictionary(Vec<(Literal, Literal)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// Not a literal, or one followed by something else.
    Syntax,
    /// Nested more deeply than any header.
    Deep,
}

impl Literal {
    /// Reads a text that is one literal.
    pub(super) fn parse(text: &str) -> Result<Self, Broken> {
        let mut rest = Rest {
            text: text.trim_start(),
            depth: 0,
        };
        let value = rest.literal()?;
        match rest.text {
            "" => Ok(value),
            _ => Err(Broken::Syntax),
        }
    }
}

/// The rest of the text; never starts with white space.
struct Rest<'t> {
    text: &'t str,
    depth: usize,
}

impl Rest<'_> {
    fn literal(&mut self) -> Result<Literal, Broken> {
        let Some(first) = self.text.chars().next() else {
            return Err(Broken::Syntax);
        };
        match first {
            '(' => {
                let (mut items, comma) = self.sequence(')', Self::literal)?;
                // Parentheses around one value are not a tuple.
                match (items.len(), comma) {
                    (1, false) => Ok(items.remove(0)),
                    _ => Ok(Literal::Tuple(items)),
                }
            }
            '[' => Ok(Literal::List(self.sequence(']', Self::literal)?.0)),
            '{' => {
                let entry = |rest: &mut Self| {
                    let key = rest.literal()?;
                    rest.word(":").ok_or(Broken::Syntax)?;
                    Ok((key, rest.literal()?))
                };
                Ok(Literal::Dictionary(self.sequence('}', entry)?.0))
            }
            '0'..='9' | '-' | '+' => self.integer(),
            _ => {
                for (word, value) in [
                    ("True", Literal::Bool(true)),
                    ("False", Literal::Bool(false)),
                    ("None", Literal::None),
                ] {
                    if self.word(word).is_some() {
                        return Ok(value);
                    }
                }
                // Prefixes without effect here. (With `r` a backslash would be literal, but no
                // writer uses that.)
                let _ = self.word("u").or_else(|| self.word("b"));
                self.string()
            }
        }
    }

    /// Skips a word and the white space after it.
    fn word(&mut self, word: &str) -> Option<()> {
        self.text = self.text.strip_prefix(word)?.trim_start();
        Some(())
    }

    /// The items up to `end`, and whether a comma follows the last one.
    fn sequence<T>(
        &mut self,
        end: char,
        mut item: impl FnMut(&mut Self) -> Result<T, Broken>,
    ) -> Result<(Vec<T>, bool), Broken> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Broken::Deep);
        }
        // The opening bracket, one byte long.
        self.text = self.text[1..].trim_start();
        let (mut items, mut comma) = (Vec::new(), true);
        while !self.text.starts_with(end) {
            if !comma {
                return Err(Broken::Syntax);
            }
            items.push(item(self)?);
            comma = self.word(",").is_some();
        }
        self.text = self.text[1..].trim_start();
        self.depth -= 1;
        Ok((items, comma))
    }

    fn integer(&mut self) -> Result<Literal, Broken> {
        let sign = usize::from(self.text.starts_with(['+', '-']));
        let digits = self.text[sign..]
            .find(|next: char| !next.is_ascii_digit())
            .unwrap_or(self.text.len() - sign);
        let (number, rest) = self.text.split_at(sign + digits);
        // The suffix of Python 2's long integers.
        let rest = rest.strip_prefix('L').unwrap_or(rest);
        let goes_on = |next: char| next == '.' || next == '_' || next.is_alphanumeric();
        if digits == 0 || rest.starts_with(goes_on) {
            return Err(Broken::Syntax);
        }
        self.text = rest.trim_start();
        Ok(Literal::Integer(number.trim_start_matches('+').to_owned()))
    }

    fn string(&mut self) -> Result<Literal, Broken> {
        let mut characters = self.text.chars();
        let quote = (characters.next())
            .filter(|quote| matches!(quote, '\'' | '"'))
            .ok_or(Broken::Syntax)?;
        let mut text = String::new();
        loop {
            match characters.next().ok_or(Broken::Syntax)? {
                end if end == quote => break,
                '\n' | '\r' => return Err(Broken::Syntax),
                '\\' => match characters.next().ok_or(Broken::Syntax)? {
                    same @ ('\\' | '\'' | '"') => text.push(same),
                    'n' => text.push('\n'),
                    'r' => text.push('\r'),
                    't' => text.push('\t'),
                    // Occurs in field names only: kept as written.
                    other => text.extend(['\\', other]),
                },
                other => text.push(other),
            }
        }
        self.text = characters.as_str().trim_start();
        Ok(Literal::Text(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integer(digits: &str) -> Literal {
        Literal::Integer(digits.to_owned())
    }

    fn text(text: &str) -> Literal {
        Literal::Text(text.to_owned())
    }

    #[test]
    fn each_kind_of_literal() {
        for (written, expected) in [
            ("  'a b' ", text("a b")),
            (r#""it's""#, text("it's")),
            (r"'it\'s'", text("it's")),
            (r"'\x41\\'", text(r"\x41\")),
            ("u'<f8'", text("<f8")),
            ("b'<f8'", text("<f8")),
            ("True", Literal::Bool(true)),
            ("False", Literal::Bool(false)),
            ("None", Literal::None),
            ("12L", integer("12")),
            ("-3", integer("-3")),
            ("+3", integer("3")),
            ("()", Literal::Tuple(vec![])),
            ("(7)", integer("7")),
            ("(7,)", Literal::Tuple(vec![integer("7")])),
            (
                "( 7L , 8L )",
                Literal::Tuple(vec![integer("7"), integer("8")]),
            ),
            (
                "['x', (1,),]",
                Literal::List(vec![text("x"), Literal::Tuple(vec![integer("1")])]),
            ),
            (
                "{'a': 1, 'b': {},}",
                Literal::Dictionary(vec![
                    (text("a"), integer("1")),
                    (text("b"), Literal::Dictionary(vec![])),
                ]),
            ),
        ] {
            assert_eq!(Literal::parse(written), Ok(expected), "{written}");
        }
    }

    #[test]
    fn what_is_no_literal() {
        for written in [
            "",
            "'",
            "'a",
            "'a' 'b'",
            "(1",
            "1)",
            "(,)",
            "(1,,2)",
            "(1 2)",
            "{'a'}",
            "{'a': }",
            "[1}",
            "1.5",
            "1_0",
            "0x10",
            "1e3",
            "12LL",
            "-",
            "Truer",
            "nan",
            "f()",
            "r'a'",
            "'a\nb'",
            "{'a': 1} {}",
            "é",
            "(é",
            "1é",
        ] {
            assert_eq!(Literal::parse(written), Err(Broken::Syntax), "{written}");
        }
        let deep = |depth| format!("{}{}", "(".repeat(depth), ")".repeat(depth));
        assert!(Literal::parse(&deep(DEEPEST)).is_ok());
        assert_eq!(Literal::parse(&deep(DEEPEST + 1)), Err(Broken::Deep));
        assert_eq!(Literal::parse(&"(".repeat(1 << 20)), Err(Broken::Deep));
    }
}
