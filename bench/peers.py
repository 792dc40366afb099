"""Times what others offer for the works of `blockwise bench`, on the same device and by the same method.

`blockwise bench --peers bench/peers.py` starts this, writes requests to its standard input and reads an answer to each from its standard
output, a line of JSON each (`host/src/bench/protocol.rs` has their fields):

    {"versions": {}}                              {"versions": {"torch": "2.11.0", ...}}
    {"load": {"work": "sum/f32/2^29", ...}}       {"loaded": [{"implementation": "torch", "rung": "torch.sum", "policy": ""}, ...]}
    {"time": {"entry": 0, "launches": 5}}         {"timed": [seconds, ...]}
    {"check": {"entry": 0}}                       {"checked": {"check": "what was compared", "passed": true}}
    {"kernels": {"entry": 0}}                     {"kernels": ["name", ...]}

or {"failed": "why"}. So the benchmark times us and itself by turns. `load` replaces the work before it.

The method: random inputs in several copies, together four times the L2 cache, taken in turn; where 64 copies are less than twice the cache, it
is overwritten before each launch. Outputs are poisoned with bytes of 0xFF. A warm-up; then each launch between two CUDA events after a kernel that
keeps the device busy while the host queues them. On `check` the output of every copy is compared with float64 or, where sums are exact,
exactly; of a work that is `brief`, of as many copies as 0.2 s allow.

A package or compiler that is missing is an answer that says so, and so is a kernel that fails; after one that takes the CUDA context with it (by
an illegal access, say) nothing can be timed, and all later answers say that. Works that `operations.py` beside this file does not know have no
entries.
"""

import json
import os
import sys
import time

import operations
import twins

os.environ.setdefault("CUPY_ACCELERATORS", "cub")

# Libraries print to standard output; the answers must be alone there.
ANSWERS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

WARM_UP, WARM_UP_SECONDS = 3, 0.02
# Seconds after which no further copy's results are compared, if an answer is wanted soon.
COMPARING = 0.2

SPIN = r"""
extern "C" __global__ void spin(long long cycles) {
    long long start = clock64();
    while (clock64() - start < cycles) { }
}
"""


class Clock:
    """Times launches by CUDA events on the default stream, which all libraries here use."""

    def __init__(self, cupy):
        self.cupy = cupy
        self.spin = cupy.RawKernel(SPIN, "spin")

    def synchronize(self):
        self.cupy.cuda.Device().synchronize()

    def time(self, launch, launches, eviction):
        """Seconds of each launch; before each, `eviction` is written if there is one."""
        event, events = self.cupy.cuda.Event, []
        for at in range(launches):
            # 300 µs: Python takes long to launch.
            self.spin((1,), (1,), (600_000,))
            if eviction is not None:
                eviction.data.memset_async(0, eviction.nbytes)
            start, end = event(), event()
            start.record()
            launch(at)
            end.record()
            events.append((start, end))
        self.synchronize()
        return [self.cupy.cuda.get_elapsed_time(start, end) * 1e-3 for start, end in events]


def context_lost(cupy):
    """Whether a kernel's fault has taken the CUDA context: then every call fails from here on."""
    try:
        cupy.cuda.Device().synchronize()
    except Exception:
        # Nothing can be freed any more, and each destructor would say so.
        sys.unraisablehook = lambda _: None
        return True
    return False


class Failed(Exception):
    """Why a request cannot be carried out."""


class Peers:
    """What others have for a work at a time."""

    def __init__(self, cupy):
        self.cupy, self.clock = cupy, Clock(cupy)
        self.l2 = cupy.cuda.Device().attributes["L2CacheSize"]
        # Why no more can be timed.
        self.lost = None
        self.forget()

    def forget(self):
        """Gives back what the last work took."""
        self.loaded, self.entries, self.launch, self.eviction = None, [], None, None
        if not self.lost:
            self.cupy.get_default_memory_pool().free_all_blocks()
            operations.forget()

    def versions(self):
        return {"versions": operations.versions()}

    def load(self, **work):
        """Makes the inputs of a work."""
        self.forget()
        problem = operations.PROBLEMS.get(work["operation"])
        if problem is None or work["type"] not in operations.DTYPES:
            return {"loaded": []}
        self.brief = work["brief"]
        self.copies = max(2, min(64, -(-4 * self.l2 // max(work["bytes"], 1))))
        loaded = problem(self.cupy, work)
        self.entries = loaded.peers()
        if not self.brief:
            self.entries = self.entries + twins.of(self.cupy, work, loaded)
        self.unloaded = self.lost
        if not self.lost:
            self.unloaded = self.tried("the inputs", lambda: loaded.load(self.copies))[1]
        if not self.unloaded and self.copies * work["bytes"] < 2 * self.l2:
            self.eviction = self.cupy.empty(2 * self.l2, self.cupy.uint8)
        self.loaded = loaded
        names = ("implementation", "rung", "policy")
        return {"loaded": [dict(zip(names, entry[:3])) for entry in self.entries]}

    def time(self, entry, launches):
        """Seconds of launches of an entry, which follow on those before them."""
        implementation, rung, _, _ = self.entries[entry]
        name = f"{implementation} {rung}"
        if self.unloaded or self.lost:
            raise Failed(self.unloaded or self.lost)
        seconds, failed = self.tried(name, lambda: self.timed(entry, launches))
        if failed:
            raise Failed(failed)
        return {"timed": seconds}

    def timed(self, entry, launches):
        if self.launch is None or self.launch[0] != entry:
            # One at a time: what another keeps is freed.
            self.launch = None
            self.launch = (entry, self.entries[entry][3]())
            self.loaded.poison()
            self.warm_up()
        first, self.launched = self.launched, self.launched + launches
        return self.clock.time(lambda at: self.once(first + at), launches, self.eviction)

    def warm_up(self):
        self.clock.synchronize()
        begin, self.launched = time.perf_counter(), 0
        while True:
            self.once(self.launched)
            self.launched += 1
            if self.launched >= max(WARM_UP, self.copies):
                self.clock.synchronize()
                if time.perf_counter() - begin >= WARM_UP_SECONDS:
                    return

    def once(self, at):
        copy = at % self.copies
        self.loaded.keep(copy, self.launch[1](copy))

    def check(self, entry):
        """Compares what the entry's launches left."""
        _, rung, _, _ = self.entries[entry]
        checked, failed = self.tried(rung, lambda: self.loaded.check(rung, COMPARING if self.brief else None))
        if failed:
            raise Failed(failed)
        how, wrong = checked
        check = how if wrong == 0 else f"WRONG: {wrong} elements; {how}"
        return {"checked": {"check": check, "passed": wrong == 0}}

    def kernels(self, entry):
        """The names of the kernels that a launch starts, by PyTorch's profiler, which sees those of others too."""

        def names():
            self.timed(entry, 1)
            profiler = operations.module("torch").profiler
            with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as profile:
                self.once(0)
                self.clock.synchronize()
            events = [event for event in profile.events() if "CUDA" in str(event.device_type)]
            events.sort(key=lambda event: event.time_range.start)
            return [event.name for event in events if not event.name.startswith(("Memcpy", "Memset"))]

        found, _ = self.tried("the profiler", names)
        return {"kernels": found or []}

    def tried(self, name, call):
        """What the call returns, or why it failed. One peer's failure must not end the others, if they can go on."""
        try:
            return call(), None
        except Exception as error:
            self.launch = None
            if context_lost(self.cupy):
                self.lost = f"skipped: {name} lost the CUDA context"
            return None, f"skipped: {type(error).__name__}: {error}"


class Absent:
    """Without CuPy there are no peers."""

    def __init__(self, error):
        self.reason = f"skipped: every peer needs CuPy: {error}"

    def versions(self):
        return {"versions": {}}

    def load(self, **work):
        raise Failed(self.reason)

    time = check = kernels = load


def answered(peers):
    """Answers requests until there are no more."""
    try:
        for line in sys.stdin:
            ((what, about),) = json.loads(line).items()
            try:
                answer = getattr(peers, what)(**about)
            except Failed as failed:
                answer = {"failed": str(failed)}
            print(json.dumps(answer), file=ANSWERS, flush=True)
    except (KeyboardInterrupt, BrokenPipeError):
        # The benchmark was interrupted, and keeps what it has.
        os._exit(1)


def main():
    try:
        import cupy
    except ImportError as error:
        answered(Absent(error))
        return
    peers = Peers(cupy)
    answered(peers)
    if peers.lost:
        # The libraries' own destructors would fail.
        os._exit(0)


if __name__ == "__main__":
    main()
