//! What the fuzz targets share: programs from random bytes, and a launch with tight limits.

mod program;
pub use program::Program;

use ptx_emulator::{CheckOptions, Emulator, LaunchConfig, Limits, Module};

/// Bytes of the buffer that every parameter points to.
const BUFFER: u64 = 4096;

/// Launches every kernel of a module: plain, without vector code and checked. The two plain launches must agree.
pub fn run(module: &Module, grid: [u32; 3], threads: u32) {
    let emulator = Emulator::new(Limits {
        memory_bytes: 1 << 22,
        warp_instructions: 5_000,
        local_bytes_per_thread: 1 << 12,
        call_depth: 16,
        workers: Some(1),
        ..Limits::default()
    });
    let Ok(loaded) = emulator.load(module) else {
        return;
    };
    let Ok(buffer) = emulator.alloc(BUFFER) else {
        return;
    };
    let config = LaunchConfig {
        grid,
        block: [threads, 1, 1],
        dynamic_shared_bytes: 256,
    };
    let initial: Vec<u8> = (0..BUFFER).map(|byte| byte as u8).collect();
    for entry in module.entries() {
        // Every 64-bit parameter is the buffer's address, every other one is small.
        let args: Vec<Vec<u8>> = entry
            .params()
            .iter()
            .map(|param| {
                let mut bytes = if param.size == 8 { buffer } else { 37 }
                    .to_le_bytes()
                    .to_vec();
                bytes.resize(param.size as usize, 0);
                bytes
            })
            .collect();
        let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        let name = entry.name();
        let outcome = |portable: bool| {
            emulator
                .write(buffer, &initial)
                .expect("the buffer takes its bytes");
            let launch = if portable {
                Emulator::launch_portable
            } else {
                Emulator::launch
            };
            let result = launch(&emulator, &loaded, name, config, &args);
            let mut bytes = vec![0; BUFFER as usize];
            emulator
                .read(buffer, &mut bytes)
                .expect("the buffer can be read");
            (result, bytes)
        };
        let (fast, portable) = (outcome(false), outcome(true));
        assert!(
            fast == portable,
            "vector code differs: {:?}, {:?}",
            fast.0,
            portable.0
        );
        let options = CheckOptions {
            schedules: 1,
            ..CheckOptions::default()
        };
        let _ = emulator.check(&loaded, name, config, &args, &options);
    }
}
