//! Ranks that meet over TCP, each with a mesh of its own, here as threads: what they compute, and
//! every way in which they may not meet.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use blockwise::Device;
use blockwise_mesh::{Error, Job, JoinOptions, Mesh, Rank, Sharded, convolve, reduce};
use blockwise_ops::{ConvMode, ConvOptions, ReduceOptions, Reduction};

/// A port that nobody listens at.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn job(rank: usize, ranks: usize, port: u16) -> Job {
    Job {
        launcher: "a test",
        rank,
        ranks,
        local_rank: rank,
        host: "127.0.0.1".into(),
        port,
    }
}

fn options() -> JoinOptions {
    JoinOptions {
        meeting_limit: Duration::from_secs(30),
        time_limit: Duration::from_secs(30),
        ..JoinOptions::of("test 1")
    }
}

/// Short limits, for those who wait in vain.
fn in_vain() -> JoinOptions {
    JoinOptions {
        meeting_limit: Duration::from_millis(200),
        ..options()
    }
}

/// Joins as each of the given jobs, and runs a program there.
fn run<R: Send>(
    jobs: &[(Job, JoinOptions)],
    program: impl Fn(&mut Rank) -> Result<R, Error> + Sync,
) -> Vec<Result<R, Error>> {
    let program = &program;
    std::thread::scope(|scope| {
        let ranks: Vec<_> = jobs
            .iter()
            .map(|(job, options)| {
                scope.spawn(move || {
                    let mesh = Mesh::join(job, Device::emulator(), options)?;
                    Ok(mesh.run(program)?.remove(0))
                })
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

fn jobs(ranks: usize) -> Vec<(Job, JoinOptions)> {
    let port = free_port();
    (0..ranks)
        .map(|rank| (job(rank, ranks, port), options()))
        .collect()
}

#[track_caller]
fn errors<R>(outcomes: Vec<Result<R, Error>>) -> Vec<String> {
    let errors = outcomes.into_iter().map(|outcome| match outcome {
        Ok(_) => panic!("it should not have worked"),
        Err(error) => error.to_string(),
    });
    errors.collect()
}

/// Sums and convolutions over TCP have the bits of those in memory, twice on one mesh.
#[test]
fn results_are_those_in_memory() {
    let wave = |len: usize| {
        (0..len)
            .map(|i| (i as f32 * 0.37).sin())
            .collect::<Vec<_>>()
    };
    let (signal, taps) = (wave(900), wave(31));
    let program = |rank: &mut Rank| {
        let signal = Sharded::part_of(rank, &signal)?;
        let smooth = convolve(
            rank,
            &signal,
            &taps,
            ConvMode::Same,
            &ConvOptions::default(),
        )?;
        let sum = reduce(rank, &smooth, Reduction::Sum, &ReduceOptions::default())?;
        Ok((sum.to_bits(), smooth.gather(rank)?))
    };
    for ranks in [1, 2, 4] {
        let in_memory = Mesh::emulated(ranks).unwrap().run(program).unwrap();
        let over_tcp: Result<Vec<_>, Error> = run(&jobs(ranks), program).into_iter().collect();
        assert_eq!(over_tcp.unwrap(), in_memory);
    }
}

#[test]
fn a_mesh_runs_one_program_after_the_other() {
    let jobs = jobs(2);
    std::thread::scope(|scope| {
        for (job, options) in &jobs {
            scope.spawn(move || {
                let mesh = Mesh::join(job, Device::emulator(), options).unwrap();
                assert_eq!((mesh.ranks(), mesh.first()), (2, job.rank));
                for round in 0..3 {
                    let all = mesh.run(|rank| rank.gather(&[rank.number() as u32 + round]));
                    assert_eq!(all.unwrap(), [[[round], [round + 1]]]);
                }
            });
        }
    });
}

#[test]
fn calls_that_do_not_match_are_named_with_their_lines() {
    let here = line!();
    let outcomes = run(&jobs(2), |rank| match rank.number() {
        0 => rank.gather(&[1.0_f32]).map(drop),
        _ => rank.gather(&[1.0_f64]).map(drop),
    });
    let errors = errors(outcomes);
    let expected = format!(
        "rank 0 calls `gather` of f32 [1], its call 0, at {}:{}",
        file!(),
        here + 2
    );
    assert!(
        errors.iter().any(|error| error.contains(&expected)),
        "{errors:?}"
    );
    let expected = format!(
        "rank 1 calls `gather` of f64 [1], its call 0, at {}:{}",
        file!(),
        here + 3
    );
    assert!(
        errors.iter().any(|error| error.contains(&expected)),
        "{errors:?}"
    );
}

#[test]
fn a_failure_reaches_every_rank_in_its_words() {
    let outcomes = run(&jobs(3), |rank| {
        if rank.number() == 1 {
            return Sharded::part_of(rank, &[0.0_f32; 0])
                .and_then(|x| reduce(rank, &x, Reduction::Min, &ReduceOptions::default()));
        }
        rank.fold(Some(1.0_f32), Reduction::Min).map(Option::unwrap)
    });
    let errors = errors(outcomes);
    let own = "rank 1: the operand of a minimum or maximum is empty";
    assert_eq!(errors[1], own);
    for other in [0, 2] {
        assert_eq!(errors[other], format!("rank 1 has failed: {own}"));
    }
}

#[test]
fn a_rank_that_has_ended_is_named() {
    let outcomes = run(&jobs(2), |rank| match rank.number() {
        0 => rank.barrier(),
        _ => Ok(()),
    });
    let error = outcomes[0].as_ref().unwrap_err().to_string();
    assert!(error.starts_with("rank 1 has ended its program"), "{error}");
}

#[test]
fn other_sizes_and_other_programs_are_refused_on_both_sides() {
    let port = free_port();
    let larger = [(job(0, 2, port), options()), (job(1, 3, port), options())];
    for error in errors(run(&larger, |_| Ok(()))) {
        assert_eq!(error, "rank 1 is of a job of 3, rank 0 of one of 2");
    }
    let port = free_port();
    let newer = JoinOptions {
        program: "test 2".into(),
        ..options()
    };
    let newer = [(job(0, 2, port), options()), (job(1, 2, port), newer)];
    for error in errors(run(&newer, |_| Ok(()))) {
        assert_eq!(error, "rank 1 runs test 2, rank 0 runs test 1");
    }
    let port = free_port();
    let twice = [job(0, 3, port), job(1, 3, port), job(1, 3, port)];
    for error in errors(run(&twice.map(|job| (job, options())), |_| Ok(()))) {
        assert_eq!(error, "two processes say that they are rank 1");
    }
}

#[test]
fn a_rank_that_never_comes_is_named_by_all_others() {
    let port = free_port();
    let two_of_four = [0, 2].map(|rank| (job(rank, 4, port), in_vain()));
    for error in errors(run(&two_of_four, |_| Ok(()))) {
        assert_eq!(error, "ranks [1, 3] have not come within 0.2 s");
    }
    let alone = [(job(1, 2, free_port()), in_vain())];
    let [error] = errors(run(&alone, |_| Ok(()))).try_into().unwrap();
    assert!(
        error.starts_with("rank 1 has not reached rank 0 at 127.0.0.1:"),
        "{error}"
    );
    assert!(error.contains("within 0.2 s"), "{error}");
}

#[test]
fn a_port_in_use_is_named_by_both() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let both = [0, 1].map(|rank| (job(rank, 2, port), in_vain()));
    let errors = errors(run(&both, |_| Ok(())));
    let address = format!("127.0.0.1:{port}");
    assert!(
        errors[0].starts_with(&format!("rank 0 cannot listen at {address}: ")),
        "{errors:?}"
    );
    let silent = format!("rank 1 reached {address}, where rank 0 does not answer: ");
    assert!(errors[1].starts_with(&silent), "{errors:?}");
}

/// Somebody who is no rank connects first, and rank 1 comes after rank 0 has begun to wait.
#[test]
fn strangers_are_passed_over_and_late_ranks_are_not() {
    let port = free_port();
    let (first, second) = (job(0, 2, port), job(1, 2, port));
    let gathered = std::thread::scope(|scope| {
        let host = scope.spawn(|| run(&[(first, options())], |rank| rank.gather(&[0_u32])));
        let mut stranger = loop {
            if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) {
                break stream;
            }
        };
        stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        // Rank 0 hangs up.
        let _ = stranger.read(&mut [0; 1]);
        let late = run(&[(second, options())], |rank| rank.gather(&[1_u32]));
        [host.join().unwrap(), late].concat_results()
    });
    assert_eq!(gathered, [[[0], [1]], [[0], [1]]]);
}

/// The outcomes of several runs, none of which has failed.
trait Concat<R> {
    fn concat_results(self) -> Vec<R>;
}

impl<R> Concat<R> for [Vec<Result<R, Error>>; 2] {
    fn concat_results(self) -> Vec<R> {
        self.into_iter().flatten().map(Result::unwrap).collect()
    }
}
