//! Conditions of breakpoints and expressions of the console: `lane == 5 && tile[3] > 0.5`.

use crate::element::Number;

/// A value by name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Term {
    Integer(i128),
    Float(f64),
    Name(String),
    /// `name[index]`.
    Index(String, Box<Term>),
}

/// Comparisons that must all hold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Condition(Vec<(Term, Compare, Term)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compare {
    Equal,
    Different,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The meaning of names at a place.
pub(crate) trait Scope {
    /// The value; `None` if it is not known here.
    fn value(&self, name: &str, index: Option<i128>) -> Option<Number>;
}

const COMPARES: [(&str, Compare); 6] = [
    ("==", Compare::Equal),
    ("!=", Compare::Different),
    ("<=", Compare::LessOrEqual),
    (">=", Compare::GreaterOrEqual),
    ("<", Compare::Less),
    (">", Compare::Greater),
];

impl Condition {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let comparison = |part: &str| {
            let places = COMPARES
                .iter()
                .filter_map(|&(sign, compare)| Some((part.find(sign)?, sign, compare)));
            // Where both `<=` and `<` match, the longer one.
            let first = places.min_by_key(|&(at, sign, _)| (at, std::cmp::Reverse(sign.len())));
            let (at, sign, compare) =
                first.ok_or_else(|| format!("`{}` compares nothing", part.trim()))?;
            Ok((
                Term::parse(&part[..at])?,
                compare,
                Term::parse(&part[at + sign.len()..])?,
            ))
        };
        let comparisons: Result<Vec<_>, String> = text.split("&&").map(comparison).collect();
        Ok(Self(comparisons?))
    }

    /// The first name in it that has no meaning.
    pub(crate) fn unknown(&self, is_known: impl Fn(&str) -> bool) -> Option<&str> {
        let terms = self.0.iter().flat_map(|(a, _, b)| [a, b]);
        let mut names = terms.flat_map(Term::names);
        names.find(|name| !is_known(name))
    }

    /// Whether it holds; `None` while a value that matters is unknown.
    pub(crate) fn holds(&self, scope: &dyn Scope) -> Option<bool> {
        let mut known = Some(true);
        for (a, compare, b) in &self.0 {
            match (a.value(scope), b.value(scope)) {
                (Some(a), Some(b)) if !compare.holds(a, b) => return Some(false),
                (Some(_), Some(_)) => {}
                _ => known = None,
            }
        }
        known
    }
}

impl Compare {
    fn holds(self, a: Number, b: Number) -> bool {
        let order = match (a, b) {
            (Number::Integer(a), Number::Integer(b)) => Some(a.cmp(&b)),
            _ => a.as_f64().partial_cmp(&b.as_f64()),
        };
        match self {
            Self::Equal => order.is_some_and(|order| order.is_eq()),
            Self::Different => order.is_none_or(|order| order.is_ne()),
            Self::Less => order.is_some_and(|order| order.is_lt()),
            Self::LessOrEqual => order.is_some_and(|order| order.is_le()),
            Self::Greater => order.is_some_and(|order| order.is_gt()),
            Self::GreaterOrEqual => order.is_some_and(|order| order.is_ge()),
        }
    }
}

impl Term {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Self::nested(text.trim(), 0)
    }

    fn nested(text: &str, depth: u32) -> Result<Self, String> {
        if depth > 8 {
            return Err("the expression is nested too deeply".to_owned());
        }
        let hexadecimal = text
            .strip_prefix("0x")
            .map(|digits| i128::from_str_radix(digits, 16));
        if let Some(Ok(value)) = hexadecimal {
            return Ok(Self::Integer(value));
        }
        if let Ok(value) = text.parse() {
            return Ok(Self::Integer(value));
        }
        if text.starts_with(|first: char| first.is_ascii_digit() || first == '-')
            && let Ok(value) = text.parse()
        {
            return Ok(Self::Float(value));
        }
        if let Some(inner) = text.strip_suffix(']')
            && let Some((name, index)) = inner.split_once('[')
            && is_name(name.trim())
        {
            let index = Self::nested(index.trim(), depth + 1)?;
            return Ok(Self::Index(name.trim().to_owned(), Box::new(index)));
        }
        match is_name(text) {
            true => Ok(Self::Name(text.to_owned())),
            false => Err(format!("`{text}` is no number, name or `name[index]`")),
        }
    }

    fn names(&self) -> Vec<&str> {
        match self {
            Self::Integer(_) | Self::Float(_) => Vec::new(),
            Self::Name(name) => vec![name],
            Self::Index(name, index) => {
                let mut names = index.names();
                names.push(name);
                names
            }
        }
    }

    pub(crate) fn value(&self, scope: &dyn Scope) -> Option<Number> {
        match self {
            Self::Integer(value) => Some(Number::Integer(*value)),
            Self::Float(value) => Some(Number::Float(*value)),
            Self::Name(name) => scope.value(name, None),
            Self::Index(name, index) => match index.value(scope)? {
                Number::Integer(index) => scope.value(name, Some(index)),
                Number::Float(_) => None,
            },
        }
    }
}

/// `tile`, `%rd7`, `block.x`, `input.len()`.
fn is_name(text: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || "_.$%".contains(c);
    let text = text.strip_suffix("()").unwrap_or(text);
    text.starts_with(|c: char| c.is_alphabetic() || "_$%".contains(c)) && text.chars().all(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Known;
    impl Scope for Known {
        fn value(&self, name: &str, index: Option<i128>) -> Option<Number> {
            match (name, index) {
                ("lane", None) => Some(Number::Integer(5)),
                ("tile", Some(index)) => Some(Number::Float(index as f64 / 2.0)),
                _ => None,
            }
        }
    }

    fn holds(text: &str) -> Option<bool> {
        Condition::parse(text).expect("a condition").holds(&Known)
    }

    #[test]
    fn comparisons_are_joined() {
        assert_eq!(holds("lane == 5"), Some(true));
        assert_eq!(holds("lane>=5&&tile[ lane ] == 2.5"), Some(true));
        assert_eq!(holds("lane < 5 && unknown == 1"), Some(false));
        assert_eq!(holds("lane <= 5 && unknown == 1"), None);
        assert_eq!(holds("tile[3] != 1.5"), Some(false));
        assert_eq!(holds("0x10 > -1"), Some(true));
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        for text in [
            "",
            "lane",
            "lane ==",
            "== 3",
            "lane = 5",
            "a[b == 1",
            "f(x == 1",
            "1 == 2 &&",
        ] {
            assert!(Condition::parse(text).is_err(), "{text}");
        }
        let deep = format!("{}1{} == 1", "a[".repeat(100), "]".repeat(100));
        assert!(Condition::parse(&deep).is_err());
    }
}
