//! Accesses to textures and surfaces.

use super::{AtomicOp, Cell, Row, Transfer};
use crate::texture::Shape;

/// The coordinates of a texture or surface access.
pub(crate) struct Point {
    /// A handle.
    pub(crate) handle: Row,
    pub(crate) shape: Shape,
    /// The layer of a layered image.
    pub(crate) layer: Option<Row>,
    /// One per dimension; for a cube, a direction.
    pub(crate) coordinates: Vec<Row>,
}

/// A texture fetch.
pub(crate) struct TextureOp {
    pub(crate) point: Point,
    /// Coordinates are integers.
    pub(crate) integers: bool,
    /// `tld4`: this channel of the four texels of a linear filter.
    pub(crate) gathers: Option<usize>,
    pub(crate) result: TexelType,
    /// Registers for the four channels, or for two pairs of halves.
    pub(crate) targets: Vec<Option<Row>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TexelType {
    Integer,
    Float,
    Halves,
}

/// A query of a texture or surface.
pub(crate) struct QueryOp {
    pub(crate) handle: Row,
    pub(crate) query: Query,
    pub(crate) d: Row,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Query {
    /// The extent along an axis.
    Extent(usize),
    Layers,
    ChannelType,
    ChannelOrder,
    /// Number of mipmap levels or samples: always one.
    Single,
    Normalized,
    Linear,
    AddressMode(usize),
}

impl Point {
    /// The registers that it reads.
    pub(crate) fn reads(&self, mut each: impl FnMut(Cell)) {
        each(Cell::R64(self.handle));
        let rows = self.layer.iter().chain(&self.coordinates);
        rows.for_each(|&row| each(Cell::R32(row)));
    }
}

/// An access to a surface.
pub(crate) struct SurfaceOp {
    pub(crate) point: Point,
    pub(crate) outside: Outside,
    pub(crate) kind: SurfaceKind,
}

/// How an access outside the surface is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outside {
    Faults,
    /// Clamped to the nearest texel.
    Clamps,
    /// Reads return zeros, writes are dropped.
    Zeros,
}

pub(crate) enum SurfaceKind {
    /// Bytes; x is in bytes.
    Load(Transfer),
    Store(Transfer),
    /// The channels of a texel, converted to what the surface holds; x counts texels. `NO_ROW`:
    /// none.
    StoreTexel([Row; 4]),
    Reduce {
        op: AtomicOp,
        /// Whether x is in texels instead of bytes.
        by_texel: bool,
    },
}
