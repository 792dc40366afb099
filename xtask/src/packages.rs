//! The packages that `cargo xtask` names to cargo. A package that is named gets the features that it
//! has in `cargo test --workspace`: that is why libraries of these programs stand here too.

/// For every command but the plain demo.
pub const WORKBENCH: [&str; 2] = ["workbench", "blockwise_std_macros"];

/// For the command `blockwise`.
pub const WHOLE: [&str; 7] = [
    "blockwise_cli",
    "blockwise",
    "blockwise_demo",
    "blockwise_mesh",
    "blockwise_ops",
    "blockwise_std",
    "find_cuda_helper",
];

/// What compiles kernels. The macros are named too, because with them `syn` has the features that it
/// has in every other build.
pub const BUILDER: [&str; 2] = ["blockwise_builder", "blockwise_std_macros"];

/// For the demos without the rest of the command.
pub const DEMO: [&str; 7] = [
    "blockwise_demo",
    "blockwise",
    "blockwise_ops",
    "blockwise_builder",
    "blockwise_std",
    "blockwise_std_macros",
    "find_cuda_helper",
];
