//! Shared-memory GPU kernels in Rust: convolution, reduction, matrix product, transpose, reversal.
