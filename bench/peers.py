"""Times what others offer for the works of `blockwise bench`, on the same device and by the same method.

`blockwise bench --peers bench/peers.py` starts this, writes the works to its standard input and reads rows from its standard output:

    in   {"works": [{"work": "sum/f32/2^29", "operation": "sum", "type": "f32", "size": [536870912], "bytes": ..., "operations": ...}]}
    out  {"rows": [{"work": ..., "implementation": "torch", "rung": "torch.sum", "policy": "", "timing": {"median": seconds, "p10": ...,
         "p90": ..., "samples": ...} or null, "check": "what was compared, or why nothing was timed", "passed": true}],
         "versions": {"torch": "2.11.0", ...}}

The method: random inputs in several copies, together four times the L2 cache, taken in turn; outputs poisoned with bytes of 0xFF; a
warm-up; at least 30 launches, each between two CUDA events behind a kernel that keeps the device busy while the host queues them;
median, p10, p90; then the output of every copy is compared with float64 or, where sums are exact, exactly.

A package or compiler that is missing is a row that says so. Works that `operations.py` beside this file does not know are left out.
"""

import json
import os
import sys
import time

os.environ.setdefault("CUPY_ACCELERATORS", "cub")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# Libraries print to standard output; the rows must be alone there.
ROWS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

FEWEST, MOST, SECONDS = 30, 200, 0.2
WARM_UP, WARM_UP_SECONDS = 3, 0.02

SPIN = r"""
extern "C" __global__ void spin(long long cycles) {
    long long start = clock64();
    while (clock64() - start < cycles) { }
}
"""


def missing(works, reason):
    """Rows for peers that cannot be timed at all."""
    return [row(work["work"], "peers", "all", "", None, reason, False) for work in works]


def row(work, implementation, rung, policy, timing, check, passed):
    return {
        "work": work,
        "implementation": implementation,
        "rung": rung,
        "policy": policy,
        "timing": timing,
        "check": check,
        "passed": passed,
    }


class Clock:
    """Times launches by CUDA events on the default stream, which all libraries here use."""

    def __init__(self, cupy):
        self.cupy = cupy
        self.spin = cupy.RawKernel(SPIN, "spin")

    def time(self, launch, copies):
        event = self.cupy.cuda.Event
        self.cupy.cuda.Device().synchronize()
        begin, launches = time.perf_counter(), 0
        while True:
            launch(launches % copies)
            launches += 1
            if launches >= WARM_UP:
                self.cupy.cuda.Device().synchronize()
                seconds = time.perf_counter() - begin
                if seconds >= WARM_UP_SECONDS:
                    break
        samples = max(min(max(int(SECONDS * launches / seconds), FEWEST), MOST), copies)
        events = []
        for sample in range(samples):
            # 300 µs: Python takes long to launch.
            self.spin((1,), (1,), (600_000,))
            start, end = event(), event()
            start.record()
            launch(sample % copies)
            end.record()
            events.append((start, end))
        self.cupy.cuda.Device().synchronize()
        numpy = __import__("numpy")
        times = [self.cupy.cuda.get_elapsed_time(start, end) * 1e-3 for start, end in events]
        median, p10, p90 = (float(numpy.percentile(times, share)) for share in (50, 10, 90))
        return {"median": median, "p10": p10, "p90": p90, "samples": samples}


def run(works):
    try:
        import cupy
    except ImportError as error:
        return missing(works, f"skipped: every peer needs CuPy: {error}"), {}
    import operations
    import twins

    clock, rows = Clock(cupy), []
    l2 = cupy.cuda.Device().attributes["L2CacheSize"]
    for work in works:
        problem = operations.PROBLEMS.get(work["operation"])
        if problem is None:
            continue
        copies = max(2, min(64, -(-4 * l2 // max(work["bytes"], 1))))
        loaded = problem(cupy, work, copies)
        for implementation, rung, policy, make in loaded.peers() + twins.of(cupy, work, loaded):
            name = (work["work"], implementation, rung, policy)
            print(*name, file=sys.stderr, flush=True)
            try:
                launch = make()
                loaded.poison()
                timing = clock.time(lambda copy: loaded.keep(copy, launch(copy)), copies)
                how, wrong = loaded.check(rung)
                rows.append(row(*name, timing, how if wrong == 0 else f"WRONG: {wrong} elements; {how}", wrong == 0))
            except Exception as error:  # One peer's failure must not end the others.
                rows.append(row(*name, None, f"skipped: {type(error).__name__}: {error}", False))
        del loaded
        cupy.get_default_memory_pool().free_all_blocks()
        operations.forget()
    return rows, operations.versions()


def main():
    works = json.load(sys.stdin)["works"]
    rows, versions = run(works)
    json.dump({"rows": rows, "versions": versions}, ROWS)
    ROWS.flush()


if __name__ == "__main__":
    main()
