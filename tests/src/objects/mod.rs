//! Programs around textures, surfaces and tensor maps, to be compared with a GPU.
//!
//! The [corpus](crate::corpus) passes only buffers. These programs take an object, which the host
//! makes: `write` leaves their PTX, texels and inputs in a folder with a list of the objects,
//! `fixtures/fidelity/objects.cu` makes the objects on a GPU and runs the programs, and
//! `fixtures/fidelity/objects.golden` holds what came out.

mod emulate;
mod folder;
mod surface;
mod tensor;
mod texture;

use ptx_emulator::{Image, Sampling, TensorMap};

pub use emulate::run;
pub use folder::{outputs, write};

/// One kernel, `k`, and the object that it takes.
#[derive(Clone, Debug)]
pub struct Program {
    /// Unique among these programs.
    pub name: String,
    /// The PTX module. Its kernel takes a buffer and the object.
    pub ptx: String,
    /// What the host makes. Addresses are 0: the elements are `contents`.
    pub object: Object,
    /// The bytes of the image or tensor, its rows one after the other.
    pub contents: Vec<u8>,
    /// What the buffer holds before the launch.
    pub buffer: Vec<u8>,
    /// Blocks, and threads in each.
    pub launch: [u32; 2],
    /// How far two results may differ.
    pub tolerance: Tolerance,
}

/// What the host makes.
#[derive(Clone, Debug)]
pub enum Object {
    /// A texture object.
    Texture(Image, Sampling),
    /// A surface object.
    Surface(Image),
    /// A tensor map.
    Tensor(TensorMap),
}

/// When two outputs count as the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Bit by bit.
    Exact,
    /// Floats of 32 bits whose difference is at most this.
    Absolute(f32),
}

impl Program {
    /// Changes when the program or its data do.
    pub fn hash(&self) -> u64 {
        let object = format!("{:?} {:?}", self.object, self.launch);
        let data = self.contents.iter().chain(&self.buffer).copied();
        crate::corpus::fnv1a(self.ptx.bytes().chain(object.bytes()).chain(data))
    }

    /// The first difference that the tolerance does not allow, and how many there are.
    pub fn difference(&self, emulator: &[u8], gpu: &[u8]) -> Option<String> {
        let words = |bytes: &[u8]| -> Vec<u32> {
            let word = |bytes: &[u8]| {
                bytes
                    .iter()
                    .rfold(0, |word, &byte| word << 8 | u32::from(byte))
            };
            bytes.chunks(4).map(word).collect()
        };
        if emulator.len() != gpu.len() {
            return Some(format!(
                "{}: {} and {} bytes",
                self.name,
                emulator.len(),
                gpu.len()
            ));
        }
        let (ours, theirs) = (words(emulator), words(gpu));
        let pairs = ours.into_iter().zip(theirs).enumerate();
        let wrong: Vec<_> = pairs
            .filter(|&(_, (ours, theirs))| !self.tolerance.allows(ours, theirs))
            .collect();
        let &(at, (ours, theirs)) = wrong.first()?;
        let input = self.buffer.chunks(16).nth(at / 4).unwrap_or_default();
        Some(format!(
            "{}: {} words differ, the first is word {at}: {ours:#x} ({}) on the emulator, {theirs:#x} ({}) on the GPU, for {:?}",
            self.name,
            wrong.len(),
            f32::from_bits(ours),
            f32::from_bits(theirs),
            words(input)
                .into_iter()
                .map(f32::from_bits)
                .collect::<Vec<_>>(),
        ))
    }
}

impl Tolerance {
    fn allows(self, ours: u32, theirs: u32) -> bool {
        ours == theirs
            || match self {
                Tolerance::Exact => false,
                Tolerance::Absolute(most) => {
                    (f32::from_bits(ours) - f32::from_bits(theirs)).abs() <= most
                }
            }
    }
}

/// All programs.
pub fn programs() -> Vec<Program> {
    let families = [texture::programs, surface::programs, tensor::programs];
    families.iter().flat_map(|programs| programs()).collect()
}

/// A PTX module with the kernel `k`.
fn module(kernel: &str) -> String {
    format!(".version 8.0\n.target sm_90\n.address_size 64\n{kernel}\n")
}

/// Random bytes, the same in every build.
fn bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut random = crate::data::random_bits(seed);
    std::iter::repeat_with(|| random().to_le_bytes())
        .flatten()
        .take(count)
        .collect()
}
