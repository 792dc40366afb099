//! Sound: `.wav` (RIFF, RIFX, and RF64 or BW64 above 4 GiB) with integers of 8, 16, 24 or 32 bits or
//! floats of 32 or 64, any number of channels.
//!
//! Samples are float64 in the file's own units: −32768 to 32767 for 16 bits. Integers of 8 bits are
//! stored with an offset of 128, which is removed. Where a sample has fewer bits than its container
//! (24 in 32), they are the container's highest, and the unit is that of the sample. Written back,
//! integers are rounded to the nearest and those outside the range are clipped.
//!
//! Layout: Microsoft's "Multiple Channel Audio Data and WAVE Files", EBU Tech 3306 (RF64), ITU-R
//! BS.2088 (BW64).

mod chunks;
mod format;
mod metadata;
mod read;
mod write;

use blockwise::Type;

pub use metadata::Metadata;
pub use read::RecordingReader;
pub(super) use read::open;
pub use write::{Finished, RecordingWriter};

/// How a sample is coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// Integers of `bits` bits, the highest of `bytes` bytes.
    Integer {
        /// Bits of a sample.
        bits: u16,
        /// Bytes from one sample to the next.
        bytes: u16,
    },
    /// Floats of 4 or 8 bytes.
    Float {
        /// Bytes of a sample.
        bytes: u16,
    },
}

impl Coding {
    /// The type to compute with. Integers need float64, because their products have up to 64 bits.
    pub fn computed(self) -> Type {
        match self {
            Coding::Float { bytes: 4 } => Type::F32,
            Coding::Float { .. } | Coding::Integer { .. } => Type::F64,
        }
    }
}

/// The form of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sound {
    /// Samples per frame.
    pub channels: u16,
    /// Frames per second.
    pub sample_rate: u32,
    /// How a sample is coded.
    pub coding: Coding,
    /// Which loudspeakers the channels are for, where the file says so.
    pub speakers: u32,
    /// The channels are those of a sound field (ambisonic B-format), not of loudspeakers.
    pub is_ambisonic: bool,
}

impl Sound {
    /// The lowest and the highest sample of integers; `None` of floats.
    pub fn integer_range(&self) -> Option<(f64, f64)> {
        match self.coding {
            Coding::Integer { bits, .. } => {
                let limit = 2_f64.powi(i32::from(bits) - 1);
                Some((-limit, limit - 1.0))
            }
            Coding::Float { .. } => None,
        }
    }

    /// Bits of a sample.
    pub fn bits(&self) -> u16 {
        match self.coding {
            Coding::Integer { bits, .. } => bits,
            Coding::Float { bytes } => 8 * bytes,
        }
    }

    /// Bytes from one sample to the next.
    fn bytes(&self) -> u16 {
        match self.coding {
            Coding::Integer { bytes, .. } | Coding::Float { bytes } => bytes,
        }
    }

    /// Bytes of a frame.
    fn frame(&self) -> u64 {
        u64::from(self.channels) * u64::from(self.bytes())
    }
}

/// `16-bit integers, 2 channels, 44100 Hz`.
impl std::fmt::Display for Sound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.coding {
            Coding::Integer { .. } => "integers",
            Coding::Float { .. } => "floats",
        };
        let Self {
            channels,
            sample_rate,
            ..
        } = self;
        let plural = if *channels == 1 { "" } else { "s" };
        write!(
            f,
            "{}-bit {kind} in {} bytes, {channels} channel{plural}, {sample_rate} Hz",
            self.bits(),
            self.bytes(),
        )
    }
}

/// Tags of the chunk `fmt `.
mod tag {
    pub(super) const INTEGER: u16 = 1;
    pub(super) const FLOAT: u16 = 3;
    /// The coding is in the extension, as the first two bytes of a GUID.
    pub(super) const EXTENSIBLE: u16 = 0xFFFE;
    /// What follows those two.
    pub(super) const GUID_END: [u8; 14] =
        [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71];
    /// The same in RIFX, where its two-byte parts may be byte-swapped.
    pub(super) const GUID_END_HIGHEST_FIRST: [u8; 14] =
        [0, 0, 0, 0, 0, 0x10, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71];
    /// What follows the same two for ambisonic B-format (files with the extension .amb).
    pub(super) const AMBISONIC_END: [u8; 14] = [
        0, 0, 0x21, 0x07, 0xD3, 0x11, 0x86, 0x44, 0xC8, 0xC1, 0xCA, 0, 0, 0,
    ];
}

/// The length field of a chunk whose length is elsewhere, or unknown.
const UNKNOWN_LENGTH: u32 = u32::MAX;

#[cfg(test)]
mod tests;
