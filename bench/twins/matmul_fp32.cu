// Twins of kernels/src/matmul/register_tile.rs and pipelined.rs (with stage.rs and policy.rs):
// elements of C in registers. The barriers are explained there.
//! {"works": "matmul/f32", "by": "nvcc", "rung": "register-tile", "kernel": "matmul_register_tile_f32", "grid": "ceil(cols, 128), ceil(rows, 128)", "block": "16, 16", "shared": "0", "arguments": "a, b, out, rows, inner, cols"}
//! {"works": "matmul/f64", "by": "nvcc", "rung": "register-tile", "kernel": "matmul_register_tile_f64", "grid": "ceil(cols, 128), ceil(rows, 128)", "block": "16, 16", "shared": "0", "arguments": "a, b, out, rows, inner, cols"}
//! {"works": "matmul/f32", "by": "nvcc", "rung": "pipelined", "when": "cols % 4 == 0 and ceil(rows, 128) * ceil(cols, 256) * 100 >= ceil(ceil(rows, 128) * ceil(cols, 256), multiprocessors) * multiprocessors * 90", "kernel": "matmul_pipelined_f32", "grid": "ceil(rows, 128) * ceil(cols, 256)", "block": "256", "shared": "49664", "arguments": "a, b, out, rows, inner, cols, 0"}
//! {"works": "matmul/f32", "by": "nvcc", "rung": "pipelined", "when": "cols % 4 == 0 and not ceil(rows, 128) * ceil(cols, 256) * 100 >= ceil(ceil(rows, 128) * ceil(cols, 256), multiprocessors) * multiprocessors * 90", "kernel": "matmul_pipelined_tall_f32", "grid": "ceil(rows, 128) * ceil(cols, 64)", "block": "128", "shared": "37632", "arguments": "a, b, out, rows, inner, cols, 0"}
//! {"works": "matmul/f32", "by": "nvcc", "rung": "pipelined", "when": "cols % 4 != 0", "kernel": "matmul_pipelined_ragged_f32", "grid": "ceil(rows, 128) * ceil(cols, 64)", "block": "128", "shared": "37632", "arguments": "a, b, out, rows, inner, cols, 0"}

typedef long long i64;
typedef unsigned u32;

// A stride of 129 words, so that neighbours store A's transposed tile into different banks.
template <typename T>
__device__ void register_tile(const T* __restrict__ a, const T* __restrict__ b, T* c, i64 rows, i64 inner, i64 cols) {
    const int TILE = 16, EACH = 8, SIDE = 128, DEPTH = 8, STRIDE = SIDE + 1, LOADS = 4, ROWS_A = TILE * TILE / DEPTH, ROWS_B = TILE * TILE / SIDE;
    __shared__ T tile_a[DEPTH * STRIDE], tile_b[DEPTH * STRIDE];
    int x = threadIdx.x, y = threadIdx.y, t = y * TILE + x;
    int row_a = t / DEPTH, col_a = t % DEPTH, row_b = t / SIDE, col_b = t % SIDE;
    for (i64 top = (i64)blockIdx.y * SIDE; top < rows; top += (i64)gridDim.y * SIDE)
        for (i64 left = (i64)blockIdx.x * SIDE; left < cols; left += (i64)gridDim.x * SIDE) {
            T sums[EACH][EACH] = {};
            for (i64 step = 0; step < inner; step += DEPTH) {
                T from_a[LOADS], from_b[LOADS];
                #pragma unroll
                for (int i = 0; i < LOADS; ++i) {
                    i64 row = top + row_a + i * ROWS_A, k = step + row_b + i * ROWS_B;
                    from_a[i] = row < rows && step + col_a < inner ? a[row * inner + step + col_a] : T(0);
                    from_b[i] = k < inner && left + col_b < cols ? b[k * cols + left + col_b] : T(0);
                }
                #pragma unroll
                for (int i = 0; i < LOADS; ++i) {
                    tile_a[col_a * STRIDE + row_a + i * ROWS_A] = from_a[i];
                    tile_b[(row_b + i * ROWS_B) * STRIDE + col_b] = from_b[i];
                }
                __syncthreads();
                for (int k = 0; k < DEPTH; ++k) {
                    T of_a[EACH], of_b[EACH];
                    #pragma unroll
                    for (int i = 0; i < EACH; ++i) of_a[i] = tile_a[k * STRIDE + y + TILE * i], of_b[i] = tile_b[k * STRIDE + x + TILE * i];
                    #pragma unroll
                    for (int i = 0; i < EACH; ++i)
                        #pragma unroll
                        for (int j = 0; j < EACH; ++j) sums[i][j] += of_a[i] * of_b[j];
                }
                __syncthreads();
            }
            #pragma unroll
            for (int i = 0; i < EACH; ++i)
                #pragma unroll
                for (int j = 0; j < EACH; ++j) {
                    i64 row = top + y + TILE * i, col = left + x + TILE * j;
                    if (row < rows && col < cols) c[row * cols + col] = sums[i][j];
                }
        }
}

#define REGISTER_TILE(NAME, T) \
    extern "C" __global__ void NAME(const T* __restrict__ a, const T* __restrict__ b, T* c, i64 rows, i64 inner, i64 cols) { register_tile(a, b, c, rows, inner, cols); }
REGISTER_TILE(matmul_register_tile_f32, float)
REGISTER_TILE(matmul_register_tile_f64, double)

// Magnitudes for which the tensor cores have made the product: split.rs.
__device__ bool fits(const u32* ranges, i64 inner) {
    const u32 SMALL = (127 - 48) << 23, LARGE = (127 + 48) << 23;
    i64 low = 0, high = 0;
    for (int operand = 0; operand < 2; ++operand) {
        low += min(ranges[2 * operand], SMALL) >> 23;
        high += max(~ranges[2 * operand + 1], LARGE) >> 23;
    }
    return high + (64 - __clzll(inner)) + 3 < 2 * 127 + 127 && low > 127 + 27;
}

// A policy, and its tiles of C in groups of rows.
const int ROWS = 8, LANE_ROWS = 8, LANE_COLS = 4, GROUP = 8, SIDE = 128;
template <int WIDTH, int DEPTH, int RING, int COLUMNS, int ELEMENTS> struct Policy {
    static const int COLS = WIDTH, INNER = DEPTH, STAGES = RING, OWN = COLUMNS, VECTOR = ELEMENTS, WARPS = WIDTH / (LANE_COLS * COLUMNS);
    static const int THREADS = 2 * 32 * WARPS, STRIDE_A = SIDE + 4, WORDS_A = INNER * STRIDE_A, WORDS = WORDS_A + INNER * COLS;
    static __device__ bool place(i64 tile, i64 rows, i64 cols, i64& top, i64& left) {
        i64 high = (rows + SIDE - 1) / SIDE, wide = (cols + COLS - 1) / COLS;
        if (tile >= high * wide) return false;
        i64 first = tile / (GROUP * wide) * GROUP, height = min((i64)GROUP, high - first), inside = tile % (GROUP * wide);
        top = (first + inside % height) * SIDE;
        left = inside / height * COLS;
        return true;
    }
};

// Copies an element, or a vector of four; zeros unless `inside`.
template <int ELEMENTS> __device__ void copy(u32 slot, const float* from, bool inside) {
    if (ELEMENTS == 4)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(slot), "l"(__cvta_generic_to_global(from)), "r"(inside ? 16 : 0) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(slot), "l"(__cvta_generic_to_global(from)), "r"(inside ? 4 : 0) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int AHEAD> __device__ void wait_stage() { asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD) : "memory"); }
// The same element in a register that ptxas takes for another: asm.rs says why.
__device__ float moved(float element) {
    u32 zero;
    asm("mov.u32 %0, %tid.z;" : "=r"(zero));
    return __uint_as_float(__float_as_uint(element) ^ zero);
}

template <class P> __device__ void pipelined(const float* __restrict__ a, const float* __restrict__ b, float* c, i64 rows, i64 inner, i64 cols, const u32* unless) {
    if (unless && fits(unless, inner)) return;
    extern __shared__ __align__(16) float ring[];
    const u32 shared = (u32)__cvta_generic_to_shared(ring), BYTES = 4 * P::WORDS;
    const int INNER = P::INNER, STAGES = P::STAGES, COLS = P::OWN, ROWS_AT_ONCE = P::THREADS / INNER, A_COPIES = SIDE / ROWS_AT_ONCE;
    const int B_WIDE = P::COLS / P::VECTOR, B_AT_ONCE = P::THREADS / B_WIDE, B_COPIES = INNER / B_AT_ONCE;
    int t = threadIdx.x, warp = t / 32, lane = t % 32, lane_row = (lane >> 1 & 1) | (lane >> 2 & 6), lane_col = (lane & 1) | (lane >> 1 & 2);
    int row = warp / P::WARPS * LANE_ROWS * ROWS + lane_row * 4, col = warp % P::WARPS * LANE_COLS * COLS + lane_col * 4;
    int copied_row = t / INNER, a_inner = t % INNER, b_inner = t / B_WIDE, copied_col = t % B_WIDE * P::VECTOR;
    u32 a_to = shared + 4 * (a_inner * P::STRIDE_A + copied_row), b_to = shared + 4 * (P::WORDS_A + b_inner * P::COLS + copied_col);
    auto next = [&](u32 stage) { return stage == (STAGES - 1) * BYTES ? 0 : stage + BYTES; };
    i64 steps = (inner + INNER - 1) / INNER, ragged = inner - (steps > 0 ? steps - 1 : 0) * INNER, top, left;
    for (i64 tile = (i64)blockIdx.y * gridDim.x + blockIdx.x; P::place(tile, rows, cols, top, left); tile += (i64)gridDim.x * gridDim.y) {
        const float* a_from[A_COPIES];
        #pragma unroll
        for (int i = 0; i < A_COPIES; ++i) a_from[i] = a + min(top + copied_row + i * ROWS_AT_ONCE, rows - 1) * inner + a_inner;
        const float* b_from = b + b_inner * cols + min(left + copied_col, cols - P::VECTOR);
        i64 filled = 0, k = 0;
        auto fill = [&](u32 stage, i64 len) {
            if (filled < steps) {
                #pragma unroll
                for (int i = 0; i < A_COPIES; ++i) copy<1>(a_to + stage + 4 * i * ROWS_AT_ONCE, a_inner < len ? a_from[i] + k : a, a_inner < len);
                #pragma unroll
                for (int i = 0; i < B_COPIES; ++i) {
                    bool inside = b_inner + i * B_AT_ONCE < len;
                    copy<P::VECTOR>(b_to + stage + 4 * i * B_AT_ONCE * P::COLS, inside ? b_from + (k + i * B_AT_ONCE) * cols : b, inside);
                }
                k += len;
                ++filled;
            }
            commit();
        };
        #pragma unroll
        for (int i = 0; i < STAGES - 1; ++i) fill(i * BYTES, i == 0 ? ragged : INNER);
        u32 read = 0, write = (STAGES - 1) * BYTES;
        wait_stage<STAGES - 2>();
        __syncthreads();

        float sums[ROWS][COLS] = {}, of_a[2][ROWS], of_b[2][COLS];
        auto load = [&](int into, u32 stage, int at) {
            const float *from_a = ring + stage / 4 + at * P::STRIDE_A + row, *from_b = ring + stage / 4 + P::WORDS_A + at * P::COLS + col;
            #pragma unroll
            for (int i = 0; i < ROWS; i += 4) *(float4*)&of_a[into][i] = *(const float4*)(from_a + i * LANE_ROWS);
            #pragma unroll
            for (int j = 0; j < COLS; j += 4) *(float4*)&of_b[into][j] = *(const float4*)(from_b + j * LANE_COLS);
        };
        auto multiply = [&](int from) {
            #pragma unroll
            for (int j = 0; j < COLS; ++j)
                #pragma unroll
                for (int up = 0; up < ROWS; ++up) {
                    int i = j % 2 == 0 ? up : ROWS - 1 - up;
                    sums[i][j] += of_a[from][i] * of_b[from][j];
                }
        };
        if (steps > 0) load(0, read, 0);
        for (i64 step = 0; step < steps; ++step) {
            fill(write, INNER);
            write = next(write);
            #pragma unroll
            for (int at = 0; at < INNER - 1; ++at) {
                load((at + 1) % 2, read, at + 1);
                multiply(at % 2);
            }
            wait_stage<STAGES - 2>();
            __syncthreads();
            read = next(read);
            load(0, read, 0);
            multiply((INNER - 1) % 2);
        }
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < ROWS; ++i)
            #pragma unroll
            for (int j = 0; j < COLS; j += 4) {
                i64 y = top + row + i / 4 * LANE_ROWS * 4 + i % 4, x = left + col + j * LANE_COLS;
                float* to = c + y * cols + x;
                if (P::VECTOR == 4) {
                    if (y < rows && x < cols) *(float4*)to = make_float4(moved(sums[i][j]), moved(sums[i][j + 1]), moved(sums[i][j + 2]), moved(sums[i][j + 3]));
                } else {
                    #pragma unroll
                    for (int lane = 0; lane < 4; ++lane)
                        if (y < rows && x + lane < cols) to[lane] = sums[i][j + lane];
                }
            }
    }
}

#define KERNEL(name, policy, blocks)                                                                                       \
    extern "C" __global__ void __launch_bounds__(policy::THREADS, blocks)                                                  \
        matmul_pipelined##name##_f32(const float* a, const float* b, float* c, i64 rows, i64 inner, i64 cols, const u32* unless) { \
        pipelined<policy>(a, b, c, rows, inner, cols, unless);                                                             \
    }
typedef Policy<256, 8, 4, 16, 4> Wide;
typedef Policy<64, 16, 3, 8, 4> Tall;
typedef Policy<64, 16, 3, 8, 1> Ragged;
KERNEL(, Wide, 1)
KERNEL(_tall, Tall, 3)
KERNEL(_ragged, Ragged, 3)
