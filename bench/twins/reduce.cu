// Twins of kernels/src/reduce: each thread folds every (threads in the grid)-th element, each block
// folds its threads' values; `wide` and `single` load 16 bytes at a time, in the launches of
// policy.rs for 132 multiprocessors. All twins add in the element's type; `shuffle`, `wide` and
// `single` of kernels/src/reduce add in more. And the Julia tutorial's dot product: a halving tree in
// dynamic shared memory, in 32 blocks, and in as many as fill the device.
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
//! {"works": "sum/f32", "by": "nvcc", "rung": "wide", "kernel": "sum_wide_f32", "grid": "min(ceil(4 * n, 64 * (512 if 4 * n <= 1 << 23 else 1024)), 264)", "block": "512 if 4 * n <= 1 << 23 else 1024", "shared": "0", "arguments": "a, n, out", "results": "grid"}
//! {"works": "min/f32", "by": "nvcc", "rung": "wide", "kernel": "min_wide_f32", "grid": "min(ceil(4 * n, 64 * (512 if 4 * n <= 1 << 23 else 1024)), 264)", "block": "512 if 4 * n <= 1 << 23 else 1024", "shared": "0", "arguments": "a, n, out", "results": "grid"}
//! {"works": "max/f32", "by": "nvcc", "rung": "wide", "kernel": "max_wide_f32", "grid": "min(ceil(4 * n, 64 * (512 if 4 * n <= 1 << 23 else 1024)), 264)", "block": "512 if 4 * n <= 1 << 23 else 1024", "shared": "0", "arguments": "a, n, out", "results": "grid"}
//! {"works": "dot/f32", "by": "nvcc", "rung": "wide", "kernel": "dot_wide_f32", "grid": "min(ceil(4 * n, 64 * (512 if 4 * n <= 1 << 23 else 1024)), 264)", "block": "512 if 4 * n <= 1 << 23 else 1024", "shared": "0", "arguments": "a, b, n, out", "results": "grid"}
//! {"works": "dot/i64", "by": "nvcc", "rung": "wide", "kernel": "dot_wide_i64", "grid": "min(ceil(8 * n, 64 * (512 if 8 * n <= 1 << 23 else 1024)), 264)", "block": "512 if 8 * n <= 1 << 23 else 1024", "shared": "0", "arguments": "a, b, n, out", "results": "grid"}
//! {"works": "sum/f32", "by": "nvcc", "rung": "single", "kernel": "sum_single_f32", "grid": "min(ceil(4 * n, 64 * (512 if 4 * n <= 1 << 23 else 1024)), 264)", "block": "512 if 4 * n <= 1 << 23 else 1024", "shared": "0", "arguments": "a, n, out", "results": "1"}
//! {"works": "min/f32", "by": "nvcc", "rung": "single", "kernel": "min_single_f32", "grid": "min(ceil(4 * n, 64 * (512 if 4 * n <= 1 << 23 else 1024)), 264)", "block": "512 if 4 * n <= 1 << 23 else 1024", "shared": "0", "arguments": "a, n, out", "results": "1"}
//! {"works": "max/f32", "by": "nvcc", "rung": "single", "kernel": "max_single_f32", "grid": "min(ceil(4 * n, 64 * (512 if 4 * n <= 1 << 23 else 1024)), 264)", "block": "512 if 4 * n <= 1 << 23 else 1024", "shared": "0", "arguments": "a, n, out", "results": "1"}
//! {"works": "dot/f32", "by": "nvcc", "rung": "single", "kernel": "dot_single_f32", "grid": "min(ceil(4 * n, 64 * (512 if 4 * n <= 1 << 23 else 1024)), 264)", "block": "512 if 4 * n <= 1 << 23 else 1024", "shared": "0", "arguments": "a, b, n, out", "results": "1"}
//! {"works": "dot/i64", "by": "nvcc", "rung": "single", "kernel": "dot_single_i64", "grid": "min(ceil(8 * n, 64 * (512 if 8 * n <= 1 << 23 else 1024)), 264)", "block": "512 if 8 * n <= 1 << 23 else 1024", "shared": "0", "arguments": "a, b, n, out", "results": "1"}
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

template <class T> struct alignas(16) Pack { T lane[16 / sizeof(T)]; };

// The thread's share, 4 packs of each operand in flight; fold(value, elements) takes one of each.
template <class Op, int OPERANDS, class T, class F> __device__ T packed(const T* const (&operand)[OPERANDS], i64 n, F fold) {
    constexpr int LANES = 16 / sizeof(T), IN_FLIGHT = 4;
    T start = Op::template identity<T>();
    auto before = [](const T* pointer) { return (i64)(-(unsigned long long)pointer % 16 / sizeof(T)); };
    auto element = [&](T value, i64 i) {
        T elements[OPERANDS];
        for (int k = 0; k < OPERANDS; k++) elements[k] = operand[k][i];
        return fold(value, elements);
    };
    i64 head = before(operand[0]);
    for (int k = 1; k < OPERANDS; k++)
        if (before(operand[k]) != head) return share(n, start, element);
    head = head < n ? head : n;
    i64 packs = (n - head) / LANES, threads = blockDim.x, t = threadIdx.x, in_grid = blockIdx.x * threads + t;
    auto load = [&](int k, i64 i) { return ((const Pack<T>*)(operand[k] + head))[i]; };
    T lanes[LANES];
    for (int lane = 0; lane < LANES; lane++) lanes[lane] = start;
    auto add = [&](const Pack<T> (&loaded)[OPERANDS]) {
        for (int lane = 0; lane < LANES; lane++) {
            T elements[OPERANDS];
            for (int k = 0; k < OPERANDS; k++) elements[k] = loaded[k].lane[lane];
            lanes[lane] = fold(lanes[lane], elements);
        }
    };
    i64 tile = threads * IN_FLIGHT, first = blockIdx.x * tile;
    for (; first + tile <= packs; first += gridDim.x * tile) {
        Pack<T> loaded[IN_FLIGHT][OPERANDS];
        #pragma unroll
        for (int part = 0; part < IN_FLIGHT; part++)
            for (int k = 0; k < OPERANDS; k++) loaded[part][k] = load(k, first + part * threads + t);
        #pragma unroll
        for (int part = 0; part < IN_FLIGHT; part++) add(loaded[part]);
    }
    for (i64 i = first + t; i < packs; i += threads) {
        Pack<T> loaded[OPERANDS];
        for (int k = 0; k < OPERANDS; k++) loaded[k] = load(k, i);
        add(loaded);
    }
    T value = start;
    if (in_grid < head) value = element(value, in_grid);
    i64 tail = head + packs * LANES;
    if (tail + in_grid < n) value = element(value, tail + in_grid);
    for (int lane = 0; lane < LANES; lane++) value = Op::of(value, lanes[lane]);
    return value;
}

struct Wide {
    template <class Op, class T> static __device__ void finish(T value, T* out) {
        value = Shuffle::combine<Op>(value);
        if (threadIdx.x == 0) out[blockIdx.x] = value;
    }
};

// The block that takes the last ticket folds what all have written.
struct Single {
    template <class Op, class T> static __device__ void finish(T value, T* out) {
        unsigned* tickets = (unsigned*)(out + gridDim.x);
        value = Shuffle::combine<Op>(value);
        if (threadIdx.x >= 32) return;
        unsigned ticket = 0;
        if (threadIdx.x == 0) {
            out[blockIdx.x] = value;
            __threadfence();
            ticket = atomicAdd(tickets, 1) + 1;
            __threadfence();
        }
        ticket = __shfl_sync(0xffffffffu, ticket, 0);
        if (ticket != gridDim.x - 1) return;
        __syncwarp();
        value = Op::template identity<T>();
        for (unsigned i = threadIdx.x; i < gridDim.x; i += 32) value = Op::of(value, out[i]);
        value = Shuffle::warp<Op>(value);
        if (threadIdx.x == 0) {
            *out = value;
            *tickets = 0xffffffffu;
        }
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
#define PACKED_DOT(name, How, T)                                                                                           \
    extern "C" __global__ void dot_##name(const T* __restrict__ a, const T* __restrict__ b, i64 n, T* out) {               \
        const T* operands[2] = {a, b};                                                                                     \
        How::finish<Add>(packed<Add>(operands, n, [](T sum, const T (&x)[2]) { return x[0] * x[1] + sum; }), out);          \
    }
#define PACKED(operation, name, How, Op)                                                                                   \
    extern "C" __global__ void operation##_##name(const float* __restrict__ a, i64 n, float* out) {                        \
        const float* operands[1] = {a};                                                                                    \
        How::finish<Op>(packed<Op>(operands, n, [](float sofar, const float (&x)[1]) { return Op::of(sofar, x[0]); }), out); \
    }
#define ALL_PACKED(name, How)                                                                                              \
    PACKED_DOT(name##_f32, How, float)                                                                                     \
    PACKED_DOT(name##_i64, How, i64)                                                                                       \
    PACKED(sum, name##_f32, How, Add)                                                                                      \
    PACKED(min, name##_f32, How, Min)                                                                                      \
    PACKED(max, name##_f32, How, Max)
#define ALL(name, How)                                                                                                     \
    KERNELS(name##_f32, How, float)                                                                                        \
    KERNELS(name##_i64, How, i64)                                                                                          \
    REDUCTION(sum, name##_f32, How, Add)                                                                                   \
    REDUCTION(min, name##_f32, How, Min)                                                                                   \
    REDUCTION(max, name##_f32, How, Max)

ALL(interleaved, Interleaved)
ALL(tree, Tree)
ALL(shuffle, Shuffle)
ALL_PACKED(wide, Wide)
ALL_PACKED(single, Single)
