// Twins of kernels/src/conv1d, and the tutorials' convolutions: mode same from a tile and its halo
// in shared memory with one block for each tile, and the full one in f64 with one block for each
// output.
//! {"works": "conv-same/f32", "by": "document", "rung": "document: shared memory", "when": "m < 1024", "kernel": "conv_document_f32", "grid": "ceil(outputs, 256)", "block": "256", "shared": "4 * (256 + m - 1)", "arguments": "signal, taps, out, n, m, offset"}
//! {"works": "conv-same/f32", "by": "nvcc", "rung": "tiled", "when": "m < 1024", "kernel": "conv_tiled_f32", "grid": "ceil(outputs, 256)", "block": "256", "shared": "4 * (256 + m - 1)", "arguments": "signal, n, taps, m, out, outputs, offset"}
//! {"works": "conv-same/f32", "by": "nvcc", "rung": "direct", "when": "m < 1024", "kernel": "conv_direct_f32", "grid": "ceil(outputs, 256)", "block": "256", "shared": "0", "arguments": "signal, n, taps, m, out, outputs, offset"}
//! {"works": "conv-full/f64", "by": "document", "rung": "document: block per output", "when": "m <= 1024", "kernel": "conv_block_per_output_f64", "grid": "outputs", "block": "m", "shared": "8 * m", "arguments": "signal, n, taps, m, out"}
//! {"works": "conv-full/f64", "by": "nvcc", "rung": "block-per-output", "when": "m <= 1024", "kernel": "conv_block_per_output_f64", "grid": "outputs", "block": "m", "shared": "8 * m", "arguments": "signal, n, taps, m, out"}
//! {"works": "conv-full/f64", "by": "nvcc", "rung": "tiled", "when": "m < 1024", "kernel": "conv_tiled_f64", "grid": "ceil(outputs, 256)", "block": "256", "shared": "8 * (256 + m - 1)", "arguments": "signal, n, taps, m, out, outputs, offset"}
//! {"works": "conv-full/f64", "by": "nvcc", "rung": "direct", "when": "m < 1024", "kernel": "conv_direct_f64", "grid": "ceil(outputs, 256)", "block": "256", "shared": "0", "arguments": "signal, n, taps, m, out, outputs, offset"}

typedef long long i64;

// The tutorial's, its 32-bit indices included, with the halo loaded by every thread of the block.
extern "C" __global__ void conv_document_f32(const float* signal, const float* taps, float* out, i64 n64, i64 m64, i64 offset64) {
    extern __shared__ float span[];
    int n = (int)n64, m = (int)m64, offset = (int)offset64;
    int first = blockIdx.x * blockDim.x;
    for (int slot = threadIdx.x; slot < blockDim.x + m - 1; slot += blockDim.x) {
        int at = first + slot + offset - (m - 1);
        span[slot] = at >= 0 && at < n ? signal[at] : 0.0f;
    }
    __syncthreads();
    int i = first + threadIdx.x;
    if (i < n) {
        float sum = 0.0f;
        for (int k = 0; k < m; ++k) sum += taps[k] * span[threadIdx.x + m - 1 - k];
        out[i] = sum;
    }
}

// The taps that meet a sample.
__device__ void inside(i64 centre, i64 n, i64 m, i64& from, i64& to) {
    from = centre + 1 > n ? centre + 1 - n : 0;
    to = m < centre + 1 ? m : centre + 1;
}

template <class T>
__device__ void tiled(const T* __restrict__ signal, i64 n, const T* __restrict__ taps, i64 m, T* out, i64 outputs, i64 offset) {
    extern __shared__ __align__(16) unsigned char memory[];
    T* tile = (T*)memory;
    i64 threads = blockDim.x, t = threadIdx.x, halo = m - 1;
    for (i64 first = blockIdx.x * threads; first < outputs; first += (i64)gridDim.x * threads) {
        for (i64 slot = t; slot < threads + halo; slot += threads) {
            i64 at = first + offset - halo + slot;
            tile[slot] = at >= 0 && at < n ? signal[at] : T(0);
        }
        __syncthreads();
        i64 i = first + t, from, to;
        if (i < outputs) {
            T sum = 0;
            inside(i + offset, n, m, from, to);
            for (i64 k = from; k < to; ++k) sum += taps[k] * tile[t + halo - k];
            out[i] = sum;
        }
        __syncthreads();
    }
}

template <class T>
__device__ void direct(const T* __restrict__ signal, i64 n, const T* __restrict__ taps, i64 m, T* out, i64 outputs, i64 offset) {
    i64 stride = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < outputs; i += stride) {
        T sum = 0;
        i64 from, to;
        inside(i + offset, n, m, from, to);
        for (i64 k = from; k < to; ++k) sum += taps[k] * signal[i + offset - k];
        out[i] = sum;
    }
}

#define KERNEL(name, T)                                                                                                    \
    extern "C" __global__ void conv_##name(const T* signal, i64 n, const T* taps, i64 m, T* out, i64 outputs, i64 offset)
KERNEL(tiled_f32, float) { tiled(signal, n, taps, m, out, outputs, offset); }
KERNEL(tiled_f64, double) { tiled(signal, n, taps, m, out, outputs, offset); }
KERNEL(direct_f32, float) { direct(signal, n, taps, m, out, outputs, offset); }
KERNEL(direct_f64, double) { direct(signal, n, taps, m, out, outputs, offset); }

extern "C" __global__ void conv_block_per_output_f64(const double* __restrict__ signal, i64 n, const double* __restrict__ taps, i64 m, double* out) {
    extern __shared__ double products[];
    i64 k = threadIdx.x, outputs = n + m - 1;
    for (i64 i = blockIdx.x; i < outputs; i += gridDim.x) {
        i64 at = i - k;
        products[k] = at >= 0 && at < n ? taps[k] * signal[at] : 0.0;
        __syncthreads();
        if (k == 0) {
            double sum = 0;
            for (i64 slot = 0; slot < m; ++slot) sum += products[slot];
            out[i] = sum;
        }
        __syncthreads();
    }
}
