// Twin of kernels/src/matmul/split.rs and tensor.rs (with hopper.rs), for compute capability 9.0;
// the matrix product that follows them for extreme values is that of matmul_fp32.cu. Barriers,
// layout and order of the sums are explained there.
//! {"works": "matmul/f32", "by": "nvcc", "rung": "tensor", "when": "min(rows, inner, cols) > 1", "scratch": {"a_tiles": "ceil(rows, 128) * ceil(inner, 32) * 6144", "b_tiles": "ceil(cols, 128) * ceil(inner, 32) * 6144"}, "ones": {"ranges": "4"}, "kernel": "matmul_split_f32", "grid": "ceil(inner, 32), ceil(max(rows, cols), 128), 2", "block": "256", "shared": "0", "arguments": "a, b, a_tiles, b_tiles, ranges, rows, inner, cols", "then": [{"kernel": "matmul_tensor_f32", "grid": "min(ceil(rows, 128) * ceil(cols, 128), multiprocessors)", "block": "384", "shared": "197696", "arguments": "a_tiles, b_tiles, ranges, out, rows, inner, cols"}, {"kernel": "matmul_pipelined_ragged_f32", "grid": "min(ceil(rows, 128) * ceil(cols, 64), 2 * multiprocessors)", "block": "128", "shared": "37632", "arguments": "a, b, out, rows, inner, cols, ranges"}]}
#include "matmul_fp32.cu"

const int DEPTH = 32, TERMS = 3, TILE_WORDS = TERMS * SIDE * DEPTH / 2, PIECE = 8, PIECES = DEPTH / PIECE, SPLITTERS = 256;

// The nearest BF16 number, as the upper half of an FP32 number.
__device__ u32 nearest(float x) {
    u32 bits = __float_as_uint(x);
    return (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000;
}

// Splits the rows of A, or the columns of B, of which element (r, k) is number row_step * r + step
// * k.
__device__ void split(const float* __restrict__ matrix, u32* tiles, u32* range, i64 rows, i64 inner, i64 row_step, i64 step) {
    const u32 SMALL = (127 - 48) << 23, LARGE = (127 + 48) << 23;
    int t = threadIdx.x, piece = t % PIECES;
    i64 across = (inner + DEPTH - 1) / DEPTH, high = (rows + SIDE - 1) / SIDE;
    u32 smallest = 0xFFFFFFFF, largest = 0;
    for (i64 tile_y = blockIdx.y; tile_y < high; tile_y += gridDim.y)
        for (i64 tile_x = blockIdx.x; tile_x < across; tile_x += gridDim.x) {
            u32* tile = tiles + (tile_y * across + tile_x) * TILE_WORDS;
            i64 first = tile_x * DEPTH + piece * PIECE;
            #pragma unroll 1
            for (int row = t / PIECES; row < SIDE; row += SPLITTERS / PIECES) {
                u32 words[TERMS][PIECE / 2] = {};
                #pragma unroll
                for (int i = 0; i < PIECE; ++i) {
                    i64 r = tile_y * SIDE + row, k = first + i;
                    float x = r < rows && k < inner ? matrix[row_step * r + step * k] : 0.0f;
                    u32 magnitude = __float_as_uint(fabsf(x));
                    largest = max(largest, magnitude);
                    smallest = min(smallest, magnitude - 1);
                    #pragma unroll
                    for (int term = 0; term < TERMS; ++term) {
                        u32 bits = nearest(x);
                        x -= __uint_as_float(bits);
                        words[term][i / 2] |= i % 2 == 0 ? bits >> 16 : bits;
                    }
                }
                int slot = row * DEPTH / 2 + (piece ^ (row / 2 % PIECES)) * PIECE / 2;
                // An ordinary store of 16 bytes becomes four of 4 here.
                #pragma unroll
                for (int term = 0; term < TERMS; ++term)
                    __stwb((uint4*)(tile + term * SIDE * DEPTH / 2 + slot), make_uint4(words[term][0], words[term][1], words[term][2], words[term][3]));
            }
        }
    if (smallest < SMALL) atomicMin(range, smallest + 1);
    if (largest >= LARGE) atomicMin(range + 1, ~largest);
}

extern "C" __global__ void matmul_split_f32(const float* a, const float* b, u32* a_tiles, u32* b_tiles, u32* ranges, i64 rows, i64 inner, i64 cols) {
    if (blockIdx.z == 0) split(a, a_tiles, ranges, rows, inner, inner, 1);
    else split(b, b_tiles, ranges + 2, cols, inner, 1, cols);
}

const int MULTIPLIERS = 256, TENSOR_STAGES = 4, RUN = 16, OWNED = 64;
const u32 OPERAND_BYTES = 4 * TILE_WORDS, STAGE_BYTES = 2 * OPERAND_BYTES;

__device__ void wait(u32 barrier, u32 parity) {
    u32 ended = 0;
    while (!ended)
        asm volatile("{.reg .pred ended; mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2; selp.u32 %0, 1, 0, ended;}"
                     : "=r"(ended) : "r"(barrier), "r"(parity) : "memory");
}
__device__ void copy_bulk(u32 slot, const u32* from, u32 barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(slot), "l"(__cvta_generic_to_global(from)), "r"(OPERAND_BYTES), "r"(barrier) : "memory");
}
__device__ unsigned long long operand(u32 address) { return 2ull << 62 | (512ull >> 4) << 32 | address >> 4; }

#define SUMS "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}"
#define HALF(add, a, b, half)                                                                                              \
    "add.s64 a, %64, " #a " * 512 + " #half " * 2; add.s64 b, %65, " #b " * 512 + " #half " * 2;"                          \
    "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " SUMS ", a, b, " #add ", 1, 1, 0, 0;"
#define PRODUCT(first, a, b) HALF(first, a, b, 0) HALF(add, a, b, 1)
#define FOUR(i) "=f"(sums[i]), "=f"(sums[i + 1]), "=f"(sums[i + 2]), "=f"(sums[i + 3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
__device__ void multiply(float (&sums)[OWNED], unsigned long long a, unsigned long long b) {
    asm volatile("{.reg .b64 a, b; .reg .pred add, none; setp.eq.u32 add, 0, 0; setp.ne.u32 none, 0, 0; wgmma.fence.sync.aligned;"
                 PRODUCT(none, 0, 2) PRODUCT(add, 2, 0) PRODUCT(add, 1, 1) PRODUCT(add, 0, 1) PRODUCT(add, 1, 0) PRODUCT(add, 0, 0)
                 "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;}"
                 : SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48) : "l"(a), "l"(b) : "memory");
}

extern "C" __global__ void __launch_bounds__(384, 1)
    matmul_tensor_f32(const u32* __restrict__ a, const u32* __restrict__ b, const u32* ranges, float* c, i64 rows, i64 inner, i64 cols) {
    if (!fits(ranges, inner)) return;
    extern __shared__ __align__(16) float memory[];
    int t = threadIdx.x;
    u32 stages = ((u32)__cvta_generic_to_shared(memory) + 1023) / 1024 * 1024;
    auto full = [&](u32 stage) { return stages + TENSOR_STAGES * STAGE_BYTES + 16 * stage; };
    auto empty = [&](u32 stage) { return full(stage) + 8; };
    if (t == 0) {
        for (u32 stage = 0; stage < TENSOR_STAGES; ++stage) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(full(stage)) : "memory");
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(empty(stage)), "n"(MULTIPLIERS / 32) : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    i64 steps = (inner + DEPTH - 1) / DEPTH, top, left;
    u32 stage = 0, parity = 0;
    auto advance = [&] { if (++stage == TENSOR_STAGES) stage = 0, parity ^= 1; };
    if (t >= MULTIPLIERS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (t > MULTIPLIERS) return;
        for (i64 tile = blockIdx.x; Policy<128, 32, 4, 16, 1>::place(tile, rows, cols, top, left); tile += gridDim.x) {
            const u32 *of_a = a + top / SIDE * steps * TILE_WORDS, *of_b = b + left / SIDE * steps * TILE_WORDS;
            for (i64 step = 0; step < steps; ++step, of_a += TILE_WORDS, of_b += TILE_WORDS, advance()) {
                u32 slot = stages + stage * STAGE_BYTES;
                wait(empty(stage), parity ^ 1);
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full(stage)), "r"(STAGE_BYTES) : "memory");
                copy_bulk(slot, of_a, full(stage));
                copy_bulk(slot + OPERAND_BYTES, of_b, full(stage));
            }
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    int warp = t / 32, lane = t % 32, group_row = warp / 4 * 64;
    for (i64 tile = blockIdx.x; Policy<128, 32, 4, 16, 1>::place(tile, rows, cols, top, left); tile += gridDim.x) {
        float total[OWNED] = {}, recent[OWNED] = {}, sums[OWNED];
        for (i64 step = 0; step < steps;) {
            for (i64 end = min(steps, step + RUN); step < end; ++step, advance()) {
                u32 slot = stages + stage * STAGE_BYTES;
                wait(full(stage), parity);
                multiply(sums, operand(slot + group_row * 2 * DEPTH), operand(slot + OPERAND_BYTES));
                if (lane == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(empty(stage)) : "memory");
                #pragma unroll
                for (int i = 0; i < OWNED; ++i) recent[i] += sums[i];
            }
            #pragma unroll
            for (int i = 0; i < OWNED; ++i) {
                float sum = total[i] + recent[i];
                recent[i] -= sum - total[i];
                total[i] = sum;
            }
        }
        #pragma unroll
        for (int i = 0; i < OWNED; ++i) {
            i64 row = top + group_row + warp % 4 * 16 + lane / 4 + i / 2 % 2 * 8, col = left + lane % 4 * 2 + i / 4 * 8 + i % 2;
            if (row < rows && col < cols) c[row * cols + col] = total[i];
        }
    }
}
