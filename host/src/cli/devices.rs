//! `blockwise devices`.

use blockwise::{Device, DeviceChoice, DeviceProperties, PeerAccess};
use serde_json::{Value, json};

use super::Global;
use super::failure::Failure;
use super::report::Report;

/// Lists every GPU and the emulator; with `--device`, that one or an error.
pub(super) fn run(global: &Global) -> Result<Report, Failure> {
    let mut devices = Vec::new();
    let mut missing = Vec::new();
    match global.device {
        DeviceChoice::Auto => {
            // Without any GPU, the first one's error gives the reason.
            for choice in (0..Device::gpu_count().max(1)).map(DeviceChoice::Gpu) {
                match Device::open(choice) {
                    Ok(device) => devices.push((choice, device)),
                    Err(error) => {
                        let advice = error.hint().map(|hint| format!("\n  {hint}"));
                        missing.push(format!("{choice}: {error}{}", advice.unwrap_or_default()));
                    }
                }
            }
            devices.push((DeviceChoice::Emulator, Device::emulator()));
        }
        choice => devices.push((choice, Device::open(choice)?)),
    }
    let text = devices.iter().map(|(choice, device)| {
        let text = describe(*choice, device.properties());
        peers(*choice).iter().fold(text, |text, (to, peer)| {
            format!("{text}\n  {:<19}{}", format!("to gpu:{to}"), link(*peer))
        })
    });
    let mut text: Vec<String> = text.chain(missing.iter().cloned()).collect();
    let library = Device::driver_library();
    text.extend(library.map(|file| format!("the driver's library is {file}")));
    let list: Vec<Value> = devices
        .iter()
        .map(|(choice, device)| as_json(*choice, device.properties()))
        .collect();
    Ok(Report::new(
        text.join("\n"),
        json!({ "devices": list, "missing": missing, "driver_library": library }),
    ))
}

fn describe(choice: DeviceChoice, properties: &DeviceProperties) -> String {
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
    format!("{choice}: {}\n{}", properties.name, rows.join("\n"))
}

/// How a GPU reaches each of the others, by ordinal.
fn peers(choice: DeviceChoice) -> Vec<(usize, PeerAccess)> {
    let DeviceChoice::Gpu(from) = choice else {
        return Vec::new();
    };
    let others = (0..Device::gpu_count()).filter(|&to| to != from);
    others
        .filter_map(|to| Some((to, Device::gpu_peer(from, to)?)))
        .collect()
}

fn link(peer: PeerAccess) -> String {
    match peer {
        PeerAccess { direct: false, .. } => "through the host".to_owned(),
        PeerAccess {
            atomics,
            performance_rank,
            ..
        } => {
            let atomics = if atomics { "with" } else { "without" };
            format!("directly, {atomics} atomics, performance rank {performance_rank}")
        }
    }
}

fn as_json(choice: DeviceChoice, properties: &DeviceProperties) -> Value {
    let (major, minor) = properties.compute_capability;
    let peers = peers(choice).into_iter().map(|(to, peer)| {
        json!({
            "device": format!("gpu:{to}"),
            "direct": peer.direct,
            "atomics": peer.atomics,
            "performance_rank": peer.performance_rank,
        })
    });
    json!({
        "device": choice.to_string(),
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
        "peers": peers.collect::<Vec<_>>(),
    })
}
