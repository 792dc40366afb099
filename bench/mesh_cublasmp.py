"""Products by cuBLASMp, a second peer of `mesh_peers.py`.

PyPI's wheel `nvidia-cublasmp-cu13` has the library; `BLOCKWISE_CUBLASMP` names another file. It needs
the NCCL and cuBLAS that PyTorch has loaded.
"""

import ctypes
import functools
import importlib.util
import os
from ctypes import byref, c_char, c_float, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path

import torch
import torch.distributed as dist

# Rows of B that go from one process to all others at a time.
BLOCK = int(os.environ.get("BLOCKWISE_CUBLASMP_BLOCK", "1024"))
FLOAT, COMPUTE_32F, NO_TRANSPOSE, COLUMN_MAJOR = 0, 68, 0, 0


def find():
    """The library's file, or None."""
    named = os.environ.get("BLOCKWISE_CUBLASMP")
    if named:
        return named
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations if spec else []:
        for file in Path(folder).glob("cublasmp/*/lib/libcublasmp.so.0"):
            return str(file)
    return None


def load(file):
    """The library. What it needs is loaded by name before, from PyTorch's wheels."""
    torch.zeros(1, device="cuda")
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations if spec else []:
        # Versions below 0.8 need it.
        for needed in Path(folder).glob("nvshmem/lib/libnvshmem_host.so.3"):
            ctypes.CDLL(str(needed), mode=ctypes.RTLD_GLOBAL)
    try:
        return ctypes.CDLL(file)
    except OSError as problem:
        raise RuntimeError(f"cuBLASMp cannot be loaded: {problem}") from problem


class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", c_char * 128)]


def communicator():
    """An NCCL communicator of all processes."""
    nccl = ctypes.CDLL("libnccl.so.2")
    ident = UniqueId()
    if dist.get_rank() == 0:
        check(nccl.ncclGetUniqueId(byref(ident)), "ncclGetUniqueId")
    # As bytes: `ident.bytes` would end at the first zero.
    shared = [bytes(ident)]
    dist.broadcast_object_list(shared, src=0)
    ident = UniqueId.from_buffer_copy(shared[0])
    comm = c_void_p()
    ranks, rank = dist.get_world_size(), dist.get_rank()
    check(nccl.ncclCommInitRank(byref(comm), c_int(ranks), ident, c_int(rank)), "ncclCommInitRank")
    return comm


def check(status, call):
    if status != 0:
        raise RuntimeError(f"{call} failed with status {status}")


class CublasMp:
    """A handle, and processes in a row: each has whole columns of a matrix in column-major order,
    which are whole rows of ours."""

    def __init__(self, file):
        self.library = load(file)
        self.handle, self.grid = c_void_p(), c_void_p()
        stream = c_void_p(torch.cuda.current_stream().cuda_stream)
        self.call("cublasMpCreate", byref(self.handle), stream)
        ranks = c_int64(dist.get_world_size())
        layout = c_int(COLUMN_MAJOR)
        comm = communicator()
        self.call("cublasMpGridCreate", c_int64(1), ranks, layout, comm, byref(self.grid))

    def call(self, name, *arguments):
        check(getattr(self.library, name)(*arguments), name)

    def matrix(self, rows, cols, row_block, col_block):
        """Describes a matrix whose columns are dealt out in blocks."""
        matrix = c_void_p()
        extents = map(c_int64, (rows, cols, row_block, col_block, 0, 0, rows))
        kind = c_int(FLOAT)
        self.call("cublasMpMatrixDescriptorCreate", *extents, kind, self.grid, byref(matrix))
        return matrix

    def product(self, a, b, c, inner_block):
        """The step that computes C = A·B as Cᵀ = Bᵀ·Aᵀ."""
        ranks = dist.get_world_size()
        (own, inner), cols = a.shape, b.shape[1]
        rows = own * ranks
        turned_b = self.matrix(cols, inner, cols, inner_block)
        turned_a = self.matrix(inner, rows, inner_block, own)
        turned_c = self.matrix(cols, rows, cols, own)
        one, zero, first = c_float(1), c_float(0), c_int64(1)
        no = c_int(NO_TRANSPOSE)
        extents = [c_int64(extent) for extent in (cols, rows, inner)]

        def operand(tensor, matrix):
            return [c_void_p(tensor.data_ptr()), first, first, matrix]

        arguments = [
            *[self.handle, no, no, *extents, byref(one)],
            *operand(b, turned_b),
            *operand(a, turned_a),
            byref(zero),
            *operand(c, turned_c),
            c_int(COMPUTE_32F),
        ]
        on_device, on_host = c_size_t(), c_size_t()
        self.call("cublasMpGemm_bufferSize", *arguments, byref(on_device), byref(on_host))
        device = torch.empty(max(1, on_device.value), dtype=torch.uint8, device=a.device)
        host = ctypes.create_string_buffer(max(1, on_host.value))

        def step():
            work = [c_void_p(device.data_ptr()), on_device, host, on_host]
            self.call("cublasMpGemm", *arguments, *work)
            torch.cuda.synchronize()
            return c

        return step


def prepare_matmul(file, values):
    """Like `mesh_peers.prepare_matmul`. B's rows are dealt out in blocks, so that they can be sent
    while those before are multiplied."""
    library = functools.cache(lambda: CublasMp(file))

    def prepare(device, rows, inner, cols):
        rank, ranks = dist.get_rank(), dist.get_world_size()
        if rows % ranks or inner % (ranks * BLOCK):
            raise ValueError(f"{ranks} ranks in blocks of {BLOCK} do not divide {rows}, {inner}")
        own = rows // ranks
        a = values(device, rank * own, own, inner)
        blocks = range(rank * BLOCK, inner, ranks * BLOCK)
        b = torch.cat([values(device, first, BLOCK, cols) for first in blocks])
        c = torch.empty((own, cols), device=device)
        step = library().product(a, b, c, BLOCK)

        def error_of(c):
            exact = torch.zeros((64, cols), device=device, dtype=torch.float64)
            for first in range(0, inner, 4096):
                some = min(4096, inner - first)
                right = values(device, first, some, cols).double()
                exact += a[:64, first : first + some].double() @ right
            return (c[:64] - exact).abs().max().item()

        return step, error_of

    return prepare
