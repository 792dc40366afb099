"""Operations over GPUs by PyTorch with NCCL, and products by cuBLASMp where its wheel is installed,
for `blockwise bench --gpus`.

Run by torchrun, one process a GPU. Works are OPERATION=EXTENTS:ROUNDS, such as sum=8589934592:25 or
matmul=16384x16384x16384:5. Rank 0 prints a line of JSON for each work and peer.
"""

import datetime
import json
import os
import sys
import time

import torch
import torch.distributed as dist

import mesh_cublasmp


def main():
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    device = torch.device("cuda", local)
    torch.backends.cuda.matmul.allow_tf32 = False
    # A rank without memory must not keep the others waiting for long.
    patience = datetime.timedelta(seconds=60)
    dist.init_process_group("nccl", device_id=device, timeout=patience)
    peers = [("torch + NCCL", OPERATIONS, {}), ("NCCL", PARTS, {"part": "all-to-all"})]
    library = mesh_cublasmp.find()
    if library:
        product = mesh_cublasmp.prepare_matmul(library, values)
        peers.append(("cuBLASMp", {"matmul": product}, {}))
    for index, work in enumerate(sys.argv[1:]):
        operation, rest = work.split("=")
        extents, rounds = rest.split(":")
        for by, operations, part in peers:
            if operation in operations:
                size = map(int, extents.split("x"))
                row = measured(operations[operation], device, size, int(rounds))
                if dist.get_rank() == 0:
                    print(json.dumps({"work": index, "by": by} | part | row), flush=True)
    dist.destroy_process_group()


def measured(prepare, device, size, rounds):
    """A row's timing and check."""
    row = {"timing": None, "check": "", "passed": False}
    try:
        step, error_of = prepare(device, *size)
        row["timing"], result = timed(step, rounds, device)
        error = error_of(result)
    except (RuntimeError, ValueError) as problem:
        row["check"] = str(problem).splitlines()[0]
    else:
        row["check"] = f"relative error {error:.1e}"
        row["passed"] = error < 1e-4
    step = error_of = result = None
    torch.cuda.empty_cache()
    return row


def timed(step, rounds, device):
    """The slowest rank's seconds of each step, without the first one, and a step's result."""
    result = step()
    times = []
    for _ in range(rounds):
        # The last result's memory is free for this one.
        result = None
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        result = step()
        times.append(time.perf_counter() - begin)
    slowest = torch.tensor(times, device=device, dtype=torch.float64)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    quantiles = torch.tensor([0.5, 0.1, 0.9], device=device, dtype=torch.float64)
    median, p10, p90 = torch.quantile(slowest, quantiles).tolist()
    return {"median": median, "p10": p10, "p90": p90, "samples": rounds}, result


# One call of `dot` takes less than 2^31 elements, and one of `cumsum` with more is an illegal access
# (PyTorch 2.11).
PIECE = 1 << 30


def share(extent):
    """A rank's part of an extent."""
    ranks = dist.get_world_size()
    if extent % ranks:
        raise ValueError(f"{ranks} ranks do not divide {extent}")
    return extent // ranks


def prepare_sum(device, count):
    x = torch.full((share(count),), 0.75, device=device)

    def step():
        result = x.sum()
        dist.all_reduce(result)
        return result.item()

    return step, lambda result: abs(result / (0.75 * count) - 1)


def prepare_dot(device, count):
    a = torch.full((share(count),), 0.75, device=device)
    b = torch.full_like(a, 0.5)

    def step():
        pieces = zip(a.split(PIECE), b.split(PIECE))
        result = sum(torch.dot(left, right) for left, right in pieces)
        dist.all_reduce(result)
        return result.item()

    return step, lambda result: abs(result / (0.375 * count) - 1)


def prepare_scan(device, count):
    own, rank, ranks = share(count), dist.get_rank(), dist.get_world_size()
    x = torch.full((own,), 0.75, device=device)
    sums = torch.empty_like(x)
    totals = torch.empty(ranks, device=device)

    pieces = list(zip(x.split(PIECE), sums.split(PIECE)))

    def step():
        before = None
        for part, out in pieces:
            torch.cumsum(part, 0, out=out)
            if before is not None:
                out.add_(before)
            before = out[-1]
        if ranks > 1:
            dist.all_gather_into_tensor(totals, sums[-1:])
            if rank > 0:
                sums.add_(totals[:rank].sum())
        torch.cuda.synchronize()
        return sums

    return step, lambda sums: abs(sums[-1].item() / (0.75 * own * (rank + 1)) - 1)


def prepare_conv(device, samples, taps):
    rank, ranks = dist.get_rank(), dist.get_world_size()
    halo = taps // 2
    own = share(samples)
    signal = torch.full((1, 1, own + 2 * halo), 0.75, device=device)
    weights = torch.full((1, 1, taps), 1 / taps, device=device)

    def step():
        line = signal[0, 0]
        transfers = []
        if rank > 0:
            transfers.append(dist.P2POp(dist.isend, line[halo : 2 * halo], rank - 1))
            transfers.append(dist.P2POp(dist.irecv, line[:halo], rank - 1))
        if rank + 1 < ranks:
            transfers.append(dist.P2POp(dist.isend, line[own : own + halo], rank + 1))
            transfers.append(dist.P2POp(dist.irecv, line[own + halo :], rank + 1))
        if transfers:
            for transfer in dist.batch_isend_irecv(transfers):
                transfer.wait()
        smooth = [
            torch.nn.functional.conv1d(signal[..., first : first + PIECE + 2 * halo], weights)
            for first in range(0, own, PIECE)
        ]
        torch.cuda.synchronize()
        return smooth

    return step, lambda smooth: max(abs(part.min().item() / 0.75 - 1) for part in smooth)


def values(device, first, rows, cols):
    """Rows of a matrix of whole numbers from -8 to 8, from row `first` on."""
    index = torch.arange(first * cols, (first + rows) * cols, device=device)
    return (index % 65521 * 7919 % 17 - 8).to(torch.float32).view(rows, cols)


def prepare_matmul(device, rows, inner, cols):
    own, of_b = share(rows), share(inner)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    a = values(device, rank * own, own, inner)
    b = values(device, rank * of_b, of_b, cols)
    whole = torch.empty((inner, cols), device=device) if ranks > 1 else b
    c = torch.empty((own, cols), device=device)

    def step():
        if ranks > 1:
            dist.all_gather_into_tensor(whole, b)
        torch.matmul(a, whole, out=c)
        torch.cuda.synchronize()
        return c

    def error_of(c):
        exact = a[:64].double() @ whole.double()
        return (c[:64] - exact).abs().max().item()

    return step, error_of


def prepare_transpose(device, rows, cols):
    own, of_out = share(rows), share(cols)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    x = values(device, rank * own, own, cols)

    def step():
        turned = x.t().contiguous()
        if ranks > 1:
            arrived = torch.empty_like(turned)
            dist.all_to_all_single(arrived, turned)
            turned = torch.cat(list(arrived.view(ranks, of_out, own)), dim=1)
        torch.cuda.synchronize()
        return turned

    def error_of(turned):
        first = rank * of_out
        col = torch.arange(rows, device=device) * cols + first
        exact = (col % 65521 * 7919 % 17 - 8).to(torch.float32)
        return (turned[0] - exact).abs().max().item()

    return step, error_of


def prepare_columns(device, rows, cols):
    """The transpose whose result stays where it is."""
    own, rank = share(rows), dist.get_rank()
    x = values(device, rank * own, own, cols)

    def step():
        turned = x.t().contiguous()
        torch.cuda.synchronize()
        return turned

    return step, lambda turned: (turned[:64] - x[:, :64].t()).abs().max().item()


def prepare_exchange(device, rows, cols):
    """What a transpose sends, alone: each rank's tiles lie one after the other."""
    own, ranks = share(rows), dist.get_world_size()
    sent = values(device, dist.get_rank() * own, own, cols)
    arrived = torch.empty_like(sent)

    def step():
        dist.all_to_all_single(arrived, sent)
        torch.cuda.synchronize()
        return arrived

    def error_of(arrived):
        first = values(device, dist.get_rank() * (own // ranks), 1, cols)[0]
        return (arrived[0] - first).abs().max().item()

    return step, error_of


OPERATIONS = {
    "sum": prepare_sum,
    "dot": prepare_dot,
    "scan": prepare_scan,
    "conv": prepare_conv,
    "matmul": prepare_matmul,
    "transpose": prepare_transpose,
    "transpose-columns": prepare_columns,
}
PARTS = {"transpose": prepare_exchange}

if __name__ == "__main__":
    main()
