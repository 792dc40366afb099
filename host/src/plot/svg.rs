//! Pictures as SVG, with text that can be selected and searched.

use std::fmt::Write as _;

use super::color::{Color, WHITE};
use super::figure::{BASE, Figure, Mark, Point, width};

/// Text is stretched to the widths of the PNG's letters, whichever of these fonts there is.
const FONTS: &str = "Noto Sans Mono, DejaVu Sans Mono, Menlo, Consolas, monospace";

pub(crate) fn svg(figure: &Figure) -> String {
    let (wide, high) = figure.size;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{high}\" \
         viewBox=\"0 0 {wide} {high}\" role=\"img\" font-family=\"{FONTS}\" font-size=\"12\">\n\
         <title>{}</title>\n\
         <rect width=\"{wide}\" height=\"{high}\" fill=\"{}\"/>\n",
        escaped(&figure.title),
        hex(WHITE)
    );
    for mark in &figure.marks {
        // Writing into a `String` cannot fail.
        let _ = writeln!(text, "{}", element(mark));
    }
    text + "</svg>\n"
}

fn element(mark: &Mark) -> String {
    match mark {
        Mark::Box(area, color) => format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>",
            short(area.left),
            short(area.top),
            short(area.width),
            short(area.height),
            hex(*color)
        ),
        Mark::Line(points, thick, color) => {
            let pair = |&(x, y): &Point| format!("{},{}", short(x), short(y));
            let points: Vec<_> = points.iter().map(pair).collect();
            format!(
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" \
                 stroke-linecap=\"round\" stroke-linejoin=\"round\"/>",
                points.join(" "),
                hex(*color),
                short(*thick)
            )
        }
        Mark::Disc((x, y), radius, color) => format!(
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"/>",
            short(*x),
            short(*y),
            short(*radius),
            hex(*color)
        ),
        Mark::Text {
            at: (x, y),
            text,
            bold,
            color,
        } => format!(
            "<text x=\"{}\" y=\"{}\" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"{} \
             fill=\"{}\">{}</text>",
            short(*x),
            short(y + BASE),
            short(width(text)),
            if *bold { " font-weight=\"bold\"" } else { "" },
            hex(*color),
            escaped(text)
        ),
    }
}

fn hex(Color(red, green, blue): Color) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// A coordinate to a hundredth of a pixel.
fn short(value: f64) -> String {
    super::axis::trimmed(&format!("{value:.2}"))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
