//! NVIDIA's library that moves data between GPUs. Only programs that run on several GPUs need it,
//! and only at run time.

use crate::wheel::Wheel;

/// The wheel that provides it on a machine without NVIDIA's package libnccl2.
pub const WHEEL: Wheel = Wheel {
    package: "nvidia-nccl-cu13",
    version: "2.28.9",
    sha256: &[
        "e4553a30f34195f3fa1da02a6da3d6337d28f2003943aa0a3d247bbc25fefc42", // Linux, x86-64
        "01c873ba1626b54caa12272ed228dc5b2781545e0ae8ba3f432a8ef1c6d78643", // Linux, aarch64
    ],
    file: "nvidia/nccl/lib/libnccl.so.2",
};

/// The variable that names the library to load instead of the system's.
pub const VARIABLE: &str = "BLOCKWISE_LIBNCCL";
