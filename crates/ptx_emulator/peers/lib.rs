//! Only a place for the bench `gemm`: `cargo bench` in this folder.
