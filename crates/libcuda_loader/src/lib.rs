//! The CUDA driver API as symbols that load libcuda when first called.
