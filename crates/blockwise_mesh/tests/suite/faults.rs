//! Programs with a mistake: each is an error that names the ranks and their lines, and none hangs.

use std::time::Duration;

use blockwise_mesh::{Error, Mesh, Rank, Sharded, Split, convolve, dot, reduce};
use blockwise_ops::{ConvMode, Options, Reduction};

fn sum(rank: &mut Rank, len: usize) -> Result<f32, Error> {
    let x = Sharded::part_of(rank, &vec![1.0_f32; len])?;
    reduce(rank, &x, Reduction::Sum, &Options::default())
}

/// The error of a program on three ranks.
#[track_caller]
fn error<R: Send>(program: impl Fn(&mut Rank) -> Result<R, Error> + Sync) -> Error {
    let run = Mesh::emulated(3).unwrap().run(program);
    run.err().expect("the program has a mistake")
}

/// Two ranks call unlike things: both are named, each with its line of this file.
#[track_caller]
fn mismatch(
    difference: &str,
    lines: [u32; 2],
    program: impl Fn(&mut Rank) -> Result<(), Error> + Sync,
) {
    let error = error(program);
    let Error::Mismatch {
        difference: found,
        calls,
    } = &error
    else {
        panic!("another error: {error}");
    };
    assert_eq!(*found, difference);
    let ranks = [calls[0].0, calls[1].0];
    assert!(
        ranks.contains(&1),
        "rank 1 is the one that differs: {error}"
    );
    for (rank, call) in calls.iter() {
        let line = if *rank == 1 { lines[1] } else { lines[0] };
        assert!(
            call.file.ends_with("faults.rs") && call.line == line,
            "{error}"
        );
        assert!(
            error
                .to_string()
                .contains(&format!("rank {rank} calls `{}`", call.operation))
        );
    }
}

#[test]
fn another_operation() {
    let here = line!();
    mismatch("other operations", [here + 5, here + 3], |rank| {
        if rank.number() == 1 {
            rank.gather(&[1.0_f32])?;
        } else {
            rank.fold(Some(1.0_f32), Reduction::Sum)?;
        }
        Ok(())
    });
}

#[test]
fn swapped_calls() {
    let here = line!();
    mismatch("other operations", [here + 6, here + 3], |rank| {
        if rank.number() == 1 {
            rank.fold(Some(1.0_f32), Reduction::Min)?;
            rank.fold(Some(1.0_f32), Reduction::Max)?;
        } else {
            rank.fold(Some(1.0_f32), Reduction::Max)?;
            rank.fold(Some(1.0_f32), Reduction::Min)?;
        }
        Ok(())
    });
}

#[test]
fn another_length() {
    let here = line!();
    mismatch("other lengths", [here + 4, here + 4], |rank| {
        let len = if rank.number() == 1 { 99 } else { 100 };
        let x = Sharded::part_of(rank, &vec![1.0_f32; len])?;
        reduce(rank, &x, Reduction::Sum, &Options::default())?;
        Ok(())
    });
}

#[test]
fn another_split_of_one_length() {
    let here = line!();
    mismatch("other splits or options", [here + 8, here + 8], |rank| {
        let lengths = match rank.number() {
            1 => [3, 3, 4],
            _ => [4, 3, 3],
        };
        let split = Split::of(&lengths);
        let part = vec![1_i64; lengths[rank.number()]];
        reduce(
            rank,
            &Sharded::upload(rank, split, &part)?,
            Reduction::Max,
            &Options::default(),
        )?;
        Ok(())
    });
}

#[test]
fn another_type() {
    let here = line!();
    mismatch(
        "other element types",
        [here + 6, here + 5],
        |rank| match rank.number() {
            1 => rank.gather(&[1.0_f64]).map(drop),
            _ => rank.gather(&[1.0_f32]).map(drop),
        },
    );
}

/// A convolution with one tap sends nothing, so the next call finds it.
#[test]
fn a_call_left_out() {
    let here = line!();
    mismatch(
        "one of them left a call out",
        [here + 9, here + 9],
        |rank| {
            let x = Sharded::part_of(rank, &[1.0_f32; 9])?;
            if rank.number() != 1 {
                convolve(rank, &x, &[2.0], ConvMode::Same, &Options::default())?;
            }
            rank.barrier()
        },
    );
}

#[test]
fn a_missing_barrier() {
    let here = line!();
    mismatch("other operations", [here + 4, here + 6], |rank| {
        rank.gather(&[0_u32])?;
        if rank.number() != 1 {
            rank.barrier()?;
        }
        rank.gather(&[rank.number() as u32]).map(drop)
    });
}

/// The halo follows from the taps, so another number of taps is a halo that is too short.
#[test]
fn a_halo_that_is_one_short() {
    let here = line!();
    mismatch("other lengths", [here + 4, here + 4], |rank| {
        let taps = vec![1.0_f32; if rank.number() == 1 { 8 } else { 9 }];
        let x = Sharded::part_of(rank, &[1.0; 100])?;
        convolve(rank, &x, &taps, ConvMode::Valid, &Options::default()).map(drop)
    });
}

#[test]
fn a_rank_that_ends_early() {
    let error = error(|rank| {
        if rank.number() == 2 {
            return Ok(0.0);
        }
        sum(rank, 10)
    });
    assert!(matches!(error, Error::Ended { missing: 2, .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("rank 2 has ended its program") && text.contains("`sum` of f32 [10]"),
        "{text}"
    );
    assert!(text.contains("faults.rs:"), "{text}");
}

#[test]
fn a_rank_that_fails_is_the_error() {
    let error = error(|rank| {
        let a = Sharded::part_of(rank, &[1.0_f32; 9])?;
        let b = Sharded::part_of(rank, &vec![1.0_f32; if rank.number() == 1 { 8 } else { 9 }])?;
        dot(rank, &a, &b, &Options::default())
    });
    assert!(
        error.to_string().starts_with("rank 1: a is 9 elements"),
        "{error}"
    );
}

#[test]
#[should_panic(expected = "of rank 1 alone")]
fn a_rank_that_panics_panics_the_run() {
    let _ = error(|rank| {
        assert!(rank.number() != 1, "of rank 1 alone");
        sum(rank, 10)
    });
}

#[test]
fn a_rank_that_is_late_is_named_with_the_limit() {
    let mesh = Mesh::emulated(2)
        .unwrap()
        .time_limit(Duration::from_millis(50));
    // Rank 1 comes when rank 0 has given up.
    let (given_up, wait) = std::sync::mpsc::channel::<()>();
    let (given_up, wait) = (
        std::sync::Mutex::new(Some(given_up)),
        std::sync::Mutex::new(wait),
    );
    let run = mesh.run(|rank| {
        if rank.number() == 1 {
            let _ = wait.lock().unwrap().recv();
            return sum(rank, 10);
        }
        let sum = sum(rank, 10);
        drop(given_up.lock().unwrap().take());
        sum
    });
    let text = run.unwrap_err().to_string();
    assert!(
        text.starts_with("rank 1 has sent nothing for 0.05 s, and rank 0 waits for it in `sum`"),
        "{text}"
    );
}

#[test]
fn another_ranks_array_is_refused() {
    let kept = std::sync::Mutex::new(None);
    let error = error(|rank| {
        if rank.number() == 0 {
            *kept.lock().unwrap() = Some(Sharded::part_of(rank, &[1.0_f32; 9])?);
        }
        rank.barrier()?;
        if rank.number() == 0 {
            return Ok(Vec::new());
        }
        let kept = kept.lock().unwrap();
        let x = kept.as_ref().expect("rank 0 has come to the barrier");
        x.gather(rank)
    });
    assert!(error.to_string().contains("it is rank 0 of 3"), "{error}");
}
