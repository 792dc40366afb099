//! Ways for an address to travel, and functions that are not inlined.

use core::cell::Cell;
use cuda_std::prelude::*;

/// What keeps a reference to a cell.
pub trait Hold<'a>: Copy {
    /// Keeps it.
    fn of(cell: &'a Cell<u32>) -> Self;
    /// The cell.
    fn cell(&self) -> &'a Cell<u32>;
}

/// A reference in whatever is wanted.
pub fn hold<'a, H: Hold<'a>>(cell: &'a Cell<u32>) -> H {
    H::of(cell)
}

impl<'a> Hold<'a> for &'a Cell<u32> {
    fn of(cell: &'a Cell<u32>) -> Self {
        cell
    }
    fn cell(&self) -> &'a Cell<u32> {
        self
    }
}

impl<'a> Hold<'a> for Option<&'a Cell<u32>> {
    fn of(cell: &'a Cell<u32>) -> Self {
        Some(cell)
    }
    fn cell(&self) -> &'a Cell<u32> {
        self.unwrap()
    }
}

impl<'a> Hold<'a> for (u8, &'a Cell<u32>, u32) {
    fn of(cell: &'a Cell<u32>) -> Self {
        (1, cell, 2)
    }
    fn cell(&self) -> &'a Cell<u32> {
        self.1
    }
}

/// A number or a reference in one place.
#[derive(Clone, Copy)]
pub enum Slot<'a> {
    /// A number.
    Number(u64),
    /// A reference.
    Cell(&'a Cell<u32>),
    /// Two.
    Two(&'a Cell<u32>, u16),
}

impl<'a> Hold<'a> for Slot<'a> {
    fn of(cell: &'a Cell<u32>) -> Self {
        match cell.get() % 2 {
            0 => Slot::Cell(cell),
            _ => Slot::Two(cell, 3),
        }
    }
    fn cell(&self) -> &'a Cell<u32> {
        match self {
            Slot::Number(_) => unreachable!(),
            Slot::Cell(cell) | Slot::Two(cell, _) => cell,
        }
    }
}

impl<'a> Hold<'a> for [&'a Cell<u32>; 3] {
    fn of(cell: &'a Cell<u32>) -> Self {
        [cell; 3]
    }
    fn cell(&self) -> &'a Cell<u32> {
        self[1]
    }
}

/// A value through a function's parameter and result.
#[inline(never)]
pub fn pass<T>(value: T) -> T {
    value
}

/// Sets the last cell of a row.
#[inline(never)]
pub fn poke<'a, H: Hold<'a>>(row: &[H], value: u32) {
    if let Some(last) = row.last() {
        last.cell().set(value);
    }
}

/// Sets a cell some calls farther down.
pub fn down(depth: u32, cell: &Cell<u32>, value: u32) {
    let own = Cell::new(depth);
    match depth {
        0 => cell.set(value),
        1 => down(0, cell, value ^ own.get()),
        _ => {
            down(depth - 1, &own, value);
            down(depth - 2, cell, own.get());
        }
    }
}

/// Functions that do something to a cell, or nothing.
pub const SETTERS: [fn(&Cell<u32>, u32); 3] = [
    |cell, value| cell.set(value),
    |cell, _| cell.set(7),
    |_, _| {},
];

/// Functions of numbers.
pub const FUNCTIONS: [fn(u32, u32) -> u32; 3] = [crate::mix, crate::far, |a, b| a ^ b];

/// Calls a closure.
#[inline(never)]
pub fn apply(body: &dyn Fn(u32), value: u32) {
    body(value);
}

/// Sets a cell where its scope ends.
pub struct AtTheEndSet<'a>(pub &'a Cell<u32>, pub u32);

impl Drop for AtTheEndSet<'_> {
    fn drop(&mut self) {
        self.0.set(self.1);
    }
}

/// A barrier where its scope ends.
pub struct AtTheEnd<'b, const X: usize, const Y: usize, const Z: usize>(pub &'b mut Block<X, Y, Z>);

impl<const X: usize, const Y: usize, const Z: usize> Drop for AtTheEnd<'_, X, Y, Z> {
    fn drop(&mut self) {
        self.0.sync_threads(());
    }
}

/// Calls itself twice.
pub fn fib(n: u32) -> u32 {
    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
}

/// Calls a function that calls it.
pub fn even(n: u32, seen: &mut [u32; 4]) -> bool {
    seen[n as usize % 4] += 1;
    n == 0 || odd(n - 1, seen)
}

/// The other one.
pub fn odd(n: u32, seen: &mut [u32; 4]) -> bool {
    seen[n as usize % 4] += 2;
    n != 0 && even(n - 1, seen)
}

/// A sum in a function of its own.
#[inline(never)]
pub fn total<T: crate::Value>(values: &[T]) -> u32 {
    values.iter().fold(1, |sum, value| sum ^ value.number())
}
