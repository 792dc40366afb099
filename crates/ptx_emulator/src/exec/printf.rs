//! C's `printf`, as the driver formats device output.

/// The input that a conversion needs next.
pub(super) enum Take {
    /// A value of 4 or 8 bytes from the arguments.
    Value(u64),
    /// The string at an address.
    Text(u64),
}

/// The reply to a [`Take`].
pub(super) enum Taken {
    Value(u64),
    Text(Vec<u8>),
}

/// Limit for field widths and precisions.
const MAX_WIDTH: usize = 4096;

/// Formats a text; returns the first unknown conversion, if there is one.
pub(super) fn format(
    format: &[u8],
    mut take: impl FnMut(Take) -> Taken,
) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let mut rest = format;
    while let Some(at) = rest.iter().position(|&byte| byte == b'%') {
        out.extend_from_slice(&rest[..at]);
        let (spec, length) = Spec::parse(&rest[at..], &mut take);
        let text = &rest[at..at + length];
        out.extend(
            spec.and_then(|spec| spec.convert(&mut take))
                .ok_or_else(|| String::from_utf8_lossy(text).into_owned())?,
        );
        rest = &rest[at + length..];
    }
    out.extend_from_slice(rest);
    Ok(out)
}

fn value(take: &mut impl FnMut(Take) -> Taken, size: u64) -> u64 {
    match take(Take::Value(size)) {
        Taken::Value(value) => value,
        Taken::Text(_) => 0,
    }
}

/// A conversion such as `%-08.3lld`.
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    zero: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
    /// Size of an integer in bytes: 1, 2, 4 or 8.
    size: u32,
    conversion: u8,
}

impl Spec {
    /// Parses a conversion, and returns its length in bytes.
    fn parse(text: &[u8], take: &mut impl FnMut(Take) -> Taken) -> (Option<Self>, usize) {
        let mut at = 1;
        let peek = |at: usize| text.get(at).copied().unwrap_or(0);
        let mut flags = Vec::new();
        while matches!(peek(at), b'-' | b'+' | b' ' | b'0' | b'#') {
            flags.push(peek(at));
            at += 1;
        }
        let has = |flag: u8| flags.contains(&flag);
        let mut number = |at: &mut usize| {
            if peek(*at) == b'*' {
                *at += 1;
                return i64::from(value(take, 4) as i32);
            }
            let mut number = 0_i64;
            while peek(*at).is_ascii_digit() {
                number = (10 * number + i64::from(peek(*at) - b'0')).min(1 << 20);
                *at += 1;
            }
            number
        };
        let width = number(&mut at);
        let mut precision = None;
        if peek(at) == b'.' {
            at += 1;
            precision = usize::try_from(number(&mut at)).ok();
        }
        let mut size = 4;
        loop {
            size = match peek(at) {
                b'h' if size == 2 => 1,
                b'h' => 2,
                b'l' | b'j' | b'z' | b't' => 8,
                _ => break,
            };
            at += 1;
        }
        let spec = Self {
            left: has(b'-') || width < 0,
            plus: has(b'+'),
            space: has(b' '),
            zero: has(b'0'),
            alternate: has(b'#'),
            width: width.unsigned_abs() as usize,
            precision,
            size,
            conversion: peek(at),
        };
        let sane = spec.width <= MAX_WIDTH && precision.unwrap_or(0) <= MAX_WIDTH;
        (sane.then_some(spec), (at + 1).min(text.len()))
    }

    fn convert(&self, take: &mut impl FnMut(Take) -> Taken) -> Option<Vec<u8>> {
        let argument = if self.size == 8 { 8 } else { 4 };
        Some(match self.conversion {
            b'%' => b"%".to_vec(),
            b'd' | b'i' => {
                let unused = 64 - 8 * self.size;
                let value = ((value(take, argument) << unused) as i64) >> unused;
                self.number(value < 0, "", value.unsigned_abs().to_string())
            }
            b'u' => self.number(false, "", self.unsigned(take, argument).to_string()),
            b'x' => self.radix("0x", self.unsigned(take, argument), |v| format!("{v:x}")),
            b'X' => self.radix("0X", self.unsigned(take, argument), |v| format!("{v:X}")),
            b'o' => {
                let digits = format!("{:o}", self.unsigned(take, argument));
                let octal = self.alternate && !digits.starts_with('0');
                self.number(false, if octal { "0" } else { "" }, digits)
            }
            b'c' => self.pad(vec![value(take, 4) as u8]),
            b's' => {
                let text = match value(take, 8) {
                    0 => b"(null)".to_vec(),
                    address => match take(Take::Text(address)) {
                        Taken::Text(text) => text,
                        Taken::Value(_) => return None,
                    },
                };
                let length = self.precision.unwrap_or(text.len()).min(text.len());
                self.pad(text[..length].to_vec())
            }
            b'p' => match value(take, 8) {
                0 => self.pad(b"(nil)".to_vec()),
                address => self.number(false, "0x", format!("{address:x}")),
            },
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' => {
                let value = f64::from_bits(value(take, 8));
                let text = self.float(value.abs());
                let text = if self.conversion.is_ascii_uppercase() {
                    text.to_uppercase()
                } else {
                    text
                };
                self.signed(value.is_sign_negative(), "", text, value.is_finite())
            }
            _ => return None,
        })
    }

    fn unsigned(&self, take: &mut impl FnMut(Take) -> Taken, argument: u64) -> u64 {
        value(take, argument) & (u64::MAX >> (64 - 8 * self.size))
    }

    fn radix(&self, prefix: &str, value: u64, digits: fn(u64) -> String) -> Vec<u8> {
        let prefix = if self.alternate && value != 0 {
            prefix
        } else {
            ""
        };
        self.number(false, prefix, digits(value))
    }

    /// An integer: the precision is its minimum number of digits, and disables zero padding.
    fn number(&self, negative: bool, prefix: &str, digits: String) -> Vec<u8> {
        let digits = match self.precision {
            Some(0) if digits == "0" => String::new(),
            Some(precision) => format!("{digits:0>precision$}"),
            None => digits,
        };
        self.signed(negative, prefix, digits, self.precision.is_none())
    }

    /// Adds sign, prefix and padding to digits.
    fn signed(&self, negative: bool, prefix: &str, digits: String, zeros: bool) -> Vec<u8> {
        let signs = matches!(self.conversion, b'd' | b'i')
            || self.conversion.to_ascii_lowercase() > b'd'
                && matches!(self.conversion.to_ascii_lowercase(), b'e' | b'f' | b'g');
        let sign = match (negative, signs) {
            (true, _) => "-",
            (false, true) if self.plus => "+",
            (false, true) if self.space => " ",
            _ => "",
        };
        let used = sign.len() + prefix.len() + digits.len();
        if self.zero && zeros && !self.left && used < self.width {
            let missing = "0".repeat(self.width - used);
            format!("{sign}{prefix}{missing}{digits}").into_bytes()
        } else {
            self.pad(format!("{sign}{prefix}{digits}").into_bytes())
        }
    }

    fn pad(&self, mut text: Vec<u8>) -> Vec<u8> {
        let missing = vec![b' '; self.width.saturating_sub(text.len())];
        if self.left {
            text.extend(missing);
            text
        } else {
            [missing, text].concat()
        }
    }

    fn float(&self, value: f64) -> String {
        if !value.is_finite() {
            return if value.is_nan() { "nan" } else { "inf" }.to_owned();
        }
        let precision = self.precision.unwrap_or(6);
        match self.conversion.to_ascii_lowercase() {
            b'f' => self.with_point(format!("{value:.precision$}")),
            b'e' => exponent_form(value, precision)
                .map_or_else(String::new, |(digits, exponent)| {
                    exponential(&self.with_point(digits), exponent)
                }),
            _ => self.shortest(value, precision.max(1)),
        }
    }

    fn with_point(&self, digits: String) -> String {
        if self.alternate && !digits.contains('.') {
            digits + "."
        } else {
            digits
        }
    }

    /// `%g`: `significant` digits, with an exponent if it is far from 0.
    fn shortest(&self, value: f64, significant: usize) -> String {
        let Some((digits, exponent)) = exponent_form(value, significant - 1) else {
            return String::new();
        };
        let trim = |digits: String| {
            if self.alternate || !digits.contains('.') {
                self.with_point(digits)
            } else {
                digits
                    .trim_end_matches('0')
                    .trim_end_matches('.')
                    .to_owned()
            }
        };
        match usize::try_from(exponent + 4) {
            Ok(_) if exponent < significant as i32 => {
                let decimals = (significant as i32 - 1 - exponent) as usize;
                trim(format!("{value:.decimals$}"))
            }
            _ => exponential(&trim(digits), exponent),
        }
    }
}

/// Digits of the form `d.ddd`, and the power of ten.
fn exponent_form(value: f64, precision: usize) -> Option<(String, i32)> {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e')?;
    Some((digits.to_owned(), exponent.parse().ok()?))
}

fn exponential(digits: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str, values: &[u64]) -> Result<String, String> {
        let mut values = values.iter();
        let take = |take| match take {
            Take::Value(_) => Taken::Value(values.next().copied().unwrap_or(0)),
            Take::Text(_) => Taken::Text(b"text".to_vec()),
        };
        format(text.as_bytes(), take).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    #[test]
    fn conversions_are_those_of_c() {
        let minus = -42_i32 as u32 as u64;
        let float = |value: f64| value.to_bits();
        for (text, values, expected) in [
            (
                "%d|%5d|%-5d|%05d|%+d",
                &[minus, 7, 7, minus, 3][..],
                "-42|    7|7    |-0042|+3",
            ),
            (
                "%.3d|%.0d|%hhd|%hu",
                &[5, 0, 0x1ff, 0x1_ffff],
                "005||-1|65535",
            ),
            (
                "%x|%#X|%o|%#o|%lx",
                &[255, 255, 8, 8, 1 << 40],
                "ff|0XFF|10|010|10000000000",
            ),
            (
                "%f|%.2f|%e|%g|%G",
                &[
                    float(2.5),
                    float(-0.125),
                    float(12345.678),
                    float(1e-5),
                    float(1e20),
                ],
                "2.500000|-0.12|1.234568e+04|1e-05|1E+20",
            ),
            (
                "%g|%g|%#g|%08.2f",
                &[float(100_000.0), float(1e6), float(1.0), float(-1.5)],
                "100000|1e+06|1.00000|-0001.50",
            ),
            (
                "%f|%5.1f|%F",
                &[
                    float(f64::NAN),
                    float(f64::INFINITY),
                    float(f64::NEG_INFINITY),
                ],
                "nan|  inf|-INF",
            ),
            (
                "%s|%6s|%.2s|%c|%%|%p",
                &[1, 1, 1, 65, 16],
                "text|  text|te|A|%|0x10",
            ),
            ("%*d|%.*f", &[6, 42, 1, float(0.25)], "    42|0.2"),
        ] {
            assert_eq!(printed(text, values).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn an_unknown_conversion_is_named() {
        assert_eq!(printed("%d %n", &[1]), Err("%n".to_owned()));
        assert_eq!(printed("50%", &[]), Err("%".to_owned()));
    }
}
