//! Jobs of processes, as launchers start them: two and four ranks, and one that is killed at any
//! moment.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use blockwise_mesh::{
    Blocks, Error, Grid, JoinOptions, Mesh, Rank, Sharded, ShardedMatmulOptions, ShardedMatrix,
    ShardedTranspose, convolve, matmul, reduce,
};
use blockwise_ops::{ConvMode, Options, Reduction};

use crate::meetings::free_port;

/// Names the program of a child; without it `child` is no test of its own.
const PROGRAM: &str = "MESH_TEST_PROGRAM";

fn main_of_child(program: &str) -> Result<(), Error> {
    println!("\nstarted");
    if let Some((what, path)) = program.split_once(':') {
        crate::strangers::another_user(what, path);
        return Ok(());
    }
    let options = JoinOptions {
        meeting_limit: Duration::from_secs(if program == "few" { 2 } else { 60 }),
        time_limit: Duration::from_secs(60),
        ..JoinOptions::of("test")
    };
    let mesh = Mesh::from_env(&options)?;
    println!("met");
    if program == "matrices" {
        let bits = mesh.run(matrices)?;
        println!("result {}", bits[0]);
        return Ok(());
    }
    let rounds = if program == "rounds" { usize::MAX } else { 1 };
    for round in 0..rounds {
        let sums = mesh.run(|rank| work(rank, |moment| println!("round {round} {moment}")))?;
        println!("round {round} ends\nresult {}", sums[0]);
    }
    Ok(())
}

/// A convolution and the bits of its sum; reports the moments of its way.
fn work(rank: &mut Rank, at: impl Fn(&str)) -> Result<u32, Error> {
    at("begins");
    let samples: Vec<f32> = (0..500).map(|i| (i as f32 * 0.37).sin()).collect();
    let signal = Sharded::part_of(rank, &samples)?;
    at("uploaded");
    let taps = [0.1_f32, 0.2, 0.4, 0.2, 0.1];
    let smooth = convolve(rank, &signal, &taps, ConvMode::Full, &Options::default())?;
    at("convolved");
    let sum = reduce(rank, &smooth, Reduction::Sum, &Options::default())?;
    at("summed");
    Ok(sum.to_bits())
}

/// A product, whose rows are gathered and whose columns are, and its transpose in two pieces: what
/// processes without NCCL send through the hosts.
fn matrices(rank: &mut Rank) -> Result<usize, Error> {
    let [rows, inner, cols] = [37, 20, 67];
    let value = |at: usize| (at * 7919 % 17) as f32 - 8.0;
    let [a, b] = [rows * inner, inner * cols].map(|len| (0..len).map(value).collect::<Vec<_>>());
    let dot = |row: usize, col: usize| -> f32 {
        let terms = (0..inner).map(|k| a[row * inner + k] * b[k * cols + col]);
        terms.sum()
    };
    let mut right = 0;
    for grid in [[rank.ranks(), 1], [1, rank.ranks()]] {
        let grid = Grid {
            rows: grid[0],
            cols: grid[1],
        };
        let of_a = Blocks::even([rows, inner], grid);
        let a = ShardedMatrix::part_of(rank, &a, of_a)?;
        let b = ShardedMatrix::part_of(rank, &b, Blocks::even([inner, cols], grid))?;
        let options = ShardedMatmulOptions {
            panel: Some(30),
            ..ShardedMatmulOptions::default()
        };
        let c = matmul(rank, &a, &b, &options)?.gather(rank)?;
        let c_is = |at: usize| c[at] == dot(at / cols, at % cols);
        right += (0..rows * cols).filter(|&at| c_is(at)).count();
        let c = ShardedMatrix::part_of(
            rank,
            &c,
            Blocks::even([rows, cols], Grid::column(rank.ranks())),
        )?;
        let options = Options::default();
        let mut turn = ShardedTranspose::in_pieces(rank, c.blocks(), &options, 2)?;
        let mut turned = ShardedMatrix::zeros(rank, turn.outputs())?;
        turn.enqueue(rank, &c, &mut turned)?;
        let turned = turned.gather(rank)?;
        let is = |at: usize| turned[at] == dot(at % rows, at / rows);
        right += (0..rows * cols).filter(|&at| is(at)).count();
    }
    Ok(right)
}

#[test]
fn products_and_transposes_over_processes_are_right() {
    for ranks in [2, 3] {
        let outputs = job("torchrun", "matrices", ranks).into_iter();
        for output in outputs.map(|child| child.wait_with_output().unwrap()) {
            let all = format!("result {}", 4 * 37 * 67);
            assert_eq!(results(&output), [all], "{output:?}");
        }
    }
}

#[test]
fn child() {
    let Ok(program) = std::env::var(PROGRAM) else {
        return;
    };
    if let Err(error) = main_of_child(&program) {
        eprintln!("error: {error}");
        std::process::exit(2);
    }
}

/// Starts this very test program as a rank.
pub(crate) fn start(program: &str, variables: &[(&str, String)]) -> Child {
    command(&std::env::current_exe().unwrap(), program, variables)
        .spawn()
        .unwrap()
}

/// The same from a copy of this program.
pub(crate) fn command(exe: &Path, program: &str, variables: &[(&str, String)]) -> Command {
    let mut command = Command::new(exe);
    command
        .args(["processes::child", "--exact", "--nocapture"])
        .env(PROGRAM, program)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// The variables of a rank, as a launcher sets them.
pub(crate) fn variables(
    launcher: &str,
    rank: usize,
    ranks: usize,
    port: u16,
) -> Vec<(&'static str, String)> {
    let (rank, ranks) = (rank.to_string(), ranks.to_string());
    match launcher {
        "torchrun" => vec![
            ("RANK", rank.clone()),
            ("LOCAL_RANK", rank),
            ("WORLD_SIZE", ranks),
            ("MASTER_ADDR", "localhost".into()),
            ("MASTER_PORT", (port - 1).to_string()),
        ],
        "srun" => vec![
            ("SLURM_PROCID", rank.clone()),
            ("SLURM_LOCALID", rank),
            ("SLURM_STEP_NUM_TASKS", ranks),
            ("SLURM_STEP_NODELIST", "localhost".into()),
            ("MASTER_PORT", port.to_string()),
        ],
        _ => vec![
            ("OMPI_COMM_WORLD_RANK", rank.clone()),
            ("OMPI_COMM_WORLD_LOCAL_RANK", rank),
            ("OMPI_COMM_WORLD_SIZE", ranks.clone()),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", ranks),
            ("MASTER_PORT", port.to_string()),
        ],
    }
}

fn job(launcher: &str, program: &str, ranks: usize) -> Vec<Child> {
    let port = free_port();
    let rank = |rank| start(program, &variables(launcher, rank, ranks, port));
    (0..ranks).map(rank).collect()
}

/// What makes TCP of it.
pub(crate) fn over_tcp(port: u16, secret: &str) -> [(&'static str, String); 2] {
    [
        ("BLOCKWISE_MESH_ADDRESS", format!("127.0.0.1:{port}")),
        ("BLOCKWISE_MESH_SECRET", secret.to_owned()),
    ]
}

/// The lines of a child that begin with `result`.
pub(crate) fn results(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().filter(|line| line.starts_with("result"));
    lines.map(str::to_owned).collect()
}

#[test]
fn every_launchers_ranks_find_each_other() {
    for (launcher, ranks) in [("torchrun", 2), ("srun", 2), ("mpirun", 2), ("torchrun", 4)] {
        let sums = Mesh::emulated(ranks)
            .unwrap()
            .run(|rank| work(rank, |_| {}))
            .unwrap();
        for child in job(launcher, "once", ranks) {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{launcher}: {output:?}");
            assert_eq!(results(&output), [format!("result {}", sums[0])]);
        }
        let port = free_port();
        let children: Vec<Child> = (0..ranks)
            .map(|rank| {
                let mut own = variables(launcher, rank, ranks, port);
                own.extend(over_tcp(port, "the secret of this job"));
                start("once", &own)
            })
            .collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{launcher}: {output:?}");
            assert_eq!(results(&output), [format!("result {}", sums[0])]);
        }
    }
}

/// A file of mode 0600 does what the variable does.
#[test]
fn a_secret_comes_from_a_file_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    std::fs::write(&file, "the secret of this job\n").unwrap();
    let mode = |mode| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o600);
    let port = free_port();
    let with_file = |rank| {
        let mut own = variables("torchrun", rank, 2, port);
        let [address, _] = over_tcp(port, "");
        let path = file.to_str().unwrap().to_owned();
        own.extend([address, ("BLOCKWISE_MESH_SECRET_FILE", path)]);
        start("once", &own)
    };
    let mut by_variable = variables("torchrun", 1, 2, port);
    by_variable.extend(over_tcp(port, "the secret of this job"));
    for child in [with_file(0), start("once", &by_variable)] {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    mode(0o640);
    let output = with_file(0).wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("its mode is 0640"), "{error}");
}

/// Kills a rank when it has printed a line that begins with `moment`; all others end with an error
/// that names it.
#[track_caller]
fn kill(victim: usize, moment: &str, over: impl Fn(u16) -> Vec<(&'static str, String)>) {
    let port = free_port();
    let started = |rank| {
        let mut own = variables("torchrun", rank, 3, port);
        own.extend(over(port));
        start("rounds", &own)
    };
    let mut children: Vec<Child> = (0..3).map(started).collect();
    let output = children[victim].stdout.take().unwrap();
    let mut lines = BufReader::new(output).lines();
    assert!(
        lines.any(|line| line.unwrap().starts_with(moment)),
        "no `{moment}`"
    );
    children[victim].kill().unwrap();
    let gone = format!("rank {victim} is gone");
    for (rank, child) in children.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        if rank == victim {
            continue;
        }
        let error = String::from_utf8_lossy(&output.stderr);
        let status = output.status.code();
        assert_eq!(status, Some(2), "{moment}, rank {rank}: {error}");
        assert!(error.contains(&gone), "{moment}, rank {rank}: {error}");
    }
}

/// A dead rank is noticed at once: no error is that of a time limit, which has other words.
#[test]
fn a_rank_killed_at_any_of_ten_moments_ends_the_others_with_its_name() {
    let moments = [
        "met",
        "round 0 begins",
        "round 0 uploaded",
        "round 0 convolved",
        "round 0 summed",
        "round 0 ends",
        "round 1 uploaded",
        "round 1 convolved",
        "round 2 summed",
        "round 5 begins",
    ];
    for (index, moment) in moments.into_iter().enumerate() {
        kill(index % 3, moment, |_| Vec::new());
    }
}

#[test]
fn a_rank_killed_over_tcp_ends_the_others_with_its_name() {
    for (index, moment) in ["met", "round 0 uploaded", "round 1 convolved"]
        .into_iter()
        .enumerate()
    {
        for victim in [index, (index + 1) % 3] {
            kill(victim, moment, |port| {
                over_tcp(port, "the secret of this job").to_vec()
            });
        }
    }
}

/// Rank 2 has died before it came: the others wait for rank 0's limit, which is two seconds here,
/// and so begins when rank 1 is about to come.
#[test]
fn a_rank_that_died_before_the_meeting_is_named() {
    let port = free_port();
    let mut guest = start("once", &variables("torchrun", 1, 3, port));
    let mut lines = BufReader::new(guest.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "started"));
    let host = start("few", &variables("torchrun", 0, 3, port));
    for child in [host, guest] {
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(
            error.contains("ranks [2] have not come within 2 s"),
            "{error}"
        );
    }
}

/// The error of a rank that is started with these variables instead of torchrun's own; `None` as a
/// value leaves one out.
fn refused(changes: &[(&'static str, Option<&str>)]) -> String {
    let mut own = variables("torchrun", 0, 2, free_port());
    for (name, value) in changes {
        own.retain(|(known, _)| known != name);
        own.extend(value.map(|value| (*name, value.to_owned())));
    }
    let output = start("few", &own).wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{changes:?}: {error}");
    assert!(!error.contains("panicked"), "{changes:?}: {error}");
    error
}

#[test]
fn wrong_variables_are_named_in_the_error() {
    for (name, value, problem) in [
        ("RANK", "2", "`RANK` is 2, `WORLD_SIZE` is 2"),
        ("RANK", "-1", "`RANK` is `-1`, a number is wanted"),
        ("WORLD_SIZE", "0", "`RANK` is 0, `WORLD_SIZE` is 0"),
        ("WORLD_SIZE", "two", "`WORLD_SIZE` is `two`"),
        ("LOCAL_RANK", "first", "`LOCAL_RANK` is `first`"),
        ("MASTER_PORT", "http", "`MASTER_PORT` is `http`"),
        ("MASTER_PORT", "70000", "there is no port 70001"),
        ("MASTER_ADDR", "node7", "meet at node7:"),
        ("WORLD_SIZE", "999999999999", "1024 ranks at most"),
        ("BLOCKWISE_MESH_ADDRESS", ":7000:", "`host:port` is wanted"),
    ] {
        let error = refused(&[(name, Some(value))]);
        assert!(error.contains(problem), "{name}={value}: {error}");
    }
}

#[test]
fn an_address_that_is_not_this_machines_is_named() {
    let secret = Some("the secret of this job");
    for host in ["no.such.host.invalid", "192.0.2.1"] {
        let error = refused(&[
            ("MASTER_ADDR", Some(host)),
            ("BLOCKWISE_MESH_SECRET", secret),
        ]);
        assert!(
            error.contains(&format!("cannot listen at {host}:")),
            "{error}"
        );
    }
}

/// Without an address rank 0 is on this machine, as for one that torchrun's variables name.
#[test]
fn without_an_address_the_ranks_of_one_machine_meet() {
    let port = free_port();
    let children: Vec<Child> = (0..2)
        .map(|rank| {
            let mut own = variables("torchrun", rank, 2, port);
            own.retain(|(name, _)| *name != "MASTER_ADDR" && *name != "LOCAL_RANK");
            start("once", &own)
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let alone = refused(&[("RANK", None)]);
    assert!(alone.contains("belongs to no job"), "{alone}");
}

#[test]
fn two_processes_of_one_rank_and_a_port_in_use_end_every_rank() {
    let port = free_port();
    let twins = [0, 1, 1].map(|rank| start("once", &variables("torchrun", rank, 3, port)));
    for child in twins {
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        let why = "two processes say that they are rank 1";
        assert!(error.contains(why), "{error}");
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let mut own = variables("torchrun", 0, 2, port);
    own.extend(over_tcp(port, "the secret of this job"));
    let output = start("few", &own);
    let output = output.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("rank 0 cannot listen at "), "{error}");
}

/// Two of four die at once: the others name one of the two.
#[test]
fn two_ranks_killed_at_once_end_the_others() {
    let mut children = job("mpirun", "rounds", 4);
    // Kept, so that a rank that prints more does not fail by itself.
    let mut kept = Vec::new();
    for victim in [1, 3] {
        let output = children[victim].stdout.take().unwrap();
        let mut lines = BufReader::new(output).lines();
        assert!(lines.any(|line| line.unwrap().starts_with("round 1 convolved")));
        kept.push(lines);
    }
    children[3].kill().unwrap();
    children[1].kill().unwrap();
    for rank in [0, 2] {
        let output = children.remove(if rank == 0 { 0 } else { 1 });
        let output = output.wait_with_output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "rank {rank}: {error}");
        let named = ["rank 1 is gone", "rank 3 is gone"]
            .iter()
            .any(|gone| error.contains(gone));
        assert!(named, "rank {rank}: {error}");
    }
}
