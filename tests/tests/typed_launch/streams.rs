//! Streams that share buffers: their uses are in the order of the calls.

use blockwise::{Buffer, Device, Shape};
use device_api::{axpy, count_other_than, stamped};

use super::{benches, rounds};

/// Blocks so few that launches of several streams run on a GPU side by side, unless they are kept
/// in order.
fn few() -> Shape {
    Shape::new(4, 256)
}

/// Elements for many rounds of each thread on a GPU, and for one on the emulator.
fn len(device: &Device) -> usize {
    rounds(device, 1 << 12) as usize * 50
}

#[test]
fn a_reader_sees_what_the_writer_on_another_stream_wrote() {
    for (device, module) in benches() {
        let len = len(device);
        let (writing, reading) = (device.stream().unwrap(), device.stream().unwrap());
        let mut data = device.zeros::<u32>(len).unwrap();
        let mut wrong = device.upload(&vec![0_u32; len]).unwrap();
        let write = stamped::<u32>::on(&module)
            .unwrap()
            .shape(few())
            .stream(&writing);
        let read = count_other_than::on(&module)
            .unwrap()
            .shape(few())
            .stream(&reading);
        for round in 0..rounds(device, 10_000) {
            write.launch(round, &mut data).unwrap();
            // After the write, and before the next one.
            read.launch(&data, round, &mut wrong).unwrap();
        }
        none(&wrong);
    }
}

#[test]
fn two_readers_and_a_writer_by_turns() {
    for (device, module) in benches() {
        let len = len(device);
        let streams = [0; 3].map(|_| device.stream().unwrap());
        let mut data = device.zeros::<u32>(len).unwrap();
        let mut wrong = [0; 2].map(|_| device.upload(&vec![0_u32; len]).unwrap());
        for round in 0..rounds(device, 3000) {
            // Each stream writes in its turn, and the two others read.
            let turn = round as usize % 3;
            let write = stamped::<u32>::on(&module).unwrap();
            let write = write.shape(few()).stream(&streams[turn]);
            write.launch(round, &mut data).unwrap();
            for (wrong, other) in wrong.iter_mut().zip([1, 2]) {
                let read = count_other_than::on(&module).unwrap().shape(few());
                let read = read.stream(&streams[(turn + other) % 3]);
                read.launch(&data, round, wrong).unwrap();
            }
        }
        wrong.iter().for_each(none);
    }
}

/// Between the device's own queue and a stream, and with copies, which wait for neither by
/// themselves.
#[test]
fn the_devices_own_queue_and_copies_are_in_order_too() {
    for (device, module) in benches() {
        let len = len(device);
        let stream = device.stream().unwrap();
        let ones = vec![1.0_f32; len];
        let mut x = device.upload(&ones).unwrap();
        let mut y = device.upload(&vec![0.0_f32; len]).unwrap();
        let own = axpy::<f32>::on(&module).unwrap().shape(few());
        let other = axpy::<f32>::on(&module)
            .unwrap()
            .shape(few())
            .stream(&stream);
        for round in 0..rounds(device, 200) {
            own.launch(2.0, &x, &mut y).unwrap();
            other.launch(1.0, &x, &mut y).unwrap();
            // A copy to the host sees both, one to the device comes after both.
            let expected = 3.0 * (round + 1) as f32;
            let got = y.view(len - 1..).to_vec().unwrap();
            assert_eq!(got, [expected], "round {round}");
            x.copy_from_slice(&ones).unwrap();
        }
        let expected = 3.0 * rounds(device, 200) as f32;
        assert!(y.to_vec().unwrap().iter().all(|&y| y == expected));
    }
}

/// A buffer that is dropped while a launch still uses it is freed after that.
#[test]
fn memory_is_freed_behind_its_last_use() {
    for (device, module) in benches() {
        let len = len(device);
        let streams = [0; 2].map(|_| device.stream().unwrap());
        let mut wrong = device.upload(&vec![0_u32; len]).unwrap();
        for round in 0..rounds(device, 500) {
            let [writing, reading] = &streams;
            let mut data = device.zeros::<u32>(len).unwrap();
            let write = stamped::<u32>::on(&module)
                .unwrap()
                .shape(few())
                .stream(writing);
            write.launch(round, &mut data).unwrap();
            let read = count_other_than::on(&module)
                .unwrap()
                .shape(few())
                .stream(reading);
            read.launch(&data, round, &mut wrong).unwrap();
        }
        none(&wrong);
    }
}

#[test]
fn several_host_threads_launch_with_one_input() {
    for (device, module) in benches() {
        let len = len(device);
        let x = device.upload(&vec![1.0_f64; len]).unwrap();
        let repeated = || {
            let stream = device.stream().unwrap();
            let mut y = device.upload(&vec![0.0_f64; len]).unwrap();
            let kernel = axpy::<f64>::on(&module)
                .unwrap()
                .shape(few())
                .stream(&stream);
            for _ in 0..rounds(device, 500) {
                kernel.launch(2.0, &x, &mut y).unwrap();
            }
            let expected = 2.0 * f64::from(rounds(device, 500));
            assert!(y.to_vec().unwrap().iter().all(|&y| y == expected));
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(repeated);
            }
        });
    }
}

#[track_caller]
fn none(wrong: &Buffer<u32>) {
    let wrong = wrong.to_vec().unwrap();
    let first = wrong.iter().position(|&count| count > 0);
    assert_eq!(first, None, "{} times", wrong[first.unwrap_or(0)]);
}
