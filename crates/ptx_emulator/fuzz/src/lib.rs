//! What the fuzz targets share: programs from random bytes, and a launch with tight limits.

mod program;
pub use program::Program;

use ptx_emulator::{CheckOptions, Emulator, Entry, LaunchConfig, Limits, LoadedModule, Module};

/// Bytes of the buffer that every parameter points to.
const BUFFER: u64 = 4096;

/// Launches every kernel of a module: plain, without vector code and checked. The two plain
/// launches must agree.
pub fn run(module: &Module, grid: [u32; 3], threads: u32) {
    let config = LaunchConfig {
        grid,
        block: [threads, 1, 1],
        dynamic_shared_bytes: 256,
    };
    let options = CheckOptions {
        schedules: 1,
        ..CheckOptions::default()
    };
    for entry in module.entries() {
        let name = entry.name();
        let fast = afresh(module, entry, |emulator, loaded, args| {
            emulator.launch(loaded, name, config, args)
        });
        let portable = afresh(module, entry, |emulator, loaded, args| {
            emulator.launch_portable(loaded, name, config, args)
        });
        assert!(
            fast == portable,
            "vector code differs: {:?}, {:?}",
            fast.map(|it| it.0),
            portable.map(|it| it.0)
        );
        let _ = afresh(module, entry, |emulator, loaded, args| {
            emulator.check(loaded, name, config, args, &options)
        });
    }
}

/// What a launch returns and what it leaves in the buffer, in an emulator of its own with tight
/// limits: a module's variables would keep what an earlier launch wrote. `None` when the module
/// does not fit.
fn afresh<R>(
    module: &Module,
    entry: &Entry,
    launch: impl FnOnce(&Emulator, &LoadedModule, &[&[u8]]) -> R,
) -> Option<(R, Vec<u8>)> {
    let emulator = Emulator::new(Limits {
        memory_bytes: 1 << 22,
        warp_instructions: 5_000,
        local_bytes_per_thread: 1 << 12,
        stack_bytes: 1 << 10,
        workers: Some(1),
        ..Limits::default()
    });
    let loaded = emulator.load(module).ok()?;
    let buffer = emulator.alloc(BUFFER).ok()?;
    let mut bytes: Vec<u8> = (0..BUFFER).map(|byte| byte as u8).collect();
    emulator
        .write(buffer, &bytes)
        .expect("the buffer takes its bytes");
    // Every 64-bit parameter is the buffer's address, every other one is small.
    let arg = |size: u32| {
        let value = if size == 8 { buffer } else { 37 };
        let mut bytes = value.to_le_bytes().to_vec();
        bytes.resize(size as usize, 0);
        bytes
    };
    let args: Vec<Vec<u8>> = entry.params().iter().map(|param| arg(param.size)).collect();
    let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
    let result = launch(&emulator, &loaded, &args);
    emulator
        .read(buffer, &mut bytes)
        .expect("the buffer can be read");
    Some((result, bytes))
}
