//! Whether this machine has a GPU and its driver. Looks at files only: no driver code runs in this
//! program.

use std::path::Path;

/// Where Linux distributions, containers and WSL put the driver's library.
const LIBRARIES: [&str; 6] = [
    "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
    "/usr/lib/aarch64-linux-gnu/libcuda.so.1",
    "/usr/lib64/libcuda.so.1",
    "/usr/lib/libcuda.so.1",
    "/usr/local/nvidia/lib64/libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",
];

/// One line: the GPUs and the driver, or which of them is missing.
pub fn describe() -> String {
    let library = LIBRARIES.into_iter().find(|path| Path::new(path).exists());
    let models = models();
    match (library, &models[..]) {
        (None, []) => {
            "no NVIDIA GPU and no driver here: everything runs on the emulator".to_owned()
        }
        (None, models) => format!(
            "{}, but no driver library libcuda.so.1: the emulator is used",
            models.join(", ")
        ),
        (Some(library), []) => format!("driver library {library}; its GPUs: `blockwise devices`"),
        (Some(library), models) => format!("{}, driver library {library}", models.join(", ")),
    }
}

/// The GPUs' names, from the kernel driver.
fn models() -> Vec<String> {
    let gpus = std::fs::read_dir("/proc/driver/nvidia/gpus")
        .into_iter()
        .flatten()
        .flatten();
    gpus.filter_map(|gpu| {
        let text = std::fs::read_to_string(gpu.path().join("information")).ok()?;
        Some(
            text.lines()
                .find_map(|line| line.strip_prefix("Model:"))?
                .trim()
                .to_owned(),
        )
    })
    .collect()
}
