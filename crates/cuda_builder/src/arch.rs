//! The target, and the GPU architectures that PTX is built for.

use std::fmt;
use std::str::FromStr;

/// rustc's name of the target. It has no prebuilt standard library: core is built from source.
pub(crate) const TARGET: &str = "nvptx64-nvidia-cuda";

macro_rules! architectures {
    ($($variant:ident $number:literal $suffix:literal,)*) => {
        /// A GPU's compute capability, named as in the compiler's `sm_XX` targets.
        ///
        /// PTX for one also runs on every newer GPU, except for variants: `f` runs on GPUs with the
        /// same major and the same or a greater minor number, `a` on exactly that capability.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum NvvmArch {
            $(
                #[doc = concat!("Target `sm_", $number, $suffix, "`.")]
                $variant,
            )*
        }

        impl NvvmArch {
            /// Every architecture, oldest first; a capability is followed by its variants.
            pub const ALL: &[NvvmArch] = &[$(NvvmArch::$variant),*];

            /// The compiler's name: `sm_80`.
            pub const fn target_cpu(self) -> &'static str {
                match self {
                    $(NvvmArch::$variant => concat!("sm_", $number, $suffix),)*
                }
            }

            /// Ten times the major plus the minor number of the compute capability: 80 for 8.0.
            pub const fn capability_value(&self) -> u32 {
                match self {
                    $(NvvmArch::$variant => $number,)*
                }
            }

            /// The value that `cfg` sees: `#[cfg(target_feature = "compute_80")]`.
            pub const fn target_feature(&self) -> &'static str {
                match self {
                    $(NvvmArch::$variant => concat!("compute_", $number, $suffix),)*
                }
            }
        }
    };
}

architectures! {
    Compute35 35 "",
    Compute37 37 "",
    Compute50 50 "",
    Compute52 52 "",
    Compute53 53 "",
    Compute60 60 "",
    Compute61 61 "",
    Compute62 62 "",
    Compute70 70 "",
    Compute72 72 "",
    Compute75 75 "",
    Compute80 80 "",
    Compute86 86 "",
    Compute87 87 "",
    Compute88 88 "",
    Compute89 89 "",
    Compute90 90 "",
    Compute90a 90 "a",
    Compute100 100 "",
    Compute100f 100 "f",
    Compute100a 100 "a",
    Compute101 101 "",
    Compute101f 101 "f",
    Compute101a 101 "a",
    Compute103 103 "",
    Compute103f 103 "f",
    Compute103a 103 "a",
    Compute110 110 "",
    Compute110f 110 "f",
    Compute110a 110 "a",
    Compute120 120 "",
    Compute120f 120 "f",
    Compute120a 120 "a",
    Compute121 121 "",
    Compute121f 121 "f",
    Compute121a 121 "a",
}

impl NvvmArch {
    /// The major number: 8 for 8.6.
    pub const fn major_version(&self) -> u32 {
        self.capability_value() / 10
    }

    /// The minor number: 6 for 8.6.
    pub const fn minor_version(&self) -> u32 {
        self.capability_value() % 10
    }

    /// Whether its atomics have orders and scopes in PTX.
    pub(crate) fn has_orders(self) -> bool {
        self.capability_value() >= 70
    }

    /// Whether it is not a variant.
    pub fn is_base_variant(&self) -> bool {
        !self.is_family_variant() && !self.is_architecture_variant()
    }

    /// Whether it is an `f` variant.
    pub fn is_family_variant(&self) -> bool {
        self.target_cpu().ends_with('f')
    }

    /// Whether it is an `a` variant.
    pub fn is_architecture_variant(&self) -> bool {
        self.target_cpu().ends_with('a')
    }

    /// The same capability without its variant.
    pub fn base_architecture(&self) -> Self {
        self.get_variants().first().copied().unwrap_or(*self)
    }

    /// The capability with and without variants.
    pub fn get_variants(&self) -> Vec<Self> {
        Self::variants_for_capability(self.capability_value())
    }

    /// All architectures with this [`capability_value`](Self::capability_value).
    pub fn variants_for_capability(capability: u32) -> Vec<Self> {
        let all = Self::ALL.iter().copied();
        all.filter(|arch| arch.capability_value() == capability)
            .collect()
    }

    /// The architectures whose features may be used in code for this one: all base ones up to its
    /// capability; for a variant also the `f` ones of its major number up to it; for an `a` itself.
    pub fn all_target_features(&self) -> Vec<Self> {
        let is_included = |arch: &Self| {
            let is_older = arch.capability_value() <= self.capability_value();
            let is_family = arch.major_version() == self.major_version() && !self.is_base_variant();
            match (arch.is_base_variant(), arch.is_family_variant()) {
                (true, _) => is_older,
                (_, true) => is_older && is_family,
                _ => arch == self,
            }
        };
        Self::ALL.iter().copied().filter(is_included).collect()
    }
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

/// The text is not the name of a known architecture.
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
            .find(|arch| arch.target_cpu() == text || arch.target_feature() == text)
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
            assert_eq!(arch.target_feature().parse(), Ok(arch));
        }
        assert_eq!(NvvmArch::Compute90a.target_cpu(), "sm_90a");
        assert_eq!(NvvmArch::Compute90a.capability_value(), 90);
    }

    #[test]
    fn variants_belong_to_their_capability() {
        use NvvmArch::{Compute90, Compute90a, Compute100, Compute100a, Compute100f, Compute103f};
        assert_eq!(
            Compute100.get_variants(),
            [Compute100, Compute100f, Compute100a]
        );
        assert_eq!(Compute100a.base_architecture(), Compute100);
        assert_eq!(
            (Compute103f.major_version(), Compute103f.minor_version()),
            (10, 3)
        );
        let variants = |arch: NvvmArch| {
            let features = arch.all_target_features().into_iter();
            features
                .filter(|arch| !arch.is_base_variant())
                .collect::<Vec<_>>()
        };
        assert_eq!(variants(Compute100), []);
        assert_eq!(variants(Compute90a), [Compute90a]);
        assert_eq!(variants(Compute100a), [Compute100f, Compute100a]);
        assert!(variants(Compute103f).ends_with(&[Compute103f]));
        assert!(
            Compute90
                .all_target_features()
                .starts_with(&[NvvmArch::Compute35])
        );
        assert_eq!(Compute90.all_target_features().last(), Some(&Compute90));
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
