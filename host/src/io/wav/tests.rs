//! Recordings written and read again, and files of other programs by hand.

use std::io::Cursor;

use super::super::OutputFile;
use super::super::error::Defect;
use super::*;

fn sound(channels: u16, coding: Coding) -> Sound {
    Sound {
        channels,
        sample_rate: 48_000,
        coding,
        speakers: 0,
        is_ambisonic: false,
    }
}

fn integers(bits: u16, bytes: u16) -> Coding {
    Coding::Integer { bits, bytes }
}

/// The bytes of a recording that is written in two pieces.
fn encode(sound: Sound, samples: &[f64]) -> (Vec<u8>, Finished) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.wav");
    let frames = samples.len() / usize::from(sound.channels);
    let place = OutputFile::prepare(&path).unwrap();
    let mut writer = RecordingWriter::create(place, sound, frames, Metadata::default()).unwrap();
    let (first, second) = samples.split_at(samples.len() / 2);
    writer.write(first).unwrap();
    writer.write(second).unwrap();
    assert!(!path.exists(), "it is not whole yet");
    let finished = writer.finish().unwrap();
    (std::fs::read(&path).unwrap(), finished)
}

fn decode(bytes: &[u8]) -> Result<(Sound, Vec<f64>), Defect> {
    let mut reader = open(bytes.to_vec().into(), bytes.len() as u64)?;
    let mut samples = vec![0.0; reader.frames() * usize::from(reader.sound().channels)];
    let one = samples.len().min(1);
    let (first, second) = samples.split_at_mut(one);
    reader.read(first)?;
    reader.read(second)?;
    Ok((reader.sound(), samples))
}

fn refusal(bytes: &[u8]) -> String {
    match decode(bytes) {
        Err(Defect::Content(problem)) => problem.what,
        other => panic!("{other:?}"),
    }
}

const SAMPLES: [f64; 8] = [0.0, 5.0, 1.0, -128.0, -2.0, 7.0, 127.0, 8.0];

#[test]
fn every_coding_comes_back() {
    for coding in [
        integers(8, 1),
        integers(12, 2),
        integers(16, 2),
        integers(20, 3),
        integers(24, 3),
        integers(24, 4),
        integers(32, 4),
        Coding::Float { bytes: 4 },
        Coding::Float { bytes: 8 },
    ] {
        for channels in [1, 2, 4, 8] {
            let sound = sound(channels, coding);
            let (bytes, finished) = encode(sound, &SAMPLES);
            assert_eq!(finished.clipped, 0);
            let (read, samples) = decode(&bytes).unwrap();
            assert_eq!((read, samples.as_slice()), (sound, SAMPLES.as_slice()));
        }
    }
}

#[test]
fn another_library_reads_what_is_written() {
    for (coding, bits) in [
        (integers(8, 1), 8),
        (integers(16, 2), 16),
        (integers(24, 3), 24),
        (integers(32, 4), 32),
    ] {
        let (bytes, _) = encode(sound(2, coding), &SAMPLES);
        let mut reader = hound::WavReader::new(Cursor::new(bytes)).unwrap();
        let spec = reader.spec();
        assert_eq!(
            (spec.channels, spec.sample_rate, spec.bits_per_sample),
            (2, 48_000, bits)
        );
        let samples: Vec<f64> = reader
            .samples::<i32>()
            .map(|sample| f64::from(sample.unwrap()))
            .collect();
        assert_eq!(samples, SAMPLES, "{bits}");
    }
    let (bytes, _) = encode(sound(4, Coding::Float { bytes: 4 }), &SAMPLES);
    let mut reader = hound::WavReader::new(Cursor::new(bytes)).unwrap();
    let samples: Vec<f64> = reader
        .samples::<f32>()
        .map(|sample| f64::from(sample.unwrap()))
        .collect();
    assert_eq!(samples, SAMPLES);
}

#[test]
fn a_sound_field_stays_one_and_unknown_codings_are_refused() {
    for coding in [integers(16, 2), Coding::Float { bytes: 4 }] {
        let field = Sound {
            is_ambisonic: true,
            ..sound(4, coding)
        };
        let (bytes, _) = encode(field, &SAMPLES);
        assert_eq!(decode(&bytes).unwrap(), (field, SAMPLES.to_vec()));
        assert!(notices(&bytes)[0].contains("B-format"));
    }
    // Where the subformat's name stands.
    let guid = 44;
    let (good, _) = encode(sound(4, integers(16, 2)), &SAMPLES);
    assert_eq!(good[guid..guid + 2], [1, 0]);
    assert!(notices(&good).is_empty());
    for at in [guid + 2, guid + 6, guid + 15] {
        let mut changed = good.clone();
        changed[at] ^= 0x40;
        let refused = refusal(&changed);
        assert!(
            refused.contains("the subformat with the bytes 0100"),
            "{refused}"
        );
    }
    let mut changed = good.clone();
    changed[guid - 6] = 17;
    assert!(refusal(&changed).contains("17 bits of a sample cannot lie in 2 bytes"));
}

#[test]
fn bits_of_a_sample_are_the_highest_of_their_container() {
    let (bytes, _) = encode(sound(1, integers(24, 4)), &[1.0, -2.0, 8_388_607.0]);
    let data = &bytes[bytes.len() - 12..];
    assert_eq!(data, [0, 1, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0, 0xFF, 0xFF, 0x7F]);
    assert_eq!(decode(&bytes).unwrap().1, [1.0, -2.0, 8_388_607.0]);
}

#[test]
fn integers_are_rounded_and_clipped_and_counted() {
    let samples = [40_000.0, -40_000.0, 0.5, 1.6];
    let (bytes, finished) = encode(sound(1, integers(16, 2)), &samples);
    assert_eq!(finished.clipped, 2);
    assert_eq!(decode(&bytes).unwrap().1, [32767.0, -32768.0, 0.0, 2.0]);
}

#[test]
fn floats_beyond_full_scale_are_counted_and_those_that_are_no_numbers_refused() {
    let float = sound(1, Coding::Float { bytes: 4 });
    for wrong in [f64::NAN, f64::INFINITY] {
        let folder = tempfile::tempdir().unwrap();
        let place = OutputFile::prepare(&folder.path().join("out.wav")).unwrap();
        let integers = sound(2, integers(16, 2));
        let mut writer = RecordingWriter::create(place, integers, 2, Metadata::default()).unwrap();
        let error = writer
            .write(&[0.0, 1e9, 1.0, wrong])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("sample 3 (frame 1, channel 1) is") && error.contains("16-bit sound"),
            "{error}"
        );
    }
    let (_, finished) = encode(float, &[1.0, -1.5, 0.5, 3e38]);
    assert_eq!((finished.clipped, finished.beyond_full_scale), (0, 2));
    let folder = tempfile::tempdir().unwrap();
    for wrong in [f64::NAN, f64::INFINITY, 1e39] {
        let place = OutputFile::prepare(&folder.path().join("out.wav")).unwrap();
        let mut writer = RecordingWriter::create(place, float, 2, Metadata::default()).unwrap();
        let error = writer.write(&[0.0, wrong]).unwrap_err().to_string();
        assert!(
            error.contains("sample 1 (frame 1, channel 0) is"),
            "{error}"
        );
        drop(writer);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn above_4_gib_it_is_rf64() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.wav");
    let place = OutputFile::prepare(&path).unwrap();
    let long = write::header(
        &sound(2, integers(16, 2)),
        (1_u64 << 30) + 1,
        &Metadata::default(),
    );
    assert!(long.starts_with(b"RF64\xFF\xFF\xFF\xFFWAVEds64"));
    let data = u64::from_le_bytes(long[28..36].try_into().unwrap());
    assert_eq!(data, ((1 << 30) + 1) * 4);
    drop(place);
    // The same header with the samples of a short one.
    for name in [b"RF64", b"BW64"] {
        let mut bytes = write::header(&sound(2, integers(16, 2)), 1 << 30, &Metadata::default());
        bytes[..4].copy_from_slice(name);
        bytes[28..36].copy_from_slice(&8_u64.to_le_bytes());
        bytes.extend([1, 0, 2, 0, 3, 0, 4, 0]);
        assert_eq!(decode(&bytes).unwrap().1, [1.0, 2.0, 3.0, 4.0]);
    }
}

/// The notices of a recording that opens.
#[track_caller]
fn notices(bytes: &[u8]) -> Vec<String> {
    let reader = open(bytes.to_vec().into(), bytes.len() as u64).unwrap();
    reader.notices().to_vec()
}

#[test]
fn a_length_that_was_left_open_is_what_is_there() {
    let (good, _) = encode(sound(1, integers(16, 2)), &[1.0, -2.0, 3.0]);
    for length in [
        u32::MAX,
        u32::MAX - 36,
        0x7FFF_F000 - 44,
        0x7FFF_F000,
        i32::MAX as u32,
        0x8000_0000,
        0x7FFF_FFFF - 36,
    ] {
        let mut bytes = good.clone();
        bytes[4..8].copy_from_slice(&length.to_le_bytes());
        bytes[40..44].copy_from_slice(&length.to_le_bytes());
        assert_eq!(decode(&bytes).unwrap().1, [1.0, -2.0, 3.0], "{length:x}");
        // A frame that was not finished.
        bytes.push(7);
        assert_eq!(decode(&bytes).unwrap().1, [1.0, -2.0, 3.0], "{length:x}");
        let notices = notices(&bytes);
        assert!(
            notices[0].contains("left open") && notices[0].contains("1 bytes of an unfinished"),
            "{notices:?}"
        );
    }
    // Headers that were never written again: no length, or that of the header alone.
    for riff in [0, 36, 4, u32::MAX, good.len() as u32 - 8] {
        let mut bytes = good.clone();
        bytes[4..8].copy_from_slice(&u32::to_le_bytes(riff));
        bytes[40..44].copy_from_slice(&[0; 4]);
        assert_eq!(decode(&bytes).unwrap().1, [1.0, -2.0, 3.0], "{riff}");
    }
    // A long file that went through a pipe: its lengths stay 0.
    let mut long = write::header(&sound(1, integers(16, 2)), 1 << 31, &Metadata::default());
    long[16..44].fill(0);
    long[16..20].copy_from_slice(&28_u32.to_le_bytes());
    long.extend([1, 0, 2, 0]);
    assert_eq!(decode(&long).unwrap().1, [1.0, 2.0]);
    assert!(notices(&long)[0].contains("left open"));
    // A promise that is no placeholder is a truncated file.
    let mut bytes = good.clone();
    bytes[40..44].copy_from_slice(&100_000_u32.to_le_bytes());
    assert!(refusal(&bytes).contains("truncated"));
}

#[test]
fn a_recording_without_samples_may_have_other_parts() {
    let (mut bytes, _) = encode(sound(1, integers(16, 2)), &[]);
    bytes.extend(b"LIST\x04\0\0\0INFO");
    // The whole is as long as it says, or not.
    for riff in [bytes.len() as u32 - 8, 36] {
        bytes[4..8].copy_from_slice(&riff.to_le_bytes());
        assert!(decode(&bytes).unwrap().1.is_empty());
        assert!(notices(&bytes).is_empty());
    }
}

#[test]
fn highest_byte_first_is_read_too() {
    let mut bytes = b"RIFX\0\0\0\x36WAVEfmt \0\0\0\x10\0\x01\0\x01".to_vec();
    bytes.extend(48_000_u32.to_be_bytes());
    bytes.extend(144_000_u32.to_be_bytes());
    bytes.extend([0, 3, 0, 24]);
    bytes.extend(b"data\0\0\0\x06\x00\x00\x05\xFF\xFF\xFE");
    assert_eq!(
        decode(&bytes).unwrap(),
        (sound(1, integers(24, 3)), vec![5.0, -2.0])
    );
}

#[test]
fn what_stays_true_is_kept_and_the_rest_is_named() {
    let (mut bytes, _) = encode(sound(1, integers(16, 2)), &[1.0, -2.0, 3.0]);
    let mut bext = vec![b'x'; 602];
    bext[346..348].copy_from_slice(&2_u16.to_le_bytes());
    let before = [
        chunk(b"bext", &bext),
        chunk(b"JUNK", &[0; 9]),
        chunk(b"PEAK", &[0; 16]),
        chunk(b"MD5 ", &[7; 16]),
    ];
    bytes.splice(36..36, before.concat());
    bytes.extend(
        [
            chunk(b"LIST", b"INFOINAM\x02\0\0\0x\0"),
            chunk(b"cue ", &[1; 5]),
            chunk(b"LIST", b"adtl"),
            chunk(b"id3 ", b"ID3odd"),
        ]
        .concat(),
    );
    let reader = open(bytes.clone().into(), bytes.len() as u64).unwrap();
    let Ok(kept) = reader.metadata(true) else {
        panic!("read")
    };
    assert_eq!(kept.left_out, ["PEAK", "MD5"]);
    let Ok(moved) = reader.metadata(false) else {
        panic!("read")
    };
    assert_eq!(moved.left_out, ["bext", "PEAK", "MD5", "cue", "LIST adtl"]);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.wav");
    let place = OutputFile::prepare(&path).unwrap();
    let form = sound(1, integers(16, 2));
    let mut writer = RecordingWriter::create(place, form, 3, kept.clone()).unwrap();
    writer.write(&[4.0, 5.0, 6.0]).unwrap();
    writer.finish().unwrap();
    let written = std::fs::read(&path).unwrap();
    assert_eq!(decode(&written).unwrap().1, [4.0, 5.0, 6.0]);
    let riff = u32::from_le_bytes(written[4..8].try_into().unwrap());
    assert_eq!(riff as usize, written.len() - 8);
    let again = open(written.clone().into(), written.len() as u64).unwrap();
    let Ok(again) = again.metadata(true) else {
        panic!("read")
    };
    assert_eq!((&again.before, &again.after), (&kept.before, &kept.after));
    // The measured loudness is that of other samples.
    assert_eq!(&again.before[8 + 412..8 + 422], [0xFF, 0x7F].repeat(5));
    assert_eq!(
        hound::WavReader::new(Cursor::new(written)).unwrap().len(),
        3
    );
}

#[test]
fn a_second_part_of_samples_is_refused() {
    let (mut bytes, _) = encode(sound(1, integers(16, 2)), &[1.0, -2.0, 3.0]);
    bytes.extend(b"data\x02\0\0\0\x01\0");
    assert!(refusal(&bytes).contains("two parts `data`"));
}

/// A chunk with its padding.
fn chunk(id: &[u8; 4], contents: &[u8]) -> Vec<u8> {
    let mut chunk = id.to_vec();
    chunk.extend((contents.len() as u32).to_le_bytes());
    chunk.extend(contents);
    chunk.extend(&[0][..contents.len() % 2]);
    chunk
}

#[test]
fn two_parts_that_may_be_there_once_say_the_same_or_are_refused() {
    let (good, _) = encode(sound(1, integers(16, 2)), &[1.0, -2.0, 3.0]);
    let format = good[12..36].to_vec();
    let mut other = format.clone();
    other[12..16].copy_from_slice(&44_100_u32.to_le_bytes());
    // Before the samples, and after them.
    for at in [12, 36, good.len()] {
        let with = |format: &[u8]| {
            let mut bytes = good.clone();
            bytes.splice(at..at, format.iter().copied());
            bytes
        };
        let refused = refusal(&with(&other));
        assert!(
            refused.contains("two parts `fmt `: 16-bit integers in 2 bytes, 1 channel, ")
                && refused.contains("48000 Hz")
                && refused.contains("44100 Hz"),
            "{refused}"
        );
        let same = with(&format);
        assert_eq!(
            notices(&same),
            ["it has two parts `fmt `, which say the same"]
        );
        assert_eq!(decode(&same).unwrap().1, [1.0, -2.0, 3.0]);
        let Ok(metadata) = open(same.clone().into(), same.len() as u64)
            .unwrap()
            .metadata(true)
        else {
            panic!("read")
        };
        assert_eq!(metadata, Metadata::default(), "no second one is written");
    }
    let long = |lengths: &[[u64; 3]], after: &[[u64; 3]]| {
        let part = |lengths: &[u64; 3]| {
            let bytes = lengths.map(u64::to_le_bytes);
            chunk(b"ds64", &[bytes.as_flattened(), &[0; 4]].concat())
        };
        let lengths: Vec<u8> = lengths.iter().flat_map(part).collect();
        let mut bytes = [b"RF64\xFF\xFF\xFF\xFFWAVE", &*lengths, &*format].concat();
        bytes.extend(b"data\xFF\xFF\xFF\xFF\x01\0\x02\0");
        bytes.extend(after.iter().flat_map(part));
        bytes
    };
    let right = [100, 4, 2];
    for bytes in [long(&[right, right], &[]), long(&[right], &[right])] {
        assert_eq!(decode(&bytes).unwrap().1, [1.0, 2.0]);
        assert_eq!(
            notices(&bytes),
            ["it has two parts `ds64`, which say the same"]
        );
    }
    for bytes in [
        long(&[right, [100, 2, 2]], &[]),
        long(&[right], &[[9, 2, 2]]),
    ] {
        let refused = refusal(&bytes);
        assert!(
            refused.contains("`ds64`: 4 bytes of samples, and 2 bytes"),
            "{refused}"
        );
    }
}

#[test]
fn a_part_that_counts_other_frames_is_named() {
    let (good, _) = encode(sound(2, Coding::Float { bytes: 4 }), &SAMPLES);
    let at = good.windows(4).position(|id| id == b"fact").unwrap() + 8;
    let with = |count: u32| {
        let mut bytes = good.clone();
        bytes[at..at + 4].copy_from_slice(&count.to_le_bytes());
        bytes
    };
    for count in [4, 0, u32::MAX] {
        assert!(notices(&with(count)).is_empty(), "{count}");
    }
    for count in [3, 8] {
        let bytes = with(count);
        let notice = format!("its part `fact` counts {count} frames, and 4 are there");
        assert!(notices(&bytes)[0].contains(&notice));
        assert_eq!(decode(&bytes).unwrap().1, SAMPLES);
    }
    // Of two, the second is wrong, and stands after the samples.
    let mut two = good.clone();
    two.extend(chunk(b"fact", &9_u32.to_le_bytes()));
    assert!(notices(&two)[0].contains("counts 9 frames"));
    let mut long = write::header(&sound(2, integers(16, 2)), 1 << 30, &Metadata::default());
    long[28..36].copy_from_slice(&8_u64.to_le_bytes());
    long[36..44].copy_from_slice(&5_u64.to_le_bytes());
    long.extend([1, 0, 2, 0, 3, 0, 4, 0]);
    assert!(notices(&long)[0].contains("`ds64` counts 5 frames, and 2 are there"));
}

#[test]
fn other_chunks_are_skipped_with_their_padding() {
    let (mut bytes, _) = encode(sound(1, integers(16, 2)), &[1.0, -2.0, 3.0]);
    bytes.splice(36..36, *b"LIST\x03\0\0\0abc\0note\x02\0\0\0xy");
    bytes.extend(b"more");
    assert_eq!(decode(&bytes).unwrap().1, [1.0, -2.0, 3.0]);
}

#[test]
fn an_odd_chunk_may_lack_its_padding() {
    let (good, _) = encode(sound(1, integers(16, 2)), &[1.0, -2.0, 3.0]);
    let before = |chunk: &[u8]| {
        let mut bytes = good.clone();
        bytes.splice(36..36, chunk.iter().copied());
        decode(&bytes).unwrap().1
    };
    let samples = [1.0, -2.0, 3.0];
    assert_eq!(before(b"LIST\x03\0\0\0abc"), samples);
    assert_eq!(before(b"LIST\x03\0\0\0abcnote\x01\0\0\0x"), samples);
    // Padding need not be zero.
    assert_eq!(before(b"LIST\x03\0\0\0abcx"), samples);
    // After samples of an odd number of bytes.
    let (bytes, _) = encode(sound(1, integers(8, 1)), &samples);
    let end = 44 + samples.len();
    for padding in [&b""[..], b"\0", b"x"] {
        let bytes = [&bytes[..end], padding, b"id3 \x02\0\0\0xy"].concat();
        let reader = open(bytes.clone().into(), bytes.len() as u64).unwrap();
        let kept = reader.metadata(true).unwrap();
        assert_eq!(kept.after, b"id3 \x02\0\0\0xy", "{padding:?}");
        assert_eq!(reader.notices(), [""; 0]);
    }
}

#[test]
fn broken_files_are_errors() {
    let (good, _) = encode(sound(2, integers(16, 2)), &SAMPLES);
    for cut in 0..good.len() {
        assert!(decode(&good[..cut]).is_err(), "cut at {cut}");
    }
    assert!(refusal(&good[..good.len() - 3]).contains("truncated"));
    assert!(refusal(b"not a recording at all").contains("this is no .wav"));
    let format = 20; // where the coding stands
    for (tag, name) in [
        (6, "A-law (0x0006)"),
        (0x11, "IMA ADPCM (0x0011)"),
        (0x99, "(0x0099)"),
    ] {
        let mut changed = good.clone();
        changed[format] = tag;
        // Compressed blocks have lengths of their own.
        changed[format + 12..format + 16].copy_from_slice(&[0, 1, 4, 0]);
        assert!(refusal(&changed).contains(name));
    }
    let mut changed = good.clone();
    changed[format] = 3;
    assert!(refusal(&changed).contains("16-bit floats"));
    let mut changed = good.clone();
    changed[format + 2] = 0;
    assert!(refusal(&changed).contains("0 channels"));
    let mut changed = good.clone();
    changed[format + 12] = 5;
    assert!(refusal(&changed).contains("5 bytes"));
    let mut changed = good.clone();
    changed[40] = 15;
    assert!(refusal(&changed).contains("do not divide"));
    let mut infinite = encode(sound(1, Coding::Float { bytes: 4 }), &[1.0, 2.0]).0;
    let end = infinite.len();
    infinite[end - 4..].copy_from_slice(&f32::INFINITY.to_le_bytes());
    assert!(refusal(&infinite).contains("sample 1 is inf"));
}

#[test]
fn a_file_without_samples_is_truncated_only_if_it_promises_more() {
    let file = |parts: &[Vec<u8>], promised: u32| {
        let parts = parts.concat();
        let length = (parts.len() as u32 + 4 + promised).to_le_bytes();
        [b"RIFF", &length[..], b"WAVE", &parts].concat()
    };
    let format = chunk(
        b"fmt ",
        &[1, 0, 1, 0, 0x80, 0xBB, 0, 0, 0, 0x77, 1, 0, 2, 0, 16, 0],
    );
    let envelope = chunk(b"levl", &[1; 120]);
    let text = refusal(&file(&[format.clone(), envelope.clone()], 0));
    assert!(text.contains("peak file"), "{text}");
    let text = refusal(&file(&[envelope], 0));
    assert!(text.contains("peak file"), "{text}");
    let text = refusal(&file(&[format.clone(), chunk(b"bext", &[0; 602])], 0));
    assert!(text.contains("no part of it is called `data`"), "{text}");
    for promised in [1, 8, 1 << 30] {
        let text = refusal(&file(std::slice::from_ref(&format), promised));
        assert!(text.contains("truncated"), "{promised}: {text}");
    }
}

#[test]
fn a_recording_behind_another_is_said_and_not_copied() {
    let (one, _) = encode(sound(1, integers(16, 2)), &[1.0, -2.0, 3.0, 5.0]);
    let both = [&one[..], &one[..]].concat();
    let reader = open(both.clone().into(), both.len() as u64).unwrap();
    assert_eq!(reader.frames(), 4);
    let notices = reader.notices().join(" ");
    assert!(notices.contains("another recording"), "{notices}");
    let Ok(kept) = reader.metadata(true) else {
        panic!("read")
    };
    assert_eq!(kept, Metadata::default());
}
