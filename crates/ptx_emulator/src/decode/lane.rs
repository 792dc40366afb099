//! Building blocks for instructions that are computed lane by lane.

use super::builder::Builder;
use super::form::Ty;
use super::op::{LaneFn, LaneOp, Op, Pred, Reg, Row, TRUE};

/// A type whose values are passed as raw bits.
pub(super) trait Bits: Copy {
    fn from_bits(bits: u64) -> Self;
    fn into_bits(self) -> u64;
}

macro_rules! integer_bits {
    ($($ty:ty, $unsigned:ty;)*) => {$(
        impl Bits for $ty {
            fn from_bits(bits: u64) -> Self {
                bits as $ty
            }
            fn into_bits(self) -> u64 {
                u64::from(self as $unsigned)
            }
        }
    )*};
}

integer_bits! {
    u8, u8; u16, u16; u32, u32; u64, u64;
    i8, u8; i16, u16; i32, u32; i64, u64;
}

impl Bits for f32 {
    fn from_bits(bits: u64) -> Self {
        f32::from_bits(bits as u32)
    }
    fn into_bits(self) -> u64 {
        u64::from(self.to_bits())
    }
}

impl Bits for f64 {
    fn from_bits(bits: u64) -> Self {
        f64::from_bits(bits)
    }
    fn into_bits(self) -> u64 {
        self.to_bits()
    }
}

/// Inputs and outputs of a lane instruction; everything has a default.
pub(super) struct Lane {
    pub(super) d: Option<Reg>,
    pub(super) flag_out: Option<Row>,
    pub(super) flag_in: Pred,
    pub(super) divides: bool,
}

impl Lane {
    pub(super) fn to(d: Reg) -> Self {
        Self {
            d: Some(d),
            flag_out: None,
            flag_in: TRUE,
            divides: false,
        }
    }

    /// A lane instruction whose only result is a predicate.
    pub(super) fn to_flag(d: Row) -> Self {
        Self {
            d: None,
            flag_out: Some(d),
            flag_in: TRUE,
            divides: false,
        }
    }
}

impl Builder<'_, '_> {
    pub(super) fn lane(&mut self, lane: Lane, eval: LaneFn, sources: &[Reg]) {
        let Lane {
            d,
            flag_out,
            flag_in,
            divides,
        } = lane;
        let sources = std::array::from_fn(|index| sources.get(index).copied());
        self.emit(Op::Lane(Box::new(LaneOp {
            eval,
            d,
            flag_out,
            sources,
            flag_in,
            divides,
        })));
    }
}

/// The instance of a generic lane function for an integer type.
macro_rules! for_integer {
    ($ty:expr, $function:ident) => {
        match $ty {
            Ty::U16 => Some($function::<u16> as LaneFn),
            Ty::U32 => Some($function::<u32> as LaneFn),
            Ty::U64 => Some($function::<u64> as LaneFn),
            Ty::S16 => Some($function::<i16> as LaneFn),
            Ty::S32 => Some($function::<i32> as LaneFn),
            Ty::S64 => Some($function::<i64> as LaneFn),
            _ => None,
        }
    };
}
pub(super) use for_integer;

/// An integer type with the operations that lane functions need.
pub(super) trait Integer: Bits + Ord {
    const BITS: u32;
    fn wide(self) -> i128;
    fn wrap(wide: i128) -> Self;
}

macro_rules! integers {
    ($($ty:ty)*) => {$(
        impl Integer for $ty {
            const BITS: u32 = <$ty>::BITS;
            fn wide(self) -> i128 {
                self as i128
            }
            fn wrap(wide: i128) -> Self {
                wide as $ty
            }
        }
    )*};
}

integers!(u16 u32 u64 i16 i32 i64);

/// Dispatches on the integer type of a `Ty` in one place.
pub(super) fn integer_ty(ty: Ty) -> bool {
    matches!(
        ty,
        Ty::U16 | Ty::U32 | Ty::U64 | Ty::S16 | Ty::S32 | Ty::S64
    )
}
