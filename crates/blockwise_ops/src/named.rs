//! Enums whose values have names on the command line and in reports.

/// A text that is not the name of a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is no {what}; there are: {}", .known.join(", "))]
pub struct UnknownName {
    /// The kind of value, such as `device`.
    pub what: &'static str,
    /// The given text.
    pub given: String,
    /// All names.
    pub known: Vec<String>,
}

/// Defines an enum with `ALL`, `name`, `Display` and `FromStr` from one list of values and names.
///
/// ```
/// blockwise_ops::named_enum! {
///     /// Where to look.
///     pub enum Side("side") {
///         /// On the left.
///         Left = "left",
///         /// On the right.
///         Right = "right",
///     }
/// }
/// assert_eq!("right".parse(), Ok(Side::Right));
/// let error = "up".parse::<Side>().expect_err("there is no such side");
/// assert_eq!(error.to_string(), "`up` is no side; there are: left, right");
/// ```
#[macro_export]
macro_rules! named_enum {
    (
        $(#[$attribute:meta])*
        $vis:vis enum $Enum:ident ($what:literal) {
            $( $(#[$doc:meta])* $Value:ident = $name:literal ),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $vis enum $Enum {
            $( $(#[$doc])* $Value ),+
        }

        impl $Enum {
            /// Every value, in order.
            $vis const ALL: &[Self] = &[$(Self::$Value),+];

            /// The name that `Display` writes and `FromStr` reads.
            $vis const fn name(self) -> &'static str {
                match self {
                    $( Self::$Value => $name ),+
                }
            }
        }

        impl std::fmt::Display for $Enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $Enum {
            type Err = $crate::UnknownName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|value| value.name() == text).ok_or_else(|| {
                    $crate::UnknownName {
                        what: $what,
                        given: text.to_owned(),
                        known: Self::ALL.iter().map(ToString::to_string).collect(),
                    }
                })
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::ConvMode;

    #[test]
    fn names_are_read_back_as_written() {
        for &mode in ConvMode::ALL {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
    }

    #[test]
    fn an_unknown_name_is_told_with_the_known_ones() {
        let error = ("half".parse::<ConvMode>()).expect_err("there is no such mode");
        assert_eq!(
            error.to_string(),
            "`half` is no convolution mode; there are: full, same, valid"
        );
    }
}
