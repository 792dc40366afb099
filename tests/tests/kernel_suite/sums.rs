//! What sums promise: correctly rounded, and the same bits for every kernel that the launcher
//! chooses, chunk, number of ranks and device. The example `exact_sums` tries ten thousand arrays.

use blockwise::{Device, DeviceKind};
use blockwise_ops::operation::{Operation, Options};
use blockwise_ops::oracle::Precision;
use blockwise_ops::reduce::{
    DOT, KERNELS, Partials, SUM, TREE, Total, enqueue, kernel, plan, reduce_axis,
};
use blockwise_ops::{Number, Reduction, dot, reduce};
use blockwise_tests::devices::devices;
use blockwise_tests::sums::{
    CHOSEN, Meshes, PROMISED, Sample, exact, model, of_the_bound, units_off,
};
use blockwise_tests::whole_sweeps;
use kernels::pack::lanes;
use kernels::reduce::wide::CACHED;
use ndarray::{Array1, Array2, ArrayD, ArrayView1, Axis, IxDyn};

/// The total of a launch before its rounding.
fn launched<T: Number>(device: &Device, operands: &[Vec<T>], options: &Options) -> Total<T> {
    let of = of(operands.len());
    let on_device: Vec<_> = (operands.iter())
        .map(|operand| device.upload(operand).expect("room"))
        .collect();
    let plan = plan::<T>(of, operands[0].len(), options, device.properties());
    let mut partials = Partials::<T>::alloc(device, &plan.expect("a plan")).expect("room");
    let views: Vec<_> = on_device.iter().map(|operand| operand.as_view()).collect();
    enqueue(device, None, of, &views, &mut partials, options).expect("a launch");
    let results = partials.results().expect("results");
    let mut bytes = vec![0; results.len()];
    results.copy_to_slice(&mut bytes).expect("a copy");
    Total::of_results(&bytes, Reduction::Sum)
}

/// The sum of one operand, or the dot product of two.
fn of(operands: usize) -> &'static Operation {
    if operands == 2 { &DOT } else { &SUM }
}

fn model_agrees<T: Number + Precision>(device: &Device, seed: u64) {
    let sample = Sample::new(seed, 40_000);
    for kernel in CHOSEN {
        let (options, properties) = (Options::of(kernel), device.properties());
        let [a, b] = sample.operands::<T>(true);
        let sum = plan::<T>(&SUM, a.len(), &options, properties).expect("a plan");
        let modelled = model::total(kernel, &sum, &a, None);
        let case = format!("{kernel} of {sample:?}, {}", T::NAME);
        assert_eq!(
            launched(device, std::slice::from_ref(&a), &options),
            modelled,
            "{case}"
        );
        let dot = plan::<T>(&DOT, a.len(), &options, properties).expect("a plan");
        let modelled = model::total(kernel, &dot, &a, Some(&b));
        assert_eq!(launched(device, &[a, b], &options), modelled, "{case}");
    }
}

/// Every bit of both terms, before they are rounded.
#[test]
fn the_model_is_the_kernels_arithmetic() {
    for device in devices() {
        for seed in 0..12 {
            model_agrees::<f32>(device, seed);
            model_agrees::<f64>(device, seed);
        }
    }
}

/// The arrays whose sums were promised to be correctly rounded, and those that were.
fn modelled<T: Number + Precision>(seeds: std::ops::Range<u64>, largest: usize) -> [usize; 2] {
    let device = Device::emulator();
    let options = Options::default();
    let mut counts = [0, 0];
    for (seed, is_dot) in seeds.flat_map(|seed| [(seed, false), (seed, true)]) {
        let sample = Sample::new(seed, largest);
        let [a, b] = sample.operands::<T>(is_dot);
        let (of, properties) = (of(1 + usize::from(is_dot)), device.properties());
        let kernel = kernel::<T>(of, a.len(), &options, properties).expect("a kernel");
        let plan = plan::<T>(of, a.len(), &options, properties);
        let factors = is_dot.then_some(&b[..]);
        let result = model::total(kernel, &plan.expect("a plan"), &a, factors).round();
        let exact = exact(&a, &b);
        let bound = of_the_bound(result, &exact);
        assert!(
            bound <= 1.0,
            "{sample:?}, {}, dot {is_dot}: {bound}",
            T::NAME
        );
        if exact.condition() <= PROMISED {
            let off = units_off(result, &exact);
            assert!(off <= 1, "{sample:?}, {}, dot {is_dot}: {off}", T::NAME);
            counts[0] += 1;
            counts[1] += usize::from(off == 0);
        }
    }
    counts
}

#[test]
fn sums_and_dot_products_are_rounded_correctly() {
    for [promised, right] in [
        modelled::<f32>(0..250, 20_000),
        modelled::<f64>(250..500, 20_000),
    ] {
        assert!(promised > 300, "{promised} are too few to judge");
        assert_eq!(right, promised, "one in a thousand may be off");
    }
}

/// What these tests would say of sums in the element's precision, which the documents' kernels make.
#[test]
fn sums_of_the_documents_kernels_are_told_apart() {
    for device in devices() {
        let mut off = 0;
        for seed in 3000..3030 {
            let [a, ones] = Sample::new(seed, 5000).operands::<f32>(false);
            let options = Options::of(&TREE);
            let sum = reduce(device, ArrayView1::from(&a), Reduction::Sum, &options);
            off += u32::from(units_off(sum.expect("a launch"), &exact(&a, &ones)) > 0);
        }
        assert!(off > 10, "{off} of 30");
    }
}

/// Each rank on an emulated device of its own, and on a GPU where there is one.
fn alike<T: Number + Precision>(meshes: &[Meshes], sample: &Sample, is_dot: bool) {
    let [a, b] = sample.operands::<T>(is_dot);
    let exact = exact(&a, &b);
    if exact.condition() > PROMISED {
        return;
    }
    let expected: T = exact.nearest();
    let operands = if is_dot { vec![a, b] } else { vec![a] };
    for meshes in meshes {
        for (case, result) in meshes.cross(&operands).expect("a sum") {
            assert!(
                result == expected,
                "{sample:?}, {}, dot {is_dot}, {case}: {result}, not {expected}",
                T::NAME
            );
        }
    }
}

/// The cross of `--gpus 1, 3, 8`, four chunks and all kernels that the launcher chooses: 300 arrays
/// with `cargo xtask test --all`. The example `exact_sums` takes longer ones on a GPU.
#[test]
fn ranks_chunks_kernels_and_devices_give_the_same_bits() {
    let mut meshes = vec![Meshes::of(None).expect("few devices")];
    let on_gpu = |device: &&Device| device.properties().kind == DeviceKind::Cuda;
    let gpus = devices().iter().filter(on_gpu);
    meshes.extend(gpus.map(|gpu| Meshes::of(Some(gpu)).expect("few ranks")));
    let (arrays, largest) = if whole_sweeps() {
        (300, 20_000)
    } else {
        (18, 3000)
    };
    for seed in 1000..1000 + arrays {
        let sample = Sample::new(seed, largest);
        match seed % 2 {
            0 => alike::<f32>(&meshes, &sample, seed % 4 >= 2),
            _ => alike::<f64>(&meshes, &sample, seed % 4 >= 2),
        }
    }
}

/// Half of the elements are lost where sums have the element's precision.
#[test]
fn along_any_axis_too() {
    let mut values = vec![1.0_f32; 3 * 5000];
    (0..3).for_each(|row| values[row * 5000] = [33_554_432.0, -1e8, 0.125][row]);
    let rows = Array2::from_shape_vec((3, 5000), values).expect("a shape");
    let exact = [33_554_432.0 + 4999.0, -1e8 + 4999.0, 0.125 + 4999.0].map(|x: f64| x as f32);
    for device in devices() {
        for (array, axis) in [(rows.view(), 1), (rows.t(), 0)] {
            let sums = reduce_axis(device, array.into_dyn(), axis, Reduction::Sum);
            assert_eq!(sums.expect("a launch").as_slice(), Some(&exact[..]));
        }
        let middle = ArrayD::from_shape_fn(IxDyn(&[2, 2500, 3]), |at| {
            f64::from(rows[(at[2], at[0] * 2500 + at[1])]) + 1e-17
        });
        let sums = reduce_axis(device, middle.view(), 1, Reduction::Sum).expect("a launch");
        for (sum, lane) in sums.iter().zip(middle.lanes(Axis(1))) {
            let mut exact = blockwise_ops::oracle::Exact::default();
            lane.iter().for_each(|&value| exact.add(value));
            assert_eq!(*sum, exact.nearest::<f64>());
        }
    }
}

#[test]
fn random_axes_are_rounded_correctly() {
    fn check<T: Number + Precision>(device: &Device, seed: u64) {
        let sample = Sample::new(seed, 6000);
        let [a, ones] = sample.operands::<T>(false);
        let expected: T = exact(&a, &ones).nearest();
        if exact(&a, &ones).condition() > PROMISED {
            return;
        }
        let len = a.len();
        for shape in [[len, 1], [1, len]] {
            let array = Array2::from_shape_vec(shape, a.clone())
                .expect("a shape")
                .into_dyn();
            let axis = isize::from(shape[0] == 1);
            let sums = reduce_axis(device, array.view(), axis, Reduction::Sum).expect("a launch");
            assert_eq!(sums[0], expected, "{sample:?}, axis {axis}, {}", T::NAME);
        }
    }
    for device in devices() {
        for seed in 2000..2020 {
            check::<f32>(device, seed);
            check::<f64>(device, seed);
        }
    }
}

/// From reports of other libraries' users: what a sum in `f32` loses.
#[test]
fn sums_that_lose_much_elsewhere() {
    let tenths = Array1::from_elem(139_000, 0.1_f32);
    let expected = (139_000.0 * f64::from(0.1_f32)) as f32;
    let many = Array1::from_shape_fn(20_001, |i| if i == 0 { 16_777_216.0_f32 } else { 1.0 });
    let cancelling = Array1::from(vec![1e16_f64, 1.0, -1e16, 1.0, 1e-30]);
    let large = Array1::from(vec![f32::MAX, f32::MAX, -f32::MAX, 1.0]);
    // In the packs of one thread, and of two.
    let tiny = [
        vec![1.0_f64, 1e-40, -1.0],
        vec![1.0, 1e-40, 0.0, 0.0, -1.0, 0.0],
    ];
    for device in devices() {
        let options = Options::default();
        let sum = |array: &Array1<f32>| {
            reduce(device, array.view(), Reduction::Sum, &options).expect("a launch")
        };
        assert_eq!(sum(&tenths), expected);
        assert_eq!(sum(&many), 16_777_216.0 + 20_000.0);
        // What lies between may be beyond the range of the type.
        assert_eq!(sum(&large), f32::MAX);
        let sum = reduce(device, cancelling.view(), Reduction::Sum, &options);
        assert_eq!(sum.expect("a launch"), 2.0);
        for values in &tiny {
            let array = Array1::from(values.clone());
            let sum = reduce(device, array.view(), Reduction::Sum, &options);
            assert_eq!(sum.expect("a launch"), 1e-40);
        }
        // The product of neighbours of 1, less 1: fma keeps what a rounded product loses.
        let (up, down) = (1.0 + f64::EPSILON, 1.0 - f64::EPSILON);
        let (a, b) = (Array1::from(vec![up, -1.0]), Array1::from(vec![down, 1.0]));
        let product = dot(device, a.view(), b.view(), &options).expect("a launch");
        assert_eq!(product, -f64::EPSILON * f64::EPSILON);
    }
}

/// As IEEE additions and NumPy have them, whatever the kernel.
#[test]
fn infinities_nan_and_zeros() {
    fn check<T: Number + Precision>(values: &[f64], expected: f64) {
        let values: Array1<T> = values.iter().map(|&value| T::nearest(value)).collect();
        let ones = Array1::from_elem(values.len(), T::nearest(1.0));
        let same = |got: T| {
            let got: f64 = got.into();
            got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan()
        };
        for device in devices() {
            for kernel in KERNELS.iter().filter(|kernel| kernel.takes(T::TYPE)) {
                let sum = reduce(device, values.view(), Reduction::Sum, &Options::of(kernel));
                let product = dot(device, values.view(), ones.view(), &Options::of(kernel));
                let case = format!("{kernel} of {values:?}");
                assert!(same(sum.expect("a launch")), "{case}");
                assert!(same(product.expect("a launch")), "{case}");
            }
            let values = values.clone().into_dyn();
            let sums = reduce_axis(device, values.view(), 0, Reduction::Sum).expect("a launch");
            assert!(same(sums[IxDyn(&[])]), "{values:?} along their axis");
        }
    }
    let (infinity, nan) = (f64::INFINITY, f64::NAN);
    for (values, expected) in [
        (&[1.0, infinity, -5.0][..], infinity),
        (&[-infinity, 1.0], -infinity),
        (&[infinity, -infinity], nan),
        (&[1.0, nan, infinity], nan),
        (&[-0.0], 0.0),
        (&[-0.0, -0.0, 0.0], 0.0),
        (&[3.0, -3.0], 0.0),
        (&[], 0.0),
    ] {
        check::<f32>(values, expected);
        check::<f64>(values, expected);
    }
    // Partial sums beyond the range.
    check::<f64>(&[f64::MAX, f64::MAX], infinity);
    check::<f64>(&[f64::MIN, f64::MIN, 1.0], -infinity);
    check::<f32>(&[f32::MAX.into(), f32::MAX.into()], infinity);
}

/// Next to an anchor or one by one, a block has the same elements: one far larger than the others is
/// added once, also where long operands begin to be read in tiles.
#[test]
fn an_outlier_among_many_is_added_once() {
    let (device, options) = (Device::emulator(), Options::default());
    let properties = device.properties();
    // Above it the blocks' anchors would still have few enough terms.
    let longest = CACHED * lanes::<f64>();
    for len in [longest, longest + 78_116] {
        let mut terms = vec![0.001_f64; len];
        terms[len - 1] = -5880.0;
        let ones = vec![1.0; len];
        let expected: f64 = exact(&terms, &ones).nearest();
        for b in [None, Some(&ones[..])] {
            let of = of(1 + usize::from(b.is_some()));
            let kernel = kernel::<f64>(of, len, &options, properties).expect("a kernel");
            let plan = plan::<f64>(of, len, &options, properties).expect("a launch");
            let got = model::total(kernel, &plan, &terms, b).round();
            assert_eq!(got, expected, "{len} terms of {}", of.name);
        }
        let terms = Array1::from(terms);
        let sum = reduce(&device, terms.view(), Reduction::Sum, &options);
        assert_eq!(sum.expect("a launch"), expected, "{len} terms");
    }
}
