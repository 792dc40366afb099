//! Attribute macros of cuda_std.
