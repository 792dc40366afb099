//! Approximations: 9.7.3, and 9.7.4 for 16-bit floats. Each has the error that its section states.

use super::case::Case;
use super::rule::{Error, Rule};
use super::values::{Source, Ty, Values};

use std::f64::consts::PI;

fn near(
    form: &str,
    source: impl Into<Source>,
    ty: Ty,
    error: Error,
    section: &'static str,
) -> Case {
    Case::new(form, ty, &[source.into()]).rule(Rule::Near { ty, error, section })
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for ftz in ["", ".ftz"] {
        let name = |base: &str| format!("{base}.approx{ftz}.f32");
        cases.push(near(
            &name("rcp"),
            "f32",
            "f32",
            Error::Ulps(1.0),
            "9.7.3.13",
        ));
        cases.push(near(
            &name("sqrt"),
            "f32",
            "f32",
            Error::Relative(-23.0),
            "9.7.3.15",
        ));
        cases.push(near(
            &name("rsqrt"),
            "f32",
            "f32",
            Error::Relative(-22.9),
            "9.7.3.16",
        ));
        for (base, section) in [("sin", "9.7.3.18"), ("cos", "9.7.3.19")] {
            for (turns, power) in [(2.0, -20.5), (100.0, -14.7)] {
                let angles = ("f32", Values::Range(-turns * PI, turns * PI));
                cases.push(near(
                    &name(base),
                    angles,
                    "f32",
                    Error::Absolute(power),
                    section,
                ));
            }
        }
        let middle = ("f32", Values::Range(0.5, 2.0));
        cases.push(near(
            &name("lg2"),
            middle,
            "f32",
            Error::Absolute(-22.0),
            "9.7.3.20",
        ));
        // Outside of 0.5 to 2 the error is relative.
        let outside = [
            Values::Range(2.0, 1e30),
            Values::Range(1e-39, 0.5),
            Values::Range(-9.0, 0.0),
        ];
        for range in outside {
            cases.push(near(
                &name("lg2"),
                ("f32", range),
                "f32",
                Error::Relative(-22.0),
                "9.7.3.20",
            ));
        }
        for range in [Values::Any, Values::Range(-152.0, 129.0)] {
            cases.push(near(
                &name("ex2"),
                ("f32", range),
                "f32",
                Error::Ulps(2.0),
                "9.7.3.21",
            ));
        }
        let two = [
            Source::from("f32"),
            ("f32", Values::Range(-1e35, 1e35)).into(),
        ];
        let rule = Rule::Near {
            ty: "f32",
            error: Error::Ulps(2.0),
            section: "9.7.3.8",
        };
        for base in ["div.approx", "div.full"] {
            cases.push(Case::new(&format!("{base}{ftz}.f32"), "f32", &two).rule(rule));
        }
        // Divisors above 2^126: what `.approx` returns for them is fixed.
        let two = [
            Source::from("f32"),
            ("f32", Values::Range(1e38, 3e38)).into(),
        ];
        cases.push(Case::new(&format!("div.approx{ftz}.f32"), "f32", &two).rule(rule));
    }
    cases.push(near(
        "tanh.approx.f32",
        "f32",
        "f32",
        Error::Relative(-11.0),
        "9.7.3.22",
    ));
    // PTX states no error of these; the format of the upper half has 20 bits.
    let coarse = Error::Relative(-20.0);
    cases.push(near("rcp.approx.ftz.f64", "f64", "f64", coarse, "9.7.3.14"));
    cases.push(near(
        "rsqrt.approx.ftz.f64",
        "f64",
        "f64",
        coarse,
        "9.7.3.17",
    ));
    cases.push(near(
        "rsqrt.approx.f64",
        "f64",
        "f64",
        Error::Ulps(2.0),
        "9.7.3.16",
    ));
    for (form, ty, error, section) in [
        (
            "tanh.approx.f16",
            "f16",
            Error::Absolute(-10.987),
            "9.7.4.9",
        ),
        (
            "tanh.approx.f16x2",
            "f16x2",
            Error::Absolute(-10.987),
            "9.7.4.9",
        ),
        ("tanh.approx.bf16", "bf16", Error::Absolute(-8.0), "9.7.4.9"),
        (
            "tanh.approx.bf16x2",
            "bf16x2",
            Error::Absolute(-8.0),
            "9.7.4.9",
        ),
        ("ex2.approx.f16", "f16", Error::Relative(-9.9), "9.7.4.10"),
        (
            "ex2.approx.f16x2",
            "f16x2",
            Error::Relative(-9.9),
            "9.7.4.10",
        ),
        (
            "ex2.approx.ftz.bf16",
            "bf16",
            Error::Relative(-7.0),
            "9.7.4.10",
        ),
        (
            "ex2.approx.ftz.bf16x2",
            "bf16x2",
            Error::Relative(-7.0),
            "9.7.4.10",
        ),
    ] {
        cases.push(near(form, ty, ty, error, section));
    }
    cases
}
