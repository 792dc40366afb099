// Twins of kernels/src/matmul/register_tile.rs and pipelined.rs (with stage.rs and policy.rs): elements of C in registers. The barriers are
// explained there.
//! {"works": "matmul/f32", "by": "nvcc", "rung": "register-tile", "kernel": "matmul_register_tile_f32", "grid": "ceil(cols, 128), ceil(rows, 128)", "block": "16, 16", "shared": "0", "arguments": "a, b, out, rows, inner, cols"}
//! {"works": "matmul/f32", "by": "nvcc", "rung": "pipelined", "kernel": "matmul_pipelined_f32", "grid": "ceil(rows, 128) * ceil(cols, 128)", "block": "128", "shared": "33280", "arguments": "a, b, out, rows, inner, cols, 0"}

typedef long long i64;
typedef unsigned u32;

// A stride of 129 words, so that neighbours store A's transposed tile into different banks.
extern "C" __global__ void matmul_register_tile_f32(const float* __restrict__ a, const float* __restrict__ b, float* c, i64 rows, i64 inner, i64 cols) {
    const int TILE = 16, EACH = 8, SIDE = 128, DEPTH = 8, STRIDE = SIDE + 1, LOADS = 4, ROWS_A = TILE * TILE / DEPTH, ROWS_B = TILE * TILE / SIDE;
    __shared__ float tile_a[DEPTH * STRIDE], tile_b[DEPTH * STRIDE];
    int x = threadIdx.x, y = threadIdx.y, t = y * TILE + x;
    int row_a = t / DEPTH, col_a = t % DEPTH, row_b = t / SIDE, col_b = t % SIDE;
    for (i64 top = (i64)blockIdx.y * SIDE; top < rows; top += (i64)gridDim.y * SIDE)
        for (i64 left = (i64)blockIdx.x * SIDE; left < cols; left += (i64)gridDim.x * SIDE) {
            float sums[EACH][EACH] = {};
            for (i64 step = 0; step < inner; step += DEPTH) {
                float from_a[LOADS], from_b[LOADS];
                #pragma unroll
                for (int i = 0; i < LOADS; ++i) {
                    i64 row = top + row_a + i * ROWS_A, k = step + row_b + i * ROWS_B;
                    from_a[i] = row < rows && step + col_a < inner ? a[row * inner + step + col_a] : 0.0f;
                    from_b[i] = k < inner && left + col_b < cols ? b[k * cols + left + col_b] : 0.0f;
                }
                #pragma unroll
                for (int i = 0; i < LOADS; ++i) {
                    tile_a[col_a * STRIDE + row_a + i * ROWS_A] = from_a[i];
                    tile_b[(row_b + i * ROWS_B) * STRIDE + col_b] = from_b[i];
                }
                __syncthreads();
                for (int k = 0; k < DEPTH; ++k) {
                    float of_a[EACH], of_b[EACH];
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

// The policy, and the tiles of C in groups of rows.
const int SIDE = 128, INNER = 8, STAGES = 4, GROUP = 8, ROWS = 8, COLS = 16, LANE_ROWS = 8, LANE_COLS = 4, THREADS = 128;
const int STRIDE_A = SIDE + 4, WORDS_A = INNER * STRIDE_A, WORDS = WORDS_A + INNER * SIDE;
__device__ bool place(i64 tile, i64 rows, i64 cols, i64& top, i64& left) {
    i64 high = (rows + SIDE - 1) / SIDE, wide = (cols + SIDE - 1) / SIDE;
    if (tile >= high * wide) return false;
    i64 first = tile / (GROUP * wide) * GROUP, height = min((i64)GROUP, high - first), inside = tile % (GROUP * wide);
    top = (first + inside % height) * SIDE;
    left = inside / height * SIDE;
    return true;
}

// Copies an element; zero unless `inside`.
__device__ void copy(u32 slot, const float* from, bool inside) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(slot), "l"(__cvta_generic_to_global(from)), "r"(inside ? 4 : 0) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
__device__ void wait_stage() { asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory"); }

extern "C" __global__ void matmul_pipelined_f32(const float* __restrict__ a, const float* __restrict__ b, float* c, i64 rows, i64 inner, i64 cols, const u32* unless) {
    if (unless && fits(unless, inner)) return;
    extern __shared__ __align__(16) float memory[];
    const u32 shared = (u32)__cvta_generic_to_shared(memory), BYTES = 4 * WORDS;
    const int ROWS_AT_ONCE = THREADS / INNER, A_COPIES = SIDE / ROWS_AT_ONCE, B_AT_ONCE = THREADS / SIDE, B_COPIES = INNER / B_AT_ONCE;
    int t = threadIdx.x, warp = t / 32, lane = t % 32, lane_row = (lane >> 1 & 1) | (lane >> 2 & 6), lane_col = (lane & 1) | (lane >> 1 & 2);
    int row = warp / 2 * LANE_ROWS * ROWS + lane_row * 4, col = warp % 2 * LANE_COLS * COLS + lane_col * 4;
    int copied_row = t / INNER, a_inner = t % INNER, b_inner = t / SIDE, copied_col = t % SIDE;
    u32 a_to = shared + 4 * (a_inner * STRIDE_A + copied_row), b_to = shared + 4 * (WORDS_A + b_inner * SIDE + copied_col);
    auto next = [&](u32 stage) { return stage == (STAGES - 1) * BYTES ? 0 : stage + BYTES; };
    i64 steps = (inner + INNER - 1) / INNER, ragged = inner - (steps > 0 ? steps - 1 : 0) * INNER, top, left;
    for (i64 tile = (i64)blockIdx.y * gridDim.x + blockIdx.x; place(tile, rows, cols, top, left); tile += (i64)gridDim.x * gridDim.y) {
        const float* a_from[A_COPIES];
        #pragma unroll
        for (int i = 0; i < A_COPIES; ++i) a_from[i] = a + min(top + copied_row + i * ROWS_AT_ONCE, rows - 1) * inner + a_inner;
        const float* b_from = b + b_inner * cols + min(left + copied_col, cols - 1);
        i64 filled = 0, k = 0;
        auto fill = [&](u32 stage, i64 len) {
            if (filled < steps) {
                #pragma unroll
                for (int i = 0; i < A_COPIES; ++i) copy(a_to + stage + 4 * i * ROWS_AT_ONCE, a_inner < len ? a_from[i] + k : a, a_inner < len);
                #pragma unroll
                for (int i = 0; i < B_COPIES; ++i) {
                    bool inside = b_inner + i * B_AT_ONCE < len;
                    copy(b_to + stage + 4 * i * B_AT_ONCE * SIDE, inside ? b_from + (k + i * B_AT_ONCE) * cols : b, inside);
                }
                k += len;
                ++filled;
            }
            commit();
        };
        #pragma unroll
        for (int i = 0; i < STAGES - 1; ++i) fill(i * BYTES, i == 0 ? ragged : INNER);
        u32 read = 0, write = (STAGES - 1) * BYTES;
        wait_stage();
        __syncthreads();

        float sums[ROWS][COLS] = {}, of_a[2][ROWS], of_b[2][COLS];
        auto load = [&](int into, u32 stage, int at) {
            const float *from_a = memory + stage / 4 + at * STRIDE_A + row, *from_b = memory + stage / 4 + WORDS_A + at * SIDE + col;
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
            wait_stage();
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
            for (int j = 0; j < COLS; ++j) {
                i64 y = top + row + i / 4 * LANE_ROWS * 4 + i % 4, x = left + col + j / 4 * LANE_COLS * 4 + j % 4;
                if (y < rows && x < cols) c[y * cols + x] = sums[i][j];
            }
    }
}
