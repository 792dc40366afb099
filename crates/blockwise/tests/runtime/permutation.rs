//! Numbers that are checked to be a permutation, and stay one.

use blockwise::{Buffer, Device, Error, Permutation, Result};
use kernels::reverse::direct::reverse_direct;

use super::common::devices;

/// Lengths around the four numbers of a thread, the 32 bits of a word and the threads of a block.
const LENGTHS: [usize; 17] = [
    0, 1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 65, 127, 1000, 1023, 1024, 4099,
];

fn mixed(len: usize) -> Vec<u32> {
    let mut numbers = Vec::from_iter(0..len as u32);
    numbers.sort_by_key(|i| i.wrapping_mul(0x9E37_79B9));
    numbers
}

fn check(device: &Device, numbers: &[u32]) -> Result<Permutation> {
    Permutation::new(device.upload(numbers)?)
}

#[test]
fn each_number_once_is_a_permutation() -> Result<()> {
    for device in devices() {
        for len in LENGTHS {
            let ascending = Vec::from_iter(0..len as u32);
            let descending = Vec::from_iter((0..len as u32).rev());
            for numbers in [mixed(len), ascending, descending] {
                let permutation = check(&device, &numbers)?;
                assert_eq!(permutation.len(), len);
                assert_eq!(permutation.as_view().to_vec()?, numbers);
                assert_eq!(permutation.into_buffer()?.to_vec()?, numbers);
            }
        }
    }
    Ok(())
}

#[test]
fn anything_else_is_none_and_the_error_says_why() {
    for device in devices() {
        for len in LENGTHS.into_iter().filter(|len| *len > 0) {
            let right = mixed(len);
            for at in [0, len / 2, len - 1] {
                for wrong in [len as u32, u32::MAX, 1 << 31, right[(at + 1) % len]] {
                    let mut numbers = right.clone();
                    numbers[at] = wrong;
                    let is_right = numbers == right;
                    match check(&device, &numbers) {
                        Ok(_) => assert!(is_right, "{len}: {wrong} at {at}"),
                        Err(Error::NotAPermutation { problem }) => {
                            assert!(!is_right);
                            assert!(problem.contains(&format!("is {wrong}")), "{problem}");
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            }
            let zeros = check(&device, &vec![0; len]);
            assert_eq!(zeros.is_ok(), len == 1, "{len} zeros");
            // Every number twice, and none missing at the end.
            let halves = Vec::from_iter((0..len as u32).map(|i| i / 2));
            assert_eq!(check(&device, &halves).is_ok(), len == 1, "{len} halves");
        }
        let error = check(&device, &[4, 3, 2, 1, 4, 9]).expect_err("none");
        let problem = "the numbers are no permutation: number 4 is 4, as number 0 is";
        assert_eq!(error.to_string(), problem);
        let error = check(&device, &[4, 3, 7]).expect_err("none");
        let problem = "the numbers are no permutation: number 0 is 4, and there are 3";
        assert_eq!(error.to_string(), problem);
    }
}

/// What the error says about the first number at fault.
fn fault(numbers: &[u32]) -> Option<String> {
    let len = numbers.len();
    numbers.iter().enumerate().find_map(|(at, number)| {
        if *number as usize >= len {
            return Some(format!("number {at} is {number}, and there are {len}"));
        }
        let before = numbers[..at].iter().position(|other| other == number)?;
        Some(format!("number {at} is {number}, as number {before} is"))
    })
}

/// Numbers with the sums, products, powers or parities of a permutation.
#[test]
fn no_likeness_to_a_permutation_passes() {
    for device in devices() {
        let refused = |numbers: &[u32]| {
            let fault = fault(numbers).expect("wrong numbers");
            let error = check(&device, numbers).expect_err(&fault);
            let expected = format!("the numbers are no permutation: {fault}");
            assert_eq!(error.to_string(), expected);
        };
        let with = |len: usize, others: &[(usize, u32)]| {
            let mut numbers = mixed(len);
            for (old, new) in others {
                let at = numbers
                    .iter()
                    .position(|x| *x as usize == *old)
                    .expect("there");
                numbers[at] = *new;
            }
            numbers
        };
        for len in [12, 64, 1000, 1023, 4099] {
            let last = len - 1;
            let end = last as u32;
            // The ends, twice each and exchanged.
            refused(&with(len, &[(0, end)]));
            refused(&with(len, &[(last, 0)]));
            refused(&with(len, &[(last, end - 1)]));
            refused(&with(len, &[(1, 0), (last - 1, end)]));
            refused(&vec![end; len]);
            refused(&vec![u32::MAX; len]);
            // Beyond the end, near the modulus and near 2³².
            for far in [
                len as u32,
                (1 << 31) - 1,
                1 << 31,
                (1 << 30) - 1,
                536_870_912,
            ] {
                refused(&with(len, &[(last, far)]));
                refused(&with(len, &[(0, far)]));
                refused(&with(len, &[(0, u32::MAX), (last, 0)]));
            }
            // Less the length, modulo 2³².
            refused(&with(len, &[(0, (len as u32).wrapping_neg())]));
            // Equal sums, equal products.
            refused(&with(len, &[(3, 5), (8, 6)]));
            refused(&with(len, &[(3, 4), (8, 6)]));
            // Equal parities: one number three times, another none.
            refused(&with(len, &[(4, 9), (7, 9)]));
        }
        // Equal sums of all powers up to the 11th: numbers with an even count of ones, twice.
        let even = |i: u32| {
            if i.count_ones().is_multiple_of(2) {
                i
            } else {
                i ^ 1
            }
        };
        refused(&Vec::from_iter((0..4096).map(even)));
        // Equal remainders, and a permutation of other numbers.
        refused(&Vec::from_iter((0..1024_u32).map(|i| i + i % 2 * 1024)));
        refused(&Vec::from_iter(1..1025_u32));
        // Exchanges are permutations.
        for (a, b) in [(0, 999), (998, 999), (0, 1)] {
            let numbers = with(1000, &[(a, b as u32)]);
            refused(&numbers);
            let mut right = mixed(1000);
            let at = |x: u32| right.iter().position(|y| *y == x).expect("there");
            let (i, j) = (at(a as u32), at(b as u32));
            right.swap(i, j);
            assert!(check(&device, &right).is_ok());
        }
    }
}

#[test]
fn lengths_in_any_order_are_checked() {
    for device in devices() {
        for len in [70, 5, 71, 3, 70, 1000, 999, 1000, 0, 1, 70] {
            assert!(check(&device, &mixed(len)).is_ok(), "{len}");
            let mut wrong = mixed(len);
            if let Some(last) = wrong.last_mut() {
                *last = len as u32;
                assert!(check(&device, &wrong).is_err(), "{len}");
            }
        }
    }
}

/// A recorded fill of the numbers fills other memory once they were checked.
#[test]
fn a_graph_recorded_before_the_check_does_not_change_them() -> Result<()> {
    for device in devices() {
        let right = mixed(100);
        let fill = |numbers: &mut Buffer<u32>| {
            device.graph(|stream| numbers.fill_bytes_on(Some(stream), 0))
        };
        let mut numbers = device.upload(&right)?;
        let graph = fill(&mut numbers)?;
        let permutation = Permutation::new(numbers)?;
        graph.launch()?;
        assert_eq!(permutation.as_view().to_vec()?, right);
        let mut numbers = device.upload(&right)?;
        let graph = fill(&mut numbers)?;
        // SAFETY: they are.
        let permutation = unsafe { Permutation::new_unchecked(numbers)? };
        graph.launch()?;
        assert_eq!(permutation.as_view().to_vec()?, right);
        // Inside the recording too.
        let mut numbers = Some(device.upload(&right)?);
        let mut checked = None;
        let graph = device.graph(|stream| {
            let mut numbers = numbers.take().expect("once");
            numbers.fill_bytes_on(Some(stream), 0)?;
            checked = Some(Permutation::new(numbers)?);
            Ok::<(), Error>(())
        })?;
        graph.launch()?;
        assert_eq!(checked.expect("once").as_view().to_vec()?, right);
    }
    Ok(())
}

/// A graph that reads them keeps them, whatever becomes of the buffer.
#[test]
fn a_graph_keeps_the_numbers_that_it_was_recorded_with() -> Result<()> {
    for device in devices() {
        let right = mixed(100);
        let permutation = check(&device, &right)?;
        let mut reversed = device.zeros::<u32>(100)?;
        let graph = device.graph(|stream| {
            let kernel = reverse_direct::<u32>::on(&device)?.grid(1).block(128);
            let kernel = kernel.stream(stream);
            kernel.launch(permutation.as_view(), &mut reversed)
        })?;
        let mut numbers = permutation.into_buffer()?;
        numbers.fill_bytes(0)?;
        graph.launch()?;
        let expected = Vec::from_iter(right.into_iter().rev());
        assert_eq!(reversed.to_vec()?, expected);
    }
    Ok(())
}

#[test]
fn the_check_is_clean_under_every_detector() -> Result<()> {
    let device = Device::checked();
    // The last one takes many blocks, whose products the last of them reads.
    for len in LENGTHS.into_iter().chain([30_003]) {
        check(&device, &mixed(len))?;
    }
    assert!(check(&device, &[1, 1, 7, 0, 2]).is_err());
    Ok(())
}
