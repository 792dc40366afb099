//! The variables of a launcher: one `NAME=VALUE` a line.

use blockwise_mesh::{Job, MeetingPlace};

use super::Target;

pub(super) const TARGET: Target = Target {
    name: "environment",
    run,
    seeds,
    words: &[
        "RANK=",
        "WORLD_SIZE=",
        "LOCAL_RANK=",
        "LOCAL_WORLD_SIZE=",
        "MASTER_ADDR=",
        "MASTER_PORT=",
        "TORCHELASTIC_RUN_ID=",
        "SLURM_PROCID=",
        "SLURM_STEP_NUM_TASKS=",
        "SLURM_LOCALID=",
        "SLURM_JOB_ID=",
        "SLURM_STEP_ID=",
        "SLURM_STEP_NODELIST=",
        "OMPI_COMM_WORLD_RANK=",
        "OMPI_COMM_WORLD_SIZE=",
        "OMPI_COMM_WORLD_LOCAL_RANK=",
        "OMPI_COMM_WORLD_LOCAL_SIZE=",
        "PMIX_NAMESPACE=",
        "BLOCKWISE_MESH_ADDRESS=",
        "BLOCKWISE_MESH_SECRET=",
        "BLOCKWISE_MESH_SECRET_FILE=",
        "\n",
        "localhost",
        "127.0.0.1",
        "[::1]:",
        "node[03-05,9],x",
        "/dev/zero",
        "/proc/self/mem",
        "0123456789abcdef",
        "-1",
        "+1",
        " 1",
        "1e3",
        "[",
        "]",
        ":",
        ",",
    ],
    in_test: 4_000,
};

fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "RANK=1\nWORLD_SIZE=2\nLOCAL_RANK=1\nLOCAL_WORLD_SIZE=2\nMASTER_ADDR=node7\nMASTER_PORT=29500\n",
        "RANK=1\nWORLD_SIZE=2\nMASTER_ADDR=node7\nMASTER_PORT=29500\nBLOCKWISE_MESH_SECRET=0123456789abcdef\n",
        "SLURM_PROCID=2\nSLURM_STEP_NUM_TASKS=4\nSLURM_LOCALID=0\nSLURM_JOB_ID=1234567\nSLURM_STEP_NODELIST=gpu[03-05,9],other\n",
        "OMPI_COMM_WORLD_RANK=1\nOMPI_COMM_WORLD_SIZE=2\nOMPI_COMM_WORLD_LOCAL_RANK=1\nOMPI_COMM_WORLD_LOCAL_SIZE=2\nPMIX_NAMESPACE=prte@1\n",
        "RANK=0\nWORLD_SIZE=1024\nBLOCKWISE_MESH_ADDRESS=[fe80::1]:7000\nBLOCKWISE_MESH_SECRET_FILE=/dev/zero\n",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}

fn run(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let variable = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once('='));
        let found = lines.find(|(known, _)| *known == name);
        found
            .map(|(_, value)| value.to_owned())
            .filter(|value| !value.is_empty())
    };
    match Job::from_variables(&variable) {
        Ok(None) => "no job".to_owned(),
        Ok(Some(job)) => {
            assert!(
                job.rank < job.ranks && job.local_rank < job.ranks,
                "{job:?}"
            );
            assert!(job.ranks <= blockwise_mesh::MOST_RANKS, "{job:?}");
            let place = match job.place {
                MeetingPlace::Machine { .. } => "a socket",
                MeetingPlace::Network { .. } => "the network",
            };
            format!("{} at {place}", job.launcher)
        }
        Err(error) => {
            let hint = error.hint();
            assert!(hint.is_some(), "{error}");
            error.to_string()
        }
    }
}
