use crate::decode::Precision;
use std::str::FromStr;

/// A GPU's capacities and rates, for occupancy and roofline.
///
/// Limits are those of the compute capability (CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability"; rates per clock, "Throughput of Native Arithmetic
/// Instructions"). Multiprocessors, clock and bandwidth are from the datasheet of the named
/// product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceModel {
    /// The compute capability as a compiler's target, such as `sm_80`.
    pub name: &'static str,
    /// The product that the figures are from.
    pub product: &'static str,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Boost clock in GHz.
    pub clock_ghz: f64,
    /// Bandwidth of device memory in GB/s.
    pub bandwidth_gb_s: f64,
    /// Warps per multiprocessor.
    pub warps: u32,
    /// Blocks per multiprocessor.
    pub blocks: u32,
    /// Shared memory per multiprocessor, in bytes.
    pub shared_bytes: u32,
    /// Shared memory of one block in bytes, with opt-in.
    pub shared_bytes_per_block: u32,
    /// Shared memory per block that the system reserves, in bytes.
    pub reserved_shared_bytes: u32,
    /// Shared memory is allocated in multiples of this many bytes.
    pub shared_granularity: u32,
    /// Floating-point operations per multiprocessor and clock, in the order of [`Precision::ALL`];
    /// a fused multiply-add is two. Matrix operations are dense tf32; 0 if the device has none.
    pub flops_per_clock: [u32; Precision::ALL.len()],
}

const KIB: u32 = 1024;

/// The device whose limits the emulator has.
pub(crate) const H200: DeviceModel = DeviceModel {
    name: "sm_90",
    product: "H200 SXM",
    multiprocessors: 132,
    clock_ghz: 1.98,
    bandwidth_gb_s: 4800.0,
    warps: 64,
    blocks: 32,
    shared_bytes: 228 * KIB,
    shared_bytes_per_block: 227 * KIB,
    reserved_shared_bytes: KIB,
    shared_granularity: 128,
    flops_per_clock: [512, 256, 128, 2048],
};

const MODELS: &[DeviceModel] = &[
    DeviceModel {
        name: "sm_70",
        product: "V100 SXM2 32 GB",
        multiprocessors: 80,
        clock_ghz: 1.53,
        bandwidth_gb_s: 900.0,
        warps: 64,
        blocks: 32,
        shared_bytes: 96 * KIB,
        shared_bytes_per_block: 96 * KIB,
        reserved_shared_bytes: 0,
        shared_granularity: 256,
        flops_per_clock: [256, 128, 64, 0],
    },
    DeviceModel {
        name: "sm_75",
        product: "T4",
        multiprocessors: 40,
        clock_ghz: 1.59,
        bandwidth_gb_s: 320.0,
        warps: 32,
        blocks: 16,
        shared_bytes: 64 * KIB,
        shared_bytes_per_block: 64 * KIB,
        reserved_shared_bytes: 0,
        shared_granularity: 256,
        flops_per_clock: [256, 128, 4, 0],
    },
    DeviceModel {
        name: "sm_80",
        product: "A100 SXM4 40 GB",
        multiprocessors: 108,
        clock_ghz: 1.41,
        bandwidth_gb_s: 1555.0,
        warps: 64,
        blocks: 32,
        shared_bytes: 164 * KIB,
        shared_bytes_per_block: 163 * KIB,
        reserved_shared_bytes: KIB,
        shared_granularity: 128,
        flops_per_clock: [512, 128, 64, 1024],
    },
    DeviceModel {
        name: "sm_86",
        product: "GeForce RTX 3090",
        multiprocessors: 82,
        clock_ghz: 1.695,
        bandwidth_gb_s: 936.0,
        warps: 48,
        blocks: 16,
        shared_bytes: 100 * KIB,
        shared_bytes_per_block: 99 * KIB,
        reserved_shared_bytes: KIB,
        shared_granularity: 128,
        flops_per_clock: [256, 256, 4, 256],
    },
    DeviceModel {
        name: "sm_89",
        product: "GeForce RTX 4090",
        multiprocessors: 128,
        clock_ghz: 2.52,
        bandwidth_gb_s: 1008.0,
        warps: 48,
        blocks: 24,
        shared_bytes: 100 * KIB,
        shared_bytes_per_block: 99 * KIB,
        reserved_shared_bytes: KIB,
        shared_granularity: 128,
        flops_per_clock: [256, 256, 4, 256],
    },
    H200,
    DeviceModel {
        name: "sm_100",
        product: "B200",
        multiprocessors: 148,
        clock_ghz: 1.965,
        bandwidth_gb_s: 8000.0,
        warps: 64,
        blocks: 32,
        shared_bytes: 228 * KIB,
        shared_bytes_per_block: 227 * KIB,
        reserved_shared_bytes: KIB,
        shared_granularity: 128,
        flops_per_clock: [512, 256, 128, 4096],
    },
    DeviceModel {
        name: "sm_120",
        product: "GeForce RTX 5090",
        multiprocessors: 170,
        clock_ghz: 2.407,
        bandwidth_gb_s: 1792.0,
        warps: 48,
        blocks: 24,
        shared_bytes: 100 * KIB,
        shared_bytes_per_block: 99 * KIB,
        reserved_shared_bytes: KIB,
        shared_granularity: 128,
        flops_per_clock: [256, 256, 4, 256],
    },
];

impl DeviceModel {
    /// Every known model, oldest first.
    pub const ALL: &[Self] = MODELS;

    /// Peak operations per second of the whole device.
    pub fn peak_flops(&self, precision: Precision) -> f64 {
        let per_clock = self.multiprocessors * self.flops_per_clock[precision as usize];
        f64::from(per_clock) * self.clock_ghz * 1e9
    }
}

/// A name that no [`DeviceModel`] has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no figures of a device `{0}`; there are: {known}", known = known())]
pub struct UnknownModel(String);

fn known() -> String {
    let names: Vec<_> = MODELS.iter().map(|model| model.name).collect();
    names.join(", ")
}

impl FromStr for DeviceModel {
    type Err = UnknownModel;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let model = MODELS.iter().find(|model| model.name == name);
        model.copied().ok_or_else(|| UnknownModel(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The datasheets' TFLOP/s, which the table's clocks and rates must reproduce.
    #[test]
    fn peaks_are_the_datasheets() {
        for (name, precision, tflops) in [
            ("sm_70", Precision::Single, 15.7),
            ("sm_70", Precision::Double, 7.8),
            ("sm_75", Precision::Single, 8.1),
            ("sm_80", Precision::Single, 19.5),
            ("sm_80", Precision::Double, 9.7),
            ("sm_80", Precision::Half, 78.0),
            ("sm_80", Precision::Matrix, 156.0),
            ("sm_86", Precision::Single, 35.6),
            ("sm_89", Precision::Single, 82.6),
            ("sm_90", Precision::Single, 67.0),
            ("sm_90", Precision::Double, 33.5),
            ("sm_120", Precision::Single, 104.8),
        ] {
            let model: DeviceModel = name.parse().expect("it is in the table");
            let peak = model.peak_flops(precision) / 1e12;
            assert!(
                (peak / tflops - 1.0).abs() < 0.01,
                "{name} {precision:?}: {peak}"
            );
        }
    }

    #[test]
    fn an_unknown_model_is_refused_with_the_known_ones() {
        let error = "sm_20"
            .parse::<DeviceModel>()
            .expect_err("too old")
            .to_string();
        assert!(
            error.contains("`sm_20`") && error.contains("sm_80, sm_86"),
            "{error}"
        );
    }
}
