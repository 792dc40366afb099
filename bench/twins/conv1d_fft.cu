// Twin of ladder/src/fft_radix2.rs: overlap-save by transforms of 2048 points, one butterfly
// per thread and step. The barriers are explained there. The first launch writes the roots too,
// which the host uploads once for ours.
//! {"works": "conv-same/f32", "by": "nvcc", "rung": "fft-radix2", "when": "64 <= m <= 1025", "kernel": "conv_fft_radix2_taps", "grid": "1", "block": "1024", "shared": "0", "arguments": "taps, m, roots, spectrum", "scratch": {"roots": "2 * 1024", "spectrum": "2 * 2048"}, "then": [{"kernel": "conv_fft_radix2", "grid": "ceil(outputs, 2048)", "block": "1024", "shared": "0", "arguments": "signal, n, taps, m, spectrum, roots, out, outputs, offset"}]}

typedef long long i64;
typedef unsigned u32;
const int POINTS = 2048, HALF = POINTS / 2, STEPS = 11;

__device__ float2 product(float2 a, float2 b) {
    return {fmaf(a.x, b.x, -(a.y * b.y)), fmaf(a.x, b.y, a.y * b.x)};
}

// Element `i` after a step.
__device__ float2 after(u32 step, const float2* before, const float2* roots, u32 i) {
    if (step == 0) return before[__brev(i) >> (32 - STEPS)];
    u32 pair = i % HALF, low = STEPS - step;
    float2 even = before[2 * pair], odd = product(before[2 * pair + 1], roots[pair >> low << low]);
    return i < HALF ? float2{even.x + odd.x, even.y + odd.y} : float2{even.x - odd.x, even.y - odd.y};
}

// Transforms `points` with the help of `other`: twelve steps end where they began.
__device__ void transform(float2* points, float2* other, const float2* roots) {
    for (u32 step = 0; step <= STEPS; ++step) {
        float2 *from = step % 2 ? other : points, *to = step % 2 ? points : other;
        for (u32 i = threadIdx.x; i < POINTS; i += HALF) to[i] = after(step, from, roots, i);
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(1024) conv_fft_radix2(const float* signal, i64 n, const float* taps, i64 m, const float2* spectrum, const float2* roots, float* out, i64 outputs, i64 offset) {
    __shared__ float2 a[POINTS], b[POINTS];
    for (i64 first = (i64)blockIdx.x * POINTS; first < outputs; first += (i64)gridDim.x * POINTS) {
        i64 start = first + offset - HALF;
        auto sample = [=](i64 at) { return at >= 0 && at < n ? signal[at] : 0.0f; };
        for (u32 i = threadIdx.x; i < POINTS; i += HALF) a[i] = {sample(start + i), sample(start + i + HALF)};
        __syncthreads();
        transform(a, b, roots);
        for (u32 i = threadIdx.x; i < POINTS; i += HALF) {
            float2 y = product(a[i], spectrum[i]);
            b[i] = {y.y, y.x};
        }
        __syncthreads();
        transform(b, a, roots);
        for (u32 half = 0; half < 2; ++half) {
            i64 i = first + half * HALF + threadIdx.x;
            if (i >= outputs) break;
            // The parts are swapped.
            float y = half ? b[HALF + threadIdx.x].x : b[HALF + threadIdx.x].y;
            if (!(fabsf(y) <= 3.40282347e38f)) {
                y = 0;
                i64 centre = i + offset, from = centre + 1 > n ? centre + 1 - n : 0, to = m < centre + 1 ? m : centre + 1;
                for (i64 k = from; k < to; ++k) y += taps[k] * signal[centre - k];
            }
            out[i] = y;
        }
        __syncthreads();
    }
}

extern "C" __global__ void conv_fft_radix2_taps(const float* taps, i64 m, float2* roots, float2* spectrum) {
    __shared__ float2 a[POINTS], b[POINTS];
    float re, im;
    sincospif(-2.0f * threadIdx.x / POINTS, &im, &re);
    roots[threadIdx.x] = {re, im};
    for (u32 i = threadIdx.x; i < POINTS; i += HALF) a[i] = {i < m ? taps[i] / POINTS : 0.0f, 0.0f};
    __syncthreads();
    transform(a, b, roots);
    for (u32 i = threadIdx.x; i < POINTS; i += HALF) spectrum[i] = a[i];
}
