//! The book's page of types: what it says of its kernels, and that no method of the types is
//! missing.

use std::fs;
use std::path::Path;

use blockwise::{Device, Result};

use crate::types::*;

const LENGTH: usize = 1024;

fn numbers() -> Vec<u32> {
    (0..LENGTH as u32).map(|i| i * 37 % 101).collect()
}

#[test]
fn shared_arrays_turn_and_add() -> Result<()> {
    let (device, n) = (Device::checked(), numbers());
    let turned: Vec<u32> = n
        .chunks(256)
        .flat_map(|tile| tile.iter().rev())
        .copied()
        .collect();
    let (x, mut y) = (device.upload(&n)?, device.zeros(LENGTH)?);
    turn_tiles::on(&device)?.grid(2).launch(&x, &mut y)?;
    assert_eq!(y.to_vec()?, turned);
    let mut y = device.zeros(LENGTH)?;
    turn_refilled::on(&device)?.grid(3).launch(&x, &mut y)?;
    assert_eq!(y.to_vec()?, turned);

    let mut y = device.zeros(LENGTH)?;
    add_neighbours::on(&device)?.grid(3).launch(&x, &mut y)?;
    let next = |i: usize| n[i / 64 * 64 + (i + 1) % 64];
    let sums: Vec<u32> = (0..LENGTH).map(|i| n[i] + next(i)).collect();
    assert_eq!(y.to_vec()?, sums);
    Ok(())
}

#[test]
fn values_of_blocks_and_warps() -> Result<()> {
    let (device, n) = (Device::checked(), numbers());
    let signed: Vec<f32> = n.iter().map(|&n| n as f32 - 50.0).collect();
    let x = device.upload(&signed)?;
    let mut counts = device.zeros(4)?;
    count_negative::on(&device)?
        .grid(4)
        .launch(&x, &mut counts)?;
    let of_block = |chunk: &[f32]| chunk.iter().filter(|x| **x < 0.0).count() as u32;
    let expected: Vec<u32> = signed.chunks(256).map(of_block).collect();
    assert_eq!(counts.to_vec()?, expected);

    // Whole numbers, so that each order has the same sum.
    let mut sums = device.zeros(4)?;
    sum_by_tree::on(&device)?
        .grid(4)
        .block(256)
        .launch(&x, &mut sums)?;
    let expected: Vec<f32> = signed.chunks(256).map(|chunk| chunk.iter().sum()).collect();
    assert_eq!(sums.to_vec()?, expected);

    let shares = device.upload(&n.iter().map(|&n| n as f32).collect::<Vec<_>>())?;
    let mut y = device.zeros(LENGTH)?;
    over_the_largest::on(&device)?
        .grid(2)
        .launch(&shares, &mut y)?;
    assert_eq!(y.to_vec()?[1], 37.0 / 100.0);

    let whole: Vec<i32> = n.iter().map(|&n| n as i32).collect();
    let (x, mut y) = (device.upload(&whole)?, device.zeros(LENGTH)?);
    steps_in_warps::on(&device)?.grid(2).launch(&x, &mut y)?;
    let before = |i: usize| {
        if i.is_multiple_of(32) {
            whole[i]
        } else {
            whole[i - 1]
        }
    };
    let expected: Vec<i32> = (0..LENGTH).map(|i| whole[i] - before(i)).collect();
    assert_eq!(y.to_vec()?, expected);
    Ok(())
}

#[test]
fn outputs_of_each_kind() -> Result<()> {
    let device = Device::checked();
    let signed: Vec<f32> = numbers().iter().map(|&n| n as f32 - 50.0).collect();
    let x = device.upload(&signed)?;
    let mut y = device.upload(&signed)?;
    clip::on(&device)?.grid(3).block(64).launch(&mut y)?;
    assert!(
        y.to_vec()?
            .iter()
            .zip(&signed)
            .all(|(y, x)| *y == x.max(0.0))
    );
    let mut y = device.zeros(LENGTH)?;
    double_by_fours::on(&device)?.grid(2).launch(&x, &mut y)?;
    assert!(y.to_vec()?.iter().zip(&signed).all(|(y, x)| *y == 2.0 * x));

    let (mut kept, mut count) = (device.zeros(LENGTH)?, device.zeros::<u64>(1)?);
    let keep = keep_positive::on(&device)?.grid(2);
    keep.launch(&x, (&mut kept, &mut count))?;
    let count = count.to_vec()?[0] as usize;
    let mut kept = kept.to_vec()?[..count].to_vec();
    let mut expected: Vec<f32> = signed.iter().copied().filter(|x| *x > 0.0).collect();
    kept.sort_by(f32::total_cmp);
    expected.sort_by(f32::total_cmp);
    assert_eq!(kept, expected);

    let (rows, cols) = (19, 37);
    let a: Vec<f32> = (0..rows * cols).map(|i| i as f32).collect();
    let (from, mut to) = (device.upload(&a)?, device.zeros(rows * cols)?);
    let turn = turn_matrix::on(&device)?.grid((2, 2));
    turn.launch((&from, rows, cols), (&mut to, cols, rows))?;
    let to = to.to_vec()?;
    assert!((0..rows * cols).all(|i| to[i % cols * rows + i / cols] == a[i]));

    assert_eq!(launch_some(&device)?, (4, vec![1.0, 2.0, 3.0]));
    Ok(())
}

/// Each public method of the types stands on the page.
#[test]
fn every_method_is_on_the_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |file: &Path| fs::read_to_string(file).unwrap();
    let page = read(&root.join("docs/book/src/types.md"));
    let mut files = vec![
        root.join("crates/blockwise/src/view.rs"),
        root.join("crates/blockwise/src/permutation/mod.rs"),
    ];
    let folder = fs::read_dir(root.join("crates/cuda_std/src/block")).unwrap();
    files.extend(folder.map(|entry| entry.unwrap().path()));
    // No call of these compiles.
    files.retain(|file| !file.ends_with("guesses.rs"));
    let (mut count, mut missing) = (0, Vec::new());
    for file in files {
        let text = read(&file);
        let text = text.split("#[cfg(test)]").next().unwrap();
        for item in text.split("    pub fn ").skip(1) {
            let name = item.split(['(', '<']).next().unwrap();
            count += 1;
            let shown = [format!("{name}("), format!("{name}::<")];
            if !shown.iter().any(|shown| page.contains(shown)) {
                missing.push(format!("{}: {name}", file.display()));
            }
        }
    }
    assert!(count > 80, "{count}");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
