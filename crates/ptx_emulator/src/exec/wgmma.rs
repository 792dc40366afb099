//! `wgmma.mma_async`: a warp's 16 rows of the product. Sums are accumulated in double precision and
//! rounded once; PTX leaves order and rounding open.

use super::frame::{ALL, Frame, Row64, lanes};
use super::memory::Memory;
use super::observe::{Observer, Seen};
use super::raise::{Checked, raise};
use crate::decode::op::{Element, GroupMultiply, MatrixOp, Reg};
use crate::fault::{Access, FaultKind, Space};

/// Rows per warp.
const ROWS: usize = 16;
/// Bytes that are contiguous in every layout.
const CHUNK: u64 = 16;

/// A matrix in shared memory, from its descriptor.
struct Layout {
    start: u64,
    /// Bytes between groups of 8 rows, or of chunks; which one depends on the layout.
    leading: u64,
    stride: u64,
    /// Width of the swizzle in bytes: 128, 64 or 32, or 16 for none.
    swizzle: u64,
}

impl Layout {
    fn read(descriptor: u64) -> Result<Self, String> {
        let field = |shift: u32| (descriptor >> shift & 0x3fff) << 4;
        if descriptor >> 49 & 7 != 0 {
            return Err("a wgmma descriptor with a base offset".to_owned());
        }
        Ok(Self {
            start: field(0),
            leading: field(16),
            stride: field(32),
            swizzle: [16, 128, 64, 32][(descriptor >> 62) as usize],
        })
    }

    /// The 16-byte chunk of a row of a or a column of b, for K-major matrices.
    fn along(&self, row: u64, chunk: u64) -> u64 {
        let inside = match self.swizzle {
            16 => row % 8 * CHUNK + chunk * self.leading,
            width => row % 8 * width + chunk * CHUNK,
        };
        self.swizzled(self.start + row / 8 * self.stride + inside)
    }

    /// The chunk of 8 elements at depth `depth` of a or b, for MN-major matrices.
    fn across(&self, depth: u64, eighth: u64) -> u64 {
        let per_row = self.swizzle / CHUNK;
        let inside = depth % 8 * self.swizzle + eighth % per_row * CHUNK;
        let outside = match self.swizzle {
            16 => depth / 8 * self.leading + eighth * self.stride,
            _ => depth / 8 * self.stride + eighth / per_row * self.leading,
        };
        self.swizzled(self.start + inside + outside)
    }

    /// Address bits from bit 7 on permute the chunks of a row.
    fn swizzled(&self, address: u64) -> u64 {
        let mask = self.swizzle / CHUNK - 1;
        address ^ (address >> 7 & mask) << 4
    }
}

/// Reads the matrices of one instruction.
struct Reader<'r, 'm, O: ?Sized> {
    memory: &'r mut Memory<'m>,
    frame: &'r Frame<'r>,
    observer: &'r mut O,
    pc: u32,
}

impl<O: Observer + ?Sized> Reader<'_, '_, O> {
    /// `rows` times `depth` elements, row-major, starting at row `first`.
    fn matrix(
        &mut self,
        element: Element,
        (descriptor, transposed): (Reg, bool),
        (first, rows): (usize, usize),
    ) -> Checked<Vec<f64>> {
        let values = self.frame.get(descriptor, 0);
        if (1..32).any(|lane| self.frame.get(descriptor, lane) != values) {
            let problem = "lanes give wgmma different descriptors".to_owned();
            return Err(raise(0, FaultKind::InvalidOperand { problem }));
        }
        let layout =
            Layout::read(values).map_err(|form| raise(0, FaultKind::Unsupported { form }))?;
        let size = element.bytes();
        let depth = 32 / size;
        let per_chunk = CHUNK as usize / size;
        // Each chunk's address, and the index of its first element.
        let chunks: Vec<(u64, usize, usize)> = if transposed {
            let eighths = (0..depth).flat_map(|k| (0..rows / 8).map(move |eighth| (k, eighth)));
            let chunk = |(k, eighth): (usize, usize)| {
                let address = layout.across(k as u64, (first / 8 + eighth) as u64);
                (address, 8 * eighth, k)
            };
            eighths.map(chunk).collect()
        } else {
            let chunks = (0..rows).flat_map(|row| (0..2).map(move |chunk| (row, chunk)));
            let chunk = |(row, chunk): (usize, usize)| {
                let address = layout.along((first + row) as u64, chunk as u64);
                (address, row, per_chunk * chunk)
            };
            chunks.map(chunk).collect()
        };
        let mut elements = vec![0.0; rows * depth];
        for chunks in chunks.chunks(32) {
            let mut addresses: Row64 = [chunks[0].0; 32];
            for (address, chunk) in addresses.iter_mut().zip(chunks) {
                *address = chunk.0;
            }
            let mask = ALL >> (32 - chunks.len());
            self.fetch(&addresses, mask)?;
            for &(address, row, column) in chunks {
                for part in 0..per_chunk {
                    let offset = address + (part * size) as u64;
                    let word = self.memory.load_shared_word(offset) >> (8 * (offset & 3));
                    let bits = u64::from(word) & element.mask();
                    let at = match transposed {
                        true => (row + part) * depth + column,
                        false => row * depth + column + part,
                    };
                    elements[at] = (element.read)(bits);
                }
            }
        }
        Ok(elements)
    }

    /// Checks 16-byte chunks and reports them to the observer.
    fn fetch(&mut self, addresses: &Row64, mask: u32) -> Checked<()> {
        let kind = (Space::Shared, Access::Read);
        let mut rest = mask;
        while rest != 0 {
            let part = self
                .memory
                .part(kind, addresses, CHUNK as u32, rest, self.pc)?;
            rest &= !part.lanes;
            let seen = Seen::new(part, self.memory.offsets, CHUNK as u32, Access::Read);
            self.observer
                .access(self.pc, &seen, self.frame, self.memory);
        }
        Ok(())
    }
}

#[inline(never)]
pub(super) fn execute<O: Observer + ?Sized>(
    op: &MatrixOp,
    group: &GroupMultiply,
    (frame, memory): (&mut Frame<'_>, &mut Memory<'_>),
    warp: u32,
    pc: u32,
    observer: &mut O,
) -> Checked<()> {
    let depth = group.depth();
    let left_registers = if group.in_registers { 4 } else { 1 };
    let (left, rest) = op.sources.split_at(left_registers);
    let mut reader = Reader {
        memory,
        frame: &*frame,
        observer,
        pc,
    };
    let left = match left {
        &[descriptor] => {
            let first = ROWS * (warp as usize % 4);
            let place = (descriptor, group.left_transposed);
            reader.matrix(group.a, place, (first, ROWS))?
        }
        registers => in_registers(group.a, registers, frame),
    };
    let right = (rest[0], group.transposed);
    let right = reader.matrix(group.b, right, (0, group.columns))?;
    let adds = group.adds.lanes(frame.predicates);
    if adds != 0 && adds != ALL {
        let problem = "lanes give wgmma different predicates".to_owned();
        return Err(raise(0, FaultKind::InvalidOperand { problem }));
    }
    let per = group.d.per_register();
    for (number, &register) in op.targets.iter().enumerate() {
        // Pairs of columns, alternating between two rows.
        let (pair, first) = (number * per / 2, number * per % 2);
        for lane in lanes(ALL) {
            let row = lane / 4 + 8 * (pair % 2);
            let before = frame.get(register, lane);
            let mut after = 0;
            for part in 0..per {
                let column = 8 * (pair / 2) + 2 * (lane % 4) + first + part;
                let shift = group.d.bits * part;
                let start = match adds {
                    0 => 0.0,
                    _ => (group.d.read)(before >> shift & group.d.mask()),
                };
                let products = left[row * depth..][..depth]
                    .iter()
                    .zip(&right[column * depth..][..depth])
                    .map(|(x, y)| if group.negates { -x * y } else { x * y });
                let sum = products.fold(start, |sum, product| sum + product);
                after |= ((group.d.write)(sum) & group.d.mask()) << shift;
            }
            frame.put(register, lane, after);
        }
    }
    Ok(())
}

/// The 16 rows of a in a warp's registers: as in `mma`, the second and fourth register are 8 rows
/// further down.
fn in_registers(element: Element, registers: &[Reg], frame: &Frame<'_>) -> Vec<f64> {
    let per = element.per_register();
    let depth = 8 * per;
    let mut elements = vec![0.0; ROWS * depth];
    for (number, &register) in registers.iter().enumerate() {
        for lane in lanes(ALL) {
            let row = lane / 4 + 8 * (number % 2);
            let bits = frame.get(register, lane);
            for part in 0..per {
                let column = per * (lane % 4 + 4 * (number / 2)) + part;
                let bits = bits >> (element.bits * part) & element.mask();
                elements[row * depth + column] = (element.read)(bits);
            }
        }
    }
    elements
}
