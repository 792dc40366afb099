//! The syntax of arguments.

use crate::buffer::{Buffer, Fill, Lengths};
use crate::fill::{fill, saved};
use crate::image::{self, Described};
use crate::number::{bytes_of, named};
use crate::{Problem, Type};
use std::path::PathBuf;

/// One `--arg`.
pub(crate) struct Written<'a> {
    pub(crate) text: &'a str,
    pub(crate) form: Form,
}

pub(crate) enum Form {
    Number(Type, Vec<u8>),
    Bytes(Vec<u8>),
    Buffer(Buffer),
    Image(Box<Described>),
}

impl Written<'_> {
    /// The number of parameters that it fills.
    pub(crate) fn parameters(&self) -> usize {
        match &self.form {
            Form::Buffer(buffer) => 1 + buffer.passed.count(),
            Form::Image(image) if image.name.is_some() => 0,
            _ => 1,
        }
    }
}

/// Reads an argument.
pub(crate) fn parse(text: &str) -> Result<Written<'_>, Problem> {
    let form = if let Some(image) = image::parse(text) {
        image.map(|image| Form::Image(Box::new(image)))
    } else if text.contains('[') {
        buffer(text).map(Form::Buffer)
    } else {
        plain(text)
    };
    let form = form.map_err(|reason| {
        Problem::new(format!("`{text}` is no argument of a kernel: {reason}")).hint(
            "such as u32:7, f32:1.5, f32[1024], f32[1024]=random:1, slice:f32[]=x.npy, matrix:f32[40,50], `f32[64] -> out.npy`, tex2d:f32=x.npy",
        )
    })?;
    Ok(Written { text, form })
}

fn plain(text: &str) -> Result<Form, String> {
    let Some((ty, value)) = text.split_once(':') else {
        return Err("a number is TYPE:VALUE, and a buffer TYPE[LENGTH]".to_owned());
    };
    if ty == "bytes" {
        return bytes(value).map(Form::Bytes);
    }
    let ty = named(ty)?;
    Ok(Form::Number(ty, bytes_of(ty, value)?))
}

fn bytes(text: &str) -> Result<Vec<u8>, String> {
    let wrong = || "bytes are pairs of hexadecimal digits".to_owned();
    let digit = |digit: char| digit.to_digit(16).map(|digit| digit as u8);
    let digits: Option<Vec<u8>> = text.chars().map(digit).collect();
    let digits = digits.ok_or_else(wrong)?;
    let (pairs, rest) = digits.as_chunks::<2>();
    match rest {
        [] => Ok(pairs.iter().map(|[high, low]| 16 * high + low).collect()),
        _ => Err(wrong()),
    }
}

fn buffer(text: &str) -> Result<Buffer, String> {
    let (text, save) = saved(text)?;
    let save = save.map(PathBuf::from);
    let (text, passed) = match text.split_once(':') {
        Some(("slice", text)) => (text, Lengths::Len),
        Some(("matrix", text)) => (text, Lengths::Matrix(None)),
        _ => (text, Lengths::None),
    };
    let (declared, fill) = match text.split_once('=') {
        Some((declared, text)) => (declared, fill(text)?),
        None => (text, Fill::Nothing),
    };
    let parts = declared
        .strip_suffix(']')
        .and_then(|text| text.split_once('['));
    let (ty, len) = parts.ok_or("a buffer is TYPE[LENGTH]")?;
    let ty = named(ty)?;
    let number = |text: &str| {
        let number = text.trim().parse::<usize>();
        number.map_err(|_| format!("`{text}` is no length"))
    };
    let (len, passed) = match (len, &fill, passed) {
        ("", Fill::File(_), passed) => (None, passed),
        ("", ..) => return Err("only a file's length may be left out".to_owned()),
        (len, _, Lengths::Matrix(_)) => {
            let (rows, cols) = len
                .split_once(',')
                .ok_or("a matrix is matrix:TYPE[ROWS,COLUMNS]")?;
            let shape = [number(rows)?, number(cols)?];
            let count = shape[0].checked_mul(shape[1]);
            let count = count.ok_or_else(|| format!("`{len}` is too large"))?;
            (Some(count), Lengths::Matrix(Some(shape)))
        }
        (len, _, passed) => (Some(number(len)?), passed),
    };
    Ok(Buffer {
        ty,
        len,
        fill,
        passed,
        save,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_number(text: &str, expected: &[u8]) {
        match parse(text).expect(text).form {
            Form::Number(_, bytes) | Form::Bytes(bytes) => assert_eq!(bytes, expected, "{text}"),
            Form::Buffer(_) | Form::Image(_) => panic!("{text} is no number"),
        }
    }

    #[test]
    fn numbers() {
        check_number("u32:7", &7_u32.to_le_bytes());
        check_number("i64:-3", &(-3_i64).to_le_bytes());
        check_number("u8:0xff", &[255]);
        check_number("i8:-0x80", &[0x80]);
        check_number("u64:18446744073709551615", &[255; 8]);
        check_number("f32:1.5", &1.5_f32.to_le_bytes());
        check_number("f64:-inf", &f64::NEG_INFINITY.to_le_bytes());
        check_number("bytes:00fF70", &[0, 255, 0x70]);
    }

    /// A buffer's length, and what is passed with it, and where it is saved.
    #[track_caller]
    fn check_buffer(text: &str, expected: (Option<usize>, Lengths, Option<&str>)) {
        match parse(text).expect(text).form {
            Form::Buffer(buffer) => {
                let save = buffer.save.as_deref().and_then(|path| path.to_str());
                assert_eq!((buffer.len, buffer.passed, save), expected, "{text}");
            }
            _ => panic!("{text} is no buffer"),
        }
    }

    #[test]
    fn buffers() {
        check_buffer("f32[1024]", (Some(1024), Lengths::None, None));
        check_buffer("slice:u8[0]=zeros", (Some(0), Lengths::Len, None));
        let shape = Lengths::Matrix(Some([3, 5]));
        check_buffer("matrix:f32[3,5]=iota", (Some(15), shape, None));
        check_buffer("matrix:f32[3, 5]", (Some(15), shape, None));
        let of_file = (None, Lengths::Matrix(None), Some("b.npy"));
        check_buffer("matrix:f32[]=a.npy -> b.npy", of_file);
        check_buffer("f64[]=a.npy", (None, Lengths::None, None));
        check_buffer(
            "i64[4]=iota -> out.npy",
            (Some(4), Lengths::None, Some("out.npy")),
        );
        check_buffer(
            "slice:i16[2]=random:9->x/y.npy",
            (Some(2), Lengths::Len, Some("x/y.npy")),
        );
    }

    #[test]
    fn what_is_not_an_argument_is_refused() {
        for text in [
            "",
            "7",
            "u32",
            "u32:",
            "u32:-1",
            "u8:256",
            "u32:1.5",
            "u32:--1",
            "u32:0x-1",
            "f16:1",
            "f32:x",
            "bytes:0",
            "bytes:0g",
            "f32[",
            "f32[]",
            "f32[]=zeros",
            "f32[-1]",
            "f32[x]",
            "f32[4]=",
            "f32[4]=ones",
            "f32[4]=random",
            "f32[4]=random:x",
            "[4]",
            "x[4]",
            "slice:u32:7",
            "slice:f32[3,5]",
            "matrix:f32[15]",
            "matrix:f32[]",
            "matrix:f32[3,5,7]",
            "matrix:f32[4294967296,4294967296]",
            "f32[4]x",
            "u32:\u{e9}",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
