//! Small algorithms.

use super::*;
use blockwise_tests::bench::{blocks, threads};

/// A grid of two dimensions that covers `width` × `height` with blocks of 16×16.
fn tiles(width: usize, height: usize) -> Shape {
    Shape::new(
        [width.div_ceil(16) as u32, height.div_ceil(16) as u32, 1],
        [16, 16, 1],
    )
}

#[test]
fn histogram() {
    let words: Vec<u32> = (0..1001_u32)
        .map(|i| i.wrapping_mul(0x9E37_79B9) & 0x0F3F_FF7F)
        .collect();
    let mut expected = vec![0_u32; 256];
    for &byte in bytemuck::cast_slice::<u32, u8>(&words) {
        expected[usize::from(byte)] += 1;
    }
    for bench in kernel_crates() {
        let bytes = upload(bench, &words);
        let mut bins = upload(bench, &[0_u32; 256]);
        let arguments = Arguments::new()
            .address(&bytes)
            .value(4 * words.len() as u64)
            .pointer(&mut bins);
        bench
            .launch("byte_histogram", blocks(3, 256), &arguments)
            .unwrap();
        assert_same(&bins.to_vec().unwrap(), &expected);
    }
}

#[test]
fn inclusive_scan() {
    let values: Vec<i32> = (0..701_i32).map(|i| i.wrapping_mul(0x0123_4567)).collect();
    let expected: Vec<i32> = values
        .chunks(256)
        .flat_map(|block| {
            let running = |sum: &mut i32, value: &i32| {
                *sum = sum.wrapping_add(*value);
                Some(*sum)
            };
            block.iter().scan(0, running)
        })
        .collect();
    check("block_running_sums", blocks(3, 256), &[&values], &expected);
}

#[test]
fn transpose() {
    let (height, width) = (35, 50);
    let matrix: Vec<f32> = (0..height * width).map(|i| i as f32).collect();
    let expected: Vec<f32> = (0..height * width)
        .map(|at| matrix[at % height * width + at / height])
        .collect();
    for bench in kernel_crates() {
        let there = upload(bench, &matrix);
        let arguments = Arguments::new()
            .address(&there)
            .value(height as u64)
            .value(width as u64);
        let launch = tiles(width, height);
        let got: Vec<f32> = bench.run("transposed", launch, arguments, height * width);
        assert_same(&got, &expected);
    }
}

#[test]
fn matrix_vector() {
    let (rows, columns) = (13, 101);
    let matrix: Vec<f32> = (0..rows * columns)
        .map(|i| (i * 37 % 53) as f32 / 7.0 - 3.1)
        .collect();
    let vector: Vec<f32> = (0..columns).map(|i| 1.0 / (i as f32 + 0.7)).collect();
    let products = |row: &[f32]| -> Vec<f64> {
        let pairs = row.iter().zip(&vector);
        pairs.map(|(&a, &b)| f64::from(a) * f64::from(b)).collect()
    };
    let rows_of_products: Vec<Vec<f64>> = matrix.chunks(columns).map(products).collect();
    let expected: Vec<f64> = rows_of_products
        .iter()
        .map(|row| row.iter().sum())
        .collect();
    for bench in kernel_crates() {
        let (matrix, vector) = (upload(bench, &matrix), upload(bench, &vector));
        let arguments = Arguments::new()
            .slice(&matrix)
            .slice(&vector)
            .value(rows as u32);
        let got: Vec<f32> = bench.run("matrix_vector", blocks(4, 128), arguments, rows);
        assert_close(&got, &expected, |row| {
            let sum: f64 = rows_of_products[row].iter().map(|x| x.abs()).sum();
            (columns / 32 + 7) as f64 * f64::from(f32::EPSILON) * sum
        });
    }
}

#[test]
fn nbody() {
    let count = 150;
    let bodies: Vec<f32> = (0..4 * count)
        .map(|i| {
            let number = (i * 7919 % 1009) as f32 / 1009.0;
            if i % 4 == 3 {
                number + 0.1
            } else {
                8.0 * number - 4.0
            }
        })
        .collect();
    let wide: Vec<[f64; 4]> = bodies
        .chunks(4)
        .map(|body| [0, 1, 2, 3].map(|at| f64::from(body[at])))
        .collect();
    let (mut expected, mut magnitudes) = (vec![], vec![]);
    for own in &wide {
        let (mut pull, mut magnitude) = ([0.0; 3], 0.0);
        for other in &wide {
            let distance = [0, 1, 2].map(|axis| other[axis] - own[axis]);
            let square = distance.iter().map(|d| d * d).sum::<f64>() + 0.01;
            let factor = other[3] / (square * square.sqrt());
            for axis in 0..3 {
                pull[axis] += distance[axis] * factor;
            }
            magnitude += square.sqrt() * factor;
        }
        expected.extend(pull);
        magnitudes.extend([magnitude; 3]);
    }
    for bench in kernel_crates() {
        let there = upload(bench, &bodies);
        let arguments = Arguments::new().address(&there).value(count as u64);
        let got: Vec<f32> = bench.run("accelerations", blocks(2, 128), arguments, 3 * count);
        // A sum of `count`, each term of it rounded a dozen times.
        let roundings = (count + 12) as f64 * f64::from(f32::EPSILON);
        assert_close(&got, &expected, |at| roundings * magnitudes[at]);
    }
}

#[test]
fn mandelbrot() {
    let (width, height, limit) = (61_u32, 39_u32, 50);
    let expected: Vec<u32> = (0..width * height)
        .map(|at| {
            let a = (f64::from(at % width) / f64::from(width)).mul_add(3.0, -2.0);
            let b = (f64::from(at / width) / f64::from(height)).mul_add(2.0, -1.0);
            let (mut x, mut y, mut steps) = (0.0_f64, 0.0_f64, 0);
            while steps < limit && x.mul_add(x, y * y) <= 4.0 {
                (x, y) = (x.mul_add(x, -(y * y)) + a, (2.0 * x).mul_add(y, b));
                steps += 1;
            }
            steps
        })
        .collect();
    for bench in kernel_crates() {
        let arguments = Arguments::new().value(width).value(height).value(limit);
        let launch = tiles(width as usize, height as usize);
        let got: Vec<u32> = bench.run("mandelbrot", launch, arguments, expected.len());
        assert_same(&got, &expected);
    }
}

#[test]
fn game_of_life() {
    let (words, rows) = (3_usize, 37_usize);
    let width = 32 * words;
    let cells: Vec<u32> = (0..words * rows)
        .map(|i| (i as u32).wrapping_mul(0x9E37_79B9) ^ (i as u32).wrapping_mul(0x85EB_CA6B) >> 7)
        .collect();
    let lives = |row: usize, column: usize| {
        let (row, column) = (row % rows, column % width);
        cells[row * words + column / 32] >> (column % 32) & 1
    };
    let mut expected = vec![0_u32; cells.len()];
    for row in 0..rows {
        for column in 0..width {
            let around = |dy| [width - 1, 0, 1].map(|dx| lives(row + dy, column + dx));
            let nine: u32 = [rows - 1, 0, 1].into_iter().flat_map(around).sum();
            let own = lives(row, column);
            let next = match nine - own {
                3 => 1,
                2 => own,
                _ => 0,
            };
            expected[row * words + column / 32] |= next << (column % 32);
        }
    }
    for bench in kernel_crates() {
        let there = upload(bench, &cells);
        let arguments = Arguments::new().slice(&there).value(words as u32);
        let got: Vec<u32> = bench.run("next_generation", blocks(4, 32), arguments, cells.len());
        assert_same(&got, &expected);
    }
}

#[test]
fn monte_carlo() {
    let (seed, tries, count) = (12_345_u32, 40, 256_u32);
    let mut expected = 0;
    for t in 0..count {
        let mut state = seed ^ t.wrapping_mul(0x9E37_79B9);
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state >> 8)
        };
        for _ in 0..tries {
            let (x, y) = (next(), next());
            // Whole numbers below 2⁵³: exact.
            expected += u32::from(x * x + y * y < (1_u64 << 48) as f64);
        }
    }
    let pi = 4.0 * f64::from(expected) / f64::from(count * tries);
    assert!((3.0..3.3).contains(&pi), "{pi}");
    for bench in kernel_crates() {
        let mut hits = upload(bench, &[0_u32]);
        let arguments = Arguments::new().value(seed).value(tries).pointer(&mut hits);
        bench
            .launch("circle_hits", blocks(count / 64, 64), &arguments)
            .unwrap();
        assert_same(&hits.to_vec().unwrap(), &[expected]);
    }
}

#[test]
fn hashing() {
    // FIPS 180-4's example "abc", and the empty message, both padded.
    let mut messages = [[0_u32; 16]; 2];
    messages[0][0] = 0x6162_6380;
    messages[0][15] = 24;
    messages[1][0] = 0x8000_0000;
    let digests = [
        [
            0xBA78_16BF,
            0x8F01_CFEA,
            0x4141_40DE,
            0x5DAE_2223,
            0xB003_61A3,
            0x9617_7A9C,
            0xB410_FF61,
            0xF200_15AD,
        ],
        [
            0xE3B0_C442,
            0x98FC_1C14,
            0x9AFB_F4C8,
            0x996F_B924,
            0x27AE_41E4,
            0x649B_934C,
            0xA495_991B,
            0x7852_B855_u32,
        ],
    ];
    for bench in kernel_crates() {
        let there = upload(bench, messages.as_flattened());
        let arguments = Arguments::new().address(&there).value(2_u64);
        let got: Vec<u32> = bench.run("sha256_blocks", threads(32), arguments, 16);
        assert_same(&got, digests.as_flattened());
    }
}

#[test]
fn bitonic_sort() {
    let keys: Vec<u32> = (0..1024_u32)
        .map(|i| i.wrapping_mul(0x9E37_79B9) >> (i % 13))
        .collect();
    let mut expected = keys.clone();
    expected.chunks_mut(512).for_each(<[u32]>::sort);
    check_changed("bitonic_sort", blocks(2, 256), &keys, &expected);
}

#[test]
fn stencil_2d() {
    let (width, height, rate) = (37, 21, 0.2_f32);
    let u: Vec<f32> = (0..width * height)
        .map(|i| (i * 7919 % 1013) as f32 / 10.0)
        .collect();
    let at = |x: i32, y: i32| {
        let inside = (0..width).contains(&x) && (0..height).contains(&y);
        if inside {
            f64::from(u[(y * width + x) as usize])
        } else {
            0.0
        }
    };
    let expected: Vec<f64> = (0..width * height)
        .map(|i| {
            let (x, y) = (i % width, i / width);
            let around = at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1);
            at(x, y) + f64::from(rate) * (around - 4.0 * at(x, y))
        })
        .collect();
    for bench in kernel_crates() {
        let there = upload(bench, &u);
        let arguments = Arguments::new()
            .slice(&there)
            .value(width)
            .value(height)
            .value(rate);
        let launch = tiles(width as usize, height as usize);
        let got: Vec<f32> = bench.run("heat_2d", launch, arguments, u.len());
        // Six operations on numbers up to 4 · 101.3.
        assert_close(&got, &expected, |_| 6.0 * f64::from(f32::EPSILON) * 405.2);
    }
}

#[test]
fn stencil_3d() {
    let size = [9_u32, 5, 4];
    let count = 9 * 5 * 4;
    let cells: Vec<i32> = (0..count).map(|i| i * i % 101).collect();
    let at = |x: u32, y: u32, z: u32| {
        let (x, y, z) = (x % size[0], y % size[1], z % size[2]);
        cells[((z * size[1] + y) * size[0] + x) as usize]
    };
    let mut expected = Vec::new();
    for z in 0..size[2] {
        for y in 0..size[1] {
            for x in 0..size[0] {
                let beside = at(x + 1, y, z) + at(x + size[0] - 1, y, z);
                let before = at(x, y + 1, z) + at(x, y + size[1] - 1, z);
                let above = at(x, y, z + 1) + at(x, y, z + size[2] - 1);
                expected.push(beside + before + above - 6 * at(x, y, z));
            }
        }
    }
    for bench in kernel_crates() {
        let (there, size) = (upload(bench, &cells), upload(bench, &size));
        let arguments = Arguments::new().address(&there).address(&size);
        let launch = Shape::new([3, 2, 2], [4, 4, 2]);
        let got: Vec<i32> = bench.run("laplacian_3d", launch, arguments, cells.len());
        assert_same(&got, &expected);
    }
}

#[test]
fn sparse_matrix() {
    // Row r holds r % 5 entries; whole numbers, so that sums are exact.
    let rows = 83_u32;
    let (mut starts, mut columns, mut values) = (vec![0], vec![], vec![]);
    for row in 0..rows {
        for entry in 0..row % 5 {
            columns.push((row * 31 + entry * 17) % 60);
            values.push(f64::from(row) - 10.0 * f64::from(entry));
        }
        starts.push(columns.len() as u32);
    }
    let vector: Vec<f64> = (0..60).map(|i| f64::from(i * i % 37) - 11.0).collect();
    let expected: Vec<f64> = (0..rows as usize)
        .map(|row| {
            let entries = starts[row] as usize..starts[row + 1] as usize;
            entries
                .map(|at| values[at] * vector[columns[at] as usize])
                .sum()
        })
        .collect();
    for bench in kernel_crates() {
        let (starts, columns) = (upload(bench, &starts), upload(bench, &columns));
        let (values, vector) = (upload(bench, &values), upload(bench, &vector));
        let arguments = Arguments::new()
            .slice(&starts)
            .slice(&columns)
            .slice(&values)
            .slice(&vector);
        let got: Vec<f64> = bench.run("sparse_product", blocks(3, 32), arguments, rows as usize);
        assert_same(&got, &expected);
    }
}
