//! `cp.async.bulk.tensor`: boxes of tensors, copied at issue.

use super::atomics;
use super::bulk::targets;
use super::frame::{Frame, Row64, lanes};
use super::memory::Memory;
use super::observe::{Observer, Seen};
use super::raise::Checked;
use super::texture::invalid;
use crate::decode::op::{AtomicKind, CopyTensor, Direction, Half, Reduction, Reg};
use crate::fault::{Access, Space};
use crate::tensor::{MAP_BYTES, TensorElement, TensorMap};

/// Bytes that stay contiguous in shared memory.
const PIECE: u32 = 16;
/// Alignment of a map, and of a box in shared memory.
const MAP_ALIGNMENT: u64 = 64;
const BOX_ALIGNMENT: u64 = 128;

/// One copy and its surroundings.
struct Mover<'c, 'm, O: ?Sized> {
    map: &'c TensorMap,
    reduction: Option<AtomicKind>,
    frame: &'c Frame<'c>,
    memory: &'c mut Memory<'m>,
    lane: usize,
    pc: u32,
    observer: &'c mut O,
}

#[inline(never)]
pub(super) fn execute<O: Observer + ?Sized>(
    op: &CopyTensor,
    frame: &mut Frame<'_>,
    memory: &mut Memory<'_>,
    mask: u32,
    pc: u32,
    observer: &mut O,
) -> Checked<()> {
    let (maps, shared) = (frame.addresses(op.map), frame.addresses(op.shared.1));
    for lane in lanes(mask) {
        let map =
            read_map(memory, maps[lane], lane, pc).map_err(|problem| invalid(lane, problem))?;
        if map.extents.len() != op.coordinates.len() {
            let problem = format!(
                "a copy of {} dimensions through a tensor map of {}",
                op.coordinates.len(),
                map.extents.len()
            );
            return Err(invalid(lane, problem));
        }
        if !shared[lane].is_multiple_of(BOX_ALIGNMENT) {
            let problem = "the box in shared memory is not aligned to 128 bytes".to_owned();
            return Err(invalid(lane, problem));
        }
        let coordinate = |&row: &u16| i64::from(frame.r32(row)[lane] as i32);
        let first: Vec<i64> = op.coordinates.iter().map(coordinate).collect();
        let byte = first[0] * i64::from(map.element.bytes());
        if byte % i64::from(PIECE) != 0 {
            let problem = format!(
                "the box begins at byte {byte} of a row, which is not a multiple of {PIECE}"
            );
            return Err(invalid(lane, problem));
        }
        let is_before = first.iter().any(|&at| at < 0);
        if is_before && !matches!(op.direction, Direction::Load { .. }) {
            let problem = format!("a box is written at {first:?}: an H200 faults below 0");
            return Err(invalid(lane, problem));
        }
        let blocks = match op.direction {
            Direction::Load { blocks, .. } => blocks,
            _ => None,
        };
        let reduction = match op.direction {
            Direction::Reduce(reduction) => {
                let kind = kind_of(reduction, map.element);
                Some(kind.ok_or_else(|| invalid(lane, no_reduction(reduction, map.element)))?)
            }
            _ => None,
        };
        for shared in targets(&shared, blocks, frame, lane) {
            let mut mover = Mover {
                map: &map,
                reduction,
                frame: &*frame,
                memory: &mut *memory,
                lane,
                pc,
                observer: &mut *observer,
            };
            let is_load = matches!(op.direction, Direction::Load { .. });
            mover.copy((op.shared.0, &shared), &first, is_load)?;
        }
        if let Direction::Load { bytes, .. } = op.direction {
            frame.put(Reg::R32(bytes), lane, map.box_bytes().into());
        }
    }
    Ok(())
}

fn read_map(
    memory: &mut Memory<'_>,
    address: u64,
    lane: usize,
    pc: u32,
) -> Result<TensorMap, String> {
    let mut bytes = [0; MAP_BYTES];
    for (at, byte) in (0..).zip(&mut bytes) {
        let found = address
            .checked_add(at)
            .and_then(|at| memory.byte(at, lane, pc));
        *byte = found.ok_or_else(|| format!("no tensor map lies at {address:#x}"))?;
    }
    if !address.is_multiple_of(MAP_ALIGNMENT) {
        return Err(format!(
            "the tensor map at {address:#x} is not aligned to 64 bytes"
        ));
    }
    TensorMap::decode(&bytes).map_err(|problem| {
        format!("what lies at {address:#x} is no tensor map of this emulator: {problem}")
    })
}

impl<O: Observer + ?Sized> Mover<'_, '_, O> {
    /// Copies the box that starts at `first`, row by row.
    fn copy(
        &mut self,
        (space, shared): (Space, &Row64),
        first: &[i64],
        loads: bool,
    ) -> Checked<()> {
        let counts = self.map.box_counts();
        let size = self.map.element.bytes();
        let per_piece = PIECE / size;
        let mut to = *shared;
        let mut place = vec![0; counts.len()];
        loop {
            for piece in (0..counts[0]).step_by(per_piece as usize) {
                let elements = (piece..piece + per_piece).map(|x| {
                    let steps = std::iter::once(x).chain(place[1..].iter().copied());
                    let strides = first.iter().zip(self.map.steps());
                    let at = strides.zip(steps).map(|((&first, stride), step)| {
                        first + i64::from(stride) * i64::from(step)
                    });
                    let mut at = at.collect::<Vec<_>>();
                    // An H200 writes whole pieces: the one that holds a row's last element goes
                    // past it.
                    let last = self.map.extents[0] as i64 - 1;
                    let is_of_last_piece =
                        at[0] / i64::from(per_piece) == last / i64::from(per_piece);
                    let past = match loads || !is_of_last_piece {
                        true => 0,
                        false => (at[0] - last).max(0),
                    };
                    at[0] -= past;
                    let address = self.map.element_at(&at)?;
                    Some(address + past as u64 * u64::from(size))
                });
                let elements: Vec<Option<u64>> = elements.collect();
                let mut swizzled = to;
                swizzled[self.lane] = self.map.swizzle.place(to[self.lane]);
                if loads {
                    self.load(&elements, (space, &swizzled))?;
                } else {
                    self.store(&elements, (space, &swizzled))?;
                }
                to[self.lane] = to[self.lane].wrapping_add(u64::from(PIECE));
            }
            // The next row, innermost dimension first.
            let mut axis = 1;
            loop {
                match place.get_mut(axis) {
                    None => return Ok(()),
                    Some(at) if *at + 1 < counts[axis] => {
                        *at += 1;
                        break;
                    }
                    Some(at) => *at = 0,
                }
                axis += 1;
            }
        }
    }

    /// Elements that are accessed together: a whole piece if it is contiguous, single elements
    /// otherwise.
    fn groups(&self, elements: &[Option<u64>]) -> Vec<(usize, u64, u32)> {
        let size = self.map.element.bytes();
        let each = |at: usize, address: u64| (at * size as usize, address, size);
        let start = elements[0].filter(|start| start.is_multiple_of(PIECE.into()));
        let follows = |(at, element): (usize, &Option<u64>)| {
            *element == start.map(|start| start + at as u64 * u64::from(size))
        };
        match start {
            Some(start) if elements.iter().enumerate().all(follows) => vec![(0, start, PIECE)],
            _ => {
                let inside = elements.iter().enumerate();
                let inside =
                    inside.filter_map(|(at, element)| element.map(|address| each(at, address)));
                inside.collect()
            }
        }
    }

    fn load(&mut self, elements: &[Option<u64>], target: (Space, &Row64)) -> Checked<()> {
        let mut bytes = [0; PIECE as usize];
        for (at, address, size) in self.groups(elements) {
            let found = self.read((Space::Global, &[address; 32]), size)?;
            bytes[at..at + size as usize].copy_from_slice(&found[..size as usize]);
        }
        self.write(target, &bytes, None)
    }

    fn store(&mut self, elements: &[Option<u64>], source: (Space, &Row64)) -> Checked<()> {
        let bytes = self.read(source, PIECE)?;
        for (at, address, size) in self.groups(elements) {
            let part = &bytes[at..at + size as usize];
            self.write((Space::Global, &[address; 32]), part, self.reduction)?;
        }
        Ok(())
    }

    fn read(
        &mut self,
        (space, addresses): (Space, &Row64),
        size: u32,
    ) -> Checked<[u8; PIECE as usize]> {
        let lane = 1 << self.lane;
        let kind = (space, Access::Read);
        let part = self.memory.part(kind, addresses, size, lane, self.pc)?;
        let seen = Seen::new(part, self.memory.offsets, size, Access::Read);
        self.observer
            .access(self.pc, &seen, self.frame, self.memory);
        let mut bytes = [0; PIECE as usize];
        for (at, byte) in (0..).zip(&mut bytes[..size as usize]) {
            *byte = self.memory.load_byte(&part, at, self.lane);
        }
        Ok(bytes)
    }

    /// Writes an element or a piece, or reduces into it.
    fn write(
        &mut self,
        (space, addresses): (Space, &Row64),
        bytes: &[u8],
        reduction: Option<AtomicKind>,
    ) -> Checked<()> {
        let access = if reduction.is_some() {
            Access::Atomic
        } else {
            Access::Write
        };
        let size = bytes.len() as u32;
        let lane = 1 << self.lane;
        let part = self
            .memory
            .part((space, access), addresses, size, lane, self.pc)?;
        let seen = Seen::new(part, self.memory.offsets, size, access);
        self.observer
            .access(self.pc, &seen, self.frame, self.memory);
        let element = match reduction {
            Some(_) => self.map.element.bytes() as usize,
            None => bytes.len().min(8),
        };
        for value in bytes.chunks_exact(element) {
            let value = value
                .iter()
                .rev()
                .fold(0, |value, &byte| value << 8 | u64::from(byte));
            let offset = self.memory.offsets[self.lane];
            match reduction {
                Some(kind) => {
                    let size = element as u8;
                    let change = |old| atomics::change((kind, size), old, [value, 0], false);
                    self.memory.update(part.region, offset, size, change);
                }
                None => self.memory.scatter(&part, element as u32, &[value; 32]),
            }
            self.memory.offsets[self.lane] = offset + element as u64;
        }
        Ok(())
    }
}

/// The atomic operation of a reduction for an element type.
fn kind_of(reduction: Reduction, element: TensorElement) -> Option<AtomicKind> {
    use TensorElement as E;
    Some(match (reduction, element) {
        (Reduction::Add, E::U32 | E::S32 | E::U64 | E::S64) => AtomicKind::Add,
        (Reduction::Add, E::F16) => AtomicKind::AddHalf(Half::F16),
        (Reduction::Add, E::BF16) => AtomicKind::AddHalf(Half::BF16),
        (Reduction::Add, E::F32) => AtomicKind::AddF32,
        (Reduction::Min, E::F16) => AtomicKind::MinHalf(Half::F16),
        (Reduction::Min, E::BF16) => AtomicKind::MinHalf(Half::BF16),
        (Reduction::Max, E::F16) => AtomicKind::MaxHalf(Half::F16),
        (Reduction::Max, E::BF16) => AtomicKind::MaxHalf(Half::BF16),
        (Reduction::Min, E::U32 | E::U64) => AtomicKind::MinUnsigned,
        (Reduction::Max, E::U32 | E::U64) => AtomicKind::MaxUnsigned,
        (Reduction::Min, E::S32 | E::S64) => AtomicKind::MinSigned,
        (Reduction::Max, E::S32 | E::S64) => AtomicKind::MaxSigned,
        (Reduction::Increment, E::U32) => AtomicKind::Increment,
        (Reduction::Decrement, E::U32) => AtomicKind::Decrement,
        (Reduction::And, E::U32 | E::S32 | E::U64 | E::S64) => AtomicKind::And,
        (Reduction::Or, E::U32 | E::S32 | E::U64 | E::S64) => AtomicKind::Or,
        (Reduction::Xor, E::U32 | E::S32 | E::U64 | E::S64) => AtomicKind::Xor,
        _ => return None,
    })
}

fn no_reduction(reduction: Reduction, element: TensorElement) -> String {
    format!("a tensor map of {element:?} elements cannot be reduced by {reduction:?}")
}
