//! Scratch: not committed.
use cuda_builder::{CudaBuilder, NvvmArch};
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let arch: NvvmArch = std::env::var("K_ARCH").unwrap_or("sm_80".into()).parse().unwrap();
    let b = CudaBuilder::new("kernels").arch(arch).deny_divergence(true);
    let b = if args.len() > 1 { b.only(&args[1..]) } else { b };
    match b.copy_to(&args[0]).build() {
        Ok(p) => println!("{}", p.display()),
        Err(e) => { eprintln!("{e}"); std::process::exit(1) }
    }
}
