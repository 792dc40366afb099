//! Textures and surfaces: `tex2d:f32=x.npy,linear,wrap,normalized`, `surf2d:u8x4[480,640]=zeros ->
//! out.npy`; either may begin with `NAME=`, for a `.texref` or `.surfref` of the module.

use crate::buffer::{Buffer, Fill, Lengths};
use crate::fill::{fill, saved};
use crate::number::named;
use crate::{Files, Problem, Type};
use ptx_emulator::{AddressMode, Channel, Emulator, Filter, Image, Sampling, Shape};
use std::path::PathBuf;

/// A texture or a surface as the user describes it.
pub(crate) struct Described {
    /// The reference that it is bound to; `None` for an argument.
    pub(crate) name: Option<String>,
    /// How a texture is sampled; `None` for a surface.
    sampling: Option<Sampling>,
    shape: Shape,
    layered: bool,
    channel: Channel,
    channels: u32,
    /// As in the brackets: outermost first, like an array's.
    extents: Option<Vec<usize>>,
    pub(crate) buffer: Buffer,
}

/// Reads a description; `None` if the text is something else.
pub(crate) fn parse(text: &str) -> Option<Result<Described, String>> {
    let is_name = |name: &str| {
        let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%');
        !name.is_empty() && name.chars().all(known)
    };
    let (name, text) = match text.split_once('=') {
        Some((name, rest)) if is_name(name) => (Some(name.to_owned()), rest),
        _ => (None, text),
    };
    let (kind, rest) = text.split_once(':')?;
    let (is_texture, geometry) = match (kind.strip_prefix("tex"), kind.strip_prefix("surf")) {
        (Some(geometry), _) => (true, geometry),
        (None, Some(geometry)) => (false, geometry),
        (None, None) => return None,
    };
    Some(described(name, (is_texture, geometry), rest))
}

fn described(
    name: Option<String>,
    (is_texture, geometry): (bool, &str),
    text: &str,
) -> Result<Described, String> {
    let (shape, layered) = match geometry {
        "1d" => (Shape::One, false),
        "2d" => (Shape::Two, false),
        "3d" => (Shape::Three, false),
        "a1d" => (Shape::One, true),
        "a2d" => (Shape::Two, true),
        "cube" if is_texture => (Shape::Cube, false),
        _ => {
            return Err(format!(
                "`{geometry}` is none of 1d, 2d, 3d, a1d, a2d and, of textures, cube"
            ));
        }
    };
    let (text, save) = saved(text)?;
    let (texel, rest) = text
        .split_once('=')
        .ok_or("a texture or surface has contents: =x.npy")?;
    let (texel, extents) = match texel.split_once('[') {
        None => (texel, None),
        Some((texel, extents)) => (texel, Some(brackets(extents)?)),
    };
    let (ty, channels) = match texel.split_once('x') {
        None => (texel, 1),
        Some((ty, "2")) => (ty, 2),
        Some((ty, "4")) => (ty, 4),
        Some((_, count)) => return Err(format!("a texel has 1, 2 or 4 channels, not `{count}`")),
    };
    let ty = named(ty)?;
    let channel = match ty {
        Type::U8 => Channel::U8,
        Type::U16 => Channel::U16,
        Type::U32 => Channel::U32,
        Type::I8 => Channel::S8,
        Type::I16 => Channel::S16,
        Type::I32 => Channel::S32,
        Type::F32 => Channel::F32,
        _ => return Err(format!("a texel cannot be made of {ty}")),
    };
    let mut words = rest.split(',').map(str::trim);
    let fill = fill(words.next().unwrap_or_default())?;
    let mut sampling = Sampling::default();
    for word in words {
        let mode = match word {
            _ if !is_texture => return Err(format!("a surface is not read by `{word}`")),
            "linear" => {
                sampling.filter = Filter::Linear;
                continue;
            }
            "normalized" => {
                sampling.normalized = true;
                continue;
            }
            "float" => {
                sampling.as_float = true;
                continue;
            }
            "clamp" => AddressMode::Clamp,
            "wrap" => AddressMode::Wrap,
            "mirror" => AddressMode::Mirror,
            "border" => AddressMode::Border,
            _ => {
                return Err(format!(
                    "`{word}` is none of linear, normalized, float, clamp, wrap, mirror and border"
                ));
            }
        };
        sampling.address = [mode; 3];
    }
    if extents.is_none() && !matches!(fill, Fill::File(_)) {
        return Err("only a file's extents may be left out".to_owned());
    }
    let numbers = extents.as_ref().map(|extents| {
        let texels = extents
            .iter()
            .fold(1, |all: usize, &extent| all.saturating_mul(extent));
        texels.saturating_mul(channels as usize)
    });
    Ok(Described {
        name,
        sampling: is_texture.then_some(sampling),
        shape,
        layered,
        channel,
        channels,
        extents,
        buffer: Buffer {
            ty,
            len: numbers,
            fill,
            passed: Lengths::None,
            save: save.map(PathBuf::from),
        },
    })
}

/// `480,640]`
fn brackets(text: &str) -> Result<Vec<usize>, String> {
    let extents = text.strip_suffix(']').ok_or("extents are [HEIGHT,WIDTH]")?;
    let extent = |text: &str| {
        text.trim()
            .parse()
            .map_err(|_| format!("`{text}` is no extent"))
    };
    extents.split(',').map(extent).collect()
}

impl Described {
    /// Puts it into the emulator. Returns its handle, its address and its length in numbers, not
    /// texels.
    pub(crate) fn place(
        &self,
        emulator: &Emulator,
        files: &dyn Files,
    ) -> Result<(u64, u64, usize), Problem> {
        let (address, len, stored) = self.buffer.place(emulator, files)?;
        let image = Image {
            address,
            ..self.image(&self.array(stored)?)?
        };
        let handle = match self.sampling {
            Some(sampling) => emulator.texture(image, sampling)?,
            None => emulator.surface(image)?,
        };
        Ok((handle, address, len))
    }

    /// The extents of the array of texels, without the channels; `stored` are a file's.
    fn array(&self, stored: Option<Vec<usize>>) -> Result<Vec<usize>, Problem> {
        if let Some(extents) = &self.extents {
            return Ok(extents.clone());
        }
        let mut extents = stored.unwrap_or_default();
        if self.channels > 1 && extents.pop() != Some(self.channels as usize) {
            return Err(Problem::new(format!(
                "the last extent of the file must be the {} channels of a texel",
                self.channels
            )));
        }
        Ok(extents)
    }

    /// The image of an array.
    fn image(&self, array: &[usize]) -> Result<Image, Problem> {
        let names = match (self.shape, self.layered) {
            (Shape::One, false) => "WIDTH",
            (Shape::One, true) => "LAYERS,WIDTH",
            (Shape::Two, false) => "HEIGHT,WIDTH",
            (Shape::Two, true) => "LAYERS,HEIGHT,WIDTH",
            (Shape::Three, _) => "DEPTH,HEIGHT,WIDTH",
            (Shape::Cube, _) => "6,WIDTH,WIDTH",
        };
        let wrong = || Problem::new(format!("the extents {array:?} are not [{names}]"));
        let mut extents = Vec::new();
        for &extent in array {
            extents.push(u32::try_from(extent).map_err(|_| wrong())?);
        }
        if extents.len() != names.split(',').count() {
            return Err(wrong());
        }
        let outer = match (self.shape, self.layered) {
            (Shape::Cube, _) if extents[0] != 6 => return Err(wrong()),
            (Shape::Cube, _) | (_, true) => Some(extents.remove(0)),
            _ => None,
        };
        extents.reverse();
        extents.resize(3, 1);
        let format = (self.channel, self.channels);
        let mut image = Image::new(self.shape, [extents[0], extents[1], extents[2]], format, 0);
        if self.layered {
            image.layers = outer.unwrap_or(1);
        }
        Ok(image)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good(text: &str) -> Described {
        let described = parse(text).expect("a texture or surface");
        described.unwrap_or_else(|reason| panic!("{text}: {reason}"))
    }

    #[test]
    fn textures_and_surfaces() {
        let texture = good("tex2d:f32=x.npy,linear,wrap,normalized");
        let sampling = texture.sampling.expect("a texture");
        assert_eq!(
            (sampling.filter, sampling.address),
            (Filter::Linear, [AddressMode::Wrap; 3])
        );
        assert!(sampling.normalized && texture.name.is_none() && texture.extents.is_none());

        let surface = good("out=surf2d:u8x4[3,5]=zeros -> o.npy");
        assert!(surface.sampling.is_none());
        assert_eq!(
            (surface.name.as_deref(), surface.buffer.len),
            (Some("out"), Some(60))
        );
        assert_eq!(surface.buffer.save, Some(PathBuf::from("o.npy")));
        let image = surface.image(&[3, 5]).expect("an image");
        assert_eq!((image.extents, image.row_bytes), ([5, 3, 1], 20));

        let layers = good("texa2d:i16[7,3,5]=iota,float")
            .image(&[7, 3, 5])
            .expect("an image");
        assert_eq!((layers.extents, layers.layers), ([5, 3, 1], 7));
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in [
            "tex4d:f32=x.npy",
            "surfcube:f32[6,2,2]=zeros",
            "tex2d:f32",
            "tex2d:f32=zeros",
            "tex2d:f64[2,2]=zeros",
            "tex2d:f32x3[2,2]=zeros",
            "tex2d:f32[2,2=zeros",
            "tex2d:f32[2,2]=zeros,cubic",
            "surf2d:f32[2,2]=zeros,linear",
        ] {
            assert!(parse(text).expect("it begins like one").is_err(), "{text}");
        }
        for text in ["u32:7", "f32[4]=iota", "slice:f32[]=texture.npy", "7"] {
            assert!(parse(text).is_none(), "{text}");
        }
        assert!(good("tex2d:f32[2,2]=zeros").image(&[2]).is_err());
        assert!(good("texcube:f32[5,2,2]=zeros").image(&[5, 2, 2]).is_err());
    }
}
