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

/// What was measured on H200s (docs/bench/mesh-4xh200-phases.md; transposes on two and four:
/// docs/log/2026-11-26-mesh.md) and H100s
/// (docs/bench/mesh-2xh100.md), in milliseconds.
#[test]
fn predictions_are_within_a_tenth_of_what_was_measured() {
    let [h200, h100] = [&Machine::H200, &Machine::H100];
    let dot = Work::Folded {
        len: 1 << 33,
        operands: 2,
    };
    let scan = Work::Carried {
        len: 1 << 33,
        align: 1 << 22,
    };
    let conv = |samples: usize| {
        let outputs = samples - 30;
        Work::Windows(Problem::new(Type::F32, &[samples, 31, 30, outputs]))
    };
    let square = |extent| Work::Transpose {
        rows: extent,
        cols: extent,
    };
    let [short, long] = [1 << 30, 1 << 33].map(conv);
    let measured: [(&Machine, Work, &[f64]); 20] = [
        // On 1, 2 and 4.
        (h200, SUM, &[7.461, 3.812, 2.002]),
        (h200, dot, &[14.935, 7.518, 3.905]),
        (h200, scan, &[22.642, 15.661, 7.922]),
        (h200, short, &[2.341, 1.225, 0.694]),
        (h200, long, &[16.418, 8.414, 4.258]),
        (h200, cube(16384), &[166.457, 83.442, 43.339]),
        (h200, cube(32768), &[1311.642, 659.264, 330.771]),
        (h200, square(16384), &[0.602, 0.911, 1.000]),
        (h200, square(32768), &[2.104, 3.453, 3.615]),
        // Another host.
        (h200, SUM, &[7.573, 3.897, 2.119]),
        (h200, dot, &[15.140, 7.818, 4.164]),
        (h200, short, &[2.283, 1.176, 0.651]),
        (h100, SUM, &[11.124, 5.624]),
        (h100, dot, &[22.306, 11.252]),
        (h100, scan, &[27.431]),
        (h100, short, &[3.341, 1.546]),
        (h100, long, &[23.093, 11.695]),
        (h100, cube(16384), &[166.553, 83.907]),
        (h100, cube(32768), &[1311.822, 659.710]),
        (h100, square(32768), &[2.978]),
    ];
    for (machine, work, times) in measured {
        for (measured, gpus) in times.iter().zip([1, 2, 4]) {
            let predicted = estimate(&work, 4, gpus, machine).unwrap().seconds * 1e3;
            let off = predicted / measured - 1.0;
            assert!(off.abs() < 0.1, "{work:?} on {gpus}: {off:.3}");
        }
    }
}
