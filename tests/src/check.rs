//! Comparisons that say what was launched when they fail.

use std::fmt::Debug;

use blockwise::Device;
use blockwise_ops::Element;
use blockwise_ops::compare::{self, ToNumber};
use blockwise_ops::oracle::{Expected, Precision};
use ndarray::{Array, Dimension};

/// Every element is within the oracle's tolerance.
#[track_caller]
pub fn close<T: Precision, D: Dimension>(
    device: &Device,
    case: impl Debug,
    result: &Array<T, D>,
    expected: &Expected<D>,
) {
    let comparison = compare::with_oracle(result.view(), expected)
        .unwrap_or_else(|error| panic!("{}, {case:?}: {error}", device.properties().name));
    assert!(
        comparison.passed(),
        "{}, {case:?}: {comparison:?}",
        device.properties().name
    );
}

/// Every element is the expected one.
#[track_caller]
pub fn equal<T: Element + ToNumber, D: Dimension>(
    device: &Device,
    case: impl Debug,
    result: &Array<T, D>,
    expected: &Array<T, D>,
) {
    let comparison = compare::exactly(result.view(), expected.view())
        .unwrap_or_else(|error| panic!("{}, {case:?}: {error}", device.properties().name));
    assert!(
        comparison.passed(),
        "{}, {case:?}: {comparison:?}",
        device.properties().name
    );
}

/// Every bit is the same, those of NaN and of zeros too.
#[track_caller]
pub fn same_bits<T: Element, D: Dimension>(
    case: impl Debug,
    left: &Array<T, D>,
    right: &Array<T, D>,
) {
    assert_eq!(left.shape(), right.shape(), "{case:?}");
    for (index, (left, right)) in left.iter().zip(right).enumerate() {
        let bits = |value| bytemuck::bytes_of::<T>(value).to_vec();
        assert_eq!(
            bits(left),
            bits(right),
            "{case:?}: the bytes of element {index}, {left:?} and {right:?}"
        );
    }
}
