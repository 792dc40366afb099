//! Safe kernels that the types let through and the builder's checks must refuse, each for one reason.
//!
//! `// parts` marks the line with the branch on which threads part (the next one, where it stands alone), `// waits` the barrier or the
//! operation of a warp that some of them then miss: the test `holes` wants each kernel's report to name both. A kernel without marks waits
//! where no branch can be named: in a function that is reached by a pointer, or that calls itself.
#![forbid(unsafe_code)]

pub mod addresses;
pub mod calls;
pub mod collective;
pub mod flow;
pub mod held;
pub mod library;
pub mod memory;
pub mod puns;
pub mod states;
pub mod strange;
pub mod values;
pub mod warps;
