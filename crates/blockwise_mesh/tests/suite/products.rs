//! Matrix products on 1 to 8 emulated devices: right by the oracle, and a single device's bits.

use std::sync::LazyLock;

use crate::common::{MESHES, noise, splits};
use blockwise::Device;
use blockwise_mesh::{
    Blocks, Error, Grid, Mesh, ShardedMatmul, ShardedMatmulOptions, ShardedMatrix, Split, matmul,
};
use blockwise_ops::matmul::{MATMUL, TILED, problem};
use blockwise_ops::oracle::{self, Precision};
use blockwise_ops::{Options, Variant, compare, operation};
use ndarray::{Array2, ArrayView2};

/// The device that results are compared with.
static SINGLE: LazyLock<Device> = LazyLock::new(Device::emulator);

/// Multiplies on the mesh in panels of some width; the whole of C.
fn product<T: Precision>(
    mesh: &Mesh,
    [a_blocks, b_blocks]: [&Blocks; 2],
    [a, b]: [&[T]; 2],
    options: &ShardedMatmulOptions,
) -> Result<Vec<T>, Error> {
    let run = mesh.run(|rank| {
        let a = ShardedMatrix::part_of(rank, a, a_blocks.clone())?;
        let b = ShardedMatrix::part_of(rank, b, b_blocks.clone())?;
        let mut product = ShardedMatmul::new(rank, a_blocks, b_blocks, options)?;
        let mut c = ShardedMatrix::zeros(rank, product.outputs())?;
        product.enqueue(rank, &a, &b, &mut c)?;
        rank.synchronize()?;
        // A second run uses the same memory.
        let first = c.gather(rank)?;
        product.enqueue(rank, &a, &b, &mut c)?;
        assert!(first == c.gather(rank)?);
        Ok::<_, Error>(first)
    });
    let mut wholes = run?;
    assert!(wholes.windows(2).all(|pair| pair[0] == pair[1]));
    Ok(wholes.swap_remove(0))
}

/// Compares products of some shape with the oracle and with a single device.
#[track_caller]
fn check<T: Precision>(
    mesh: &Mesh,
    [rows, inner, cols]: [usize; 3],
    blocks: [&Blocks; 2],
    options: &ShardedMatmulOptions,
) {
    let (a, b) = (noise::<T>(1, rows * inner), noise::<T>(2, inner * cols));
    let [a_view, b_view] = [
        ArrayView2::from_shape((rows, inner), &a).unwrap(),
        ArrayView2::from_shape((inner, cols), &b).unwrap(),
    ];
    let got = product(mesh, blocks, [&a, &b], options).unwrap();
    let what = format!("{rows} x {inner} x {cols}, {blocks:?}, {options:?}");
    let single = blockwise_ops::matmul(&SINGLE, a_view, b_view, &options.launch).unwrap();
    let bits = |values: &[T]| -> Vec<u64> {
        let bits = values.iter().map(|&value| value.into().to_bits());
        bits.collect()
    };
    if options.launch.count.is_some() {
        assert_eq!(bits(&got), bits(single.as_slice().unwrap()), "{what}");
    }
    let oracle = oracle::matmul(a_view, b_view);
    let got = Array2::from_shape_vec((rows, cols), got).unwrap();
    let compared = compare::with_oracle(got.view(), &oracle).unwrap();
    assert!(compared.passed(), "{what}: {compared:?}");
}

/// One kernel and one slice: every element is summed in the same order wherever it is.
fn whole(kernel: &'static Variant, panel: Option<usize>) -> ShardedMatmulOptions {
    let launch = Options {
        count: std::num::NonZeroU32::new(1),
        ..Options::of(kernel)
    };
    ShardedMatmulOptions {
        launch,
        panel,
        ..ShardedMatmulOptions::default()
    }
}

fn grids(ranks: usize) -> impl Iterator<Item = Grid> {
    let cols = (1..=ranks).filter(move |cols| ranks.is_multiple_of(*cols));
    cols.map(move |cols| Grid {
        rows: ranks / cols,
        cols,
    })
}

#[test]
fn every_grid_gives_a_single_devices_bits() {
    for ranks in MESHES {
        let mesh = Mesh::emulated(ranks).unwrap();
        for grid in grids(ranks) {
            for (shape, panel) in [
                ([19, 11, 21], Some(8)),
                ([5, 1, 3], Some(1)),
                ([24, 16, 40], None),
            ] {
                let [rows, inner, cols] = shape;
                let (a, b) = (
                    Blocks::even([rows, inner], grid),
                    Blocks::even([inner, cols], grid),
                );
                let tiled = whole(&TILED, panel);
                check::<f32>(&mesh, shape, [&a, &b], &tiled);
                let chosen = ShardedMatmulOptions {
                    panel,
                    ..ShardedMatmulOptions::default()
                };
                check::<f64>(&mesh, shape, [&a, &b], &chosen);
            }
        }
    }
}

#[test]
fn with_every_kernel() {
    let mesh = Mesh::emulated(3).unwrap();
    let (a, b) = (
        Blocks::even([40, 32], Grid::column(3)),
        Blocks::even([32, 40], Grid::column(3)),
    );
    fn check_each<T: Precision>(mesh: &Mesh, blocks: [&Blocks; 2]) {
        let whole_product = problem(T::TYPE, [40, 32], [32, 40]).unwrap();
        for &kernel in MATMUL.variants {
            let options = whole(kernel, Some(16));
            let properties = SINGLE.properties();
            if operation::plan(&MATMUL, &whole_product, &options.launch, properties).is_ok() {
                check::<T>(mesh, [40, 32, 40], blocks, &options);
            }
        }
    }
    check_each::<f32>(&mesh, [&a, &b]);
    check_each::<f64>(&mesh, [&a, &b]);
}

/// The same kinds of splits, in another order.
fn others(len: usize, ranks: usize) -> Vec<Split> {
    let mut splits = splits(len, ranks);
    splits.rotate_left(2);
    splits
}

#[test]
fn uneven_shards_and_ranks_that_get_nothing() {
    let options = whole(&TILED, Some(5));
    for ranks in [3, 4] {
        let mesh = Mesh::emulated(ranks).unwrap();
        for (rows, inner) in splits(11, ranks).into_iter().zip(others(9, ranks)) {
            let (a, b) = (Blocks::by_rows(rows, 9), Blocks::by_rows(inner, 13));
            check::<f32>(&mesh, [11, 9, 13], [&a, &b], &options);
        }
    }
    let mesh = Mesh::emulated(4).unwrap();
    for rows in splits(11, 2) {
        for (cols, inner) in splits(13, 2).into_iter().zip(others(9, 2)) {
            let (a, b) = (
                Blocks::new(rows.clone(), inner),
                Blocks::new(Split::of(&[4, 5]), cols),
            );
            check::<f32>(&mesh, [11, 9, 13], [&a, &b], &options);
        }
    }
}

#[test]
fn no_rows_no_columns_and_no_inner_extent() {
    for ranks in [1, 3] {
        let mesh = Mesh::emulated(ranks).unwrap();
        for shape in [[0, 4, 5], [4, 0, 5], [4, 5, 0], [0, 0, 0]] {
            let [rows, inner, cols] = shape;
            let grid = Grid::column(ranks);
            let (a, b) = (
                Blocks::even([rows, inner], grid),
                Blocks::even([inner, cols], grid),
            );
            check::<f32>(&mesh, shape, [&a, &b], &ShardedMatmulOptions::default());
        }
    }
}

/// B goes once to every other rank, A stays; on a grid both travel, and less.
#[test]
fn bytes_of_a_product_by_rows_and_in_blocks() {
    let moved = |grid: Grid| {
        let mesh = Mesh::checked(4).unwrap();
        let ones = vec![1.0_f32; 32 * 32];
        let run = mesh.run(|rank| {
            let of = |_| ShardedMatrix::part_of(rank, &ones, Blocks::even([32; 2], grid));
            let [a, b] = [of("A")?, of("B")?];
            let c = matmul(rank, &a, &b, &ShardedMatmulOptions::default())?;
            Ok::<_, Error>(c.part().to_vec().unwrap())
        });
        assert!(run.unwrap().concat().iter().all(|&c| c == 32.0));
        let links = (0..4).flat_map(|from| (0..4).map(move |to| (from, to)));
        let links = links.map(|(from, to)| mesh.traffic().bytes(from, to));
        links.sum::<u64>()
    };
    assert_eq!(moved(Grid::column(4)), 3 * 32 * 32 * 4);
    assert_eq!(moved(Grid { rows: 2, cols: 2 }), 2 * 32 * 32 * 4);
}

#[test]
fn what_does_not_fit_is_refused() {
    let mesh = Mesh::emulated(2).unwrap();
    let refused = |a: Blocks, b: Blocks| {
        let run = mesh.run(|rank| {
            let options = ShardedMatmulOptions::default();
            ShardedMatmul::<f32>::new(rank, &a, &b, &options).map(drop)
        });
        run.unwrap_err().to_string()
    };
    let column = |shape| Blocks::even(shape, Grid::column(2));
    let row = |shape| Blocks::even(shape, Grid { rows: 1, cols: 2 });
    let error = refused(column([3, 4]), column([5, 6]));
    assert!(
        error.contains("as many columns in A as rows in B"),
        "{error}"
    );
    let error = refused(column([3, 4]), row([4, 6]));
    assert!(error.contains("B is split otherwise"), "{error}");
    let error = refused(
        Blocks::even([3, 4], Grid::column(3)),
        Blocks::even([4, 6], Grid::column(3)),
    );
    assert!(error.contains("the grid is not this mesh's"), "{error}");
}
