//! Conversions to and from 8-bit floats, against a search through all values of the format.

use crate::common::{launch, shape};

/// Bits of the fraction and of the exponent, and the largest finite magnitude.
type Format = (u32, u32, u32);
const E4M3: Format = (3, 4, 0x7e);
const E5M2: Format = (2, 5, 0x7b);

/// The value of a magnitude that is a number.
fn value((fraction_bits, exponent_bits, _): Format, bits: u32) -> f64 {
    let bias = (1 << (exponent_bits - 1)) - 1;
    let (exponent, fraction) = (bits >> fraction_bits, bits & ((1 << fraction_bits) - 1));
    let unit = 2.0_f64.powi(-(fraction_bits as i32));
    match exponent {
        0 => f64::from(fraction) * unit * 2.0_f64.powi(1 - bias),
        _ => (1.0 + f64::from(fraction) * unit) * 2.0_f64.powi(exponent as i32 - bias),
    }
}

/// The nearest value, of two the even one; what is larger than all becomes the largest.
fn nearest(format: Format, wanted: f64, relu: bool) -> u32 {
    if wanted.is_nan() {
        return 0x7f;
    }
    if relu && wanted <= 0.0 {
        return 0;
    }
    let distance = |bits: u32| (value(format, bits) - wanted.abs().min(1e6)).abs();
    let mut best = 0;
    for bits in 1..=format.2 {
        let nearer = distance(bits) < distance(best);
        if nearer || distance(bits) == distance(best) && bits % 2 == 0 {
            best = bits;
        }
    }
    best | u32::from(wanted.is_sign_negative()) << 7
}

/// Finite values of the format, those between, their neighbours, and what is no number.
fn inputs(format: Format) -> Vec<f32> {
    let mut inputs = vec![f32::INFINITY, f32::NAN, 1e-30, 3e38, f32::from_bits(1)];
    for bits in 0..format.2 {
        let (this, next) = (value(format, bits), value(format, bits + 1));
        let middle = ((this + next) / 2.0) as f32;
        inputs.extend([this as f32, middle, middle.next_up(), middle.next_down()]);
    }
    let largest = value(format, format.2) as f32;
    inputs.extend([
        largest,
        largest.next_up(),
        largest * 1.04,
        largest * 1.1,
        2.0 * largest,
    ]);
    inputs.iter().flat_map(|&value| [value, -value]).collect()
}

/// What an instruction makes of each pair of words; `%a` and `%b` are 32-bit, `%h` 16-bit and `%d`
/// the result.
fn each(instruction: &str, inputs: &[u64]) -> Vec<u64> {
    let text = format!(
        ".visible .entry k(.param .u64 p) {{ .reg .b32 %a, %b, %d, %i; .reg .b16 %h; .reg .b64 %q, %o, %w;
        ld.param.u64 %q, [p]; mov.u32 %i, %ctaid.x; mul.wide.u32 %o, %i, 8; add.s64 %q, %q, %o;
        ld.global.u64 %w, [%q]; mov.b64 {{%a, %b}}, %w; cvt.u16.u32 %h, %a;
        {instruction}
        cvt.u64.u32 %w, %d; st.global.u64 [%q], %w; ret; }}"
    );
    let config = shape(inputs.len() as u32, 1, 0);
    launch(&text, config, inputs, inputs.len())
        .expect("it runs")
        .0
}

const FORMATS: [(&str, Format); 2] = [("e4m3x2", E4M3), ("e5m2x2", E5M2)];

#[test]
fn floats_become_the_nearest_value() {
    for (name, format) in FORMATS {
        for (modifier, relu) in [("", false), (".relu", true)] {
            let inputs = inputs(format);
            let pairs: Vec<[f32; 2]> = inputs
                .iter()
                .zip(inputs.iter().rev())
                .map(|(&a, &b)| [a, b])
                .collect();
            let words: Vec<u64> = pairs
                .iter()
                .map(|[a, b]| u64::from(a.to_bits()) | u64::from(b.to_bits()) << 32)
                .collect();
            let cvt =
                format!("cvt.rn.satfinite{modifier}.{name}.f32 %h, %a, %b; cvt.u32.u16 %d, %h;");
            for ([high, low], found) in pairs.into_iter().zip(each(&cvt, &words)) {
                let part = |value| nearest(format, f64::from(value), relu);
                let expected = u64::from(part(high) << 8 | part(low));
                assert_eq!(
                    found, expected,
                    "{cvt} of {high:e} and {low:e}: {found:#x}, not {expected:#x}"
                );
            }
        }
    }
}

fn half(bits: u32) -> f64 {
    match bits >> 10 & 31 {
        31 if bits & 0x3ff != 0 => f64::NAN,
        31 => f64::INFINITY.copysign(if bits >> 15 == 1 { -1.0 } else { 1.0 }),
        _ => value((10, 5, 0), bits & 0x7fff).copysign(if bits >> 15 == 1 { -1.0 } else { 1.0 }),
    }
}

#[test]
fn every_half_becomes_the_nearest_value() {
    for (name, format) in FORMATS {
        for (modifier, relu) in [("", false), (".relu", true)] {
            let words: Vec<u64> = (0..0x1_0000_u64)
                .step_by(2)
                .map(|low| ((low + 1) << 16) | low)
                .collect();
            let cvt =
                format!("cvt.rn.satfinite{modifier}.{name}.f16x2 %h, %a; cvt.u32.u16 %d, %h;");
            for (&word, found) in words.iter().zip(each(&cvt, &words)) {
                let part = |bits: u64| nearest(format, half(bits as u32 & 0xffff), relu);
                let expected = u64::from(part(word >> 16) << 8 | part(word));
                assert_eq!(
                    found, expected,
                    "{cvt} of {word:#x}: {found:#x}, not {expected:#x}"
                );
            }
        }
    }
}

#[test]
fn every_value_becomes_a_half() {
    for (name, format) in FORMATS {
        for (modifier, relu) in [("", false), (".relu", true)] {
            let words: Vec<u64> = (0..0x1_0000).collect();
            let cvt = format!("cvt.rn{modifier}.f16x2.{name} %d, %h;");
            for (&word, found) in words.iter().zip(each(&cvt, &words)) {
                for (bits, found) in [(word & 0xff, found & 0xffff), (word >> 8, found >> 16)] {
                    let magnitude = bits as u32 & 0x7f;
                    let expected = match magnitude.cmp(&(format.2 + 1)) {
                        std::cmp::Ordering::Less => value(format, magnitude),
                        std::cmp::Ordering::Equal if format == E5M2 => f64::INFINITY,
                        _ => f64::NAN,
                    };
                    let expected = if bits >> 7 == 1 { -expected } else { expected };
                    let clamped = relu && bits >> 7 == 1 && !expected.is_nan();
                    match expected.is_nan() {
                        true => assert_eq!(found, 0x7fff, "{cvt} of {bits:#x}"),
                        false if clamped => assert_eq!(found, 0, "{cvt} of {bits:#x}"),
                        false => {
                            let half = half(found as u32);
                            assert_eq!(half.to_bits(), expected.to_bits(), "{cvt} of {bits:#x}");
                        }
                    }
                }
            }
        }
    }
}
