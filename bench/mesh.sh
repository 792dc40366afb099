#!/usr/bin/env bash
# Several GPUs, in one run: checks results, times every operation beside its peers, kills ranks, runs
# files larger than the device memory that it may use, and compares the model. Prints a short table
# with the goals, and keeps results.json as rows come.
#
#   bench/mesh.sh              all GPUs of this machine
#   bench/mesh.sh 2            two of them
#   bench/mesh.sh 2 --faults   only killed, missing and foreign ranks (also --check, --times, --file)
#   bench/mesh.sh 2 --phases   times, and where the time of each step goes, in phases.md
#   bench/mesh.sh 3 --emulated emulated devices and small sizes, on any machine
#
# On one GPU or emulated devices sizes are small, and there are no peers. BLOCKWISE and CHECK name
# programs that are built already: the command, and blockwise_mesh's example `mesh_check`.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${BLOCKWISE:-}" ] || [ -z "${CHECK:-}" ]; then
    cargo build --release -p blockwise_cli --features tools
    cargo build --release -p blockwise_mesh --features cuda --example mesh_check
    target=${CARGO_TARGET_DIR:-target}/release
    export BLOCKWISE=${BLOCKWISE:-$target/blockwise} CHECK=${CHECK:-$target/examples/mesh_check}
fi
# NVLink's multicast stays off: a program that fails with it can take a shared host's GPUs away.
export NCCL_NVLS_ENABLE=${NCCL_NVLS_ENABLE:-0}
exec python3 bench/mesh.py "$@"
