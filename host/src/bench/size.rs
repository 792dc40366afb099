//! Sizes as they are written on the command line and in names.

use std::fmt;
use std::str::FromStr;

/// The extents of a work: `2^20`, `4096x4096x4096`, or `2^26x31` for samples and taps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size(pub Vec<usize>);

/// A text that is no size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{given}` is no size: write extents above zero with x between them, such as 2^20, 4096 or 2^26x31"
)]
pub struct BadSize {
    /// The text that was given.
    pub given: String,
}

/// Below this, powers of two are better known by their digits.
const SMALLEST_POWER: usize = 1 << 17;

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, &extent) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("x")?;
            }
            if extent.is_power_of_two() && extent >= SMALLEST_POWER {
                write!(f, "2^{}", extent.trailing_zeros())?;
            } else {
                write!(f, "{extent}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for Size {
    type Err = BadSize;

    fn from_str(text: &str) -> Result<Self, BadSize> {
        let extent = |text: &str| {
            let value = match text.split_once('^') {
                Some((base, power)) => base.parse::<usize>().ok()?.checked_pow(power.parse().ok()?),
                None => text.parse().ok(),
            };
            value.filter(|&value| value > 0)
        };
        let extents: Option<Vec<usize>> = text.split('x').map(extent).collect();
        extents.map(Size).ok_or_else(|| BadSize {
            given: text.to_owned(),
        })
    }
}

/// Which sizes to time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sizes {
    /// Those of the performance table.
    #[default]
    Standard,
    /// One of each operation, small enough for a look.
    Quick,
    /// These, for every operation with as many extents. A single number is also a square matrix and
    /// a cube of a product.
    Given(Vec<Size>),
    /// So many, drawn at random over all operations.
    Random(u32),
}

impl Sizes {
    /// The sizes of an operation with this number of extents. `square` says that a single number
    /// means that number for each.
    pub(super) fn pick(
        &self,
        extents: usize,
        square: bool,
        quick: &[&[usize]],
        standard: &[&[usize]],
    ) -> Vec<Vec<usize>> {
        let owned = |sizes: &[&[usize]]| sizes.iter().map(|size| size.to_vec()).collect();
        match self {
            Sizes::Standard => owned(standard),
            Sizes::Quick => owned(quick),
            Sizes::Random(_) => Vec::new(),
            Sizes::Given(sizes) => sizes
                .iter()
                .filter_map(|size| match size.0[..] {
                    [side] if square => Some(vec![side; extents]),
                    ref given => (given.len() == extents).then(|| given.to_vec()),
                })
                .filter(|extents| fits(extents))
                .collect(),
        }
    }
}

/// Whether N products can be counted, with their bytes: a long vector's length is no side of
/// a cube.
fn fits(extents: &[usize]) -> bool {
    let product = extents
        .iter()
        .try_fold(64_usize, |product, &extent| product.checked_mul(extent));
    product.is_some_and(|product| isize::try_from(product).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_back_as_written() {
        for text in ["2^20", "4096x4096", "2^26x31", "16381x16411", "1", "2^17"] {
            assert_eq!(text.parse::<Size>().unwrap().to_string(), text);
        }
        assert_eq!("2^3x10^2".parse(), Ok(Size(vec![8, 100])));
    }

    #[test]
    fn what_is_no_size_is_refused_with_examples() {
        for text in ["", "0", "2^", "2^99", "x", "3x", "-1", "2^20,31", "4k"] {
            let error = text.parse::<Size>().unwrap_err().to_string();
            assert!(error.contains("2^26x31"), "{error}");
        }
    }

    #[test]
    fn given_sizes_go_to_the_operations_with_as_many_extents() {
        let given = Sizes::Given(vec!["64".parse().unwrap(), "5x7".parse().unwrap()]);
        let of = |sizes: &Sizes, extents, square| sizes.pick(extents, square, &[], &[]);
        assert_eq!(of(&given, 1, false), [[64]]);
        assert_eq!(of(&given, 2, false), [[5, 7]]);
        assert_eq!(of(&given, 2, true), [[64, 64], [5, 7]]);
        assert_eq!(of(&given, 3, true), [[64, 64, 64]]);
        let long = Sizes::Given(vec!["2^29".parse().unwrap()]);
        assert_eq!(of(&long, 1, false), [[1 << 29]]);
        assert_eq!(of(&long, 3, true), [[0; 3]; 0]);
    }
}
