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
    for len in LENGTHS {
        check(&device, &mixed(len))?;
    }
    assert!(check(&device, &[1, 1, 7, 0, 2]).is_err());
    Ok(())
}
