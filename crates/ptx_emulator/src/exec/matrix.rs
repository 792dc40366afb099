//! Matrix instructions of a whole warp.

use super::frame::{Frame, Row32};
use super::memory::{Memory, Region};
use super::observe::{Observer, Seen};
use super::trouble::{Checked, trouble};
use crate::decode::op::MatrixOp;
use crate::fault::{Access, FaultKind};

#[inline(never)]
pub(super) fn execute<O: Observer>(
    op: &MatrixOp,
    frame: &mut Frame<'_>,
    memory: &mut Memory<'_>,
    mask: u32,
    pc: u32,
    observer: &mut O,
) -> Checked<()> {
    if mask != u32::MAX {
        let kind = FaultKind::WarpSync {
            form: "a matrix instruction".to_owned(),
            members: u32::MAX,
            active: mask,
            problem: "it needs all 32 lanes of the warp".to_owned(),
        };
        return Err(trouble(mask.trailing_zeros() as usize & 31, kind));
    }
    match op {
        MatrixOp::MmaTf32 { d, a, b, c } => {
            let a = a.map(|row| *frame.r32(row));
            let b = b.map(|row| *frame.r32(row));
            let c = c.map(|row| *frame.r32(row));
            for (values, &row) in multiply(&a, &b, &c).iter().zip(d) {
                frame.set32(row, values, mask);
            }
        }
        MatrixOp::LoadMatrix {
            d,
            address,
            transposed,
            space,
        } => {
            // Lane 8m + r holds the address of row r of matrix m; each row has 16 bytes.
            let addresses = frame.addresses(*address);
            let lanes = u32::MAX >> (32 - 8 * d.len() as u32);
            let part = memory.part((*space, Access::Read), &addresses, 16, lanes, pc)?;
            if !matches!(part.region, Region::Shared) || part.lanes != lanes {
                let form = "ldmatrix from other than shared memory".to_owned();
                return Err(trouble(0, FaultKind::Unsupported { form }));
            }
            observer.access(
                pc,
                &Seen::new(part, memory.offsets, 16, Access::Read),
                frame,
                memory,
            );
            for (matrix, &row) in d.iter().enumerate() {
                let half = |r: usize, column: usize| {
                    let offset = memory.offsets[8 * matrix + r] + 2 * column as u64;
                    (memory.load_shared_word(offset) >> (8 * (offset & 2))) & 0xffff
                };
                let pair = |lane: usize| {
                    let (major, minor) = (lane / 4, 2 * (lane % 4));
                    if *transposed {
                        half(minor, major) | half(minor + 1, major) << 16
                    } else {
                        half(major, minor) | half(major, minor + 1) << 16
                    }
                };
                let values: Row32 = std::array::from_fn(pair);
                frame.set32(row, &values, mask);
            }
        }
    }
    Ok(())
}

/// 16×8 times 8×8 plus 16×8, spread over the lanes as `mma.m16n8k8` has it (g = lane / 4, t = lane % 4):
/// a0 (g, t), a1 (g + 8, t), a2 (g, t + 4), a3 (g + 8, t + 4); b0 (t, g), b1 (t + 4, g);
/// c0, c1 (g, 2t + {0, 1}), c2, c3 (g + 8, …).
///
/// Operands lose their 13 low bits; sums are made in double precision and rounded once. PTX leaves both open.
fn multiply(a: &[Row32; 4], b: &[Row32; 2], c: &[Row32; 4]) -> [Row32; 4] {
    let tf32 = |bits: u32| f64::from(f32::from_bits(bits & !0x1fff));
    let left = |row: usize, k: usize| tf32(a[row / 8 + 2 * (k / 4)][4 * (row % 8) + k % 4]);
    let right = |k: usize, column: usize| tf32(b[k / 4][4 * column + k % 4]);
    std::array::from_fn(|register| {
        std::array::from_fn(|lane| {
            let row = lane / 4 + 8 * (register / 2);
            let column = 2 * (lane % 4) + register % 2;
            let start = f64::from(f32::from_bits(c[register][lane]));
            let sum = (0..8).fold(start, |sum, k| sum + left(row, k) * right(k, column)) as f32;
            if sum.is_nan() {
                0x7fff_ffff
            } else {
                sum.to_bits()
            }
        })
    })
}
