//! Loads the PTX of the generated kernels: a line for each whose handle does not take it, with the
//! kernel's name and the error.

use blockwise::{Device, Target};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: handles FILE.ptx")?;
    let text = std::fs::read_to_string(&path)?;
    // SAFETY: nothing is launched.
    let module = unsafe { Device::emulator().load_ptx(&text, &path)? };
    for entry in safe_fuzz_kernels::entries() {
        if let Err(error) = module.function(entry) {
            println!("{} {}", entry.name, error.to_string().replace('\n', " "));
        }
    }
    Ok(())
}
