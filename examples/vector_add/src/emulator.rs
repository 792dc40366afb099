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
