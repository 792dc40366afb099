//! What the PTX of these tests was compiled from, as far as its line table says.

/// Doubles each element, and forgets that the grid is larger.
pub unsafe fn double(data: *mut f32, len: usize) {
    let i = thread::index_1d() as usize;
    unsafe { *data.add(i) *= 2.0 };
}

pub unsafe fn neighbours(output: *mut u32) {
    let i = thread::thread_idx_x() as usize;
    let tile = shared_array![u32; 64];
    tile[i] = i as u32; // each thread its own
    let next = tile[(i + 1) % 64];
    if next > 3 { // not all threads
        thread::sync_threads();
    }
    unsafe { *output.add(i) = next };
}

pub unsafe fn wait(flag: *mut u32) {
    while unsafe { flag.read_volatile() } == 0 {}
}
