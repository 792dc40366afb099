//! The launch as rust-cuda's guide writes it, with `cust`.

use cust::prelude::*;

/// a + b on the first GPU.
pub fn add(
    ptx: &str,
    blocks: u32,
    threads: u32,
    a: &[f32],
    b: &[f32],
) -> Result<Vec<f32>, Box<dyn std::error::Error>> {
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(ptx, &[])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let (a, b) = (a.as_dbuf()?, b.as_dbuf()?);
    let mut c = vec![f32::NAN; a.len()];
    let c_device = c.as_slice().as_dbuf()?;
    let kernel = module.get_function("add")?;
    // SAFETY: three buffers of one length, as `add` asks for.
    unsafe {
        launch!(kernel<<<blocks, threads, 0, stream>>>(
            a.as_device_ptr(), a.len(),
            b.as_device_ptr(), b.len(),
            c_device.as_device_ptr()
        ))?;
    }
    stream.synchronize()?;
    c_device.copy_to(&mut c)?;
    Ok(c)
}
