//! Operations of a warp.

use safe_kernels::warps::{Seen, far, lanes};

use super::{LENGTHS, LINES, device, for_each_block, numbers, threads, values};

/// What lane `lane` of warp `index` sees, whose lanes have the elements `x`.
fn expected(x: &[u32], lane: usize, index: usize) -> Seen {
    let own = x[lane];
    let of = |source: Option<usize>| {
        source
            .and_then(|source| x.get(source))
            .copied()
            .unwrap_or(own)
    };
    let bits = |is: &dyn Fn(u32) -> bool| {
        let bit = |(lane, &x): (usize, &u32)| u32::from(is(x)) << lane;
        x.iter().enumerate().map(bit).sum::<u32>()
    };
    let begins = |lane: usize| lane == 0 || x[lane].is_multiple_of(3);
    let end = (lane + 1..x.len())
        .find(|&lane| begins(lane))
        .unwrap_or(x.len());
    let segment = if begins(lane) {
        x[lane..end].iter().sum()
    } else {
        0
    };
    [
        lane as u32,
        index as u32,
        x.len() as u32,
        of(Some(3)),
        of(Some(lane + 1)),
        of(Some(own as usize % 37)),
        of(Some(lane + 5)),
        of(lane.checked_sub(2)),
        of(Some(lane ^ 6)),
        u32::from(x.iter().all(|x| x % 2 == 1)),
        u32::from(x.iter().any(|x| x % 2 == 1)),
        bits(&|x| x % 2 == 1),
        bits(&|x| x % 4 == own % 4),
        x.iter().sum(),
        x[..=lane].iter().sum(),
        segment,
    ]
}

#[test]
fn lanes_of_whole_and_partial_warps() {
    let device = &device();
    for (len, grid) in LENGTHS.into_iter().zip(LINES.into_iter().cycle()) {
        let host = numbers(len);
        let input = device.upload(&host).unwrap();
        for_each_block!(device, lanes, |kernel, block| {
            let mut output = device.zeros(len).unwrap();
            kernel.grid(grid).launch(&input, &mut output).unwrap();
            let got = values(&output);
            let threads = threads(block);
            for start in (0..len).step_by(threads) {
                // Threads past the end have zeros.
                let element = |i: usize| host.get(i).copied().unwrap_or(0);
                let tile = Vec::from_iter((start..start + threads).map(element));
                for (thread, got) in got[start..].iter().take(threads).enumerate() {
                    let warp = &tile[thread / 32 * 32..threads.min((thread / 32 + 1) * 32)];
                    assert_eq!(
                        *got,
                        expected(warp, thread % 32, thread / 32),
                        "{block:?}, {thread}"
                    );
                }
            }
        });
    }
}

#[test]
fn a_lane_that_is_not_there_gives_ones_own_value() {
    let device = device();
    for block in [1_u32, 31, 32, 33, 256] {
        let mut output = device.zeros(block as usize).unwrap();
        let kernel = far::on(&device).unwrap().grid(1).block(block);
        kernel.launch(&mut output).unwrap();
        for (thread, got) in values(&output).into_iter().enumerate() {
            assert_eq!(got, [1000 + thread as u64; 4]);
        }
    }
}
