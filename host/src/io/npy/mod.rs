//! NumPy's `.npy`: booleans, integers of 8 to 64 bits and floats of 16 to 64, in both byte orders,
//! row-major or column-major. Files are written little-endian and row-major.

mod header;
mod literal;

use self::header::{Header, MAGIC, size_in_bytes, stored};
use super::array::ArrayReader;
use super::bytes::Bytes;
use super::error::{Defect, Problem};
use super::memory;

pub(super) use self::header::write_header;

/// Opens a file of `len` bytes, and checks everything except the elements' values.
pub(super) fn open(bytes: Bytes, len: u64) -> Result<ArrayReader, Defect> {
    let header = Header::read(&mut bytes.reader(), len)?;
    let (stored, big_endian) = stored(&header.descr)?;
    let expected = size_in_bytes(&header.shape, stored.bytes())?;
    let present = len - header.bytes;
    if present != expected as u64 {
        let mut again = [0; MAGIC.len()];
        let end = header.bytes + expected as u64;
        if len.saturating_sub(end) >= again.len() as u64 {
            bytes.read_exact_at(end, &mut again)?;
        }
        let (kind, hint) = if present < expected as u64 {
            ("is truncated", "save or copy the file again")
        } else if again == MAGIC {
            (
                "has another array behind its own",
                "save each into a file of its own",
            )
        } else {
            ("has trailing bytes", "save or copy the file again")
        };
        return Err(Problem::new(format!(
            "the file {kind}: shape {:?} of {} takes {expected} bytes, {present} are there",
            header.shape, header.descr
        ))
        .hint(hint)
        .into());
    }
    let columns_first = header.fortran_order && header.shape.len() > 1;
    if columns_first || (big_endian && stored.bytes() > 1) {
        // Other orders are rare: such a file is read whole, and may then be held twice.
        if 2 * expected as u64 > memory::available() {
            return Err(Problem::new(format!(
                "its elements are in another order than this machine's, and there is no memory to reorder {expected} bytes"
            ))
            .hint("save it in this order: `numpy.save(FILE, numpy.require(x, x.dtype.newbyteorder('<'), 'C'))`")
            .into());
        }
        let mut elements = vec![0; expected];
        bytes.read_exact_at(header.bytes, &mut elements)?;
        if big_endian {
            elements
                .chunks_exact_mut(stored.bytes())
                .for_each(<[u8]>::reverse);
        }
        if columns_first {
            elements = rows_first(&elements, &header.shape, stored.bytes());
        }
        return Ok(ArrayReader::new(header.shape, stored, elements.into(), 0));
    }
    Ok(ArrayReader::new(header.shape, stored, bytes, header.bytes))
}

/// Reorders elements of `item` bytes from Fortran order to row-major order.
fn rows_first(elements: &[u8], shape: &[usize], item: usize) -> Vec<u8> {
    let mut ordered = Vec::with_capacity(elements.len());
    // An element's position is the sum of its indices times these.
    let strides: Vec<usize> = (shape.iter())
        .scan(item, |stride, len| {
            Some(std::mem::replace(stride, *stride * len))
        })
        .collect();
    let mut index = vec![0; shape.len()];
    let mut at = 0;
    while ordered.len() < elements.len() {
        ordered.extend_from_slice(&elements[at..at + item]);
        for dimension in (0..shape.len()).rev() {
            index[dimension] += 1;
            at += strides[dimension];
            if index[dimension] < shape[dimension] {
                break;
            }
            at -= index[dimension] * strides[dimension];
            index[dimension] = 0;
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use blockwise::Type;

    use super::header::ALIGNMENT;
    use super::*;

    fn npy(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = [MAGIC, &[1, 0]].concat();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn header(ty: &str, fortran: &str, shape: &str) -> String {
        format!("{{'descr': {ty}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n")
    }

    fn decode(bytes: &[u8]) -> Result<ArrayReader, Defect> {
        open(bytes.to_vec().into(), bytes.len() as u64)
    }

    #[track_caller]
    fn check_refused(bytes: &[u8], expected: &str) {
        let Err(Defect::Content(problem)) = decode(bytes) else {
            panic!("not refused: {expected}")
        };
        let text = format!("{} {}", problem.what, problem.hint.unwrap_or(""));
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn what_is_not_supported_is_named_with_the_way_out() {
        check_refused(
            &npy(&header("'|O'", "False", "(2,)"), &[0; 16]),
            "Python objects",
        );
        check_refused(
            &npy(&header("'<c16'", "False", "(2,)"), &[0; 32]),
            "complex numbers ('<c16')",
        );
        check_refused(
            &npy(&header("'<c8'", "False", "(2,)"), &[0; 16]),
            "`array.real` and `array.imag`",
        );
        check_refused(
            &npy(&header("'<M8[ns]'", "False", "(2,)"), &[0; 16]),
            "astype('<i8')",
        );
        check_refused(&npy(&header("'<U3'", "False", "(1,)"), &[0; 12]), "text");
        check_refused(
            &npy(&header("[('x', '<f8')]", "False", "(2,)"), &[0; 16]),
            "records",
        );
        check_refused(&npy(&header("None", "False", "(2,)"), &[]), "'descr'");
    }

    /// The numbers of a file, as float64.
    #[track_caller]
    fn check(ty: &str, fortran: &str, shape: &str, data: &[u8], expected: &[f64]) {
        let file = npy(&header(&format!("'{ty}'"), fortran, shape), data);
        let mut values = vec![0.0; expected.len()];
        decode(&file).unwrap().read(&mut values).unwrap();
        assert_eq!(values, expected, "{ty}");
    }

    #[test]
    fn every_type_in_either_order_of_bytes() {
        let one = |ty, data: &[u8], value| check(ty, "False", "(1,)", data, &[value]);
        one("|b1", &[1], 1.0);
        one("|i1", &[0xFE], -2.0);
        one("|u1", &[0xFE], 254.0);
        one("<i2", &[1, 0x80], -32767.0);
        one(">i2", &[0x80, 1], -32767.0);
        one("<u2", &[1, 0x80], 32769.0);
        one(">i4", &[0xFF, 0xFF, 0xFF, 0xFE], -2.0);
        one("<u4", &[0, 0, 0, 0x80], 2_147_483_648.0);
        one(">u8", &[0, 0, 0, 1, 0, 0, 0, 0], 4_294_967_296.0);
        one("<u8", &[0, 0, 0, 0, 0, 0, 0, 0x80], 2_f64.powi(63));
        one("<f2", &[0, 0xC2], -3.0);
        one(">f4", &1.5_f32.to_be_bytes(), 1.5);
        one(">f8", &(-0.1_f64).to_be_bytes(), -0.1);
        // Without a mark the byte order is the machine's.
        one("f4", &1.5_f32.to_le_bytes(), 1.5);
    }

    #[test]
    fn fortran_order_is_read_row_by_row() {
        let columns = [0, 3, 1, 4, 2, 5];
        check(
            "|u1",
            "True",
            "(2, 3)",
            &columns,
            &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        );
        check(
            "|u1",
            "True",
            "(2, 1, 3)",
            &columns,
            &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        );
        check("|u1", "True", "(3,)", &[7, 8, 9], &[7.0, 8.0, 9.0]);
        check("|u1", "True", "(2, 0)", &[], &[]);
        let pairs: Vec<u8> = columns.iter().flat_map(|&value| [0, value]).collect();
        check(
            ">i2",
            "True",
            "(2, 3)",
            &pairs,
            &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        );
    }

    #[test]
    fn headers_of_other_writers() {
        let values = |header: &str, version: u8| {
            let mut file = npy(header, &[1, 2, 3]);
            file[6] = version;
            if version > 1 {
                let length = (header.len() as u32).to_le_bytes();
                file.splice(8..10, length);
            }
            let mut values = [0.0; 3];
            decode(&file).unwrap().read(&mut values).unwrap();
            assert_eq!(values, [1.0, 2.0, 3.0], "{header}");
        };
        values(&header("'|u1'", "False", "(3L,)"), 1);
        values(
            "{'shape': (3L, 1L), 'descr': '|u1', 'fortran_order': True}",
            1,
        );
        values(&header("'|u1'", "False", "(3,)"), 2);
        values(&header("u'|u1'", "False", "(3,)"), 3);
        values(
            "{u'descr': '|u1', \n 'fortran_order': False, 'shape': (3,)}",
            1,
        );
        let long = format!(
            "{}{}",
            header("'|u1'", "False", "(3,)").trim(),
            " ".repeat(60_000)
        );
        values(&long, 1);
    }

    #[test]
    fn records_are_named_as_such_however_their_fields_are_called() {
        let fields = |name: &str, count: usize| {
            let fields: Vec<_> = (0..count)
                .map(|at| format!("('{name}{at}', '<f8')"))
                .collect();
            header(&format!("[{}]", fields.join(", ")), "False", "(0,)")
        };
        check_refused(&npy(&fields("x", 500), &[]), "records");
        // Latin-1, as versions 1 and 2 have it.
        let mut latin = npy(&fields("temp", 2), &[]);
        let at = latin.windows(4).position(|name| name == b"temp").unwrap();
        latin[at] = 0xE9;
        check_refused(&latin, "records");
        latin[6] = 3;
        latin.splice(8..10, [latin[8], latin[9], 0, 0]);
        check_refused(&latin, "not UTF-8");
        let deep = format!("{}{}", "(".repeat(100), ")".repeat(100));
        check_refused(&npy(&header("'<f8'", "False", &deep), &[]), "deeper");
    }

    #[test]
    fn an_integer_that_float64_does_not_hold_is_named() {
        for (ty, value, rounded) in [
            ("'<i8'", [1, 0, 0, 0, 0, 0, 0x20, 0], "9007199254740992"),
            ("'<u8'", [0xFF; 8], "18446744073709551616"),
        ] {
            let file = npy(
                &header(ty, "False", "(2,)"),
                &[[2, 0, 0, 0, 0, 0, 0, 0], value].concat(),
            );
            let Err(Defect::Content(problem)) = decode(&file).unwrap().read(&mut [0.0_f64; 2])
            else {
                panic!("not refused")
            };
            let what = &problem.what;
            assert!(
                what.starts_with("element 1 is") && what.ends_with(rounded),
                "{what}"
            );
        }
        // Large integers that float64 holds exactly.
        check(
            "<i8",
            "False",
            "(1,)",
            &(1_i64 << 62).to_le_bytes(),
            &[2_f64.powi(62)],
        );
        check(
            "<i8",
            "False",
            "(1,)",
            &i64::MIN.to_le_bytes(),
            &[-2_f64.powi(63)],
        );
    }

    #[test]
    fn an_integer_that_int64_does_not_hold_is_named() {
        let file = npy(
            &header("'<u8'", "False", "(2,)"),
            &[[1, 0, 0, 0, 0, 0, 0, 0], [0xFF; 8]].concat(),
        );
        let mut values = [0_i64; 2];
        let Err(Defect::Content(problem)) = decode(&file).unwrap().read(&mut values) else {
            panic!("not refused")
        };
        assert!(
            problem.what.contains("element 1 is 18446744073709551615"),
            "{}",
            problem.what
        );
    }

    #[test]
    fn what_is_written_can_be_read() {
        for (shape, stored) in [
            (vec![], Type::F64),
            (vec![3], Type::F16),
            (vec![0, 5], Type::Bool),
            (vec![1; 30_000], Type::F32),
        ] {
            let mut file = super::header::header(&shape, stored);
            assert_eq!(file.len() % ALIGNMENT, 0);
            file.resize(
                file.len() + shape.iter().product::<usize>() * stored.bytes(),
                0,
            );
            let read = decode(&file).unwrap();
            assert_eq!(read.shape(), shape);
        }
        assert_eq!(
            super::header::header(&[2, 3], Type::F64),
            b"\x93NUMPY\x01\0\x76\0{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }                                                          \n"
        );
    }

    #[test]
    fn broken_files_are_errors() {
        let good = npy(&header("'<f8'", "False", "(2,)"), &[0; 16]);
        assert!(decode(&good).is_ok());
        check_refused(&[], "empty");
        check_refused(b"RIFF....", "magic");
        check_refused(&good[..9], "too short");
        check_refused(&good[..30], "truncated");
        check_refused(
            &good[..good.len() - 1],
            "truncated: shape [2] of <f8 takes 16 bytes, 15 are there",
        );
        check_refused(&[&good[..], b"x"].concat(), "trailing");
        check_refused(&npy("{'descr': '<f8'", &[]), "broken .npy header");
        for (twice, name) in [
            ("'descr': '<f4', ", "'descr'"),
            ("'fortran_order': True, ", "'fortran_order'"),
            ("'shape': (1, 2), ", "'shape'"),
        ] {
            let first = header("'<f8'", "False", "(2,)");
            let header = first.replacen('{', &format!("{{{twice}"), 1);
            check_refused(&npy(&header, &[0; 16]), &format!("{name} twice"));
        }
        let same = header("'<f8'", "False", "(2,)").replacen('{', "{'shape': (2,), ", 1);
        assert!(decode(&npy(&same, &[0; 16])).is_ok());
        check_refused(
            &npy(&header("'<f8'", "False", "(4294967296, 4294967296)"), &[]),
            "larger than",
        );
        check_refused(
            &npy(
                &header("'<f8'", "False", "(0, 9223372036854775807, 9)"),
                &[],
            ),
            "larger than",
        );
        for cut in 0..good.len() {
            assert!(decode(&good[..cut]).is_err(), "cut at {cut}");
        }
    }
}
