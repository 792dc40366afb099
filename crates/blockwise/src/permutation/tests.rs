//! The kernels of a fingerprint against arithmetic on the host, and windows of every size.

use std::array::from_fn;

use launch_contract::launch::{Argument, Shape};

use super::field::{DEGREE, Element, ONE, P, Point};
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

/// Runs one of the sequences that kernels are made of on coordinates in memory: the point, the
/// product, another product, then base, most and a number. Returns the product.
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
    .reg .pred %p;
    .reg .b32 %a<4>, %b<4>, %c<4>, %d<4>, %f<4>, %h<4>, %l<4>, %z<4>;
    .reg .b32 %base, %most, %low, %high, %x, %n0;
    .reg .b64 %v<4>, %w<4>, %at;
    ld.param.u64 %at, [p_state];
    {}
    ld.global.u32 %base, [%at+48];
    ld.global.u32 %most, [%at+52];
    ld.global.u32 %n0, [%at+56];
    {text}
    {}
    ret;
}}",
        lines("ld.global.u32 %a#, [%at+$]; mov.u32 %z#, 0;\n")
            + &lines("ld.global.u32 %b#, [%at+16+$];\n")
            + &lines("ld.global.u32 %c#, [%at+32+$];\n"),
        lines("st.global.u32 [%at+16+$], %b#;\n"),
    );
    let device = Device::emulator();
    let state = numbers(&device, state);
    let core = &state.memory.core;
    let program = core.backend.load(&ptx, "a test").expect("PTX");
    let kernel = program.function("sequence").expect("one");
    let at = state.memory.address;
    // SAFETY: the kernel has this parameter, and its memory stays.
    let launched = unsafe { kernel.launch(&*core.queue, Shape::new(1, 1), &[Argument::new(&at)]) };
    launched.expect("launched");
    let state = state.to_vec().expect("read");
    from_fn(|i| state[DEGREE + i])
}

/// The largest and smallest coordinates that there can be.
#[test]
fn a_step_and_a_product_are_exact_at_every_extreme() {
    let state = &mut 1;
    let window = super::field::WINDOW;
    let of_point = [window, window + 1, (1 << 30) - 1];
    let of_step = [0, 1, P - 1, P, P + 1, 2 * P - 1, 2 * P];
    let of_product = [0, 1, 2, P - 1, P];
    let of_number = [0, 1, window - 1, window, P, u32::MAX];
    for round in 0..60 {
        let mut any = |from: &[u32], below: u32| match random(state) % 3 {
            0 => random(state) % below,
            _ => from[random(state) as usize % from.len()],
        };
        let top = round == 0;
        let point = Point(from_fn(|_| any(&of_point, 1 << 30).max(window)));
        let wide: Element = from_fn(|_| if top { 2 * P } else { any(&of_step, u32::MAX) });
        let (left, right): (Element, Element) = (
            from_fn(|_| any(&of_product, P)),
            from_fn(|_| any(&of_product, P)),
        );
        let (base, most) = (any(&of_number, P), any(&[1, 2, window], window));
        let number = any(&of_number, u32::MAX).wrapping_add(base);
        let given = |b: Element, c: Element| {
            let end = [base, most, number];
            [point.0.as_slice(), &b, &c, &end].concat()
        };
        let modulo = |element: Element| element.map(|number| number % P);

        let text = kernels::clamp("%n0") + &kernels::step();
        let stepped = run(&text, &given(wide, ONE));
        assert!(stepped.iter().all(|&b| b <= 2 * P), "{stepped:?}");
        let x = number.wrapping_sub(base).min(most);
        assert_eq!(modulo(stepped), point.minus_times(x, modulo(wide)));

        let product = run(&kernels::product(), &given(left, right));
        assert_eq!(product, point.product(modulo(left), modulo(right)));
    }
}

fn is_one(numbers: &[u32]) -> bool {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.iter().copied().eq(0..numbers.len() as u32)
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

/// Many blocks, and products that are known from shorter ones.
#[test]
fn a_fingerprint_is_the_product_of_all_factors() {
    let device = Device::emulator();
    for (len, window) in [(20_001, 30_000), (30_003, 30_000), (20_002, 19_000)] {
        // Threads expect several fours, too.
        let right = Vec::from_iter((0..len as u32).rev());
        assert!(is_permutation(&numbers(&device, &right), window).expect("checked"));
        let mut given = Vec::from_iter((0..len as u32).map(|i| i ^ 1));
        given[5] = u32::MAX;
        let given = numbers(&device, &given);
        assert!(!is_permutation(&given, window).expect("checked"));
        let core = &given.memory.core;
        let check = core.check.get().expect("loaded");
        let most = window.min(len as u32);
        let plan = check.window(len, 0, most);
        let (results, at) = (plan.results(), given.memory.address);
        assert_eq!(results.len(), DEGREE, "all is known");
        assert!(results.start > DEGREE, "several blocks");
        let products = device.zeros::<u32>(results.end).expect("memory");
        // SAFETY: the numbers, and memory of that size.
        unsafe { plan.start(&*core.queue, at, products.memory.address) }.expect("launched");
        let found = products.view(results).to_vec().expect("read");
        let product = given
            .to_vec()
            .expect("read")
            .into_iter()
            .fold(ONE, |product, x| {
                check.point.minus_times(x.min(most), product)
            });
        assert_eq!(found, product);
    }
}

#[test]
fn no_coordinate_of_a_result_may_differ() {
    let device = Device::emulator();
    let given = numbers(&device, &[2, 0, 3, 1, 4]);
    assert!(is_permutation(&given, 3).expect("checked"));
    let check = given.memory.core.check.get().expect("loaded");
    // What is expected of the first three and two numbers is known now.
    for (len, most) in [(5, 3), (9, 3), (3, 3), (2, 2)] {
        let expected = (0..len as u32).fold(ONE, |product, x| {
            check.point.minus_times(x.min(most), product)
        });
        let window = check.window(len, 0, most);
        assert_eq!(window.results().len(), DEGREE);
        assert!(window.is_full(&expected));
        for i in 0..DEGREE {
            for by in [1, 2, P - 1] {
                let mut wrong = expected;
                wrong[i] = (wrong[i] + by) % P;
                assert!(!window.is_full(&wrong));
            }
        }
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
