use blockwise::Type;
use blockwise_ops::operation::Problem;

use super::*;

fn predict(work: Work, gpus: usize) -> Estimate {
    estimate(&work, 4, gpus, &Machine::H200).unwrap()
}

const SUM: Work = Work::Folded {
    len: 1 << 33,
    operands: 1,
};

fn cube(extent: usize) -> Work {
    Work::Matmul([extent; 3])
}

#[test]
fn one_gpu_takes_its_kernels_time() {
    let sum = predict(SUM, 1);
    let read = 4.0 * 2.0_f64.powi(33) / Machine::H200.reading;
    assert_eq!(sum.bound, Bound::Memory);
    assert!((sum.seconds - read - Machine::H200.fixed).abs() < 1e-12);
    assert_eq!((sum.received, sum.fits), (0, true));
    assert_eq!(predict(cube(16384), 1).bound, Bound::Arithmetic);
}

/// The bottleneck changes with the number of GPUs: messages for a small sum, links for a transpose.
#[test]
fn each_bound_is_named() {
    let small = Work::Folded {
        len: 1 << 20,
        operands: 1,
    };
    assert_eq!(predict(small, 1024).bound, Bound::Latency);
    let transpose = Work::Transpose {
        rows: 1 << 15,
        cols: 1 << 15,
    };
    assert_eq!(predict(transpose, 1).bound, Bound::Memory);
    assert_eq!(predict(transpose, 8).bound, Bound::Bandwidth);
    assert_eq!(predict(cube(32768), 8).bound, Bound::Arithmetic);
    assert_eq!(predict(cube(4096), 1024).bound, Bound::Latency);
}

#[test]
fn slower_links_take_longer_and_hosts_have_their_own() {
    let transpose = Work::Transpose {
        rows: 1 << 15,
        cols: 1 << 15,
    };
    let [nvlink, pcie] = [Link::NVLINK, Link::PCIE].map(|within| {
        let machine = Machine {
            within,
            ..Machine::H200
        };
        estimate(&transpose, 4, 8, &machine).unwrap().seconds
    });
    assert!(pcie > 3.0 * nvlink, "{pcie}, {nvlink}");
    let one_host = Machine {
        gpus_per_host: 16,
        ..Machine::H200
    };
    let within = estimate(&transpose, 4, 16, &one_host).unwrap().seconds;
    assert!(predict(transpose, 16).seconds > 2.0 * within);
}

#[test]
fn arrays_that_do_not_fit_are_noticed() {
    let huge = Work::Folded {
        len: 1 << 36,
        operands: 1,
    };
    assert!(!predict(huge, 1).fits);
    assert!(predict(huge, 4).fits);
}

#[test]
fn a_convolution_of_nothing_is_refused() {
    for extents in [[0, 3, 0, 2], [3, 0, 0, 2]] {
        let work = Work::Windows(Problem::new(Type::F32, &extents));
        assert!(estimate(&work, 4, 2, &Machine::H200).is_err());
    }
}

/// What was measured on H200s (docs/log/2026-11-26-mesh.md), in milliseconds.
#[test]
fn predictions_are_within_a_tenth_of_what_was_measured() {
    let scan = Work::Carried {
        len: 1 << 33,
        align: 1 << 22,
    };
    let square = |extent| Work::Transpose {
        rows: extent,
        cols: extent,
    };
    for (work, gpus, measured) in [
        (SUM, 1, 7.615),
        (SUM, 2, 3.873),
        (SUM, 4, 2.028),
        (scan, 1, 22.54),
        (scan, 2, 15.73),
        (scan, 4, 7.979),
        (cube(16384), 4, 43.33),
        (square(16384), 2, 1.081),
        (square(32768), 2, 4.144),
        (square(16384), 4, 1.003),
        (square(32768), 4, 3.628),
    ] {
        let off = predict(work, gpus).seconds * 1e3 / measured - 1.0;
        assert!(off.abs() < 0.1, "{work:?} on {gpus}: {off:.3}");
    }
}
