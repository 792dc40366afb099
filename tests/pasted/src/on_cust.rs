//! A launch in rust-cuda's style, by cust: compiled here, run where there is a GPU.

use cust::error::CudaResult;
use cust::prelude::*;

// ANCHOR: launch
/// Launches `reverse_blocks_raw` of this PTX.
fn reverse_on_cust(ptx: &str, x: &[u32]) -> CudaResult<Vec<u32>> {
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(ptx, &[])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let from = DeviceBuffer::from_slice(x)?;
    let to = DeviceBuffer::<u32>::zeroed(x.len())?;
    let blocks = x.len().div_ceil(256) as u32;
    // SAFETY: the types, their order and the sizes are the kernel's; nothing checks that.
    unsafe {
        launch!(module.reverse_blocks_raw<<<blocks, 256, 0, stream>>>(
            from.as_device_ptr(),
            from.len(),
            to.as_device_ptr()
        ))?;
    }
    stream.synchronize()?;
    to.as_host_vec()
}
// ANCHOR_END: launch

#[test]
fn a_program_on_cust_launches_the_kernel_of_the_page() {
    let x: Vec<u32> = (0..1000).collect();
    let kernels = &crate::KERNELS.files[0];
    match cust::quick_init() {
        Err(error) => println!("skipped without a GPU: {error}"),
        Ok(_) => {
            let text = kernels.text().unwrap();
            let y = reverse_on_cust(&text, &x).unwrap();
            assert_eq!((y[0], y[255], y[256], y[999]), (255, 0, 511, 768));
        }
    }
}
