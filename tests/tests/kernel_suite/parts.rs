//! Products that are divided over many devices have one device's bits.

use blockwise::Device;
use blockwise_mesh::{
    Blocks, Error, Grid, Mesh, ShardedMatmulOptions, ShardedMatrix, matmul as over_devices,
};
use blockwise_ops::matmul::matmul;
use blockwise_ops::{Float, Options};
use blockwise_tests::sampling::Sample;
use blockwise_tests::whole_sweeps;
use ndarray::ArrayView2;

/// Emulated devices of the meshes.
const RANKS: [usize; 5] = [2, 3, 8, 33, 64];

/// Numbers that look random.
struct Random(u64);

impl Random {
    /// From 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From 1 to `most`; small numbers are as likely as large ones.
    fn up_to(&mut self, most: usize) -> usize {
        (((most + 1) as f64).ln() * self.next()).exp() as usize
    }

    /// Numbers whose sums of products are rounded.
    fn matrix<T: Float + From<f32>>(&mut self, len: usize) -> Vec<T> {
        (0..len)
            .map(|_| T::from(self.next() as f32 - 0.5))
            .collect()
    }
}

/// A product over a mesh, and on one device: the bits are the same.
fn check<T: Float + From<f32> + Into<f64>>(
    [single, mesh]: [&Mesh; 2],
    [rows, inner, cols]: [usize; 3],
    grid: Grid,
    panel: Option<usize>,
    random: &mut Random,
) {
    let (a, b) = (
        random.matrix::<T>(rows * inner),
        random.matrix(inner * cols),
    );
    let run = mesh.run(|rank| {
        let a = ShardedMatrix::part_of(rank, &a, Blocks::even([rows, inner], grid))?;
        let b = ShardedMatrix::part_of(rank, &b, Blocks::even([inner, cols], grid))?;
        let options = ShardedMatmulOptions {
            panel,
            ..ShardedMatmulOptions::default()
        };
        let c = over_devices(rank, &a, &b, &options)?;
        match rank.number() {
            0 => c.gather(rank).map(Some),
            _ => c.gather(rank).map(|_| None),
        }
    });
    let whole: Result<_, Error> = run;
    let whole = whole.unwrap().swap_remove(0).unwrap();
    let view = |of, values| ArrayView2::from_shape(of, values).unwrap();
    let (a, b) = (view((rows, inner), &a), view((inner, cols), &b));
    let one = matmul(&single.devices()[0], a, b, &Options::default()).unwrap();
    let differ = whole.iter().zip(&one).enumerate().find(|(_, (got, one))| {
        let [got, one]: [f64; 2] = [**got, **one].map(Into::into);
        got.to_bits() != one.to_bits()
    });
    let what = format!(
        "{} {rows} x {inner} x {cols} over {grid:?}, panels {panel:?}",
        T::TYPE
    );
    assert_eq!(differ, None, "{what}");
}

/// Shapes of any kind; of those on many devices with fewer inner elements, because each device
/// computes whole tiles.
fn check_some(meshes: &[Mesh], single: &Mesh, number: usize, seed: u64) {
    const MOST: usize = 24_000_000;
    let random = &mut Random(seed);
    for at in 0..number {
        let mesh = &meshes[at % meshes.len()];
        let of = loop {
            let of @ [rows, inner, cols] = [300, 5000, 300].map(|most| random.up_to(most));
            if (rows * cols).max(2048 * mesh.ranks()) * inner <= MOST {
                break of;
            }
        };
        let grid = match at % 3 {
            0 => Grid::column(mesh.ranks()),
            _ => Grid::for_product(of, mesh.ranks()),
        };
        let panel = (at % 4 == 0).then(|| random.up_to(of[2]));
        match at / meshes.len() % 2 {
            0 => check::<f32>([single, mesh], of, grid, panel, random),
            _ => check::<f64>([single, mesh], of, grid, panel, random),
        }
    }
}

#[test]
fn products_over_many_devices_are_one_devices_to_the_bit() {
    let single = Mesh::of(vec![Device::emulator()]).unwrap();
    let meshes = RANKS.map(|ranks| Mesh::emulated(ranks).unwrap());
    let known = &mut Random(1);
    let (one, many) = (&single, &meshes[3]);
    let column = Grid::column(33);
    // Each had other slices, or another kernel, on some of the devices.
    check::<f32>([one, many], [64, 2048, 64], column, None, known);
    check::<f32>([one, many], [131, 77, 93], column, None, known);
    check::<f64>([one, many], [37, 900, 63], column, None, known);
    let drawn = Sample::draw("products over many devices");
    let [fixed, fresh] = if whole_sweeps() { [400, 200] } else { [40, 20] };
    check_some(&meshes, &single, fixed, 52);
    println!("shapes over many devices drawn with seed {}", drawn.seed);
    check_some(&meshes, &single, fresh, drawn.seed);
}
