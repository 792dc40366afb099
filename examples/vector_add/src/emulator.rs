//! The same launch on the CPU.

use ptx_emulator::{Emulator, LaunchConfig, Limits, Module};

/// a + b on the emulator.
pub fn add(
    ptx: &str,
    blocks: u32,
    threads: u32,
    a: &[f32],
    b: &[f32],
) -> Result<Vec<f32>, Box<dyn std::error::Error>> {
    let emulator = Emulator::new(Limits::default());
    let module = emulator.load(&Module::parse(ptx)?)?;
    let upload = |values: &[f32]| -> Result<u64, Box<dyn std::error::Error>> {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let address = emulator.alloc(bytes.len() as u64)?;
        emulator.write(address, &bytes)?;
        Ok(address)
    };
    let (a_device, b_device, c_device) =
        (upload(a)?, upload(b)?, upload(&vec![f32::NAN; a.len()])?);
    let length = (a.len() as u64).to_le_bytes();
    let config = LaunchConfig {
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        dynamic_shared_bytes: 0,
    };
    emulator.launch(
        &module,
        "add",
        config,
        &[
            &a_device.to_le_bytes(),
            &length,
            &b_device.to_le_bytes(),
            &length,
            &c_device.to_le_bytes(),
        ],
    )?;
    let mut bytes = vec![0; a.len() * 4];
    emulator.read(c_device, &mut bytes)?;
    Ok(bytes
        .chunks_exact(4)
        .map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect())
}

#[cfg(test)]
mod tests {
    use ptx_emulator::testing::{Launch, Refused};

    /// No race, no access outside, no value that nobody wrote: on any machine, without a GPU.
    #[test]
    fn the_kernel_is_clean() -> Result<(), Refused> {
        // The last block has threads without an element.
        let a: Vec<f32> = (0..1000).map(|i| i as f32).collect();
        let b: Vec<f32> = a.iter().map(|x| 2.0 * x).collect();
        let mut c = vec![0.0_f32; a.len()];
        Launch::of(crate::PTX)?
            .kernel("add")
            .grid(4)
            .block(256)
            .slice(&a)
            .slice(&b)
            .output(&mut c)
            .schedules(8)
            .check()?
            .assert_clean();
        assert_eq!(c[999], 2997.0);
        Ok(())
    }
}
