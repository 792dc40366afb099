//! Nor does an `impl` inside of the type make it one.
#![forbid(unsafe_code)]

trait MayBeUninitialised {}
struct Counter<const N: usize>(core::sync::atomic::AtomicU32);

#[cuda_std::address_space(shared)]
static COUNT: Counter<{
    impl MayBeUninitialised for Counter<0> {}
    0
}> = Counter(core::sync::atomic::AtomicU32::new(0));

fn main() {}
