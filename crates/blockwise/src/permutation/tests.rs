//! The kernels of a fingerprint against arithmetic on the host, and windows of every size.

use std::array::from_fn;

use launch_contract::launch::{Argument, Shape};

use super::field::{CHOICE, DEGREE, Element, ONE, P, Point, WINDOW};
use super::kernels::KERNELS;
use super::*;
use crate::{Device, EmulatorLimits, Watch};

fn numbers(device: &Device, numbers: &[u32]) -> Buffer<u32> {
    device.upload(numbers).expect("memory")
}

fn random(state: &mut u64) -> u32 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 32) as u32
}

/// Runs one of the sequences that the kernel is made of on coordinates in memory: the point, the
/// product, another product, then base, most and eight numbers. Returns the product.
fn run(text: &str, state: &[u32]) -> Element {
    let lines = |from: &str| {
        let line = |i: usize| {
            from.replace('#', &i.to_string())
                .replace('$', &(4 * i).to_string())
        };
        String::from_iter((0..DEGREE).map(line))
    };
    let ptx = format!(
        "
.version 6.0
.target sm_50
.address_size 64
.visible .entry sequence(.param .u64 p_state)
{{
    {}
    .reg .b32 %base, %most, %n<8>;
    .reg .b64 %at;
    ld.param.u64 %at, [p_state];
    {}
    ld.global.u32 %base, [%at+48];
    ld.global.u32 %most, [%at+52];
    {}
    {text}
    {}
    ret;
}}",
        kernels::registers(),
        lines("ld.global.u32 %a#, [%at+$];\n")
            + &lines("ld.global.u32 %b#, [%at+16+$];\n")
            + &lines("ld.global.u32 %c#, [%at+32+$];\n"),
        String::from_iter((0..8).map(|i| format!("ld.global.u32 %n{i}, [%at+{}];\n", 56 + 4 * i))),
        lines("st.global.u32 [%at+16+$], %b#;\n"),
    );
    let device = Device::emulator();
    let state = numbers(&device, state);
    let core = &state.memory.core;
    let program = core.backend.load(&ptx, "a test").expect("PTX");
    let kernel = program.function("sequence", false).expect("one");
    let at = state.memory.address;
    // SAFETY: the kernel has this parameter, and its memory stays.
    let launched = unsafe { kernel.launch(&*core.queue, Shape::new(1, 1), &[Argument::new(&at)]) };
    launched.expect("launched");
    let state = state.to_vec().expect("read");
    from_fn(|i| state[DEGREE + i])
}

/// The largest and smallest coordinates that there can be, in as many steps as are made before a
/// sum is reduced.
#[test]
fn steps_and_products_are_exact_at_every_extreme() {
    let state = &mut 1;
    let of_point = [0, 1, CHOICE - 1];
    let of_step = [0, 1, P - 1, P, P + 1, 2 * P - 1, 2 * P];
    let of_product = [0, 1, 2, P - 1, P];
    let of_number = [0, 1, WINDOW - 1, WINDOW, P, u32::MAX];
    for round in 0..60 {
        let top = round < KERNELS.len();
        let mut any = |from: &[u32], below: u32| match random(state) % 3 {
            _ if top => from[from.len() - 1],
            0 => random(state) % below,
            _ => from[random(state) as usize % from.len()],
        };
        let point = Point(from_fn(|_| any(&of_point, CHOICE)));
        let wide: Element = from_fn(|_| any(&of_step, u32::MAX));
        let (left, right): (Element, Element) = (
            from_fn(|_| any(&of_product, P)),
            from_fn(|_| any(&of_product, P)),
        );
        let (_, largest, most_steps) = KERNELS[round % KERNELS.len()];
        let (base, most) = (any(&of_number, P), any(&[1, 2, largest], largest));
        let given: [u32; 8] = from_fn(|_| any(&of_number, u32::MAX));
        let state = |point: Element, b: Element, c: Element| {
            let numbers = given.map(|number| number.wrapping_add(base));
            [&point[..], &b, &c, &[base, most], &numbers].concat()
        };
        let modulo = |element: Element| element.map(|number| number % P);

        let step = |i: usize| kernels::clamp(&format!("%n{i}")) + &kernels::step(i);
        let twice = point.0.map(|of| 2 * of);
        for steps in [1, 2, most_steps as usize] {
            let text = kernels::begin() + &String::from_iter((0..steps).map(step));
            let stepped = run(&text, &state(twice, wide, ONE));
            assert!(stepped.iter().all(|&b| b <= 2 * P), "{stepped:?}");
            let numbers = given[..steps].iter().map(|&x| x.min(most));
            let expected = numbers.fold(modulo(wide), |product, x| point.plus_times(x, product));
            assert_eq!(modulo(stepped), expected, "{steps}");
        }

        let product = run(&kernels::product(), &state(point.0, left, right));
        assert_eq!(product, point.product(modulo(left), modulo(right)));
    }
}

fn is_one(numbers: &[u32]) -> bool {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.iter().copied().eq(0..numbers.len() as u32)
}

#[test]
fn the_kernels_are_ascii_as_ptxas_asks() {
    let text = kernels::ptx();
    assert!(text.is_ascii(), "{text}");
}

#[test]
fn windows_of_every_size_agree_with_sorting() {
    let device = &Device::emulator();
    let state = &mut 3;
    let check = |given: &[u32]| {
        for window in [1, 2, 3, 5, 64, 1 << 20] {
            if given.len() > 40 * window as usize {
                continue;
            }
            let found = is_permutation(&numbers(device, given), window).expect("checked");
            assert_eq!(found, is_one(given), "{given:?} {window}");
        }
    };
    // All of three numbers, and what a few more can be.
    for code in 0..64 {
        check(&[code % 4, code / 4 % 4, code / 16]);
    }
    for len in [0, 1, 2, 3, 4, 5, 6, 7, 8, 37, 64, 130] {
        let mut right = Vec::from_iter(0..len);
        right.sort_by_key(|i: &u32| i.wrapping_mul(0x9E37_79B9));
        check(&right);
        for _ in 0..len.min(5) {
            let mut wrong = right.clone();
            for _ in 0..=random(state) % 2 {
                let at = random(state) % len;
                let others = [random(state) % len, len, len + 1, u32::MAX, 1 << 30, P];
                wrong[at as usize] = others[random(state) as usize % others.len()];
            }
            check(&wrong);
        }
    }
}

/// Many blocks, whose last one folds.
#[test]
fn a_fingerprint_is_the_product_of_all_factors() {
    let device = Device::emulator();
    for (len, window) in [(20_001, 30_000), (30_003, 30_000), (20_002, 19_000)] {
        let right = Vec::from_iter((0..len as u32).rev());
        assert!(is_permutation(&numbers(&device, &right), window).expect("checked"));
        let mut given = Vec::from_iter((0..len as u32).map(|i| i ^ 1));
        given[5] = u32::MAX;
        let buffer = numbers(&device, &given);
        assert!(!is_permutation(&buffer, window).expect("checked"));
        let core = &buffer.memory.core;
        let check = core.check.get().expect("loaded");
        let most = window.min(len as u32);
        let plan = check.plan(len, 0, most);
        assert!(plan.blocks > 1);
        let found = check.run(core, Some(&buffer), &plan).expect("launched");
        let given = given.into_iter().map(|x| x.min(most));
        assert_eq!(found, [product(check, given.chain(most..plan.end))]);
    }
}

/// A check after one that failed half-way, when some blocks had counted and others had not.
#[test]
fn memory_is_kept_unless_a_check_failed() {
    let device = Device::checked();
    let all = |device: &Device| numbers(device, &Vec::from_iter((0..20_001_u32).rev()));
    let core = all(&device).memory.core.clone();
    let kept = || {
        let check = core.check.get().expect("loaded");
        let memory = crate::busy::lock(&check.memory);
        memory.as_ref().map(|block| block.address)
    };
    let is_one = |given| is_permutation(&given, WINDOW).expect("checked");
    assert!(is_one(all(&device)));
    let first = kept();
    assert!(first.is_some());
    let mut twice = all(&device).to_vec().expect("read");
    twice[20_000] = 1;
    assert!(!is_one(numbers(&device, &twice)));
    assert!(is_one(all(&device)));
    assert!(is_one(numbers(&device, &[1, 0])));
    assert_eq!(kept(), first);

    // Checks at once: no two have the same memory, and one memory is kept.
    std::thread::scope(|scope| {
        for len in [20_001, 5_000, 20_001, 3] {
            let given = numbers(&device, &Vec::from_iter((0..len).rev()));
            scope.spawn(move || assert!(is_permutation(&given, WINDOW).expect("checked")));
        }
    });
    assert!(kept().is_some());

    // SAFETY: the emulator reports what was not written.
    let unwritten = unsafe { device.alloc(20_001) }.expect("memory");
    is_permutation(&unwritten, WINDOW).expect_err("not initialised");
    assert_eq!(kept(), None);
    assert!(is_one(all(&device)));
    assert!(kept().is_some());
}

/// The product of r + x for all x.
fn product(check: &Check, numbers: impl Iterator<Item = u32>) -> Element {
    numbers.fold(ONE, |product, x| check.point.plus_times(x, product))
}

/// In one launch, and in several; threads multiply several threes, one number, or none.
#[test]
fn products_below_multiples_of_a_span_are_those_of_all_numbers() {
    let device = Device::emulator();
    let core = numbers(&device, &[0]).memory.core.clone();
    for (span, calls) in [(1, vec![1, 2]), (7, vec![3, 2, 9]), (70_000, vec![1, 3])] {
        let mut check = Check::load(&core).expect("loaded");
        check.span = span;
        for spans in calls {
            let found = check.below(&core, spans).expect("launched");
            assert_eq!(found, product(&check, 0..spans * span));
        }
        for len in [1, span - 1, span, span + 1, 2 * span] {
            let right = numbers(&device, &Vec::from_iter((0..len).rev()));
            assert!(check.is_full(&right, 0, len).expect("checked"), "{len}");
            if len > 0 {
                let wrong = numbers(&device, &Vec::from_iter(1..=len));
                assert!(!check.is_full(&wrong, 0, len).expect("checked"), "{len}");
            }
        }
    }
}

/// Those of the kernel for more numbers, near its end.
#[test]
fn large_numbers_are_multiplied_too() {
    let device = Device::emulator();
    for most in KERNELS.map(|(_, most, _)| most) {
        let (len, base) = (3_001, 5);
        let from = most - len;
        let given = Vec::from_iter((0..len).map(|i| base + from + i * 7 % (len + 9)));
        let buffer = numbers(&device, &given);
        let core = &buffer.memory.core;
        let check = Check::load(core).expect("loaded");
        let plan = check.plan(len as usize, base, most);
        assert_eq!(plan.end, most);
        let found = check.run(core, Some(&buffer), &plan).expect("launched");
        let given = given.into_iter().map(|x| (x - base).min(most));
        assert_eq!(found, [product(&check, given)]);
    }
}

#[test]
fn what_is_expected_has_the_others_as_the_windows_end() {
    let device = Device::emulator();
    let core = numbers(&device, &[0]).memory.core.clone();
    let check = Check::load(&core).expect("loaded");
    for (len, most) in [(5, 3), (9, 3), (3, 3), (700, 600)] {
        let plan = check.plan(len, 0, most);
        let expected = check.expected(&plan, product(&check, 0..plan.end));
        let given = (0..len as u32).map(|x| x.min(most));
        assert_eq!(expected, product(&check, given.chain(most..plan.end)));
    }
}

/// Whoever knows the point can make numbers that pass.
#[test]
fn no_device_shows_the_point() {
    let device = Device::emulator_with(EmulatorLimits::default(), Watch::Launches);
    let checked = Permutation::new(numbers(&device, &[1, 0, 2])).expect("one");
    assert_eq!(device.take_launches(), []);
    assert_eq!(format!("{checked:?}"), "Permutation(3 numbers)");
    let other = Device::emulator();
    let other = Permutation::new(numbers(&other, &[1, 0])).expect("one");
    let point = |of: &Permutation| {
        let check = of.numbers.memory.core.check.get();
        check.expect("loaded").point.0
    };
    assert_ne!(point(&checked), point(&other));
}
