//! Adds two vectors on the GPU if there is one, and on the emulator: the same PTX, the same bits.

mod emulator;
mod gpu;

/// What `build.rs` made of the crate `kernels`.
static PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

const THREADS: u32 = 256;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n = 100_003;
    let a: Vec<f32> = (0..n).map(|i| i as f32 * 0.5).collect();
    let b: Vec<f32> = (0..n).map(|i| 1.0 / (i + 1) as f32).collect();
    let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    let blocks = (n as u32).div_ceil(THREADS);

    let emulated = emulator::add(PTX, blocks, THREADS, &a, &b)?;
    report("emulator", &emulated, &expected)?;
    match libcuda_loader::status() {
        Ok(_) => report("GPU", &gpu::add(PTX, blocks, THREADS, &a, &b)?, &expected)?,
        Err(reason) => println!("GPU: skipped, {reason}"),
    }
    Ok(())
}

/// Prints the outcome; one addition rounds in one way only, so the bits must agree.
fn report(device: &str, got: &[f32], expected: &[f32]) -> Result<(), String> {
    match got
        .iter()
        .zip(expected)
        .position(|(got, expected)| got.to_bits() != expected.to_bits())
    {
        None => println!("{device}: {} sums, all right", got.len()),
        Some(i) => {
            return Err(format!(
                "{device}: element {i} is {}, not {}",
                got[i], expected[i]
            ));
        }
    }
    Ok(())
}
