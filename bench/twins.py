"""The CUDA C++ twins in `twins/*.cu`: our rungs and the documents' kernels, compiled by nvcc.

A line `//! {...}` in such a file is a twin, as JSON. All values but the first four are Python expressions:

    //! {"works": "sum/f32", "by": "nvcc", "rung": "shuffle", "kernel": "sum_shuffle_f32",
    //!  "grid": "min(ceil(n, 256), 1024)", "block": "256", "shared": "0", "arguments": "a, n, out", "results": "grid"}

(in one line). `works` is operation and type; `by` is `nvcc` for a twin of our rung of that name, or `document` for a tutorial's kernel.
The names are those of the class in `operations.py`: numbers, arrays, `ceil(x, y)`, the quotient rounded up, and `multiprocessors`. Numbers
are passed as 64-bit integers. `grid` and `block` may be tuples. `results` (reductions only) says how many elements of `out` the kernel writes.
`when` says for which sizes there is this twin, such as "m <= 64": those that our rung takes. Without it there is one for all.

A twin of several launches has the others in `then`, as a list of objects with `kernel` to `arguments`. What passes between them is memory of
its own: `scratch` and `ones` are objects of names and numbers of 32-bit words; before each launch all bits of those in `ones` are set.
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
        capability = cupy.cuda.Device().compute_capability
        # From 9.0 on there are instructions of this very architecture.
        arch = f"sm_{capability}{'a' if int(capability) >= 90 else ''}"
        source = os.path.join(FOLDER, file)
        done = subprocess.run([nvcc, "-O3", "-arch=" + arch, "--cubin", "-o", cubin, source], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip()[:500])
        MODULES[file] = cupy.RawModule(path=cubin)
    return MODULES[file]


def of(cupy, work, loaded):
    """The twins of a work, as (implementation, rung, policy, make)."""
    works, value = f"{work['operation']}/{work['type']}", evaluator(cupy, loaded)
    return [
        (twin["by"], twin["rung"], f"{twin['grid']} x {twin['block']}", lambda twin=twin, file=file: launcher(cupy, file, twin, loaded))
        for file, twin in described()
        if twin["works"] == works and value(twin.get("when", "True"))
    ]


def evaluator(cupy, loaded):
    """The value of an expression of a work's names, and of more."""
    multiprocessors = cupy.cuda.Device().attributes["MultiProcessorCount"]
    known = {**loaded.names(), "multiprocessors": multiprocessors, "ceil": lambda x, y: -(-x // y), "min": min, "max": max}
    return lambda expression, more={}: eval(expression, {"__builtins__": {}}, {**known, **more})


def launcher(cupy, file, twin, loaded):
    value = evaluator(cupy, loaded)
    memory = lambda key: {name: cupy.empty(value(words), cupy.uint32) for name, words in twin.get(key, {}).items()}
    scratch, ones = memory("scratch"), memory("ones")
    tuple_of = lambda given: given if isinstance(given, tuple) else (given,)
    to_int64 = lambda argument: cupy.int64(argument) if isinstance(argument, int) else argument

    def prepared(step):
        kernel = module(cupy, file).get_function(step["kernel"])
        grid, block, shared = tuple_of(value(step["grid"])), tuple_of(value(step["block"])), value(step["shared"])
        if shared > 48 * 1024:
            kernel.max_dynamic_shared_size_bytes = shared
        arguments = [
            tuple(map(to_int64, value(f"({step['arguments']},)", {**arrays, **scratch, **ones}))) for arrays in loaded.arrays
        ]
        return lambda copy: kernel(grid, block, arguments[copy], shared_mem=shared)

    steps = [prepared(step) for step in [twin, *twin.get("then", [])]]
    if "results" in twin:
        loaded.blocks = value(twin["results"], {"grid": value(twin["grid"])})

    def launch(copy):
        for array in ones.values():
            array.data.memset_async(0xFF, array.nbytes)
        for step in steps:
            step(copy)

    return launch
