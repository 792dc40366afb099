//! A launch: the request, and the state that its workers share.

use super::memory::MAX_SHARED_BYTES;
use crate::decode::Entry;
use crate::decode::op::{Op, Order, Row};
use crate::decode::{Program, Value};
use crate::fault::Space;
use crate::launch::{LaunchConfig, Output};
use crate::limits::Limits;
use crate::memory::{FUNCTION_BASE, Table};
use crate::progress::Sink;
use std::collections::HashMap;

/// Maximum number of unfinished blocks per worker, unless blocks may wait for one that has not
/// begun.
pub(super) const RESIDENT: usize = 16;
/// The same if blocks may wait: as many as are resident on an H200, if their registers and memory
/// fit into [`RESIDENT_BYTES`].
const MOST_RESIDENT: usize = 132 * 32;
const RESIDENT_BYTES: u64 = 128 << 20;
/// Warp instructions of a block before its worker switches to another block.
const SLICE: u64 = 4_000_000;
/// The same for programs whose blocks may wait for each other.
const WAITING_SLICE: u64 = 2_000;

/// A launch, already checked by the caller.
#[derive(Clone)]
pub(crate) struct Request<'a> {
    pub(crate) program: &'a Program,
    pub(crate) table: &'a Table,
    pub(crate) limits: &'a Limits,
    pub(crate) stack_bytes: u32,
    pub(crate) output: &'a Output,
    pub(crate) progress: &'a Sink,
    pub(crate) kernel: &'a Entry,
    pub(crate) config: LaunchConfig,
    pub(crate) params: Vec<u8>,
    pub(crate) addresses: Addresses<'a>,
    /// End of a block's shared memory.
    pub(crate) shared_bytes: u64,
    /// Start of the dynamic part.
    pub(crate) dynamic_shared: u64,
    /// Do not use the host's vector extensions.
    pub(crate) portable: bool,
    /// Seed of the thread order; seeded launches run on one worker.
    pub(crate) seed: Option<u64>,
}

/// Addresses of the variables of a launch.
#[derive(Clone)]
pub(crate) struct Addresses<'a> {
    /// The module's variables, by index.
    pub(crate) module: &'a HashMap<u32, u64>,
    /// The kernel's shared variables, as offsets.
    pub(crate) shared: Vec<(u32, u64)>,
}

impl Addresses<'_> {
    fn get(&self, index: u32) -> Option<u64> {
        let mut shared = self.shared.iter();
        let shared = shared.find(|&&(known, _)| known == index);
        let shared = shared.map(|&(_, address)| address);
        shared.or_else(|| self.module.get(&index).copied())
    }
}

impl Request<'_> {
    /// Inserts gaps between the shared variables. Sizes visible to the program do not change.
    pub(crate) fn guard_shared(&mut self) {
        let room = MAX_SHARED_BYTES - self.shared_bytes;
        let layout = self
            .program
            .shared_layout(self.kernel.function)
            .spread(room);
        self.shared_bytes = match self.shared_bytes - self.dynamic_shared {
            // Nothing follows the last gap.
            0 => layout.fixed,
            dynamic => layout.dynamic + dynamic,
        };
        self.dynamic_shared = layout.dynamic.min(self.shared_bytes);
        self.addresses.shared = layout.variables;
    }

    /// Clusters of the grid, or blocks where there are none.
    pub(super) fn teams(&self) -> u64 {
        let grid = self.config.grid.iter().map(|&extent| u64::from(extent));
        let cluster = self.program.functions[self.kernel.function as usize].cluster;
        let blocks = grid.product();
        let extents = cluster.iter();
        extents.fold(blocks, |blocks: u64, &extent| blocks / u64::from(extent))
    }

    /// The shared memory that a block has by its program and launch, gaps not counted.
    fn own_shared_bytes(&self) -> u64 {
        let own = self.program.shared_layout(self.kernel.function).dynamic;
        own + self.shared_bytes - self.dynamic_shared
    }
}

/// A running launch.
pub(super) struct Launch<'a> {
    pub(super) program: &'a Program,
    pub(super) table: &'a Table,
    pub(super) limits: &'a Limits,
    /// Stack of a thread for the functions that the kernel calls.
    pub(super) stack_bytes: u32,
    /// Destination of `printf`; none if the launch only repeats another one in a different order.
    pub(super) output: Option<&'a Output>,
    pub(super) progress: &'a Sink,
    pub(super) entry: u32,
    pub(super) config: LaunchConfig,
    /// Extents of a cluster, in blocks.
    pub(super) cluster: [u32; 3],
    pub(super) threads: u32,
    /// End of a block's shared memory.
    pub(super) shared_bytes: u64,
    /// The shared-memory size that the program sees.
    pub(super) own_shared_bytes: u64,
    pub(super) params: Vec<u8>,
    /// Values of each function's constant rows.
    pub(super) constants: Vec<Constants>,
    /// There is only one worker, so nothing else accesses the memory.
    pub(super) alone: bool,
    pub(super) portable: bool,
    pub(super) seed: Option<u64>,
    /// All blocks run at the same time.
    pub(super) cooperative: bool,
    /// Blocks that a worker may keep when none of them ends.
    pub(super) most_resident: usize,
    pub(super) slice: u64,
}

impl<'a> Launch<'a> {
    pub(super) fn new(request: &Request<'a>, workers: usize) -> Self {
        // Only of functions that can run: there may be very many kernels.
        let mut constants = Vec::new();
        constants.resize_with(request.program.functions.len(), Constants::default);
        for index in request.program.reachable(request.kernel.function) {
            let function = &request.program.functions[index as usize];
            constants[index as usize] = constants_of(function, request);
        }
        let cluster = request.program.functions[request.kernel.function as usize].cluster;
        let threads = request.config.block.iter().product();
        let cooperative = request.program.is_cooperative(request.kernel.function);
        let (most_resident, slice) = if cooperative {
            (MOST_RESIDENT, WAITING_SLICE)
        } else if waits_for_blocks(request) || cluster != [1; 3] {
            (most_resident(request, threads), WAITING_SLICE)
        } else {
            (RESIDENT, SLICE)
        };
        Self {
            program: request.program,
            table: request.table,
            limits: request.limits,
            stack_bytes: request.stack_bytes,
            output: request.seed.is_none().then_some(request.output),
            progress: request.progress,
            entry: request.kernel.function,
            config: request.config,
            cluster,
            threads,
            shared_bytes: request.shared_bytes,
            own_shared_bytes: request.own_shared_bytes(),
            params: request.params.clone(),
            constants,
            alone: workers == 1,
            portable: request.portable,
            seed: request.seed,
            cooperative,
            most_resident,
            slice,
        }
    }

    pub(super) fn cluster_blocks(&self) -> u32 {
        self.program.functions[self.entry as usize].cluster_blocks()
    }

    /// The thread index of a lane of a warp.
    pub(super) fn thread(&self, warp: usize, lane: u32) -> [u32; 3] {
        let [x, y, _] = self.config.block;
        let thread = 32 * warp as u32 + lane;
        [thread % x, thread / x % y, thread / x / y]
    }
}

#[derive(Default)]
pub(super) struct Constants {
    pub(super) w32: Vec<(Row, u32)>,
    pub(super) w64: Vec<(Row, u64)>,
}

/// Whether the program reads memory that other blocks may write, in a way that can depend on them.
fn waits_for_blocks(request: &Request<'_>) -> bool {
    let mut code = request.program.reachable_code(request.kernel.function);
    code.any(|(_, inst)| match &inst.op {
        Op::Load(t) => t.order != Order::Weak && t.space != Space::Shared,
        Op::Atomic(atomic) => atomic.d.is_some() && atomic.space != Space::Shared,
        _ => false,
    })
}

fn most_resident(request: &Request<'_>, threads: u32) -> usize {
    let function = &request.program.functions[request.kernel.function as usize];
    let rows = 4 * u64::from(function.rows.w32) + 8 * u64::from(function.rows.w64);
    let of_threads = u64::from(threads) * (rows + u64::from(function.local_bytes));
    let fit = RESIDENT_BYTES / (of_threads + request.shared_bytes).max(1);
    usize::try_from(fit).map_or(MOST_RESIDENT, |fit| fit.clamp(RESIDENT, MOST_RESIDENT))
}

fn constants_of(function: &crate::decode::Function, request: &Request<'_>) -> Constants {
    let value = |value: Value| match value {
        Value::Bits(bits) => bits,
        Value::Variable { index, offset } => request
            .addresses
            .get(index)
            .unwrap_or(0)
            .wrapping_add(offset as u64),
        Value::Function(index) => FUNCTION_BASE + 16 * u64::from(index),
        Value::Param {
            offset,
            size,
            signed,
        } => {
            let (offset, size) = (offset as usize, usize::from(size));
            let mut bytes = [0; 8];
            // Functions of other kernels have other parameters; their code does not run.
            if let Some(param) = request.params.get(offset..offset + size) {
                bytes[..size].copy_from_slice(param);
            }
            let bits = u64::from_le_bytes(bytes);
            let unused = 64 - 8 * size as u32;
            if signed {
                ((bits << unused) as i64 >> unused) as u64
            } else {
                bits
            }
        }
    };
    Constants {
        w32: function
            .constants32
            .iter()
            .map(|&(row, v)| (row, value(v) as u32))
            .collect(),
        w64: function
            .constants64
            .iter()
            .map(|&(row, v)| (row, value(v)))
            .collect(),
    }
}
