"""The CUDA C++ twins in `twins/*.cu`: our rungs and the documents' kernels, compiled by nvcc.

A line `//! {...}` in such a file is a twin, as JSON. All values but the first four are Python expressions:

    //! {"works": "sum/f32", "by": "nvcc", "rung": "shuffle", "kernel": "sum_shuffle_f32",
    //!  "grid": "min(ceil(n, 256), 1024)", "block": "256", "shared": "0", "arguments": "a, n, out", "results": "grid"}

(in one line). `works` is operation and type; `by` is `nvcc` for a twin of our rung of that name, or `document` for a tutorial's kernel.
The names are those of the class in `operations.py`: numbers, arrays, and `ceil(x, y)`, the quotient rounded up. Numbers are passed as
64-bit integers. `grid` and `block` may be tuples. `results` (reductions only) says how many elements of `out` the kernel writes.
"""

import json
import os
import shutil
import subprocess
import tempfile

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "twins")


def described():
    """Every twin with its file."""
    for name in sorted(os.listdir(FOLDER)):
        if name.endswith(".cu"):
            with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
                for line in file:
                    if line.startswith("//! {"):
                        yield name, json.loads(line.removeprefix("//! "))


MODULES = {}


def module(cupy, file):
    """The compiled file; compiled once."""
    if file not in MODULES:
        nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
        if nvcc is None:
            raise RuntimeError("nvcc is not on the PATH")
        cubin = os.path.join(tempfile.mkdtemp(), file + ".cubin")
        arch = "sm_" + cupy.cuda.Device().compute_capability
        source = os.path.join(FOLDER, file)
        done = subprocess.run([nvcc, "-O3", "-arch=" + arch, "--cubin", "-o", cubin, source], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip()[:500])
        MODULES[file] = cupy.RawModule(path=cubin)
    return MODULES[file]


def of(cupy, work, loaded):
    """The twins of a work, as (implementation, rung, policy, make)."""
    works = f"{work['operation']}/{work['type']}"
    return [
        (twin["by"], twin["rung"], f"{twin['grid']} x {twin['block']}", lambda twin=twin, file=file: launcher(cupy, file, twin, loaded))
        for file, twin in described()
        if twin["works"] == works
    ]


def launcher(cupy, file, twin, loaded):
    kernel = module(cupy, file).get_function(twin["kernel"])
    names = {**loaded.names(), "ceil": lambda x, y: -(-x // y), "min": min, "max": max}
    value = lambda expression, more={}: eval(expression, {"__builtins__": {}}, {**names, **more})
    tuple_of = lambda given: given if isinstance(given, tuple) else (given,)
    grid, block, shared = tuple_of(value(twin["grid"])), tuple_of(value(twin["block"])), value(twin["shared"])
    if shared > 48 * 1024:
        kernel.max_dynamic_shared_size_bytes = shared
    if "results" in twin:
        loaded.blocks = value(twin["results"], {"grid": grid[0]})
    to_int64 = lambda argument: cupy.int64(argument) if isinstance(argument, int) else argument
    arguments = [tuple(map(to_int64, value(f"({twin['arguments']},)", arrays))) for arrays in loaded.arrays]
    return lambda copy: kernel(grid, block, arguments[copy], shared_mem=shared)
