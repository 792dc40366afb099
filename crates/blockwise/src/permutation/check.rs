//! [`Check`]: whether numbers are a permutation, by their fingerprint.
//!
//! Numbers are those from 0 to n − 1 in some order if and only if the polynomial that is the product
//! of all r − x equals the product of all r − i. A device computes both for one r, which is random.
//! If the polynomials differ, so do the values, except with a probability below n / 2¹¹⁰: the
//! difference has a degree below n, so fewer than n / 4 irreducible factors of degree 4. r is a zero
//! only if its f ([`Point`]) is one of these. Each f belongs to at most 4! of the 2¹¹⁶ possible
//! (a₀ … a₃), of which a quarter, and certainly an eighth, have an irreducible f.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use launch_contract::launch::{Argument, Shape};

use super::field::{DEGREE, Element, ONE, P, Point};
use super::kernels::{self, THREADS};
use crate::backend::{Backend, Callable, OWN, Queue};
use crate::busy::lock;
use crate::{Error, Result};

/// Blocks for each multiprocessor: as many as an H100 has registers for.
const BLOCKS: usize = 3;
/// Fours of numbers for each thread, if there are enough: at its end is a product, which costs as
/// much as three of them.
const FOURS: usize = 4;
/// Products that are remembered.
const REMEMBERED: usize = 1 << 12;

/// What a device keeps for its checks.
pub(crate) struct Check {
    fingerprint: Arc<dyn Callable>,
    combine: Arc<dyn Callable>,
    pub(super) point: Point,
    /// Blocks that fill the device.
    blocks: usize,
    /// The product of r − i for all i below a number.
    known: Mutex<BTreeMap<u32, Element>>,
}

impl Check {
    pub(super) fn load(backend: &dyn Backend) -> Result<Self> {
        let program = backend.load(&kernels::ptx(), OWN)?;
        Ok(Self {
            fingerprint: program.function("fingerprint")?,
            combine: program.function("combine")?,
            point: Point::draw(random)?,
            blocks: BLOCKS * backend.properties().multiprocessors.max(1) as usize,
            known: Mutex::new(BTreeMap::from([(0, ONE)])),
        })
    }

    /// The check whether each number from `base` to `base + most - 1` is once among `len`.
    pub(super) fn window(&self, len: usize, base: u32, most: u32) -> Window<'_> {
        let known = lock(&self.known);
        let below = known.range(..=most).next_back();
        let (first, product) = below.map_or((0, ONE), |(first, product)| (*first, *product));
        let fours = len / 4;
        let threads = fours.clamp(4, THREADS).next_power_of_two();
        Window {
            check: self,
            len,
            base,
            most,
            first,
            product,
            threads,
            blocks: fours.div_ceil(threads * FOURS).clamp(1, self.blocks),
        }
    }

    fn remember(&self, below: u32, product: Element) {
        let mut known = lock(&self.known);
        if known.len() == REMEMBERED {
            *known = BTreeMap::from([(0, ONE)]);
        }
        known.insert(below, product);
    }
}

fn random() -> Result<[u32; DEGREE]> {
    let mut numbers = [0; DEGREE];
    for number in &mut numbers {
        *number = getrandom::u32().map_err(|error| Error::NoRandomness {
            reason: error.to_string(),
        })?;
    }
    Ok(numbers)
}

/// A window of the numbers' range.
pub(super) struct Window<'c> {
    check: &'c Check,
    len: usize,
    base: u32,
    most: u32,
    /// The product of r − i for all i below this is known.
    first: u32,
    product: Element,
    threads: usize,
    blocks: usize,
}

impl Window<'_> {
    /// Rows of the grid: the given numbers, and those whose product is not known.
    fn rows(&self) -> usize {
        1 + usize::from(self.first < self.most)
    }

    /// Where the results are in the memory for products, in words.
    pub(super) fn results(&self) -> Range<usize> {
        let blocks = self.rows() * self.blocks;
        blocks * DEGREE..(blocks + self.rows()) * DEGREE
    }

    /// Starts the kernels.
    ///
    /// # Safety
    /// There are `len` numbers at `numbers`, aligned to 16 bytes, and memory for the products up to
    /// the results' end. Both stay until the kernels have finished.
    pub(super) unsafe fn start(
        &self,
        queue: &dyn Queue,
        numbers: u64,
        products: u64,
    ) -> Result<()> {
        let Self { check, blocks, .. } = self;
        let shape = |blocks: [usize; 2], threads: usize| {
            Shape::new((blocks[0] as u32, blocks[1] as u32), threads as u32)
        };
        let (len, fresh) = (self.len as u64, u64::from(self.most - self.first));
        let (count, point) = (*blocks as u32, &check.point.0);
        let fingerprint = [
            Argument::new(&numbers),
            Argument::new(&len),
            Argument::new(&self.base),
            Argument::new(&self.most),
            Argument::new(&fresh),
            Argument::new(&self.first),
            Argument::new(point),
            Argument::new(&products),
        ];
        let combine = [
            Argument::new(&products),
            Argument::new(&count),
            Argument::new(point),
        ];
        let rows = self.rows();
        // SAFETY: the kernels have these parameters, and read and write what the caller promises.
        unsafe {
            let grid = shape([*blocks, rows], self.threads);
            (check.fingerprint).launch(queue, grid, &fingerprint)?;
            let threads = (*blocks).min(THREADS).next_power_of_two();
            (check.combine).launch(queue, shape([rows, 1], threads), &combine)
        }
    }

    /// Whether the results say that each number of the window is there once.
    pub(super) fn is_full(&self, results: &[u32]) -> bool {
        let point = &self.check.point;
        let (results, _) = results.as_chunks::<DEGREE>();
        let mut results = results.iter().map(|result| result.map(|number| number % P));
        let given = results.next();
        let mut expected = self.product;
        if let Some(fresh) = results.next() {
            expected = point.product(expected, fresh);
            self.check.remember(self.most, expected);
        }
        let others = point.minus_times(self.most, ONE);
        let others = point.power(others, self.len as u64 - u64::from(self.most));
        given == Some(point.product(expected, others))
    }
}
