//! Which rank of a job this process is, by its launcher's variables.

use crate::{Error, Result};

/// Where rank 0 listens, where the launcher's own variables do not say, or not rightly:
/// `host:port`.
pub const ADDRESS_VARIABLE: &str = "BLOCKWISE_MESH_ADDRESS";

/// The port where rank 0 listens unless somebody says otherwise.
const PORT: u16 = 29_570;

/// This process's place in a job of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Who started it: `torchrun`, `Slurm` or `Open MPI`.
    pub launcher: &'static str,
    /// This process's rank, from 0.
    pub rank: usize,
    /// The number of ranks.
    pub ranks: usize,
    /// Its number among the ranks of its machine: which GPU it takes.
    pub local_rank: usize,
    /// Where rank 0 listens: the host.
    pub host: String,
    /// And the port.
    pub port: u16,
}

impl Job {
    /// The job that this process belongs to. `None` when it was started alone.
    ///
    /// | launcher | variables | where rank 0 listens |
    /// | --- | --- | --- |
    /// | torchrun | `RANK`, `WORLD_SIZE`, `LOCAL_RANK` | `MASTER_ADDR`, and the port after `MASTER_PORT`, which torchrun itself uses |
    /// | Slurm (`srun`) | `SLURM_PROCID`, `SLURM_STEP_NUM_TASKS`, `SLURM_LOCALID` | the first host of `SLURM_STEP_NODELIST`, a port by `SLURM_JOB_ID` |
    /// | Open MPI (`mpirun`) | `OMPI_COMM_WORLD_RANK`, `_SIZE`, `_LOCAL_RANK` | this host, if all ranks are on it |
    ///
    /// [`ADDRESS_VARIABLE`] goes before all of these; `MASTER_ADDR` and `MASTER_PORT` are taken
    /// under every launcher.
    ///
    /// # Errors
    /// Variables that are no numbers or contradict each other, and a job whose rank 0 nobody can
    /// find.
    pub fn from_env() -> Result<Option<Self>> {
        Self::read(&|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    /// The same from any variables.
    fn read(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>> {
        // The first that fits: torchrun and mpirun may themselves be started by srun.
        let launchers = [
            ("torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"),
            (
                "Open MPI",
                "OMPI_COMM_WORLD_RANK",
                "OMPI_COMM_WORLD_SIZE",
                "OMPI_COMM_WORLD_LOCAL_RANK",
            ),
            // `SLURM_NTASKS` is there in a batch script too, which is one process.
            (
                "Slurm",
                "SLURM_PROCID",
                "SLURM_STEP_NUM_TASKS",
                "SLURM_LOCALID",
            ),
        ];
        for (launcher, rank_name, ranks_name, local_name) in launchers {
            let (Some(_), Some(_)) = (variable(rank_name), variable(ranks_name)) else {
                continue;
            };
            let rank = number(variable, rank_name)?.unwrap_or_default();
            let ranks = number(variable, ranks_name)?.unwrap_or_default();
            if rank >= ranks {
                return Err(Error::Job {
                    problem: format!("`{rank_name}` is {rank}, `{ranks_name}` is {ranks}"),
                });
            }
            let (host, port) = match variable(ADDRESS_VARIABLE) {
                Some(address) => host_and_port(&address)?,
                None => address(launcher, ranks, variable)?,
            };
            return Ok(Some(Self {
                launcher,
                rank,
                ranks,
                local_rank: number(variable, local_name)?.unwrap_or(rank),
                host,
                port,
            }));
        }
        Ok(None)
    }
}

/// Where rank 0 listens, by the launcher's variables.
fn address(
    launcher: &str,
    ranks: usize,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<(String, u16)> {
    let this_host = || "127.0.0.1".to_owned();
    let job = number(variable, "SLURM_JOB_ID")?.filter(|_| launcher == "Slurm");
    let port = match (number(variable, "MASTER_PORT")?, job) {
        // torchrun listens at its port itself.
        (Some(port), _) if launcher == "torchrun" => port + 1,
        (Some(port), _) => port,
        (None, Some(job)) => 20_000 + job % 20_000,
        (None, None) => usize::from(PORT),
    };
    let port = u16::try_from(port).map_err(|_| Error::Job {
        problem: format!("there is no port {port}"),
    })?;
    let host = match (variable("MASTER_ADDR"), launcher) {
        (Some(host), _) => host,
        (None, "Slurm") => {
            variable("SLURM_STEP_NODELIST").map_or_else(this_host, |list| first_host(&list))
        }
        (None, "Open MPI") if number(variable, "OMPI_COMM_WORLD_LOCAL_SIZE")? != Some(ranks) => {
            return Err(Error::Job {
                problem: "Open MPI does not say where rank 0 runs".to_owned(),
            });
        }
        (None, _) => this_host(),
    };
    Ok((host, port))
}

/// The first of Slurm's hosts: `node[03-05,9],other` begins with `node03`.
fn first_host(list: &str) -> String {
    let end = list.find([',', '[']).unwrap_or(list.len());
    let (name, rest) = list.split_at(end);
    let Some(numbers) = rest.strip_prefix('[') else {
        return name.to_owned();
    };
    let first = numbers.split(['-', ',', ']']).next().unwrap_or_default();
    format!("{name}{first}")
}

fn host_and_port(address: &str) -> Result<(String, u16)> {
    let parts = address.rsplit_once(':');
    let parts = parts.and_then(|(host, port)| Some((host.to_owned(), port.parse().ok()?)));
    parts.ok_or_else(|| Error::Job {
        problem: format!("`{ADDRESS_VARIABLE}` is `{address}`, `host:port` is wanted"),
    })
}

/// A number, if the variable is there.
fn number(variable: &dyn Fn(&str) -> Option<String>, name: &str) -> Result<Option<usize>> {
    let Some(value) = variable(name) else {
        return Ok(None);
    };
    let number = value.parse().map_err(|_| Error::Job {
        problem: format!("`{name}` is `{value}`, a number is wanted"),
    })?;
    Ok(Some(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(variables: &[(&str, &str)]) -> Result<Option<Job>> {
        Job::read(&|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[track_caller]
    fn check(variables: &[(&str, &str)], expected: (&str, [usize; 3], &str, u16)) {
        let job = job(variables).unwrap().expect("a job");
        let places = [job.rank, job.ranks, job.local_rank];
        assert_eq!((job.launcher, places, &*job.host, job.port), expected);
    }

    const TORCHRUN: [(&str, &str); 5] = [
        ("RANK", "5"),
        ("WORLD_SIZE", "8"),
        ("LOCAL_RANK", "1"),
        ("MASTER_ADDR", "node7"),
        ("MASTER_PORT", "29500"),
    ];

    #[test]
    fn torchrun_keeps_its_port_for_itself() {
        check(&TORCHRUN, ("torchrun", [5, 8, 1], "node7", 29501));
    }

    #[test]
    fn slurms_first_host_listens_at_a_port_by_its_job() {
        let slurm = |list| {
            [
                ("SLURM_PROCID", "2"),
                ("SLURM_STEP_NUM_TASKS", "4"),
                ("SLURM_LOCALID", "0"),
                ("SLURM_JOB_ID", "1234567"),
                ("SLURM_STEP_NODELIST", list),
            ]
        };
        for (list, first) in [
            ("gpu[03-05,9],other", "gpu03"),
            ("gpu[7,9]", "gpu7"),
            ("a,b[1-2]", "a"),
            ("single", "single"),
        ] {
            check(&slurm(list), ("Slurm", [2, 4, 0], first, 34567));
        }
        // A batch script is one process, however many tasks its steps will have.
        let script = [
            ("SLURM_PROCID", "0"),
            ("SLURM_NTASKS", "4"),
            ("SLURM_JOB_ID", "7"),
        ];
        assert_eq!(job(&script).unwrap(), None);
    }

    #[test]
    fn open_mpi_is_followed_on_one_host() {
        let mpi = |local| {
            [
                ("OMPI_COMM_WORLD_RANK", "1"),
                ("OMPI_COMM_WORLD_SIZE", "2"),
                ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
                ("OMPI_COMM_WORLD_LOCAL_SIZE", local),
            ]
        };
        check(&mpi("2"), ("Open MPI", [1, 2, 1], "127.0.0.1", PORT));
        let error = job(&mpi("1")).unwrap_err();
        assert!(error.to_string().contains("where rank 0 runs"), "{error}");
        assert!(error.hint().unwrap().contains(ADDRESS_VARIABLE));
        let mut told = mpi("1").to_vec();
        told.push((ADDRESS_VARIABLE, "head:7000"));
        check(&told, ("Open MPI", [1, 2, 1], "head", 7000));
    }

    #[test]
    fn wrong_variables_are_named() {
        assert_eq!(job(&[("RANK", "1")]).unwrap(), None);
        for (name, value, problem) in [
            ("RANK", "x", "`RANK` is `x`, a number is wanted"),
            ("RANK", "8", "`RANK` is 8, `WORLD_SIZE` is 8"),
            ("MASTER_PORT", "65535", "there is no port 65536"),
            (
                ADDRESS_VARIABLE,
                "head",
                "`BLOCKWISE_MESH_ADDRESS` is `head`, `host:port` is wanted",
            ),
        ] {
            let mut variables = TORCHRUN.to_vec();
            variables.retain(|(known, _)| *known != name);
            variables.push((name, value));
            let error = job(&variables).unwrap_err().to_string();
            assert!(error.ends_with(problem), "{error}");
        }
    }
}
