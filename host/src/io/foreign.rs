//! Files of other formats, recognised by their first bytes so that an error can name them.

/// A format that is not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Foreign {
    pub(super) name: &'static str,
    /// How to convert it to a supported format.
    pub(super) hint: &'static str,
}

/// How many of the first bytes are needed.
pub(super) const ENOUGH: usize = 64;

/// 64-bit floats preserve 32-bit integers.
const CONVERT_SOUND: &str =
    "convert it, for example by `ffmpeg -i IN -c:a pcm_f64le OUT.wav`: samples of 1 and less";
const FROM_HDF5: &str = "in Python: `numpy.save('x.npy', h5py.File('IN')['x'][()])`; MATLAB's and Julia's arrays are transposed there";
const FROM_R: &str =
    "in R: `write.table(x, 'x.csv', sep = ',', row.names = FALSE, col.names = FALSE)`";
const FROM_PICKLE: &str = "in Python: `numpy.save('x.npy', pickle.load(open('IN', 'rb')))`";
const FROM_EXCEL: &str = "in the spreadsheet: save the sheet as CSV (comma-separated, UTF-8)";

/// The format of a file that starts with these bytes, if it is known.
pub(super) fn foreign(start: &[u8]) -> Option<Foreign> {
    const KNOWN: &[(&[u8], &str, &str)] = &[
        (
            b"MATLAB 7.3 MAT-file",
            "a MATLAB v7.3 file (HDF5)",
            FROM_HDF5,
        ),
        (
            b"MATLAB 5.0 MAT-file",
            "a MATLAB file",
            "in Python: `numpy.save('x.npy', scipy.io.loadmat('IN')['x'])`",
        ),
        (
            b"HDF5-based Julia Data Format",
            "a Julia JLD2 file (HDF5)",
            FROM_HDF5,
        ),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file", FROM_HDF5),
        (
            b"PK\x03\x04",
            "a ZIP archive, as NumPy's .npz, Excel's .xlsx and PyTorch's .pt are",
            "an .npz: `numpy.save('x.npy', numpy.load('IN')['x'])`; an .xlsx: save the sheet as CSV; a .pt: `numpy.save('x.npy', torch.load('IN').numpy())`",
        ),
        (b"\xD0\xCF\x11\xE0", "an Excel file", FROM_EXCEL),
        (b"RDA2\n", "an R workspace", FROM_R),
        (b"RDA3\n", "an R workspace", FROM_R),
        (b"RDX2\n", "an R workspace", FROM_R),
        (b"RDX3\n", "an R workspace", FROM_R),
        (b"X\n\0\0\0", "an R object", FROM_R),
        (
            b"\x1F\x8B",
            "compressed by gzip, as R's .rds and .RData are",
            "an .rds, in R: `write.table(readRDS('IN'), 'x.csv', sep = ',', row.names = FALSE, col.names = FALSE)`; else `gunzip` it",
        ),
        (b"BZh", "compressed by bzip2", "unpack it: `bunzip2`"),
        (b"\xFD7zXZ\0", "compressed by xz", "unpack it: `unxz`"),
        (
            b"\x28\xB5\x2F\xFD",
            "compressed by Zstandard",
            "unpack it: `unzstd`",
        ),
        (
            b"PAR1",
            "a Parquet file",
            "in Python: `pandas.read_parquet('IN').to_csv('x.csv', index=False)`",
        ),
        (
            b"ARROW1",
            "an Arrow file",
            "in Python: `pandas.read_feather('IN').to_csv('x.csv', index=False)`",
        ),
        (b"\x80\x02", "a Python pickle", FROM_PICKLE),
        (b"\x80\x03", "a Python pickle", FROM_PICKLE),
        (b"\x80\x04", "a Python pickle", FROM_PICKLE),
        (b"\x80\x05", "a Python pickle", FROM_PICKLE),
        (b"fLaC", "FLAC", CONVERT_SOUND),
        (b"OggS", "Ogg", CONVERT_SOUND),
        (b"caff", "Apple's CAF", CONVERT_SOUND),
        (b"riff\x2E\x91\xCF\x11", "Sony's Wave64", CONVERT_SOUND),
        (b".snd", "Sun's AU", CONVERT_SOUND),
        (b"ID3", "MP3", CONVERT_SOUND),
        (b"\x1A\x45\xDF\xA3", "Matroska or WebM", CONVERT_SOUND),
        (
            b"\x30\x26\xB2\x75\x8E\x66\xCF\x11",
            "Windows Media (ASF)",
            CONVERT_SOUND,
        ),
        (b"#!AMR", "AMR", CONVERT_SOUND),
        (b"wvpk", "WavPack", CONVERT_SOUND),
        (b"TTA1\x01\0", "True Audio", CONVERT_SOUND),
        (b"DSD \x1C\0\0\0", "DSF", CONVERT_SOUND),
        (b"FRM8\0\0", "DSDIFF", CONVERT_SOUND),
        (b"NIST_1A\n", "NIST's SPHERE", CONVERT_SOUND),
        (b"Creative Voice File\x1A", "Creative's VOC", CONVERT_SOUND),
        (
            b"MThd\0\0\0\x06",
            "MIDI: notes, and no samples",
            "let a synthesiser play it into a .wav",
        ),
        (
            b"version https://git-lfs",
            "a pointer of Git LFS to the file",
            "fetch the file itself: `git lfs pull`",
        ),
    ];
    let known = KNOWN.iter().find(|(magic, ..)| start.starts_with(magic));
    let inside = |kind: &[u8; 4], form: &[u8]| {
        start.starts_with(kind) && start.get(8..).is_some_and(|rest| rest.starts_with(form))
    };
    let (name, hint) = match known {
        Some(&(_, name, hint)) => (name, hint),
        None if inside(b"FORM", b"AIF") => ("AIFF", CONVERT_SOUND),
        None if inside(b"RIFF", b"AVI ") => ("AVI", CONVERT_SOUND),
        None if is_page(start) => (
            "a web page",
            "open it to see why the server sent it, and download the file itself",
        ),
        None if start.starts_with(b"MAC ") && start.get(5) == Some(&0x0F) => {
            ("Monkey's Audio", CONVERT_SOUND)
        }
        None if start.get(4..8) == Some(b"ftyp") => ("an MPEG-4 file", CONVERT_SOUND),
        None => match *start {
            // A first frame without a tag before it.
            [0xFF, second, ..] if second & 0xF6 == 0xF0 => ("AAC", CONVERT_SOUND),
            [0xFF, second, ..] if second & 0xE6 == 0xE2 => ("MP3", CONVERT_SOUND),
            _ => return None,
        },
    };
    Some(Foreign { name, hint })
}

/// Whether a text is HTML.
fn is_page(start: &[u8]) -> bool {
    let start = start.trim_ascii_start().to_ascii_lowercase();
    start.starts_with(b"<!doctype html") || start.starts_with(b"<html")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_known_by_their_first_bytes() {
        let name = |bytes: &[u8]| foreign(bytes).map_or("", |foreign| foreign.name);
        assert!(name(b"MATLAB 7.3 MAT-file, Platform: GLNXA64").contains("v7.3"));
        assert!(name(b"PK\x03\x04rest").contains(".xlsx"));
        assert!(name(b"\x1F\x8B\x08").contains(".rds"));
        assert_eq!(name(b"FORM\0\0\0\0AIFC"), "AIFF");
        assert_eq!(name(b"\x1A\x45\xDF\xA3\x9f"), "Matroska or WebM");
        assert_eq!(name(b"\xFF\xFB\x90\x64"), "MP3");
        assert_eq!(name(b"\xFF\xE3\x18\xC4"), "MP3");
        assert_eq!(name(b"\xFF\xF1\x6C\x80"), "AAC");
        assert_eq!(name(b"\n<!DOCTYPE HTML><html>"), "a web page");
        assert_eq!(name(b"MAC \x96\x0F\0\0"), "Monkey's Audio");
        assert_eq!(name(b"NIST_1A\n   1024\n"), "NIST's SPHERE");
        assert!(name(b"version https://git-lfs.github.com/spec/v1\n").contains("Git LFS"));
        for protocol in 2..=5 {
            assert_eq!(name(&[0x80, protocol, b'X']), "a Python pickle");
        }
        for ours in [
            &b"RIFF\0\0\0\0WAVE"[..],
            b"\x93NUMPY",
            b"1,2\n",
            b"",
            b"id,3",
            b"MAC address,x",
            b"<b>1</b>",
            b"\xFF\xFE1\0",
        ] {
            assert_eq!(foreign(ours), None, "{ours:?}");
        }
    }
}
