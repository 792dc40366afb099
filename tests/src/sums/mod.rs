//! Random arrays for sums and dot products, and how exact a result is.

pub mod model;

use blockwise::Device;
use blockwise_mesh::{Mesh, Split};
use blockwise_ops::operation::{Options, Variant};
use blockwise_ops::oracle::{Exact, Precision};
use blockwise_ops::pipeline::Reducer;
use blockwise_ops::reduce::{DOT, SINGLE, SUM, WIDE};
use blockwise_ops::{LaunchError, Number, Reduction};
use ladder::SHUFFLE;

use crate::data::random_bits;

/// The largest condition, Σ|x| / |Σx|, for which sums are promised to be correctly rounded.
pub const PROMISED: f64 = (1 << 16) as f64;

/// The kernels that the launcher chooses by itself, and the step before them.
pub static CHOSEN: [&Variant; 3] = [&SHUFFLE, &WIDE, &SINGLE];

/// How an array's elements are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Evenly in 0..1 or −1..1.
    Uniform,
    /// Of mean 0 or 1.
    Normal,
    /// One number.
    Constant,
    /// With an exponential distribution, of magnitudes over many powers of two.
    Exponential,
    /// Numbers of alternating signs that nearly cancel.
    Alternating,
    /// One number that is up to 2⁴⁰ times as large as the others.
    OneLarge,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::Uniform,
        Self::Normal,
        Self::Constant,
        Self::Exponential,
        Self::Alternating,
        Self::OneLarge,
    ];
}

/// An array of random numbers.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// How its elements are drawn.
    pub kind: Kind,
    /// Its length.
    pub len: usize,
    /// The condition that its last element brings about, as nearly as it can.
    condition: Option<f64>,
    seed: u64,
}

/// A number in 0..1 from 64 bits.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

impl Sample {
    /// A sample of a length that is evenly distributed in its logarithm.
    pub fn new(seed: u64, largest: usize) -> Self {
        let mut next = random_bits(seed ^ 0x5EED);
        let len = (largest as f64).powf(unit(next())) as usize;
        Self {
            kind: Kind::ALL[(next() % 6) as usize],
            len: len.clamp(1, largest),
            condition: (next().is_multiple_of(2) && len > 2).then(|| (20.0 * unit(next())).exp2()),
            seed,
        }
    }

    /// The factors of a dot product, or the elements of a sum and ones.
    pub fn operands<T: Precision>(&self, dot: bool) -> [Vec<T>; 2] {
        let mut a = self.draw::<T>(self.seed);
        let b = match dot {
            true => Self {
                kind: Kind::Normal,
                ..*self
            }
            .draw(!self.seed),
            false => vec![T::nearest(1.0); self.len],
        };
        if let (Some(condition), [first @ .., last], Some(&factor)) =
            (self.condition, &mut a[..], b.last())
        {
            let (mut sum, mut magnitude) = (0.0, 0.0);
            for (&a, &b) in first.iter().zip(&b) {
                let product = a.into() * b.into();
                sum += product;
                magnitude += f64::abs(product);
            }
            let wanted = (2.0 * magnitude / condition - sum) / factor.into();
            if wanted.is_finite() {
                *last = T::nearest(wanted);
            }
        }
        [a, b]
    }

    fn draw<T: Precision>(&self, seed: u64) -> Vec<T> {
        let mut next = random_bits(seed);
        let (choice, scale) = (next() % 2, (unit(next()) * 40.0 - 20.0).exp2());
        let at = next() as usize % self.len;
        let constant = unit(next()) * scale;
        let element = |i: usize| {
            let bits = next();
            let x = unit(bits);
            scale
                * match self.kind {
                    Kind::Uniform if choice == 0 => x,
                    Kind::Uniform => 2.0 * x - 1.0,
                    Kind::Normal => {
                        let radius = (-2.0 * (1.0 - x).ln()).sqrt();
                        let angle = std::f64::consts::TAU * unit(next());
                        radius * angle.cos() + choice as f64
                    }
                    Kind::Constant => constant / scale,
                    Kind::Exponential => {
                        let sign = if choice == 1 && bits & 1 == 1 {
                            -1.0
                        } else {
                            1.0
                        };
                        sign * (-(1.0 - x).ln() * 6.0 - 12.0).exp2()
                    }
                    Kind::Alternating => (1.0 + x / 1024.0) * (1.0 - 2.0 * (i % 2) as f64),
                    Kind::OneLarge if i == at => (40.0 * x).exp2(),
                    Kind::OneLarge => x - 0.25,
                }
        };
        (0..self.len).map(element).map(T::nearest).collect()
    }
}

/// The exact sum of products.
pub fn exact<T: Precision>(a: &[T], b: &[T]) -> Exact {
    let mut sum = Exact::default();
    for (&a, &b) in a.iter().zip(b) {
        sum.add_product(a.into(), b.into());
    }
    sum
}

/// The numbers of the type from the correctly rounded one to a result: 0 where it is that.
pub fn units_off<T: Precision>(result: T, exact: &Exact) -> u64 {
    // Neighbours have neighbouring integers, through zero.
    let place = |value: T| {
        let value: f64 = value.into();
        let bits = match T::UNIT_ROUNDOFF > f64::UNIT_ROUNDOFF {
            true => i64::from((value as f32).abs().to_bits()),
            false => value.abs().to_bits().cast_signed(),
        };
        if value < 0.0 { -bits } else { bits }
    };
    place(result).abs_diff(place(exact.nearest()))
}

/// What a result misses the exact sum by beyond its own rounding, over the promised bound: at most
/// 1 where the promise holds.
pub fn of_the_bound<T: Precision>(result: T, exact: &Exact) -> f64 {
    let value: f64 = result.into();
    let mut missed = exact.clone();
    missed.add(-value);
    let rounding = (T::UNIT_ROUNDOFF * value.abs()).max(T::SMALLEST / 2.0);
    let bound = match T::UNIT_ROUNDOFF > f64::UNIT_ROUNDOFF {
        true => 2.0_f64.powi(-41),
        false => 2.0_f64.powi(-80),
    };
    match missed.nearest::<f64>().abs() - rounding {
        ..=0.0 => 0.0,
        missed => missed / (bound * exact.magnitude()),
    }
}

/// Meshes of 1, 3 and 8 ranks, on one device or on as many emulated ones.
pub struct Meshes([Mesh; 3]);

impl Meshes {
    /// The numbers of ranks.
    pub const RANKS: [usize; 3] = [1, 3, 8];

    /// All ranks on one device; without one, each on an emulated device of its own.
    ///
    /// # Errors
    /// None: these are few devices.
    pub fn of(device: Option<&Device>) -> Result<Self, blockwise_mesh::Error> {
        let [one, three, eight] = Self::RANKS.map(|ranks| match device {
            Some(device) => Mesh::of(vec![device.clone(); ranks]),
            None => Mesh::emulated(ranks),
        });
        Ok(Self([one?, three?, eight?]))
    }

    /// The sum of one operand, or the dot product of two, by each number of ranks, each of
    /// [four chunks](chunks) and each kernel of [`CHOSEN`] and the default; with a name for each.
    ///
    /// # Errors
    /// What goes wrong on a device.
    pub fn cross<T: Number>(&self, operands: &[Vec<T>]) -> Result<Vec<(String, T)>, Failure> {
        let mut results = Vec::new();
        for kernel in CHOSEN.map(Some).into_iter().chain([None]) {
            let options = Options {
                kernel,
                ..Options::default()
            };
            for mesh in &self.0 {
                for chunk in chunks(operands[0].len()) {
                    let ranks = mesh.ranks();
                    let case = format!("{kernel:?}, {ranks} ranks, chunks of {chunk}");
                    results.push((case, divided(mesh, operands, chunk, &options)?));
                }
            }
        }
        Ok(results)
    }
}

/// Four chunks for an array: one of all elements, and about 2, 7 and 50 for short arrays or more.
pub fn chunks(len: usize) -> [usize; 4] {
    [len, len / 2 + 1, len / 7 + 1, len / 50 + 100]
}

/// What goes wrong on a device or between ranks.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A sum or dot product as `--gpus` and `--chunk` make it: each rank has a part, in chunks, and
/// their totals are folded.
fn divided<T: Number>(
    mesh: &Mesh,
    operands: &[Vec<T>],
    chunk: usize,
    options: &Options,
) -> Result<T, Failure> {
    let operation = match operands {
        [_] => &SUM,
        _ => &DOT,
    };
    let split = Split::even(operands[0].len(), mesh.ranks());
    let totals = mesh.run(|rank| {
        let mut part = split.range(rank.number());
        let mut total = None;
        if !part.is_empty() {
            let mut reducer = Reducer::new(rank.device(), part.len(), operation, options, chunk)?;
            while reducer.next_len() > 0 {
                let next = part.start + reducer.next_len();
                reducer.push(|number, values| {
                    values.copy_from_slice(&operands[number][part.start..next]);
                    Ok::<_, LaunchError>(())
                })?;
                part.start = next;
            }
            total = Some(reducer.finish()?.0);
        }
        Ok::<_, Failure>(rank.fold_totals(total, Reduction::Sum)?)
    })?;
    let total = totals.into_iter().next().flatten();
    Ok(total.unwrap_or_default().round())
}
