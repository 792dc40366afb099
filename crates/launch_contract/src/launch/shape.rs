//! The extents of a launch.

use core::fmt;

/// Extents along x, y and z: `4`, `(4, 2)`, `(4, 2, 1)` or `[4, 2, 1]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dim {
    /// Along x.
    pub x: u32,
    /// Along y.
    pub y: u32,
    /// Along z.
    pub z: u32,
}

impl Dim {
    /// The threads of a block of these extents.
    pub fn threads(self) -> usize {
        self.volume()
    }

    /// The blocks of a grid of these extents.
    pub fn blocks(self) -> usize {
        self.volume()
    }

    fn volume(self) -> usize {
        (self.x as usize)
            .saturating_mul(self.y as usize)
            .saturating_mul(self.z as usize)
    }
}

impl From<u32> for Dim {
    fn from(x: u32) -> Self {
        Self { x, y: 1, z: 1 }
    }
}

impl From<(u32, u32)> for Dim {
    fn from((x, y): (u32, u32)) -> Self {
        Self { x, y, z: 1 }
    }
}

impl From<(u32, u32, u32)> for Dim {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self { x, y, z }
    }
}

/// Extents as `.grid(..)` and `.block(..)` take them: everything that is `Into<Dim>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no extent of a grid or a block",
    label = "expected `u32`, `(u32, u32)` or `(u32, u32, u32)`",
    note = "for a length: `.covering(n)?`, which chooses the grid, or `.grid(n.div_ceil(256) as u32)`; for a constant: `.block(THREADS as u32)`"
)]
pub trait Extents: Into<Dim> {}

#[diagnostic::do_not_recommend]
impl<T: Into<Dim>> Extents for T {}

/// `block == 256`: along x, and 1 along y and z.
impl PartialEq<u32> for Dim {
    fn eq(&self, x: &u32) -> bool {
        *self == Self::from(*x)
    }
}

/// `block == (16, 16)`: along x and y, and 1 along z.
impl PartialEq<(u32, u32)> for Dim {
    fn eq(&self, extents: &(u32, u32)) -> bool {
        *self == Self::from(*extents)
    }
}

impl PartialEq<(u32, u32, u32)> for Dim {
    fn eq(&self, extents: &(u32, u32, u32)) -> bool {
        *self == Self::from(*extents)
    }
}

impl From<[u32; 3]> for Dim {
    fn from([x, y, z]: [u32; 3]) -> Self {
        Self { x, y, z }
    }
}

impl From<Dim> for [u32; 3] {
    fn from(Dim { x, y, z }: Dim) -> Self {
        [x, y, z]
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {} x {}", self.x, self.y, self.z)
    }
}

/// The grid, the block and the dynamic shared memory of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Blocks.
    pub grid: Dim,
    /// Threads of a block.
    pub block: Dim,
    /// Bytes of the dynamic shared array.
    pub shared_bytes: u32,
}

impl Shape {
    /// This grid of these blocks, without dynamic shared memory.
    pub fn new(grid: impl Into<Dim>, block: impl Into<Dim>) -> Self {
        Self {
            grid: grid.into(),
            block: block.into(),
            shared_bytes: 0,
        }
    }

    /// The same shape with this many bytes of dynamic shared memory.
    #[must_use]
    pub fn shared(self, shared_bytes: u32) -> Self {
        Self {
            shared_bytes,
            ..self
        }
    }
}
