//! Builds the kernels to PTX before the program that embeds it.

use std::path::PathBuf;

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("build scripts have OUT_DIR")?);
    CudaBuilder::new("kernels")
        .arch(NvvmArch::Compute80)
        .copy_to(out.join("kernels.ptx"))
        .build()?;
    Ok(())
}
