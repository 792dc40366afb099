//! The colours of every plot. They differ for colour-blind readers too (Okabe and Ito's set).

/// Red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Color(pub u8, pub u8, pub u8);

pub(crate) const WHITE: Color = Color(255, 255, 255);
pub(crate) const INK: Color = Color(25, 30, 38);
/// Numbers and names of axes.
pub(crate) const QUIET: Color = Color(88, 96, 108);
pub(crate) const GRID: Color = Color(224, 227, 232);
/// Every second row of a long picture.
pub(crate) const BAND: Color = Color(245, 246, 248);
pub(crate) const BLUE: Color = Color(0, 114, 178);
pub(crate) const ORANGE: Color = Color(213, 94, 0);
pub(crate) const GREEN: Color = Color(0, 158, 115);
const PINK: Color = Color(204, 121, 167);
const AMBER: Color = Color(230, 159, 0);
const SKY: Color = Color(86, 180, 233);
const PURPLE: Color = Color(117, 78, 179);
const BROWN: Color = Color(140, 96, 30);

/// For what no implementation owns: kernels of a profile, kinds of cost.
pub(crate) const SERIES: [Color; 9] = [BLUE, ORANGE, GREEN, PINK, AMBER, SKY, PURPLE, BROWN, QUIET];

/// Who made a measurement: ourselves or a peer. A name has one colour in all plots.
pub(crate) fn of_implementation(name: &str) -> Color {
    match name {
        "blockwise" => BLUE,
        // Our kernels in CUDA C++.
        "nvcc" => SKY,
        "torch" => ORANGE,
        "cupy" => GREEN,
        "numba" => PINK,
        "document" => AMBER,
        _ => QUIET,
    }
}
