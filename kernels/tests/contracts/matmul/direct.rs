//! Small tiles of doubles, whose warps share the inner extent.

use cuda_std::launch::Shape;
use kernels::matmul::direct::{self, DirectTiles, matmul_direct};

use super::super::support::Buffer;
use super::super::{Device, memory, refused, shape, starts};

#[test]
fn small_tiles_have_their_teams_and_memory_for_their_slices() {
    struct Small {
        of: [Buffer<f64>; 4],
        tickets: Buffer<u32>,
        extents: [usize; 3],
        slices: usize,
        batch: [usize; 2],
        team: usize,
        shape: Shape,
    }
    let bytes = DirectTiles::Square.shared_bytes() as u32;
    let of = |grid, block, bytes| shape(grid, block).shared(bytes);
    // Three products of 17 x 6 and 6 x 5, two tiles each, in two slices.
    let good = || Small {
        of: [memory(306), memory(90), memory(255), memory(510)],
        tickets: memory(6),
        extents: [17, 6, 5],
        slices: 2,
        batch: [3, 3],
        team: direct::WARPS,
        shape: of([2, 1, 2], [direct::THREADS, 1, 1], bytes),
    };
    let start = |small: Small| {
        let Small {
            of: [a, b, mut c, mut sums],
            mut tickets,
            extents: [rows, inner, cols],
            slices,
            batch: [of_a, batch],
            team,
            shape,
        } = small;
        let kernel = matmul_direct::<direct::Square>::on(&Device::default())?.shape(shape);
        kernel.launch(
            &a,
            &b,
            &mut c,
            &mut sums,
            &mut tickets,
            rows,
            inner,
            cols,
            slices,
            of_a,
            batch,
            team,
        )
    };
    let with = |change: fn(&mut Small)| {
        let mut small = good();
        change(&mut small);
        start(small)
    };
    starts(start(good()));
    starts(with(|it| it.tickets = memory(7)));
    starts(with(|it| {
        (it.of[0], it.batch) = (memory(102), [1, 3]);
    }));
    for team in [1, 2, 4, 8] {
        let mut one = good();
        (one.slices, one.of[3], one.tickets) = (1, memory(0), memory(0));
        one.team = team;
        starts(start(one));
    }
    refused(with(|it| it.batch = [2, 3]), "of_a == 1");
    refused(with(|it| it.of[0] = memory(305)), "Some(a.len())");
    refused(with(|it| it.of[1] = memory(89)), "Some(b.len())");
    refused(with(|it| it.of[2] = memory(254)), "Some(c.len())");
    refused(with(|it| it.of[3] = memory(509)), "fit");
    refused(with(|it| it.tickets = memory(5)), "fit");
    refused(with(|it| it.slices = 1), "fit");
    refused(with(|it| it.slices = 3), "fit");
    refused(with(|it| it.team = 4), "divides");
    refused(with(|it| it.team = 16), "divides");
    refused(with(|it| it.team = 0), "divides");
    // With more blocks of these teams, a tile would have two, or a block would have one forever.
    for (team, most) in [
        (1, 1 << 28),
        (2, 1 << 29),
        (4, 1 << 30),
        (8, i32::MAX as u32),
    ] {
        let with = |blocks: u32| {
            let mut one = good();
            (one.slices, one.of[3], one.tickets) = (1, memory(0), memory(0));
            one.team = team;
            one.shape.grid.x = blocks;
            start(one)
        };
        starts(with(most));
        if team < direct::WARPS {
            refused(with(most + 1), "counted");
        }
    }
    let far = direct::MOST + 1;
    let mut long = good();
    (long.extents, long.slices, long.batch) = ([1, 0, far], 1, [1, 1]);
    long.of = [memory(0), memory(0), memory(far as u64), memory(0)];
    long.tickets = memory(0);
    refused(start(long), "MOST");
    for (wrong, rule) in [
        (of([2, 1, 2], [128, 1, 1], bytes), "THREADS"),
        (of([2, 1, 2], [direct::THREADS, 2, 1], bytes), "block"),
        (of([2, 2, 2], [direct::THREADS, 1, 1], bytes), "THREADS"),
        (
            of([2, 1, 2], [direct::THREADS, 1, 1], bytes - 1),
            "shared_bytes",
        ),
    ] {
        let mut small = good();
        small.shape = wrong;
        refused(start(small), rule);
    }
}
