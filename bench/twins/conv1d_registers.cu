// Twins of kernels/src/conv1d/window.rs and blocked.rs, with what these share (span.rs, steps.rs):
// outputs and samples in registers, samples and taps through shared memory by `cp.async`. The
// barriers are explained there.
//! {"works": "conv-same/f32", "by": "nvcc", "rung": "window", "when": "m <= 64", "kernel": "conv_window_f32", "grid": "max(ceil(10 * ceil(outputs, 640), 4 * (10 if m <= 10 else 18 if m <= 20 else 27 if m <= 32 else 40 if m <= 40 else 100)), min(ceil(outputs, 640 * 4), 660))", "block": "128", "shared": "0", "arguments": "signal, n, taps, m, out, outputs, offset"}
//! {"works": "conv-same/f32", "by": "nvcc", "rung": "blocked", "kernel": "conv_blocked_f32", "grid": "ceil(outputs, 2560)", "block": "128", "shared": "0", "arguments": "signal, n, taps, m, out, outputs, offset"}
//! {"works": "conv-full/f64", "by": "nvcc", "rung": "window", "when": "m <= 64", "kernel": "conv_window_f64", "grid": "max(ceil(10 * ceil(outputs, 320), 4 * (10 if m <= 10 else 18 if m <= 20 else 27 if m <= 32 else 40 if m <= 40 else 100)), min(ceil(outputs, 320 * 4), 660))", "block": "128", "shared": "0", "arguments": "signal, n, taps, m, out, outputs, offset"}
//! {"works": "conv-full/f64", "by": "nvcc", "rung": "blocked", "kernel": "conv_blocked_f64", "grid": "ceil(outputs, 1280)", "block": "128", "shared": "0", "arguments": "signal, n, taps, m, out, outputs, offset"}

typedef long long i64;
typedef unsigned u32;
const int THREADS = 128, WARPS = THREADS / 32, PACKS = 5, MAX_TAPS = 64, STAGES = 2, CHUNK = 512;

template <class T> struct alignas(16) Pack {
    static const int LANES = 16 / sizeof(T);
    T lane[LANES];
};

template <class T> __device__ void copy(u32 slot, const T* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(slot), "l"(__cvta_generic_to_global(from)), "n"(sizeof(T)) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
__device__ void wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// The tiles of `span` outputs that are whole, begin a pack, and have all samples that are read
// around them.
struct Range { i64 start, end; };
template <class T> __device__ Range whole_tiles(i64 n, const T* out, i64 outputs, i64 offset, i64 span, i64 below, i64 above) {
    i64 missing = below > offset ? below - offset : 0, met = n > offset + above ? n - offset - above : 0;
    i64 first = (missing + span - 1) / span, end = (met < outputs ? met : outputs) / span;
    if (first < end && (unsigned long long)out % 16 == 0) return {first, end};
    return {0, 0};
}

// All outputs but those of `whole`, a thread one after the other.
template <class T> __device__ void ends(const T* signal, i64 n, const T* taps, i64 m, T* out, i64 outputs, i64 offset, Range whole) {
    for (i64 at = (i64)blockIdx.x * THREADS + threadIdx.x; at < outputs - (whole.end - whole.start); at += (i64)gridDim.x * THREADS) {
        i64 i = at < whole.start ? at : at + whole.end - whole.start, centre = i + offset;
        i64 from = centre + 1 > n ? centre + 1 - n : 0, to = m < centre + 1 ? m : centre + 1;
        T sum = 0;
        for (i64 k = from; k < to; ++k) sum += taps[k] * signal[centre - k];
        out[i] = sum;
    }
}

// This thread's copies of a tile's samples, or packs of them, and of those that are met below it.
template <int SAMPLES, int BELOW, int GROUP, class T> __device__ void copy_samples(u32 slot, const T* sample, i64 thread, i64 met_below) {
    const u32 bytes = GROUP * sizeof(T);
    #pragma unroll
    for (int i = 0; i < SAMPLES; ++i) copy(slot + i * bytes, sample + i * GROUP);
    #pragma unroll
    for (int below = 1; below <= BELOW; ++below)
        if (thread + met_below >= below * GROUP) copy(slot - below * bytes, sample - below * GROUP);
}

// A step: as many taps as the thread has outputs, or only the first `left`.
template <bool GUARDED, class T, int OUTPUTS>
__device__ void add_step(T (&sums)[OUTPUTS], const T (&high)[OUTPUTS], T (&low)[OUTPUTS], const Pack<T>* samples, const Pack<T>* taps, u32 left) {
    const int LANES = Pack<T>::LANES;
    #pragma unroll
    for (int pack = 0; pack < PACKS; ++pack) {
        if (GUARDED && pack * LANES >= left) continue;
        const int place = PACKS - 1 - pack;
        Pack<T> sample = samples[place], tap = taps[pack];
        #pragma unroll
        for (int lane = 0; lane < LANES; ++lane) low[place * LANES + lane] = sample.lane[lane];
        #pragma unroll
        for (int lane = 0; lane < LANES; ++lane) {
            const int k = pack * LANES + lane;
            if (GUARDED && lane > 0 && k >= left) continue;
            #pragma unroll
            for (int r = 0; r < OUTPUTS; ++r) sums[r] += tap.lane[lane] * (r >= k ? high[r >= k ? r - k : 0] : low[r >= k ? 0 : OUTPUTS + r - k]);
        }
    }
}

template <bool LAST_TWICE, class T, int OUTPUTS> __device__ void add_taps(T (&sums)[OUTPUTS], const Pack<T>* samples, const Pack<T>* taps, u32 count) {
    const int LANES = Pack<T>::LANES;
    T high[OUTPUTS], low[OUTPUTS];
    #pragma unroll
    for (int pack = 0; pack < PACKS; ++pack) {
        Pack<T> sample = samples[pack];
        #pragma unroll
        for (int lane = 0; lane < LANES; ++lane) high[pack * LANES + lane] = sample.lane[lane];
    }
    u32 left = count;
    #pragma unroll 1
    for (; left >= 2 * OUTPUTS; left -= 2 * OUTPUTS, samples -= 2 * PACKS, taps += 2 * PACKS) {
        add_step<false>(sums, high, low, samples - PACKS, taps, OUTPUTS);
        add_step<false>(sums, low, high, samples - 2 * PACKS, taps + PACKS, OUTPUTS);
    }
    if (left >= OUTPUTS) {
        samples -= PACKS;
        add_step<false>(sums, high, low, samples, taps, OUTPUTS);
        taps += PACKS;
        left -= OUTPUTS;
        if constexpr (LAST_TWICE) {
            if (left > 0) add_step<true>(sums, low, high, samples - PACKS, taps, left);
            return;
        } else {
            #pragma unroll
            for (int r = 0; r < OUTPUTS; ++r) high[r] = low[r];
        }
    }
    if (left > 0) add_step<true>(sums, high, low, samples - PACKS, taps, left);
}

template <class T, int OUTPUTS> __device__ void put_sums(const T (&sums)[OUTPUTS], Pack<T>* own) {
    const int LANES = Pack<T>::LANES;
    #pragma unroll
    for (int pack = 0; pack < PACKS; ++pack) {
        Pack<T> lanes;
        for (int lane = 0; lane < LANES; ++lane) lanes.lane[lane] = sums[pack * LANES + lane];
        own[pack] = lanes;
    }
}
template <int GROUP, class T> __device__ void write_sums(const Pack<T>* tile, Pack<T>* out) {
    #pragma unroll
    for (int pack = 0; pack < PACKS; ++pack) out[pack * GROUP] = tile[pack * GROUP];
}

// The taps of one pack, those from `from` up to `to`.
template <class T, int OUTPUTS> __device__ void add_pack(T (&sums)[OUTPUTS], const Pack<T>* samples, const Pack<T>* taps, u32 from, u32 to) {
    const int LANES = Pack<T>::LANES;
    T met[OUTPUTS + LANES];
    #pragma unroll
    for (int pack = 0; pack <= PACKS; ++pack) {
        Pack<T> sample = samples[pack - 1];
        #pragma unroll
        for (int lane = 0; lane < LANES; ++lane) met[pack * LANES + lane] = sample.lane[lane];
    }
    Pack<T> tap = taps[0];
    #pragma unroll
    for (int k = 0; k < LANES; ++k)
        if (from <= k && k < to) {
            #pragma unroll
            for (int r = 0; r < OUTPUTS; ++r) sums[r] += tap.lane[k] * met[LANES + r - k];
        }
}

template <class T> __device__ void window(const T* __restrict__ signal, i64 n, const T* __restrict__ taps, i64 m, T* out, i64 outputs, i64 offset) {
    const int LANES = Pack<T>::LANES, OUTPUTS = PACKS * LANES, SPAN = 32 * OUTPUTS, TAP_PACKS = MAX_TAPS / LANES + 1, STAGE = TAP_PACKS + 32 * PACKS;
    __shared__ Pack<T> tiles[WARPS * STAGES * STAGE], shared_taps[TAP_PACKS];
    u32 t = threadIdx.x, warp = t / 32, lane = t % 32;
    // What output 0 meets with tap 0 lies this many samples before a pack.
    u32 moved = (0 - (unsigned long long)(signal + offset)) % 16 / sizeof(T), slots = moved + (u32)m, below = (slots + LANES - 2) / LANES;
    Range whole = whole_tiles(n, out, outputs, offset, SPAN, below * LANES - moved, moved);
    u32 end = (u32)whole.end, ahead = warp * STAGES * STAGE + TAP_PACKS, slot = (u32)__cvta_generic_to_shared(tiles) + (ahead + lane) * 16;
    Pack<T>* first = tiles + ahead;
    const Pack<T>* from = (const Pack<T>*)(signal + offset + moved) + lane;
    auto copy_tile = [&](u32 tile, u32 stage) {
        if (tile < end) copy_samples<PACKS, 1, 32>(slot + stage * STAGE * 16, from + (i64)tile * (SPAN / LANES), lane, below);
        commit();
    };
    u32 warps = gridDim.x * WARPS, tile = (u32)whole.start + blockIdx.x * WARPS + warp, stage = 0;
    copy_tile(tile, stage);
    if (t < (u32)m) ((T*)shared_taps)[moved + t] = taps[t];
    __syncthreads();
    for (; tile < end; tile += warps, stage = 1 - stage) {
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncwarp();
        copy_tile(tile + warps, 1 - stage);
        Pack<T>*samples = first + stage * STAGE, *own = samples + lane * PACKS;
        T sums[OUTPUTS] = {};
        add_pack(sums, own, shared_taps, moved, slots);
        add_taps<true>(sums, own - 1, shared_taps + 1, slots > LANES ? slots - LANES : 0);
        __syncwarp();
        put_sums(sums, own);
        __syncwarp();
        write_sums<32>(samples + lane, (Pack<T>*)(out + (i64)tile * SPAN) + lane);
    }
    ends(signal, n, taps, m, out, outputs, offset, {whole.start * SPAN, whole.end * SPAN});
}

template <class T> __device__ void blocked(const T* __restrict__ signal, i64 n, const T* __restrict__ taps, i64 m, T* out, i64 outputs, i64 offset) {
    const int LANES = Pack<T>::LANES, OUTPUTS = PACKS * LANES, SPAN = THREADS * OUTPUTS;
    __shared__ Pack<T> shared[(SPAN + CHUNK) / LANES], chunk[CHUNK / LANES];
    i64 t = threadIdx.x;
    Range whole = whole_tiles(n, out, outputs, offset, SPAN, m - 1, 0);
    Pack<T>*samples = shared + CHUNK / LANES, *own = samples + t * PACKS;
    u32 slot = (u32)__cvta_generic_to_shared(samples) + t * sizeof(T), tap_slot = (u32)__cvta_generic_to_shared(chunk) + t * sizeof(T);
    for (i64 tile = whole.start + blockIdx.x; tile < whole.end; tile += gridDim.x) {
        T sums[OUTPUTS] = {};
        for (i64 done = 0; done < m;) {
            i64 count = m - done < CHUNK ? m - done : CHUNK;
            copy_samples<OUTPUTS, CHUNK / THREADS, THREADS>(slot, signal + tile * SPAN + offset - done + t, t, count - 1);
            #pragma unroll
            for (int i = 0; i < CHUNK / THREADS; ++i)
                if (t + i * THREADS < count) copy(tap_slot + i * THREADS * (u32)sizeof(T), taps + done + t + i * THREADS);
            wait_all();
            __syncthreads();
            add_taps<false>(sums, own, chunk, (u32)count);
            done += count;
            __syncthreads();
        }
        put_sums(sums, own);
        __syncthreads();
        write_sums<THREADS>(samples + t, (Pack<T>*)(out + tile * SPAN) + t);
        __syncthreads();
    }
    ends(signal, n, taps, m, out, outputs, offset, {whole.start * SPAN, whole.end * SPAN});
}

#define KERNEL(name, blocks, T)                                                                                            \
    extern "C" __global__ void __launch_bounds__(THREADS, blocks)                                                          \
        conv_##name(const T* signal, i64 n, const T* taps, i64 m, T* out, i64 outputs, i64 offset)
KERNEL(window_f32, 5, float) { window(signal, n, taps, m, out, outputs, offset); }
KERNEL(window_f64, 5, double) { window(signal, n, taps, m, out, outputs, offset); }
KERNEL(blocked_f32, 6, float) { blocked(signal, n, taps, m, out, outputs, offset); }
KERNEL(blocked_f64, 6, double) { blocked(signal, n, taps, m, out, outputs, offset); }
