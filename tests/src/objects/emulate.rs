//! The programs on the emulator.

use std::error::Error;

use ptx_emulator::{Emulator, Image, LaunchConfig, Limits, Module, TensorMap};

use super::{Object, Program};

/// The buffer after the launch, and then the image or tensor where the program may have written it.
///
/// # Errors
/// When the emulator refuses the program or it faults.
pub fn run(program: &Program) -> Result<Vec<u8>, Box<dyn Error>> {
    let emulator = Emulator::new(Limits::default());
    let place = |bytes: &[u8]| -> Result<u64, Box<dyn Error>> {
        let address = emulator.alloc(bytes.len() as u64)?;
        emulator.write(address, bytes)?;
        Ok(address)
    };
    let (buffer, address) = (place(&program.buffer)?, place(&program.contents)?);
    let at = |image: &Image| Image {
        address,
        ..image.clone()
    };
    let (argument, is_written) = match &program.object {
        Object::Texture(image, sampling) => {
            let handle = emulator.texture(at(image), *sampling)?;
            (handle.to_le_bytes().to_vec(), false)
        }
        Object::Surface(image) => (emulator.surface(at(image))?.to_le_bytes().to_vec(), true),
        Object::Tensor(map) => {
            let map = TensorMap {
                address,
                ..map.clone()
            };
            (map.encode()?.to_vec(), true)
        }
    };
    let loaded = emulator.load(&Module::parse(&program.ptx)?)?;
    let [blocks, threads] = program.launch;
    let config = LaunchConfig {
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        dynamic_shared_bytes: 0,
    };
    emulator.launch(&loaded, "k", config, &[&buffer.to_le_bytes(), &argument])?;
    let mut output = vec![0; program.buffer.len()];
    emulator.read(buffer, &mut output)?;
    if is_written {
        let mut contents = vec![0; program.contents.len()];
        emulator.read(address, &mut contents)?;
        output.append(&mut contents);
    }
    Ok(output)
}
