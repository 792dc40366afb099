"""Ranks that are killed, do not come, or are not of the job, for `bench/mesh.sh`.

Ranks are processes with a launcher's variables, on the GPU of their number or on emulated devices.
Each trial is a row: its group, what was tried, what was seen, whether that is right, and the seconds
from the kill to the end of the last rank.
"""

import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import time

# A rank that has lost another one ends within so many seconds.
LIMIT = 10
MEETING = 4
MOMENTS = 10
NOT_INSTALLED = "launchers that are not installed"


class Trials:
    def __init__(self, command, check, ranks, device, folder):
        self.command, self.check, self.device, self.folder = command, check, device, folder
        self.ranks = max(2, ranks)
        # With fewer GPUs than ranks, all are on the first one, or emulated.
        self.shared = ranks < 2
        self.emulated = bool(device)

    def run(self):
        yield from self.killed_while_writing()
        yield from self.killed_between_gpus()
        yield self.never_comes()
        yield self.wrong_secret()
        yield from self.launchers()

    # Ranks

    def start(self, rank, program, **more):
        environment = os.environ | {
            "RANK": str(rank),
            "LOCAL_RANK": "0" if self.shared else str(rank),
            "WORLD_SIZE": str(self.ranks),
            "MASTER_ADDR": "localhost",
        }
        if self.emulated:
            environment["CUDA_VISIBLE_DEVICES"] = ""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(program, env=environment | more, cwd=self.folder, text=True, **pipes)

    def blockwise(self, *arguments):
        return [os.path.abspath(self.command), *self.device, "--quiet", *arguments]

    def job(self, program):
        port = str(free_port())
        return [self.start(rank, program, MASTER_PORT=port) for rank in range(self.ranks)]

    def survivors(self, ranks, victim):
        """Waits for the others; their errors, and the seconds until the last one ended."""
        begin, errors = time.monotonic(), {}
        for rank, process in enumerate(ranks):
            left = max(0.1, 3 * LIMIT - (time.monotonic() - begin))
            try:
                _, error = process.communicate(timeout=left)
            except subprocess.TimeoutExpired:
                process.kill()
                _, error = process.communicate()
                error = "has not ended: " + error
            if rank != victim:
                errors[rank] = (process.returncode, error.strip())
        return errors, time.monotonic() - begin

    def verdict(self, group, what, victim, errors, seconds, left):
        """Whether all others ended in time with an error that names the rank, and left no file."""
        wrong = []
        for rank, (status, error) in errors.items():
            if status != 2 or not names_rank(victim, error):
                wrong.append(f"rank {rank} ended with {status}: {error[-300:]}")
        if seconds > LIMIT:
            wrong.append(f"after {seconds:.1f} s")
        if left:
            wrong.append(f"left {left}")
        said = next(iter(errors.values()))[1].splitlines()
        seen = "; ".join(wrong) or f"ended within {seconds:.2f} s: {said[0] if said else ''}"
        return row(group, what, seen, not wrong, seconds)

    def clean(self, names):
        for name in names:
            (self.folder / name).unlink()

    # Trials

    def killed_while_writing(self):
        """A convolution of a file, killed at ten moments from its start to its end."""
        group = "kill -9 of a rank that works on files"
        samples = 1 << (17 if self.emulated else 26)
        vector(self.folder / "signal.npy", samples)
        vector(self.folder / "taps.npy", 31)
        line = ["conv", "signal.npy", "taps.npy", "-o", "out.npy", "--meeting-timeout", str(MEETING)]
        program = self.blockwise(*line, "--chunk", str(samples >> 6))
        # The first run loads what the others find loaded.
        self.survivors(self.job(program), None)
        begin = time.monotonic()
        errors, _ = self.survivors(self.job(program), None)
        whole = time.monotonic() - begin
        expected = (self.folder / "out.npy").read_bytes() if all(status == 0 for status, _ in errors.values()) else None
        yield row(group, "nobody is killed", f"{whole:.2f} s; {errors}" if expected is None else f"{whole:.2f} s", expected is not None, None)
        for moment in range(MOMENTS):
            victim = moment % self.ranks
            (self.folder / "out.npy").unlink(missing_ok=True)
            ranks = self.job(program)
            after = whole * (moment + random.random()) / MOMENTS
            time.sleep(after)
            ranks[victim].kill()
            errors, seconds = self.survivors(ranks, victim)
            names = {path.name for path in self.folder.iterdir()} - {"signal.npy", "taps.npy"}
            what = f"rank {victim} after {after:.2f} of {whole:.2f} s"
            there = "out.npy" in names
            if there or all(status == 0 for status, _ in errors.values()):
                yield row(group, what, *self.in_place(victim, errors, there, expected), seconds)
                self.clean(names)
                continue
            # A killed writer cannot remove its own temporary file, which has no output's name.
            left = [] if victim == 0 else sorted(names)
            yield self.verdict(group, what, victim, errors, seconds, left)
            self.clean(names)

    def in_place(self, victim, errors, there, expected):
        """Of a rank killed when rank 0 had put the output in place, or all others ended well: what was
        seen, and whether the output is whole and a rank that failed names the victim."""
        wrong = []
        if not there:
            wrong.append("all others ended well, and there is no output")
        elif (self.folder / "out.npy").read_bytes() != expected:
            wrong.append("the output is not whole")
        for rank, (status, error) in errors.items():
            # Rank 0 knows that the output is in place.
            if status != 0 and (rank == 0 or status != 2 or not names_rank(victim, error)):
                wrong.append(f"rank {rank} ended with {status}: {error[-300:]}")
        failed = sum(status != 0 for status, _ in errors.values())
        seen = f"{failed} others ended with its loss" if failed else "the others ended well"
        return "; ".join(wrong) or f"{seen}; the output is whole", not wrong

    def killed_between_gpus(self):
        """Ranks that exchange halos and sums without end, over NCCL where there are GPUs."""
        group = "kill -9 of a rank that exchanges with others"
        moments = ["met", "linked"] + [f"round {100 * k}" for k in range(MOMENTS - 2)]
        if self.emulated or self.shared:
            # NCCL refuses emulated devices and ranks that share a GPU.
            return
        for index, moment in enumerate(moments):
            victim = index % self.ranks
            ranks = self.job([os.path.abspath(self.check), "job"])
            for line in ranks[victim].stdout:
                if line.startswith(moment):
                    break
            ranks[victim].kill()
            errors, seconds = self.survivors(ranks, victim)
            yield self.verdict(group, f"rank {victim} at `{moment}`", victim, errors, seconds, [])

    def never_comes(self):
        vector(self.folder / "signal.npy", 1000)
        program = self.blockwise("sum", "signal.npy", "--meeting-timeout", str(MEETING))
        begin = time.monotonic()
        alone = self.start(0, program, MASTER_PORT=str(free_port()))
        _, error = alone.communicate(timeout=60)
        seconds = time.monotonic() - begin
        missing = str(list(range(1, self.ranks)))
        right = alone.returncode == 2 and missing in error and seconds < MEETING + LIMIT
        return row("a rank that never comes", f"--meeting-timeout {MEETING}", error.strip(), right, seconds)

    def wrong_secret(self):
        """The wrong one ends with the reason while the job waits; then the right one comes."""
        group = "a rank with another secret"
        vector(self.folder / "signal.npy", 1000)
        program = self.blockwise("sum", "signal.npy", "--meeting-timeout", "40")
        address = {"BLOCKWISE_MESH_ADDRESS": f"127.0.0.1:{free_port()}"}
        secret = {"BLOCKWISE_MESH_SECRET": "the secret of this job"}
        other = {"BLOCKWISE_MESH_SECRET": "the secret of another job"}
        last = self.ranks - 1
        ranks = [self.start(rank, program, **address, **secret) for rank in range(last)]
        begin = time.monotonic()
        stranger = self.start(last, program, **address, **other)
        _, error = stranger.communicate(timeout=60)
        seconds = time.monotonic() - begin
        waits = all(process.poll() is None for process in ranks)
        ranks.append(self.start(last, program, **address, **secret))
        ended = [process.communicate(timeout=60) for process in ranks]
        works = all(process.returncode == 0 for process in ranks)
        right = stranger.returncode == 2 and "secret" in error and seconds < LIMIT and waits and works
        seen = f"it ended after {seconds:.1f} s: {error.strip()}; the job {'waited' if waits else 'did not wait'}, and {'ended well' if works else f'failed: {ended}'}"
        return row(group, "the last rank", seen, right, seconds)

    def launchers(self):
        """What each launcher's job prints, once: what one process prints."""
        group = "a sum by a launcher's ranks"
        vector(self.folder / "signal.npy", 100_000)
        program = self.blockwise("sum", "signal.npy")
        environment = os.environ | ({"CUDA_VISIBLE_DEVICES": ""} if self.emulated else {})
        one = subprocess.run(program, capture_output=True, text=True, cwd=self.folder, env=environment)
        count = str(self.ranks)
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--no-python", "--nproc-per-node", count]
        mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", count]
        for name, launcher, is_there in [
            ("torchrun", torchrun, has_torch()),
            ("mpirun", mpirun, shutil.which("mpirun")),
            ("srun", ["srun", "-n", count], shutil.which("srun")),
        ]:
            if not is_there:
                yield row(NOT_INSTALLED, name, "not installed", True, None)
                continue
            ended = subprocess.run([*launcher, *program], capture_output=True, text=True, cwd=self.folder, env=environment)
            right = ended.returncode == 0 and ended.stdout.strip() == one.stdout.strip() != ""
            yield row(group, name, ended.stdout.strip() if right else ended.stdout + ended.stderr, right, None)


def names_rank(rank, error):
    return f"rank {rank}" in error or f"[{rank}]" in error


def row(group, what, seen, right, seconds):
    return {"group": group, "what": what, "seen": seen, "right": bool(right), "seconds": seconds}


def has_torch():
    found = subprocess.run([sys.executable, "-c", "import torch.distributed.run"], capture_output=True)
    return found.returncode == 0


def free_port():
    """A port after which another one is free: a launcher's is the one before the ranks' own."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def header(length):
    """The beginning of a .npy file of f32."""
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({length},), }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def vector(path, length):
    """Whole numbers from -8 to 8."""
    period = struct.pack("<17f", *range(-8, 9)) * 4096
    with open(path, "wb") as file:
        file.write(header(length))
        left = 4 * length
        while left > 0:
            left -= file.write(period[:left])
