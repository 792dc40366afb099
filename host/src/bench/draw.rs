//! Sizes drawn at random: what a table of fixed ones cannot show.
//!
//! Each side is drawn by its logarithm, from 1 to the largest that the operation's description
//! names. A third of an operation's shapes is rounded to multiples of 128, a third to multiples of
//! 8, a third stays as drawn. Types, modes and axes are drawn too, and where the operands begin: in
//! one of four shapes at no multiple of 16 bytes. Batches have turns of their own, and any number of
//! products.

use std::collections::HashSet;

use blockwise::{DeviceKind, Type};
use blockwise_ops::OPERATIONS;
use blockwise_ops::operation::{Given, Operation, Rank, Setting};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::operation;
use super::work::{DEFAULT, Posing, is_chosen};

/// What a drawn work is at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Multiplications with their additions.
    pub multiply_adds: u64,
    /// Bytes of operands and result.
    pub bytes: u64,
}

impl Limits {
    /// Where only defaults are timed.
    pub(super) const DEFAULTS: Self = Self {
        multiply_adds: 1 << 40,
        bytes: 4 << 30,
    };
    /// Where the slowest kernels are timed too: above these, some take seconds.
    pub(super) const EVERY_KERNEL: Self = Self {
        multiply_adds: 1 << 33,
        bytes: 256 << 20,
    };
    /// On the emulator, which is slow.
    const EMULATED: Self = Self {
        multiply_adds: 1 << 15,
        bytes: 1 << 15,
    };

    /// On a device of this kind.
    pub(super) fn on(self, kind: DeviceKind) -> Self {
        match kind {
            DeviceKind::Cuda => self,
            DeviceKind::Emulator => Self::EMULATED,
        }
    }
}

/// A shape that was drawn.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Drawn {
    pub of: &'static Operation,
    pub ty: Type,
    /// The extents; with an axis, the array's.
    pub size: Vec<usize>,
    pub posing: Posing,
}

/// The longest side of an array along one of whose axes, or on each of whose rows, an operation
/// works.
const SIDE: usize = 20_000;
/// Sides are rounded to multiples of these, by turns.
const ROUNDED: [usize; 3] = [128, 8, 1];
/// One of this many works has operands that begin an element after a multiple of 16 bytes.
const SHIFTED: u32 = 4;
/// Dimensions of an array with an axis.
const DIMENSIONS: [usize; 2] = [2, 3];

/// How often a shape that is too large, or was drawn already, is drawn again.
const TRIES: usize = 1000;

/// An operation, or its batches, and what of it passes the filter.
struct Source {
    of: &'static Operation,
    /// The most products of a batch.
    batch: Option<usize>,
    /// Types and settings.
    kinds: Vec<(Type, Given)>,
    has_axis: bool,
    drawn: usize,
}

/// `count` shapes, by turns of the operations that the filter leaves, or as many of each operation.
/// They follow from `seed`.
pub(super) fn shapes(seed: u64, count: Count, filter: &[String], limits: Limits) -> Vec<Drawn> {
    let mut rng = StdRng::seed_from_u64(seed);
    let single = OPERATIONS.iter().map(|of| Source::of(of, None, filter));
    let batches = OPERATIONS.iter().filter_map(|of| {
        let (label, most) = of.bench.batch?;
        Some(Source::of(of, Some((label, most)), filter))
    });
    let sources = single.chain(batches);
    let mut sources: Vec<_> = sources.filter(|it| !it.kinds.is_empty()).collect();
    // Which third is the first must not depend on the operation's place.
    for source in &mut sources {
        source.drawn = rng.random_range(0..ROUNDED.len());
    }
    let operations = sources.len();
    let all = match count {
        _ if operations == 0 => 0,
        Count::InAll(count) => count,
        Count::OfEach(count) => count * operations,
    };
    let mut shapes = Vec::with_capacity(all);
    let mut seen = HashSet::new();
    for at in 0..all {
        // Each is drawn once; of very many small ones there are no more. Half of all sides are
        // rounded to 128 itself, so that cubes of it would fill a twentieth.
        for _ in 0..TRIES {
            let Some(drawn) = sources[at % operations].draw(&mut rng, limits) else {
                break;
            };
            if seen.insert((drawn.of.name, drawn.ty, drawn.size.clone(), drawn.posing)) {
                shapes.push(drawn);
                break;
            }
        }
        sources[at % operations].drawn += 1;
    }
    shapes
}

/// How many shapes are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) enum Count {
    InAll(usize),
    OfEach(usize),
}

impl Source {
    fn of(of: &'static Operation, batch: Option<(&'static str, usize)>, filter: &[String]) -> Self {
        let modes = of.settings.iter().filter_map(|setting| match setting {
            Setting::Mode { values, .. } => Some(values.len()),
            _ => None,
        });
        let modes = match batch {
            Some(_) => 1,
            None => modes.max().unwrap_or(1),
        };
        let mut kinds = Vec::new();
        for &(ty, _) in of.bench.types {
            for mode in 0..modes {
                let given = of.with_mode(mode as u8);
                let label = batch.map_or(of.label(given.settings), |(label, _)| label);
                let name = format!("{label}/{ty}/{DEFAULT}/");
                if is_chosen(filter, &name) && !kinds.contains(&(ty, given)) {
                    kinds.push((ty, given));
                }
            }
        }
        let mut settings = of.settings.iter();
        Self {
            of,
            batch: batch.map(|(_, most)| most),
            kinds,
            has_axis: settings.any(|setting| matches!(setting, Setting::Axis { .. })),
            drawn: 0,
        }
    }

    fn draw(&mut self, rng: &mut StdRng, limits: Limits) -> Option<Drawn> {
        let (ty, mut given) = self.kinds[rng.random_range(0..self.kinds.len())];
        let multiple = ROUNDED[self.drawn % ROUNDED.len()];
        let offset = usize::from(rng.random_range(0..SHIFTED) == 0);
        let mut most = self.of.bench.drawn.to_vec();
        if self.batch.is_some() {
            most = most.into_iter().map(|most| most.min(SIDE)).collect();
        }
        if self.has_axis && rng.random() {
            let dimensions = DIMENSIONS[rng.random_range(0..DIMENSIONS.len())];
            most = vec![SIDE; dimensions];
            given.axis = Some(rng.random_range(0..dimensions) as isize);
        }
        let posing = Posing { given, offset };
        // On the emulator, no product of multiples of 128 is small enough: then of 8, or of any.
        for multiple in ROUNDED.into_iter().filter(|&it| it <= multiple) {
            for _ in 0..TRIES {
                let sides = most.iter().map(|&most| side(rng, most, multiple));
                let mut size: Vec<usize> = sides.collect();
                if let Some(most) = self.batch {
                    size.insert(0, side(rng, most, 1));
                }
                if fits(self.of, ty, &size, &posing, limits) {
                    return Some(Drawn {
                        of: self.of,
                        ty,
                        size,
                        posing,
                    });
                }
            }
        }
        None
    }
}

/// A number from 1 to `most`, equally likely in each octave, rounded to a multiple.
fn side(rng: &mut StdRng, most: usize, multiple: usize) -> usize {
    let drawn = rng.random_range(0.0..((most + 1) as f64).ln()).exp();
    let multiples = (drawn / multiple as f64).round() as usize;
    match multiple {
        1 => (drawn as usize).clamp(1, most),
        _ => multiples.clamp(1, (most / multiple).max(1)) * multiple,
    }
}

/// Whether a work of this size is small enough.
fn fits(of: &Operation, ty: Type, size: &[usize], posing: &Posing, limits: Limits) -> bool {
    // A signal is longer than its taps.
    if let (Rank::Signal, [.., samples, taps]) = (of.operands[0].rank, size)
        && samples <= taps
    {
        return false;
    }
    operation::posed(of, ty, size, &posing.given).is_ok_and(|posed| {
        let lens = (of.lens)(&posed.problem);
        let lens = lens.inputs.into_iter().chain([lens.output]);
        let elements = lens.fold(0, usize::saturating_add) as u64;
        let operations = (of.work)(&posed.problem).operations;
        elements.saturating_mul(ty.bytes() as u64) <= limits.bytes
            && operations / 2 <= limits.multiply_adds
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn drawn(seed: u64, count: usize, filter: &[&str]) -> Vec<Drawn> {
        let filter: Vec<_> = filter.iter().map(|&text| text.to_owned()).collect();
        shapes(seed, Count::InAll(count), &filter, Limits::DEFAULTS)
    }

    #[test]
    fn sides_are_equally_likely_in_each_octave() {
        let mut rng = StdRng::seed_from_u64(1);
        let sides: Vec<_> = (0..40_000).map(|_| side(&mut rng, 20_000, 1)).collect();
        assert!(sides.iter().all(|side| (1..=20_000).contains(side)));
        assert!(sides.contains(&1) && sides.iter().any(|&side| side > 19_000));
        // ln 20,001 is 14.3 octaves.
        for octave in [1, 16, 1024, 8192] {
            let within = sides
                .iter()
                .filter(|&&side| (octave..2 * octave).contains(&side));
            let share = within.count() as f64 / sides.len() as f64;
            assert!((share * 14.29 - 1.0).abs() < 0.1, "{octave}: {share}");
        }
    }

    #[test]
    fn a_third_each_is_rounded_to_128_to_8_and_not_at_all() {
        for filter in ["matmul/f32", "transpose", "sum/", "conv-full"] {
            let shapes = drawn(3, 300, &[filter]);
            assert_eq!(shapes.len(), 300, "{filter}");
            let all = |multiple: usize| {
                let of = shapes
                    .iter()
                    .filter(|it| it.size.iter().all(|side| side % multiple == 0));
                of.count()
            };
            // Some of the others are such multiples by chance.
            assert!((100..120).contains(&all(128)), "{filter}: {}", all(128));
            assert!((200..230).contains(&all(8)), "{filter}: {}", all(8));
        }
        // A side too short for a multiple is no multiple, but never longer than it may be.
        let mut rng = StdRng::seed_from_u64(2);
        for _ in 0..1000 {
            assert!([128, 256].contains(&side(&mut rng, 300, 128)));
        }
    }

    #[test]
    fn limits_hold_and_large_shapes_come_near_them() {
        let shapes = drawn(5, 3000, &["matmul"]);
        let product = |it: &Drawn| it.size.iter().map(|&side| side as f64).product::<f64>();
        let most = shapes.iter().map(product).fold(0.0, f64::max);
        assert!(
            most <= 2.0_f64.powi(40) && most > 2.0_f64.powi(38),
            "{most}"
        );
        for Drawn { size, ty, .. } in drawn(5, 3000, &["transpose"]) {
            assert!(2 * size[0] * size[1] * ty.bytes() <= 4 << 30, "{size:?}");
        }
        let emulated = shapes_emulated();
        assert!(emulated.iter().all(|it| product(it) <= 32_768.0));
    }

    fn shapes_emulated() -> Vec<Drawn> {
        shapes(
            5,
            Count::InAll(50),
            &["matmul".to_owned()],
            Limits::EMULATED,
        )
    }

    #[test]
    fn batches_have_turns_of_their_own() {
        let shapes = drawn(9, 200, &["matmul-batch"]);
        assert!(shapes.iter().all(|it| it.size.len() == 4));
        let wide = shapes.iter().filter(|it| it.size[0] > 100).count();
        assert!((40..120).contains(&wide), "{wide}");
        let whole = |it: &&Drawn| it.size[1..].iter().all(|side| side % 128 == 0);
        assert!((60..90).contains(&shapes.iter().filter(whole).count()));
        // Those of single products stay what they were without them.
        let single = drawn(9, 50, &["matmul/"]);
        assert!(single.iter().all(|it| it.size.len() == 3));
    }

    #[test]
    fn types_modes_axes_and_beginnings_are_drawn_and_a_filter_leaves_its_own() {
        let shapes = drawn(7, 900, &[]);
        let mut of = BTreeMap::<_, usize>::new();
        for it in &shapes {
            *of.entry(it.of.name).or_default() += 1;
        }
        assert_eq!(of.len(), OPERATIONS.len());
        let turns = OPERATIONS.len() + 2;
        for (name, count) in of {
            let turn = if ["matmul", "conv"].contains(&name) {
                2
            } else {
                1
            };
            assert!(
                count.abs_diff(turn * 900 / turns) <= turn,
                "{name}: {count}"
            );
        }
        let has = |what: &dyn Fn(&Drawn) -> bool| shapes.iter().any(what);
        for mode in 0..3 {
            assert!(has(
                &|it| it.of.name == "conv" && it.posing.given.settings[0] == mode
            ));
        }
        for axis in [None, Some(0), Some(1), Some(2)] {
            assert!(has(
                &|it| it.of.name == "sum" && it.posing.given.axis == axis
            ));
        }
        for ty in [Type::F32, Type::F64, Type::I64] {
            assert!(has(&|it| it.of.name == "sum" && it.ty == ty));
        }
        let shifted = shapes.iter().filter(|it| it.posing.offset == 1).count();
        assert!((180..270).contains(&shifted), "{shifted}");
        for it in drawn(7, 50, &["conv-valid/f64", "matmul/f32"]) {
            let label = it.of.label(it.posing.given.settings);
            let kind = (label, it.ty);
            assert!([("conv-valid", Type::F64), ("matmul", Type::F32)].contains(&kind));
        }
        assert_eq!(drawn(7, 50, &["nothing"]), []);
    }

    #[test]
    fn a_seed_repeats_its_shapes() {
        assert_eq!(drawn(5, 40, &[]), drawn(5, 40, &[]));
        assert_ne!(drawn(5, 40, &[]), drawn(6, 40, &[]));
        // Fewer are the first ones of more.
        assert_eq!(drawn(5, 40, &[])[..10], drawn(5, 10, &[]));
        let of_each = shapes(5, Count::OfEach(2), &[], Limits::EVERY_KERNEL);
        assert_eq!(of_each.len(), 2 * (OPERATIONS.len() + 2));
    }
}
