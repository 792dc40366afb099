//! A static cannot make its type acceptable by an `impl` inside that type.
#![forbid(unsafe_code)]

trait MayBeUninitialised {}
struct Counter<const N: usize>(core::sync::atomic::AtomicU32);

#[cuda_std::address_space(shared)]
static COUNT: Counter<{
    impl MayBeUninitialised for Counter<0> {}
    0
}> = Counter(core::sync::atomic::AtomicU32::new(0));

fn main() {}
