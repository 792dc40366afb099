//! What a launch costs the host, beside the driver's own call.
//! `cargo bench -p blockwise --features cuda --bench launch`; needs a GPU.

use std::error::Error;
use std::ffi::c_void;
use std::time::Instant;

use blockwise::{Buffer, Device};
use kernels::reverse::direct::reverse_direct;

/// Launches between two waits: fewer than the driver queues before a launch waits.
const BATCH: u32 = 500;
const BATCHES: usize = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let device = match Device::gpu(0) {
        Ok(device) => device,
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            return Ok(());
        }
    };
    let input = device.upload::<u32>(&[])?;
    let mut output = device.upload::<u32>(&[])?;
    let handle = reverse_direct::<u32>::on(&device)?.grid(1).block(32);

    println!(
        "| launch of a kernel that does nothing, 3 parameters | ns, median of {BATCHES} batches |"
    );
    println!("| --- | --- |");
    let driver = driver(&device)?;
    print("`cuLaunchKernel`", driver, driver);
    let prepared = time(&device, || handle.launch(&input, &mut output))?;
    print("`handle.launch(..)`", prepared, driver);
    let whole = time(&device, || whole_call(&device, &input, &mut output))?;
    print(
        "`kernel::on(&device)?.grid(1).block(32).launch(..)`",
        whole,
        driver,
    );
    Ok(())
}

fn whole_call(
    device: &Device,
    input: &Buffer<u32>,
    output: &mut Buffer<u32>,
) -> blockwise::Result<()> {
    let kernel = reverse_direct::<u32>::on(device)?.grid(1).block(32);
    kernel.launch(input, output)
}

fn print(what: &str, nanoseconds: f64, driver: f64) {
    println!(
        "| {what} | {nanoseconds:.0} ({:+.0}) |",
        nanoseconds - driver
    );
}

/// Nanoseconds of a call, without the kernels' own time.
fn time<E>(device: &Device, mut call: impl FnMut() -> Result<(), E>) -> Result<f64, Box<dyn Error>>
where
    Box<dyn Error>: From<E>,
{
    let mut times = Vec::with_capacity(BATCHES);
    for _ in 0..BATCHES {
        device.synchronize()?;
        let start = Instant::now();
        for _ in 0..BATCH {
            call()?;
        }
        times.push(start.elapsed().as_secs_f64() * 1e9 / f64::from(BATCH));
    }
    times.sort_by(f64::total_cmp);
    Ok(times[BATCHES / 2])
}

/// The driver's own call, with the same kernel and arguments.
fn driver(device: &Device) -> Result<f64, Box<dyn Error>> {
    let file = device.kernels_file(&kernels::KERNELS)?;
    let module = cust::module::Module::from_ptx(&file.text, &[])?;
    let function = module.get_function(reverse_direct::<u32>::entry().name)?;
    let stream = cust::stream::Stream::new(cust::stream::StreamFlags::DEFAULT, None)?;
    let (address, len) = (4_u64, 0_u64);
    let place = |value: &u64| std::ptr::from_ref(value).cast_mut().cast::<c_void>();
    let mut arguments = [place(&address), place(&len), place(&address)];
    let time = time(device, || {
        // SAFETY: the kernel's parameters: a slice and an output without elements.
        let result = unsafe {
            cust_raw::cuLaunchKernel(
                function.to_raw(),
                1,
                1,
                1,
                32,
                1,
                1,
                0,
                stream.as_inner(),
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        match result {
            cust_raw::CUresult::CUDA_SUCCESS => Ok(()),
            error => Err(format!("{error:?}")),
        }
    })?;
    stream.synchronize()?;
    Ok(time)
}
