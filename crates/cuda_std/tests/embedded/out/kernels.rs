&[
    KernelsFile { arch: "sm_80", text: include_str!("kernels.sm_80.ptx"), only: &[] },
]
