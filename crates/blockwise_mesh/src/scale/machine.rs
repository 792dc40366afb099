//! The rates of GPUs and links: all parameters of the model.

/// A link of one rank, in one direction, by LogGP's latency, overhead and gap per byte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Seconds from a send to its arrival, for an empty message.
    pub latency: f64,
    /// Seconds of the sender per message.
    pub overhead: f64,
    /// Bytes per second of long messages.
    pub bandwidth: f64,
    /// Seconds until an exchange of tiles has its full speed, or by which one of halos delays the
    /// kernel after it.
    pub start: f64,
}

impl Link {
    /// NVLink 4 of an H200: tiles of a transpose, NCCL's all-gather of 1 GiB 284 GB/s on two GPUs and
    /// 337 on four (PyTorch 2.11). A convolution's kernel starts 43 to 103 µs after the step
    /// (docs/bench/mesh-4xh200-phases.md). Latency is half of a barrier of two ranks in one process, 17 µs
    /// (docs/log/2026-11-23-mesh.md).
    pub const NVLINK: Self = Self {
        latency: 8e-6,
        overhead: 1e-6,
        bandwidth: 300e9,
        start: 80e-6,
    };

    /// The same for two GPUs of one process, which copy from each other: 377 to 387 GB/s alone; what
    /// a transpose of 16384² takes beyond that (docs/log/2026-11-26-mesh.md).
    pub const COPIES: Self = Self {
        bandwidth: 380e9,
        start: 30e-6,
        ..Self::NVLINK
    };

    /// PCIe 5.0 × 16 between GPUs: 64 GB/s nominal, less a tenth for headers. Not measured.
    pub const PCIE: Self = Self {
        latency: 10e-6,
        overhead: 1e-6,
        bandwidth: 57e9,
        start: 80e-6,
    };

    /// Copies through the host's memory, as without NCCL: two copies of pageable memory in
    /// sequence. Not measured.
    pub const HOST: Self = Self {
        latency: 20e-6,
        overhead: 5e-6,
        bandwidth: 5e9,
        start: 80e-6,
    };

    /// One 400 Gb/s port per GPU: 50 GB/s nominal, less a tenth. Not measured.
    pub const NETWORK: Self = Self {
        latency: 15e-6,
        overhead: 1e-6,
        bandwidth: 45e9,
        start: 80e-6,
    };
}

/// GPUs of one kind, in hosts of one kind. Ranks fill one host after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// GPUs per host.
    pub gpus_per_host: usize,
    /// Between GPUs of one host.
    pub within: Link,
    /// Between hosts.
    pub between: Link,
    /// A GPU's memory in bytes.
    pub memory: f64,
    /// Bytes per second of kernels that mostly read: sums and dot products.
    pub reading: f64,
    /// Bytes per second, read plus written, of kernels that write as much as they read.
    pub copying: f64,
    /// The same for copies of rows that are shorter than their pitch.
    pub rows: f64,
    /// Bytes per second, read plus written, of scans.
    pub scanning: f64,
    /// Bytes per second of the pass that only totals a scan's groups.
    pub totalling: f64,
    /// Operations per second of matrix products, multiplications and additions each counted.
    pub product_f32: f64,
    /// The same for float64.
    pub product_f64: f64,
    /// The same for convolutions of f32; for f64 half as many.
    pub convolution: f64,
    /// Seconds per output of a convolution by FFT.
    pub transforms: f64,
    /// Fixed seconds of an operation on one GPU: launches, and the wait for the end.
    pub fixed: f64,
}

impl Machine {
    /// How that many of its GPUs work together: two that NVLink connects copy from each other.
    pub(super) fn of(&self, gpus: usize) -> Self {
        let copies = gpus == 2 && self.gpus_per_host >= 2 && self.within == Link::NVLINK;
        Self {
            within: if copies { Link::COPIES } else { self.within },
            ..*self
        }
    }

    /// H200s, eight to a host.
    ///
    /// - Reading: `sum` of 2²⁹ f32, 4.56 TB/s; copying: `transpose` of 16384², 3.99 TB/s; products:
    ///   52 TFLOP/s at 8192³; convolutions: 0.737 of 62.9 TFLOP/s with 63 taps, and 0.178 ms for
    ///   2²⁶ outputs with 127 (docs/bench/h200.md, PERFORMANCE.md).
    /// - Rows: copies of 8192 rows of 2048 columns (docs/log/2026-11-23-mesh.md). Scanning: 2²⁹ f32 in
    ///   1.405 ms (docs/log/2026-11-26-scans.md); totalling: the first pass of a scan of 2³³ on four,
    ///   2.160 ms (docs/log/2026-11-26-mesh.md).
    /// - Products of f64: 577 µs at 2048³ with PTX for sm_80 (docs/log/2026-11-23-products.md).
    /// - Fixed: 7 µs for a reduction of 2²⁰ elements and a host that waits.
    pub const H200: Self = Self {
        gpus_per_host: 8,
        within: Link::NVLINK,
        between: Link::NETWORK,
        memory: 141e9,
        reading: 4.56e12,
        copying: 3.99e12,
        rows: 1.5e12,
        scanning: 3.06e12,
        totalling: 4.0e12,
        product_f32: 52e12,
        product_f64: 29.8e12,
        convolution: 46e12,
        transforms: 0.178e-3 / 67_108_864.0,
        fixed: 20e-6,
    };

    /// H100s (SXM), eight to a host.
    ///
    /// - Reading: `sum` of 2³³ f32 in 11.13 ms; copying: `transpose` of 16384² in 0.75 ms; products:
    ///   16384³ in 166.3 ms; scanning: 2³³ f32 in 27.43 ms; totalling: 2³¹ in 2.982 ms; driver 580.159
    ///   (docs/log/2026-11-26-mesh.md).
    /// - The rest is an H200's, whose multiprocessors are the same.
    pub const H100: Self = Self {
        memory: 85e9,
        reading: 3.087e12,
        copying: 2.86e12,
        rows: 1.2e12,
        scanning: 2.506e12,
        totalling: 2.88e12,
        product_f32: 52.9e12,
        ..Self::H200
    };
}
