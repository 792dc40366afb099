//! Reductions, scans and broadcasts of a block.

use safe_kernels::scratch::{Affine, disagreeing, together};

use super::{LENGTHS, device, for_each_block, numbers, threads, values};

#[test]
fn reductions_scans_and_broadcasts_keep_the_order_of_threads() {
    let device = &device();
    for len in LENGTHS {
        let host = numbers(len);
        let input = device.upload(&host).unwrap();
        for from in [0, 30, 32, 70, 5000] {
            // All operations of a launch share the scratch memory: one length tests every source.
            if len != 300 && from != 70 {
                continue;
            }
            for_each_block!(device, together, |kernel, block| {
                let output = || device.zeros::<Affine>(len).unwrap();
                let (mut all, mut up_to, mut before, mut theirs) =
                    (output(), output(), output(), output());
                let kernel = kernel.grid(2);
                kernel
                    .launch(&input, from, &mut all, &mut up_to, &mut before, &mut theirs)
                    .unwrap();
                let (all, up_to) = (values(&all), values(&up_to));
                let (before, theirs) = (values(&before), values(&theirs));
                let threads = threads(block);
                for (tile, elements) in host.chunks(threads).enumerate() {
                    let elements = Vec::from_iter(elements.iter().map(|&x| Affine::of(x)));
                    let fold =
                        |part: &[Affine]| part.iter().fold(Affine::IDENTITY, |a, b| a.then(*b));
                    for (thread, _) in elements.iter().enumerate() {
                        let (i, place) = (
                            tile * threads + thread,
                            format!("{block:?}, {len}, {thread}"),
                        );
                        assert_eq!(all[i], fold(&elements), "{place}");
                        assert_eq!(up_to[i], fold(&elements[..=thread]), "{place}");
                        assert_eq!(before[i], fold(&elements[..thread]), "{place}");
                        let source = elements.get(from.min(threads - 1));
                        assert_eq!(theirs[i], *source.unwrap_or(&Affine::IDENTITY), "{place}");
                    }
                }
            });
        }
    }
}

#[test]
fn threads_that_disagree_about_a_broadcast_make_no_race() {
    let device = device();
    let host = Vec::from_iter((0..500).map(|i| (i % 251) as u8));
    let input = device.upload(&host).unwrap();
    for block in [1, 31, 33, 250] {
        let mut output = device.zeros(host.len()).unwrap();
        let kernel = disagreeing::on(&device).unwrap().grid(2).block(block);
        kernel.launch(&input, &mut output).unwrap();
        for (tile, (got, had)) in values(&output)
            .chunks(block as usize)
            .zip(host.chunks(block as usize))
            .enumerate()
        {
            let known = |value: &u8| had.contains(value) || *value == 0;
            assert!(got.iter().all(known), "tile {tile} of {block}");
        }
    }
}
