//! [`Permutation`]: indices that were checked once, for kernels that scatter through them.

pub(crate) mod check;
mod field;
mod kernels;
mod run;

use std::fmt;

use launch_contract::launch::{Memory, Permutes, Read};

use crate::{Buffer, Error, Result, View};
use check::Check;
use field::WINDOW;

/// The numbers 0 to n − 1 in some order, on a device: the destinations of a kernel's `Scatter`.
///
/// [`new`](Self::new) checks the numbers on the device, once. Nothing changes them afterwards, so
/// launches need no check.
///
/// The check compares fingerprints at a random point, which the operating system draws and this
/// crate keeps to itself. It always accepts a permutation. It accepts n other numbers, whatever they
/// are, with a probability below n / 2⁹⁸: 2⁻⁷² for 2²⁶ numbers. `docs/soundness.md` has the proof.
///
/// ```
/// use blockwise::{Device, Permutation};
///
/// let device = Device::any()?;
/// let order = Permutation::new(device.upload(&[2, 0, 1])?)?;
/// assert_eq!(order.len(), 3);
/// let twice = Permutation::new(device.upload(&[2, 0, 2])?).unwrap_err();
/// assert_eq!(
///     twice.to_string(),
///     "the numbers are no permutation: number 2 is 2, as number 0 is"
/// );
/// # Ok::<(), blockwise::Error>(())
/// ```
///
/// The numbers cannot be changed while they are a permutation:
///
/// ```compile_fail,E0382
/// # use blockwise::{Buffer, Permutation, Result};
/// # fn changed_later(mut numbers: Buffer<u32>) -> Result<Permutation> {
/// let order = Permutation::new(numbers)?;
/// numbers.copy_from_slice(&[0, 0, 0])?;
/// # Ok(order)
/// # }
/// ```
///
/// ```compile_fail,E0451
/// # use blockwise::{Buffer, Permutation};
/// # fn forged(numbers: Buffer<u32>) -> Permutation {
/// Permutation { numbers }
/// # }
/// ```
pub struct Permutation {
    numbers: Buffer<u32>,
}

impl Permutation {
    /// Checks the numbers on their device, after all earlier uses of them, and waits. Each number
    /// is read once; above 268,435,456 numbers, once for each 268,435,456 of them. A device's first
    /// check also loads the kernels, multiplies 268,435,456 numbers once on a GPU, and takes a few
    /// KiB of memory, which the device keeps.
    ///
    /// If a [`Graph`](crate::Graph) uses the memory, a replay could change it: the numbers are then
    /// copied first.
    ///
    /// # Errors
    /// [`Error::NotAPermutation`] with the first number that is too large or occurs twice, and when
    /// the device fails, or the operating system has no random numbers.
    pub fn new(numbers: Buffer<u32>) -> Result<Self> {
        let numbers = numbers.detached()?;
        if !is_permutation(&numbers, WINDOW)? {
            let problem = problem(&numbers.to_vec()?);
            return Err(Error::NotAPermutation { problem });
        }
        Ok(Self { numbers })
    }

    /// Takes the numbers unchecked.
    ///
    /// # Errors
    /// As for [`new`](Self::new), if they have to be copied.
    ///
    /// # Safety
    /// They are 0 to `len − 1` in some order when all earlier work of the device has finished.
    pub unsafe fn new_unchecked(numbers: Buffer<u32>) -> Result<Self> {
        let numbers = numbers.detached()?;
        Ok(Self { numbers })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// The numbers, for reading.
    pub fn as_view(&self) -> View<'_, u32> {
        self.numbers.as_view()
    }

    /// Returns the numbers, which may then be changed. If a [`Graph`](crate::Graph) scatters
    /// through them, they are copied, and the graph keeps the original.
    ///
    /// # Errors
    /// When the device lacks memory for the copy, or fails.
    pub fn into_buffer(self) -> Result<Buffer<u32>> {
        self.numbers.detached()
    }
}

// SAFETY: the numbers are a permutation, checked or promised. They are private, and `detached` has
// made sure that no graph's launch can write them; nothing here lends them for writing.
unsafe impl<'a> Permutes<'a> for &'a Permutation {
    fn pass(self) -> Memory<'a> {
        Read::pass(&self.numbers)
    }
}

impl fmt::Debug for Permutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Permutation({} numbers)", self.len())
    }
}

/// Whether numbers are a permutation, by one launch for each `window` of their range.
fn is_permutation(numbers: &Buffer<u32>, window: u32) -> Result<bool> {
    let (core, len) = (&numbers.memory.core, numbers.len());
    // No number of 32 bits is as large as the last place.
    if len > 1 << 32 {
        return Ok(false);
    }
    let check = match core.check.get() {
        Some(check) => check,
        None => {
            let loaded = Check::load(core)?;
            core.check.get_or_init(|| loaded)
        }
    };
    for base in (0..len).step_by(window as usize) {
        let most = (len - base).min(window as usize);
        if !check.is_full(numbers, base as u32, most as u32)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The first number that violates the permutation, as text.
fn problem(numbers: &[u32]) -> String {
    let len = numbers.len();
    // A number of 32 bits cannot be as large as the last place.
    if len > 1 << 32 {
        return format!("{len} are more than 32 bits can count");
    }
    let mut seen = vec![false; len];
    for (at, &number) in numbers.iter().enumerate() {
        match seen.get_mut(number as usize) {
            None => return format!("number {at} is {number}, and there are {len}"),
            Some(true) => {
                let before = numbers.iter().position(|&other| other == number);
                let before = before.unwrap_or_default();
                return format!("number {at} is {number}, as number {before} is");
            }
            Some(seen) => *seen = true,
        }
    }
    // They were written while they were checked: by a kernel of another library.
    "they changed during the check".to_owned()
}

#[cfg(all(test, feature = "emulator"))]
mod tests;
