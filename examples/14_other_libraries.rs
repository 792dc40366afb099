//! Other libraries: their memory and their stream, without a copy.
//!
//! A GPU has one primary context, which cudarc, PyTorch, CUDA's runtime and Blockwise share. So an
//! address of one is valid for all, and what must be said is the rest:
//!
//! - `Device::foreign`: how many elements lie at an address. The buffer does not free them.
//! - `Stream::within`: a launch runs as if it were enqueued in the other library's stream, after
//!   what is in there, and before what follows.
//! - The other way round, a library gets `Buffer::address` and, by `Stream::enqueue_foreign`, our
//!   stream.
//!
//! All are `unsafe`: nothing here can know what the other library does. It is `cust` in this
//! example. cudarc has `CudaSlice::device_ptr` and `CudaStream::cu_stream` in place of
//! `as_device_ptr` and `as_inner`.

use cuda_std::prelude::*;

/// y = a x, with one thread per element.
#[kernel(require(x.len() == y.len()))]
pub fn scaled(a: f32, x: &[f32], mut y: Out<f32>) {
    if let Some((i, y)) = y.own() {
        *y = a * x[i];
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub use host::*;

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use blockwise::{Device, DeviceKind, DevicePointer, Error, Result};
    use cust::context::{Context, CurrentContext};
    use cust::error::{CudaError, CudaResult};
    use cust::memory::DeviceBuffer;
    use cust::stream::{Stream, StreamFlags};

    use super::*;

    /// a x by our kernel, in memory and in a stream of `cust`.
    pub fn in_their_stream(device: &Device, ordinal: u32, a: f32, x: &[f32]) -> Result<Vec<f32>> {
        let _context = theirs(|| {
            let context = Context::new(cust::device::Device::get_device(ordinal)?)?;
            CurrentContext::set_current(&context)?;
            Ok(context)
        })?;
        // A stream that does not wait for the default one, as cudarc's.
        let stream = theirs(|| Stream::new(StreamFlags::NON_BLOCKING, None))?;
        let input = theirs(|| DeviceBuffer::from_slice(x))?;
        let output = theirs(|| DeviceBuffer::from_slice(&vec![0.0_f32; x.len()]))?;
        {
            let at =
                |buffer: &DeviceBuffer<f32>| DevicePointer::new(buffer.as_device_ptr().as_raw());
            // SAFETY: both have that many elements, are written, and outlive this block; `cust` uses
            // them after the launch only, in the order of its stream.
            let (input, mut output) = unsafe {
                (
                    device.foreign::<f32>(at(&input), x.len())?,
                    device.foreign::<f32>(at(&output), x.len())?,
                )
            };
            // SAFETY: the stream is alive.
            unsafe {
                device.stream()?.within(stream.as_inner().cast(), |stream| {
                    let kernel = scaled::on(device)?.covering(x.len())?.stream(stream);
                    kernel.launch(a, &input, &mut output)
                })
            }?;
        }
        theirs(|| {
            stream.synchronize()?;
            output.as_host_vec()
        })
    }

    /// The other library's errors as ours.
    fn theirs<T>(call: impl FnOnce() -> CudaResult<T>) -> Result<T> {
        call().map_err(|error: CudaError| Error::Driver {
            doing: "a call of cust".to_owned(),
            failure: error.to_string(),
            code: error as u32,
        })
    }

    /// Runs the example.
    pub fn run(device: &Device) -> Result<()> {
        if device.properties().kind == DeviceKind::Emulator {
            println!("on a GPU only: `cust` knows no other device");
            return Ok(());
        }
        let y = in_their_stream(device, 0, 2.0, &[1.0, 2.0, 3.0])?;
        println!("2 × [1, 2, 3] = {y:?}, in memory and a stream of cust");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use blockwise::{DeviceKind, Result};

    use super::in_their_stream;
    use crate::test_devices::on_every_device;

    #[test]
    fn a_kernel_runs_in_another_librarys_memory_and_stream() -> Result<()> {
        on_every_device(|device| {
            if device.properties().kind == DeviceKind::Emulator {
                return Ok(());
            }
            for len in [1, 255, 256, 257, 100_003] {
                let x = Vec::from_iter((0..len).map(|i| i as f32));
                let expected = Vec::from_iter(x.iter().map(|x| 3.0 * x));
                assert_eq!(in_their_stream(device, 0, 3.0, &x)?, expected, "{len}");
            }
            Ok(())
        })
    }
}
