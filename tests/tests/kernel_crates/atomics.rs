//! Atomics and fences.

use super::*;
use blockwise_tests::bench::blocks;

/// Runs a kernel of a slice and a pointer; what it leaves of `cells`.
fn cells_after<T: Element, U: Element>(
    bench: &Bench,
    kernel: &str,
    launch: Shape,
    values: &[T],
    cells: &[U],
) -> Vec<U> {
    let values = upload(bench, values);
    let mut cells = upload(bench, cells);
    let arguments = Arguments::new().slice(&values).pointer(&mut cells);
    bench.launch(kernel, launch, &arguments).unwrap();
    cells.to_vec().unwrap()
}

#[test]
fn atomic_i32() {
    let values: Vec<i32> = (0..777).map(|i| (i * 7919 % 2003 - 1000) * 4001).collect();
    let sum: i32 = values.iter().fold(0, |sum, &value| sum.wrapping_add(value));
    let (least, greatest) = (*values.iter().min().unwrap(), *values.iter().max().unwrap());
    for bench in kernel_crates() {
        let start = [0, 0, i32::MAX, i32::MIN];
        let got = cells_after(bench, "atomic_statistics", blocks(4, 256), &values, &start);
        assert_same(&got, &[sum, sum.wrapping_neg(), least, greatest]);
    }
}

#[test]
fn atomic_u32() {
    let values: Vec<u32> = (0..501_u32).map(|i| i << 9 | 0x8000_0040).collect();
    let fold = |f: fn(u32, u32) -> u32| values.iter().copied().reduce(f).unwrap();
    let expected = [
        fold(|a, b| a & b),
        fold(|a, b| a | b),
        fold(|a, b| a ^ b),
        1501,
        499,
    ];
    for bench in kernel_crates() {
        let start = [u32::MAX, 0, 0, 1000, 1000];
        let got = cells_after(bench, "atomic_bits", blocks(4, 128), &values, &start);
        assert_same(&got, &expected);
    }
}

#[test]
fn atomic_u64() {
    let values: Vec<u32> = (0..300_u32).map(|i| i.wrapping_mul(0x9E37_79B9)).collect();
    let squares = values.iter().map(|&value| u64::from(value).pow(2));
    let expected = [
        squares.clone().fold(0, u64::wrapping_add),
        squares.max().unwrap(),
        300,
    ];
    for bench in kernel_crates() {
        let input = upload(bench, &values);
        let mut cells = upload(bench, &[0_u64; 3]);
        let arguments = Arguments::new().slice(&input).pointer(&mut cells);
        let launch = blocks(3, 128);
        let mut tickets: Vec<u32> = bench.run("atomic_squares", launch, arguments, 300);
        assert_same(&cells.to_vec().unwrap(), &expected);
        tickets.sort_unstable();
        let all: Vec<u32> = (1..=300).collect();
        assert_same(&tickets, &all);
    }
}

#[test]
fn atomic_f32() {
    let values: Vec<f32> = (0..613).map(|i| (i * 37 % 401) as f32 - 250.0).collect();
    let sum: f32 = values.iter().sum();
    for bench in kernel_crates() {
        let start = [0.0, 0.0, f32::NAN, -1e9];
        let kernel = "atomic_float_statistics";
        let got = cells_after(bench, kernel, blocks(3, 256), &values, &start);
        assert_same(&got, &[sum, -sum, -250.0, 150.0]);
    }
}

#[test]
fn atomic_f64() {
    let values: Vec<f64> = (0..500).map(|i| f64::from(i * i) + 0.25).collect();
    let mut expected = [0.0; 4];
    for (i, value) in values.iter().enumerate() {
        expected[i % 3] += value;
        expected[3] = f64::from_bits(f64::to_bits(expected[3]) ^ value.to_bits());
    }
    for bench in kernel_crates() {
        let input = upload(bench, &values);
        let bins = upload(bench, &[0.0_f64; 4]);
        let arguments = Arguments::new().slice(&input).slice(&bins);
        bench
            .launch("three_sums", blocks(4, 128), &arguments)
            .unwrap();
        let got = bins.to_vec().unwrap();
        assert_same(&got[..3], &expected[..3]);
        assert_eq!(got[3].to_bits(), expected[3].to_bits());
    }
}

#[test]
fn atomic_scopes() {
    let values: Vec<f32> = (0..384).map(|i| (i % 41) as f32 - 17.0).collect();
    let sums: Vec<f32> = values.chunks(96).map(|block| block.iter().sum()).collect();
    let total: f32 = values.iter().sum();
    for bench in kernel_crates() {
        let input = upload(bench, &values);
        let mut of_block = upload(bench, &[f32::NAN; 4]);
        let mut all = upload(bench, &[0.0_f64]);
        let arguments = Arguments::new()
            .slice(&input)
            .pointer(&mut of_block)
            .pointer(&mut all);
        bench
            .launch("sums_by_scope", blocks(4, 96), &arguments)
            .unwrap();
        assert_same(&of_block.to_vec().unwrap(), &sums);
        assert_same(&all.to_vec().unwrap(), &[f64::from(total)]);
    }
}

#[test]
fn atomic_cas() {
    let count = 300;
    for bench in kernel_crates() {
        let mut head = upload(bench, &[u32::MAX]);
        let arguments = Arguments::new().value(count).pointer(&mut head);
        let next: Vec<u32> = bench.run("push_all", blocks(3, 128), arguments, count as usize);
        let mut at = head.to_vec().unwrap()[0];
        let mut seen = vec![0; count as usize];
        for _ in 0..count {
            seen[at as usize] += 1;
            at = next[at as usize];
        }
        assert_eq!(at, u32::MAX, "the list ends after its last element");
        assert!(seen.iter().all(|&times| times == 1), "{seen:?}");
    }
}

#[test]
fn atomic_exchange() {
    for bench in kernel_crates() {
        let mut lock = upload(bench, &[0_u32]);
        let mut counter = upload(bench, &[0_u64]);
        let arguments = Arguments::new().pointer(&mut lock).pointer(&mut counter);
        bench
            .launch("locked_sum", blocks(50, 32), &arguments)
            .unwrap();
        assert_same(&counter.to_vec().unwrap(), &[50 * 51 / 2]);
        assert_same(&lock.to_vec().unwrap(), &[0]);
    }
}

#[test]
fn core_atomics() {
    let mut values: Vec<i64> = (0..256).map(|i| i * 7_000_000_003 - 500).collect();
    values[200] = 4711;
    let (sum, greatest) = (values.iter().sum::<i64>(), *values.iter().max().unwrap());
    for bench in kernel_crates() {
        let input = upload(bench, &values);
        let mut sums = upload(bench, &[0_i64]);
        let mut most = upload(bench, &[i64::MIN]);
        let mut found = upload(bench, &[0_u32]);
        let arguments = Arguments::new()
            .slice(&input)
            .pointer(&mut sums)
            .pointer(&mut most)
            .pointer(&mut found);
        let firsts: Vec<u32> = bench.run("core_atomics", blocks(4, 64), arguments, 4);
        assert_same(&firsts, &[1; 4]);
        assert_same(&sums.to_vec().unwrap(), &[sum]);
        assert_same(&most.to_vec().unwrap(), &[greatest]);
        assert_same(&found.to_vec().unwrap(), &[1]);
    }
}

#[test]
fn fences() {
    let values: Vec<u32> = (0..1000).map(|i| i * 13 % 997).collect();
    let total: u32 = values.iter().sum();
    for bench in kernel_crates() {
        let input = upload(bench, &values);
        let mut partial = upload(bench, &[u32::MAX; 16]);
        let mut finished = upload(bench, &[0_u32]);
        let arguments = Arguments::new()
            .slice(&input)
            .pointer(&mut partial)
            .pointer(&mut finished);
        let got: Vec<u32> = bench.run("last_block_sums", blocks(16, 64), arguments, 1);
        assert_same(&got, &[total]);
    }
}
