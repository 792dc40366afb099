//! A type of the user's is not the library's `MaybeUninit`.
#![forbid(unsafe_code)]

struct MaybeUninit<T>(T);

#[cuda_std::address_space(shared)]
static COUNT: MaybeUninit<u32> = MaybeUninit(0);

fn main() {}
