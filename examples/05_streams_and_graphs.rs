//! Streams and graphs: work that overlaps, and work that is launched as a whole.
//!
//! - A stream is a queue of the device. Work in one queue runs in order; work in two queues
//!   overlaps if the device can do both. If several streams use one buffer, the uses are ordered
//!   automatically: on the device, a reader waits for the last writer; the host does not wait.
//! - A [`StagedBuffer`](blockwise::StagedBuffer) has its elements twice, on the device and in
//!   pinned host memory. A GPU copies pinned memory while the host continues.
//! - A graph is a recorded sequence of launches. Replaying it is one call, however many launches it
//!   contains.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

/// level = decay·level + source.
#[kernel(require(level.len() == source.len()))]
pub fn leak(decay: f32, source: &[f32], mut level: Out<'_, f32>) {
    for (i, level) in level.mine() {
        *level = decay.mul_add(*level, source[i]);
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub use host::*;

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use blockwise::{Device, Result, StagedBuffer};

    use super::leak;

    /// One step from a level of zero, with the copies on one stream and the kernel on another.
    pub fn one_step(device: &Device, source: &[f32]) -> Result<Vec<f32>> {
        let (copies, kernels) = (device.stream()?, device.stream()?);
        let mut input = StagedBuffer::new(&copies, source.len())?;
        let mut level = StagedBuffer::new(&copies, source.len())?;

        input.host()?.copy_from_slice(source);
        // Each line only enqueues work. The kernel waits for both copies, and the copy back for the
        // kernel.
        input.upload()?;
        level.upload()?;
        let kernel = leak::on(device)?.covering(source.len())?.stream(&kernels);
        kernel.launch(0.5, input.device(), level.device_mut())?;
        level.download()?;
        // This waits for the copy back.
        Ok(level.host()?.to_vec())
    }

    /// Two steps, `replays` times, from a level of zero, as a graph.
    pub fn many_steps(device: &Device, source: &[f32], replays: usize) -> Result<Vec<f32>> {
        let source = device.upload(source)?;
        let mut level = device.zeros::<f32>(source.len())?;
        let two_steps = device.graph(|stream| {
            let kernel = leak::on(device)?.covering(source.len())?.stream(stream);
            kernel.launch(0.5, &source, &mut level)?;
            kernel.launch(0.25, &source, &mut level)
        })?;
        for _ in 0..replays {
            two_steps.launch()?;
        }
        level.to_vec()
    }

    /// The same on the host, bit by bit.
    pub(super) fn reference(source: &[f32], decays: &[f32]) -> Vec<f32> {
        let steps = |source: &f32| {
            decays
                .iter()
                .fold(0.0_f32, |level, decay| decay.mul_add(level, *source))
        };
        source.iter().map(steps).collect()
    }

    /// Runs the example.
    pub fn run(device: &Device) -> Result<()> {
        let source: Vec<f32> = (0..10_000).map(|i| (0.37 * i as f32).sin()).collect();
        assert_eq!(one_step(device, &source)?, reference(&source, &[0.5]));
        println!("copies on one stream, the kernel on another, ordered by their buffers");

        let replays = 10;
        let decays = [0.5, 0.25].repeat(replays);
        assert_eq!(
            many_steps(device, &source, replays)?,
            reference(&source, &decays)
        );
        println!("a graph of 2 launches, replayed {replays} times");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use blockwise::Result;

    use super::{many_steps, one_step, reference};
    use crate::test_devices::on_every_device;

    #[test]
    fn streams_and_graphs_compute_what_the_host_does() -> Result<()> {
        on_every_device(|device| {
            for len in [0, 1, 255, 256, 257, 997, 5_000] {
                let source: Vec<f32> = (0..len).map(|i| (0.37 * i as f32).sin()).collect();
                assert_eq!(one_step(device, &source)?, reference(&source, &[0.5]));
                for replays in [0, 1, 3] {
                    let decays = [0.5, 0.25].repeat(replays);
                    let level = many_steps(device, &source, replays)?;
                    assert_eq!(level, reference(&source, &decays), "{len}, {replays} times");
                }
            }
            Ok(())
        })
    }
}
