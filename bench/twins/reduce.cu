// Twins of kernels/src/reduce: each thread folds every (threads in the grid)-th element, each block folds its threads' values. And the
// Julia tutorial's dot product: a halving tree in dynamic shared memory, in 32 blocks, and in as many as fill the device.
//! {"works": "sum/f32", "by": "nvcc", "rung": "interleaved", "kernel": "sum_interleaved_f32", "grid": "min(ceil(n, 256), 1024)", "block": "256", "shared": "1024", "arguments": "a, n, out", "results": "grid"}
//! {"works": "sum/f32", "by": "nvcc", "rung": "tree", "kernel": "sum_tree_f32", "grid": "min(ceil(n, 256), 1024)", "block": "256", "shared": "1024", "arguments": "a, n, out", "results": "grid"}
//! {"works": "sum/f32", "by": "nvcc", "rung": "shuffle", "kernel": "sum_shuffle_f32", "grid": "min(ceil(n, 256), 1024)", "block": "256", "shared": "0", "arguments": "a, n, out", "results": "grid"}
//! {"works": "min/f32", "by": "nvcc", "rung": "interleaved", "kernel": "min_interleaved_f32", "grid": "min(ceil(n, 256), 1024)", "block": "256", "shared": "1024", "arguments": "a, n, out", "results": "grid"}
//! {"works": "min/f32", "by": "nvcc", "rung": "tree", "kernel": "min_tree_f32", "grid": "min(ceil(n, 256), 1024)", "block": "256", "shared": "1024", "arguments": "a, n, out", "results": "grid"}
//! {"works": "min/f32", "by": "nvcc", "rung": "shuffle", "kernel": "min_shuffle_f32", "grid": "min(ceil(n, 256), 1024)", "block": "256", "shared": "0", "arguments": "a, n, out", "results": "grid"}
//! {"works": "max/f32", "by": "nvcc", "rung": "interleaved", "kernel": "max_interleaved_f32", "grid": "min(ceil(n, 256), 1024)", "block": "256", "shared": "1024", "arguments": "a, n, out", "results": "grid"}
//! {"works": "max/f32", "by": "nvcc", "rung": "tree", "kernel": "max_tree_f32", "grid": "min(ceil(n, 256), 1024)", "block": "256", "shared": "1024", "arguments": "a, n, out", "results": "grid"}
//! {"works": "max/f32", "by": "nvcc", "rung": "shuffle", "kernel": "max_shuffle_f32", "grid": "min(ceil(n, 256), 1024)", "block": "256", "shared": "0", "arguments": "a, n, out", "results": "grid"}
//! {"works": "dot/f32", "by": "nvcc", "rung": "interleaved", "kernel": "dot_interleaved_f32", "grid": "min(ceil(n, 256), 1024)", "block": "256", "shared": "1024", "arguments": "a, b, n, out", "results": "grid"}
//! {"works": "dot/f32", "by": "nvcc", "rung": "tree", "kernel": "dot_tree_f32", "grid": "min(ceil(n, 256), 1024)", "block": "256", "shared": "1024", "arguments": "a, b, n, out", "results": "grid"}
//! {"works": "dot/f32", "by": "nvcc", "rung": "shuffle", "kernel": "dot_shuffle_f32", "grid": "min(ceil(n, 256), 1024)", "block": "256", "shared": "0", "arguments": "a, b, n, out", "results": "grid"}
//! {"works": "dot/i64", "by": "nvcc", "rung": "interleaved", "kernel": "dot_interleaved_i64", "grid": "min(ceil(n, 256), 1024)", "block": "256", "shared": "2048", "arguments": "a, b, n, out", "results": "grid"}
//! {"works": "dot/i64", "by": "nvcc", "rung": "tree", "kernel": "dot_tree_i64", "grid": "min(ceil(n, 256), 1024)", "block": "256", "shared": "2048", "arguments": "a, b, n, out", "results": "grid"}
//! {"works": "dot/i64", "by": "nvcc", "rung": "shuffle", "kernel": "dot_shuffle_i64", "grid": "min(ceil(n, 256), 1024)", "block": "256", "shared": "0", "arguments": "a, b, n, out", "results": "grid"}
//! {"works": "dot/i64", "by": "document", "rung": "document: 32 blocks", "kernel": "dot_tree_i64", "grid": "min(ceil(n, 256), 32)", "block": "256", "shared": "2048", "arguments": "a, b, n, out", "results": "grid"}
//! {"works": "dot/i64", "by": "document", "rung": "document: 1056 blocks", "kernel": "dot_tree_i64", "grid": "min(ceil(n, 256), 1056)", "block": "256", "shared": "2048", "arguments": "a, b, n, out", "results": "grid"}

typedef long long i64;

struct Add {
    template <class T> static __device__ T identity() { return T(0); }
    template <class T> static __device__ T of(T a, T b) { return a + b; }
};
struct Min {
    template <class T> static __device__ T identity() { return T(__int_as_float(0x7f800000)); }
    // A NaN wins, as in NumPy.
    template <class T> static __device__ T of(T a, T b) { return a < b || a != a ? a : b; }
};
struct Max {
    template <class T> static __device__ T identity() { return T(__int_as_float(0xff800000)); }
    template <class T> static __device__ T of(T a, T b) { return a > b || a != a ? a : b; }
};

template <class T, class F> __device__ T share(i64 n, T value, F fold) {
    i64 stride = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) value = fold(value, i);
    return value;
}

struct Interleaved {
    template <class Op, class T> static __device__ T combine(T value) {
        extern __shared__ __align__(16) unsigned char memory[];
        T* slots = (T*)memory;
        unsigned t = threadIdx.x;
        slots[t] = value;
        for (unsigned distance = 1; distance < blockDim.x; distance *= 2) {
            __syncthreads();
            unsigned slot = 2 * distance * t;
            if (slot + distance < blockDim.x) slots[slot] = Op::of(slots[slot], slots[slot + distance]);
        }
        return slots[t];
    }
};

struct Tree {
    template <class Op, class T> static __device__ T combine(T value) {
        extern __shared__ __align__(16) unsigned char memory[];
        T* slots = (T*)memory;
        unsigned t = threadIdx.x;
        slots[t] = value;
        for (unsigned left = blockDim.x; left > 1;) {
            unsigned half = (left + 1) / 2;
            __syncthreads();
            if (t + half < left) slots[t] = Op::of(slots[t], slots[t + half]);
            left = half;
        }
        return slots[t];
    }
};

struct Shuffle {
    template <class Op, class T> static __device__ T warp(T value) {
        for (int delta = 16; delta > 0; delta /= 2) value = Op::of(value, __shfl_down_sync(0xffffffffu, value, delta));
        return value;
    }
    template <class Op, class T> static __device__ T combine(T value) {
        __shared__ T slots[32];
        unsigned lane = threadIdx.x % 32, w = threadIdx.x / 32;
        value = warp<Op>(value);
        if (lane == 0) slots[w] = value;
        __syncthreads();
        if (w != 0) return value;
        return warp<Op>(lane < blockDim.x / 32 ? slots[lane] : Op::template identity<T>());
    }
};

#define KERNELS(name, How, T)                                                                                              \
    extern "C" __global__ void dot_##name(const T* __restrict__ a, const T* __restrict__ b, i64 n, T* out) {               \
        T value = How::combine<Add>(share(n, T(0), [=](T sum, i64 i) { return a[i] * b[i] + sum; }));                       \
        if (threadIdx.x == 0) out[blockIdx.x] = value;                                                                     \
    }
#define REDUCTION(operation, name, How, Op)                                                                                \
    extern "C" __global__ void operation##_##name(const float* __restrict__ a, i64 n, float* out) {                        \
        float start = Op::identity<float>();                                                                               \
        float value = How::combine<Op>(share(n, start, [=](float sofar, i64 i) { return Op::of(sofar, a[i]); }));           \
        if (threadIdx.x == 0) out[blockIdx.x] = value;                                                                     \
    }
#define ALL(name, How)                                                                                                     \
    KERNELS(name##_f32, How, float)                                                                                        \
    KERNELS(name##_i64, How, i64)                                                                                          \
    REDUCTION(sum, name##_f32, How, Add)                                                                                   \
    REDUCTION(min, name##_f32, How, Min)                                                                                   \
    REDUCTION(max, name##_f32, How, Max)

ALL(interleaved, Interleaved)
ALL(tree, Tree)
ALL(shuffle, Shuffle)
