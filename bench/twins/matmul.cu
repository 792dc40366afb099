// Twins of kernels/src/matmul, and the tutorial's product of square matrices by 16 x 16 tiles in
// shared memory.
//! {"works": "matmul/f32", "by": "document", "rung": "document: 16x16 tiles", "kernel": "matmul_tiled_f32", "grid": "ceil(cols, 16), ceil(rows, 16)", "block": "16, 16", "shared": "0", "arguments": "a, b, out, rows, inner, cols"}
//! {"works": "matmul/f32", "by": "nvcc", "rung": "tiled", "kernel": "matmul_tiled_f32", "grid": "ceil(cols, 16), ceil(rows, 16)", "block": "16, 16", "shared": "0", "arguments": "a, b, out, rows, inner, cols"}
//! {"works": "matmul/f32", "by": "nvcc", "rung": "naive", "kernel": "matmul_naive_f32", "grid": "ceil(cols, 16), ceil(rows, 16)", "block": "16, 16", "shared": "0", "arguments": "a, b, out, rows, inner, cols"}
//! {"works": "matmul/f64", "by": "nvcc", "rung": "tiled", "kernel": "matmul_tiled_f64", "grid": "ceil(cols, 16), ceil(rows, 16)", "block": "16, 16", "shared": "0", "arguments": "a, b, out, rows, inner, cols"}
//! {"works": "matmul/f64", "by": "nvcc", "rung": "naive", "kernel": "matmul_naive_f64", "grid": "ceil(cols, 16), ceil(rows, 16)", "block": "16, 16", "shared": "0", "arguments": "a, b, out, rows, inner, cols"}

typedef long long i64;
const int TILE = 16;

template <typename T>
__device__ void naive(const T* __restrict__ a, const T* __restrict__ b, T* c, i64 rows, i64 inner, i64 cols) {
    i64 row = (i64)blockIdx.y * TILE + threadIdx.y, col = (i64)blockIdx.x * TILE + threadIdx.x;
    if (row >= rows || col >= cols) return;
    T sum = 0;
    for (i64 k = 0; k < inner; ++k) sum += a[row * inner + k] * b[k * cols + col];
    c[row * cols + col] = sum;
}

template <typename T>
__device__ void tiled(const T* __restrict__ a, const T* __restrict__ b, T* c, i64 rows, i64 inner, i64 cols) {
    __shared__ T of_a[TILE][TILE], of_b[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    i64 row = (i64)blockIdx.y * TILE + y, col = (i64)blockIdx.x * TILE + x;
    T sum = 0;
    for (i64 first = 0; first < inner; first += TILE) {
        of_a[y][x] = row < rows && first + x < inner ? a[row * inner + first + x] : T(0);
        of_b[y][x] = first + y < inner && col < cols ? b[(first + y) * cols + col] : T(0);
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += of_a[y][k] * of_b[k][x];
        __syncthreads();
    }
    if (row < rows && col < cols) c[row * cols + col] = sum;
}

#define KERNEL(NAME, FORM, T) \
    extern "C" __global__ void NAME(const T* __restrict__ a, const T* __restrict__ b, T* c, i64 rows, i64 inner, i64 cols) { FORM(a, b, c, rows, inner, cols); }
KERNEL(matmul_naive_f32, naive, float)
KERNEL(matmul_tiled_f32, tiled, float)
KERNEL(matmul_naive_f64, naive, double)
KERNEL(matmul_tiled_f64, tiled, double)
