//! An axis of an array.

use crate::LaunchError;
use crate::array::len_of;

/// An array as outer × extent × inner elements, the middle one along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The product of the extents before the axis.
    pub outer: usize,
    /// The axis' own extent.
    pub extent: usize,
    /// The product of the extents after it.
    pub inner: usize,
}

impl Axis {
    /// For an array of this shape; a negative `axis` counts from the back. Without an axis, all
    /// elements are one line.
    ///
    /// # Errors
    /// When there is no such axis, or the elements cannot be counted.
    pub fn of(shape: &[usize], axis: Option<isize>) -> Result<Self, LaunchError> {
        let len = len_of(shape)?;
        let Some(axis) = axis else {
            return Ok(Self {
                outer: 1,
                extent: len,
                inner: 1,
            });
        };
        let dims = shape.len();
        let at = match usize::try_from(axis) {
            Ok(at) => Some(at),
            Err(_) => dims.checked_sub(axis.unsigned_abs()),
        };
        let at = at.filter(|&at| at < dims);
        let at = at.ok_or(LaunchError::NoAxis { axis, dims })?;
        Ok(Self {
            outer: len_of(&shape[..at])?,
            extent: shape[at],
            inner: len_of(&shape[at + 1..])?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_count_from_both_ends() {
        let axis =
            |axis| Axis::of(&[2, 3, 5], axis).map(|axis| [axis.outer, axis.extent, axis.inner]);
        assert_eq!(axis(None).unwrap(), [1, 30, 1]);
        assert_eq!(axis(Some(0)).unwrap(), [1, 2, 15]);
        assert_eq!(axis(Some(-2)).unwrap(), [2, 3, 5]);
        assert_eq!(axis(Some(2)).unwrap(), [6, 5, 1]);
        for none in [3, -4, isize::MIN, isize::MAX] {
            assert!(matches!(
                axis(Some(none)),
                Err(LaunchError::NoAxis { dims: 3, .. })
            ));
        }
        assert!(Axis::of(&[], Some(0)).is_err());
    }
}
