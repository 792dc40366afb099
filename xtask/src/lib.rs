//! What the launcher and the development commands share: which packages are built for what, a look at
//! cargo's progress, and what a part of the work takes. Without dependencies, like the launcher.

pub mod packages;
pub mod progress;
pub mod spent;
