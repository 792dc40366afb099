//! Appending in a block of which threads have exited: the others' tickets stay exclusive. On a GPU
//! only: the emulator reports the barrier that the exited threads do not reach.

use blockwise::DeviceKind;
use device_api::append_until_exit;

use super::benches;

const THREADS: usize = 96;
const TILE: usize = 2 * THREADS;
const BLOCKS: usize = 2;

/// What is appended if each thread exits at its first element that `stop` divides.
fn expected(x: &[u32], stop: u32) -> Vec<u32> {
    let mut kept = Vec::new();
    for (block, thread) in (0..BLOCKS).flat_map(|b| (0..THREADS).map(move |t| (b, t))) {
        for tile in (block * TILE..x.len()).step_by(BLOCKS * TILE) {
            let own = [0, THREADS].map(|item| x.get(tile + thread + item).copied());
            let own = Vec::from_iter(own.into_iter().flatten());
            if own.iter().any(|x| x.is_multiple_of(stop)) {
                break;
            }
            kept.extend(own.into_iter().filter(|x| x % 2 == 1));
        }
    }
    kept.sort_unstable();
    kept
}

#[test]
fn tickets_are_exclusive_when_threads_of_the_block_are_gone() {
    let x = Vec::from_iter(1..=1000_u32);
    for (device, module) in benches() {
        let on_device = device.upload(&x).unwrap();
        // Exits: of many threads; of one in each warp; of thread 0 of block 0, in its first round
        // and in its second; of the last thread; of none.
        for stop in [3, 32, 97, 385, 1000, 2000] {
            let mut kept = device.zeros::<u32>(x.len()).unwrap();
            let mut count = device.zeros::<u64>(1).unwrap();
            let kernel = append_until_exit::on(&module).unwrap().grid(BLOCKS as u32);
            // SAFETY: the kernel has no safety conditions.
            let launched = unsafe { kernel.launch(&on_device, stop, (&mut kept, &mut count)) };
            let is_gone = x.iter().any(|x| x.is_multiple_of(stop));
            if device.properties().kind == DeviceKind::Emulator && is_gone {
                let text = launched.unwrap_err().to_string();
                assert!(text.contains("divergent barrier"), "{text}");
                continue;
            }
            launched.unwrap();
            let count = count.to_vec().unwrap()[0] as usize;
            let mut kept = kept.view(..count).to_vec().unwrap();
            kept.sort_unstable();
            assert_eq!(kept, expected(&x, stop), "{stop}");
        }
    }
}
