//! The derive's second step by hand, which is shown another struct than there is.
#![forbid(unsafe_code)]

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Address(pub &'static u32);
cuda_std::__plain! { #[repr(C)] struct Address(u64); }

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Flags {
    pub flag: bool,
    pub number: u8,
}
cuda_std::__plain! { #[repr(C)] struct Flags { flag: u8, number: u8 } }

#[derive(Clone, Copy)]
#[repr(C)]
pub struct More {
    pub number: u64,
    pub nothing: [&'static u32; 0],
}
cuda_std::__plain! { #[repr(C)] struct More { number: u64 } }

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Reordered {
    pub first: u32,
    pub second: u32,
}
cuda_std::__plain! { #[repr(C)] struct Reordered { second: u32, first: u32 } }

#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct Aligned {
    pub first: u64,
    pub second: u64,
}
cuda_std::__plain! { #[repr(C)] struct Aligned { first: u64, second: u64 } }

#[derive(Clone, Copy)]
pub union Either {
    pub number: u64,
    pub address: &'static u32,
}
cuda_std::__plain! { #[repr(C)] struct Either { number: u64 } }

type Reference = &'static u32;
cuda_std::__plain! { #[repr(C)] struct Reference(u64); }

fn main() {}
