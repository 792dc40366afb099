//! Launches kernels on the GPU, for compute-sanitizer: `sanitized CRATE [KERNEL]` runs the jobs of
//! one kernel, or all, of `kernels`, `ladder` or `broken_kernels`, and says whether the results are
//! right.

use std::error::Error;
use std::process::ExitCode;

use blockwise::Device;
use blockwise_tests::jobs;
use blockwise_tests::ptx::{file, load};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let stem = arguments.next().ok_or("name a crate of kernels")?;
    let kernel = arguments.next();
    let device = Device::gpu(0)?;
    let file = file(&stem, device.properties().compute_capability);
    let module = load(&file, &device)?;
    let jobs = match stem.as_str() {
        "broken_kernels" => jobs::broken(),
        _ => jobs::of(&file, jobs::telling()),
    };
    let wanted = |job: &&jobs::Job| {
        kernel
            .as_ref()
            .is_none_or(|kernel| *kernel == job.plan.kernel)
    };
    for job in jobs.iter().filter(wanted) {
        // SAFETY: the parameters are those of the kernel. The broken ones leave their buffers: what
        // the GPU and compute-sanitizer make of that is what this program is for.
        let verdict = unsafe { job.run(&device, &module)? };
        let result = if verdict.is_ok() { "right" } else { "wrong" };
        println!("{}, {}: {result}", job.plan.kernel, job.case);
    }
    Ok(())
}
