//! Tensor maps: the descriptors of `cp.async.bulk.tensor`.

use crate::error::MemoryError;

/// Size of a map as a kernel parameter.
pub(crate) const MAP_BYTES: usize = 128;
const MOST_DIMENSIONS: usize = 5;

/// Where the fields of a map are: byte offset, and bytes per dimension. `tensormap.replace` writes
/// them one by one.
pub(crate) mod field {
    /// The rank less one, with [`MARK`].
    pub(crate) const RANK: (i32, u8) = (0, 4);
    /// A number of PTX, as the swizzle.
    pub(crate) const ELEMENT: (i32, u8) = (4, 1);
    pub(crate) const SWIZZLE: (i32, u8) = (5, 1);
    pub(crate) const ADDRESS: (i32, u8) = (8, 8);
    pub(crate) const EXTENTS: (i32, u8) = (16, 8);
    pub(crate) const STRIDES: (i32, u8) = (56, 8);
    pub(crate) const BOX_EXTENTS: (i32, u8) = (88, 4);
    pub(crate) const ELEMENT_STRIDES: (i32, u8) = (108, 1);
    /// Distinguishes a map from other bytes.
    pub(crate) const MARK: u32 = 0x7e45_0a98;
}

/// The element type of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorElement {
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 32 bits.
    S32,
    /// Unsigned, 64 bits.
    U64,
    /// Signed, 64 bits.
    S64,
    /// Float of 16 bits.
    F16,
    /// 16-bit float with the exponent range of a 32-bit one.
    BF16,
    /// Float of 32 bits.
    F32,
    /// Float of 64 bits.
    F64,
}

/// The element types with their numbers in PTX.
const ELEMENTS: [(TensorElement, u8); 10] = [
    (TensorElement::U8, 0),
    (TensorElement::U16, 1),
    (TensorElement::U32, 2),
    (TensorElement::S32, 3),
    (TensorElement::U64, 4),
    (TensorElement::S64, 5),
    (TensorElement::F16, 6),
    (TensorElement::F32, 7),
    (TensorElement::F64, 9),
    (TensorElement::BF16, 10),
];

impl TensorElement {
    /// The type of a number in PTX.
    pub(crate) fn numbered(number: u64) -> Option<Self> {
        let mut known = ELEMENTS.iter();
        let found = known.find(|(_, known)| u64::from(*known) == number);
        found.map(|(element, _)| *element)
    }

    /// Its size.
    pub fn bytes(self) -> u32 {
        match self {
            TensorElement::U8 => 1,
            TensorElement::U16 | TensorElement::F16 | TensorElement::BF16 => 2,
            TensorElement::U32 | TensorElement::S32 | TensorElement::F32 => 4,
            TensorElement::U64 | TensorElement::S64 | TensorElement::F64 => 8,
        }
    }
}

/// How the 16-byte pieces of a box are permuted in shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Swizzle {
    /// Not at all.
    #[default]
    None,
    /// Within 32 bytes.
    B32,
    /// Within 64 bytes.
    B64,
    /// Within 128 bytes.
    B128,
}

impl Swizzle {
    const ALL: [Self; 4] = [Self::None, Self::B32, Self::B64, Self::B128];

    /// The largest row of a box, in bytes.
    fn row_bytes(self) -> Option<u32> {
        match self {
            Swizzle::None => None,
            Swizzle::B32 => Some(32),
            Swizzle::B64 => Some(64),
            Swizzle::B128 => Some(128),
        }
    }

    /// The swizzled position of an address in shared memory.
    pub(crate) fn place(self, address: u64) -> u64 {
        let pieces = u64::from(self.row_bytes().unwrap_or(16) / 16 - 1);
        address ^ (address >> 7 & pieces) << 4
    }
}

/// A tensor in global memory and the box that one copy moves; innermost dimension first.
///
/// Elements outside of the tensor are read as zeros and not written, except those that share 16
/// bytes with the last one of a row: hardware writes whole pieces. Interleaved layouts and
/// `.im2col` do not exist here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// What an element is.
    pub element: TensorElement,
    /// Address of the first element.
    pub address: u64,
    /// Elements along each of one to five dimensions.
    pub extents: Vec<u64>,
    /// Strides in bytes for all dimensions but the first.
    pub strides: Vec<u64>,
    /// Extent of a box along each dimension.
    pub box_extents: Vec<u32>,
    /// The stride among those that are moved. The first one is ignored, as by hardware.
    pub element_strides: Vec<u32>,
    /// The arrangement of pieces in shared memory.
    pub swizzle: Swizzle,
}

impl TensorMap {
    /// A dense tensor, copied in whole boxes.
    pub fn new(element: TensorElement, address: u64, extents: &[u64], box_extents: &[u32]) -> Self {
        let mut stride = u64::from(element.bytes());
        let rows = extents.iter().take(extents.len().saturating_sub(1));
        let strides = rows.map(|&extent| {
            stride = stride.saturating_mul(extent);
            stride
        });
        Self {
            element,
            address,
            strides: strides.collect(),
            extents: extents.to_vec(),
            box_extents: box_extents.to_vec(),
            element_strides: vec![1; extents.len()],
            swizzle: Swizzle::None,
        }
    }

    /// The map as a kernel parameter: 128 bytes, aligned to 64.
    ///
    /// # Errors
    /// [`MemoryError::InvalidTensor`] for a tensor or box that a device cannot copy.
    pub fn encode(&self) -> Result<[u8; MAP_BYTES], MemoryError> {
        self.check().map_err(|problem| MemoryError::InvalidTensor {
            problem: problem.to_owned(),
        })?;
        let mut bytes = [0; MAP_BYTES];
        let mut put = |(offset, size): (i32, u8), index: usize, value: u64| {
            let (offset, size) = (offset as usize, usize::from(size));
            let place = &mut bytes[offset + index * size..][..size];
            place.copy_from_slice(&value.to_le_bytes()[..size]);
        };
        let rank = self.extents.len();
        let element = ELEMENTS.iter().find(|(e, _)| *e == self.element);
        let swizzle = Swizzle::ALL.iter().position(|&s| s == self.swizzle);
        put(field::RANK, 0, u64::from(field::MARK) | (rank as u64 - 1));
        put(field::ELEMENT, 0, element.map_or(0, |(_, n)| u64::from(*n)));
        put(field::SWIZZLE, 0, swizzle.unwrap_or(0) as u64);
        put(field::ADDRESS, 0, self.address);
        for (at, &extent) in self.extents.iter().enumerate() {
            put(field::EXTENTS, at, extent);
        }
        for (at, &stride) in self.strides.iter().enumerate() {
            put(field::STRIDES, at, stride);
        }
        for (at, &extent) in self.box_extents.iter().enumerate() {
            put(field::BOX_EXTENTS, at, extent.into());
        }
        for (at, &stride) in self.element_strides.iter().enumerate() {
            put(field::ELEMENT_STRIDES, at, stride.into());
        }
        Ok(bytes)
    }

    fn check(&self) -> Result<(), &'static str> {
        let rank = self.extents.len();
        if !(1..=MOST_DIMENSIONS).contains(&rank) {
            return Err("it has one to five dimensions");
        }
        let lengths = [
            self.strides.len() + 1,
            self.box_extents.len(),
            self.element_strides.len(),
        ];
        if lengths != [rank; 3] {
            return Err("extents, strides and the box have different dimensions");
        }
        if self
            .extents
            .iter()
            .any(|extent| !(1..=1 << 32).contains(extent))
        {
            return Err("an extent is 0 or larger than 2^32");
        }
        if self
            .box_extents
            .iter()
            .any(|extent| !(1..=256).contains(extent))
        {
            return Err("a box spans 1 to 256 elements along a dimension");
        }
        if self
            .element_strides
            .iter()
            .any(|stride| !(1..=8).contains(stride))
        {
            return Err("an element stride is 1 to 8");
        }
        let strides = &self.strides;
        if !self.address.is_multiple_of(16) || strides.iter().any(|stride| stride % 16 != 0) {
            return Err("the address and the strides are multiples of 16 bytes");
        }
        if self.strides.iter().any(|&stride| stride >= 1 << 40) {
            return Err("a stride is smaller than 2^40 bytes");
        }
        let row = self.box_counts()[0] * self.element.bytes();
        if !row.is_multiple_of(16) {
            return Err("a row of the box is a multiple of 16 bytes");
        }
        if self.swizzle.row_bytes().is_some_and(|most| row > most) {
            return Err("a row of the box is longer than its swizzle");
        }
        Ok(())
    }

    /// Decodes the result of [`encode`](Self::encode), or why it is none.
    pub(crate) fn decode(bytes: &[u8; MAP_BYTES]) -> Result<Self, &'static str> {
        let get = |(offset, size): (i32, u8), index: usize| {
            let (offset, size) = (offset as usize, usize::from(size));
            let place = bytes[offset + index * size..][..size].iter().rev();
            place.fold(0, |value, &byte| value << 8 | u64::from(byte))
        };
        let rank = (get(field::RANK, 0) as u32 ^ field::MARK) as usize + 1;
        if rank > MOST_DIMENSIONS {
            return Err("it has no mark of one");
        }
        let list = |field, count| (0..count).map(move |at| get(field, at));
        let small = |field| list(field, rank).map(|value| value as u32).collect();
        let element = TensorElement::numbered(get(field::ELEMENT, 0));
        let swizzle = Swizzle::ALL.get(get(field::SWIZZLE, 0) as usize);
        let map = Self {
            element: element.ok_or("its element type is unknown")?,
            address: get(field::ADDRESS, 0),
            extents: list(field::EXTENTS, rank).collect(),
            strides: list(field::STRIDES, rank - 1).collect(),
            box_extents: small(field::BOX_EXTENTS),
            element_strides: small(field::ELEMENT_STRIDES),
            swizzle: *swizzle.ok_or("its swizzle is unknown")?,
        };
        map.check()?;
        Ok(map)
    }

    /// From one element that is moved to the next along each dimension. Hardware ignores the stride
    /// along the first one.
    pub(crate) fn steps(&self) -> impl Iterator<Item = u32> {
        std::iter::once(1).chain(self.element_strides[1..].iter().copied())
    }

    /// The elements that a copy moves along each dimension.
    pub(crate) fn box_counts(&self) -> Vec<u32> {
        let pairs = self.box_extents.iter().zip(self.steps());
        let counts = pairs.map(|(extent, stride)| extent.div_ceil(stride));
        counts.collect()
    }

    /// Number of bytes that a copy moves, including those outside the tensor.
    pub(crate) fn box_bytes(&self) -> u32 {
        self.box_counts().iter().product::<u32>() * self.element.bytes()
    }

    /// The address of an element; `None` outside the tensor.
    pub(crate) fn element_at(&self, at: &[i64]) -> Option<u64> {
        let inside = |(at, &extent): (&i64, &u64)| *at >= 0 && (*at as u64) < extent;
        if !at.iter().zip(&self.extents).all(inside) {
            return None;
        }
        let strides = [u64::from(self.element.bytes())];
        let strides = strides.iter().chain(&self.strides);
        let offset = at
            .iter()
            .zip(strides)
            .map(|(&at, stride)| at as u64 * stride);
        Some(self.address + offset.sum::<u64>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_comes_back_from_its_bytes() {
        let mut map = TensorMap::new(
            TensorElement::F16,
            1 << 40,
            &[64, 7, 3, 2, 9],
            &[32, 4, 1, 2, 256],
        );
        map.element_strides = vec![1, 2, 1, 1, 8];
        map.swizzle = Swizzle::B64;
        let bytes = map.encode().expect("a map");
        assert_eq!(TensorMap::decode(&bytes), Ok(map.clone()));
        assert_eq!(map.box_bytes(), 2 * 32 * 2 * 2 * 32);
        assert!(TensorMap::decode(&[0; 128]).is_err());
        assert_eq!(
            map.element_at(&[3, 6, 2, 1, 8]),
            Some((1 << 40) + 6 + 128 * (6 + 7 * (2 + 3 * (1 + 2 * 8))))
        );
        assert_eq!(map.element_at(&[3, 7, 2, 1, 8]), None);
        assert_eq!(map.element_at(&[-1, 6, 2, 1, 8]), None);
    }

    #[test]
    fn what_a_device_cannot_copy_is_refused() {
        let map = |extents: &[u64], box_extents: &[u32]| {
            TensorMap::new(TensorElement::F32, 512, extents, box_extents)
        };
        let refused = |map: TensorMap| map.encode().expect_err("it is refused").to_string();
        assert!(refused(map(&[5, 4], &[4, 4])).contains("strides are multiples of 16"));
        assert!(refused(map(&[8, 4], &[3, 4])).contains("a row of the box"));
        assert!(refused(map(&[8, 4], &[4])).contains("different dimensions"));
        assert!(refused(map(&[8, 4], &[4, 257])).contains("1 to 256"));
        let wide = TensorMap {
            swizzle: Swizzle::B32,
            ..map(&[64, 4], &[16, 4])
        };
        assert!(refused(wide).contains("longer than its swizzle"));
    }
}
