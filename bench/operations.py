"""The works: inputs, what libraries offer for them, and the comparison with a reference."""

import importlib
import math
import time

DTYPES = {"f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64"}


def module(name):
    """A package, with TF32 off: these works are in full FP32."""
    found = importlib.import_module(name)
    if name == "torch":
        found.backends.cuda.matmul.allow_tf32 = False
        found.backends.cudnn.allow_tf32 = False
        found.backends.cudnn.benchmark = True
    return found


def versions():
    """The versions of the packages that are there."""
    there = {}
    for name in ["torch", "cupy", "numba"]:
        try:
            there[name] = importlib.import_module(name).__version__
        except ImportError:
            pass
    return there


def forget():
    """Gives cached memory back."""
    try:
        module("torch").cuda.empty_cache()
    except ImportError:
        pass


class Problem:
    """A work with its inputs on the device: `arrays[copy]` holds them and the output by their names in the twins."""

    def __init__(self, cupy, work):
        self.cupy, self.work, self.size = cupy, work, work["size"]
        self.axis, self.offset, self.brief = work.get("axis"), work.get("offset", 0), work.get("brief", False)
        self.dtype = cupy.dtype(DTYPES[work["type"]])

    def load(self, copies):
        """Makes the inputs; only peers that are launched need them."""
        self.random = self.cupy.random.default_rng()
        self.expected = []
        self.arrays = [self.placed(self.make()) for _ in range(copies)]
        self.results = [None] * copies

    def placed(self, arrays):
        """The same arrays, beginning so many elements after their allocations."""
        if self.offset == 0:
            return arrays
        return {name: self.moved(array) for name, array in arrays.items()}

    def moved(self, array):
        there = self.cupy.empty(array.size + self.offset, array.dtype)[self.offset :].reshape(array.shape)
        there[...] = array
        return there

    def uniform(self, *shape):
        if self.dtype.kind == "i":
            limits = self.cupy.iinfo(self.dtype)
            return self.random.integers(limits.min, limits.max, shape, dtype=self.dtype)
        values = self.random.random(shape, dtype=self.dtype)
        values *= 2
        values -= 1
        return values

    def whole(self, *shape):
        """Whole numbers from -8 to 8: their sums are exact in any order."""
        values = self.cupy.empty(shape, self.dtype)
        flat, step = values.reshape(-1), 1 << 26
        for start in range(0, flat.size, step):
            part = flat[start : start + step]
            part[...] = self.random.integers(-8, 9, part.shape, dtype=self.cupy.int32)
        return values

    def poison(self):
        for arrays in self.arrays:
            arrays["out"].data.memset(0xFF, arrays["out"].nbytes)
        self.results = [None] * len(self.arrays)

    def keep(self, copy, result):
        """What a launch returned; a launch that writes to `out` returns nothing."""
        self.results[copy] = result

    def result(self, copy):
        result = self.results[copy]
        return self.arrays[copy]["out"] if result is None else self.cupy.asarray(result)

    def check(self, rung, seconds=None):
        """Compares the results of all copies, or of as many as these seconds allow."""
        wrong, how, copies = 0, "", len(self.arrays)
        begin = time.perf_counter()
        for copy in range(copies):
            how, differ = self.compare(copy, self.result(copy), rung)
            wrong += int(differ)
            if seconds is not None and time.perf_counter() - begin >= seconds and copy + 1 < copies:
                return f"{how}, of {copy + 1} of {copies} copies", wrong
        return how, wrong

    def tensors(self, *names):
        """PyTorch's view of the arrays of every copy."""
        torch = module("torch")
        return [[torch.from_dlpack(arrays[name]) for name in names] for arrays in self.arrays]

    def torch(self, call, *names):
        """A launch by PyTorch: `call(torch, *tensors)` for the arrays of these names."""

        def make():
            torch, tensors = module("torch"), self.tensors(*names)
            return lambda copy: call(torch, *tensors[copy])

        return make

    def cupy_call(self, call, *names):
        return lambda: lambda copy: call(self.cupy, *(self.arrays[copy][name] for name in names))


class Reduce(Problem):
    """Sum, mean, minimum, maximum, their indices, dot product. Names: a, b, n, out (results of blocks, or one element). With an axis, `size` is the shape."""

    EXTREMES = ("min", "max", "argmin", "argmax")

    def make(self):
        draw = self.uniform if self.work["operation"] in self.EXTREMES else self.whole
        arrays = {"a": draw(*self.size), "out": self.cupy.empty(1 << 16, self.dtype)}
        if self.work["operation"] == "dot":
            arrays["b"] = draw(*self.size)
        self.expected.append(self.reference(arrays))
        return arrays

    def reference(self, arrays):
        cp, operation = self.cupy, self.work["operation"]
        if operation in self.EXTREMES:
            # By neighbouring halves, which libraries do not do.
            values = arrays["a"] if self.axis is None else cp.moveaxis(arrays["a"], self.axis, 0)
            less = cp.minimum if operation.endswith("min") else cp.maximum
            while values.shape[0] > 1:
                half = values.shape[0] // 2
                pairs = less(values[:half], values[half : 2 * half])
                values = pairs if 2 * half == values.shape[0] else cp.concatenate([pairs, values[2 * half :]])
            return values[0] if self.axis is not None else float(values[0]) if self.dtype.kind == "f" else int(values[0])
        if self.axis is not None:
            sums = arrays["a"].astype(cp.int64).sum(axis=self.axis)
            return sums / self.size[self.axis] if operation == "mean" else sums
        total, step = 0, 1 << 26
        for start in range(0, self.size[0], step):
            part = arrays["a"][start : start + step].astype(cp.int64)
            if operation == "dot":
                part *= arrays["b"][start : start + step].astype(cp.int64)
            total += int(part.sum())
        return total

    def names(self):
        return {"n": self.size[0]}

    def peers(self):
        operation = self.work["operation"]
        if operation == "dot":
            calls = [("cupy", "cupy.dot", self.cupy_call(lambda cp, a, b: cp.dot(a, b), "a", "b"))]
            if self.dtype.kind == "f":
                dot = lambda torch, a, b: torch.dot(a, b)
                calls.append(("torch", "torch.dot (cuBLAS)", self.torch(dot, "a", "b")))
        else:
            function = {"min": "amin", "max": "amax"}.get(operation, operation)
            of_torch = lambda torch, a: getattr(torch, function)(a, dim=self.axis or 0)
            of_cupy = lambda cp, a: getattr(cp, function)(a, axis=self.axis)
            calls = [
                ("torch", f"torch.{function}", self.torch(of_torch, "a")),
                ("cupy", f"cupy.{function} (CUB)", self.cupy_call(of_cupy, "a")),
            ]
        return [(by, rung, "", make) for by, rung, make in calls]

    def compare(self, copy, result, rung):
        operation, expected = self.work["operation"], self.expected[copy]
        if operation in ("argmin", "argmax"):
            # Of equals PyTorch may name any: the elements there are compared.
            values, axis = self.arrays[copy]["a"], self.axis or 0
            places = self.cupy.expand_dims(result.reshape(values.shape[:axis] + values.shape[axis + 1 :]), axis)
            found = self.cupy.take_along_axis(values, places, axis).squeeze(axis)
            return "the elements there, exactly", int((found != expected).sum())
        if operation == "mean":
            # The sum is exact; libraries multiply it by a rounded reciprocal.
            if self.axis is None:
                expected /= self.size[0]
            differ = abs(result.astype("float64") - expected) > 4 * self.cupy.finfo(self.dtype).eps * abs(expected)
            return "every element, within 4 units", int(differ.sum())
        if self.axis is not None:
            return "every element, exactly", int((result != expected).sum())
        # Partial results of blocks are folded here; what no block wrote is still poison.
        values = result.ravel()
        if values.size > 1:
            values = values[: int(self.blocks)]
        values = values.get().astype("float64" if self.dtype.kind == "f" else "int64")
        folded = getattr(values, operation)() if operation in ("min", "max") else values.sum()
        return "exactly", folded != expected


class Convolution(Problem):
    """Convolutions. Names: signal, taps, n, m, outputs, offset, out."""

    MODES = {"conv-same": "same", "conv-full": "full", "conv-valid": "valid"}
    # Windows of outputs that are compared, outputs of each, and products of each at most.
    WINDOWS, RUN, PRODUCTS = 24, 4096, 1 << 22
    # Taps from which on overlapping transforms are a peer.
    TRANSFORMED = 64

    def make(self):
        n, m = self.size
        length = self.names()["outputs"]
        return {"signal": self.uniform(n), "taps": self.uniform(m), "out": self.cupy.empty(length, self.dtype)}

    def names(self):
        n, m = self.size
        outputs, offset = {"full": (n + m - 1, 0), "same": (n, (m - 1) // 2), "valid": (n - m + 1, m - 1)}[self.MODES[self.work["operation"]]]
        return {"n": n, "m": m, "outputs": outputs, "offset": offset}

    def peers(self):
        n, m = self.size
        mode = self.MODES[self.work["operation"]]
        left = (m - 1) - self.names()["offset"]
        right = self.names()["outputs"] + m - 1 - n - left

        def of_torch():
            torch = module("torch")
            tensors = self.tensors("signal", "taps")
            # cuDNN correlates: the taps are turned round beforehand, outside the time. Unequal
            # padding is a copy of the signal.
            turned = [(signal.view(1, 1, -1), taps.flip(0).view(1, 1, -1)) for signal, taps in tensors]
            functional = torch.nn.functional

            def launch(copy):
                signal, taps = turned[copy]
                if left == right:
                    return functional.conv1d(signal, taps, padding=left).view(-1)
                return functional.conv1d(functional.pad(signal, (left, right)), taps).view(-1)

            return launch

        def of_oaconvolve():
            oaconvolve = importlib.import_module("cupyx.scipy.signal").oaconvolve
            return self.cupy_call(lambda cp, s, t: oaconvolve(s, t, mode), "signal", "taps")()

        peers = [("cupy", "cupy.convolve (FFT)", "", self.cupy_call(lambda cp, s, t: cp.convolve(s, t, mode), "signal", "taps"))]
        if m >= self.TRANSFORMED:
            peers.append(("cupy", "oaconvolve (FFT)", "", of_oaconvolve))
        if not self.direct():
            return peers
        peers.append(("torch", "conv1d (cuDNN)", "", of_torch))
        if mode == "same" and self.dtype == self.cupy.float32 and not self.brief:
            peers.append(("numba", "document: shared memory", "256 threads", self.numba))
        return peers

    def direct(self):
        """Whether direct sums are timed: beyond this many products each takes seconds, and transforms milliseconds."""
        n, m = self.size
        return n * m <= 1 << (33 if self.brief else 37)

    def numba(self):
        """The tutorial's kernel, its barrier outside every branch and its halo loaded by all threads."""
        import numpy

        # numba 0.68 asks for names that NumPy 2.5 has no more.
        for old, new in {"row_stack": "vstack", "in1d": "isin", "trapz": "trapezoid"}.items():
            if not hasattr(numpy, old):
                setattr(numpy, old, getattr(numpy, new))
        cuda, float32 = importlib.import_module("numba.cuda"), importlib.import_module("numba").float32
        n, m = self.size
        threads, offset = 256, (m - 1) // 2

        @cuda.jit
        def convolve(signal, taps, out):
            tile = cuda.shared.array(0, float32)
            first = cuda.blockIdx.x * cuda.blockDim.x
            slot = cuda.threadIdx.x
            while slot < cuda.blockDim.x + taps.size - 1:
                at = first + slot + offset - (taps.size - 1)
                tile[slot] = signal[at] if 0 <= at < signal.size else float32(0)
                slot += cuda.blockDim.x
            cuda.syncthreads()
            i = first + cuda.threadIdx.x
            if i < out.size:
                total = float32(0)
                for k in range(taps.size):
                    total += taps[k] * tile[cuda.threadIdx.x + taps.size - 1 - k]
                out[i] = total

        configured = convolve[math.ceil(n / threads), threads, 0, 4 * (threads + m - 1)]
        views = [[cuda.as_cuda_array(arrays[name]) for name in ("signal", "taps", "out")] for arrays in self.arrays]
        return lambda copy: configured(*views[copy])

    def compare(self, copy, result, rung):
        import numpy

        arrays = self.arrays[copy]
        n, m = self.size
        outputs, offset = self.names()["outputs"], self.names()["offset"]
        taps = arrays["taps"].get().astype(numpy.float64)
        roundoff = 2.0**-24 if self.dtype == self.cupy.float32 else 2.0**-53
        run = min(self.RUN, outputs, max(256, self.PRODUCTS // m))
        starts = [0, outputs - run, *numpy.random.default_rng().integers(0, outputs - run + 1, self.WINDOWS - 2)]
        wrong = int(self.cupy.isnan(result).sum())
        for start in map(int, starts):
            first = start + offset - (m - 1)
            needed = numpy.zeros(run + m - 1)
            low, high = max(first, 0), min(first + run + m - 1, n)
            needed[low - first : high - first] = arrays["signal"][low:high].get()
            expected = numpy.convolve(needed, taps, "valid")
            bound = (m + 2) * roundoff * numpy.convolve(numpy.abs(needed), numpy.abs(taps), "valid")
            if "FFT" in rung.upper() or "cuDNN" in rung:
                # A transform spreads its error over all outputs.
                bound = bound + 16 * roundoff * math.log2(n) * numpy.abs(taps).sum()
            error = numpy.abs(result[start : start + run].get() - expected)
            wrong += int((~(error <= bound)).sum())
        return f"{min(self.WINDOWS * run, outputs)} of {outputs} outputs, all written", wrong


class Rows(Problem):
    """Convolutions of each row of a matrix with the same taps, in mode same. Names: signal, taps, out."""

    # Rows that are compared, and outputs of each at most; taps from which on transforms are a peer,
    # and products up to which direct sums are.
    ROWS, RUN, TRANSFORMED, PRODUCTS = 8, 4096, 16, 1 << 37

    def make(self):
        rows, n, m = self.size
        return {"signal": self.uniform(rows, n), "taps": self.uniform(1, m), "out": self.cupy.empty((rows, n), self.dtype)}

    def names(self):
        return {}

    def peers(self):
        rows, n, m = self.size
        left, right = m // 2, (m - 1) // 2

        def of_torch():
            torch = module("torch")
            # cuDNN correlates: the taps are turned round beforehand, outside the time. Unequal
            # padding is a copy of the signals.
            turned = [(signal.view(rows, 1, n), taps.flip(1).view(1, 1, m)) for signal, taps in self.tensors("signal", "taps")]
            functional = torch.nn.functional

            def launch(copy):
                signal, taps = turned[copy]
                if left == right:
                    return functional.conv1d(signal, taps, padding=left).view(rows, n)
                return functional.conv1d(functional.pad(signal, (left, right)), taps).view(rows, n)

            return launch

        def of_oaconvolve():
            oaconvolve = importlib.import_module("cupyx.scipy.signal").oaconvolve
            return self.cupy_call(lambda cp, s, t: oaconvolve(s, t, mode="same", axes=-1), "signal", "taps")()

        peers = [("torch", "conv1d (cuDNN)", "", of_torch)] if rows * n * m <= self.PRODUCTS else []
        if m >= self.TRANSFORMED or not peers:
            peers.append(("cupy", "oaconvolve (FFT)", "axes=-1", of_oaconvolve))
        return peers

    def compare(self, copy, result, rung):
        import numpy

        arrays, (rows, n, m) = self.arrays[copy], self.size
        taps = arrays["taps"][0].get().astype(numpy.float64)
        roundoff = float(self.cupy.finfo(self.dtype).eps) / 2
        run, offset = min(self.RUN, n), (m - 1) // 2
        random = numpy.random.default_rng()
        wrong = int(self.cupy.isnan(result).sum())
        some = {0, rows - 1, *map(int, random.integers(0, rows, self.ROWS - 2))}
        for row in some:
            start = int(random.integers(0, n - run + 1))
            first = start + offset - (m - 1)
            needed = numpy.zeros(run + m - 1)
            low, high = max(first, 0), min(first + run + m - 1, n)
            needed[low - first : high - first] = arrays["signal"][row, low:high].get()
            expected = numpy.convolve(needed, taps, "valid")
            bound = (m + 2) * roundoff * numpy.convolve(numpy.abs(needed), numpy.abs(taps), "valid")
            # A transform spreads its error over all outputs.
            bound = bound + 16 * roundoff * math.log2(n + m) * numpy.abs(taps).sum()
            wrong += int((~(numpy.abs(result[row, start : start + run].get() - expected) <= bound)).sum())
        return f"{run} outputs of {len(some)} rows, all written", wrong


class Matmul(Problem):
    """Products of matrices. Names: a, b, rows, inner, cols, out."""

    def make(self):
        rows, inner, cols = self.size
        return {"a": self.uniform(rows, inner), "b": self.uniform(inner, cols), "out": self.cupy.empty((rows, cols), self.dtype)}

    def names(self):
        return dict(zip(("rows", "inner", "cols"), self.size))

    def peers(self):
        def product(torch, a, b, out):
            torch.matmul(a, b, out=out)

        routine = "SGEMM" if self.dtype == self.cupy.float32 else "DGEMM"
        return [("torch", f"matmul (cuBLAS {routine})", "TF32 off", self.torch(product, "a", "b", "out"))]

    def compare(self, copy, result, rung):
        cp, arrays = self.cupy, self.arrays[copy]
        rows, inner, _ = self.size
        some = cp.unique(cp.concatenate([cp.array([0, rows - 1]), cp.random.randint(0, rows, 62)]))
        a, b = arrays["a"][some].astype(cp.float64), arrays["b"].astype(cp.float64)
        expected, magnitude = a @ b, abs(a) @ abs(b)
        wrong = ~(abs(result[some] - expected) <= (inner + 1) * self.cupy.finfo(self.dtype).eps / 2 * magnitude)
        return f"{some.size} rows, all written", int(wrong.sum()) + int(cp.isnan(result).sum())


class Batch(Matmul):
    """Batches of products. Names: a, b, out. `size` is the number of products and the extents of each, or two numbers, one of them 1: that side is shared."""

    def make(self):
        *batch, rows, inner, cols = self.size
        self.of_a, self.of_b = batch if len(batch) == 2 else batch * 2
        out = self.cupy.empty((max(self.of_a, self.of_b), rows, cols), self.dtype)
        return {"a": self.uniform(self.of_a, rows, inner), "b": self.uniform(self.of_b, inner, cols), "out": out}

    def names(self):
        return {}

    def peers(self):
        name = "SGEMM" if self.dtype == self.cupy.float32 else "DGEMM"
        of_cupy = lambda cp, a, b, out: cp.matmul(a, b, out=out)
        cupy = ("cupy", f"matmul (cuBLAS {name} strided batched)", "", self.cupy_call(of_cupy, "a", "b", "out"))
        if len(self.size) == 5:
            return [("torch", "matmul", "TF32 off", self.torch(lambda torch, a, b, out: torch.matmul(a, b, out=out), "a", "b", "out")), cupy]
        return [("torch", "bmm", "TF32 off", self.torch(lambda torch, a, b, out: torch.bmm(a, b, out=out), "a", "b", "out")), cupy]

    def compare(self, copy, result, rung):
        cp, arrays, inner = self.cupy, self.arrays[copy], self.size[-2]
        products = result.shape[0]
        some = cp.unique(cp.concatenate([cp.array([0, products - 1]), cp.random.randint(0, products, 14)]))
        of = lambda array: array[some if array.shape[0] > 1 else cp.zeros_like(some)].astype(cp.float64)
        a, b = of(arrays["a"]), of(arrays["b"])
        if a.shape[1] > 64:
            rows = cp.unique(cp.concatenate([cp.array([0, a.shape[1] - 1]), cp.random.randint(0, a.shape[1], 62)]))
            a, result_of = a[:, rows], result[some][:, rows]
        else:
            result_of = result[some]
        wrong = ~(abs(result_of - a @ b) <= (inner + 1) * cp.finfo(self.dtype).eps / 2 * (abs(a) @ abs(b)))
        return f"{a.shape[1]} rows of {some.size} products, all written", int(wrong.sum()) + int(cp.isnan(result).sum())


class Transpose(Problem):
    """Transposes. Names: input, rows, cols, out."""

    def make(self):
        rows, cols = self.size
        return {"input": self.uniform(rows, cols), "out": self.cupy.empty((cols, rows), self.dtype)}

    def names(self):
        return dict(zip(("rows", "cols"), self.size))

    def peers(self):
        def of_torch(torch, source, out):
            out.copy_(source.t())

        def of_cupy(cp, source, out):
            out[...] = source.T

        return [
            ("torch", "copy_(t())", "", self.torch(of_torch, "input", "out")),
            ("cupy", "out[...] = input.T", "", self.cupy_call(of_cupy, "input", "out")),
        ]

    def compare(self, copy, result, rung):
        return "every element, exactly", int((result != self.arrays[copy]["input"].T).sum())


class Reverse(Problem):
    """Reversals. Names: input, n, out."""

    def make(self):
        return {"input": self.uniform(*self.size), "out": self.cupy.empty(self.size, self.dtype)}

    def names(self):
        return {"n": self.size[0]}

    def turned(self, source):
        """A view of the array, reversed along its axis."""
        axes = [slice(None)] * (self.axis or 0)
        return source[(*axes, slice(None, None, -1))]

    def peers(self):
        def of_cupy(cp, source, out):
            out[...] = self.turned(source)

        return [
            ("torch", "flip", "", self.torch(lambda torch, source: torch.flip(source, (self.axis or 0,)), "input")),
            ("cupy", "out[...] = input[::-1]", "", self.cupy_call(of_cupy, "input", "out")),
        ]

    def compare(self, copy, result, rung):
        return "every element, exactly", int((result != self.turned(self.arrays[copy]["input"])).sum())


class Scan(Problem):
    """Running sums. Names: input, n, out."""

    def make(self):
        return {"input": self.whole(*self.size), "out": self.cupy.empty(self.size, self.dtype)}

    def names(self):
        return {"n": self.size[0]}

    def peers(self):
        def of_torch(torch, source, out):
            torch.cumsum(source, self.axis or 0, dtype=source.dtype, out=out)

        def of_cupy(cp, source, out):
            cp.cumsum(source, axis=self.axis, dtype=source.dtype, out=out)

        return [
            ("torch", "cumsum", "", self.torch(of_torch, "input", "out")),
            ("cupy", "cumsum (CUB)", "", self.cupy_call(of_cupy, "input", "out")),
        ]

    def compare(self, copy, result, rung):
        # Sums of whole numbers are exact as long as they stay below 2^24.
        if self.axis is not None:
            sums = self.cupy.cumsum(self.arrays[copy]["input"].astype(self.cupy.int64), axis=self.axis)
            return "every element, exactly", int((result != sums).sum())
        wrong, total, step = 0, 0, 1 << 26
        for start in range(0, self.size[0], step):
            part = self.arrays[copy]["input"][start : start + step].astype(self.cupy.int64)
            sums = self.cupy.cumsum(part) + total
            wrong += int((result[start : start + step] != sums).sum())
            total = int(sums[-1])
        return "every element, exactly", wrong


PROBLEMS = {
    **dict.fromkeys(["sum", "mean", "min", "max", "argmin", "argmax", "dot"], Reduce),
    **dict.fromkeys(["conv-same", "conv-full", "conv-valid"], Convolution),
    "conv-rows": Rows,
    "matmul": Matmul,
    "matmul-batch": Batch,
    "transpose": Transpose,
    "reverse": Reverse,
    "scan": Scan,
}
