//! A user's type named `MaybeUninit` is not the library's.
#![forbid(unsafe_code)]

struct MaybeUninit<T>(T);

#[cuda_std::address_space(shared)]
static COUNT: MaybeUninit<u32> = MaybeUninit(0);

fn main() {}
