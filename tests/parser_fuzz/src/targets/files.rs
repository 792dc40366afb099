//! Arrays and recordings.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use blockwise_cli::io::{Contents, FileError, Reader};
use tempfile::TempDir;

use super::Target;

pub(super) const NPY: Target = Target {
    name: "npy",
    run: |bytes| read(bytes, "x.npy"),
    seeds: npy_seeds,
    words: &[
        "\u{93}NUMPY",
        "{'descr': ",
        "'fortran_order': ",
        "'shape': ",
        "True",
        "False",
        "None",
        "'<f8'",
        "'>f4'",
        "'|b1'",
        "'<i8'",
        "'>u8'",
        "'<f2'",
        "'|O'",
        "'<c16'",
        "'<U4'",
        "'<M8[ns]'",
        "[('a', '<f4')]",
        "(0,)",
        "()",
        "(1,)",
        "(2L, 3L)",
        "(18446744073709551615,)",
        "(9223372036854775807, 0)",
        "((((",
        "[[[[",
        "{{{{",
        "1e9",
        "\\x00",
        "u'shape'",
        "b'descr'",
    ],
    in_test: 2000,
};

pub(super) const WAV: Target = Target {
    name: "wav",
    run: |bytes| read(bytes, "x.wav"),
    seeds: wav_seeds,
    words: &[
        "RIFF",
        "RIFX",
        "RF64",
        "BW64",
        "WAVE",
        "fmt ",
        "data",
        "ds64",
        "fact",
        "LIST",
        "bext",
        "cue ",
        "smpl",
        "JUNK",
        "id3 ",
        "\u{ff}\u{ff}\u{ff}\u{ff}",
        "\0\0\0\0",
    ],
    in_test: 2000,
};

pub(super) const CSV: Target = Target {
    name: "csv",
    run: |bytes| read(bytes, "x.csv"),
    seeds: csv_seeds,
    words: &[
        ",",
        ";",
        "\n",
        "\r\n",
        "\r",
        "\"",
        "\"\"",
        "#",
        "\t",
        "1e999",
        "-1e-999",
        "nan",
        "inf",
        "-Infinity",
        "0x10",
        "1_000",
        "1,5",
        "\u{feff}",
        "9007199254740993",
        "\0",
        " ",
        "+",
        "x,y,z\n",
        "(1+2j)",
        "١",
    ],
    in_test: 2000,
};

/// A folder in memory, where there is one.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    FOLDER
        .get_or_init(|| {
            let memory = Path::new("/dev/shm");
            let made = match memory.is_dir() {
                true => tempfile::tempdir_in(memory),
                false => tempfile::tempdir(),
            };
            made.expect("a folder for temporary files")
        })
        .path()
}

fn read(bytes: &[u8], name: &str) -> String {
    let path: PathBuf = folder().join(name);
    std::fs::write(&path, bytes).expect("room for a file");
    let outcome = whole(&path);
    outcome.unwrap_or_else(|error| match error.to_string().split_once(": ") {
        // Without the file's name.
        Some((_, what)) => what.to_owned(),
        None => error.to_string(),
    })
}

/// Reads all of a file, in every way in which commands do.
fn whole(path: &Path) -> Result<String, FileError> {
    let mut reader = Reader::open(path)?;
    let numbers = match reader.contents() {
        Contents::Array(array) => array.shape().iter().product::<usize>(),
        Contents::Recording(recording) => {
            recording.frames() * usize::from(recording.sound().channels)
        }
    };
    let about = match reader.contents() {
        Contents::Array(array) => format!("{array:?}"),
        Contents::Recording(recording) => format!("{:?}", recording.sound()),
    };
    let bytes = reader.again().bytes()?;
    let kind = bytes.map_or("", |(stored, _)| stored.name());
    let mut matrix = reader.again().into_matrix();
    let mut pieces = vec![0.0_f64; numbers.min(1000)];
    matrix.read(&mut pieces)?;
    let mut halves = reader.again();
    halves.skip(numbers / 2);
    halves.read(&mut vec![0.0_f32; numbers - numbers / 2])?;
    reader.read(&mut vec![0_i64; numbers])?;
    Ok(format!("{kind} {about}"))
}

fn npy_seeds() -> Vec<Vec<u8>> {
    let file = |version: u8, descr: &str, order: &str, shape: &str, bytes: usize| {
        let mut header =
            format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}");
        let digits = if version == 1 { 2 } else { 4 };
        while !(8 + digits + header.len() + 1).is_multiple_of(64) {
            header.push(' ');
        }
        header.push('\n');
        let mut file = b"\x93NUMPY".to_vec();
        file.extend([version, 0]);
        file.extend(&(header.len() as u32).to_le_bytes()[..digits]);
        file.extend(header.bytes());
        file.extend((0..bytes).map(|byte| (byte % 7) as u8));
        file
    };
    vec![
        file(1, "'<f8'", "False", "(3,)", 24),
        file(1, "'<f4'", "True", "(2, 3)", 24),
        file(2, "'>i2'", "False", "(2, 2, 2)", 16),
        file(3, "'|b1'", "True", "(4,)", 4),
        file(1, "'<u8'", "False", "()", 8),
        file(1, "'<f2'", "False", "(0, 5)", 0),
        file(1, "'>u8'", "True", "(2L, 2L)", 32),
        file(1, "'<c16'", "False", "(1,)", 16),
        file(1, "[('a', '<f4')]", "False", "(1,)", 4),
        file(1, "'|i1'", "False", "(99,)", 99),
    ]
}

fn wav_seeds() -> Vec<Vec<u8>> {
    let chunk = |id: &[u8; 4], bytes: &[u8]| {
        let mut chunk = id.to_vec();
        chunk.extend((bytes.len() as u32).to_le_bytes());
        chunk.extend(bytes);
        chunk.resize(chunk.len().next_multiple_of(2), 0);
        chunk
    };
    let format = |coding: u16, channels: u16, bits: u16| {
        let frame = channels * bits.div_ceil(8);
        let mut bytes = Vec::new();
        bytes.extend(coding.to_le_bytes());
        bytes.extend(channels.to_le_bytes());
        bytes.extend(48_000_u32.to_le_bytes());
        bytes.extend((48_000 * u32::from(frame)).to_le_bytes());
        bytes.extend(frame.to_le_bytes());
        bytes.extend(bits.to_le_bytes());
        bytes
    };
    let file = |head: &[u8; 4], chunks: &[Vec<u8>]| {
        let body = chunks.concat();
        let mut file = head.to_vec();
        file.extend((4 + body.len() as u32).to_le_bytes());
        file.extend(b"WAVE");
        file.extend(body);
        file
    };
    let data = chunk(b"data", &[1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
    let fmt = |coding, channels, bits| chunk(b"fmt ", &format(coding, channels, bits));
    let mut extensible = format(0xFFFE, 2, 24);
    extensible.extend([22, 0, 20, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0x10, 0]);
    extensible.extend([0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71]);
    let ds64 = [&100_u64.to_le_bytes()[..], &12_u64.to_le_bytes(), &[0; 12]].concat();
    let mut open_end = data.clone();
    open_end[4..8].fill(0xFF);
    let list = chunk(b"LIST", b"INFOISFT\x05\0\0\0Lavf\0\0");
    let big = |size: &[u8]| -> Vec<u8> { size.iter().rev().copied().collect() };
    let mut rifx = b"RIFX".to_vec();
    rifx.extend(big(&52_u32.to_le_bytes()));
    rifx.extend(b"WAVEfmt \0\0\0\x10\0\x01\0\x01\0\0\xbb\x80\0\x01\x77\0\0\x02\0\x10data\0\0\0\x04\0\x01\0\x02");
    vec![
        file(b"RIFF", &[fmt(1, 1, 16), data.clone()]),
        file(b"RIFF", &[fmt(1, 2, 24), list.clone(), data.clone()]),
        file(
            b"RIFF",
            &[fmt(3, 1, 32), chunk(b"fact", &[3, 0, 0, 0]), data.clone()],
        ),
        file(b"RIFF", &[chunk(b"fmt ", &extensible), data.clone(), list]),
        file(
            b"RF64",
            &[chunk(b"ds64", &ds64), fmt(1, 1, 16), open_end.clone()],
        ),
        file(b"RIFF", &[fmt(1, 1, 8), open_end]),
        file(
            b"BW64",
            &[chunk(b"JUNK", &[0; 28]), fmt(1, 1, 32), data.clone()],
        ),
        file(b"RIFF", &[fmt(2, 1, 4), data]),
        rifx,
    ]
}

fn csv_seeds() -> Vec<Vec<u8>> {
    let texts = [
        "1,2.5,-3e2\n4,5,6\n",
        "a,b\n1,2\n3,4\n",
        "\u{feff}x\r\n1\r\n2\r\n",
        "# numpy\n1.000000000000000000e+00 2.0\n",
        "\"1\",\"2\"\n\"3\",\"4\"\n",
        "9007199254740993\n-1\nnan\ninf\n",
        "1;2\n3;4\n",
        "",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}
