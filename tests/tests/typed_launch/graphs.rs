//! Recorded launches.

use blockwise::{Buffer, Device, Error, Graph, Module, Stream};
use device_api::{axpy, stamped};

use super::{benches, kernels_of, rounds};

const LEN: usize = 1000;

/// x and y to begin with.
fn vectors() -> [Vec<f32>; 2] {
    let x = (0..LEN).map(|i| i as f32 / 7.0 - 40.0).collect();
    [x, (0..LEN).map(|i| (i % 13) as f32).collect()]
}

/// y += x/2, x += y/4, y += x.
fn steps(
    module: &Module,
    stream: &Stream,
    x: &mut Buffer<f32>,
    y: &mut Buffer<f32>,
) -> blockwise::Result<()> {
    let kernel = axpy::<f32>::on(module)?.stream(stream).covering(LEN)?;
    kernel.launch(0.5, &*x, &mut *y)?;
    kernel.launch(0.25, &*y, &mut *x)?;
    kernel.launch(1.0, &*x, &mut *y)
}

#[test]
fn a_replayed_graph_does_what_the_launches_do() {
    for (device, module) in benches() {
        let upload = || vectors().map(|values| device.upload(&values).unwrap());
        let ([mut x, mut y], [mut replayed_x, mut replayed_y]) = (upload(), upload());
        let stream = device.stream().unwrap();
        let graph = device
            .graph(|stream| steps(&module, stream, &mut replayed_x, &mut replayed_y))
            .unwrap();
        assert_eq!(replayed_x.to_vec().unwrap(), vectors()[0], "nothing ran");
        assert_eq!(replayed_y.to_vec().unwrap(), vectors()[1], "nothing ran");
        for round in 0..rounds(device, 1000) {
            steps(&module, &stream, &mut x, &mut y).unwrap();
            match round % 2 {
                0 => graph.launch().unwrap(),
                _ => graph.launch_on(&stream).unwrap(),
            }
        }
        assert_eq!(bits(&replayed_x), bits(&x));
        assert_eq!(bits(&replayed_y), bits(&y));
    }
}

/// Kernels, module and device may be dropped before it, and before a launch has ended.
#[test]
fn a_graph_outlives_what_it_was_made_of() {
    let recorded = |device: Device| -> (Graph, Buffer<f32>, Vec<f32>) {
        let module = kernels_of("device_api", &device);
        let [mut x, mut y] = vectors().map(|values| device.upload(&values).unwrap());
        let stream = device.stream().unwrap();
        let graph = device
            .graph(|stream| steps(&module, stream, &mut x, &mut y))
            .unwrap();
        let [mut other_x, mut other_y] = vectors().map(|values| device.upload(&values).unwrap());
        for _ in 0..2 {
            steps(&module, &stream, &mut other_x, &mut other_y).unwrap();
        }
        drop((module, stream, device));
        (graph, y, other_y.to_vec().unwrap())
    };
    let gpu = Device::gpu(0).ok();
    for device in [Some(Device::emulator()), gpu].into_iter().flatten() {
        let (graph, y, expected) = recorded(device);
        graph.launch().unwrap();
        graph.launch().unwrap();
        drop(graph);
        assert_eq!(y.to_vec().unwrap(), expected);
    }
}

/// Replays are uses of the graph's buffers, in order with all others.
#[test]
fn launches_between_two_replays_are_in_their_order() {
    for (device, module) in benches() {
        let streams = [0; 2].map(|_| device.stream().unwrap());
        let one = device.upload(&[1.0_f32; LEN]).unwrap();
        let mut x = device.upload(&[1.0_f32; LEN]).unwrap();
        let mut y = device.upload(&[0.0_f32; LEN]).unwrap();
        let graph = device
            .graph(|stream| {
                let kernel = axpy::<f32>::on(&module)?.stream(stream);
                kernel.covering(LEN)?.launch(2.0, &x, &mut y)
            })
            .unwrap();
        let count = rounds(device, 1000);
        for round in 0..count {
            // x becomes round + 1 on one stream, and y += 2x on the other.
            if round > 0 {
                let kernel = axpy::<f32>::on(&module).unwrap().stream(&streams[0]);
                let kernel = kernel.covering(LEN).unwrap();
                kernel.launch(1.0, &one, &mut x).unwrap();
            }
            graph.launch_on(&streams[1]).unwrap();
        }
        // Exact: below 2²⁴.
        let expected = (1..=count).map(|x| 2.0 * x as f32).sum::<f32>();
        assert!(y.to_vec().unwrap().iter().all(|&y| y == expected));
    }
}

#[test]
fn fills_are_recorded_and_waiting_is_not() {
    for (device, module) in benches() {
        let mut data = device.upload(&[7_u32; LEN]).unwrap();
        let graph = device
            .graph(|stream| {
                data.fill_bytes_on(Some(stream), 1)?;
                let kernel = stamped::<u32>::on(&module)?.stream(stream);
                let part = data.view_mut(..10);
                kernel.covering(10)?.launch(5, part)
            })
            .unwrap();
        data.fill_bytes(0).unwrap();
        graph.launch().unwrap();
        let got = data.to_vec().unwrap();
        assert_eq!(got[..10], [5; 10]);
        assert!(got[10..].iter().all(|&word| word == 0x0101_0101));
        let error = device.graph(Stream::synchronize).unwrap_err();
        assert!(matches!(error, Error::NotRecordable { .. }), "{error}");
    }
}

/// The graph keeps what it uses alive.
#[test]
fn a_graph_outlives_its_buffers_module_and_stream() {
    for (device, module) in benches() {
        let x = device.upload(&[1.0_f32; LEN]).unwrap();
        let mut y = device.upload(&[0.0_f32; LEN]).unwrap();
        let graph = device
            .graph(|stream| {
                let kernel = axpy::<f32>::on(&module)?.stream(stream);
                kernel.covering(LEN)?.launch(1.0, &x, &mut y)
            })
            .unwrap();
        drop((x, module));
        graph.launch().unwrap();
        graph.launch().unwrap();
        assert_eq!(y.to_vec().unwrap(), [2.0; LEN]);
        drop(y);
        graph.launch().unwrap();
        device.synchronize().unwrap();
    }
}

fn bits(values: &Buffer<f32>) -> Vec<u32> {
    let values = values.to_vec().unwrap();
    values.iter().map(|value| value.to_bits()).collect()
}
