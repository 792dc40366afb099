//! What the jobs of sums know of their types.

use blockwise::DeviceProperties;
use blockwise_ops::compare::ToNumber;
use blockwise_ops::operation::{Operation, Options, Problem};
use blockwise_ops::reduce::{SUM, error_of, sum_error};
use blockwise_ops::{Number, oracle};
use ndarray::{Array1, arr0};

use super::{exact, within};
use crate::data::Draw;

/// A type and its oracle of sums.
pub(super) trait Summed: Number + Draw + ToNumber {
    /// The largest value, and "not a number" where there is one: what must survive all rounds from
    /// wherever it stands.
    const GREATEST: Self;
    const LEAST: Self;
    const NOT_A_NUMBER: Option<Self>;
    /// A number so large that the others are in the second terms of sums until it cancels; the
    /// same with its sign changed; and 1.
    const HUGE: Option<[Self; 3]>;
    /// The number as one among others of which each adds its own bits to a total's second term;
    /// `None` of types whose totals have another form.
    fn spread(self, at: usize) -> Option<Self>;

    /// Judges Σ a·b, or Σ a without `b`.
    fn judge(a: &Array1<Self>, b: Option<&Array1<Self>>, error: f64) -> Judge<Self>;

    /// What its sums by such a launch may be off.
    fn error(_: &'static Operation, _: &Options, _: usize, _: &DeviceProperties) -> f64 {
        0.0
    }

    /// The same along an axis.
    fn error_along_axis(_: &Problem, _: &Options, _: &DeviceProperties) -> f64 {
        0.0
    }
}

pub(super) type Judge<T> = Box<dyn Fn(Vec<T>) -> Result<(), String> + Send + Sync>;

macro_rules! summed_floats {
    ($($t:ident $huge:expr,)*) => {$(
        impl Summed for $t {
            const GREATEST: Self = 100.0;
            const LEAST: Self = -100.0;
            const NOT_A_NUMBER: Option<Self> = Some($t::NAN);
            const HUGE: Option<[Self; 3]> = $huge;

            fn spread(self, at: usize) -> Option<Self> {
                (size_of::<Self>() == 8).then(|| self * Self::from(2_u8).powi(-17 * (at % 4) as i32))
            }

            fn error(
                of: &'static Operation,
                options: &Options,
                len: usize,
                on: &DeviceProperties,
            ) -> f64 {
                sum_error::<$t>(of, len, options, on).expect("a sum")
            }

            fn error_along_axis(of: &Problem, options: &Options, on: &DeviceProperties) -> f64 {
                error_of(&SUM, of, options, on).expect("a sum")
            }

            fn judge(a: &Array1<Self>, b: Option<&Array1<Self>>, error: f64) -> Judge<Self> {
                let expected = match b {
                    Some(b) => oracle::dot::<$t>(a.view(), b.view(), error),
                    None => oracle::sum::<$t>(a.view(), error),
                };
                Box::new(within::<$t, _>(expected))
            }
        }
    )*};
}
summed_floats!(
    f32 Some([(1 << 20) as f32, -((1 << 20) as f32), 1.0]),
    f64 Some([(1_u64 << 60) as f64, -((1_u64 << 60) as f64), 1.0]),
);

impl Summed for i64 {
    const GREATEST: Self = i64::MAX;
    const LEAST: Self = i64::MIN;
    const NOT_A_NUMBER: Option<Self> = None;
    const HUGE: Option<[Self; 3]> = None;

    fn spread(self, _: usize) -> Option<Self> {
        None
    }

    fn judge(a: &Array1<Self>, b: Option<&Array1<Self>>, _: f64) -> Judge<Self> {
        let (_, expected) = match b {
            Some(b) => oracle::dot_i64(a.view(), b.view()),
            None => oracle::sum_i64(a.view()),
        };
        Box::new(exact(arr0(expected)))
    }
}
