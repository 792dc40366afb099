//! Kernels with `unsafe` code inside, given memory that holds what they do not expect: the result
//! is wrong, and the detectors find nothing.

use blockwise::Device;
use kernels::matmul::few_cols::{self, matmul_few_cols};
use kernels::reduce::Sum;
use kernels::reduce::single::fold_single;
use ladder::single8::dot_single8;

const BLOCKS: u32 = 70;

/// Counts that make each block the last one, none, or several launches' worth of them.
fn tickets() -> impl Iterator<Item = u32> {
    let early = [1, 2, BLOCKS / 2, BLOCKS - 2, BLOCKS - 1];
    let never = [BLOCKS, BLOCKS + 1, 1 << 31, u32::MAX];
    let wrapping = [u32::MAX - BLOCKS / 2, 0_u32.wrapping_sub(BLOCKS)];
    early.into_iter().chain(never).chain(wrapping)
}

#[test]
fn a_ticket_of_any_number_makes_no_race() {
    let device = Device::checked();
    let input = device.upload(&[1_i64; 5000]).unwrap();
    for ticket in tickets() {
        let mut partials = device.zeros::<i64>(BLOCKS as usize).unwrap();
        let mut ticket_of = device.upload(&[ticket]).unwrap();
        let kernel = fold_single::<i64, Sum>::on(&device).unwrap();
        let kernel = kernel.grid(BLOCKS).block(32);
        let result = kernel.launch(&input, &mut partials, &mut ticket_of, 0);
        assert!(result.is_ok(), "{ticket}: {result:?}");
    }
}

/// A launch that went wrong leaves such a ticket to the next one.
#[test]
fn a_wrong_ticket_gives_a_wrong_result_and_the_right_one_the_right() {
    let device = Device::checked();
    let ones = device.upload(&[1.0_f32; 5000]).unwrap();
    let dot = |ticket: u32| {
        let mut partials = device.zeros::<f64>(BLOCKS as usize).unwrap();
        let mut ticket = device.upload(&[ticket]).unwrap();
        let kernel = dot_single8::<f32>::on(&device).unwrap();
        let kernel = kernel.grid(BLOCKS).block(32);
        kernel
            .launch(&ones, &ones, &mut partials, &mut ticket)
            .unwrap();
        (partials.to_vec().unwrap()[0], ticket.to_vec().unwrap()[0])
    };
    assert_eq!(dot(0), (5000.0, 0));
    let (sum, left) = dot(BLOCKS);
    assert!(sum < 5000.0, "nobody was the last");
    assert_eq!(left, 2 * BLOCKS);
}

/// The same of products whose slices one launch adds.
#[test]
fn a_products_ticket_of_any_number_makes_no_race() {
    const SLICES: u32 = 5;
    let early = [1, 2, SLICES - 1];
    let never = [SLICES, 1 << 31, u32::MAX - 9 * SLICES];
    let device = Device::checked();
    let (a, b) = (
        device.upload(&[1_f32; 7 * 160]).unwrap(),
        device.upload(&[1_f32; 160 * 5]).unwrap(),
    );
    let few = |ticket: u32| {
        let mut c = device.zeros::<f32>(35).unwrap();
        let mut sums = device.zeros::<f32>(35 * SLICES as usize).unwrap();
        let mut tickets = device.upload(&[ticket; 2]).unwrap();
        let slices = SLICES as usize;
        let kernel = matmul_few_cols::<f32>::on(&device).unwrap();
        let kernel = kernel.grid([1, 1, SLICES]).block(few_cols::THREADS);
        kernel
            .launch(
                &a,
                &b,
                &mut c,
                &mut sums,
                &mut tickets,
                7,
                160,
                5,
                slices,
                1,
                1,
                32,
                0,
            )
            .unwrap();
        (c.to_vec().unwrap(), tickets.to_vec().unwrap()[0])
    };
    assert_eq!(few(0), (vec![160.0; 35], 0));
    for ticket in early.into_iter().chain(never) {
        let (c, left) = few(ticket);
        assert!(c.iter().all(|&sum| sum <= 160.0), "{ticket}: {c:?}");
        assert_ne!(left, 0, "{ticket}");
    }
    // No block was the last: C is unchanged.
    assert_eq!(few(SLICES).0, [0.0; 35]);
}
