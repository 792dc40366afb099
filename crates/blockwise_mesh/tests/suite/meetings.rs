//! Ranks that meet over TCP or at sockets of the machine, each with a mesh of its own, here as
//! threads: what they compute, and every way in which they may not meet. Who tries to come between
//! them is in `strangers.rs`.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::{Barrier, Mutex};
use std::time::Duration;

use blockwise::Device;
use blockwise_mesh::{
    Error, Job, JoinOptions, MeetingPlace, Mesh, Rank, Secret, Sharded, convolve, reduce,
};
use blockwise_ops::{ConvMode, Options, Reduction};

/// A port without a listener, each only once: jobs that meet at a socket do not bind it.
pub(crate) fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        if GIVEN.lock().unwrap().insert(port) {
            return port;
        }
    }
}

/// A rank over TCP.
pub(crate) fn job(rank: usize, ranks: usize, port: u16) -> Job {
    Job {
        launcher: "a test",
        rank,
        ranks,
        local_rank: rank,
        place: MeetingPlace::Network {
            host: "127.0.0.1".into(),
            port,
            secret: Secret::new("the secret of this job").unwrap(),
        },
    }
}

/// The same with another secret.
pub(crate) fn with_secret(secret: &str, job: Job) -> Job {
    let MeetingPlace::Network { host, port, .. } = job.place else {
        panic!("{job:?}");
    };
    let secret = Secret::new(secret).unwrap();
    let place = MeetingPlace::Network { host, port, secret };
    Job { place, ..job }
}

/// The same at a socket.
fn at_a_socket(job: Job) -> Job {
    let place = MeetingPlace::Machine {
        key: format!("{} {}", std::process::id(), job.place),
    };
    Job { place, ..job }
}

pub(crate) fn options() -> JoinOptions {
    JoinOptions {
        meeting_limit: Duration::from_secs(30),
        time_limit: Duration::from_secs(30),
        ..JoinOptions::of("test 1")
    }
}

/// Short limits, for those who wait in vain.
pub(crate) fn in_vain() -> JoinOptions {
    JoinOptions {
        meeting_limit: Duration::from_millis(200),
        ..options()
    }
}

/// Joins as each of the given jobs, and runs a program there.
pub(crate) fn run<R: Send>(
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
pub(crate) fn errors<R>(outcomes: Vec<Result<R, Error>>) -> Vec<String> {
    let errors = outcomes.into_iter().map(|outcome| match outcome {
        Ok(_) => panic!("it should not have worked"),
        Err(error) => error.to_string(),
    });
    errors.collect()
}

/// Sums and convolutions over TCP and over sockets have the bits of those in memory, twice on one mesh.
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
        let smooth = convolve(rank, &signal, &taps, ConvMode::Same, &Options::default())?;
        let sum = reduce(rank, &smooth, Reduction::Sum, &Options::default())?;
        Ok((sum.to_bits(), smooth.gather(rank)?))
    };
    for ranks in [1, 2, 4] {
        let in_memory = Mesh::emulated(ranks).unwrap().run(program).unwrap();
        for jobs in at_both(jobs(ranks)) {
            let results: Result<Vec<_>, Error> = run(&jobs, program).into_iter().collect();
            assert_eq!(results.unwrap(), in_memory);
        }
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

/// Three ranks that run a program together and, when all have run it, `end`: one that fails earlier
/// fails the program of the others.
fn ended(end: impl Fn(usize, &Mesh) -> Result<(), Error> + Sync) -> Vec<Result<(), Error>> {
    let (jobs, end, all_ran) = (jobs(3), &end, &Barrier::new(3));
    std::thread::scope(|scope| {
        let ranks = jobs.iter().map(|(job, options)| {
            scope.spawn(move || {
                let mesh = Mesh::join(job, Device::emulator(), options).unwrap();
                let ran = mesh.run(|rank| rank.gather(&[1_u32]));
                all_ran.wait();
                ran.unwrap();
                end(job.rank, &mesh)
            })
        });
        let ranks: Vec<_> = ranks.collect();
        let ended = ranks.into_iter().map(|rank| rank.join().unwrap());
        ended.collect()
    })
}

/// The others wait for what rank 0 does after their program, and fail with it.
#[test]
fn no_rank_finishes_before_rank_0() {
    let all = ended(|_, mesh| mesh.finish());
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    let without = ended(|rank, mesh| if rank == 0 { Ok(()) } else { mesh.finish() });
    let others = without.into_iter().skip(1);
    let errors: Vec<_> = others.map(|it| it.unwrap_err().to_string()).collect();
    assert!(errors.iter().all(|it| it.contains("rank 0")), "{errors:?}");
}

/// What rank 0 has put in place stays a success when another rank fails before it finishes.
#[test]
fn rank_0_finishes_without_a_rank_that_has_failed() {
    let reason = "its disk is full";
    let ended = ended(|rank, mesh| match rank {
        1 => {
            let failed = mesh.run(|_| {
                let reason = reason.into();
                Err::<(), _>(Error::Meeting { reason })
            });
            failed.map(drop)
        }
        _ => mesh.finish(),
    });
    assert!(ended[0].is_ok(), "{ended:?}");
    let error = ended[2].as_ref().unwrap_err().to_string();
    assert!(
        error.contains("rank 1") && error.contains(reason),
        "{error}"
    );
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
                .and_then(|x| reduce(rank, &x, Reduction::Min, &Options::default()));
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

/// The same at both places.
fn at_both(jobs: Vec<(Job, JoinOptions)>) -> [Vec<(Job, JoinOptions)>; 2] {
    let at_sockets = jobs.iter().cloned();
    let at_sockets = at_sockets.map(|(job, options)| (at_a_socket(job), options));
    [at_sockets.collect(), jobs]
}

#[test]
fn other_sizes_and_other_programs_are_refused_on_both_sides() {
    let check = |jobs: Vec<(Job, JoinOptions)>, why: &str| {
        for jobs in at_both(jobs) {
            for error in errors(run(&jobs, |_| Ok(()))) {
                assert_eq!(error, why);
            }
        }
    };
    let port = free_port();
    check(
        vec![(job(0, 2, port), options()), (job(1, 3, port), options())],
        "rank 1 is of a job of 3, rank 0 of one of 2",
    );
    let port = free_port();
    let newer = JoinOptions {
        program: "test 2".into(),
        ..options()
    };
    check(
        vec![(job(0, 2, port), options()), (job(1, 2, port), newer)],
        "rank 1 runs test 2, rank 0 runs test 1",
    );
    let port = free_port();
    let twice = [job(0, 3, port), job(1, 3, port), job(1, 3, port)];
    check(
        twice.map(|job| (job, options())).into(),
        "two processes say that they are rank 1",
    );
}

#[test]
fn a_rank_that_never_comes_is_named_by_all_others() {
    let port = free_port();
    let two_of_four = [0, 2].map(|rank| (job(rank, 4, port), in_vain()));
    for jobs in at_both(two_of_four.into()) {
        for error in errors(run(&jobs, |_| Ok(()))) {
            assert_eq!(error, "ranks [1, 3] have not come within 0.2 s");
        }
    }
    for alone in at_both(vec![(job(1, 2, free_port()), in_vain())]) {
        let place = alone[0].0.place.to_string();
        let [error] = errors(run(&alone, |_| Ok(()))).try_into().unwrap();
        let start = format!("rank 1 has not reached rank 0 at {place} within 0.2 s: ");
        assert!(error.starts_with(&start), "{error}");
    }
}

/// Longer than the time that a greeting has.
#[test]
fn who_has_waited_long_is_told_too() {
    let port = free_port();
    let limit = JoinOptions {
        meeting_limit: Duration::from_millis(5500),
        ..options()
    };
    let two_of_three = [0, 1].map(|rank| (job(rank, 3, port), limit.clone()));
    for error in errors(run(&two_of_three, |_| Ok(()))) {
        assert_eq!(error, "ranks [2] have not come within 5.5 s");
    }
}

#[test]
fn a_place_in_use_is_named() {
    let both = at_both(vec![(job(0, 2, free_port()), in_vain())]);
    let (path, port) = (
        both[0][0].0.place.to_string(),
        both[1][0].0.place.to_string(),
    );
    let _sockets = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let _ports = TcpListener::bind(&port).unwrap();
    for (jobs, why) in both
        .iter()
        .zip(["another job meets there", "ddress already in use"])
    {
        let [error] = errors(run(jobs, |_| Ok(()))).try_into().unwrap();
        assert!(error.starts_with("rank 0 cannot listen at "), "{error}");
        assert!(error.contains(why), "{error}");
    }
    std::fs::remove_file(path).unwrap();
}

/// No limit is beyond what clocks can count.
#[test]
fn limits_without_end_are_none() {
    let forever = JoinOptions {
        meeting_limit: Duration::MAX,
        time_limit: Duration::MAX,
        ..options()
    };
    let port = free_port();
    let jobs = [0, 1].map(|rank| (job(rank, 2, port), forever.clone()));
    for outcome in run(&jobs, |rank| rank.gather(&[rank.number() as u32])) {
        assert_eq!(outcome.unwrap(), [[0], [1]]);
    }
}

#[test]
fn no_more_ranks_than_a_mesh_has() {
    let error = Mesh::emulated(4_000_000_000).unwrap_err().to_string();
    assert_eq!(
        error,
        "4000000000 emulated devices are asked for; a mesh has 256 at most"
    );
    let huge = [(job(0, usize::MAX, free_port()), in_vain())];
    let [error] = errors(run(&huge, |_| Ok(()))).try_into().unwrap();
    assert!(error.ends_with("a mesh has 1024 at most"), "{error}");
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
