//! Textures and surfaces: images in device memory, and how textures sample them.
//!
//! A handle is CUDA's texture or surface object: 64 bits that a kernel takes as a parameter. A
//! `.texref` or `.surfref` variable is bound to a handle
//! ([`LoadedModule::bind`](crate::LoadedModule::bind)).

use crate::error::MemoryError;
use std::fmt;

/// The dimensionality of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Width.
    One,
    /// Width and height.
    Two,
    /// Width, height and depth.
    Three,
    /// Six squares in the order +x, -x, +y, -y, +z, -z.
    Cube,
}

/// The type of a texel's channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 8 bits.
    S8,
    /// Signed, 16 bits.
    S16,
    /// Signed, 32 bits.
    S32,
    /// Float of 16 bits.
    F16,
    /// Float of 32 bits.
    F32,
}

impl Channel {
    /// Its size.
    pub fn bytes(self) -> u32 {
        match self {
            Channel::U8 | Channel::S8 => 1,
            Channel::U16 | Channel::S16 | Channel::F16 => 2,
            Channel::U32 | Channel::S32 | Channel::F32 => 4,
        }
    }

    /// Whether it is a float.
    pub fn is_float(self) -> bool {
        matches!(self, Channel::F16 | Channel::F32)
    }
}

/// Texels in device memory, ordered by row, slice, face and layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The dimensions.
    pub shape: Shape,
    /// Texels along x, y and z; 1 for dimensions that the shape lacks.
    pub extents: [u32; 3],
    /// Number of layers; 1 for an image that is not layered.
    pub layers: u32,
    /// What a channel is.
    pub channel: Channel,
    /// Channels of a texel: 1, 2 or 4.
    pub channels: u32,
    /// Address of the first texel.
    pub address: u64,
    /// Row pitch in bytes.
    pub row_bytes: u64,
}

impl Image {
    /// A dense image without layers.
    pub fn new(
        shape: Shape,
        extents: [u32; 3],
        (channel, channels): (Channel, u32),
        address: u64,
    ) -> Self {
        Self {
            shape,
            extents,
            layers: 1,
            channel,
            channels,
            address,
            row_bytes: u64::from(extents[0]) * u64::from(channel.bytes() * channels),
        }
    }

    /// Bytes per texel.
    pub fn texel_bytes(&self) -> u32 {
        self.channel.bytes() * self.channels
    }

    /// Bytes from the first to the last row; `None` if they exceed 64 bits.
    pub fn bytes(&self) -> Option<u64> {
        let [_, height, depth] = self.extents.map(u64::from);
        let slices = depth.checked_mul(u64::from(self.layers) * self.faces())?;
        self.row_bytes.checked_mul(height)?.checked_mul(slices)
    }

    pub(crate) fn faces(&self) -> u64 {
        if self.shape == Shape::Cube { 6 } else { 1 }
    }

    /// The address of a texel; `layer` also counts faces.
    pub(crate) fn texel(&self, [x, y, z]: [u32; 3], layer: u64) -> u64 {
        let [_, height, depth] = self.extents.map(u64::from);
        let row = (layer * depth + u64::from(z)) * height + u64::from(y);
        self.address + row * self.row_bytes + u64::from(x) * u64::from(self.texel_bytes())
    }

    pub(crate) fn check(&self) -> Result<(), MemoryError> {
        let refuse = |problem: &str| {
            Err(MemoryError::InvalidImage {
                problem: problem.to_owned(),
            })
        };
        let dimensions = match self.shape {
            Shape::One => 1,
            Shape::Two | Shape::Cube => 2,
            Shape::Three => 3,
        };
        if self.layers == 0 || self.extents.contains(&0) {
            return refuse("it has no texels");
        }
        if self.extents[dimensions..].iter().any(|&extent| extent != 1) {
            return refuse("it has more extents than dimensions");
        }
        if self.shape == Shape::Cube && self.extents[0] != self.extents[1] {
            return refuse("the faces of a cube are squares");
        }
        if self.shape == Shape::Three && self.layers > 1 {
            return refuse("an image of three dimensions has no layers");
        }
        if !matches!(self.channels, 1 | 2 | 4) {
            return refuse("a texel has 1, 2 or 4 channels");
        }
        let texel = u64::from(self.texel_bytes());
        if self.row_bytes < texel * u64::from(self.extents[0])
            || !self.row_bytes.is_multiple_of(texel)
        {
            return refuse("the rows overlap or do not begin with a texel");
        }
        if !self.address.is_multiple_of(texel) {
            return refuse("the address is not a multiple of a texel");
        }
        if self.bytes().is_none_or(|bytes| bytes > 1 << 40) {
            return refuse("it is larger than 1 TiB");
        }
        Ok(())
    }
}

/// Its extents and texels: `16 x 8 x 1 texels of 4 bytes`.
impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.extents;
        write!(f, "{x} x {y} x {z} texels of {} bytes", self.texel_bytes())?;
        match self.layers {
            1 => Ok(()),
            layers => write!(f, " in {layers} layers"),
        }
    }
}

/// How coordinates outside an image are handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressMode {
    /// The image repeats; normalised coordinates only.
    Wrap,
    /// The nearest texel.
    #[default]
    Clamp,
    /// The image repeats, mirrored every second time; normalised coordinates only.
    Mirror,
    /// Texels outside are zero.
    Border,
}

/// The filter of a fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// The nearest texel.
    #[default]
    Point,
    /// The surrounding texels, weighted by distance in steps of 1/256.
    Linear,
}

/// How a texture samples its image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampling {
    /// Along x, y and z.
    pub address: [AddressMode; 3],
    /// How samples are filtered.
    pub filter: Filter,
    /// Coordinates from 0 to 1 span the image.
    pub normalized: bool,
    /// 8-bit and 16-bit integers are converted to floats from 0 (or -1) to 1.
    pub as_float: bool,
}

/// An image and how it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Texture {
    pub(crate) image: Image,
    pub(crate) sampling: Sampling,
}

impl Texture {
    pub(crate) fn new(image: Image, sampling: Sampling) -> Result<Self, MemoryError> {
        image.check()?;
        let refuse = |problem: &str| {
            Err(MemoryError::InvalidImage {
                problem: problem.to_owned(),
            })
        };
        let texture = Self { image, sampling };
        if sampling.as_float
            && (texture.image.channel.is_float() || texture.image.channel.bytes() == 4)
        {
            return refuse("only integers of 8 and 16 bits are read as floats from 0 to 1");
        }
        if sampling.filter == Filter::Linear && !texture.gives_floats() {
            return refuse("integers cannot be filtered; read them as floats");
        }
        let repeats = |mode| matches!(mode, AddressMode::Wrap | AddressMode::Mirror);
        if !sampling.normalized && sampling.address.into_iter().any(repeats) {
            return refuse("only a texture with normalized coordinates wraps or mirrors them");
        }
        Ok(texture)
    }

    /// Whether a fetch returns floats instead of integers.
    pub(crate) fn gives_floats(&self) -> bool {
        self.image.channel.is_float() || self.sampling.as_float
    }
}
