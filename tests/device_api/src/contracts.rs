//! Kernels whose two builds differ, each in another way: `tests/tests/typed_launch/contracts.rs`
//! sees each refused before anything starts. And kernels of odd names, which are right.

use cuda_std::prelude::*;

/// 8 on the host.
pub const N: usize = if cfg!(target_arch = "nvptx64") { 4 } else { 8 };
/// 0.5 on the host.
pub const SCALE: f32 = if cfg!(target_arch = "nvptx64") {
    0.25
} else {
    0.5
};
/// 8 in the middle on the host.
pub const TABLE: [(u8, usize); 3] = [(0, 1), (0, N), (0, 3)];

/// The number of a rule, of this or that build.
#[cfg(target_arch = "nvptx64")]
type Index = u8;
/// The number of a rule, of this or that build.
#[cfg(not(target_arch = "nvptx64"))]
type Index = u32;

/// The elements, of this or that build.
#[cfg(target_arch = "nvptx64")]
pub type Real = f64;
/// The elements, of this or that build.
#[cfg(not(target_arch = "nvptx64"))]
pub type Real = f32;

/// A struct with another alignment.
#[derive(Clone, Copy, Debug, Plain)]
#[repr(C)]
#[cfg_attr(target_arch = "nvptx64", repr(align(16)))]
pub struct Wide(pub [u64; 2]);

/// A struct with a field of one build.
#[derive(Clone, Copy, Debug, Plain)]
#[repr(C)]
pub struct Fields {
    always: u32,
    #[cfg(target_arch = "nvptx64")]
    sometimes: u32,
}

impl Fields {
    /// The host's.
    #[cfg(not(target_arch = "nvptx64"))]
    pub fn new(always: u32) -> Self {
        Self { always }
    }
}

/// A struct that is not plain, of which the record says the size and the alignment.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(target_arch = "nvptx64", repr(C, align(8)))]
#[cfg_attr(not(target_arch = "nvptx64"), repr(C))]
pub struct Raw([u32; 2]);

/// A type with a limit.
pub trait Limited: Plain {
    /// It.
    const LIMIT: u32;
}
impl Limited for u32 {
    const LIMIT: u32 = N as u32;
}

fn own(n: usize) -> bool {
    n > 0
}

/// A rule of the device alone.
#[cfg(target_arch = "nvptx64")]
#[kernel(require(x.len() == y.len()))]
pub fn rule_of_the_device(x: &[u32], mut y: Out<u32>) {
    for (i, y) in y.mine() {
        *y = x[i];
    }
}
/// A rule of the device alone.
#[cfg(not(target_arch = "nvptx64"))]
#[kernel]
pub fn rule_of_the_device(x: &[u32], mut y: Out<u32>) {
    for (i, y) in y.mine() {
        *y = x[i];
    }
}

/// An attribute for each build.
#[cfg_attr(target_arch = "nvptx64", kernel(require(x.len() >= y.len(), !y.is_empty())))]
#[cfg_attr(not(target_arch = "nvptx64"), kernel(require(x.len() >= y.len())))]
pub fn rule_more(x: &[u32], mut y: Out<u32>) {
    for (i, y) in y.mine() {
        *y = x[i];
    }
}

/// Another operator.
#[cfg_attr(target_arch = "nvptx64", kernel(require(x.len() == y.len() || x.len() == 1)))]
#[cfg_attr(not(target_arch = "nvptx64"), kernel(require(x.len() == y.len() && x.len() == 1)))]
pub fn rule_weaker(x: &[u32], mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = x[0];
    }
}

/// Another function of the user's.
#[cfg_attr(target_arch = "nvptx64", kernel(require(own(y.len()))))]
#[cfg_attr(not(target_arch = "nvptx64"), kernel(require(self::own(y.len()))))]
pub fn rule_of_ones_own(mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = u32::from(own(1));
    }
}

/// A constant.
#[kernel(require(x.len() == N))]
pub fn rule_constant(x: &[u32], mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = x[N - 1];
    }
}

/// A field of an element of a constant.
#[kernel(require(x.len() >= TABLE[1].1))]
pub fn rule_table(x: &[u32], mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = x[0];
    }
}

/// A constant of a type.
#[kernel(instances(u32), require(grid.x < T::LIMIT))]
pub fn rule_associated<T: Limited>(x: &[T], mut y: Out<T>) {
    for (i, y) in y.mine() {
        *y = x[i];
    }
}

/// A constant of an instance.
#[kernel(instances(N), require(x.len() > COUNT))]
pub fn rule_instance<const COUNT: usize>(x: &[u32], mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = x[COUNT];
    }
}

/// A block of constants.
#[kernel(require(x.len().is_multiple_of(const { if cfg!(target_arch = "nvptx64") { 2 } else { 3 } })))]
pub fn rule_block(x: &[u32], mut y: Out<u32>) {
    for (i, y) in y.mine() {
        *y = x[i];
    }
}

/// A float.
#[kernel(require(by > SCALE))]
pub fn rule_float(by: f32, mut y: Out<f32>) {
    for (_, y) in y.mine() {
        *y = by;
    }
}

/// A number of another type.
#[kernel(require(y.len() as Index == 3))]
pub fn rule_cast(mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = 1;
    }
}

/// A constant that a function makes.
const MADE: usize = made();
const fn made() -> usize {
    N + 1
}

/// A constant of a function.
#[kernel(require(x.len() > MADE))]
pub fn rule_made(x: &[u32], mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = x[0];
    }
}

/// A constant of another crate.
#[kernel(require(y.len() <= device_limits::LIMIT))]
pub fn rule_of_another_crate(mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = 1;
    }
}

/// Longer than that on the host, which alone asks.
#[kernel(require(x.len() > made()))]
pub fn rule_of_the_host(x: &[u32], mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = x.len() as u32;
    }
}

mod hidden_words {
    use super::*;

    #[allow(non_camel_case_types)]
    type grid = usize;

    /// A rule has the word `grid` on the host alone, so that only the device's types ask for a grid
    /// of one dimension.
    #[cfg_attr(target_arch = "nvptx64", kernel(require(y.len() as usize > 1)))]
    #[cfg_attr(not(target_arch = "nvptx64"), kernel(require(y.len() as grid > 1)))]
    pub fn grid_in_a_type(mut y: Out<u32>) {
        let _: grid = 1;
        for (_, y) in y.mine() {
            *y = 1;
        }
    }
}
pub use hidden_words::*;

macro_rules! bounded {
    ($name:ident, $least:expr) => {
        /// Of a macro.
        #[kernel(require(y.len() >= $least))]
        pub fn $name(mut y: Out<u32>) {
            for (_, y) in y.mine() {
                *y = 1;
            }
        }
    };
}
bounded!(rule_of_a_macro, N + 1);
#[cfg(target_arch = "nvptx64")]
bounded!(macro_of_a_build, 2);
#[cfg(not(target_arch = "nvptx64"))]
bounded!(macro_of_a_build, 1);

include!("included/contracts.rs");

/// The length of an array.
#[kernel(shared(tile = N))]
pub fn length_constant(block: &mut Block, tile: Shared<[u32]>, mut y: Out<u32>) {
    let tile = tile.write(block, |i| i as u32);
    let tile = block.sync_threads(tile);
    for (_, y) in y.mine() {
        *y = tile[0];
    }
}

/// Literals.
#[cfg_attr(target_arch = "nvptx64", kernel(shared(tile = 1024)))]
#[cfg_attr(not(target_arch = "nvptx64"), kernel(shared(tile = 1)))]
pub fn length_literal(block: &mut Block, tile: Shared<[u32]>, mut y: Out<u32>) {
    let tile = tile.write(block, |i| i as u32);
    let tile = block.sync_threads(tile);
    for (_, y) in y.mine() {
        *y = tile[0];
    }
}

/// A static array.
#[kernel]
pub fn array_constant(block: &mut Block, tile: Shared<[u32; N]>, mut y: Out<u32>) {
    let tile = tile.write(block, |i| i as u32);
    let tile = block.sync_threads(tile);
    for (_, y) in y.mine() {
        *y = tile[0];
    }
}

/// The block's shape.
#[kernel]
pub fn block_constant(block: &mut Block<N>, mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = block.threads() as u32;
    }
}

/// Bounds.
#[cfg_attr(target_arch = "nvptx64", kernel(max_threads = 64, min_blocks = 1))]
#[cfg_attr(
    not(target_arch = "nvptx64"),
    kernel(max_threads = 128, min_blocks = 1)
)]
pub fn bounds_of_a_build(mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = 1;
    }
}

/// Elements of another type.
#[kernel]
pub fn elements_of_a_build(mut y: Out<Real>) {
    for (_, y) in y.mine() {
        *y = 1.0;
    }
}

/// Elements of another build's type.
#[kernel]
pub fn scratch_of_a_build(block: &mut Block<32>, scratch: Scratch<Real>) {
    let _ = (block, scratch);
}

/// A struct with another field.
#[kernel]
pub fn fields_of_a_build(fields: Fields, mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = fields.always;
    }
}

/// Elements of each thread.
#[kernel]
pub fn map_of_a_build(block: &mut Block<32>, mut y: Out<u32, Strided<N>>) {
    for tile in block.tiles_of(y.len()) {
        y.store(block, tile, |i| i as u32);
    }
}

/// A tile's rows.
#[kernel]
pub fn tile_of_a_build(block: &mut Block<8, 4>, c: OutMatrix<u32, N, 8>) {
    let _ = (block, c);
}

/// Another alignment.
#[kernel]
pub fn alignment_of_a_build(wide: Wide, mut y: Out<u64>) {
    for (_, y) in y.mine() {
        *y = wide.0[0];
    }
}

/// Another alignment of what is not plain.
///
/// # Safety
/// None.
#[kernel]
pub unsafe fn raw_of_a_build(raw: Raw, y: *mut u32) {
    // SAFETY: the caller's promise.
    unsafe { *y = raw.0[0] };
}

/// Two functions of one name.
#[cfg(target_arch = "nvptx64")]
#[kernel]
pub fn two_functions(mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = 1;
    }
}
/// Two functions of one name.
#[cfg(not(target_arch = "nvptx64"))]
#[kernel]
pub fn two_functions(mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = 2;
    }
}

/// Unsafe on the device.
///
/// # Safety
/// None.
#[cfg(target_arch = "nvptx64")]
#[kernel]
pub unsafe fn safe_on_the_host(x: &[u32], y: Out<u32>) {
    let _ = (x, y);
}
/// Safe on the host.
#[cfg(not(target_arch = "nvptx64"))]
#[kernel]
pub fn safe_on_the_host(x: &[u32], y: Out<u32>) {
    let _ = (x, y);
}

/// On the host alone.
#[cfg_attr(not(target_arch = "nvptx64"), kernel)]
pub fn host_alone(mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = 1;
    }
}

mod words {
    /// The launch's grid.
    pub(super) mod grid {
        /// Not the grid.
        pub(crate) const LEAST: usize = 1;
    }
}
use words::grid;

/// Parameters of names that rules use elsewhere, and items of the names that generated code has.
#[kernel(require(y.len() >= grid::LEAST, shared > 1, block.threads() > 1))]
pub fn words_as_names(block: &mut Block, shared: u32, r#type: u32, mut y: Out<u32>) {
    // As macros and functions of the user's, these are other things than generated code's.
    #[allow(non_camel_case_types, dead_code)]
    struct KernelParameterKind;
    macro_rules! assert {
        ($($anything:tt)*) => {};
    }
    assert!(false);
    let threads = block.threads() as u32;
    for (_, y) in y.mine() {
        *y = shared + r#type + threads;
    }
}

/// A parameter called `grid` where no rule has the word.
#[kernel(require(grid_dim > 0))]
pub fn grid_as_a_number(grid: u32, shared_bytes: u32, grid_dim: u32, mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = grid + shared_bytes + grid_dim;
    }
}

/// What the names of generated code could be.
const VALUE: usize = 3;
const NAME: usize = 2;
const PARTS: usize = 1;

/// Its fields have such lengths.
#[derive(Clone, Copy, Debug, Plain)]
#[repr(C)]
pub struct Named {
    /// Two.
    pub two: [u32; NAME],
    /// One.
    pub one: [u32; PARTS],
}

fn kernel_body(n: u32) -> u32 {
    n + 1
}

/// Constants and a function of such names.
#[kernel(require(y.len() == VALUE, n > NAME as u32, n < 1 + (PARTS + VALUE) as u32))]
pub fn names_of_generated_code(n: u32, named: Named, mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = kernel_body(n) + named.two[1] + named.one[0];
    }
}

macro_rules! of_two_macros {
    ($x:ident, $n:ident) => {
        /// The rules' words are the macro's, the parameters' names its caller's.
        #[kernel(require(x.len() >= y.len(), n.checked_add(y.len()).is_some(), n < x.len(), (1..n).contains(&2)))]
        pub fn words_of_a_macro($x: &[u32], $n: usize, mut y: Out<u32>) {
            for (i, y) in y.mine() {
                *y = $x[i] + $n as u32;
            }
        }
    };
}
of_two_macros!(x, n);

/// A struct whose name and fields PTX does not know, but its record does.
#[derive(Clone, Copy, Debug, Plain)]
#[repr(C)]
pub struct Größe {
    /// Along x.
    pub länge: f32,
    /// Along y.
    pub höhe: f32,
}

/// Names outside of ASCII.
#[kernel(name = "flaechen", require(größen.len() == flächen.len(), größen.len() > mindestens_größer))]
pub fn flächen(größen: &[Größe], mindestens_größer: usize, mut flächen: Out<f32>) {
    let _ = mindestens_größer;
    for (i, fläche) in flächen.mine() {
        *fläche = größen[i].länge * größen[i].höhe;
    }
}
