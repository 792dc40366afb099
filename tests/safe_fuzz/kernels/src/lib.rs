//! What the generated kernels share: elements of many sizes under one trait, and helper functions
//! of the kinds that users write.
#![cfg_attr(not(feature = "unchecked"), forbid(unsafe_code))]
// What the generator writes is right, not pretty.
#![cfg_attr(feature = "generated", allow(warnings))]

// Names for kernels in modules that have others of these.
pub extern crate alloc;
pub extern crate alloc as sound_alloc;
pub extern crate core as sound;
pub extern crate cuda_std as sound_cuda;

mod travel;

pub use core::cell::Cell;
use cuda_std::prelude::*;
pub use travel::*;

/// An element that the generated code makes of a number and turns into one again.
pub trait Value: Plain + Default {
    /// The element of a number.
    fn of(number: u32) -> Self;
    /// A number that depends on every byte of the element.
    fn number(self) -> u32;
}

macro_rules! integers {
    ($($t:ident)*) => {$(
        impl Value for $t {
            fn of(number: u32) -> Self {
                number as $t
            }
            fn number(self) -> u32 {
                (self as u64 ^ self as u64 >> 32) as u32
            }
        }
    )*};
}
integers!(u8 u16 u32 u64 u128 i32);

impl Value for f32 {
    fn of(number: u32) -> Self {
        (number >> 8) as f32
    }
    fn number(self) -> u32 {
        self.to_bits()
    }
}

impl Value for [u32; 3] {
    fn of(number: u32) -> Self {
        [number, number >> 1, !number]
    }
    fn number(self) -> u32 {
        self[0] ^ self[1].rotate_left(1) ^ self[2]
    }
}

/// Three bytes: no power of two.
#[derive(Clone, Copy, Default, Plain)]
#[repr(C)]
pub struct Color {
    red: u8,
    green: u8,
    blue: u8,
}

impl Value for Color {
    fn of(number: u32) -> Self {
        let [red, green, blue, _] = number.to_le_bytes();
        Self { red, green, blue }
    }
    fn number(self) -> u32 {
        u32::from_le_bytes([self.red, self.green, self.blue, 1])
    }
}

/// Fields of different sizes.
#[derive(Clone, Copy, Default, Plain)]
#[repr(C)]
pub struct Sample {
    weight: f64,
    at: u32,
    kind: u16,
    flags: [u8; 2],
}

impl Value for Sample {
    fn of(number: u32) -> Self {
        Self {
            weight: f64::from(number),
            at: number,
            kind: number as u16,
            flags: [number as u8, 1],
        }
    }
    fn number(self) -> u32 {
        self.at ^ self.kind.number() ^ u32::from(self.flags[0]) ^ self.weight.to_bits() as u32
    }
}

/// An ordinary function.
pub fn mix(a: u32, b: u32) -> u32 {
    (a ^ b.rotate_left(7)).wrapping_mul(0x9E37_79B9)
}

/// A function that stays one.
#[inline(never)]
pub fn far(a: u32, b: u32) -> u32 {
    a.wrapping_mul(31) ^ b.wrapping_add(a >> 3)
}

/// A function that calls itself, as often as its argument says.
pub fn collatz(n: u32, depth: u32) -> u32 {
    if n < 2 || depth == 0 {
        depth
    } else if n.is_multiple_of(2) {
        collatz(n / 2, depth - 1)
    } else {
        collatz(n.wrapping_mul(3).wrapping_add(1), depth - 1)
    }
}

/// A function that loops as often as its argument says.
#[inline(never)]
pub fn bits(mut n: u32) -> u32 {
    let mut count = 0;
    while n != 0 {
        n &= n - 1;
        count += 1;
    }
    count
}

/// Any element of a slice that may be empty.
pub fn any<T: Value>(from: &[T], at: u32) -> u32 {
    // Not `% len`: LLVM divides before it compares the length with zero, and the emulator calls
    // that a fault.
    let far = from.get(at as usize % 127);
    let near = far.or_else(|| from.get(at as usize % 8));
    near.or_else(|| from.first())
        .map_or(at, |value| value.number())
}

/// Any element of a tile.
pub fn any_of_tile<T: Value, const R: usize, const C: usize, const P: usize, O>(
    from: &cuda_std::block::Tile<T, R, C, P, O>,
    at: u32,
) -> u32 {
    from[at as usize / C % R][at as usize % C].number()
}

/// A trait object's trait.
pub trait Step {
    /// A number from a number.
    fn step(&self, n: u32) -> u32;
}

/// One of its types.
pub struct Add(pub u32);

impl Step for Add {
    fn step(&self, n: u32) -> u32 {
        n.wrapping_add(self.0)
    }
}

/// The other one.
pub struct Fold(pub u32);

impl Step for Fold {
    fn step(&self, n: u32) -> u32 {
        n ^ self.0.rotate_left(n & 31)
    }
}

/// A barrier in a generic function: publishes what was written.
pub fn publish<
    's,
    A: cuda_std::block::Array + ?Sized,
    const X: usize,
    const Y: usize,
    const Z: usize,
>(
    block: &mut Block<X, Y, Z>,
    written: cuda_std::block::Written<'s, A>,
) -> cuda_std::block::Published<'s, A> {
    block.sync_threads(written)
}

/// The way back.
pub fn reclaim<
    's,
    A: cuda_std::block::Array + ?Sized,
    const X: usize,
    const Y: usize,
    const Z: usize,
>(
    block: &mut Block<X, Y, Z>,
    published: cuda_std::block::Published<'s, A>,
) -> Shared<'s, A> {
    block.sync_threads(published)
}

/// Zeroed counters begin to count.
pub fn count<
    's,
    A: cuda_std::block::Array + ?Sized,
    const X: usize,
    const Y: usize,
    const Z: usize,
>(
    block: &mut Block<X, Y, Z>,
    zeroed: cuda_std::block::Zeroed<'s, A>,
) -> cuda_std::block::Counting<'s, A> {
    block.sync_threads(zeroed)
}

/// Counters that everybody has added to are read.
pub fn counted<
    's,
    A: cuda_std::block::Array + ?Sized,
    const X: usize,
    const Y: usize,
    const Z: usize,
>(
    block: &mut Block<X, Y, Z>,
    counting: cuda_std::block::Counting<'s, A>,
) -> cuda_std::block::Published<'s, A> {
    block.sync_threads(counting)
}

/// Barriers in a closure's caller: `body` is called `rounds` times.
pub fn rounds<const X: usize, const Y: usize, const Z: usize>(
    block: &mut Block<X, Y, Z>,
    rounds: u32,
    mut body: impl FnMut(&mut Block<X, Y, Z>, u32),
) {
    for round in 0..rounds {
        body(block, round);
    }
}

#[cfg(feature = "generated")]
include!(env!("SAFE_FUZZ_KERNELS"));
