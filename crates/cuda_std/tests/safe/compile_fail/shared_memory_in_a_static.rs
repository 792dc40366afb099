//! A view of shared memory cannot outlive the launch.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

static SEEN: std::sync::Mutex<Option<&'static [u32; 256]>> = std::sync::Mutex::new(None);

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let published = block.sync_threads(tile.write(block, |i| i as u32));
    *SEEN.lock().unwrap() = Some(&*published);
}

fn main() {}
