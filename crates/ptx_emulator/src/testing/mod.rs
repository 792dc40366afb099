//! Checks kernels in ordinary tests: no GPU, no toolkit, only the PTX.
//!
//! ```
//! use ptx_emulator::testing::Launch;
//!
//! // In a crate of your own: include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"))
//! let ptx = "
//! .version 7.0
//! .target sm_80
//! .address_size 64
//! .visible .entry scale(.param .u64 x, .param .u64 len, .param .u64 y, .param .f32 factor) {
//!     .reg .pred %p;
//!     .reg .b32 %r<5>;
//!     .reg .f32 %f<3>;
//!     .reg .b64 %rd<8>;
//!     ld.param.u64 %rd1, [x];
//!     ld.param.u64 %rd2, [len];
//!     ld.param.u64 %rd3, [y];
//!     ld.param.f32 %f1, [factor];
//!     mov.u32 %r1, %ctaid.x;
//!     mov.u32 %r2, %ntid.x;
//!     mov.u32 %r3, %tid.x;
//!     mad.lo.u32 %r4, %r1, %r2, %r3;
//!     cvt.u64.u32 %rd4, %r4;
//!     setp.ge.u64 %p, %rd4, %rd2;
//!     @%p ret;
//!     shl.b64 %rd5, %rd4, 2;
//!     add.s64 %rd6, %rd1, %rd5;
//!     add.s64 %rd7, %rd3, %rd5;
//!     ld.global.f32 %f2, [%rd6];
//!     mul.f32 %f2, %f2, %f1;
//!     st.global.f32 [%rd7], %f2;
//!     ret;
//! }";
//! let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
//! let mut y = vec![0.0_f32; 1000];
//! Launch::of(ptx)?
//!     .kernel("scale") // fn scale(x: &[f32], y: *mut f32, factor: f32)
//!     .grid(4)
//!     .block(256)
//!     .slice(&x)
//!     .output(&mut y)
//!     .value(2.0_f32)
//!     .schedules(3)
//!     .check()?
//!     .assert_clean();
//! assert_eq!(y[999], 1998.0);
//! # Ok::<(), ptx_emulator::testing::Refused>(())
//! ```
//!
//! Arguments are in the order of the kernel's parameters. A Rust slice is two PTX parameters,
//! address and length: [`Launch::slice`] and [`Launch::slice_mut`] pass both.

mod arguments;
mod launch;

pub use bytemuck::Pod;
pub use launch::{Checked, Extents, Launch, Refused};
