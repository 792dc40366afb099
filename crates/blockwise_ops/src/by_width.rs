//! Code for the type of an element, by its bytes.

/// A function of `f32` or `f64`, by the bytes of an element.
macro_rules! by_width {
    ($bytes:expr, $T:ident => $value:expr) => {
        match $bytes {
            8 => {
                type $T = f64;
                $value
            }
            _ => {
                type $T = f32;
                $value
            }
        }
    };
}
pub(crate) use by_width;
