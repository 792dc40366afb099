"""Times whole commands: files in, files out. `cp` and NumPy with PyTorch do the same work in the same run.

    python3 bench/files.py --blockwise target/release/blockwise --folder /dev/shm

The folder needs room for three times the file. Each line is a process of its own, so start-up is in its time. "first" is a
command's first run, with its cache of the driver's compiled kernels empty; "again" is the shortest of the next ones.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

MAKE = """
import sys, numpy as np
x, small, taps, elements, count = sys.argv[1:]
random = np.random.default_rng()
block = random.standard_normal(1 << 22, dtype=np.float32)
array = np.lib.format.open_memmap(x, mode="w+", dtype=np.float32, shape=(int(elements),))
for start in range(0, len(array), len(block)):
    part = array[start : start + len(block)]
    part[:] = np.roll(block, start // len(block))[: len(part)]
np.save(small, block[:1000])
np.save(taps, block[: int(count)])
"""

SUM = """
import sys, numpy as np, torch
x = torch.from_numpy(np.load(sys.argv[1])).cuda()
print(x.sum().item())
"""

CONV = """
import sys, numpy as np, torch
torch.backends.cudnn.allow_tf32 = False
x = torch.from_numpy(np.load(sys.argv[1])).cuda()
taps = torch.from_numpy(np.load(sys.argv[2])).cuda()
y = torch.nn.functional.conv1d(x[None, None], taps.flip(0)[None, None], padding="same")
np.save(sys.argv[3], y[0, 0].cpu().numpy())
"""

CHECK = """
import sys, numpy as np
a, b = (np.load(path, mmap_mode="r") for path in sys.argv[1:])
places = np.linspace(0, len(a), 64, endpoint=False).astype(np.int64)
error = max(np.abs(a[p : p + 4096].astype(np.float64) - b[p : p + 4096]).max() for p in places)
sys.exit(not (len(a) == len(b) and error < 1e-3))
"""


def timed(command, environment):
    """Seconds that a command takes, and what it prints."""
    start = time.perf_counter()
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return time.perf_counter() - start, done.stdout.decode()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--blockwise", required=True, help="the program")
    parser.add_argument("--folder", required=True, help="where the files go")
    parser.add_argument("--mib", type=int, default=4096, help="size of the file (default 4096)")
    parser.add_argument("--taps", type=int, default=31, help="number of taps (default 31)")
    parser.add_argument("--repeat", type=int, default=3, help="runs after the first (default 3)")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="blockwise-bench-", dir=options.folder)
    try:
        measure(options, folder)
    finally:
        shutil.rmtree(folder)


def measure(options, folder):
    x, small, taps, ours, theirs = (
        os.path.join(folder, name + ".npy") for name in ("x", "small", "taps", "ours", "theirs")
    )
    python = [sys.executable, "-c"]
    elements = options.mib << 18
    subprocess.run(python + [MAKE, x, small, taps, str(elements), str(options.taps)], check=True)
    blockwise = [options.blockwise, "--json"]
    rows = [
        ("cp", "", ["cp", x, ours]),
        ("sum of 1000", "blockwise", blockwise + ["sum", small]),
        ("sum", "blockwise", blockwise + ["sum", x]),
        ("sum", "NumPy, PyTorch", python + [SUM, x]),
        ("conv", "blockwise", blockwise + ["conv", x, taps, "-o", ours]),
        ("conv", "NumPy, PyTorch", python + [CONV, x, taps, theirs]),
    ]
    print(f"| {options.mib} MiB of float32, {options.taps} taps | by | first, s | again, s | where, s |")
    print("| --- | --- | ---: | ---: | --- |")
    for number, (work, by, command) in enumerate(rows):
        environment = {**os.environ, "CUDA_CACHE_PATH": os.path.join(folder, f"cache{number}")}
        runs = [timed(command, environment) for _ in range(1 + options.repeat)]
        again = min(seconds for seconds, _ in runs[1:])
        parts = {}
        if by == "blockwise":
            parts = json.loads(runs[-1][1])["seconds"]
        where = ", ".join(f"{name} {seconds:.2f}" for name, seconds in parts.items())
        print(f"| {work} | {by} | {runs[0][0]:.2f} | {again:.2f} | {where} |", flush=True)
    subprocess.run(python + [CHECK, ours, theirs], check=True)
    print("\nBoth convolutions agree.")


if __name__ == "__main__":
    main()
