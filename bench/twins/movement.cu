// Twins of kernels/src/transpose and kernels/src/reverse.
//! {"works": "transpose/f32", "by": "nvcc", "rung": "naive", "kernel": "transpose_naive", "grid": "ceil(cols, 32), ceil(rows, 32)", "block": "32, 8", "shared": "0", "arguments": "input, out, rows, cols"}
//! {"works": "transpose/f32", "by": "nvcc", "rung": "tiled", "kernel": "transpose_tiled", "grid": "ceil(cols, 32), ceil(rows, 32)", "block": "32, 8", "shared": "0", "arguments": "input, out, rows, cols"}
//! {"works": "transpose/f32", "by": "nvcc", "rung": "padded", "kernel": "transpose_padded", "grid": "ceil(cols, 32), ceil(rows, 32)", "block": "32, 8", "shared": "0", "arguments": "input, out, rows, cols"}
//! {"works": "transpose/f32", "by": "nvcc", "rung": "aligned", "kernel": "transpose_aligned", "grid": "ceil(rows, 64), ceil(cols, 128)", "block": "512", "shared": "0", "arguments": "input, out, rows, cols"}
//! {"works": "transpose/f32", "by": "nvcc", "rung": "thin", "kernel": "transpose_thin", "grid": "ceil(max(rows, cols), (8320 // min(rows, cols, 128) - 1) // 8 * 8), ceil(min(rows, cols), 128)", "block": "256", "shared": "0", "arguments": "input, out, rows, cols"}
//! {"works": "transpose/f32", "by": "nvcc", "rung": "quads", "when": "rows % 4 == 0 and cols % 4 == 0 and min(rows, cols) > 128", "kernel": "transpose_quads", "grid": "ceil(rows, 64), ceil(cols, 64)", "block": "256", "shared": "0", "arguments": "input, out, rows, cols"}
//! {"works": "transpose/f32", "by": "nvcc", "rung": "packs", "kernel": "transpose_packs", "grid": "ceil(rows + 7, 64), ceil(cols, 124)", "block": "256", "shared": "0", "arguments": "input, out, rows, cols"}
//! {"works": "reverse/f32", "by": "nvcc", "rung": "static", "kernel": "reverse_static", "grid": "ceil(n, 256)", "block": "256", "shared": "0", "arguments": "input, n, out"}
//! {"works": "reverse/f32", "by": "nvcc", "rung": "dynamic", "kernel": "reverse_dynamic", "grid": "ceil(n, 256)", "block": "256", "shared": "1024", "arguments": "input, n, out"}
//! {"works": "reverse/f32", "by": "nvcc", "rung": "direct", "kernel": "reverse_direct", "grid": "ceil(n, 1024)", "block": "256", "shared": "0", "arguments": "input, n, out"}

typedef long long i64;
const int TILE = 32, ROWS = 8;

extern "C" __global__ void transpose_naive(const float* __restrict__ input, float* out, i64 rows, i64 cols) {
    i64 col = (i64)blockIdx.x * TILE + threadIdx.x, top = (i64)blockIdx.y * TILE;
    for (int j = threadIdx.y; j < TILE; j += ROWS)
        if (top + j < rows && col < cols) out[col * rows + top + j] = input[(top + j) * cols + col];
}

template <int PITCH> __device__ void through_tile(const float* __restrict__ input, float* out, i64 rows, i64 cols) {
    __shared__ float tile[TILE * PITCH];
    i64 left = (i64)blockIdx.x * TILE, top = (i64)blockIdx.y * TILE;
    int x = threadIdx.x, y = threadIdx.y;
    for (int j = y; j < TILE; j += ROWS)
        if (top + j < rows && left + x < cols) tile[j * PITCH + x] = input[(top + j) * cols + left + x];
    __syncthreads();
    for (int j = y; j < TILE; j += ROWS)
        if (left + j < cols && top + x < rows) out[(left + j) * rows + top + x] = tile[x * PITCH + j];
}
extern "C" __global__ void transpose_tiled(const float* input, float* out, i64 rows, i64 cols) { through_tile<TILE>(input, out, rows, cols); }
extern "C" __global__ void transpose_padded(const float* input, float* out, i64 rows, i64 cols) { through_tile<TILE + 1>(input, out, rows, cols); }

// Tiles of HIGH x COLS whose rows of the output begin at multiples of ALIGN elements.
const int HIGH = 64, COLS = 128, ALIGN = 8, THREADS = 512;
extern "C" __global__ void __launch_bounds__(THREADS, 4) transpose_aligned(const float* __restrict__ input, float* out, i64 rows, i64 cols) {
    const int PITCH = COLS + 1, DOWN = THREADS / COLS, ACROSS = THREADS / HIGH, LOADS = (HIGH + ALIGN) / DOWN, STORES = COLS / ACROSS;
    __shared__ float tile[(HIGH + ALIGN) * PITCH];
    int from_col = threadIdx.x % COLS, from_row = threadIdx.x / COLS, to_row = threadIdx.x % HIGH, to_col = threadIdx.x / HIGH;
    for (i64 top = (i64)blockIdx.x * HIGH; top < rows; top += (i64)gridDim.x * HIGH)
        for (i64 left = (i64)blockIdx.y * COLS; left < cols; left += (i64)gridDim.y * COLS) {
            bool inside = top > 0 && top + HIGH + ALIGN <= rows && left + COLS <= cols;
            float* slot = tile + from_row * PITCH + from_col;
            const float* from = input + (top + from_row) * cols + left + from_col;
            if (inside) {
                float moved[LOADS];
                #pragma unroll
                for (int j = 0; j < LOADS; ++j) moved[j] = from[j * DOWN * cols];
                #pragma unroll
                for (int j = 0; j < LOADS; ++j) slot[j * DOWN * PITCH] = moved[j];
            } else {
                for (int row = from_row; row < HIGH + ALIGN; row += DOWN)
                    if (top + row < rows && left + from_col < cols) tile[row * PITCH + from_col] = input[(top + row) * cols + left + from_col];
            }
            __syncthreads();
            auto to = [&](int col) { return out + (left + col) * rows + top; };
            // Elements of an output row that belong to the tile above.
            auto skipped = [&](int col) { return (unsigned)(-((unsigned long long)to(col) / sizeof(float)) % ALIGN); };
            if (inside) {
                float* place = to(to_col) + to_row;
                unsigned first = skipped(to_col), step = ACROSS * (unsigned)rows;
                #pragma unroll
                for (int j = 0; j < STORES; ++j) {
                    unsigned skip = (first - j * step) % ALIGN;
                    place[j * ACROSS * rows + skip] = tile[(to_row + skip) * PITCH + to_col + j * ACROSS];
                }
            } else {
                for (int col = to_col; col < COLS && left + col < cols; col += ACROSS)
                    for (int row = to_row; row < HIGH + skipped(col) && top + row < rows; row += HIGH)
                        if (row >= skipped(col) || top == 0) to(col)[row] = tile[row * PITCH + col];
            }
            __syncthreads();
        }
}

// Tiles with up to SHORT elements of the short side, all of it where it has no more.
const int SHORT = 128, SLOTS = SHORT * 65, IN_FLIGHT = 8;
// Moves a thread's elements of `high` rows of `wide` elements each, a group at a time: `load` and
// `store` get an element's place in the matrix and its slot.
template <class Load, class Store>
__device__ void walk(unsigned wide, unsigned high, i64 first, i64 pitch, unsigned along, unsigned down, Load load, Store store) {
    unsigned over = blockDim.x % wide, rows = blockDim.x / wide, col = threadIdx.x % wide, row = threadIdx.x / wide;
    while (row < high) {
        i64 place[IN_FLIGHT];
        unsigned slot[IN_FLIGHT];
        float moved[IN_FLIGHT];
        int count = 0;
        #pragma unroll
        for (int i = 0; i < IN_FLIGHT; ++i) {
            place[i] = first + row * pitch + col;
            slot[i] = col * along + row * down;
            if (row < high) moved[i] = load(place[i], slot[i]), count = i + 1;
            col += over, row += rows;
            if (col >= wide) col -= wide, ++row;
        }
        #pragma unroll
        for (int i = 0; i < IN_FLIGHT; ++i)
            if (i < count) store(place[i], slot[i], moved[i]);
    }
}
extern "C" __global__ void __launch_bounds__(256, 5) transpose_thin(const float* __restrict__ input, float* out, i64 rows, i64 cols) {
    __shared__ float tile[SLOTS];
    bool few_rows = rows <= cols;
    i64 brief = few_rows ? rows : cols, extent = few_rows ? cols : rows;
    auto load = [&](i64 place, unsigned) { return input[place]; };
    auto fill = [&](i64, unsigned slot, float x) { tile[slot] = x; };
    auto read = [&](i64, unsigned slot) { return tile[slot]; };
    auto store = [&](i64 place, unsigned, float x) { out[place] = x; };
    for (i64 top = (i64)blockIdx.y * SHORT; top < brief; top += (i64)gridDim.y * SHORT) {
        unsigned high = brief - top < SHORT ? brief - top : SHORT, most = (SLOTS / high - 1) / 8 * 8;
        for (i64 left = (i64)blockIdx.x * most; left < extent; left += (i64)gridDim.x * most) {
            unsigned wide = extent - left < most ? extent - left : most, pitch = wide | 1;
            if (few_rows) walk(wide, high, top * extent + left, extent, 1, pitch, load, fill);
            else walk(high, wide, left * brief + top, brief, pitch, 1, load, fill);
            __syncthreads();
            if (few_rows) walk(high, wide, left * brief + top, brief, pitch, 1, read, store);
            else walk(wide, high, top * extent + left, extent, 1, pitch, read, store);
            __syncthreads();
        }
    }
}

extern "C" __global__ void __launch_bounds__(256, 6) transpose_quads(const float* __restrict__ input, float* out, i64 rows, i64 cols) {
    const unsigned SIDE = 16, PITCH = 4 * SIDE + 1;
    __shared__ float4 tile[SIDE * PITCH];
    for (i64 top = (i64)blockIdx.x * 64; top < rows; top += (i64)gridDim.x * 64)
        for (i64 left = (i64)blockIdx.y * 64; left < cols; left += (i64)gridDim.y * 64) {
            unsigned line = threadIdx.x / SIDE, place = threadIdx.x % SIDE;
            float4 quad[4] = {};
            if (top + 4 * line < rows && left + 4 * place < cols)
                for (unsigned i = 0; i < 4; ++i)
                    quad[i] = *(const float4*)(input + (top + 4 * line + i) * cols + left + 4 * place);
            float4* slot = tile + place * PITCH + line;
            slot[0] = make_float4(quad[0].x, quad[1].x, quad[2].x, quad[3].x);
            slot[SIDE] = make_float4(quad[0].y, quad[1].y, quad[2].y, quad[3].y);
            slot[2 * SIDE] = make_float4(quad[0].z, quad[1].z, quad[2].z, quad[3].z);
            slot[3 * SIDE] = make_float4(quad[0].w, quad[1].w, quad[2].w, quad[3].w);
            __syncthreads();
            for (unsigned part = 0; part < 4; ++part) {
                unsigned col = part * SIDE + line;
                if (left + col < cols && top + 4 * place < rows)
                    *(float4*)(out + (left + col) * rows + top + 4 * place) = tile[col * SIDE + col / 4 + place];
            }
            __syncthreads();
        }
}

// Tiles of 64 x 124 that also hold 8 rows above and up to a pack on the left, so that rows of both
// matrices are moved in whole packs.
extern "C" __global__ void __launch_bounds__(256, 4) transpose_packs(const float* __restrict__ input, float* out, i64 rows, i64 cols) {
    const int TALL = 64, BEFORE = 8, WARPS = 8, PACKS = 32, RUN = 8, PITCH = 4 * (PACKS + 1) + 1, WIDE = 4 * (PACKS - 1), LOADS = (TALL + BEFORE) / WARPS;
    __shared__ float tile[(TALL + BEFORE) * PITCH];
    auto slot = [](int col) { return col % 4 * (PACKS + 1) + col / 4; };
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (i64 top = (i64)blockIdx.x * TALL; top < rows + BEFORE - 1; top += (i64)gridDim.x * TALL)
        for (i64 left = (i64)blockIdx.y * WIDE; left < cols; left += (i64)gridDim.y * WIDE) {
            bool inside = top > 0 && top + TALL <= rows && left + 4 * PACKS <= cols;
            i64 row = top + warp - BEFORE, first = row * cols + left;
            int early = ((i64)input / 4 + first) & 3;
            float* to = tile + warp * PITCH;
            if (inside) {
                float4 moved[LOADS];
                #pragma unroll
                for (int j = 0; j < LOADS; ++j) moved[j] = *(const float4*)(input + first - early + 4 * lane + j * WARPS * cols);
                #pragma unroll
                for (int j = 0; j < LOADS; ++j)
                    for (int i = 0; i < 4; ++i) to[slot(4 * (lane + 1) + i - early) + j * WARPS * PITCH] = (&moved[j].x)[i];
            } else {
                for (int down = 0; warp + down < TALL + BEFORE; down += WARPS)
                    for (int i = 0; i < 4; ++i) {
                        i64 col = left + 4 * lane + i - early;
                        if (row + down >= 0 && row + down < rows && col >= 0 && col < cols)
                            to[slot(4 * (lane + 1) + i - early) + down * PITCH] = input[(row + down) * cols + col];
                    }
            }
            __syncthreads();
            auto skipped = [&](i64 start) { return (int)(((i64)out / 4 + start) & (BEFORE - 1)); };
            if (inside) {
                int group = threadIdx.x / RUN, run = threadIdx.x % RUN;
                if (group < PACKS - 1)
                    #pragma unroll
                    for (int i = 0; i < 4; ++i) {
                        i64 start = (left + 4 * group + i) * rows + top;
                        int down = 4 * run - skipped(start);
                        const float* from = tile + (BEFORE + down) * PITCH + slot(4 * (group + 1) + i);
                        #pragma unroll
                        for (int j = 0; j < TALL; j += 4 * RUN)
                            *(float4*)(out + start + down + j) = make_float4(from[j * PITCH], from[(j + 1) * PITCH], from[(j + 2) * PITCH], from[(j + 3) * PITCH]);
                    }
            } else {
                for (int col = warp; col < WIDE && left + col < cols; col += WARPS)
                    for (int down = lane; down < TALL; down += 32) {
                        int before = skipped((left + col) * rows + top);
                        i64 line = top + down - before;
                        if (line >= 0 && line < rows) out[(left + col) * rows + line] = tile[(BEFORE + down - before) * PITCH + slot(4 + col)];
                    }
            }
            __syncthreads();
        }
}

__device__ void reverse(const float* __restrict__ input, i64 n, float* out, float* tile) {
    i64 t = threadIdx.x;
    for (i64 first = (i64)blockIdx.x * blockDim.x; first < n; first += (i64)gridDim.x * blockDim.x) {
        i64 count = n - first < blockDim.x ? n - first : blockDim.x;
        if (t < count) tile[t] = input[first + t];
        __syncthreads();
        if (t < count) out[n - first - count + t] = tile[count - 1 - t];
        __syncthreads();
    }
}
extern "C" __global__ void reverse_static(const float* input, i64 n, float* out) {
    __shared__ float tile[256];
    reverse(input, n, out, tile);
}
extern "C" __global__ void reverse_dynamic(const float* input, i64 n, float* out) {
    extern __shared__ float tile[];
    reverse(input, n, out, tile);
}
extern "C" __global__ void reverse_direct(const float* __restrict__ input, i64 n, float* out) {
    const int ITEMS = 4;
    for (i64 first = (i64)blockIdx.x * blockDim.x * ITEMS + threadIdx.x; first < n; first += (i64)gridDim.x * blockDim.x * ITEMS) {
        float moved[ITEMS];
        #pragma unroll
        for (int i = 0; i < ITEMS; ++i)
            if (first + i * blockDim.x < n) moved[i] = input[first + i * blockDim.x];
        #pragma unroll
        for (int i = 0; i < ITEMS; ++i)
            if (first + i * blockDim.x < n) out[n - 1 - first - i * blockDim.x] = moved[i];
    }
}
