//! Shapes of any size, also those that nothing holds: planned or refused, by every variant.

use std::num::NonZeroU32;

use blockwise::{Device, DeviceProperties, Type};
use blockwise_ops::operation::{Given, Operation, Options, Problem, plan};
use blockwise_ops::{AnyArray, LaunchError, OPERATIONS, find};

const EXTENTS: [usize; 9] = [
    0,
    1,
    3,
    64,
    100_000,
    1 << 32,
    1 << 48,
    isize::MAX as usize,
    usize::MAX,
];

/// Shapes drawn for each operation.
const DRAWN: usize = 4000;

/// Pseudo-random choices.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn shape(&mut self) -> Vec<usize> {
        let dims = self.below(4) + 1;
        (0..dims).map(|_| self.of(&EXTENTS)).collect()
    }

    fn options(&mut self) -> Options {
        Options {
            threads: self.of(&[None, None, Some(0), Some(1), Some(256), Some(u32::MAX)]),
            grid_cap: self.of(&[None, None, Some(0), Some(7), Some(u32::MAX)]),
            instance: [None, Some(self.below(256) as u8)][self.below(2)],
            count: NonZeroU32::new(self.of(&[0, 0, 1, 100, u32::MAX])),
            ..Options::default()
        }
    }
}

/// Plans a problem by the chosen variant and by every other one.
fn planned(of: &'static Operation, problem: &Problem, draw: &mut Draw, device: &DeviceProperties) {
    let _ = ((of.lens)(problem), (of.work)(problem));
    let variants = of.variants.iter().copied().map(Some);
    for kernel in [None].into_iter().chain(variants) {
        for options in [Options::default(), draw.options()] {
            let options = Options { kernel, ..options };
            if let Err(error) = plan(of, problem, &options, device) {
                let _ = error.hint();
                assert!(!error.to_string().is_empty());
            }
        }
    }
}

/// Debug builds end at every overflow.
#[test]
fn shapes_of_any_size_are_planned_or_refused() {
    let device = Device::emulator();
    let mut draw = Draw(2026);
    for &of in OPERATIONS {
        let mut posed = 0;
        for _ in 0..DRAWN {
            let (a, mut b) = (draw.shape(), draw.shape());
            match draw.below(3) {
                0 => b.clone_from(&a),
                // What a product needs.
                1 if b.len() > 1 => {
                    let rows = b.len() - 2;
                    b[rows] = a[a.len() - 1];
                }
                _ => {}
            }
            let shapes = [&a[..], &b[..]];
            let shapes = &shapes[..of.operands.len()];
            let given = Given {
                settings: [draw.below(5) as u8, draw.below(4) as u8],
                axis: draw.of(&[None, Some(0), Some(1), Some(-1), Some(isize::MIN)]),
            };
            let ty = draw.of(&[Type::F32, Type::F64, Type::I32, Type::U64, Type::Bool]);
            let ty = (of.types)(&vec![ty; shapes.len()], &given);
            if let Ok(of_shapes) = (of.pose)(ty, shapes, &given) {
                posed += 1;
                planned(of, &of_shapes.problem, &mut draw, device.properties());
            }
        }
        assert!(posed > DRAWN / 200, "{of:?}: {posed}");
    }
}

/// Each of these ended a debug build, or wrapped.
#[test]
fn what_cannot_be_counted_is_refused() {
    let posed = |name: &str, ty, shapes: &[&[usize]], axis| {
        let given = Given {
            axis,
            ..Given::default()
        };
        let of = find(name).expect("an operation");
        (of.pose)(ty, shapes, &given).map(|posed| (of, posed.problem))
    };
    let overflow = |result| match result {
        Err(LaunchError::SizeOverflow { what }) => what,
        other => panic!("{other:?}"),
    };
    // No elements, and a result that is larger than can be counted.
    let hollow: &[usize] = &[1 << 32, 0, 1 << 48];
    for name in ["sum", "mean"] {
        let result = posed(name, Type::F32, &[hollow], Some(1));
        assert_eq!(overflow(result), "the result");
    }
    let long: &[usize] = &[1 << 32, 1 << 32];
    let result = posed("dot", Type::F32, &[long, long], None);
    assert_eq!(overflow(result), "an array");
    assert!(posed("dot", Type::F32, &[hollow, &[0]], None).is_ok());
    let array = AnyArray::zeros(Type::F32, &[0]).expect("no elements");
    assert!(array.clone().reshaped(long).is_none());
    assert!(array.reshaped(hollow).is_some());
}
