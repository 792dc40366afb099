"""A sum and a convolution of a file that is larger than the device memory that the command may use,
for `bench/mesh.sh`.

The file repeats a block, so what comes out is known: the sum of whole numbers, and the block of
outputs that a short file has, too.
"""

import os
import random
import shutil
import struct
import subprocess
import time

from mesh_faults import header, row

GIB = 1 << 30
TAPS = 31


def trials(command, run, folder):
    count = run.count
    if run.arguments.emulated:
        block, blocks, memory = 1 << 16, 12, 1 << 19
    else:
        block = 1 << 26
        # Input and output, and some room.
        room = int(shutil.disk_usage(folder).free * 0.45)
        wanted = int((run.arguments.gib or (40 if run.full else 4)) * GIB)
        blocks, memory = max(3, min(wanted, room) // (4 * block)), 16 * GIB if run.full else GIB
    values = [random.randint(-8, 8) for _ in range(1 << 16)]
    period = struct.pack(f"<{len(values)}f", *values)
    piece = period * (block // len(values))
    write(folder / "long.npy", piece, blocks)
    write(folder / "short.npy", piece, 3)
    taps = struct.pack(f"<{TAPS}f", *[random.randint(1, 5) for _ in range(TAPS)])
    (folder / "taps.npy").write_bytes(header(TAPS) + taps)
    bytes_in = 4 * block * blocks
    size = f"{bytes_in / GIB:.2f} GiB, {memory / GIB:g} GiB of device memory, {count} devices"

    def timed(*arguments):
        line = [os.path.abspath(command), *run.device, "--quiet", *arguments]
        begin = time.monotonic()
        ended = subprocess.run(line, capture_output=True, text=True, cwd=folder)
        return time.monotonic() - begin, ended

    limits = ["--device-memory", str(memory), "--gpus", str(count)]
    copy = copied(folder, bytes_in)
    seconds, ended = timed("sum", "long.npy", *limits)
    expected = sum(values) * (block // len(values)) * blocks
    right = ended.returncode == 0 and float(ended.stdout) == struct.unpack("<f", struct.pack("<f", expected))[0]
    seen = f"{seconds:.2f} s, {bytes_in / seconds / 1e9:.1f} GB/s; {copy[0]}"
    yield row("file", f"sum of {size}", seen if right else seen + ended.stdout + ended.stderr, right, seconds)

    _, short = timed("conv", "short.npy", "taps.npy", "-o", "expected.npy")
    seconds, ended = timed("conv", "long.npy", "taps.npy", "-o", "out.npy", *limits)
    right = short.returncode == ended.returncode == 0 and same(folder, 4 * block, blocks)
    seen = f"{seconds:.2f} s, {bytes_in / seconds / 1e9:.1f} GB/s in and as much out; {copy[1]}"
    yield row("file", f"convolution of {size}", seen if right else seen + ended.stderr + short.stderr, right, seconds)


def write(path, piece, blocks):
    with open(path, "wb") as file:
        file.write(header(len(piece) // 4 * blocks))
        for _ in range(blocks):
            file.write(piece)


def copied(folder, size):
    """What reading the file once takes, and what `cp` takes."""
    begin = time.monotonic()
    with open(folder / "long.npy", "rb", buffering=0) as file:
        buffer = bytearray(32 << 20)
        while file.readinto(buffer):
            pass
    reading = time.monotonic() - begin
    begin = time.monotonic()
    subprocess.run(["cp", "long.npy", "copy.npy"], cwd=folder, check=True)
    copying = time.monotonic() - begin
    (folder / "copy.npy").unlink()
    return [f"one thread reads it in {reading:.2f} s", f"`cp` takes {copying:.2f} s"]


def same(folder, size, blocks):
    """Whether the first block, the last one and a few between are those of three blocks."""
    chosen = {0, blocks - 1, *random.sample(range(1, blocks - 1), min(8, blocks - 2))}
    with open(folder / "out.npy", "rb") as out, open(folder / "expected.npy", "rb") as expected:
        out.seek(0, os.SEEK_END)
        expected.seek(0, os.SEEK_END)
        begins = [out.tell() - size * blocks, expected.tell() - size * 3]
        for block in chosen:
            like = 0 if block == 0 else 2 if block == blocks - 1 else 1
            out.seek(begins[0] + block * size)
            expected.seek(begins[1] + like * size)
            if out.read(size) != expected.read(size):
                return False
    return True
