//! From the arguments as written to the bytes of each parameter.

use crate::example::{self, described};
use crate::syntax::{self, Form, Written};
use crate::{Files, Problem, Type};
use ptx_emulator::{Emulator, Entry, LoadedModule, Module, Param};
use std::path::PathBuf;

/// The arguments of a launch on an emulator.
pub struct Arguments {
    values: Vec<Vec<u8>>,
    /// The memory allocated for them, in order.
    pub placed: Vec<Placed>,
}

/// Memory of an argument.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The argument as written.
    pub written: String,
    /// How it is passed.
    pub role: Role,
    /// The type of its numbers.
    pub ty: Type,
    /// Its first byte.
    pub address: u64,
    /// The number of its elements.
    pub len: usize,
    /// The file for its contents after the launch.
    pub save: Option<PathBuf>,
}

/// How a kernel receives memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// By its address, as the parameter with that index.
    Parameter(usize),
    /// Through the texture or surface reference with that name.
    Reference(String),
}

/// The value of one parameter.
struct Passed<'a> {
    written: &'a str,
    bytes: Vec<u8>,
    /// The number's type; `None` for an address and for plain bytes.
    ty: Option<Type>,
    is_address: bool,
}

impl Arguments {
    /// Parses the arguments for the parameters of `kernel`, puts buffers into the emulator's
    /// memory, and binds the module's references.
    ///
    /// # Errors
    /// What is wrong with an argument, or with the number of arguments.
    pub fn bind(
        kernel: &Entry,
        written: &[String],
        (emulator, module): (&Emulator, &mut LoadedModule),
        files: &dyn Files,
    ) -> Result<Self, Problem> {
        let written: Vec<Written<'_>> = written
            .iter()
            .map(|text| syntax::parse(text))
            .collect::<Result<_, _>>()?;
        // Compares the number of parameters first: no file is read for a launch that is refused.
        let given: usize = written.iter().map(Written::parameters).sum();
        if given != kernel.params().len() {
            let module = module.module();
            return Err(Problem::new(format!(
                "kernel `{}` takes {}, the arguments give {given}",
                kernel.name(),
                described(module, kernel)
            ))
            .hint(example::counts(module, kernel)));
        }
        let mut placed = Vec::new();
        let mut passed = Vec::new();
        for written in &written {
            let of = |bytes, ty, is_address| Passed {
                written: written.text,
                bytes,
                ty,
                is_address,
            };
            let mut place = |role, buffer: &crate::buffer::Buffer, address, len| {
                placed.push(Placed {
                    written: written.text.to_owned(),
                    role,
                    ty: buffer.ty,
                    address,
                    len,
                    save: buffer.save.clone(),
                });
            };
            let parameter = Role::Parameter(passed.len());
            match &written.form {
                Form::Number(ty, bytes) => passed.push(of(bytes.clone(), Some(*ty), false)),
                Form::Bytes(bytes) => passed.push(of(bytes.clone(), None, false)),
                Form::Image(image) => {
                    let (handle, address, len) = image.place(emulator, files)?;
                    match &image.name {
                        Some(name) => {
                            module.bind(name, handle)?;
                            place(Role::Reference(name.clone()), &image.buffer, address, len);
                        }
                        None => {
                            passed.push(of(handle.to_le_bytes().to_vec(), None, true));
                            place(parameter, &image.buffer, address, len);
                        }
                    }
                }
                Form::Buffer(buffer) => {
                    let (address, len, file) = buffer.place(emulator, files)?;
                    passed.push(of(address.to_le_bytes().to_vec(), None, true));
                    for extent in buffer.passed.extents(len, file.as_deref(), written.text)? {
                        let bytes = (extent as u64).to_le_bytes().to_vec();
                        passed.push(of(bytes, Some(Type::U64), false));
                    }
                    place(parameter, buffer, address, len);
                }
            }
        }
        for (index, (passed, param)) in passed.iter().zip(kernel.params()).enumerate() {
            passed.fits(index, param, (module.module(), kernel))?;
        }
        let values = passed.into_iter().map(|passed| passed.bytes).collect();
        Ok(Self { values, placed })
    }

    /// The bytes of each parameter.
    pub fn bytes(&self) -> Vec<&[u8]> {
        self.values.iter().map(Vec::as_slice).collect()
    }
}

impl Passed<'_> {
    /// Whether this can be passed for a parameter.
    fn fits(
        &self,
        index: usize,
        param: &Param,
        (module, kernel): (&Module, &Entry),
    ) -> Result<(), Problem> {
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
        Err(Problem::new(format!(
            "`{}` {is}, but parameter {} of kernel `{}` is `{}`",
            self.written,
            index + 1,
            kernel.name(),
            param
        ))
        .hint(format!("the kernel takes {}", described(module, kernel))))
    }
}
