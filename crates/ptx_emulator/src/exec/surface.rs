//! `suld`, `sust` and `sured`.

use super::atomics;
use super::frame::{Frame, Row64, lanes};
use super::memory::Memory;
use super::observe::{Observer, Seen};
use super::raise::{Checked, raise};
use super::texture::{invalid, no_handle};
use crate::decode::op::{Element, NO_ROW, Outside, Reg, SurfaceKind, SurfaceOp, Transfer, Width};
use crate::fault::{Access, FaultKind, Space};
use crate::texture::{Channel, Image};

impl SurfaceOp {
    /// The kind of access and its size; for texels, the image's.
    fn access(&self) -> (Access, Option<u32>) {
        match &self.kind {
            SurfaceKind::Load(t) => (Access::Read, Some(t.bytes())),
            SurfaceKind::Store(t) => (Access::Write, Some(t.bytes())),
            SurfaceKind::StoreTexel(_) => (Access::Write, None),
            SurfaceKind::Reduce { op, .. } => (Access::Atomic, Some(op.size.into())),
        }
    }

    fn counts_texels(&self) -> bool {
        matches!(
            self.kind,
            SurfaceKind::StoreTexel(_) | SurfaceKind::Reduce { by_texel: true, .. }
        )
    }
}

#[inline(never)]
pub(super) fn execute<O: Observer + ?Sized>(
    op: &SurfaceOp,
    frame: &mut Frame<'_>,
    memory: &mut Memory<'_>,
    mask: u32,
    pc: u32,
    observer: &mut O,
) -> Checked<()> {
    let handles = *frame.r64(op.point.handle);
    let (access, bytes) = op.access();
    let mut rest = mask;
    // Lanes with the same surface together.
    while let Some(first) = lanes(rest).next() {
        let same = lanes(rest).filter(|&lane| handles[lane] == handles[first]);
        let group = same.fold(0, |group, lane| group | 1 << lane);
        rest &= !group;
        let table = memory.table;
        let image = table
            .surface(handles[first])
            .ok_or_else(|| no_handle("surface", handles[first], first))?;
        if image.shape != op.point.shape {
            let problem = format!(
                "an access of {:?} dimensions to a surface of {:?}",
                op.point.shape, image.shape
            );
            return Err(invalid(first, problem));
        }
        if let SurfaceKind::StoreTexel(rows) = &op.kind {
            let channels = rows.iter().filter(|&&row| row != NO_ROW).count();
            if channels < image.channels as usize {
                let of = image.channels;
                let problem = format!("a store of {channels} channels to a surface of {of}");
                return Err(invalid(first, problem));
            }
        }
        let bytes = bytes.unwrap_or(image.texel_bytes());
        let mut addresses: Row64 = [0; 32];
        let mut inside = 0;
        for lane in lanes(group) {
            if let Some(address) = place(op, image, (access, bytes), frame, lane)? {
                addresses[lane] = address;
                inside |= 1 << lane;
            }
        }
        if let SurfaceKind::Load(t) = &op.kind {
            let outside = lanes(group & !inside);
            outside.for_each(|lane| registers(t).for_each(|reg| frame.put(reg, lane, 0)));
        }
        while inside != 0 {
            let part = memory.part((Space::Global, access), &addresses, bytes, inside, pc)?;
            inside &= !part.lanes;
            let seen = Seen::new(part, memory.offsets, bytes, access);
            observer.access(pc, &seen, frame, memory);
            match &op.kind {
                SurfaceKind::Load(t) => {
                    for lane in lanes(part.lanes) {
                        let offset = memory.offsets[lane];
                        for (at, reg) in (0..).zip(registers(t)) {
                            let offset = offset + at * u64::from(t.size);
                            frame.put(reg, lane, memory.peek(part.region, offset, t.size.into()));
                        }
                    }
                }
                SurfaceKind::Store(t) => {
                    for reg in registers(t) {
                        let values = std::array::from_fn(|lane| frame.get(reg, lane));
                        memory.scatter(&part, t.size.into(), &values);
                        advance(memory, t.size.into());
                    }
                }
                SurfaceKind::StoreTexel(rows) => {
                    for &row in &rows[..image.channels as usize] {
                        let values = frame.r32(row).map(|bits| converted(image.channel, bits));
                        memory.scatter(&part, image.channel.bytes(), &values);
                        advance(memory, image.channel.bytes());
                    }
                }
                SurfaceKind::Reduce { op, .. } => {
                    for lane in lanes(part.lanes) {
                        let operand = frame.get(op.b, lane);
                        let change =
                            |old: u64| atomics::change((op.kind, op.size), old, [operand, 0], true);
                        memory.update(part.region, memory.offsets[lane], op.size, change);
                    }
                }
            }
        }
    }
    Ok(())
}

/// Advances each lane to its next element.
fn advance(memory: &mut Memory<'_>, bytes: u32) {
    for offset in memory.offsets.iter_mut() {
        *offset += u64::from(bytes);
    }
}

fn registers(t: &Transfer) -> impl Iterator<Item = Reg> {
    let width = t.width;
    let rows = t.rows.into_iter().take(t.count.into());
    rows.filter(|&row| row != NO_ROW)
        .map(move |row| match width {
            Width::R16 => Reg::R16(row),
            Width::R32 => Reg::R32(row),
            Width::R64 => Reg::R64(row),
        })
}

/// The address of a lane's access; `None` if the access is dropped.
fn place(
    op: &SurfaceOp,
    image: &Image,
    (access, bytes): (Access, u32),
    frame: &Frame<'_>,
    lane: usize,
) -> Checked<Option<u64>> {
    let number = |row: u16| i64::from(frame.r32(row)[lane] as i32);
    let mut at = [0; 3];
    for (at, &row) in at.iter_mut().zip(&op.point.coordinates) {
        *at = number(row);
    }
    let layer = op.point.layer.map_or(0, number);
    let unit = if op.counts_texels() {
        image.texel_bytes()
    } else {
        1
    };
    let width = i64::from(image.extents[0]) * i64::from(image.texel_bytes());
    let unit = i64::from(unit);
    // The last position along each axis.
    let last = [
        (width - i64::from(bytes)).div_euclid(unit),
        i64::from(image.extents[1]) - 1,
        i64::from(image.extents[2]) - 1,
        i64::from(image.layers) - 1,
    ];
    let asked = [at[0], at[1], at[2], layer];
    let nearest: [i64; 4] = std::array::from_fn(|axis| asked[axis].min(last[axis]).max(0));
    if nearest != asked || last[0] < 0 {
        match op.outside {
            Outside::Clamps if last[0] >= 0 => {}
            Outside::Zeros => return Ok(None),
            Outside::Clamps | Outside::Faults => {
                let kind = FaultKind::OutsideSurface {
                    access,
                    size: bytes,
                    place: asked,
                    in_bytes: unit == 1,
                    surface: image.to_string(),
                };
                return Err(raise(lane, kind));
            }
        }
    }
    let [x, y, z, layer] = nearest.map(|at| at as u64);
    let row = image.texel([0, y as u32, z as u32], layer);
    Ok(Some(row + x * unit as u64))
}

/// A channel's bits in memory: integers are clamped to its range.
fn converted(channel: Channel, bits: u32) -> u64 {
    let signed = |low: i32, high: i32| (bits as i32).clamp(low, high) as u32;
    let value = match channel {
        Channel::U8 => bits.min(u8::MAX.into()),
        Channel::U16 => bits.min(u16::MAX.into()),
        Channel::S8 => signed(i8::MIN.into(), i8::MAX.into()),
        Channel::S16 => signed(i16::MIN.into(), i16::MAX.into()),
        Channel::U32 | Channel::S32 | Channel::F32 => bits,
        Channel::F16 => return (Element::half().write)(f64::from(f32::from_bits(bits))),
    };
    value.into()
}
