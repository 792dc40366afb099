//! Warp-level matrix instructions.

use super::frame::{ALL, Frame, Row32, Row64};
use super::memory::{Memory, Region};
use super::observe::{Observer, Seen};
use super::raise::{Checked, raise};
use super::wgmma;
use crate::decode::fragment::{Fragment, opaque_place};
use crate::decode::op::{Address, MatrixKind, MatrixOp, Multiply, Reg, StoredMatrix};
use crate::fault::{Access, FaultKind, Space};

/// Largest number of elements of a matrix, for elements of at least a byte and for narrower ones.
const ELEMENTS: usize = 512;
const NARROW_ELEMENTS: usize = 4096;

#[inline(never)]
pub(super) fn execute<O: Observer + ?Sized>(
    op: &MatrixOp,
    frame: &mut Frame<'_>,
    memory: &mut Memory<'_>,
    mask: u32,
    pc: u32,
    observer: &mut O,
    warp: u32,
) -> Checked<()> {
    if mask != ALL {
        let kind = FaultKind::WarpSync {
            form: "a matrix instruction".to_owned(),
            members: ALL,
            active: mask,
            problem: "it needs all 32 lanes of the warp".to_owned(),
        };
        return Err(raise(mask.trailing_zeros() as usize & 31, kind));
    }
    match (&op.kind, op.memory) {
        (MatrixKind::Multiply(multiply), _) if multiply.a.bits < 8 => {
            product::<NARROW_ELEMENTS>(op, multiply, frame);
        }
        (MatrixKind::Multiply(multiply), _) => product::<ELEMENTS>(op, multiply, frame),
        (MatrixKind::Group(group), _) => {
            wgmma::execute(op, group, (frame, memory), warp, pc, observer)?;
        }
        (MatrixKind::Transpose, _) => {
            let values = read(frame, op.sources[0]);
            let half = |row: usize, column: usize| {
                values[4 * row + column / 2] >> (16 * (column % 2)) & 0xffff
            };
            write(
                frame,
                op.targets[0],
                &pairs(|row, column| half(column, row)),
            );
        }
        (MatrixKind::Load(tile), Some(at)) => load(op, tile, at, frame, memory, pc, observer)?,
        (MatrixKind::Store(tile), Some(at)) => store(op, tile, at, frame, memory, pc, observer)?,
        (&MatrixKind::LoadMatrix { transposed }, Some(at)) => {
            let offsets = rows(
                op.targets.len(),
                (at, Access::Read),
                frame,
                memory,
                pc,
                observer,
            )?;
            for (matrix, &register) in op.targets.iter().enumerate() {
                let half = |row: usize, column: usize| {
                    let offset = offsets[8 * matrix + row] + 2 * column as u64;
                    u64::from(memory.load_shared_word(offset) >> (8 * (offset & 2)) & 0xffff)
                };
                let values = pairs(|row, column| {
                    if transposed {
                        half(column, row)
                    } else {
                        half(row, column)
                    }
                });
                write(frame, register, &values);
            }
        }
        (&MatrixKind::StoreMatrix { transposed }, Some(at)) => {
            let offsets = rows(
                op.sources.len(),
                (at, Access::Write),
                frame,
                memory,
                pc,
                observer,
            )?;
            for (matrix, &register) in op.sources.iter().enumerate() {
                for row in 0..8 {
                    for pair in 0..4 {
                        let element =
                            |column| stored_element(frame, register, transposed, (row, column));
                        let word = element(2 * pair) | element(2 * pair + 1) << 16;
                        let offset = offsets[8 * matrix + row] + 4 * pair as u64;
                        memory.store_shared_word(offset, word as u32);
                    }
                }
            }
        }
        (_, None) => {}
    }
    Ok(())
}

/// The element that `stmatrix` stores at a row and column.
pub(crate) fn stored_element(
    frame: &Frame<'_>,
    register: Reg,
    transposed: bool,
    (row, column): (usize, usize),
) -> u64 {
    let (row, column) = if transposed {
        (column, row)
    } else {
        (row, column)
    };
    frame.get(register, 4 * row + column / 2) >> (16 * (column % 2)) & 0xffff
}

/// The lanes' share of an 8×8 matrix: lane 4r + c holds the elements 2c and 2c + 1 of row r.
fn pairs(element: impl Fn(usize, usize) -> u64) -> Row64 {
    std::array::from_fn(|lane| {
        let (row, column) = (lane / 4, 2 * (lane % 4));
        element(row, column) | element(row, column + 1) << 16
    })
}

fn read(frame: &Frame<'_>, register: Reg) -> Row64 {
    match register {
        Reg::R16(row) | Reg::R32(row) => frame.r32(row).map(u64::from),
        Reg::R64(row) => *frame.r64(row),
    }
}

fn write(frame: &mut Frame<'_>, register: Reg, values: &Row64) {
    match register {
        Reg::R16(row) | Reg::R32(row) => {
            let values: Row32 = values.map(|value| value as u32);
            frame.set32(row, &values, ALL);
        }
        Reg::R64(row) => frame.set64(row, values, ALL),
    }
}

/// Offsets of the rows of `ldmatrix` and `stmatrix`: lane 8m + r holds the address of row r of
/// matrix m; each row has 16 bytes.
fn rows<O: Observer + ?Sized>(
    matrices: usize,
    ((space, address), access): ((Space, Address), Access),
    frame: &Frame<'_>,
    memory: &mut Memory<'_>,
    pc: u32,
    observer: &mut O,
) -> Checked<Row64> {
    let addresses = frame.addresses(address);
    let lanes = ALL >> (32 - 8 * matrices as u32);
    let part = memory.part((space, access), &addresses, 16, lanes, pc)?;
    if part.lanes != lanes {
        // The other rows are in another region, or nowhere.
        memory.part((space, access), &addresses, 16, lanes & !part.lanes, pc)?;
    }
    if !matches!(part.region, Region::Shared) || part.lanes != lanes {
        let form = "a matrix's row in other than shared memory".to_owned();
        return Err(raise(0, FaultKind::Unsupported { form }));
    }
    observer.access(
        pc,
        &Seen::new(part, memory.offsets, 16, access),
        frame,
        memory,
    );
    Ok(*memory.offsets)
}

/// A matrix, row-major.
fn elements<const N: usize>(fragment: &Fragment<'_>, frame: &Frame<'_>) -> [f64; N] {
    let mut elements = [0.0; N];
    let mask = fragment.element.mask();
    fragment.for_each(|register, shift, lane, row, column| {
        let bits = frame.get(register, lane) >> shift & mask;
        elements[row * fragment.columns + column] = (fragment.element.read)(bits);
    });
    elements
}

fn set_elements(fragment: &Fragment<'_>, frame: &mut Frame<'_>, elements: &[f64]) {
    let mask = fragment.element.mask();
    fragment.for_each(|register, shift, lane, row, column| {
        let bits = (fragment.element.write)(elements[row * fragment.columns + column]) & mask;
        let kept = frame.get(register, lane) & !(mask << shift);
        frame.put(register, lane, kept | bits << shift);
    });
}

/// Accumulates in double precision and rounds once; PTX leaves order and rounding open. Integers
/// are exact.
fn product<const N: usize>(op: &MatrixOp, multiply: &Multiply, frame: &mut Frame<'_>) {
    let [m, n, k] = multiply.shape;
    let [a, b, c, d] = multiply.fragments(op);
    let (left, right) = (elements::<N>(&a, frame), elements::<N>(&b, frame));
    let mut sums = elements::<ELEMENTS>(&c, frame);
    let fused = multiply.a.bits == 64;
    for row in 0..m {
        for column in 0..n {
            let terms = (0..k).map(|k_| (left[row * k + k_], right[k_ * n + column]));
            let sum = &mut sums[row * n + column];
            *sum = terms.fold(*sum, |sum, (x, y)| {
                if fused {
                    x.mul_add(y, sum)
                } else if multiply.exclusive {
                    sum + (x - y).abs()
                } else {
                    sum + x * y
                }
            });
        }
    }
    set_elements(&d, frame, &sums);
}

/// Addresses of one element slot of a fragment in all lanes.
fn slot_addresses(
    tile: &StoredMatrix,
    slots: usize,
    slot: usize,
    address: Address,
    frame: &Frame<'_>,
) -> Checked<Row64> {
    let bases = frame.addresses(address);
    let dense = if tile.by_column {
        tile.rows
    } else {
        tile.columns
    } as u32;
    let strides = tile.stride.map_or([dense; 32], |row| *frame.r32(row));
    if bases.iter().any(|&base| base != bases[0]) || strides.iter().any(|&s| s != strides[0]) {
        let problem = "lanes give wmma different addresses or strides".to_owned();
        return Err(raise(0, FaultKind::InvalidOperand { problem }));
    }
    Ok(std::array::from_fn(|lane| {
        let (row, column) = opaque_place((tile.rows, tile.columns), slots, slot, lane);
        let (major, minor) = if tile.by_column {
            (column, row)
        } else {
            (row, column)
        };
        let index = u64::from(strides[0]) * major as u64 + minor as u64;
        bases[0].wrapping_add(tile.element.bytes() as u64 * index)
    }))
}

fn load<O: Observer + ?Sized>(
    op: &MatrixOp,
    tile: &StoredMatrix,
    (space, address): (Space, Address),
    frame: &mut Frame<'_>,
    memory: &mut Memory<'_>,
    pc: u32,
    observer: &mut O,
) -> Checked<()> {
    let (per, size) = (tile.element.per_register(), tile.element.bytes() as u32);
    let slots = per * op.targets.len();
    for (number, &register) in op.targets.iter().enumerate() {
        let mut values = [0; 32];
        for part in 0..per {
            let addresses = slot_addresses(tile, slots, per * number + part, address, frame)?;
            let found = memory.part((space, Access::Read), &addresses, size, ALL, pc)?;
            observer.access(
                pc,
                &Seen::new(found, memory.offsets, size, Access::Read),
                frame,
                memory,
            );
            let elements = memory.gather(&found, size);
            for (value, element) in values.iter_mut().zip(elements) {
                *value |= element << (8 * tile.element.bytes() * part);
            }
        }
        write(frame, register, &values);
    }
    Ok(())
}

fn store<O: Observer + ?Sized>(
    op: &MatrixOp,
    tile: &StoredMatrix,
    (space, address): (Space, Address),
    frame: &Frame<'_>,
    memory: &mut Memory<'_>,
    pc: u32,
    observer: &mut O,
) -> Checked<()> {
    let (per, size) = (tile.element.per_register(), tile.element.bytes() as u32);
    let slots = per * op.sources.len();
    for (number, &register) in op.sources.iter().enumerate() {
        let values = read(frame, register);
        for part in 0..per {
            let addresses = slot_addresses(tile, slots, per * number + part, address, frame)?;
            let found = memory.part((space, Access::Write), &addresses, size, ALL, pc)?;
            observer.access(
                pc,
                &Seen::new(found, memory.offsets, size, Access::Write),
                frame,
                memory,
            );
            let shift = 8 * tile.element.bytes() * part;
            memory.scatter(&found, size, &values.map(|value| value >> shift));
        }
    }
    Ok(())
}
