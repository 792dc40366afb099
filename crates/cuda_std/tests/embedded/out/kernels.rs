&[
    KernelsFile {
        arch: "sm_80",
        only: &[],
        pieces: &[
            Piece { kernel: "", lines: 1, len: 13, compressed: 15 },
        ],
        bytes: include_bytes!("kernels.sm_80.deflate"),
    },
]
