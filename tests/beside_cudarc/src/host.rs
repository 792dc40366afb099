//! The calls of both libraries.

use std::error::Error;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use blockwise::{Buffer, Device, DevicePointer};
use cuda_std::launch::{Read, Write};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, result};

use crate::axpy;

/// Both libraries' views of one GPU.
pub struct Both {
    pub device: Device,
    pub context: Arc<CudaContext>,
    pub stream: Arc<CudaStream>,
}

type Result<T> = std::result::Result<T, Box<dyn Error>>;

impl Both {
    /// The GPU of this number.
    pub fn open(ordinal: usize) -> Result<Self> {
        // First, for cudarc panics where there is no driver.
        let device = Device::gpu(ordinal)?;
        let context = CudaContext::new(ordinal)?;
        let stream = context.new_stream()?;
        Ok(Both {
            device,
            context,
            stream,
        })
    }

    /// Whether both use the GPU's primary context.
    pub fn share_a_context(&self) -> bool {
        self.device.context() == self.context.cu_ctx().cast()
    }

    /// a x + y by our kernel, in cudarc's memory and `rounds` times in its stream.
    pub fn ours_in_theirs(&self, a: f32, x: &[f32], y: &[f32], rounds: u32) -> Result<Vec<f32>> {
        let stream = &self.stream;
        let x = stream.clone_htod(x)?;
        let mut y = stream.clone_htod(y)?;
        {
            let len = x.len();
            let (x_at, _x) = x.device_ptr(stream);
            let (y_at, _y) = y.device_ptr_mut(stream);
            // SAFETY: cudarc's slices have that many elements, all written, and outlive this block;
            // it uses them in the order of its stream only.
            let (x, mut y): (Buffer<f32>, Buffer<f32>) = unsafe {
                (
                    self.device.foreign(DevicePointer::new(x_at), len)?,
                    self.device.foreign(DevicePointer::new(y_at), len)?,
                )
            };
            let ours = self.device.stream()?;
            for _ in 0..rounds {
                // SAFETY: the stream is alive.
                unsafe {
                    ours.within(stream.cu_stream().cast(), |ours| {
                        let kernel = axpy::on(&self.device)?.covering(len)?.stream(ours);
                        kernel.launch(a, &x, &mut y)
                    })?;
                }
            }
        }
        Ok(stream.clone_dtoh(&y)?)
    }

    /// Our buffer as a slice of cudarc, which copies it in its stream; then our kernel reads the
    /// copy in ours.
    pub fn theirs_in_ours(&self, a: f32, x: &[f32]) -> Result<Vec<f32>> {
        let len = x.len();
        let x = self.device.upload(x)?;
        let mut copy = self.device.zeros::<f32>(len)?;
        let mut y = self.device.zeros::<f32>(len)?;
        let ours = self.device.stream()?;
        let (from, to) = (x.address().address, copy.address().address);
        // SAFETY: cudarc's call enqueues one copy in our stream, within the memory that is named.
        unsafe {
            ours.enqueue_foreign(
                &[Read::pass(x.as_view()), Write::pass(copy.as_view_mut())],
                |stream| -> Result<()> {
                    let bytes = len * size_of::<f32>();
                    Ok(result::memcpy_dtod_async(to, from, bytes, stream.cast())?)
                },
            )?;
        }
        axpy::on(&self.device)?
            .covering(len)?
            .stream(&ours)
            .launch(a, &copy, &mut y)?;
        ours.synchronize()?;
        // SAFETY: the address is that of `len` elements, and nothing of ours is enqueued. A slice of
        // cudarc frees what it owns: this one owns nothing, and is not dropped.
        let theirs = ManuallyDrop::new(unsafe {
            self.stream
                .upgrade_device_ptr::<f32>(y.address().address, len)
        });
        let theirs: &CudaSlice<f32> = &theirs;
        Ok(self.stream.clone_dtoh(theirs)?)
    }
}
