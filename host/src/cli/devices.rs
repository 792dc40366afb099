//! `blockwise devices`.

use serde_json::{Value, json};

use super::Global;
use super::failure::Failure;
use super::report::Report;
use crate::device::{Device, DeviceChoice, DeviceProperties};

/// Lists what is there; with `--device gpu`, the GPU or an error.
pub(super) fn run(global: &Global) -> Result<Report, Failure> {
    let mut devices = Vec::new();
    let mut missing = None;
    if global.device != DeviceChoice::Emulator {
        match Device::connect(DeviceChoice::Gpu) {
            Ok(device) => devices.push(device),
            Err(error) if global.device == DeviceChoice::Gpu => return Err(error.into()),
            Err(error) => missing = Some(error.to_string()),
        }
    }
    if global.device != DeviceChoice::Gpu {
        devices.push(Device::connect(DeviceChoice::Emulator)?);
    }
    let mut text: Vec<String> = devices
        .iter()
        .map(|device| describe(device.properties()))
        .collect();
    text.extend(missing.clone());
    let list: Vec<Value> = devices
        .iter()
        .map(|device| as_json(device.properties()))
        .collect();
    Ok(Report::new(
        text.join("\n"),
        json!({ "devices": list, "no_gpu_because": missing }),
    ))
}

fn describe(properties: &DeviceProperties) -> String {
    let (major, minor) = properties.compute_capability;
    let kib = |bytes: u32| format!("{} KiB", bytes / 1024);
    let rows = [
        ("kind", properties.kind.to_string()),
        ("compute capability", format!("{major}.{minor}")),
        ("multiprocessors", properties.multiprocessors.to_string()),
        (
            "threads per block",
            format!(
                "{}, at most {:?}",
                properties.max_threads_per_block, properties.max_block
            ),
        ),
        ("blocks per grid", format!("{:?}", properties.max_grid)),
        (
            "shared memory",
            format!(
                "{} per block, {} with opt-in, {} per multiprocessor",
                kib(properties.shared_bytes_per_block),
                kib(properties.shared_bytes_opt_in),
                kib(properties.shared_bytes_per_multiprocessor)
            ),
        ),
        (
            "memory",
            format!(
                "{:.1} GiB",
                properties.memory_bytes as f64 / f64::from(1 << 30)
            ),
        ),
        ("driver", properties.driver.clone()),
    ];
    let rows: Vec<String> = rows
        .iter()
        .map(|(name, value)| format!("  {name:<19}{value}"))
        .collect();
    format!("{}\n{}", properties.name, rows.join("\n"))
}

fn as_json(properties: &DeviceProperties) -> Value {
    let (major, minor) = properties.compute_capability;
    json!({
        "name": properties.name,
        "kind": properties.kind.to_string(),
        "compute_capability": format!("{major}.{minor}"),
        "multiprocessors": properties.multiprocessors,
        "warp_size": properties.warp_size,
        "max_threads_per_block": properties.max_threads_per_block,
        "max_block": properties.max_block,
        "max_grid": properties.max_grid,
        "shared_bytes_per_block": properties.shared_bytes_per_block,
        "shared_bytes_opt_in": properties.shared_bytes_opt_in,
        "shared_bytes_per_multiprocessor": properties.shared_bytes_per_multiprocessor,
        "memory_bytes": properties.memory_bytes,
        "driver": properties.driver,
    })
}
