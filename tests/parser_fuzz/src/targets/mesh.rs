//! What a process that wants to be a rank, or is one, sends: `blockwise_mesh` reads it as it would
//! from a connection. The first byte says as what.

use super::Target;

pub(super) const TARGET: Target = Target {
    name: "mesh",
    run: |bytes| match bytes.split_first() {
        Some((&what, bytes)) => blockwise_mesh::read_as_a_rank_would(what, bytes),
        None => String::new(),
    },
    seeds: || {
        let seeds = blockwise_mesh::what_a_rank_sends();
        let seed = |(what, bytes): (u8, Vec<u8>)| [vec![what], bytes].concat();
        seeds.into_iter().map(seed).collect()
    },
    words: &[
        "blockwise mesh 3",
        "blockwise mesh 1",
        "test 1",
        "sum",
        "f32",
        "127.0.0.1:7000",
        "\0\0\0\0\0\0\0\0",
        "\u{1}\0\0\0\0\0\0\0",
        "\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}\u{7f}",
    ],
    in_test: 8_000,
};
