"""As much of CuPy as bench/peers.py uses, on NumPy: its times mean nothing, its results must be right."""

import numpy
from numpy import *  # noqa: F403

__version__ = "on NumPy"


class Memory:
    def __init__(self, array):
        self.array = array

    def memset(self, value, size):
        assert size == self.array.nbytes
        self.array.view(numpy.ndarray)[...] = numpy.frombuffer(bytes([value]) * self.array.itemsize, self.array.dtype)[0]

    memset_async = memset


class Array(numpy.ndarray):
    data = property(Memory)

    def get(self):
        return self.view(numpy.ndarray)


def asarray(values):
    return numpy.asarray(values).view(Array)


array = asarray


def empty(shape, dtype):
    return numpy.full(shape, 77, dtype).view(Array)


class Generator:
    def __init__(self):
        self.of = numpy.random.default_rng()

    def random(self, shape, dtype):
        return self.of.random(shape, dtype).view(Array)

    def integers(self, low, high, shape, dtype):
        return self.of.integers(low, high, shape, dtype).view(Array)


class random:
    default_rng = Generator
    randint = numpy.random.randint


class cuda:
    class Device:
        attributes = {"L2CacheSize": 1 << 12, "MultiProcessorCount": 4}
        compute_capability = "90"

        def synchronize(self):
            pass

    class Event:
        def record(self):
            pass

    def get_elapsed_time(start, end):
        return 1.0


class RawKernel:
    def __init__(self, code, name):
        pass

    def __call__(self, grid, block, arguments):
        pass


class get_default_memory_pool:
    def free_all_blocks(self):
        pass
