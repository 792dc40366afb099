use super::model::DeviceModel;
use std::fmt;

/// Registers per multiprocessor, and at most per block; the same for every compute capability since
/// 5.0.
const REGISTERS: u32 = 65_536;
const MAX_REGISTERS_PER_THREAD: u32 = 255;
/// Registers are allocated per warp in multiples of this.
const REGISTER_GRANULARITY: u32 = 256;
/// Partitions of a multiprocessor; each has a quarter of the registers, and a warp stays in one of
/// them.
const PARTITIONS: u32 = 4;

/// Resources of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Threads of a block.
    pub threads: u32,
    /// Registers per thread; `None` if unknown.
    pub registers: Option<u32>,
    /// Static and dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
}

/// Theoretical occupancy: how many blocks and warps a multiprocessor holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Resident blocks per multiprocessor; 0 if not even one fits.
    pub blocks: u32,
    /// Their warps.
    pub warps: u32,
    /// The maximum number of warps.
    pub max_warps: u32,
    /// The number of blocks that each resource allows.
    pub limits: Vec<(Limiter, u32)>,
}

/// The resource that limits the number of resident blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limiter {
    /// The number of blocks.
    Blocks,
    /// The number of warps.
    Warps,
    /// Registers.
    Registers,
    /// Shared memory.
    Shared,
}

impl fmt::Display for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Limiter::Blocks => "blocks",
            Limiter::Warps => "warps",
            Limiter::Registers => "registers",
            Limiter::Shared => "shared memory",
        })
    }
}

impl Occupancy {
    /// Computes occupancy as the hardware allocates: registers per warp, shared memory per block.
    pub fn of(demand: Demand, model: &DeviceModel) -> Self {
        let warps = demand.threads.div_ceil(32).max(1);
        let mut limits = vec![
            (Limiter::Blocks, model.blocks),
            (Limiter::Warps, model.warps / warps),
        ];
        if let Some(registers) = demand.registers.filter(|&registers| registers > 0) {
            limits.push((Limiter::Registers, by_registers(registers, warps)));
        }
        if demand.shared_bytes > 0 {
            limits.push((Limiter::Shared, by_shared(demand.shared_bytes, model)));
        }
        let blocks = limits.iter().map(|&(_, blocks)| blocks).min().unwrap_or(0);
        Self {
            blocks,
            warps: blocks * warps,
            max_warps: model.warps,
            limits,
        }
    }

    /// Resident warps over the maximum, 0 to 1.
    pub fn ratio(&self) -> f64 {
        f64::from(self.warps) / f64::from(self.max_warps)
    }

    /// The resources that allow the fewest blocks.
    pub fn limiters(&self) -> impl Iterator<Item = Limiter> {
        let limits = self.limits.iter();
        limits
            .filter(|&&(_, blocks)| blocks == self.blocks)
            .map(|&(limiter, _)| limiter)
    }
}

fn by_registers(registers: u32, warps: u32) -> u32 {
    let per_warp = registers
        .saturating_mul(32)
        .next_multiple_of(REGISTER_GRANULARITY);
    // A block's warps must fit even if the last ones fill their partitions.
    let whole = per_warp.saturating_mul(warps.next_multiple_of(PARTITIONS));
    if registers > MAX_REGISTERS_PER_THREAD || whole > REGISTERS {
        return 0;
    }
    REGISTERS / PARTITIONS / per_warp * PARTITIONS / warps
}

fn by_shared(bytes: u32, model: &DeviceModel) -> u32 {
    if bytes > model.shared_bytes_per_block {
        return 0;
    }
    let taken = (bytes + model.reserved_shared_bytes).next_multiple_of(model.shared_granularity);
    model.shared_bytes / taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(
        model: &str,
        (threads, registers, shared_bytes): (u32, u32, u32),
        (blocks, warps): (u32, u32),
        limiters: &[Limiter],
    ) {
        let model = model.parse().expect("it is in the table");
        let demand = Demand {
            threads,
            registers: Some(registers),
            shared_bytes,
        };
        let occupancy = Occupancy::of(demand, &model);
        assert_eq!(
            (occupancy.blocks, occupancy.warps),
            (blocks, warps),
            "{occupancy:?}"
        );
        assert_eq!(occupancy.limiters().collect::<Vec<_>>(), limiters);
    }

    #[test]
    fn each_resource_can_be_the_one_that_limits() {
        use Limiter::*;
        // 256 threads are 8 warps: 8 blocks are 64 warps; 32 registers fill the file exactly.
        check("sm_80", (256, 32, 0), (8, 64), &[Warps, Registers]);
        // Blocks of one warp: 32 of them.
        check("sm_80", (32, 16, 0), (32, 32), &[Blocks]);
        check("sm_86", (32, 16, 0), (16, 16), &[Blocks]);
        // 33 registers are allocated as 40 · 32: 12 warps per partition, 48 in all, 6 blocks.
        check("sm_80", (256, 33, 0), (6, 48), &[Registers]);
        // 72 registers: 2304 per warp, 7 warps per partition, 28 in all, 3 blocks.
        check("sm_80", (256, 72, 0), (3, 24), &[Registers]);
        // 48 KiB + 1 KiB reserved, of 164: 3 blocks. On sm_70, without the reserve, 96 KiB hold 2.
        check("sm_80", (256, 32, 48 * 1024), (3, 24), &[Shared]);
        check("sm_70", (256, 32, 48 * 1024), (2, 16), &[Shared]);
        // 33 · 32 floats: 4224 and 1024 bytes, 41 multiples of 128, of 228 KiB: 44 blocks.
        check("sm_90", (256, 20, 4224), (8, 64), &[Warps]);
        check("sm_90", (64, 20, 4224), (32, 64), &[Blocks, Warps]);
        // 1536 threads per multiprocessor hold one block of 1024.
        check("sm_86", (1024, 32, 0), (1, 32), &[Warps]);
    }

    #[test]
    fn shared_memory_is_given_out_in_steps() {
        let model = "sm_80".parse().expect("it is in the table");
        let blocks = |bytes| by_shared(bytes, &model);
        // 164 KiB / 16 = 10.25 KiB; minus 1 KiB reserved, 9.25 KiB, rounded down to the
        // granularity.
        assert_eq!((blocks(9472), blocks(9473)), (16, 15));
        assert_eq!((blocks(163 * 1024), blocks(163 * 1024 + 1)), (1, 0));
    }

    #[test]
    fn what_does_not_fit_is_no_block() {
        let model: DeviceModel = "sm_90".parse().expect("it is in the table");
        // 65 registers are allocated as 72 · 32 for each of 32 warps: more than the register file.
        let demand = Demand {
            threads: 1024,
            registers: Some(65),
            shared_bytes: 0,
        };
        assert_eq!(Occupancy::of(demand, &model).blocks, 0);
        assert_eq!(
            Occupancy::of(
                Demand {
                    registers: Some(64),
                    ..demand
                },
                &model
            )
            .blocks,
            1
        );
        // 29 warps count as 32 here.
        let uneven = Demand {
            threads: 29 * 32,
            registers: Some(65),
            shared_bytes: 0,
        };
        assert_eq!(Occupancy::of(uneven, &model).blocks, 0);
    }

    #[test]
    fn unknown_registers_limit_nothing() {
        let model: DeviceModel = "sm_90".parse().expect("it is in the table");
        let demand = Demand {
            threads: 512,
            registers: None,
            shared_bytes: 0,
        };
        let occupancy = Occupancy::of(demand, &model);
        assert_eq!(occupancy.ratio(), 1.0);
        assert!(
            occupancy
                .limits
                .iter()
                .all(|&(limiter, _)| limiter != Limiter::Registers)
        );
    }
}
