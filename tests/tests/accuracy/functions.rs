//! What is tested: each function with its oracles, its bounds and its interesting arguments.

use super::oracle::Big;

/// A function of one argument, or of two.
pub(crate) enum Oracle {
    /// Of `x`.
    One(fn(f64) -> f64, fn(&Big) -> Big),
    /// Of `x` and `y`.
    Two(fn(f64, f64) -> f64, fn(&Big, &Big) -> Big),
}

/// A function of `GpuFloat`.
pub(crate) struct Function {
    /// The kernel is `<name>_f32` or `<name>_f64`.
    pub(crate) name: &'static str,
    pub(crate) oracle: Oracle,
    /// The greatest distance from the correctly rounded result, in steps of `f32` and of `f64`: the
    /// CUDA C++ Programming Guide, appendix "Mathematical Functions", tables "Single-Precision" and
    /// "Double-Precision Mathematical Standard Library Functions with Maximum ULP Error". Its
    /// editions differ in some functions; the smallest figure stands here.
    pub(crate) bounds: [u64; 2],
    /// Where half of the arguments come from; the other half is any bit pattern.
    pub(crate) interval: (f64, f64),
}

use Oracle::{One, Two};

const fn function(
    name: &'static str,
    oracle: Oracle,
    bounds: [u64; 2],
    interval: (f64, f64),
) -> Function {
    Function {
        name,
        oracle,
        bounds,
        interval,
    }
}

pub(crate) const FUNCTIONS: &[Function] = &[
    function("exp", One(f64::exp, Big::exp), [2, 1], (-110.0, 90.0)),
    function(
        "exp2",
        One(f64::exp2, |x| Big::from(2.0).pow(x)),
        [2, 1],
        (-150.0, 130.0),
    ),
    function("exp_m1", One(f64::exp_m1, exp_m1), [1, 1], (-2.0, 2.0)),
    function("ln", One(f64::ln, Big::ln), [1, 1], (0.0, 3.0)),
    function("ln_1p", One(f64::ln_1p, ln_1p), [1, 1], (-1.0, 2.0)),
    function("log2", One(f64::log2, Big::log2), [1, 1], (0.0, 3.0)),
    function("log10", One(f64::log10, Big::log10), [2, 1], (0.0, 3.0)),
    // Two logarithms and a division: not in the tables.
    function(
        "log",
        Two(
            |x, base| x.ln() / base.ln(),
            |x, base| x.ln().div(&base.ln()),
        ),
        [4, 4],
        (0.0, 30.0),
    ),
    function("sqrt", One(f64::sqrt, Big::sqrt), [0, 0], (0.0, 9.0)),
    function(
        "recip",
        One(f64::recip, |x| Big::from(1.0).div(x)),
        [0, 0],
        (-10.0, 10.0),
    ),
    function("cbrt", One(f64::cbrt, Big::cbrt), [1, 1], (-10.0, 10.0)),
    function("hypot", Two(f64::hypot, hypot), [3, 2], (-10.0, 10.0)),
    function("powf", Two(f64::powf, Big::pow), [4, 2], (0.0, 20.0)),
    function("sin", One(f64::sin, Big::sin), [2, 1], (-10.0, 10.0)),
    function("cos", One(f64::cos, Big::cos), [2, 1], (-10.0, 10.0)),
    function("tan", One(f64::tan, Big::tan), [4, 2], (-10.0, 10.0)),
    function("asin", One(f64::asin, Big::asin), [2, 2], (-1.0, 1.0)),
    function("acos", One(f64::acos, Big::acos), [2, 1], (-1.0, 1.0)),
    function("atan", One(f64::atan, Big::atan), [2, 2], (-10.0, 10.0)),
    function("atan2", Two(f64::atan2, atan2), [3, 2], (-10.0, 10.0)),
    function("sinh", One(f64::sinh, Big::sinh), [3, 1], (-90.0, 90.0)),
    function("cosh", One(f64::cosh, Big::cosh), [2, 1], (-90.0, 90.0)),
    function("tanh", One(f64::tanh, Big::tanh), [2, 1], (-5.0, 5.0)),
    function(
        "asinh",
        One(f64::asinh, |x| series_if_tiny(x, Big::asinh)),
        [3, 2],
        (-10.0, 10.0),
    ),
    function("acosh", One(f64::acosh, Big::acosh), [4, 2], (1.0, 10.0)),
    function(
        "atanh",
        One(f64::atanh, |x| series_if_tiny(x, Big::atanh)),
        [3, 2],
        (-1.0, 1.0),
    ),
];

fn exp_m1(x: &Big) -> Big {
    if x.is_tiny() {
        return x.add(&x.mul(x).div(&Big::from(2.0)));
    }
    x.exp().sub(&Big::from(1.0))
}

fn ln_1p(x: &Big) -> Big {
    if x.is_tiny() {
        return x.sub(&x.mul(x).div(&Big::from(2.0)));
    }
    x.add(&Big::from(1.0)).ln()
}

/// An odd function whose series is `x ± …x³`.
fn series_if_tiny(x: &Big, function: fn(&Big) -> Big) -> Big {
    if x.is_tiny() { x.clone() } else { function(x) }
}

fn hypot(x: &Big, y: &Big) -> Big {
    x.mul(x).add(&y.mul(y)).sqrt()
}

fn atan2(y: &Big, x: &Big) -> Big {
    let angle = y.div(x).atan();
    match (x.is_negative(), y.is_negative()) {
        (false, _) => angle,
        (true, false) => angle.add(&Big::pi()),
        (true, true) => angle.sub(&Big::pi()),
    }
}
