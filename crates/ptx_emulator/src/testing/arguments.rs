use crate::emulator::Emulator;
use crate::error::MemoryError;

/// A test's argument for one parameter.
pub(super) enum Argument<'a> {
    Value(Vec<u8>),
    /// The address of bytes written by the host.
    Input(&'a [u8]),
    /// The address of uninitialised memory, which is read back.
    Output(&'a mut [u8]),
    /// The address of bytes written by the host, which are read back.
    InOut(&'a mut [u8]),
}

/// An argument on the device.
pub(super) struct Placed {
    /// The parameter's bytes.
    pub(super) bytes: Vec<u8>,
    address: Option<u64>,
}

impl Argument<'_> {
    /// Copies it to the device.
    pub(super) fn place(&self, emulator: &Emulator) -> Result<Placed, MemoryError> {
        let (len, contents): (usize, Option<&[u8]>) = match self {
            Argument::Value(bytes) => {
                return Ok(Placed {
                    bytes: bytes.clone(),
                    address: None,
                });
            }
            Argument::Input(bytes) => (bytes.len(), Some(bytes)),
            Argument::InOut(bytes) => (bytes.len(), Some(bytes)),
            Argument::Output(bytes) => (bytes.len(), None),
        };
        let address = emulator.alloc(len as u64)?;
        if let Some(contents) = contents {
            emulator.write(address, contents)?;
        }
        Ok(Placed {
            bytes: address.to_le_bytes().to_vec(),
            address: Some(address),
        })
    }

    /// Copies the results back.
    pub(super) fn fetch(
        &mut self,
        emulator: &Emulator,
        placed: &Placed,
    ) -> Result<(), MemoryError> {
        match (self, placed.address) {
            (Argument::Output(bytes) | Argument::InOut(bytes), Some(address)) => {
                emulator.read(address, bytes)
            }
            _ => Ok(()),
        }
    }
}
