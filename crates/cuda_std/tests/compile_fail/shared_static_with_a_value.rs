use core::mem::MaybeUninit;
use core::sync::atomic::AtomicU32;

use cuda_std::prelude::*;

#[address_space(shared)]
static COUNT: AtomicU32 = AtomicU32::new(0);

#[address_space(shared)]
static COUNTS: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

// These are allowed: reading them needs `unsafe`.
#[address_space(shared)]
static LATER: MaybeUninit<AtomicU32> = MaybeUninit::uninit();

#[address_space(shared)]
static ALL_LATER: [MaybeUninit<AtomicU32>; 2] = [const { MaybeUninit::uninit() }; 2];

#[address_space(shared)]
static mut UNSAFE: u32 = 0;

fn main() {}
