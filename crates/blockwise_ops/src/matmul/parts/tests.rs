//! Parts of products.

use blockwise::Type;

use super::*;
use crate::limits::h200;
use crate::matmul::{MMA, NAIVE, TILED};

/// What the order of a launch's sums follows from: its family, its slices, and its threads where
/// these divide the inner extent, or the first rows that have one slice.
type Order = (String, u32, [u32; 3]);

fn order_of(problem: &Problem, options: &Options) -> Order {
    let plan = operation::plan(&MATMUL, problem, options, &h200());
    let plan = plan.unwrap_or_else(|error| panic!("{problem:?}, {options:?}: {error}"));
    let plan = plan.expect("it has outputs");
    let (name, slices) = (plan.launch.kernel, plan.launch.grid[2]);
    let has = |part: &str| name.contains(part);
    if has("_mma_") {
        let device = h200();
        let task = Task::new(&MMA, problem, options, &device);
        let slices = choice::slicing(&task).slices;
        let whole = match slices {
            1 => 0,
            _ => mma::whole(&task, slices) as u32,
        };
        return ("mma".to_owned(), slices as u32, [whole, 0, 0]);
    }
    let (family, threads) = match name {
        _ if has("pipelined") || has("sliced") => ("in stages", [0; 3]),
        _ if has("few_rows") => ("few rows", [0; 3]),
        // The packs of B are a group's columns, and the lanes that share a row stay.
        _ if has("thin") => {
            let lanes = u32::from(plan.kernel.instance);
            ("thin", [plan.launch.block[0], lanes, 0])
        }
        _ if has("matmul_narrow") => ("runs of rows", [u32::from(plan.kernel.instance), 0, 0]),
        _ if has("few_cols") || has("one_col") => {
            let [code, team] = [plan.kernel.code, plan.kernel.instance].map(u32::from);
            // By elements, one column has the order of several.
            ("few columns", [u32::from(code == 5), team, 0])
        }
        // Tiles of any size take the steps of the inner extent that the team's warps do.
        _ if has("direct") => ("direct", [u32::from(plan.kernel.code), 0, 0]),
        simple => (simple, [0; 3]),
    };
    (family.to_owned(), slices, threads)
}

/// The order of `rows` rows, from row `first` on, of a product of this order.
fn of_rows(whole: &Order, first: usize, rows: usize) -> Order {
    let (family, slices, [in_one, ..]) = whole;
    if family != "mma" || *slices == 1 {
        return whole.clone();
    }
    match (*in_one as usize).saturating_sub(first) {
        in_one if in_one >= rows => (family.clone(), 1, [0; 3]),
        in_one => (family.clone(), *slices, [in_one as u32, 0, 0]),
    }
}

/// Numbers that look random.
fn next(state: &mut u64) -> f64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

/// From 1 to `most`; each factor is as likely as any other.
fn up_to(most: usize, state: &mut u64) -> usize {
    (((most as f64).ln() * next(state)).exp() as usize).clamp(1, most)
}

#[test]
fn the_plan_of_a_part_has_the_order_of_the_wholes() {
    let device = h200();
    let (state, mut families) = (&mut 52, std::collections::BTreeMap::new());
    let mut otherwise = 0;
    for at in 0..6000 {
        let ty = [Type::F32, Type::F64][at % 2];
        // Small ones, and those that fill a device.
        let [side, deep] = if at % 3 == 0 {
            [20_000, 20_000]
        } else {
            [300, 5000]
        };
        let mut of = [side, deep, side].map(|most| up_to(most, state));
        // Few of these have five to sixteen rows and enough columns for a kernel of their own.
        if at % 40 == 0 {
            of = [4 + up_to(4, state), 100 + of[1], 257 + of[2]];
        }
        let [rows, inner, cols] = of;
        let whole = Problem::new(ty, &of);
        let options = Options {
            count: (at % 7 == 0)
                .then(|| NonZeroU32::new(1 + at as u32 % 3))
                .flatten(),
            once: at % 5 == 0,
            ..Options::default()
        };
        let order = SumOrder::of(&whole, &options, &device).expect("a kernel");
        let expected = order_of(&whole, &options);
        for _ in 0..3 {
            let [some, columns] = [up_to(rows, state), up_to(cols, state)];
            let part = Problem::new(ty, &[some, inner, columns]);
            let all = Problem::new(ty, &[some, inner, cols]);
            let place = [Place::Alone, Place::Among(all), Place::AtTheEnd(all)][at % 5 % 3];
            let first = up_to(rows - some + 1, state) - 1;
            let launch = order.part(&part, first, place, &device);
            let expected = of_rows(&expected, first, some);
            assert_eq!(
                order_of(&part, &launch),
                expected,
                "{whole:?}, {part:?}, {launch:?}"
            );
            otherwise += usize::from(order_of(&part, &options) != expected);
        }
        *families.entry(expected.0).or_insert(0) += 1;
    }
    // Every family is there, and parts alone would often be another.
    let all = [
        "direct",
        "few columns",
        "few rows",
        "in stages",
        "mma",
        "thin",
    ];
    assert!(
        all.iter().all(|&of| families.get(of) > Some(&50)),
        "{families:?}"
    );
    assert!(otherwise > 3000, "{otherwise}");
}

/// Before, across and behind the row from which on the inner extent is in slices.
#[test]
fn parts_know_which_rows_are_in_slices() {
    let device = h200();
    for of in [[2560; 3], [2432, 10_624, 896], [7161, 4574, 587]] {
        let [rows, inner, _] = of;
        let (whole, options) = (Problem::new(Type::F64, &of), Options::default());
        let expected = order_of(&whole, &options);
        let in_one = expected.2[0] as usize;
        assert!(expected.1 > 1 && in_one > 0, "{of:?}: {expected:?}");
        let order = SumOrder::of(&whole, &options, &device).expect("a kernel");
        for (first, some) in [
            (0, 100),
            (0, in_one),
            (0, in_one + 1),
            (in_one - 50, 60),
            (in_one, 20),
            (rows - 1, 1),
        ] {
            let part = Problem::new(Type::F64, &[some, inner, 300]);
            let launch = order.part(&part, first, Place::Alone, &device);
            let expected = of_rows(&expected, first, some);
            assert_eq!(
                order_of(&part, &launch),
                expected,
                "{of:?}, {some} from {first} on"
            );
        }
    }
}

#[test]
fn a_kernel_that_was_asked_for_stays_with_the_wholes_slices() {
    let (whole, part) = ([64, 4096, 4096], [9, 4096, 100]);
    for &variant in MATMUL.variants {
        for ty in [Type::F32, Type::F64] {
            let [whole, part] = [whole, part].map(|of| Problem::new(ty, &of));
            let options = Options::of(variant);
            if operation::plan(&MATMUL, &whole, &options, &h200()).is_err() {
                continue;
            }
            let order = SumOrder::of(&whole, &options, &h200()).expect("a kernel");
            let launch = order.part(&part, 0, Place::Alone, &h200());
            assert_eq!(launch.kernel, Some(variant));
            let expected = of_rows(&order_of(&whole, &options), 0, part.extents[0]);
            assert_eq!(order_of(&part, &launch), expected);
        }
    }
}

/// Panels of large products have the largest tiles, the one at the end the smallest.
#[test]
fn panels_have_the_tiles_of_all_of_them_together() {
    let launched = |ty, whole: [usize; 3], part: [usize; 3], place| {
        let [whole, part] = [whole, part].map(|of| Problem::new(ty, &of));
        let order = SumOrder::of(&whole, &Options::default(), &h200()).expect("a kernel");
        let launch = order.part(&part, 0, place, &h200());
        let plan = operation::plan(&MATMUL, &part, &launch, &h200());
        let launch = plan.expect("allowed").expect("outputs").launch;
        (launch.kernel, launch.grid[2])
    };
    for (side, ranks, last) in [
        (16384, 2, "small"),
        (16384, 4, "small"),
        (32768, 2, "square"),
        (32768, 4, "small"),
    ] {
        let last = format!("matmul_sliced_{last}_f32");
        let rows = side / ranks;
        let all = Problem::new(Type::F32, &[rows, side, side]);
        for (cols, place, kernel) in [
            (side / 8, Place::Among(all), "matmul_pipelined_f32"),
            (256, Place::AtTheEnd(all), last.as_str()),
        ] {
            let got = launched(Type::F32, [side; 3], [rows, side, cols], place);
            assert_eq!(got, (kernel, 1), "{side} on {ranks}, {cols} columns");
        }
    }
    let (whole, tall) = ([400_000, 4096, 1024], [200_000, 4096, 256]);
    let all = Problem::new(Type::F32, &[200_000, 4096, 1024]);
    let got = launched(Type::F32, whole, tall, Place::AtTheEnd(all));
    assert_eq!(got, ("matmul_pipelined_f32", 1));
    let all = Problem::new(Type::F64, &[1000, 16384, 16384]);
    for place in [Place::Among(all), Place::AtTheEnd(all)] {
        let [whole, panel] = [[2000, 16384, 16384], [1000, 16384, 256]];
        assert_eq!(launched(Type::F64, whole, panel, place).1, 1);
    }
    // A copy of B for a part that is alone.
    let [whole, part] = [[4093, 4099, 4111], [2047, 4099, 4111]];
    let copied = launched(Type::F32, whole, part, Place::Alone);
    assert_eq!(copied, ("matmul_sliced_square_f32", 1));
}

#[test]
fn a_part_that_is_the_whole_is_launched_as_the_whole() {
    let options = Options::default();
    for of in [
        [600, 4099, 601],
        [4093, 4099, 4111],
        [1, 4096, 4096],
        [0, 4, 4],
    ] {
        let whole = Problem::new(Type::F32, &of);
        let order = SumOrder::of(&whole, &options, &h200()).expect("a kernel");
        assert_eq!(order.part(&whole, 0, Place::Alone, &h200()), options);
    }
    let of_another = Options::of(crate::scan::SCAN.variants[0]);
    let whole = Problem::new(Type::F32, &[4; 3]);
    assert!(SumOrder::of(&whole, &of_another, &h200()).is_err());
    let simple = [&NAIVE, &TILED, &MMA].map(plan::has_slices);
    assert_eq!(simple, [false, false, true]);
}
