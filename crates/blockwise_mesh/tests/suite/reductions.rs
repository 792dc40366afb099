//! Reductions on 1 to 8 emulated devices: right by the oracle, and bit by bit a single device's on
//! the whole array.

use crate::common::{MESHES, noise, splits};
use blockwise::Device;
use blockwise_mesh::{Error, Mesh, Phases, Rank, Sharded, Span, Split, dot, reduce};
use blockwise_ops::oracle::{self, Expected, Precision};
use blockwise_ops::reduce::{SINGLE, SUM, sum_error};
use blockwise_ops::{Number, Options, Reduction, compare};
use ndarray::{ArrayView1, Ix0, arr0};

const LENGTHS: [usize; 6] = [0, 1, 2, 7, 1000, 5003];
const OPTIONS: Options = Options::of(&SINGLE);

fn upload<T: Number>(rank: &Rank, split: &Split, whole: &[T]) -> Result<Sharded<T>, Error> {
    Sharded::upload(rank, split.clone(), &whole[split.range(rank.number())])
}

#[track_caller]
fn check<T: Number + Precision>(values: &[T], expected: T, oracle: &Expected<Ix0>) {
    for &value in values {
        assert_eq!(value.into().to_bits(), expected.into().to_bits());
        let compared = compare::with_oracle(arr0(value).view(), oracle).unwrap();
        assert!(compared.passed(), "{compared:?}");
    }
}

fn sums_and_dots<T: Number + Precision>() {
    let single = Device::emulator();
    for ranks in MESHES {
        let mesh = Mesh::emulated(ranks).unwrap();
        for len in LENGTHS {
            let (a, b) = (noise::<T>(1, len), noise::<T>(2, len));
            let (a_view, b_view) = (ArrayView1::from(&a), ArrayView1::from(&b));
            let properties = single.properties();
            let error = sum_error::<T>(&SUM, len, &OPTIONS, properties).unwrap();
            let sum = blockwise_ops::reduce(&single, a_view, Reduction::Sum, &OPTIONS).unwrap();
            let product = blockwise_ops::dot(&single, a_view, b_view, &OPTIONS).unwrap();
            for split in splits(len, ranks) {
                let results = mesh.run(|rank| {
                    let (a, b) = (upload(rank, &split, &a)?, upload(rank, &split, &b)?);
                    let sum = reduce(rank, &a, Reduction::Sum, &OPTIONS)?;
                    Ok::<_, Error>((sum, dot(rank, &a, &b, &OPTIONS)?))
                });
                let (sums, dots): (Vec<T>, Vec<T>) = results.unwrap().into_iter().unzip();
                check(&sums, sum, &oracle::sum(a_view, error));
                check(&dots, product, &oracle::dot(a_view, b_view, error));
            }
        }
    }
}

#[test]
fn sums_and_dot_products_of_f32() {
    sums_and_dots::<f32>();
}

#[test]
fn sums_and_dot_products_of_f64() {
    sums_and_dots::<f64>();
}

/// Integers, minima and maxima do not depend on the split at all.
#[test]
fn what_does_not_round_is_the_whole_arrays() {
    let single = Device::emulator();
    let nothing: [i64; 0] = [];
    for ranks in MESHES {
        let mesh = Mesh::emulated(ranks).unwrap();
        for len in LENGTHS {
            let values = noise::<f64>(3, len);
            let large: Vec<i64> = values.iter().map(|v| (v * 9e18) as i64).collect();
            for split in splits(len, ranks) {
                for &reduction in Reduction::ALL {
                    let results = mesh.run(|rank| {
                        let part = upload(rank, &split, &large)?;
                        reduce(rank, &part, reduction, &OPTIONS)
                    });
                    let whole = blockwise_ops::reduce(
                        &single,
                        ArrayView1::from(&large),
                        reduction,
                        &OPTIONS,
                    );
                    match whole {
                        Ok(whole) => assert_eq!(results.unwrap(), vec![whole; ranks]),
                        Err(empty) => {
                            assert_eq!(large, nothing);
                            let error = results.unwrap_err().to_string();
                            assert!(error.ends_with(&empty.to_string()), "{error}");
                        }
                    }
                }
            }
        }
        let mut values = noise::<f32>(4, 100);
        values[71] = f32::NAN;
        let most = mesh.run(|rank| {
            let part = Sharded::part_of(rank, &values)?;
            reduce(rank, &part, Reduction::Max, &OPTIONS)
        });
        assert!(most.unwrap().into_iter().all(f32::is_nan));
    }
}

/// One result from each rank to each other one, in two terms.
#[test]
fn a_sum_moves_one_total_over_each_link() {
    let mesh = Mesh::emulated(3).unwrap();
    let values = noise::<f32>(5, 1000);
    let sum = mesh.run(|rank| {
        let part = Sharded::part_of(rank, &values)?;
        reduce(rank, &part, Reduction::Sum, &OPTIONS)
    });
    sum.unwrap();
    for (from, to) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
        assert_eq!(
            (
                mesh.traffic().bytes(from, to),
                mesh.traffic().messages(from, to)
            ),
            (16, 1)
        );
    }
    assert_eq!(mesh.traffic().messages(1, 1), 0);
}

/// The host's phases are the whole step; the device's lie in it. Nothing is recorded unasked.
#[test]
fn a_step_is_recorded_where_it_is_asked_for() {
    let values: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let steps = Mesh::emulated(3).unwrap().run(|rank| {
        let x = Sharded::part_of(rank, &values)?;
        let options = Options::default();
        reduce(rank, &x, Reduction::Sum, &options)?;
        assert_eq!(rank.phases()?, Phases::default());
        rank.record_phases()?;
        reduce(rank, &x, Reduction::Sum, &options)?;
        let recorded = rank.phases()?;
        reduce(rank, &x, Reduction::Sum, &options)?;
        assert_eq!(rank.phases()?, Phases::default());
        Ok::<_, Error>(recorded)
    });
    for Phases {
        seconds,
        host,
        device,
    } in steps.unwrap()
    {
        let names: Vec<_> = host.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["launch", "wait", "fold", "exchange"]);
        let all: f64 = host.iter().map(|(_, seconds)| seconds).sum();
        assert!((all - seconds).abs() < 1e-9, "{all} of {seconds}");
        let names: Vec<_> = device.iter().map(|span| span.name).collect();
        assert_eq!(names, ["kernel", "copy"]);
        for Span {
            pieces,
            start,
            end,
            busy,
            ..
        } in device
        {
            assert!(pieces == 1 && start >= 0.0 && end <= seconds && busy == end - start);
        }
    }
}
