//! When the outputs of two devices count as the same.

/// When two outputs count as the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// PTX fixes every bit.
    Bits,
    /// Every bit, but any NaN of 64 bits stands for any other: PTX does not fix which.
    AnyNan64,
    /// PTX states an error.
    Near {
        /// The type of the results: `f16`, `bf16`, `f16x2`, `bf16x2`, `f32` or `f64`.
        ty: &'static str,
        /// The largest error.
        error: Error,
        /// The section of the PTX ISA that states it.
        section: &'static str,
    },
}

/// How far a result may be from the true value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Error {
    /// In units of the last place.
    Ulps(f64),
    /// As a part of the value: 2 to this power.
    Relative(f64),
    /// As it is: 2 to this power.
    Absolute(f64),
}

impl Rule {
    /// Whether a result of an emulator and one of a GPU, both in the low bytes, are the same.
    ///
    /// The emulator's results are exact but for their rounding, so that the GPU's may be as far
    /// from them as PTX allows and half a unit of the last place more.
    pub fn allows(self, emulator: u64, gpu: u64) -> bool {
        match self {
            _ if emulator == gpu => true,
            Rule::Bits => false,
            Rule::AnyNan64 => f64::from_bits(emulator).is_nan() && f64::from_bits(gpu).is_nan(),
            Rule::Near {
                ty: "f16x2", error, ..
            } => pair(emulator, gpu, &FORMATS[0], error),
            Rule::Near {
                ty: "bf16x2",
                error,
                ..
            } => pair(emulator, gpu, &FORMATS[1], error),
            Rule::Near { ty, error, .. } => FORMATS
                .iter()
                .find(|format| format.ty == ty)
                .is_some_and(|format| format.near(emulator, gpu, error)),
        }
    }
}

fn pair(emulator: u64, gpu: u64, format: &Format, error: Error) -> bool {
    [0, 16].iter().all(|shift| {
        let half = |bits: u64| bits >> shift & 0xffff;
        format.near(half(emulator), half(gpu), error)
    })
}

struct Format {
    ty: &'static str,
    exponent: u32,
    mantissa: u32,
}

const FORMATS: [Format; 4] = [
    Format {
        ty: "f16",
        exponent: 5,
        mantissa: 10,
    },
    Format {
        ty: "bf16",
        exponent: 8,
        mantissa: 7,
    },
    Format {
        ty: "f32",
        exponent: 8,
        mantissa: 23,
    },
    Format {
        ty: "f64",
        exponent: 11,
        mantissa: 52,
    },
];

impl Format {
    fn near(&self, emulator: u64, gpu: u64, error: Error) -> bool {
        let (x, y) = (self.value(emulator), self.value(gpu));
        if emulator == gpu || (x.is_nan() && y.is_nan()) {
            return true;
        }
        let place = self.last_place(emulator);
        let allowed = match error {
            Error::Ulps(count) => count * place,
            Error::Relative(power) => x.abs() * power.exp2(),
            Error::Absolute(power) => power.exp2(),
        };
        // Below the normal numbers the last place is large: the GPU's own rounding counts as well.
        let subnormal = emulator >> self.mantissa & ((1 << self.exponent) - 1) == 0;
        let rounding = if subnormal { place } else { 0.5 * place };
        // Signs of zeros and infinities are fixed.
        x.is_finite() && y.is_finite() && x != y && (x - y).abs() <= allowed + rounding
    }

    fn value(&self, bits: u64) -> f64 {
        let fraction = (bits & ((1 << self.mantissa) - 1)) as f64;
        let exponent = bits >> self.mantissa & ((1 << self.exponent) - 1);
        let magnitude = if exponent == (1 << self.exponent) - 1 {
            if fraction == 0.0 {
                f64::INFINITY
            } else {
                f64::NAN
            }
        } else {
            let leading = if exponent == 0 {
                0.0
            } else {
                (1_u64 << self.mantissa) as f64
            };
            (leading + fraction) * self.last_place(bits)
        };
        let negative = bits >> (self.mantissa + self.exponent) & 1 == 1;
        if negative { -magnitude } else { magnitude }
    }

    /// The value of the last bit.
    fn last_place(&self, bits: u64) -> f64 {
        let exponent = (bits >> self.mantissa & ((1 << self.exponent) - 1)).max(1) as i32;
        let bias = (1 << (self.exponent - 1)) - 1;
        // Of a subnormal double it is subnormal itself, so it is made in two steps.
        let power = exponent - bias - self.mantissa as i32;
        2.0_f64.powi(power / 2) * 2.0_f64.powi(power - power / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(ty: &'static str, error: Error, emulator: u64, gpu: u64) -> bool {
        let section = "";
        Rule::Near { ty, error, section }.allows(emulator, gpu)
    }

    #[test]
    fn errors_are_measured_in_the_type() {
        let one = u64::from(1.0_f32.to_bits());
        assert!(near("f32", Error::Ulps(2.0), one, one + 2));
        assert!(!near("f32", Error::Ulps(2.0), one, one + 3));
        assert!(near("f16x2", Error::Ulps(1.0), 0x3c00_3c00, 0x3c01_3bff));
        assert!(!near("f16x2", Error::Ulps(1.0), 0x3c00_3c00, 0x3c02_3c00));
        assert!(near(
            "f64",
            Error::Relative(-20.0),
            1.0_f64.to_bits(),
            (1.0 + 0.9e-6_f64).to_bits()
        ));
        assert!(!near(
            "f64",
            Error::Relative(-20.0),
            1.0_f64.to_bits(),
            (1.0 + 1.1e-6_f64).to_bits()
        ));
        assert!(near(
            "f32",
            Error::Absolute(-10.0),
            one,
            u64::from(1.0009_f32.to_bits())
        ));
    }

    #[test]
    fn signs_of_zeros_infinities_and_numbers_of_nan_count() {
        let (zero, infinity) = (0, u64::from(f32::INFINITY.to_bits()));
        assert!(!near("f32", Error::Ulps(2.0), zero, 1 << 31));
        assert!(!near("f32", Error::Ulps(2.0), infinity, infinity - 1));
        assert!(near("f32", Error::Ulps(2.0), infinity + 1, infinity + 2));
        assert!(!near("f32", Error::Ulps(2.0), infinity + 1, 0));
        assert!(!Rule::Bits.allows(infinity + 1, infinity + 2));
        assert!(Rule::AnyNan64.allows(f64::NAN.to_bits(), 0xfff8_0000_0000_0005));
        assert!(!Rule::AnyNan64.allows(0, 1 << 63));
    }
}
