//! Products whose tiles are loaded while others are multiplied.

use cuda_std::launch::Shape;
use kernels::matmul::pipelined::matmul_pipelined_f32;
use kernels::matmul::policy::{Policy, Tiles};

use super::super::support::Buffer;
use super::super::{Device, Error, behind, memory, refused, shape, starts};
use super::{of_policy, wrong_shapes};

/// A product's memory, extents and shape.
struct Product {
    a: Buffer<f32>,
    b: Buffer<f32>,
    c: Buffer<f32>,
    extents: [usize; 3],
    /// Matrices of A, and of B and C.
    batch: [usize; 2],
    unless: u64,
    shape: Shape,
}

impl Product {
    /// Of 5 × 6 and 6 × 8.
    fn good(policy: &Policy) -> Self {
        Self {
            a: memory(30),
            b: memory(48),
            c: memory(40),
            extents: [5, 6, 8],
            batch: [1, 1],
            unless: 4,
            shape: of_policy(policy),
        }
    }
}

fn pipelined(mut of: Product) -> Result<(), Error> {
    let (device, [rows, inner, cols]) = (Device::default(), of.extents);
    let (unless, [of_a, batch]) = (memory::<u32>(of.unless), of.batch);
    let kernel = matmul_pipelined_f32::on(&device)?.shape(of.shape);
    kernel.launch(
        &of.a, &of.b, &mut of.c, rows, inner, cols, of_a, batch, &unless,
    )
}

#[test]
fn matrices_have_their_extents() {
    let good = || Product::good(&Tiles::Wide.policy());
    let with = |change: fn(&mut Product)| {
        let mut product = good();
        change(&mut product);
        pipelined(product)
    };
    starts(pipelined(good()));
    starts(with(|of| of.unless = 0));
    refused(with(|of| of.a = memory(29)), "Some(a.len())");
    refused(with(|of| of.b = memory(47)), "Some(b.len())");
    refused(with(|of| of.c = memory(39)), "Some(c.len())");
    for unless in [1, 3, 5] {
        refused(pipelined(Product { unless, ..good() }), "unless.len()");
    }
    // Products that are 0 in 64 bits.
    let high = Product {
        a: memory(0),
        b: memory(0),
        c: memory(0),
        extents: [1 << 32, 1 << 32, 1 << 32],
        ..good()
    };
    refused(pipelined(high), "elements(rows, inner, of_a)");
    let batch = |[of_a, batch]: [usize; 2]| Product {
        a: memory(30 * of_a as u64),
        b: memory(48 * batch as u64),
        c: memory(40 * batch as u64),
        batch: [of_a, batch],
        shape: {
            let policy = Tiles::Wide.policy();
            let block = [policy.threads() as u32, 1, 1];
            shape([2, 2, batch as u32], block).shared(policy.shared_bytes() as u32)
        },
        ..good()
    };
    starts(pipelined(batch([2, 2])));
    starts(pipelined(batch([1, 2])));
    refused(pipelined(batch([2, 1])), "of_a == 1");
    let short = |change: fn(&mut Product)| {
        let mut product = batch([2, 2]);
        change(&mut product);
        pipelined(product)
    };
    refused(short(|of| of.a = memory(30)), "Some(a.len())");
    refused(short(|of| of.b = memory(48)), "Some(b.len())");
    refused(short(|of| of.c = memory(40)), "Some(c.len())");
    for (shape, rule) in wrong_shapes(&Tiles::Wide.policy()) {
        refused(pipelined(Product { shape, ..good() }), rule);
    }
    // A moves element by element.
    starts(with(|of| of.a = behind(30)));
    refused(with(|of| of.b = behind(48)), "b.is_aligned");
    refused(with(|of| of.c = behind(40)), "c.is_aligned");
    let seven_columns = Product {
        b: memory(42),
        c: memory(35),
        extents: [5, 6, 7],
        ..good()
    };
    refused(pipelined(seven_columns), "fit");
}
