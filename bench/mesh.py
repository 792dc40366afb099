"""What `bench/mesh.sh` runs; see there. Needs no package: the peers' script does."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import mesh_faults
import mesh_file

BLOCKWISE, CHECK = os.environ["BLOCKWISE"], os.environ["CHECK"]
PARTS = ["check", "times", "faults", "file"]


def main():
    parser = argparse.ArgumentParser(prog="bench/mesh.sh")
    parser.add_argument("gpus", nargs="?", type=int, help="devices [default: all GPUs]")
    for part in PARTS:
        parser.add_argument(f"--{part}", action="store_true", help="only this, or these")
    parser.add_argument("--emulated", action="store_true", help="emulated devices, small sizes")
    parser.add_argument("--phases", action="store_true", help="only times, with where they go")
    parser.add_argument("--no-peers", action="store_true", help="time only ours")
    parser.add_argument("--filter", help="only works whose name contains one of these: a,b")
    parser.add_argument("--folder", type=Path, help="of large files [default: the largest of /dev/shm and /tmp]")
    parser.add_argument("--gib", type=float, help="GiB of the file that is larger than memory [default: 40, or what fits]")
    parser.add_argument("--output", type=Path, default=Path("target/mesh"))
    arguments = parser.parse_args()
    arguments.times |= arguments.phases
    there = 0 if arguments.emulated else gpus()
    count = arguments.gpus or there or 2
    if not arguments.emulated and count > there:
        sys.exit(f"{count} GPUs are asked for, {there} are there; --emulated takes any number")
    arguments.output.mkdir(parents=True, exist_ok=True)
    run = Run(arguments, count)
    chosen = [part for part in PARTS if getattr(arguments, part)] or PARTS
    for part in chosen:
        print(f"== {part}", flush=True)
        begin = time.monotonic()
        {"check": check, "times": times, "faults": faults, "file": file}[part](run)
        print(f"   {time.monotonic() - begin:.0f} s", flush=True)
    lines = table(run)
    print("\n".join(lines))
    run.keep(table=lines)
    if run.wrong:
        sys.exit("\n".join(["wrong:", *run.wrong]))


class Run:
    """What is asked for, and what was found so far."""

    def __init__(self, arguments, count):
        self.arguments, self.count = arguments, count
        self.device = ["--device", "emulator"] if arguments.emulated else []
        self.full = not arguments.emulated and count > 1
        self.found, self.wrong = {"gpus": count, "emulated": arguments.emulated}, []

    def keep(self, **found):
        """Adds to results.json, which is whole at any time."""
        self.found |= found
        place = self.arguments.output / "mesh.json"
        beside = place.with_suffix(".new")
        beside.write_text(json.dumps(self.found | {"wrong": self.wrong}, indent=1))
        beside.replace(place)

    def rows(self):
        """The rows of `blockwise bench`, which it keeps itself."""
        try:
            return json.loads((self.arguments.output / "results.json").read_text())["rows"]
        except FileNotFoundError:
            return []


def gpus():
    listed = subprocess.run([BLOCKWISE, "--json", "devices"], capture_output=True, text=True)
    devices = json.loads(listed.stdout).get("devices", []) if listed.returncode == 0 else []
    return sum(device.get("kind") == "cuda" for device in devices)


def check(run):
    environment = os.environ.copy()
    if run.arguments.emulated:
        environment["CUDA_VISIBLE_DEVICES"] = ""
    ended = subprocess.run([CHECK], capture_output=True, text=True, env=environment)
    lines = ended.stdout.splitlines()
    print("\n".join(f"   {line}" for line in lines))
    if ended.returncode != 0:
        run.wrong.append(f"check: {ended.stderr.strip()}")
    run.keep(check=lines)


def times(run):
    # Of an earlier run.
    (run.arguments.output / "results.json").unlink(missing_ok=True)
    command = [BLOCKWISE, *run.device, "bench", "--gpus", str(run.count)]
    command += ["--output", str(run.arguments.output)]
    if run.arguments.phases:
        command += ["--phases"]
    # Not products on tensor cores, which not every build has.
    command += ["--filter", run.arguments.filter or "/default/"]
    if not run.full:
        command += ["--size", "200,5000x31"] if run.arguments.emulated else ["--quick"]
    elif not run.arguments.no_peers:
        command += ["--peers", "bench/mesh_peers.py"]
    # The table is at the end; standard error has each row when it is there.
    ended = subprocess.run(command, stdout=subprocess.DEVNULL)
    if ended.returncode != 0:
        run.wrong.append(f"times: `{' '.join(command)}` ended with {ended.returncode}")
    run.keep(model=model(run))


def model(run):
    """What `blockwise scale` predicts for each work that was timed."""
    found = []
    gpu = machine(run)
    for row in run.rows() if gpu else []:
        operation, _, size = row["work"].split("/")
        if row["implementation"] != "blockwise" or row["rung"] != "default" or not row["timing"]:
            continue
        extents = [str(number(extent)) for extent in size.split("x")]
        if operation == "transpose-columns":
            continue
        command = [BLOCKWISE, "--json", "scale", operation, "--gpu", gpu]
        command += ["--sizes", ",".join(extents), "--gpus", str(row["gpus"])]
        if operation == "conv":
            command += ["--mode", "valid"]
        said = subprocess.run(command, capture_output=True, text=True)
        if said.returncode != 0:
            run.wrong.append(f"model: {said.stderr.strip()}")
            continue
        predicted = json.loads(said.stdout)["predictions"][0]["seconds"]
        measured = row["timing"]["median"]
        found.append({"work": row["work"], "gpus": row["gpus"], "predicted": predicted, "measured": measured})
    return found


def machine(run):
    """The model's name for these GPUs, if it has one."""
    try:
        name = json.loads((run.arguments.output / "results.json").read_text())["run"]["device"]
    except FileNotFoundError:
        return None
    return next((gpu for gpu in ("h100", "h200") if gpu in name.lower()), None)


def number(extent):
    """`2^33` or `31`."""
    base, _, power = extent.partition("^")
    return int(base) ** int(power or 1)


def faults(run):
    with tempfile.TemporaryDirectory() as folder:
        trials = mesh_faults.Trials(BLOCKWISE, CHECK, run.count, run.device, Path(folder))
        found = []
        for row in trials.run():
            found.append(row)
            print(f"   {'right' if row['right'] else 'WRONG'}  {row['what']}: {row['seen']}", flush=True)
            if not row["right"]:
                run.wrong.append(f"{row['what']}: {row['seen']}")
            run.keep(faults=found)


def file(run):
    folder = run.arguments.folder
    if folder is None:
        folders = [place for place in ("/dev/shm", tempfile.gettempdir()) if os.path.isdir(place)]
        folder = Path(max(folders, key=lambda place: shutil.disk_usage(place).free))
    with tempfile.TemporaryDirectory(dir=folder) as own:
        for row in mesh_file.trials(BLOCKWISE, run, Path(own)):
            print(f"   {row['what']}: {row['seen']}", flush=True)
            if not row["right"]:
                run.wrong.append(f"{row['what']}: {row['seen']}")
            run.keep(file=run.found.get("file", []) + [row])


def table(run):
    """Each figure beside its goal."""
    rows = run.rows() if "model" in run.found else []
    ours = {(row["work"], row["gpus"]): row for row in rows if row["implementation"] == "blockwise" and row["rung"] == "default"}
    peers = {(row["work"], row["implementation"], row["gpus"]): row for row in rows if row["implementation"] != "blockwise"}
    lines = []

    def say(work, what, figure, goal, least=True):
        if figure is None:
            return
        met = figure >= goal if least else figure <= goal
        sign = "≥" if least else "≤"
        lines.append([work, what, f"{figure:.3f}", f"{sign} {goal:.2f}", "met" if met else "missed"])

    for (work, count), row in ours.items():
        if count != run.count or not row["timing"]:
            continue
        operation, _, size = work.split("/")
        per_gpu = row["speed_up"] and row["speed_up"] / count
        median = row["timing"]["median"]
        lines.append([work, "ms", f"{median * 1e3:.3f}", "", "right" if row["passed"] else "WRONG"])
        if not run.full:
            continue
        if operation in ("sum", "dot", "conv", "matmul"):
            say(work, "of perfect scaling", per_gpu, 0.97)
        if operation == "scan":
            say(work, "of perfect scaling", per_gpu, 0.95)
        if operation == "matmul":
            say(work, "over the fastest peer", row["over_peer"], 1.02 if count > 2 and size.startswith("16384") else 1.0)
        elif row["over_peer"]:
            lines.append([work, "over the fastest peer", f"{row['over_peer']:.3f}", "", ""])
        exchange = peers.get((f"all-to-all/f32/{size}", "NCCL", count))
        if operation == "transpose":
            if exchange and exchange["timing"]:
                say(work, "NCCL's all-to-all over it", exchange["timing"]["median"] / median, 0.9)
            if row["speed_up"]:
                lines.append([work, "one GPU over it", f"{row['speed_up']:.3f}", "", ""])
        if operation == "transpose-columns":
            say(work, "one GPU over it", row["speed_up"], 1.0)
    for row in run.found.get("model", []):
        off = abs(row["predicted"] / row["measured"] - 1)
        say(row["work"], f"model's error, {row['gpus']} GPUs", off, 0.1, least=False)
    for row in run.found.get("file", []):
        lines.append([row["what"], row["seen"], "", "", "right" if row["right"] else "WRONG"])
    for group in sorted({row["group"] for row in run.found.get("faults", [])}):
        rows = [row for row in run.found["faults"] if row["group"] == group]
        if group == mesh_faults.NOT_INSTALLED:
            lines.append([group, ", ".join(row["what"] for row in rows), "", "", "not run"])
            continue
        right = sum(row["right"] for row in rows)
        slowest = max((row["seconds"] for row in rows if row["seconds"] is not None), default=0.0)
        lines.append([group, f"slowest {slowest:.1f} s", f"{right} of {len(rows)}", "all", "met" if right == len(rows) else "missed"])
    widths = [max(len(line[column]) for line in lines) for column in range(5)] if lines else []
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]


if __name__ == "__main__":
    main()
