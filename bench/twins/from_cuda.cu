// The kernels of the book's chapter "From CUDA C++". tests/fixtures/from_cuda.ptx is what
// NVRTC 12.9 makes of them (--gpu-architecture=compute_80).

#define FLT_MAX 3.402823466e38f

// ANCHOR: softmax
template <typename Op>
__device__ float fold_block(float value, float identity, Op op) {
    __shared__ float of_warps[32];
    for (int bits = 16; bits > 0; bits /= 2) {
        value = op(value, __shfl_xor_sync(0xffffffff, value, bits));
    }
    int lane = threadIdx.x % 32;
    __syncthreads(); // the reads of an earlier call
    if (lane == 0) {
        of_warps[threadIdx.x / 32] = value;
    }
    __syncthreads();
    value = lane < blockDim.x / 32 ? of_warps[lane] : identity;
    for (int bits = 16; bits > 0; bits /= 2) {
        value = op(value, __shfl_xor_sync(0xffffffff, value, bits));
    }
    return value;
}

// y[row, i] = exp(x[row, i]) / the sum of the row's
extern "C" __global__ void softmax(const float *x, float *y, size_t rows, size_t cols) {
    for (size_t row = blockIdx.y; row < rows; row += gridDim.y) {
        const float *from = x + row * cols;
        float most = -FLT_MAX, sum = 0.0f;
        for (size_t i = threadIdx.x; i < cols; i += blockDim.x) {
            most = fmaxf(most, from[i]);
        }
        most = fold_block(most, -FLT_MAX, fmaxf);
        for (size_t i = threadIdx.x; i < cols; i += blockDim.x) {
            sum += expf(from[i] - most);
        }
        sum = fold_block(sum, 0.0f, [](float a, float b) { return a + b; });
        for (size_t i = threadIdx.x; i < cols; i += blockDim.x) {
            y[row * cols + i] = expf(from[i] - most) / sum;
        }
    }
}
// ANCHOR_END: softmax

extern "C" {

// ANCHOR: saxpy
// y = a x + y
__global__ void saxpy(float a, const float *x, float *y, size_t n) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = fmaf(a, x[i], y[i]);
    }
}
// ANCHOR_END: saxpy

#define THREADS 256
#define RADIUS 3
#define WIDTH (2 * RADIUS + 1)

// ANCHOR: smooth
// y[i] = mean of x[i - RADIUS .. i + RADIUS]
__global__ void smooth(const float *x, float *y, size_t n) {
    __shared__ float tile[THREADS + 2 * RADIUS];
    size_t step = size_t(gridDim.x) * THREADS;
    for (size_t first = size_t(blockIdx.x) * THREADS; first < n; first += step) {
        for (int slot = threadIdx.x; slot < THREADS + 2 * RADIUS; slot += THREADS) {
            size_t at = first + slot - RADIUS; // wraps left of x
            tile[slot] = at < n ? x[at] : 0.0f;
        }
        __syncthreads();
        if (first + threadIdx.x < n) {
            float sum = 0.0f;
            for (int k = 0; k < WIDTH; k++) {
                sum += tile[threadIdx.x + k];
            }
            y[first + threadIdx.x] = sum / WIDTH;
        }
        __syncthreads();
    }
}
// ANCHOR_END: smooth

#define BINS 256

// ANCHOR: histogram
// counts[v] += the number of bytes with the value v
__global__ void histogram(const unsigned char *bytes, size_t n, unsigned *counts) {
    __shared__ unsigned bins[BINS];
    bins[threadIdx.x] = 0;
    __syncthreads();
    size_t step = size_t(gridDim.x) * BINS;
    for (size_t i = size_t(blockIdx.x) * BINS + threadIdx.x; i < n; i += step) {
        atomicAdd(&bins[bytes[i]], 1);
    }
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
}
// ANCHOR_END: histogram

// ANCHOR: dot
// total[0] += the sum of x[i] y[i]
__global__ void dot(const float *x, const float *y, size_t n, float *total) {
    float sum = 0.0f;
    size_t step = size_t(gridDim.x) * blockDim.x;
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
        sum = fmaf(x[i], y[i], sum);
    }
    for (int delta = 16; delta > 0; delta /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, delta);
    }
    if (threadIdx.x % warpSize == 0) {
        atomicAdd(total, sum);
    }
}
// ANCHOR_END: dot

#define TILE 16

// ANCHOR: multiply
// C = A B, row-major
__global__ void multiply(const float *a, const float *b, float *c,
                         size_t rows, size_t inner, size_t cols) {
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    size_t row = size_t(blockIdx.y) * TILE + threadIdx.y;
    size_t col = size_t(blockIdx.x) * TILE + threadIdx.x;
    float sum = 0.0f;
    for (size_t k = 0; k < inner; k += TILE) {
        size_t x = k + threadIdx.x, y = k + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] =
            row < rows && x < inner ? a[row * inner + x] : 0.0f;
        tile_b[threadIdx.y][threadIdx.x] =
            y < inner && col < cols ? b[y * cols + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; i++) {
            sum = fmaf(tile_a[threadIdx.y][i], tile_b[i][threadIdx.x], sum);
        }
        __syncthreads();
    }
    if (row < rows && col < cols) {
        c[row * cols + col] = sum;
    }
}
// ANCHOR_END: multiply

}
