//! Expressions of the console, watches and conditions, in Rust's syntax:
//! `tile[t - 1] > 0.5 && !(lane == 5)`.

mod parse;
#[cfg(test)]
mod tests;
mod value;

use crate::element::{Element, Evaluated};

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Known(Evaluated),
    /// `input.len()`, `block.x`, `tile[t - 1]`, `%rd7`
    Place(Place),
    Unary(Unary, Box<Expression>),
    Binary(Binary, Box<Expression>, Box<Expression>),
    Cast(Box<Expression>, Element),
}

/// A name, and the way from there to a part of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) parts: Vec<Part<Expression>>,
}

/// A step from a value to a part of it. `I` is an index: computed, or still an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part<I> {
    Field(String),
    Index(I),
    Len,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Not,
    Negative,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Or,
    And,
    Equal,
    Different,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    BitOr,
    BitXor,
    BitAnd,
    Left,
    Right,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// The values of names for one lane, or in one of its frames.
pub(crate) trait Scope {
    /// The value of a name, or of a part of it. The error says why there is none; it may be empty.
    fn value(&self, name: &str, parts: &[Part<i128>]) -> Result<Evaluated, String>;
}

/// An expression that is true or false.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Condition(Expression);

impl Condition {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let expression = Expression::parse(text)?;
        match expression.is_condition() {
            true => Ok(Self(expression)),
            false => Err(format!(
                "`{}` is no condition: compare it, as in `… == 0`",
                text.trim()
            )),
        }
    }

    /// The first name in it that has no meaning.
    pub(crate) fn unknown(&self, is_known: impl Fn(&Place) -> bool) -> Option<String> {
        let mut places = self.0.places().into_iter();
        places
            .find(|place| !is_known(place))
            .map(|place| place.name.clone())
    }

    /// Whether it holds; an error while a value that matters is unknown.
    pub(crate) fn holds(&self, scope: &dyn Scope) -> Result<bool, String> {
        match self.0.value(scope)? {
            Evaluated::Bool(holds) => Ok(holds),
            value => Err(format!("it is {value}, neither true nor false")),
        }
    }
}

impl Expression {
    fn is_condition(&self) -> bool {
        match self {
            Self::Known(value) => matches!(value, Evaluated::Bool(_)),
            Self::Place(place) => place.name.starts_with("%p"),
            Self::Unary(sign, of) => *sign == Unary::Not && of.is_condition(),
            Self::Binary(sign, a, b) => match sign {
                Binary::Or | Binary::And => a.is_condition() && b.is_condition(),
                Binary::BitOr | Binary::BitAnd | Binary::BitXor => {
                    a.is_condition() && b.is_condition()
                }
                sign => sign.compares(),
            },
            Self::Cast(..) => false,
        }
    }

    fn places(&self) -> Vec<&Place> {
        match self {
            Self::Known(_) => Vec::new(),
            Self::Place(place) => {
                let indices = place.parts.iter().filter_map(|part| match part {
                    Part::Index(index) => Some(index.places()),
                    Part::Field(_) | Part::Len => None,
                });
                std::iter::once(place).chain(indices.flatten()).collect()
            }
            Self::Unary(_, of) | Self::Cast(of, _) => of.places(),
            Self::Binary(_, a, b) => [a.places(), b.places()].concat(),
        }
    }
}

impl Binary {
    pub(crate) fn compares(self) -> bool {
        matches!(
            self,
            Self::Equal
                | Self::Different
                | Self::Less
                | Self::LessOrEqual
                | Self::Greater
                | Self::GreaterOrEqual
        )
    }
}

impl Place {
    /// The place's parts, with computed indices.
    pub(crate) fn parts(&self, scope: &dyn Scope) -> Result<Vec<Part<i128>>, String> {
        let parts = self.parts.iter().map(|part| match part {
            Part::Field(name) => Ok(Part::Field(name.clone())),
            Part::Len => Ok(Part::Len),
            Part::Index(index) => match index.value(scope)? {
                Evaluated::Integer(index) => Ok(Part::Index(index)),
                value => Err(format!("{value} is no index")),
            },
        });
        parts.collect()
    }
}

/// A name and its parts in Rust's syntax, with computed indices: `tile[2]`.
pub(crate) fn written(name: &str, parts: &[Part<i128>]) -> String {
    let parts = parts.iter().map(|part| match part {
        Part::Field(field) => format!(".{field}"),
        Part::Index(index) => format!("[{index}]"),
        Part::Len => ".len()".to_owned(),
    });
    std::iter::once(name.to_owned()).chain(parts).collect()
}
