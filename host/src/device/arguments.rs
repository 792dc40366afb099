//! The arguments of a launch.

use std::marker::PhantomData;
use std::sync::Arc;

use super::backend::Backend;
use super::buffer::POISON;
use super::{DeviceBuffer, DeviceError, Element, Stream};

/// The arguments of a launch, in the order of the kernel's parameters. It borrows the buffers.
///
/// ```
/// # use blockwise::device::{Arguments, Device, DeviceBuffer, DeviceChoice};
/// let device = Device::connect(DeviceChoice::Emulator)?;
/// let input = DeviceBuffer::from_slice(&device, &[1.0_f32, 2.0])?;
/// let mut output = DeviceBuffer::<f32>::alloc(&device, 2)?;
/// // For a kernel `fn scale(input: &[f32], output: *mut f32, factor: f32)`:
/// let arguments = Arguments::new().slice(&input).output(&mut output).value(3.0_f32);
/// # let _ = arguments;
/// # Ok::<(), blockwise::device::DeviceError>(())
/// ```
#[derive(Default)]
pub struct Arguments<'a> {
    /// The bytes of each.
    values: Vec<Vec<u8>>,
    devices: Vec<Arc<dyn Backend>>,
    outputs: Vec<Output>,
    buffers: PhantomData<&'a ()>,
}

/// Memory that the launch fills.
struct Output {
    backend: Arc<dyn Backend>,
    address: u64,
    bytes: usize,
}

impl<'a> Arguments<'a> {
    /// No arguments yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A parameter `&[T]`: address and length in elements, two parameters of the PTX.
    #[must_use]
    pub fn slice<T: Element>(self, buffer: &'a DeviceBuffer<T>) -> Self {
        let len = buffer.len() as u64;
        self.address(buffer).value(len)
    }

    /// A parameter `*mut T` whose contents matter before the launch.
    #[must_use]
    pub fn pointer<T: Element>(self, buffer: &'a mut DeviceBuffer<T>) -> Self {
        self.address(buffer)
    }

    /// A parameter `*mut T` that the launch fills whole, without reading what was there: it may be poisoned before.
    #[must_use]
    pub fn output<T: Element>(mut self, buffer: &'a mut DeviceBuffer<T>) -> Self {
        if !buffer.is_empty() {
            self.outputs.push(Output {
                backend: Arc::clone(buffer.backend()),
                address: buffer.address(),
                bytes: buffer.bytes(),
            });
        }
        self.address(buffer)
    }

    /// Fills every [`output`](Self::output) with bytes of 0xFF, in order with the launches.
    ///
    /// # Errors
    /// When a device fails.
    pub fn poison_outputs(&self) -> Result<(), DeviceError> {
        for output in &self.outputs {
            output.backend.fill(output.address, output.bytes, POISON)?;
        }
        Ok(())
    }

    /// The same on a stream.
    ///
    /// # Errors
    /// When a device fails.
    pub fn poison_outputs_on(&self, stream: &Stream) -> Result<(), DeviceError> {
        for output in &self.outputs {
            (stream.queue()).fill(output.address, output.bytes, POISON)?;
        }
        Ok(())
    }

    /// A parameter of a plain number type. `usize` of a kernel is `u64` here.
    #[must_use]
    pub fn value<T: Element>(self, value: T) -> Self {
        self.by_value(bytemuck::bytes_of(&value))
    }

    /// A parameter of any other type that is passed by value: the bytes of a `#[repr(C)]` struct, padding included.
    #[must_use]
    pub fn by_value(mut self, bytes: &[u8]) -> Self {
        self.values.push(bytes.to_owned());
        self
    }

    /// A parameter `*const T`: memory that the kernel only reads.
    #[must_use]
    pub fn address<T: Element>(mut self, buffer: &'a DeviceBuffer<T>) -> Self {
        self.devices.push(Arc::clone(buffer.backend()));
        self.value(buffer.address())
    }

    pub(super) fn bytes(&self) -> Vec<&[u8]> {
        self.values.iter().map(Vec::as_slice).collect()
    }

    pub(super) fn live_on(&self, device: &Arc<dyn Backend>) -> bool {
        // The addresses alone: one type's table of methods may exist twice.
        self.devices
            .iter()
            .all(|other| std::ptr::addr_eq(Arc::as_ptr(other), Arc::as_ptr(device)))
    }
}
