//! Reads expressions, with Rust's precedence.

use super::{Binary, Expression, Part, Place, Unary};
use crate::element::Evaluated;

/// Bounds the recursion: `depth` is at most this times the length of [`LEVELS`]. A parenthesis or
/// an index adds 10 to it, a unary sign 1.
const DEEPEST: u32 = 32;

/// The signs of binary operations except [`PRODUCTS`], which bind most. The loosest level comes
/// first. Within a level, `<=` comes before `<`, since the first sign that fits is taken.
const LEVELS: [&[(&str, Binary)]; 8] = [
    &[("||", Binary::Or)],
    &[("&&", Binary::And)],
    &[
        ("==", Binary::Equal),
        ("!=", Binary::Different),
        ("<=", Binary::LessOrEqual),
        (">=", Binary::GreaterOrEqual),
        ("<", Binary::Less),
        (">", Binary::Greater),
    ],
    &[("|", Binary::BitOr)],
    &[("^", Binary::BitXor)],
    &[("&", Binary::BitAnd)],
    &[("<<", Binary::Left), (">>", Binary::Right)],
    &[("+", Binary::Add), ("-", Binary::Subtract)],
];

const PRODUCTS: &[(&str, Binary)] = &[
    ("*", Binary::Multiply),
    ("/", Binary::Divide),
    ("%", Binary::Remainder),
];

impl Expression {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut reader = Reader {
            rest: text.trim(),
            depth: 0,
        };
        if reader.rest.is_empty() {
            return Err("there is no expression".to_owned());
        }
        let expression = reader.binary(0)?;
        match reader.rest {
            "" => Ok(expression),
            rest if rest.starts_with('=') => {
                Err("`=` changes nothing here; `==` compares".to_owned())
            }
            rest => Err(format!("`{rest}` does not belong to an expression")),
        }
    }
}

struct Reader<'a> {
    /// What is left, without spaces before it.
    rest: &'a str,
    depth: u32,
}

impl<'a> Reader<'a> {
    fn accept(&mut self, sign: &str) -> bool {
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        match (self.accept(sign), self.rest) {
            (true, _) => Ok(()),
            (false, "") => Err(format!("`{sign}` is missing at the end")),
            (false, rest) => Err(format!("`{sign}` is missing before `{rest}`")),
        }
    }

    /// Operations of a level and of those that bind more.
    fn binary(&mut self, level: usize) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > DEEPEST * LEVELS.len() as u32 {
            return Err("the expression is nested too deeply".to_owned());
        }
        let signs = LEVELS.get(level).copied();
        let mut left = self.operand(level)?;
        while let Some(sign) = self.sign(signs.unwrap_or(PRODUCTS)) {
            let right = self.operand(level)?;
            left = Expression::Binary(sign, Box::new(left), Box::new(right));
            if sign.compares() && self.sign(LEVELS[2]).is_some() {
                return Err("comparisons are not chained: join them with `&&`".to_owned());
            }
        }
        self.depth -= 1;
        Ok(left)
    }

    fn operand(&mut self, level: usize) -> Result<Expression, String> {
        if level < LEVELS.len() {
            self.binary(level + 1)
        } else {
            self.cast()
        }
    }

    fn sign(&mut self, signs: &[(&str, Binary)]) -> Option<Binary> {
        // `||` is not `|` twice: where the text begins with one of these, only signs of its length
        // fit.
        let others = ["&&", "||", "<<", ">>"];
        let longer = others.iter().find(|other| self.rest.starts_with(**other));
        let mut fits = signs.iter().filter(|&&(sign, _)| {
            self.rest.starts_with(sign) && longer.is_none_or(|longer| sign.len() == longer.len())
        });
        let &(sign, binary) = fits.next()?;
        self.accept(sign).then_some(binary)
    }

    fn cast(&mut self) -> Result<Expression, String> {
        let mut of = self.unary()?;
        while let Some(rest) = self.rest.strip_prefix("as")
            && rest.starts_with(char::is_whitespace)
        {
            self.rest = rest.trim_start();
            of = Expression::Cast(Box::new(of), self.word().parse()?);
        }
        Ok(of)
    }

    fn unary(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > DEEPEST * LEVELS.len() as u32 {
            return Err("the expression is nested too deeply".to_owned());
        }
        let sign = match () {
            () if self.accept("!") => Some(Unary::Not),
            () if self.accept("-") => Some(Unary::Negative),
            () => None,
        };
        let of = match sign {
            Some(sign) => Expression::Unary(sign, Box::new(self.unary()?)),
            // A value and a reference to it are the same here.
            None if self.accept("*") || self.accept("&") => self.unary()?,
            None => self.primary()?,
        };
        self.depth -= 1;
        Ok(of)
    }

    fn primary(&mut self) -> Result<Expression, String> {
        if self.accept("(") {
            let inner = self.binary(0)?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.rest.starts_with(|first: char| first.is_ascii_digit()) {
            return self.number().map(Expression::Known);
        }
        if !self.rest.starts_with(starts_name) {
            return Err(match self.rest {
                "" => "a value is missing at the end".to_owned(),
                rest => format!("`{rest}` is no number and no name"),
            });
        }
        let name = self.name();
        match name.as_str() {
            "true" => return Ok(Expression::Known(Evaluated::Bool(true))),
            "false" => return Ok(Expression::Known(Evaluated::Bool(false))),
            _ => {}
        }
        let mut parts = Vec::new();
        loop {
            if self.accept("[") {
                parts.push(Part::Index(self.binary(0)?));
                self.expect("]")?;
            } else if self.accept(".") {
                let field = self.word().to_owned();
                if field.is_empty() {
                    return Err(match self.rest {
                        "" => "a field's name is missing at the end".to_owned(),
                        rest => format!("a field's name is missing before `{rest}`"),
                    });
                }
                if !self.accept("(") {
                    parts.push(Part::Field(field));
                } else if field == "len" && self.accept(")") {
                    parts.push(Part::Len);
                } else if matches!(&*field, "rows" | "cols") && self.accept(")") {
                    // A matrix's extents are parameters of their own, named `m.rows()` and
                    // `m.cols()`.
                    parts.push(Part::Field(format!("{field}()")));
                } else {
                    return Err(format!(
                        "`{field}()` cannot be called here: only `len()` and a matrix's `rows()` and `cols()` can; an element is `{name}[i]`"
                    ));
                }
            } else if self.rest.starts_with('(') {
                return Err(format!("`{name}` cannot be called here"));
            } else {
                return Ok(Expression::Place(Place { name, parts }));
            }
        }
    }

    /// `tile`, `%rd7`, `$x`, `kernels::TABLE`.
    fn name(&mut self) -> String {
        let sigil = self.rest.starts_with(['%', '$']);
        let inside = |c: char| is_inside(c) || (sigil && "$%.".contains(c));
        let mut end = 0;
        loop {
            let tail = &self.rest[end..];
            let first = tail.chars().next().map_or(0, char::len_utf8);
            let word = tail[first..].find(|c| !inside(c));
            end += word.map_or(tail.len(), |word| word + first);
            match self.rest[end..].strip_prefix("::") {
                Some(next) if next.starts_with(starts_name) => end += 2,
                _ => break,
            }
        }
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        name.to_owned()
    }

    /// Letters, digits and underscores; may be empty.
    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|c| !is_inside(c));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest.trim_start();
        word
    }

    /// `7`, `0x1f`, `1_000u32`, `0.5`, `1e-3_f32`.
    fn number(&mut self) -> Result<Evaluated, String> {
        let text = self.rest;
        let wrong = |text: &str| format!("`{text}` is no number");
        let radix = [("0x", 16), ("0b", 2), ("0o", 8)];
        let radix = radix.iter().find(|(prefix, _)| text.starts_with(prefix));
        if let Some(&(prefix, radix)) = radix {
            self.rest = &text[prefix.len()..];
            let word = self.word();
            let digits = word.replace('_', "");
            let suffix = digits.find(|c: char| !c.is_digit(radix));
            let (digits, suffix) = digits.split_at(suffix.unwrap_or(digits.len()));
            let value = i128::from_str_radix(digits, radix).map_err(|_| wrong(text))?;
            return of_type(Evaluated::Integer(value), suffix).ok_or_else(|| wrong(text));
        }
        let mut end = 0;
        let digits = |from: usize| {
            let more = text[from..].find(|c: char| !c.is_ascii_digit() && c != '_');
            more.map_or(text.len(), |more| from + more)
        };
        end = digits(end);
        let mut is_float = false;
        // A point begins a fraction, unless a field, a method or a range follows: `1.max(2)`,
        // `1..`.
        if let Some(after) = text[end..].strip_prefix('.')
            && !after.starts_with(|c: char| c == '.' || c.is_alphabetic() || c == '_')
        {
            (is_float, end) = (true, digits(end + 1));
        }
        if text[end..].starts_with(['e', 'E']) {
            let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
            if text[end + 1 + sign..].starts_with(|c: char| c.is_ascii_digit()) {
                (is_float, end) = (true, digits(end + 1 + sign));
            }
        }
        let plain = text[..end].replace('_', "");
        self.rest = &text[end..];
        let suffix = self.word();
        let value = match is_float {
            true => plain.parse().map(Evaluated::Float).ok(),
            false => plain.parse().map(Evaluated::Integer).ok(),
        };
        let value = value.and_then(|value| of_type(value, suffix));
        value.ok_or_else(|| wrong(&text[..text.len() - self.rest.len()]))
    }
}

/// A literal with a suffix.
fn of_type(value: Evaluated, suffix: &str) -> Option<Evaluated> {
    let suffix = suffix.trim_start_matches('_');
    match (suffix, value) {
        ("", value) => Some(value),
        ("f32", value) => Some(Evaluated::Single(value.as_f64() as f32)),
        ("f64", value) => Some(Evaluated::Float(value.as_f64())),
        ("bool", _) | (_, Evaluated::Float(_)) => None,
        (suffix, value) => suffix.parse::<crate::Element>().ok().map(|_| value),
    }
}

fn starts_name(c: char) -> bool {
    c.is_alphabetic() || "_$%".contains(c)
}

fn is_inside(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
