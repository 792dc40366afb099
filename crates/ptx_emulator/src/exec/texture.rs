//! `tex`, `tld4`, `txq` and `suq`.

use super::frame::{Frame, Row64, lanes};
use super::memory::Memory;
use super::observe::{Observer, Seen};
use super::raise::{Checked, Raised, raise};
use super::sampling::{Aim, Taps, taps};
use crate::decode::op::{Element, Query, QueryOp, Reg, TexelType, TextureOp};
use crate::fault::{Access, FaultKind, Space};
use crate::texture::{AddressMode, Channel, Filter, Image, Shape, Texture};

#[inline(never)]
pub(super) fn fetch<O: Observer + ?Sized>(
    op: &TextureOp,
    frame: &mut Frame<'_>,
    memory: &mut Memory<'_>,
    mask: u32,
    pc: u32,
    observer: &mut O,
) -> Checked<()> {
    let handles = *frame.r64(op.point.handle);
    let mut rest = mask;
    // Lanes with the same texture together.
    while let Some(first) = lanes(rest).next() {
        let same = lanes(rest).filter(|&lane| handles[lane] == handles[first]);
        let group = same.fold(0, |group, lane| group | 1 << lane);
        rest &= !group;
        let table = memory.table;
        let texture = table
            .texture(handles[first])
            .ok_or_else(|| no_handle("texture", handles[first], first))?;
        check(op, texture).map_err(|problem| invalid(first, problem))?;
        let mut taps_of: [Taps; 32] = Default::default();
        for lane in lanes(group) {
            taps_of[lane] = taps(texture, &aim(op, frame, lane));
        }
        let texels = read(
            &texture.image,
            &taps_of,
            group,
            (frame, memory),
            pc,
            observer,
        )?;
        for lane in lanes(group) {
            let channels = match op.gathers {
                Some(channel) => {
                    std::array::from_fn(|at| channel_of(texture, texels[at][lane], channel))
                }
                None => filtered(texture, &taps_of[lane], |at| texels[at][lane]),
            };
            write(op, frame, lane, channels);
        }
    }
    Ok(())
}

fn aim(op: &TextureOp, frame: &Frame<'_>, lane: usize) -> Aim {
    let mut at = [0.0; 3];
    for (at, &row) in at.iter_mut().zip(&op.point.coordinates) {
        let bits = frame.r32(row)[lane];
        *at = match op.integers {
            true => f64::from(bits as i32),
            false => f64::from(f32::from_bits(bits)),
        };
        if at.is_nan() {
            *at = 0.0;
        }
    }
    Aim {
        at,
        integers: op.integers,
        layer: op.point.layer.map_or(0, |row| frame.r32(row)[lane] as i32),
        gathers: op.gathers.is_some(),
    }
}

/// The texels of each tap, per lane, as channel bits; texels without an address are zero.
fn read<O: Observer + ?Sized>(
    image: &Image,
    taps_of: &[Taps; 32],
    group: u32,
    (frame, memory): (&Frame<'_>, &mut Memory<'_>),
    pc: u32,
    observer: &mut O,
) -> Checked<Vec<[[u64; 4]; 32]>> {
    let count = taps_of.iter().map(Vec::len).max().unwrap_or(0);
    let bytes = image.channel.bytes();
    let mut texels = vec![[[0; 4]; 32]; count];
    for (at, texels) in texels.iter_mut().enumerate() {
        let mut addresses: Row64 = [0; 32];
        let mut mask = 0;
        for lane in lanes(group) {
            if let Some(&(Some(address), _)) = taps_of[lane].get(at) {
                addresses[lane] = address;
                mask |= 1 << lane;
            }
        }
        while mask != 0 {
            let kind = (Space::Global, Access::Read);
            let part = memory.part(kind, &addresses, image.texel_bytes(), mask, pc)?;
            mask &= !part.lanes;
            let seen = Seen::new(part, memory.offsets, image.texel_bytes(), Access::Read);
            observer.access(pc, &seen, frame, memory);
            for lane in lanes(part.lanes) {
                let offset = memory.offsets[lane];
                for channel in 0..image.channels {
                    let offset = offset + u64::from(channel * bytes);
                    texels[lane][channel as usize] = memory.peek(part.region, offset, bytes);
                }
            }
        }
    }
    Ok(texels)
}

/// A channel of a texel as a number, or the default for a missing one.
fn channel_of(texture: &Texture, texel: [u64; 4], channel: usize) -> f64 {
    if channel >= texture.image.channels as usize {
        // Alpha is 0 too, as an H200 has it.
        return 0.0;
    }
    let bits = texel[channel];
    // A filter takes the smallest integer as less than -1, and clamps its sum.
    let least = match texture.sampling.filter {
        Filter::Point => -1.0,
        Filter::Linear => f64::NEG_INFINITY,
    };
    let scale = |value: f64, largest: f64| match texture.sampling.as_float {
        true => (value / largest).max(least),
        false => value,
    };
    match texture.image.channel {
        Channel::U8 => scale(f64::from(bits as u8), 255.0),
        Channel::U16 => scale(f64::from(bits as u16), 65535.0),
        Channel::U32 => f64::from(bits as u32),
        Channel::S8 => scale(f64::from(bits as i8), 127.0),
        Channel::S16 => scale(f64::from(bits as i16), 32767.0),
        Channel::S32 => f64::from(bits as i32),
        Channel::F16 => (Element::half().read)(bits),
        Channel::F32 => f64::from(f32::from_bits(bits as u32)),
    }
}

fn filtered(texture: &Texture, taps: &Taps, texel: impl Fn(usize) -> [u64; 4]) -> [f64; 4] {
    std::array::from_fn(|channel| {
        let taps = taps.iter().enumerate();
        let values = taps.map(|(at, tap)| tap.1 * channel_of(texture, texel(at), channel));
        rounded(texture, values.sum())
    })
}

/// A sum of integers that are read as floats has 16 bits, as on an H200.
fn rounded(texture: &Texture, value: f64) -> f64 {
    let most = match texture.image.channel {
        _ if !texture.sampling.as_float || texture.sampling.filter == Filter::Point => {
            return value;
        }
        Channel::U8 | Channel::U16 => f64::from(u16::MAX),
        _ => f64::from(i16::MAX),
    };
    // Halves go up. They are exact in steps of 1/256, but `value` has lost its last bits.
    ((value * most + 0.5 + 1e-6).floor() / most).max(-1.0)
}

fn write(op: &TextureOp, frame: &mut Frame<'_>, lane: usize, channels: [f64; 4]) {
    let bits: Vec<u64> = match op.result {
        TexelType::Float => channels
            .map(|value| u64::from((value as f32).to_bits()))
            .to_vec(),
        TexelType::Integer => channels.map(|value| value as i64 as u64).to_vec(),
        TexelType::Halves => {
            let half = channels.map(Element::half().write);
            vec![half[0] | half[1] << 16, half[2] | half[3] << 16]
        }
    };
    for (target, bits) in op.targets.iter().zip(bits) {
        if let Some(row) = *target {
            frame.put(Reg::R32(row), lane, bits);
        }
    }
}

/// Checks that the instruction can read such a texture.
fn check(op: &TextureOp, texture: &Texture) -> Result<(), String> {
    if op.point.shape != texture.image.shape {
        return Err(format!(
            "a fetch of {:?} dimensions from a texture of {:?}",
            op.point.shape, texture.image.shape
        ));
    }
    let floats = matches!(op.result, TexelType::Float | TexelType::Halves);
    if floats != texture.gives_floats() {
        let [asked, given] = match floats {
            true => ["floats", "integers"],
            false => ["integers", "floats"],
        };
        return Err(format!(
            "a fetch of {asked} from a texture that gives {given}"
        ));
    }
    Ok(())
}

#[inline(never)]
pub(super) fn query(
    op: &QueryOp,
    frame: &mut Frame<'_>,
    memory: &Memory<'_>,
    mask: u32,
) -> Checked<()> {
    let handles = *frame.r64(op.handle);
    for lane in lanes(mask) {
        let texture = memory.table.texture(handles[lane]);
        let surface = memory.table.surface(handles[lane]);
        let image = texture.map(|texture| &texture.image).or(surface);
        let image = image.ok_or_else(|| no_handle("texture or surface", handles[lane], lane))?;
        let sampling = texture.map(|texture| texture.sampling).unwrap_or_default();
        let answer = match op.query {
            Query::Extent(axis) => extent(image, axis),
            Query::Layers => image.layers,
            Query::ChannelType => channel_type(image.channel, sampling.as_float),
            Query::ChannelOrder => [0x10b0, 0x10b2, 0x10b4, 0x10b5][image.channels as usize - 1],
            Query::Single => 1,
            Query::Normalized => u32::from(sampling.normalized),
            Query::Linear => u32::from(sampling.filter == Filter::Linear),
            Query::AddressMode(axis) => match sampling.address[axis] {
                AddressMode::Wrap => 0,
                AddressMode::Mirror => 1,
                AddressMode::Clamp => 2,
                AddressMode::Border => 3,
            },
        };
        frame.put(Reg::R32(op.d), lane, answer.into());
    }
    Ok(())
}

/// As on an H200: layers count as the axis after the image's own, which is 0 without them.
fn extent(image: &Image, axis: usize) -> u32 {
    let is_layered = image.layers > 1;
    match (image.shape, axis) {
        (Shape::One, 1) | (Shape::Two | Shape::Cube, 2) if is_layered => image.layers,
        (Shape::One | Shape::Two | Shape::Cube, 2) => 0,
        _ => image.extents[axis],
    }
}

/// The number that OpenCL and PTX give a channel's type.
fn channel_type(channel: Channel, as_float: bool) -> u32 {
    match (channel, as_float) {
        (Channel::S8, true) => 0x10d0,
        (Channel::S16, true) => 0x10d1,
        (Channel::U8, true) => 0x10d2,
        (Channel::U16, true) => 0x10d3,
        (Channel::S8, _) => 0x10d7,
        (Channel::S16, _) => 0x10d8,
        (Channel::S32, _) => 0x10d9,
        (Channel::U8, _) => 0x10da,
        (Channel::U16, _) => 0x10db,
        (Channel::U32, _) => 0x10dc,
        (Channel::F16, _) => 0x10dd,
        (Channel::F32, _) => 0x10de,
    }
}

#[cold]
pub(super) fn no_handle(what: &str, handle: u64, lane: usize) -> Box<Raised> {
    let problem = match handle {
        0 => format!("nothing is bound to this {what} reference"),
        _ => format!("{handle:#x} is no handle of a {what}"),
    };
    invalid(lane, problem)
}

#[cold]
pub(super) fn invalid(lane: usize, problem: String) -> Box<Raised> {
    raise(lane, FaultKind::InvalidOperand { problem })
}
