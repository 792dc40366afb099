//! The device's heap, on every device that is there, against the same code on the host.

use blockwise::Error;
use blockwise_tests::Arguments;
use blockwise_tests::bench::{benches_of, blocks, threads};
use blockwise_tests::ptx::file;
use device_heap::heap::{COLUMNS, from_collections};

const CRATE: &str = "device_heap";

#[test]
fn collections_give_what_they_give_on_the_host() {
    for bench in benches_of(CRATE) {
        // Sorting has a buffer of 4 KiB there and calls itself.
        bench.device.set_stack_bytes(32 << 10).unwrap();
        for (grid, block) in [(3, 20), (1, 150)] {
            let results = (grid * block) as usize * COLUMNS;
            let rows: Vec<u32> = bench.run(
                "collections",
                blocks(grid, block),
                Arguments::new(),
                results,
            );
            for (t, got) in (0..).zip(rows.chunks(COLUMNS)) {
                assert_eq!(got, from_collections(t), "thread {t}");
            }
        }
    }
}

#[test]
fn what_is_given_back_serves_again() {
    // 250 MiB in turns from a heap of 8 MiB.
    for bench in benches_of(CRATE) {
        let arguments = Arguments::new().value(1000_u64).value(100_u32);
        let sums: Vec<u32> = bench.run("reuse", blocks(5, 128), arguments, 640);
        for (t, sum) in (0..).zip(sums) {
            assert_eq!(sum, 4950 + 100 * t, "thread {t}");
        }
    }
}

#[test]
fn every_alignment_and_no_size_at_all() {
    for bench in benches_of(CRATE) {
        let wrong: Vec<u32> = bench.run("alignments", threads(40), Arguments::new(), 40);
        assert_eq!(wrong, [0; 40]);
        let good: Vec<u32> = bench.run("zero_sized", threads(40), Arguments::new(), 40);
        assert_eq!(good, [4; 40]);
    }
}

#[test]
fn a_full_heap_is_an_error_and_the_next_launch_works() {
    const TOO_MUCH: u64 = 1 << 30;
    for bench in benches_of(CRATE) {
        let bytes = |bytes| Arguments::new().value(bytes);
        let got: Vec<u32> = bench.run("try_reserve", threads(3), bytes(TOO_MUCH), 3);
        assert_eq!(got, [0; 3]);
        let mut out = bench.device.zeros::<u32>(1).unwrap();
        let error = bench
            .launch("reserve", threads(1), &bytes(TOO_MUCH).pointer(&mut out))
            .unwrap_err();
        let Error::Panicked {
            kernel, message, ..
        } = &error
        else {
            panic!("{error}");
        };
        assert_eq!(kernel, "reserve");
        assert!(
            message.contains("no room for 1073741824 bytes"),
            "{message}"
        );
        let got: Vec<u32> = bench.run("reserve", threads(3), bytes(1000), 3);
        assert_eq!(got, [1000; 3]);
    }
}

#[test]
fn the_stack_is_what_formatting_needs_and_can_be_set() {
    for bench in benches_of(CRATE) {
        let stack = || bench.device.stack_bytes().unwrap();
        assert!(stack() >= 8 << 10);
        bench.device.set_stack_bytes(20_000).unwrap();
        assert!(stack() >= 20_000);
        assert!(bench.device.set_stack_bytes(1 << 30).is_err());
        let arguments = Arguments::new().value(1000_u64);
        let got: Vec<u32> = bench.run("reserve", threads(3), arguments, 3);
        assert_eq!(got, [1000; 3]);
    }
}

#[test]
fn kernels_that_need_none_of_it_have_none_of_it() {
    let text = file("kernels", (9, 0)).text;
    for name in [
        "malloc",
        "vprintf",
        "__assertfail",
        cuda_std::panic::CHANNEL,
        "core3fmt",
    ] {
        assert!(!text.contains(name), "{name} in the PTX of the kernels");
    }
    let text = file("device_api", (9, 0)).text;
    for name in ["malloc", "vprintf"] {
        assert!(!text.contains(name), "{name} in the PTX of device_api");
    }
}
