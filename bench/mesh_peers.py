"""Sums, dot products and convolutions over GPUs by PyTorch with NCCL, for `blockwise bench --gpus`.

Run by torchrun, one process a GPU. Rank 0 prints a line of JSON for each operation.
"""

import argparse
import json
import os
import time

import torch
import torch.distributed as dist


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sum", type=int, default=1 << 33)
    parser.add_argument("--dot", type=int, default=1 << 32)
    parser.add_argument("--samples", type=int, default=1 << 30)
    parser.add_argument("--taps", type=int, default=31)
    parser.add_argument("--rounds", type=int, default=25)
    arguments = parser.parse_args()
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    device = torch.device("cuda", local)
    dist.init_process_group("nccl", device_id=device)
    rank, ranks = dist.get_rank(), dist.get_world_size()

    def report(operation, step, exact):
        row = {"operation": operation, "timing": None, "check": "", "passed": False}
        try:
            row["timing"], result = timed(step, arguments.rounds, device)
        except RuntimeError as error:
            row["check"] = str(error).splitlines()[0]
        else:
            error = abs(result / exact - 1)
            row["check"] = f"relative error {error:.1e}"
            row["passed"] = error < 1e-4
        if rank == 0:
            print(json.dumps(row), flush=True)

    x = torch.full((arguments.sum // ranks,), 0.75, device=device)

    def total():
        result = x.sum()
        dist.all_reduce(result)
        return result.item()

    report("sum", total, 0.75 * (x.numel() * ranks))
    del x
    a = torch.full((arguments.dot // ranks,), 0.75, device=device)
    b = torch.full_like(a, 0.5)

    def product():
        # One call takes less than 2^31 elements.
        pieces = zip(a.split(1 << 30), b.split(1 << 30))
        result = sum(torch.dot(left, right) for left, right in pieces)
        dist.all_reduce(result)
        return result.item()

    report("dot", product, 0.375 * (a.numel() * ranks))
    del a, b
    halo = arguments.taps // 2
    own = arguments.samples // ranks
    signal = torch.full((1, 1, own + 2 * halo), 0.75, device=device)
    taps = torch.full((1, 1, arguments.taps), 1 / arguments.taps, device=device)

    def convolution():
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
        smooth = torch.nn.functional.conv1d(signal, taps)
        torch.cuda.synchronize()
        return smooth

    report("conv", convolution, 0.75)
    dist.destroy_process_group()


def timed(step, rounds, device):
    """The slowest rank's seconds of each step, without the first one, and a step's result."""
    result = step()
    times = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        result = step()
        times.append(time.perf_counter() - begin)
    if torch.is_tensor(result):
        result = result.min().item()
    slowest = torch.tensor(times, device=device, dtype=torch.float64)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    quantiles = torch.tensor([0.5, 0.1, 0.9], device=device, dtype=torch.float64)
    median, p10, p90 = torch.quantile(slowest, quantiles).tolist()
    return {"median": median, "p10": p10, "p90": p90, "samples": rounds}, result


if __name__ == "__main__":
    main()
