//! Threads that are gone: those left keep what is theirs. On a GPU only: the emulator reports a
//! barrier that they cannot reach.

use blockwise::DeviceKind;
use device_api::append_until_exit;

use super::benches;

const THREADS: usize = 96;
const TILE: usize = 2 * THREADS;
const BLOCKS: usize = 2;

/// What the threads append that have not met an element that `stop` divides.
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
        // Many, one in each warp, thread 0 of the first block, and one at the end.
        for stop in [3, 32, 97, 385, 1000, 2000] {
            let mut kept = device.zeros::<u32>(x.len()).unwrap();
            let mut count = device.zeros::<u64>(1).unwrap();
            let kernel = append_until_exit::on(&module).unwrap().grid(BLOCKS as u32);
            // SAFETY: it asks nothing.
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
