"""Times what others offer for the works of `blockwise bench`, on the same device and by the same method.

`blockwise bench --peers bench/peers.py` starts this, writes the works to its standard input and reads rows from its standard output:

    in   {"works": [{"work": "sum/f32/2^29", "operation": "sum", "type": "f32", "size": [536870912], "bytes": ..., "operations": ...}]}
    out  {"row": {"work": ..., "implementation": "torch", "rung": "torch.sum", "policy": "", "timing": {"median": seconds, "p10": ...,
         "p90": ..., "samples": ...} or null, "check": "what was compared, or why nothing was timed", "passed": true}}
         ...
         {"versions": {"torch": "2.11.0", ...}}

(one line each, a row as soon as it is there).

The method: random inputs in several copies, together four times the L2 cache, taken in turn; outputs poisoned with bytes of 0xFF; a
warm-up; at least 10 launches, 3 of those that take over 0.1 s, each between two CUDA events after a kernel that keeps the device busy while the host queues them;
median, p10, p90; then the output of every copy is compared with float64 or, where sums are exact, exactly.

A package or compiler that is missing is a row that says so, and so is a kernel that fails; after one that takes the CUDA context with it (by
an illegal access, say) nothing can be timed, and the rows after it say that. Works that `operations.py` beside this file does not know are left out.
"""

import json
import os
import sys
import time

import operations
import twins

os.environ.setdefault("CUPY_ACCELERATORS", "cub")

# Libraries print to standard output; the rows must be alone there.
ROWS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

FEWEST, MOST, SECONDS = 10, 200, 0.2
SLOW, FEWEST_SLOW = 0.1, 3
WARM_UP, WARM_UP_SECONDS = 3, 0.02

SPIN = r"""
extern "C" __global__ void spin(long long cycles) {
    long long start = clock64();
    while (clock64() - start < cycles) { }
}
"""


def answer(what):
    print(json.dumps(what), file=ROWS, flush=True)


def row(work, implementation, rung, policy, timing, check, passed):
    answer(
        {
            "row": {
                "work": work,
                "implementation": implementation,
                "rung": rung,
                "policy": policy,
                "timing": timing,
                "check": check,
                "passed": passed,
            }
        }
    )


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
        fewest = FEWEST if seconds / launches < SLOW else FEWEST_SLOW
        samples = max(min(max(int(SECONDS * launches / seconds), fewest), MOST), copies)
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


def context_lost(cupy):
    """Whether a kernel's fault has taken the CUDA context: then every call fails from here on."""
    try:
        cupy.cuda.Device().synchronize()
    except Exception:
        # Nothing can be freed any more, and each destructor would say so.
        sys.unraisablehook = lambda _: None
        return True
    return False


class Peers:
    """Times them one after the other."""

    def __init__(self, cupy):
        self.cupy, self.clock = cupy, Clock(cupy)
        self.l2 = cupy.cuda.Device().attributes["L2CacheSize"]
        # Why no more can be timed.
        self.lost = None

    def time(self, loaded, work):
        """Times the peers of a work."""
        copies = max(2, min(64, -(-4 * self.l2 // max(work["bytes"], 1))))
        peers, skipped = loaded.peers() + twins.of(self.cupy, work, loaded), self.lost
        if not skipped:
            _, skipped = self.tried("the inputs", lambda: loaded.load(copies))
        for implementation, rung, policy, make in peers:
            name = (work["work"], implementation, rung, policy)
            if skipped or self.lost:
                row(*name, None, skipped or self.lost, False)
                continue
            print(*name, file=sys.stderr, flush=True)
            found, failed = self.tried(f"{implementation} {rung}", lambda: self.timed(loaded, rung, make, copies))
            row(*name, *(found or (None, failed, False)))

    def tried(self, name, call):
        """What the call returns, or why it failed. One peer's failure must not end the others, if they can go on."""
        try:
            return call(), None
        except Exception as error:
            if context_lost(self.cupy):
                self.lost = f"skipped: {name} lost the CUDA context"
            return None, f"skipped: {type(error).__name__}: {error}"

    def timed(self, loaded, rung, make, copies):
        """Timing, what was compared, and whether it was right."""
        launch = make()
        loaded.poison()
        timing = self.clock.time(lambda copy: loaded.keep(copy, launch(copy)), copies)
        how, wrong = loaded.check(rung)
        return timing, how if wrong == 0 else f"WRONG: {wrong} elements; {how}", wrong == 0


def main():
    works = json.load(sys.stdin)["works"]
    try:
        import cupy
    except ImportError as error:
        for work in works:
            row(work["work"], "peers", "all", "", None, f"skipped: every peer needs CuPy: {error}", False)
        return
    peers = Peers(cupy)
    for work in works:
        problem = operations.PROBLEMS.get(work["operation"])
        if problem is None:
            continue
        peers.time(problem(cupy, work), work)
        if not peers.lost:
            cupy.get_default_memory_pool().free_all_blocks()
            operations.forget()
    answer({"versions": operations.versions()})
    if peers.lost:
        # The libraries' own destructors would fail.
        os._exit(0)


if __name__ == "__main__":
    main()
