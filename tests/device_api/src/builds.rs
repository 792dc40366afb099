//! More kernels of which the two builds see different things: profiles, sizes, discriminants,
//! statics. `tests/tests/typed_launch/contracts.rs` sees each refused.

use cuda_std::prelude::*;

/// The host's builds of tests check more.
pub const CHECKED: usize = if cfg!(target_arch = "nvptx64") || cfg!(not(debug_assertions)) {
    4
} else {
    16
};

/// A struct of another size.
pub struct Sized {
    /// In both builds.
    pub always: u64,
    /// In one.
    #[cfg(target_arch = "nvptx64")]
    pub sometimes: u64,
}

/// An enumeration with one more variant before the last.
#[derive(Clone, Copy)]
pub enum Kind {
    /// 0.
    First,
    /// 1 on the device.
    #[cfg(target_arch = "nvptx64")]
    Between,
    /// 1 on the host.
    Last,
}

/// 2 on the device.
pub const LAST: usize = Kind::Last as usize;

/// Rows of a table whose length differs.
pub static ROWS: [u32; CHECKED] = [7; CHECKED];

/// A type whose element differs.
pub trait Holder {
    /// The element.
    type Element: Plain;
    /// Its limit.
    const MOST: usize = size_of::<Self::Element>();
}
impl Holder for u8 {
    #[cfg(target_arch = "nvptx64")]
    type Element = u64;
    #[cfg(not(target_arch = "nvptx64"))]
    type Element = u32;
}

/// A rule with a constant of a profile.
#[kernel(require(x.len() >= CHECKED))]
pub fn rule_of_a_profile(x: &[u32], mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = x[3];
    }
}

/// A rule with a size.
#[kernel(require(x.len() >= size_of::<Sized>()))]
pub fn rule_of_a_size(x: &[u32], mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = x[7];
    }
}

/// A rule with a discriminant.
#[kernel(require(x.len() > LAST))]
pub fn rule_of_a_discriminant(x: &[u32], mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = x[1];
    }
}

/// A rule with the length of a table.
#[kernel(require(x.len() >= ROWS.len()))]
pub fn rule_of_a_table(x: &[u32], mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = x[3];
    }
}

/// A rule with a constant that a trait provides, of a type that differs.
#[kernel(require(x.len() >= <u8 as Holder>::MOST))]
pub fn rule_of_a_provided_constant(x: &[u32], mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = x[3];
    }
}

/// Elements of an associated type.
#[kernel(require(x.len() == y.len()))]
pub fn elements_of_an_associated_type(x: &[<u8 as Holder>::Element], mut y: Out<u32>) {
    for (i, y) in y.mine() {
        *y = x[i] as u32;
    }
}

/// A shared array whose length is computed from a size.
#[kernel]
pub fn array_of_a_size(
    block: &mut Block<32>,
    tile: Shared<[u32; size_of::<Sized>()]>,
    mut y: Out<u32>,
) {
    let tile = tile.write(block, |slot| slot as u32);
    let tile = block.sync_threads(tile);
    for place in block.tiles(y.len()) {
        y.store(block, place, |i| tile[i % 8]);
    }
}

/// Rules for the host alone, which say nothing to the device, whatever the builds make of them.
#[kernel(require(
    x.len() > (if cfg!(target_arch = "nvptx64") { 1 } else { 3 }),
    { const K: usize = if cfg!(target_arch = "nvptx64") { 1 } else { 5 }; x.len() > K }
))]
pub fn rules_for_the_host(x: &[u32], mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = x.get(4).copied().unwrap_or(9);
    }
}

/// Values that are no numbers.
#[kernel(require(letter != 'x', flag || letter == 'ß'))]
pub fn said(flag: bool, letter: char, mut y: Out<u32>) {
    for (i, y) in y.mine() {
        *y = if flag { letter as u32 + i as u32 } else { 0 };
    }
}
