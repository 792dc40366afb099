//! The report as JSON.

use ptx_emulator::metrics::{
    Counters, DeviceModel, GlobalTraffic, InstructionClass, Precision, Profile, SharedTraffic,
};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::KernelReport;
use super::text::name_of;

/// All kernels with their lines, and the device of occupancy and roofline; `subject` is the
/// workload.
pub fn json(
    kernels: &[KernelReport],
    model: &DeviceModel,
    subject: Map<String, Value>,
) -> serde_json::Result<String> {
    serde_json::to_string(&Document {
        device_model: json!({
            "name": model.name,
            "product": model.product,
            "multiprocessors": model.multiprocessors,
            "bandwidth_gb_s": model.bandwidth_gb_s,
        }),
        kernels: kernels.iter().map(kernel).collect(),
        subject,
    })
}

#[derive(Serialize)]
struct Document<'a> {
    device_model: Value,
    kernels: Vec<Kernel<'a>>,
    #[serde(flatten)]
    subject: Map<String, Value>,
}

/// There may be very many lines, so they are serialised one by one.
#[derive(Serialize)]
struct Kernel<'a> {
    #[serde(flatten)]
    figures: Value,
    #[serde(serialize_with = "lines")]
    lines: &'a Profile,
}

fn lines<S: Serializer>(profile: &&Profile, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(profile.lines().map(|line| {
        let mut value = counters(&line.counters);
        value.insert("file".to_owned(), json!(line.file));
        value.insert("line".to_owned(), json!(line.line));
        value
    }))
}

fn kernel(report: &KernelReport) -> Kernel<'_> {
    let (profile, occupancy, roofline) = (&report.profile, &report.occupancy, &report.roofline);
    let usage = match &report.usage {
        Ok(usage) => json!({
            "registers": usage.registers,
            "spill_store_bytes": usage.spill_stores,
            "spill_load_bytes": usage.spill_loads,
            "stack_bytes": usage.stack,
        }),
        Err(reason) => json!({ "unknown_because": reason }),
    };
    let limits = occupancy.limits.iter();
    let limits: Map<_, _> = limits
        .map(|&(limiter, blocks)| (limiter.to_string(), json!(blocks)))
        .collect();
    let limiters: Vec<_> = occupancy
        .limiters()
        .map(|limiter| limiter.to_string())
        .collect();
    let figures = json!({
        "name": report.name,
        "kernel": profile.kernel,
        "grid": profile.config.grid,
        "block": profile.config.block,
        "shared_bytes": profile.shared_bytes,
        "resources": usage,
        "total": counters(&profile.total()),
        "footprint": {
            "read_bytes": profile.footprint.read_bytes,
            "written_bytes": profile.footprint.written_bytes,
        },
        "occupancy": {
            "ratio": occupancy.ratio(),
            "blocks": occupancy.blocks,
            "warps": occupancy.warps,
            "max_warps": occupancy.max_warps,
            "blocks_allowed_by": limits,
            "limited_by": limiters,
        },
        "roofline": {
            "flops": roofline.flops,
            "fewest_bytes": roofline.fewest_bytes,
            "most_bytes": roofline.most_bytes,
            "intensity": roofline.intensity().map(|(low, high)| [low, high]),
            "ridge": roofline.ridge,
            "bound_by": roofline.side.name(),
        },
    });
    Kernel {
        figures,
        lines: profile,
    }
}

fn counters(counters: &Counters) -> Map<String, Value> {
    let classes = InstructionClass::ALL.iter();
    let classes: Map<_, _> = classes
        .map(|&class| (class.to_string(), counters.of_class(class)))
        .filter(|&(_, count)| count > 0)
        .map(|(class, count)| (class, json!(count)))
        .collect();
    let flops = Precision::ALL.iter();
    let flops: Map<_, _> = flops
        .map(|&precision| {
            (
                name_of(precision).to_owned(),
                json!(counters.flops_in(precision)),
            )
        })
        .collect();
    let fields = [
        ("warp_instructions", json!(counters.warp_instructions)),
        ("lane_instructions", json!(counters.lane_instructions)),
        ("by_class", json!(classes)),
        ("flops", json!(flops)),
        ("branches", json!(counters.branches)),
        ("divergent_branches", json!(counters.divergent_branches)),
        ("barriers", json!(counters.barriers)),
        ("shared_loads", shared(counters.shared_loads)),
        ("shared_stores", shared(counters.shared_stores)),
        ("shared_atomics", shared(counters.shared_atomics)),
        ("global_loads", global(counters.global_loads)),
        ("global_stores", global(counters.global_stores)),
        ("global_atomics", global(counters.global_atomics)),
        ("local_requests", json!(counters.local_requests)),
    ];
    fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn shared(traffic: SharedTraffic) -> Value {
    json!({
        "requests": traffic.requests,
        "wavefronts": traffic.wavefronts,
        "needed_wavefronts": traffic.needed,
    })
}

fn global(traffic: GlobalTraffic) -> Value {
    json!({
        "requests": traffic.requests,
        "sectors": traffic.sectors,
        "needed_sectors": traffic.needed,
        "bytes": traffic.bytes,
    })
}
