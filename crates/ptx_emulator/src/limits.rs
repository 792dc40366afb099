/// The limits of an [`Emulator`](crate::Emulator). The defaults are an H200's, where it has such a
/// limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most threads of one block.
    pub threads_per_block: u32,
    /// The most threads of one block along x, y and z.
    pub block_dims: [u32; 3],
    /// The most blocks of one launch along x, y and z.
    pub grid_dims: [u32; 3],
    /// The most static shared memory of one block, in bytes.
    pub shared_bytes_per_block: u32,
    /// The most static and dynamic shared memory of one block together, in bytes.
    pub shared_bytes_opt_in: u32,
    /// The most local memory of a kernel for one thread, in bytes; also the largest stack.
    pub local_bytes_per_thread: u32,
    /// The stack of one thread, for the functions that a kernel calls, in bytes. Later,
    /// [`Emulator::set_stack_bytes`](crate::Emulator::set_stack_bytes) changes it.
    pub stack_bytes: u32,
    /// Device memory, in bytes. Host memory is committed only when a page is first written.
    pub memory_bytes: u64,
    /// The heap for device code's `malloc`, in bytes; part of `memory_bytes` if a module uses it.
    pub heap_bytes: u64,
    /// The most warp instructions of one launch: stops endless loops.
    pub warp_instructions: u64,
    /// Worker threads that run blocks. `None` uses every core. With `Some(1)` blocks run in order
    /// on the calling thread, so that even a racy program is deterministic.
    pub workers: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            threads_per_block: 1024,
            block_dims: [1024, 1024, 64],
            grid_dims: [i32::MAX as u32, 65_535, 65_535],
            shared_bytes_per_block: 48 * 1024,
            shared_bytes_opt_in: 227 * 1024,
            local_bytes_per_thread: 512 * 1024,
            stack_bytes: 128 * 1024,
            memory_bytes: 4 << 30,
            heap_bytes: 8 << 20,
            warp_instructions: 4_000_000_000,
            workers: None,
        }
    }
}
