use super::counters::Counters;
use super::footprint::Footprint;
use super::model::DeviceModel;
use super::sectors::SECTOR_BYTES;
use crate::decode::Precision;

/// A launch's position on a device's roofline: whether arithmetic or memory is the lower bound of
/// its time.
///
/// Device-memory traffic depends on caches, which are not modelled. The two extremes are: each
/// touched sector moves once ([`Footprint`]), or every request moves its own sectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roofline {
    /// Floating-point operations in all precisions.
    pub flops: u64,
    /// Device-memory traffic with perfect caches, in bytes.
    pub fewest_bytes: u64,
    /// Device-memory traffic without caches, in bytes.
    pub most_bytes: u64,
    /// Operations per byte at which arithmetic and memory take the same time. `None` without
    /// operations.
    pub ridge: Option<f64>,
    /// The limiting resource.
    pub side: Side,
}

/// The resource that limits a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Device memory, even with perfect caches.
    Memory,
    /// Arithmetic, even without caches.
    Compute,
    /// Arithmetic if caches hold reused data, otherwise memory.
    Caches,
}

impl Side {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Side::Memory => "memory",
            Side::Compute => "compute",
            Side::Caches => "caches decide",
        }
    }
}

impl Roofline {
    /// The position of a launch with these counters on a device.
    pub fn of(counters: &Counters, footprint: Footprint, model: &DeviceModel) -> Self {
        let flops: u64 = counters.flops.iter().sum();
        let fewest_bytes = footprint.read_bytes + footprint.written_bytes;
        let most_bytes = SECTOR_BYTES * counters.global().sectors;
        let bandwidth = model.bandwidth_gb_s * 1e9;
        let compute_seconds: f64 = Precision::ALL
            .iter()
            .filter(|&&precision| counters.flops_in(precision) > 0)
            .map(|&precision| counters.flops_in(precision) as f64 / model.peak_flops(precision))
            .sum();
        let side = if compute_seconds <= fewest_bytes as f64 / bandwidth {
            Side::Memory
        } else if compute_seconds >= most_bytes as f64 / bandwidth {
            Side::Compute
        } else {
            Side::Caches
        };
        let ridge = (flops > 0).then(|| flops as f64 / compute_seconds / bandwidth);
        Self {
            flops,
            fewest_bytes,
            most_bytes,
            ridge,
            side,
        }
    }

    /// Operations per byte: without caches, and with perfect ones. `None` without traffic.
    pub fn intensity(&self) -> Option<(f64, f64)> {
        let per = |bytes: u64| (bytes > 0).then(|| self.flops as f64 / bytes as f64);
        Some((per(self.most_bytes)?, per(self.fewest_bytes)?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::counters::GlobalTraffic;
    use super::*;

    fn roofline(flops: u64, sectors: u64, footprint: u64) -> Roofline {
        let counters = Counters {
            flops: [0, flops, 0, 0],
            global_loads: GlobalTraffic {
                sectors,
                ..GlobalTraffic::default()
            },
            ..Counters::default()
        };
        let footprint = Footprint {
            read_bytes: footprint,
            written_bytes: 0,
        };
        Roofline::of(
            &counters,
            footprint,
            &"sm_80".parse().expect("it is in the table"),
        )
    }

    /// 19.5 TFLOP/s over 1555 GB/s: 12.5 operations per byte.
    #[test]
    fn the_side_depends_on_where_the_ridge_lies() {
        let low = roofline(32 * 100, 100, 32 * 100);
        assert_eq!(
            (low.side, low.intensity()),
            (Side::Memory, Some((1.0, 1.0)))
        );
        assert!(
            low.ridge.is_some_and(|ridge| (ridge - 12.53).abs() < 0.02),
            "{low:?}"
        );
        assert_eq!(roofline(32 * 100 * 20, 100, 32 * 100).side, Side::Compute);
        let between = roofline(32 * 100 * 5, 100, 32 * 10);
        assert_eq!(
            (between.side, between.intensity()),
            (Side::Caches, Some((5.0, 50.0)))
        );
    }

    #[test]
    fn no_operations_are_on_the_memorys_side() {
        let copy = roofline(0, 8, 256);
        assert_eq!(
            (copy.side, copy.ridge, copy.intensity()),
            (Side::Memory, None, Some((0.0, 0.0)))
        );
        assert_eq!(roofline(0, 0, 0).intensity(), None);
    }
}
