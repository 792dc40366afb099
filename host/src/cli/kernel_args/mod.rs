//! Arguments for the parameters of any kernel, as the command line writes them, and their place on the emulator.
//!
//! | written | passed |
//! | --- | --- |
//! | `u32:7`, `f64:-1.5`, `i8:0x7f` | the number |
//! | `bytes:00ff20` | these bytes, for a parameter that is a struct |
//! | `f32[1024]` | the address of memory that nobody wrote |
//! | `f32[1024]=zeros`, `=iota`, `=random:SEED` | the address of 0, 0, 0, … or 0, 1, 2, … or random numbers |
//! | `f32[1024]=x.npy`, `f32[]=x.npy` | the address of a file's array; its length may be left out |
//! | `slice:f32[1024]=…` | two parameters, address and length: a Rust slice |
//! | `… -> out.npy` | the same, and the memory is saved after the launch |
//! | `tex2d:f32=x.npy,linear,wrap,normalized` | the handle of a texture |
//! | `surf2d:u8x4[480,640]=zeros -> out.npy` | the handle of a surface |
//! | `NAME=tex2d:…`, `NAME=surf2d:…` | nothing: the reference `NAME` of the module is bound |

mod buffer;
mod image;
mod launch;
mod number;
mod syntax;

use ptx_emulator::{Emulator, Entry, LoadedModule, Param};

use super::failure::Failure;
use super::operand::ArrayOutput;
use number::Number;
use syntax::{Form, Written};

pub(super) use launch::{ARGUMENTS_HELP, Launch};

/// The arguments of a launch on an emulator.
pub(super) struct Arguments {
    values: Vec<Vec<u8>>,
    /// The parameters that are addresses of buffers, and the type of their elements.
    elements: Vec<(usize, Number)>,
    outputs: Vec<Output>,
}

/// A buffer to save after the launch.
struct Output {
    file: ArrayOutput,
    ty: Number,
    address: u64,
    len: usize,
}

/// What one parameter is passed.
struct Passed<'a> {
    written: &'a str,
    bytes: Vec<u8>,
    /// The number's type; `None` for an address and for plain bytes.
    ty: Option<Number>,
    is_address: bool,
}

impl Arguments {
    /// Reads what the user wrote for the parameters of `kernel`, puts the buffers into the emulator's memory, and binds references
    /// of the module.
    pub(super) fn bind(
        kernel: &Entry,
        written: &[String],
        emulator: &Emulator,
        module: &mut LoadedModule,
    ) -> Result<Self, Failure> {
        let written: Vec<Written> = written
            .iter()
            .map(|text| syntax::parse(text))
            .collect::<Result<_, _>>()?;
        // The number of parameters first: no file is read for a launch that cannot be.
        let given: usize = written.iter().map(Written::parameters).sum();
        if given != kernel.params().len() {
            return Err(Failure::new(format!(
                "kernel `{}` takes {}, the arguments give {given}",
                kernel.name(),
                described(kernel)
            ))
            .hint("a `slice:` gives two, its address and its length"));
        }
        let mut outputs = Vec::new();
        let mut passed = Vec::new();
        let mut elements = Vec::new();
        for written in &written {
            let of = |bytes, ty, is_address| Passed {
                written: written.text,
                bytes,
                ty,
                is_address,
            };
            match &written.form {
                Form::Number(ty, bytes) => passed.push(of(bytes.clone(), Some(*ty), false)),
                Form::Bytes(bytes) => passed.push(of(bytes.clone(), None, false)),
                Form::Image(image) => {
                    let file = image.buffer.save.as_deref().map(ArrayOutput::prepare);
                    let file = file.transpose()?;
                    let placed = image.place(emulator)?;
                    match &image.name {
                        Some(name) => module.bind(name, placed.handle)?,
                        None => passed.push(of(placed.handle.to_le_bytes().to_vec(), None, true)),
                    }
                    outputs.extend(file.map(|file| Output {
                        file,
                        ty: image.buffer.ty,
                        address: placed.address,
                        len: placed.len,
                    }));
                }
                Form::Buffer(buffer) => {
                    let file = buffer.save.as_deref().map(ArrayOutput::prepare);
                    let file = file.transpose()?;
                    let (address, len) = buffer.place(emulator)?;
                    elements.push((passed.len(), buffer.ty));
                    passed.push(of(address.to_le_bytes().to_vec(), None, true));
                    if buffer.is_slice {
                        let bytes = (len as u64).to_le_bytes().to_vec();
                        passed.push(of(bytes, Some(Number::U64), false));
                    }
                    let ty = buffer.ty;
                    outputs.extend(file.map(|file| Output {
                        file,
                        ty,
                        address,
                        len,
                    }));
                }
            }
        }
        for (index, (passed, param)) in passed.iter().zip(kernel.params()).enumerate() {
            passed.fits(index, param, kernel)?;
        }
        let values = passed.into_iter().map(|passed| passed.bytes).collect();
        Ok(Self {
            values,
            elements,
            outputs,
        })
    }

    /// The bytes of each parameter.
    pub(super) fn bytes(&self) -> Vec<&[u8]> {
        self.values.iter().map(Vec::as_slice).collect()
    }

    /// The parameters that are addresses of buffers, and the names of their elements' types.
    pub(super) fn elements(&self) -> impl Iterator<Item = (usize, String)> {
        let elements = self.elements.iter();
        elements.map(|(parameter, ty)| (*parameter, ty.to_string()))
    }

    /// Saves the buffers that are to be saved.
    pub(super) fn save(self, emulator: &Emulator) -> Result<(), Failure> {
        for output in self.outputs {
            let mut bytes = vec![0; output.len * output.ty.size()];
            emulator.read(output.address, &mut bytes)?;
            output.file.write(&output.ty.array(&bytes)?)?;
        }
        Ok(())
    }
}

impl Passed<'_> {
    /// Whether a parameter can be passed this.
    fn fits(&self, index: usize, param: &Param, kernel: &Entry) -> Result<(), Failure> {
        let is = if self.bytes.len() != param.size as usize {
            format!("has {} bytes", self.bytes.len())
        } else if self.is_address && param.is_float() {
            "is an address".to_owned()
        } else {
            match self.ty {
                Some(ty) if param.is_float() && !ty.is_float() => format!("is the integer {ty}"),
                Some(ty) if param.is_integer() && ty.is_float() => format!("is the float {ty}"),
                _ => return Ok(()),
            }
        };
        Err(Failure::new(format!(
            "`{}` {is}, but parameter {} of kernel `{}` is `{}`",
            self.written,
            index + 1,
            kernel.name(),
            param
        ))
        .hint(format!("the kernel takes {}", described(kernel))))
    }
}

/// The parameters of a kernel in words.
fn described(kernel: &Entry) -> String {
    let params: Vec<_> = kernel.params().iter().map(ToString::to_string).collect();
    match params.len() {
        0 => "no parameters".to_owned(),
        1 => format!("1 parameter ({})", params[0]),
        count => format!("{count} parameters ({})", params.join(", ")),
    }
}

/// Says what a kernel takes when no argument was given, with a command to begin from.
pub(super) fn missing(kernel: &Entry, command: &str) -> Failure {
    let example = |param: &Param| {
        if param.is_pointer {
            "f32[1024]=random:1".to_owned()
        } else if param.ty.contains('[') {
            format!("bytes:{}", "00".repeat(param.size as usize))
        } else if param.is_float() {
            format!("{}:1.5", param.ty)
        } else {
            format!("u{}:1024", 8 * param.size)
        }
    };
    let arguments: Vec<_> = kernel
        .params()
        .iter()
        .map(|param| format!(" --arg {}", example(param)))
        .collect();
    Failure::new(format!(
        "kernel `{}` takes {}, and there is no --arg",
        kernel.name(),
        described(kernel)
    ))
    .hint(format!("for example: {command}{}", arguments.concat()))
}
