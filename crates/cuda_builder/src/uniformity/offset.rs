//! Offsets in bytes, as far as they are known: `residue` modulo `modulus`.
//!
//! An index into an array of 16-byte structs determines the offset of a field modulo 16.

/// A set of offsets: `residue + k * modulus` for every integer k. Modulus 0: one offset; 1: any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Offset {
    residue: i64,
    modulus: u64,
}

impl Offset {
    /// Any offset.
    pub(super) const ANY: Offset = Offset {
        residue: 0,
        modulus: 1,
    };

    pub(super) fn exact(residue: i64) -> Self {
        Offset {
            residue,
            modulus: 0,
        }
    }

    /// All multiples of a number of bytes.
    pub(super) fn multiple(bytes: u64) -> Self {
        Offset::reduced(0, bytes)
    }

    fn reduced(residue: i64, modulus: u64) -> Self {
        match i64::try_from(modulus) {
            Ok(0) => Offset::exact(residue),
            Ok(positive) => Offset {
                residue: residue.rem_euclid(positive),
                modulus,
            },
            Err(_) => Offset::ANY,
        }
    }

    /// The offset, if it is a single one.
    pub(super) fn constant(self) -> Option<i64> {
        (self.modulus == 0).then_some(self.residue)
    }

    /// The sums of both.
    pub(super) fn plus(self, other: Offset) -> Self {
        match self.residue.checked_add(other.residue) {
            Some(sum) => Offset::reduced(sum, gcd(self.modulus, other.modulus)),
            None => Offset::ANY,
        }
    }

    /// The differences.
    pub(super) fn minus(self, other: Offset) -> Self {
        match other.residue.checked_neg() {
            Some(residue) => self.plus(Offset { residue, ..other }),
            None => Offset::ANY,
        }
    }

    /// The union of both.
    pub(super) fn or(self, other: Offset) -> Self {
        let apart = self.residue.abs_diff(other.residue);
        Offset::reduced(self.residue, gcd(gcd(self.modulus, other.modulus), apart))
    }

    /// Whether a range of bytes at this offset may overlap one at the other.
    pub(super) fn overlaps(self, len: u64, other: Offset, other_len: u64) -> bool {
        let apart = other.minus(self);
        match apart.constant() {
            Some(apart) => {
                i128::from(apart) < i128::from(len) && i128::from(apart) + i128::from(other_len) > 0
            }
            None => {
                let after = u64::try_from(apart.residue).unwrap_or(0);
                after < len || apart.modulus - after < other_len
            }
        }
    }

    /// Whether two ranges of this length are equal wherever they overlap.
    pub(super) fn matches(self, other: Offset, len: u64) -> bool {
        let apart = other.minus(self);
        apart.residue == 0 && (apart.modulus == 0 || apart.modulus >= len)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(residue: i64, modulus: u64) -> Offset {
        Offset::reduced(residue, modulus)
    }

    #[test]
    fn sums_keep_what_both_know() {
        assert_eq!(at(3, 0).plus(at(-5, 0)), at(-2, 0));
        assert_eq!(at(24, 0).plus(Offset::multiple(16)), at(8, 16));
        assert_eq!(at(4, 12).plus(Offset::multiple(8)), at(0, 4));
        assert_eq!(at(-4, 16), at(12, 16));
        assert_eq!(at(0, 16).minus(at(4, 0)), at(12, 16));
        assert_eq!(at(i64::MAX, 0).plus(at(1, 0)), Offset::ANY);
        assert_eq!(at(0, 0).minus(at(i64::MIN, 0)), Offset::ANY);
        assert_eq!(at(0, u64::MAX), Offset::ANY);
    }

    #[test]
    fn one_of_two_is_where_both_may_be() {
        assert_eq!(at(8, 0).or(at(8, 0)), at(8, 0));
        assert_eq!(at(8, 0).or(at(24, 0)), at(8, 16));
        assert_eq!(at(8, 16).or(at(12, 0)), at(0, 4));
        assert_eq!(at(8, 16).or(at(9, 0)), Offset::ANY);
    }

    #[track_caller]
    fn check(a: Offset, len: u64, b: Offset, other_len: u64, expected: bool) {
        assert_eq!(a.overlaps(len, b, other_len), expected);
        assert_eq!(b.overlaps(other_len, a, len), expected);
    }

    #[test]
    fn ranges_overlap_where_a_byte_may_be_in_both() {
        check(at(0, 0), 8, at(8, 0), 8, false);
        check(at(0, 0), 9, at(8, 0), 8, true);
        check(at(0, 0), u64::MAX, at(800, 0), 1, true);
        check(at(0, 16), 8, at(8, 0), 8, false);
        check(at(0, 16), 8, at(24, 16), 4, false);
        check(at(0, 16), 8, at(4, 16), 4, true);
        check(at(0, 16), 1, at(12, 16), 5, true);
        check(at(0, 16), 8, at(8, 8), 1, true);
        check(Offset::ANY, 1, at(5, 0), 1, true);
    }

    #[test]
    fn ranges_match_if_they_never_overlap_in_part() {
        assert!(at(8, 0).matches(at(8, 0), 8));
        assert!(at(8, 0).matches(Offset::multiple(8), 8));
        assert!(at(8, 16).matches(at(24, 0), 8));
        assert!(!at(8, 16).matches(at(4, 0), 8));
        assert!(!at(8, 0).matches(Offset::multiple(4), 8));
        assert!(!at(8, 0).matches(at(12, 0), 8));
    }
}
