//! Launches that are counted twice: by NVIDIA's ncu on a GPU, and by the emulator's profiler.
//!
//! `examples/ncu.rs` makes the launches on a GPU, below ncu, and turns what ncu writes into
//! `fixtures/ncu/*.csv`. The test `ncu.rs` makes the same launches on the emulator and compares.

mod kernels;
mod probes;

use blockwise::Device;

/// What ncu is asked for.
pub const METRICS: &[&str] = &[
    "smsp__inst_executed.sum",
    "smsp__inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_shared_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    "sm__sass_thread_inst_executed_op_fadd_pred_on.sum",
    "sm__sass_thread_inst_executed_op_fmul_pred_on.sum",
    "sm__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "sm__sass_thread_inst_executed_op_dadd_pred_on.sum",
    "sm__sass_thread_inst_executed_op_dmul_pred_on.sum",
    "sm__sass_thread_inst_executed_op_dfma_pred_on.sum",
    "launch__registers_per_thread",
    "launch__occupancy_limit_blocks",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_warps",
];

/// A list of launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// The kernels of this project.
    Kernels,
    /// One access to shared memory each.
    Shared,
    /// One access to global memory each.
    Global,
}

impl Set {
    /// Every set.
    pub const ALL: &[Set] = &[Set::Kernels, Set::Shared, Set::Global];

    /// Its name, which is its fixture's too.
    pub fn name(self) -> &'static str {
        match self {
            Set::Kernels => "kernels",
            Set::Shared => "shared",
            Set::Global => "global",
        }
    }

    /// Makes every launch of the set, each with its name, always in the same order; `launched` is
    /// called after each.
    ///
    /// # Panics
    /// When a launch fails.
    pub fn run(self, device: &Device, launched: impl FnMut(&str)) {
        match self {
            Set::Kernels => kernels::run(device, launched),
            Set::Shared => probes::run(device, "shared", launched),
            Set::Global => probes::run(device, "global", launched),
        }
    }
}
