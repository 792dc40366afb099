//! The values of expressions. Integers do not wrap: they are as wide as needed.

use super::{Binary, Expression, Scope, Unary};
use crate::element::{Element, Evaluated};

impl Expression {
    pub(crate) fn value(&self, scope: &dyn Scope) -> Result<Evaluated, String> {
        match self {
            Self::Known(value) => Ok(*value),
            Self::Place(place) => scope.value(&place.name, &place.parts(scope)?),
            Self::Unary(sign, of) => unary(*sign, of.value(scope)?),
            Self::Cast(of, ty) => Ok(cast(of.value(scope)?, *ty)),
            Self::Binary(sign @ (Binary::And | Binary::Or), a, b) => {
                // The value that decides without the other.
                let decides = Evaluated::Bool(*sign == Binary::Or);
                let a = a.value(scope);
                if a.as_ref().is_ok_and(|a| *a == decides) {
                    return Ok(decides);
                }
                // A value that is unknown does not matter if the other decides.
                let b = b.value(scope);
                if b.as_ref().is_ok_and(|b| *b == decides) {
                    return Ok(decides);
                }
                match (a?, b?) {
                    (Evaluated::Bool(_), Evaluated::Bool(b)) => Ok(Evaluated::Bool(b)),
                    (a, b) => Err(format!("{a} and {b} are not both true or false")),
                }
            }
            Self::Binary(sign, a, b) => binary(*sign, a.value(scope)?, b.value(scope)?),
        }
    }
}

fn unary(sign: Unary, of: Evaluated) -> Result<Evaluated, String> {
    match (sign, of) {
        (Unary::Not, Evaluated::Bool(of)) => Ok(Evaluated::Bool(!of)),
        (Unary::Not, Evaluated::Integer(of)) => Ok(Evaluated::Integer(!of)),
        (Unary::Negative, Evaluated::Integer(of)) => {
            let negative = of.checked_neg();
            negative
                .map(Evaluated::Integer)
                .ok_or_else(|| format!("-{of} is too large"))
        }
        (Unary::Negative, Evaluated::Single(of)) => Ok(Evaluated::Single(-of)),
        (Unary::Negative, Evaluated::Float(of)) => Ok(Evaluated::Float(-of)),
        (Unary::Not, of) => Err(format!("`!` does not apply to {of}")),
        (Unary::Negative, of) => Err(format!("`-` does not apply to {of}")),
    }
}

fn binary(sign: Binary, a: Evaluated, b: Evaluated) -> Result<Evaluated, String> {
    use Evaluated::{Bool, Float, Integer, Single};
    if sign.compares() {
        return Ok(Bool(compares(sign, a, b)));
    }
    let none = || format!("{a} and {b} cannot be combined so");
    match (a, b) {
        (Bool(a), Bool(b)) => match sign {
            Binary::BitAnd => Ok(Bool(a & b)),
            Binary::BitOr => Ok(Bool(a | b)),
            Binary::BitXor => Ok(Bool(a ^ b)),
            _ => Err(none()),
        },
        (Bool(_), _) | (_, Bool(_)) => Err(none()),
        (Integer(a), Integer(b)) => integers(sign, a, b).map(Integer),
        // A literal takes the type of the other.
        (Single(_), _) | (_, Single(_)) => {
            let [a, b] = [a, b].map(|value| value.as_f64() as f32);
            let value = of_sign(sign, [a + b, a - b, a * b, a / b, a % b]);
            value.map(Single).ok_or_else(none)
        }
        (Float(_), _) | (_, Float(_)) => {
            let [a, b] = [a, b].map(Evaluated::as_f64);
            let value = of_sign(sign, [a + b, a - b, a * b, a / b, a % b]);
            value.map(Float).ok_or_else(none)
        }
    }
}

/// The result that a sign asks for; of integers' operations, floats have none.
fn of_sign<F>(sign: Binary, results: [F; 5]) -> Option<F> {
    let [sum, difference, product, quotient, remainder] = results;
    match sign {
        Binary::Add => Some(sum),
        Binary::Subtract => Some(difference),
        Binary::Multiply => Some(product),
        Binary::Divide => Some(quotient),
        Binary::Remainder => Some(remainder),
        _ => None,
    }
}

fn integers(sign: Binary, a: i128, b: i128) -> Result<i128, String> {
    let shift = u32::try_from(b).ok().filter(|&shift| shift < 128);
    let value = match sign {
        Binary::Add => a.checked_add(b),
        Binary::Subtract => a.checked_sub(b),
        Binary::Multiply => a.checked_mul(b),
        Binary::Divide | Binary::Remainder if b == 0 => {
            return Err(format!("{a} is divided by zero"));
        }
        Binary::Divide => a.checked_div(b),
        Binary::Remainder => a.checked_rem(b),
        Binary::BitAnd => Some(a & b),
        Binary::BitOr => Some(a | b),
        Binary::BitXor => Some(a ^ b),
        Binary::Left => shift.and_then(|shift| a.checked_mul(1_i128.checked_shl(shift)?)),
        Binary::Right => shift.map(|shift| a >> shift),
        _ => None,
    };
    value.ok_or_else(|| format!("the result for {a} and {b} is too large"))
}

fn compares(sign: Binary, a: Evaluated, b: Evaluated) -> bool {
    use Evaluated::{Bool, Integer, Single};
    let order = match (a, b) {
        (Integer(a), Integer(b)) => Some(a.cmp(&b)),
        (Bool(a), Bool(b)) => Some(a.cmp(&b)),
        (Single(_), _) | (_, Single(_)) => {
            let [a, b] = [a, b].map(|value| value.as_f64() as f32);
            a.partial_cmp(&b)
        }
        _ => a.as_f64().partial_cmp(&b.as_f64()),
    };
    match sign {
        Binary::Equal => order.is_some_and(|order| order.is_eq()),
        Binary::Different => order.is_none_or(|order| order.is_ne()),
        Binary::Less => order.is_some_and(|order| order.is_lt()),
        Binary::LessOrEqual => order.is_some_and(|order| order.is_le()),
        Binary::Greater => order.is_some_and(|order| order.is_gt()),
        _ => order.is_some_and(|order| order.is_ge()),
    }
}

/// As Rust's `as`.
fn cast(of: Evaluated, ty: Element) -> Evaluated {
    let whole = || match of {
        Evaluated::Integer(of) => of,
        Evaluated::Bool(of) => of.into(),
        float => {
            let (low, high) = ty.range();
            (float.as_f64() as i128).clamp(low, high)
        }
    };
    match ty {
        Element::Float(4) => Evaluated::Single(of.as_f64() as f32),
        Element::Float(_) => Evaluated::Float(of.as_f64()),
        ty => ty.value(&whole().to_le_bytes()[..ty.size() as usize]),
    }
}
