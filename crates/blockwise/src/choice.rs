//! Device selection, as given by a user.

use std::fmt;
use std::str::FromStr;

/// Which device to use. As text: `auto`, `gpu`, `gpu:1`, `emulator`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DeviceChoice {
    /// The first usable GPU, otherwise the emulator.
    #[default]
    Auto,
    /// The GPU with this ordinal, from 0, or an error.
    Gpu(usize),
    /// The emulator.
    Emulator,
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.pad("auto"),
            Self::Gpu(0) => f.pad("gpu"),
            Self::Gpu(ordinal) => f.pad(&format!("gpu:{ordinal}")),
            Self::Emulator => f.pad("emulator"),
        }
    }
}

/// A text that names no device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownDevice(String);

impl fmt::Display for UnknownDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(name) = self;
        write!(
            f,
            "unknown device `{name}`: use `auto`, `gpu`, `gpu:N` or `emulator`"
        )
    }
}

impl std::error::Error for UnknownDevice {}

impl FromStr for DeviceChoice {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<Self, UnknownDevice> {
        let unknown = || UnknownDevice(text.to_owned());
        match text {
            "auto" => Ok(Self::Auto),
            "gpu" => Ok(Self::Gpu(0)),
            "emulator" => Ok(Self::Emulator),
            _ => {
                let ordinal = text.strip_prefix("gpu:").ok_or_else(unknown)?;
                // `parse` would accept a sign.
                let is_number = ordinal.bytes().all(|byte| byte.is_ascii_digit());
                match ordinal.parse() {
                    Ok(ordinal) if is_number => Ok(Self::Gpu(ordinal)),
                    _ => Err(unknown()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_reads_as_it_prints() {
        for choice in [
            DeviceChoice::Auto,
            DeviceChoice::Gpu(0),
            DeviceChoice::Gpu(12),
            DeviceChoice::Emulator,
        ] {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        assert_eq!("gpu:0".parse(), Ok(DeviceChoice::Gpu(0)));
    }

    #[test]
    fn anything_else_is_refused_with_what_there_is() {
        for text in ["", "GPU", "gpu:", "gpu:-1", "gpu:+1", "gpu:x", "cuda"] {
            let error = text.parse::<DeviceChoice>().expect_err("no device");
            assert!(error.to_string().contains("`gpu:N`"), "{error}");
        }
    }
}
