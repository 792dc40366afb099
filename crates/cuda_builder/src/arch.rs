//! The GPU generations that PTX is built for.

use std::fmt;
use std::str::FromStr;

macro_rules! architectures {
    ($($variant:ident $number:literal $suffix:literal,)*) => {
        /// A GPU's compute capability, as the compiler's `sm_XX` targets name it.
        ///
        /// PTX for one runs on every newer GPU too, except for the `a` variants, which run on that very chip family only.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum NvvmArch {
            $(
                #[doc = concat!("Compute capability ", $number, $suffix, " (tens and ones), target `sm_", $number, $suffix, "`.")]
                $variant,
            )*
        }

        impl NvvmArch {
            /// Every architecture, oldest first.
            pub const ALL: &[NvvmArch] = &[$(NvvmArch::$variant),*];

            /// The compiler's name: `sm_80`.
            pub const fn target_cpu(self) -> &'static str {
                match self {
                    $(NvvmArch::$variant => concat!("sm_", $number, $suffix),)*
                }
            }

            /// Ten times the major plus the minor number of the compute capability: 80 for 8.0.
            pub const fn capability_value(self) -> u32 {
                match self {
                    $(NvvmArch::$variant => $number,)*
                }
            }
        }
    };
}

architectures! {
    Compute70 70 "",
    Compute72 72 "",
    Compute75 75 "",
    Compute80 80 "",
    Compute86 86 "",
    Compute87 87 "",
    Compute89 89 "",
    Compute90 90 "",
    Compute90a 90 "a",
    Compute100 100 "",
    Compute100a 100 "a",
    Compute103 103 "",
    Compute103a 103 "a",
    Compute120 120 "",
    Compute120a 120 "a",
    Compute121 121 "",
    Compute121a 121 "a",
}

impl Default for NvvmArch {
    /// `sm_80`: every data-centre and desktop GPU since 2020 runs it.
    fn default() -> Self {
        NvvmArch::Compute80
    }
}

impl fmt::Display for NvvmArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.target_cpu())
    }
}

/// The text names no architecture that this builder knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown architecture `{0}`: expected one of {known}", known = names().collect::<Vec<_>>().join(", "))]
pub struct UnknownArch(String);

fn names() -> impl Iterator<Item = &'static str> {
    NvvmArch::ALL.iter().map(|arch| arch.target_cpu())
}

impl FromStr for NvvmArch {
    type Err = UnknownArch;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        NvvmArch::ALL
            .iter()
            .copied()
            .find(|arch| arch.target_cpu() == text)
            .ok_or_else(|| UnknownArch(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for &arch in NvvmArch::ALL {
            assert_eq!(arch.to_string().parse(), Ok(arch));
        }
        assert_eq!(NvvmArch::Compute90a.target_cpu(), "sm_90a");
        assert_eq!(NvvmArch::Compute90a.capability_value(), 90);
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let error = "sm_20".parse::<NvvmArch>().unwrap_err().to_string();
        assert!(
            error.contains("`sm_20`") && error.contains("sm_80, sm_86"),
            "{error}"
        );
    }
}
