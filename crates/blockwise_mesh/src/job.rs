//! Which rank of a job this process is, according to its launcher's variables.

use std::net::IpAddr;

use crate::{Error, MOST_RANKS, Result, Secret};

/// Where rank 0 listens, if the launcher's own variables do not say or are wrong: `host:port`.
pub const ADDRESS_VARIABLE: &str = "BLOCKWISE_MESH_ADDRESS";

/// The port where rank 0 listens by default.
const PORT: u16 = 29_570;

/// This process's place in a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Who started it: `torchrun`, `Slurm` or `Open MPI`.
    pub launcher: &'static str,
    /// This process's rank, from 0.
    pub rank: usize,
    /// The number of ranks.
    pub ranks: usize,
    /// Its number among the ranks of its machine, which selects its GPU.
    pub local_rank: usize,
    /// Where the ranks meet.
    pub place: MeetingPlace,
}

/// Where the ranks of a job meet, and how they authenticate each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeetingPlace {
    /// All are processes of one user on one machine (Linux): they meet at sockets in a folder of
    /// mode 0700, where each end checks the other's user.
    Machine {
        /// What identifies this job among this user's jobs.
        key: String,
    },
    /// They meet over TCP, and each end of a connection proves to the other that it knows the job's
    /// secret.
    Network {
        /// Where rank 0 listens: the host, whose interface it binds to.
        host: String,
        /// And the port.
        port: u16,
        /// The secret that all ranks know.
        secret: Secret,
    },
}

/// A launcher's variables.
struct Launcher {
    name: &'static str,
    rank: &'static str,
    ranks: &'static str,
    local_rank: &'static str,
    /// Variables that differ for every job of this user on this machine.
    run: &'static [&'static str],
}

/// The first match wins: torchrun and mpirun may themselves be started by srun.
const LAUNCHERS: [Launcher; 3] = [
    Launcher {
        name: "torchrun",
        rank: "RANK",
        ranks: "WORLD_SIZE",
        local_rank: "LOCAL_RANK",
        run: &["TORCHELASTIC_RUN_ID"],
    },
    Launcher {
        name: "Open MPI",
        rank: "OMPI_COMM_WORLD_RANK",
        ranks: "OMPI_COMM_WORLD_SIZE",
        local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
        run: &["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"],
    },
    // `SLURM_NTASKS` is also set in a batch script, which is one process.
    Launcher {
        name: "Slurm",
        rank: "SLURM_PROCID",
        ranks: "SLURM_STEP_NUM_TASKS",
        local_rank: "SLURM_LOCALID",
        run: &["SLURM_JOB_ID", "SLURM_STEP_ID"],
    },
];

impl Job {
    /// The job that this process belongs to. `None` if it was started alone.
    ///
    /// | launcher | variables | where rank 0 listens |
    /// | --- | --- | --- |
    /// | torchrun | `RANK`, `WORLD_SIZE`, `LOCAL_RANK` | `MASTER_ADDR`, and the port after `MASTER_PORT`, which torchrun itself uses |
    /// | Slurm (`srun`) | `SLURM_PROCID`, `SLURM_STEP_NUM_TASKS`, `SLURM_LOCALID` | the first host of `SLURM_STEP_NODELIST`, a port by `SLURM_JOB_ID` |
    /// | Open MPI (`mpirun`) | `OMPI_COMM_WORLD_RANK`, `_SIZE`, `_LOCAL_RANK` | this host |
    ///
    /// `MASTER_ADDR` and `MASTER_PORT` apply under every launcher, and [`ADDRESS_VARIABLE`] takes
    /// precedence over all of these.
    ///
    /// If all ranks are on one machine, they meet at a socket there instead, which needs no secret:
    /// the launcher says so (`LOCAL_WORLD_SIZE`, `OMPI_COMM_WORLD_LOCAL_SIZE`, one host in
    /// `SLURM_STEP_NODELIST`), or the address is a loopback one. [`ADDRESS_VARIABLE`] with a secret
    /// always means TCP.
    ///
    /// # Errors
    /// Variables that are not numbers, too large or contradictory, a job whose rank 0 cannot be
    /// found, an invalid secret, and [`Error::NoSecret`].
    pub fn from_env() -> Result<Option<Self>> {
        Self::from_variables(&|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    /// The same for any variables.
    ///
    /// # Errors
    /// As for [`from_env`](Self::from_env).
    pub fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>> {
        for launcher in LAUNCHERS {
            let (Some(_), Some(_)) = (variable(launcher.rank), variable(launcher.ranks)) else {
                continue;
            };
            let ranks = number(variable, launcher.ranks)?.unwrap_or_default();
            if ranks > MOST_RANKS {
                return Err(Error::Job {
                    problem: format!(
                        "`{}` is {ranks}, a mesh has {MOST_RANKS} ranks at most",
                        launcher.ranks
                    ),
                });
            }
            let below = |name| {
                let number = number(variable, name)?;
                match number.filter(|&number| number >= ranks) {
                    Some(number) => Err(Error::Job {
                        problem: format!("`{name}` is {number}, `{}` is {ranks}", launcher.ranks),
                    }),
                    None => Ok(number),
                }
            };
            let rank = below(launcher.rank)?.unwrap_or_default();
            return Ok(Some(Self {
                launcher: launcher.name,
                rank,
                ranks,
                local_rank: below(launcher.local_rank)?.unwrap_or(rank),
                place: place(&launcher, ranks, variable)?,
            }));
        }
        Ok(None)
    }
}

fn place(
    launcher: &Launcher,
    ranks: usize,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<MeetingPlace> {
    let secret = Secret::read(variable)?;
    let (host, port, on_one_machine) = match variable(ADDRESS_VARIABLE) {
        Some(address) => {
            let (host, port) = host_and_port(&address)?;
            let on_one_machine = (is_loopback(&host) || ranks == 1) && secret.is_none();
            (host, port, on_one_machine)
        }
        None => {
            let port = port(launcher.name, variable)?;
            let on_one_machine = is_one_machine(launcher.name, ranks, variable)?;
            let host = host(launcher.name, on_one_machine, variable)?;
            let on_one_machine = on_one_machine || is_loopback(&host);
            (host, port, on_one_machine)
        }
    };
    // On other systems a socket does not identify its peer.
    if on_one_machine && cfg!(target_os = "linux") {
        let run: Vec<_> = launcher
            .run
            .iter()
            .filter_map(|name| variable(name))
            .collect();
        let key = format!("{} {host}:{port} {}", launcher.name, run.join(" "));
        return Ok(MeetingPlace::Machine { key });
    }
    match secret {
        Some(secret) => Ok(MeetingPlace::Network { host, port, secret }),
        None => Err(Error::NoSecret {
            address: format!("{host}:{port}"),
        }),
    }
}

/// Whether the launcher says that all ranks are on one machine.
fn is_one_machine(
    launcher: &str,
    ranks: usize,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<bool> {
    let all = |name| Ok(number(variable, name)? == Some(ranks));
    match launcher {
        _ if ranks == 1 => Ok(true),
        "torchrun" => all("LOCAL_WORLD_SIZE"),
        "Open MPI" => all("OMPI_COMM_WORLD_LOCAL_SIZE"),
        _ => Ok(variable("SLURM_STEP_NODELIST").is_some_and(|list| !list.contains([',', '[']))),
    }
}

/// The port where rank 0 listens, from the launcher's variables.
fn port(launcher: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<u16> {
    let job = number(variable, "SLURM_JOB_ID")?.filter(|_| launcher == "Slurm");
    let port = match (number(variable, "MASTER_PORT")?, job) {
        // torchrun itself listens at its port.
        (Some(port), _) if launcher == "torchrun" => port.saturating_add(1),
        (Some(port), _) => port,
        (None, Some(job)) => 20_000 + job % 20_000,
        (None, None) => usize::from(PORT),
    };
    match u16::try_from(port) {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(Error::Job {
            problem: format!("`MASTER_PORT`: there is no port {port}"),
        }),
    }
}

/// The host where rank 0 listens, from the launcher's variables.
fn host(
    launcher: &str,
    on_one_machine: bool,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<String> {
    let this_host = || "127.0.0.1".to_owned();
    match (variable("MASTER_ADDR"), launcher) {
        (Some(host), _) => Ok(host),
        (None, "Slurm") => {
            let list = variable("SLURM_STEP_NODELIST");
            Ok(list.map_or_else(this_host, |list| first_host(&list)))
        }
        (None, "Open MPI") if !on_one_machine => Err(Error::Job {
            problem: "Open MPI does not say where rank 0 runs".to_owned(),
        }),
        (None, _) => Ok(this_host()),
    }
}

/// Whether an address can only be reached from its own machine.
fn is_loopback(host: &str) -> bool {
    let address = host.parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.to_canonical().is_loopback())
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

/// `host:port`; an IPv6 address is in brackets.
fn host_and_port(address: &str) -> Result<(String, u16)> {
    let parts = address.rsplit_once(':').and_then(|(host, port)| {
        let in_brackets = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let host = in_brackets.unwrap_or(host);
        let is_address = in_brackets.is_some() || !host.contains(':');
        let port = port.parse().ok().filter(|&port| port > 0)?;
        (is_address && !host.is_empty()).then(|| (host.to_owned(), port))
    });
    parts.ok_or_else(|| Error::Job {
        problem: format!("`{ADDRESS_VARIABLE}` is `{address}`, `host:port` is wanted"),
    })
}

/// The variable as a number, if it is set. A number too large for `usize` becomes the largest one.
fn number(variable: &dyn Fn(&str) -> Option<String>, name: &str) -> Result<Option<usize>> {
    let Some(value) = variable(name) else {
        return Ok(None);
    };
    match value.parse::<usize>() {
        Ok(number) => Ok(Some(number)),
        Err(error) if *error.kind() == std::num::IntErrorKind::PosOverflow => Ok(Some(usize::MAX)),
        Err(_) => Err(Error::Job {
            problem: format!("`{name}` is `{value}`, a number is wanted"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(variables: &[(&str, &str)]) -> Result<Option<Job>> {
        Job::from_variables(&|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    const A_SECRET: (&str, &str) = (crate::SECRET_VARIABLE, "correct horse battery");

    /// A job over a network, with a secret.
    #[track_caller]
    fn check(variables: &[(&str, &str)], expected: (&str, [usize; 3], &str, u16)) {
        let without = job(variables).unwrap_err();
        assert!(matches!(without, Error::NoSecret { .. }), "{without}");
        let job = job(&[variables, &[A_SECRET]].concat())
            .unwrap()
            .expect("a job");
        let places = [job.rank, job.ranks, job.local_rank];
        let MeetingPlace::Network { host, port, .. } = &job.place else {
            panic!("{job:?}");
        };
        assert_eq!((job.launcher, places, &**host, *port), expected);
    }

    /// A job on one machine, with a secret or without.
    #[track_caller]
    fn check_machine(variables: &[(&str, &str)], expected: &str) {
        for more in [&[][..], &[A_SECRET]] {
            let job = job(&[variables, more].concat()).unwrap().expect("a job");
            let key = expected.to_owned();
            assert_eq!(job.place, MeetingPlace::Machine { key });
        }
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
        let mut own = TORCHRUN.to_vec();
        own.push((ADDRESS_VARIABLE, "[fe80::1]:7000"));
        check(&own, ("torchrun", [5, 8, 1], "fe80::1", 7000));
    }

    #[test]
    fn the_ranks_of_one_machine_meet_at_a_socket_of_their_own_job() {
        let mut local = TORCHRUN.to_vec();
        local.push(("LOCAL_WORLD_SIZE", "8"));
        check_machine(&local, "torchrun node7:29501 ");
        local.push(("TORCHELASTIC_RUN_ID", "a run"));
        check_machine(&local, "torchrun node7:29501 a run");
        for host in [
            "localhost",
            "127.0.0.1",
            "127.1.2.3",
            "::1",
            "::ffff:127.0.0.1",
        ] {
            let mut loopback = TORCHRUN;
            loopback[3].1 = host;
            check_machine(&loopback, &format!("torchrun {host}:29501 "));
        }
        check_machine(&TORCHRUN[..3], "torchrun 127.0.0.1:29570 ");
    }

    /// `BLOCKWISE_MESH_ADDRESS` with a secret means TCP, also on one machine; without a secret, it
    /// means TCP if other machines can connect.
    #[test]
    fn an_address_is_taken_at_its_word_where_there_is_a_secret() {
        let with = |address, more: &[(&'static str, &'static str)]| {
            let mut own = TORCHRUN.to_vec();
            own.extend([("LOCAL_WORLD_SIZE", "8"), (ADDRESS_VARIABLE, address)]);
            own.extend(more);
            job(&own).map(|job| job.expect("a job").place)
        };
        let place = with("127.0.0.1:7000", &[]).unwrap();
        assert!(matches!(place, MeetingPlace::Machine { .. }), "{place:?}");
        let place = with("127.0.0.1:7000", &[A_SECRET]).unwrap();
        assert!(matches!(place, MeetingPlace::Network { .. }), "{place:?}");
        let error = with("head:7000", &[]).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("meet at head:7000, where anybody could come"),
            "{text}"
        );
        assert!(
            error
                .hint()
                .unwrap()
                .contains("export BLOCKWISE_MESH_SECRET=")
        );
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
        ] {
            check(&slurm(list), ("Slurm", [2, 4, 0], first, 34567));
        }
        check_machine(&slurm("single"), "Slurm single:34567 1234567");
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
        check_machine(&mpi("2"), "Open MPI 127.0.0.1:29570 ");
        let error = job(&mpi("1")).unwrap_err();
        assert!(error.to_string().contains("where rank 0 runs"), "{error}");
        assert!(error.hint().unwrap().contains(ADDRESS_VARIABLE));
        let mut named = mpi("1").to_vec();
        named.push((ADDRESS_VARIABLE, "head:7000"));
        check(&named, ("Open MPI", [1, 2, 1], "head", 7000));
    }

    #[test]
    fn wrong_variables_are_named() {
        assert_eq!(job(&[("RANK", "1")]).unwrap(), None);
        for (name, value, problem) in [
            ("RANK", "x", "`RANK` is `x`, a number is wanted"),
            ("RANK", "-1", "`RANK` is `-1`, a number is wanted"),
            ("RANK", "8", "`RANK` is 8, `WORLD_SIZE` is 8"),
            ("LOCAL_RANK", "9", "`LOCAL_RANK` is 9, `WORLD_SIZE` is 8"),
            ("WORLD_SIZE", "0", "`RANK` is 5, `WORLD_SIZE` is 0"),
            (
                "WORLD_SIZE",
                "999999999999",
                "`WORLD_SIZE` is 999999999999, a mesh has 1024 ranks at most",
            ),
            (
                "WORLD_SIZE",
                "99999999999999999999999999",
                "a mesh has 1024 ranks at most",
            ),
            ("MASTER_PORT", "65535", "there is no port 65536"),
            (
                "MASTER_PORT",
                "18446744073709551615",
                "there is no port 18446744073709551615",
            ),
            (
                crate::SECRET_VARIABLE,
                "123",
                "`openssl rand -hex 32` makes one",
            ),
        ] {
            let mut variables = TORCHRUN.to_vec();
            variables.retain(|(known, _)| *known != name);
            variables.push((name, value));
            let error = job(&variables).unwrap_err().to_string();
            assert!(error.ends_with(problem), "{error}");
        }
        for address in [
            "head",
            ":7000",
            "head:",
            "head:0",
            "head:70000",
            "a:b:7000",
            "[::1:7000",
        ] {
            let mut variables = TORCHRUN.to_vec();
            variables.push((ADDRESS_VARIABLE, address));
            let error = job(&variables).unwrap_err().to_string();
            let problem = format!("is `{address}`, `host:port` is wanted");
            assert!(error.ends_with(&problem), "{error}");
        }
    }
}
