//! Textures: what a fetch gives, against weights and places that the tests work out themselves.

use crate::common::{limits, module, shape};
use ptx_emulator::{
    AddressMode, Channel, CheckOptions, Emulator, Filter, Image, LaunchError, LoadedModule, Rule,
    Sampling, Shape,
};

/// The texel of a picture of bytes.
fn texel(x: i64, y: i64) -> u8 {
    (17 * x + 31 * y + 5) as u8
}

const WIDTH: i64 = 5;
const HEIGHT: i64 = 3;

/// An image of two dimensions with one channel of 8 bits.
fn picture(emulator: &Emulator) -> Image {
    let texels = (0..HEIGHT).flat_map(|y| (0..WIDTH).map(move |x| texel(x, y)));
    let bytes: Vec<u8> = texels.collect();
    image(emulator, (Shape::Two, [5, 3, 1]), (Channel::U8, 1), &bytes)
}

fn image(
    emulator: &Emulator,
    (shape, extents): (Shape, [u32; 3]),
    format: (Channel, u32),
    bytes: &[u8],
) -> Image {
    let address = emulator.alloc(bytes.len() as u64).expect("memory is there");
    emulator.write(address, bytes).expect("it fits");
    Image::new(shape, extents, format, address)
}

const LINEAR: Sampling = Sampling {
    address: [AddressMode::Clamp; 3],
    filter: Filter::Linear,
    normalized: false,
    as_float: true,
};

/// Each thread fetches at its own words of the buffer and leaves four words there.
fn kernel(fetch: &str) -> String {
    format!(
        ".global .texref image;
        .visible .entry k(.param .u64 buffer, .param .u64 t) {{
        .reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .f32 %f<8>;
        ld.param.u64 %rd1, [buffer]; ld.param.u64 %rd2, [t]; mov.u32 %r0, %tid.x; mad.wide.u32 %rd1, %r0, 16, %rd1;
        ld.global.v4.f32 {{%f0, %f1, %f2, %f3}}, [%rd1]; ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%rd1];
        {fetch}
        st.global.v4.u32 [%rd1], {{%r0, %r1, %r2, %r3}}; ret; }}"
    )
}

fn load(emulator: &Emulator, text: &str) -> LoadedModule {
    emulator.load(&module(text)).expect("the module loads")
}

/// What the threads fetch, for each the four words of its coordinates.
fn launch(
    emulator: &Emulator,
    loaded: &LoadedModule,
    handle: u64,
    coordinates: &[[u32; 4]],
) -> Result<Vec<[u32; 4]>, LaunchError> {
    let words = coordinates.iter().flatten();
    let bytes: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
    let buffer = emulator.alloc(bytes.len() as u64).expect("memory is there");
    emulator.write(buffer, &bytes).expect("it fits");
    let config = shape(1, coordinates.len() as u32, 0);
    let args = [buffer, handle].map(u64::to_le_bytes);
    emulator.launch(loaded, "k", config, &[&args[0], &args[1]])?;
    let mut bytes = vec![0; bytes.len()];
    emulator.read(buffer, &mut bytes).expect("it is there");
    let words: Vec<u32> = bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes")))
        .collect();
    Ok(words.as_chunks().0.to_vec())
}

#[track_caller]
fn fetch(
    emulator: &Emulator,
    instruction: &str,
    handle: u64,
    coordinates: &[[u32; 4]],
) -> Vec<[u32; 4]> {
    let loaded = load(emulator, &kernel(instruction));
    launch(emulator, &loaded, handle, coordinates).unwrap_or_else(|error| panic!("{error}"))
}

fn at(coordinates: [f32; 3]) -> [u32; 4] {
    let [x, y, z] = coordinates.map(f32::to_bits);
    [x, y, z, 0]
}

const TEX_2D: &str = "tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%rd2, {%f0, %f1}];";

#[test]
fn a_point_fetch_takes_the_texel_that_holds_the_coordinate() {
    let emulator = Emulator::new(limits());
    let sampling = Sampling {
        filter: Filter::Point,
        ..LINEAR
    };
    let handle = emulator
        .texture(picture(&emulator), sampling)
        .expect("a texture");
    let places = [(0.0, 0.0), (3.99, 2.5), (-4.0, 1.0), (9.0, 9.0)];
    let found = fetch(
        &emulator,
        TEX_2D,
        handle,
        &places.map(|(x, y)| at([x, y, 0.0])),
    );
    for (found, (x, y)) in found.iter().zip([(0, 0), (3, 2), (0, 1), (4, 2)]) {
        let expected = f32::from(texel(x, y)) / 255.0;
        assert_eq!(found.map(f32::from_bits), [expected, 0.0, 0.0, 0.0]);
    }
}

#[test]
fn a_linear_fetch_weighs_the_four_around_in_steps_of_a_256th() {
    let emulator = Emulator::new(limits());
    let handle = emulator
        .texture(picture(&emulator), LINEAR)
        .expect("a texture");
    let (x, y) = (2.8_f32, 1.1_f32);
    let found = fetch(&emulator, TEX_2D, handle, &[at([x, y, 0.0])]);
    // 2.8 is 0.3 past the centre of texel 2, 1.1 is 0.6 past the centre of row 0.
    let [across, down] = [77.0 / 256.0, 154.0 / 256.0];
    let row = |y| {
        (1.0 - across) * f64::from(texel(2, y)) / 255.0 + across * f64::from(texel(3, y)) / 255.0
    };
    // A filtered integer has 16 bits.
    let expected = (((1.0 - down) * row(0) + down * row(1)) * 65535.0).round() / 65535.0;
    let found = f64::from(f32::from_bits(found[0][0]));
    assert!((found - expected).abs() < 1e-7, "{found} {expected}");
}

#[test]
fn normalized_coordinates_wrap_mirror_and_meet_borders() {
    let emulator = Emulator::new(limits());
    for (mode, expected) in [
        (AddressMode::Wrap, [Some(1), Some(4), Some(0)]),
        (AddressMode::Mirror, [Some(3), Some(0), Some(4)]),
        (AddressMode::Border, [None, None, None]),
        (AddressMode::Clamp, [Some(4), Some(0), Some(4)]),
    ] {
        let sampling = Sampling {
            address: [mode; 3],
            filter: Filter::Point,
            normalized: true,
            as_float: true,
        };
        let handle = emulator
            .texture(picture(&emulator), sampling)
            .expect("a texture");
        let places = [1.3, -0.1, 1.0].map(|x| at([x, 0.1, 0.0]));
        let found = fetch(&emulator, TEX_2D, handle, &places);
        let found: Vec<f32> = found.iter().map(|found| f32::from_bits(found[0])).collect();
        let value = |x: Option<i64>| x.map_or(0.0, |x| f32::from(texel(x, 0)) / 255.0);
        assert_eq!(found, expected.map(value), "{mode:?}");
    }
}

#[test]
fn integers_are_fetched_as_they_are_and_are_zero_outside_of_memory() {
    let emulator = Emulator::new(limits());
    let words: Vec<u8> = (0..6_u16)
        .flat_map(|at| (at * 1000).to_le_bytes())
        .collect();
    let line = image(
        &emulator,
        (Shape::One, [3, 1, 1]),
        (Channel::U16, 2),
        &words,
    );
    let handle = emulator
        .texture(line, Sampling::default())
        .expect("a texture");
    let instruction = "tex.1d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%rd2, {%r4}];";
    let found = fetch(
        &emulator,
        instruction,
        handle,
        &[[2, 0, 0, 0], [3, 0, 0, 0], [u32::MAX, 0, 0, 0]],
    );
    assert_eq!(found, [[4000, 5000, 0, 0], [0; 4], [0; 4]]);
}

#[test]
fn a_gather_gives_one_channel_of_four_texels_against_the_clock() {
    let emulator = Emulator::new(limits());
    let handle = emulator
        .texture(picture(&emulator), LINEAR)
        .expect("a texture");
    let instruction = "tld4.r.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%rd2, {%f0, %f1}];";
    let found = fetch(&emulator, instruction, handle, &[at([2.0, 1.0, 0.0])]);
    let expected = [(1, 1), (2, 1), (2, 0), (1, 0)].map(|(x, y)| f32::from(texel(x, y)) / 255.0);
    assert_eq!(found[0].map(f32::from_bits), expected);
}

#[test]
fn depths_layers_and_faces_are_found() {
    let emulator = Emulator::new(limits());
    let floats = |count: u32| -> Vec<u8> {
        (0..count)
            .flat_map(|at| (at as f32).to_le_bytes())
            .collect()
    };
    let point = Sampling::default();
    let solid = image(
        &emulator,
        (Shape::Three, [2, 3, 4]),
        (Channel::F32, 1),
        &floats(24),
    );
    let handle = emulator.texture(solid, point).expect("a texture");
    let instruction =
        "tex.level.3d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%rd2, {%f0, %f1, %f2, %f2}], %f3;";
    let found = fetch(
        &emulator,
        instruction,
        handle,
        &[at([1.5, 2.5, 3.5]), at([0.0, 1.0, 2.0])],
    );
    assert_eq!(
        found
            .iter()
            .map(|found| f32::from_bits(found[0]))
            .collect::<Vec<_>>(),
        [23.0, 14.0]
    );

    let mut layers = image(
        &emulator,
        (Shape::Two, [2, 3, 1]),
        (Channel::F32, 1),
        &floats(24),
    );
    layers.layers = 4;
    let handle = emulator.texture(layers, point).expect("a texture");
    let instruction = "tex.a2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%rd2, {%r7, %f0, %f1, %f1}];";
    let place = |layer: u32| [1.0_f32.to_bits(), 1.0_f32.to_bits(), 0, layer];
    let found = fetch(
        &emulator,
        instruction,
        handle,
        &[place(2), place(7), place(u32::MAX)],
    );
    assert_eq!(
        found
            .iter()
            .map(|found| f32::from_bits(found[0]))
            .collect::<Vec<_>>(),
        [15.0, 21.0, 3.0]
    );

    let cube = image(
        &emulator,
        (Shape::Cube, [2, 2, 1]),
        (Channel::F32, 1),
        &floats(24),
    );
    let handle = emulator.texture(cube, point).expect("a texture");
    let instruction = "tex.cube.v4.f32.f32 {%r0, %r1, %r2, %r3}|%p, [%rd2, {%f0, %f1, %f2, %f2}];";
    let instruction = format!(".reg .pred %p; {instruction}");
    // The face of -y; s = 1/4 is the first column, t = 3/4 the second row.
    let found = fetch(&emulator, &instruction, handle, &[at([-1.0, -2.0, -1.0])]);
    assert_eq!(f32::from_bits(found[0][0]), 14.0);
}

#[test]
fn a_reference_reads_what_it_is_bound_to() {
    let emulator = Emulator::new(limits());
    let text = kernel("tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [image, {%f0, %f1}];");
    let mut loaded = load(&emulator, &text);
    let error = launch(&emulator, &loaded, 0, &[at([0.0; 3])]).expect_err("nothing is bound");
    let error = error.to_string();
    assert!(
        error.starts_with("invalid operand: nothing is bound to this texture reference\n"),
        "{error}"
    );
    let handle = emulator
        .texture(picture(&emulator), LINEAR)
        .expect("a texture");
    loaded.bind("image", handle).expect("it is a reference");
    let found = launch(&emulator, &loaded, 0, &[at([0.5, 0.5, 0.0])]).expect("it runs");
    assert_eq!(f32::from_bits(found[0][0]), f32::from(texel(0, 0)) / 255.0);
    let error = loaded.bind("other", handle).expect_err("no such reference");
    assert_eq!(
        error.to_string(),
        "the module has no texture or surface reference `other`; it has: image"
    );
}

#[test]
fn queries_tell_extents_and_types() {
    let emulator = Emulator::new(limits());
    let handle = emulator
        .texture(picture(&emulator), LINEAR)
        .expect("a texture");
    let instruction = "txq.width.b32 %r0, [%rd2]; txq.height.b32 %r1, [%rd2]; txq.channel_data_type.b32 %r2, [%rd2];
        .reg .pred %p, %q; istypep.texref %p, %rd2; istypep.surfref %q, %rd2; selp.u32 %r3, 1, 0, %p; @%q add.u32 %r3, %r3, 2;";
    let found = fetch(&emulator, instruction, handle, &[[0; 4]]);
    assert_eq!(found, [[5, 3, 0x10d2, 1]]);
}

#[test]
fn a_fetch_that_does_not_fit_its_texture_is_told() {
    let emulator = Emulator::new(limits());
    let handle = emulator
        .texture(picture(&emulator), LINEAR)
        .expect("a texture");
    for (instruction, problem) in [
        (
            "tex.2d.v4.u32.f32 {%r0, %r1, %r2, %r3}, [%rd2, {%f0, %f1}];",
            "a fetch of integers from a texture that gives floats",
        ),
        (
            "tex.1d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%rd2, {%f0}];",
            "a fetch of One dimensions from a texture of Two",
        ),
    ] {
        let loaded = load(&emulator, &kernel(instruction));
        let error = launch(&emulator, &loaded, handle, &[[0; 4]]).expect_err("it does not fit");
        assert!(error.to_string().contains(problem), "{error}");
    }
    let loaded = load(&emulator, &kernel(TEX_2D));
    let error = launch(&emulator, &loaded, 77, &[[0; 4]]).expect_err("no handle");
    assert!(
        error.to_string().contains("0x4d is no handle of a texture"),
        "{error}"
    );
}

#[test]
fn images_that_are_none_are_refused() {
    let emulator = Emulator::new(limits());
    let good = picture(&emulator);
    let refused = |image: Image, sampling: Sampling| {
        let error = emulator.texture(image, sampling);
        error.expect_err("it is refused").to_string()
    };
    let integers = Sampling {
        as_float: false,
        ..LINEAR
    };
    assert!(
        refused(good.clone(), integers)
            .ends_with("integers cannot be filtered; read them as floats")
    );
    let wraps = Sampling {
        address: [AddressMode::Wrap; 3],
        ..LINEAR
    };
    assert!(refused(good.clone(), wraps).contains("only a texture with normalized coordinates"));
    let larger = Image {
        extents: [5, 4, 1],
        ..good.clone()
    };
    assert!(refused(larger, LINEAR).contains("not inside one allocation"));
    let deep = Image {
        extents: [5, 1, 3],
        ..good
    };
    assert!(refused(deep, LINEAR).ends_with("it has more extents than dimensions"));
}

#[test]
fn texels_that_nobody_wrote_are_found_where_they_are_used() {
    let emulator = Emulator::new(limits());
    let address = emulator.alloc(16).expect("memory is there");
    emulator.write(address, &[0; 12]).expect("it fits");
    let line = Image::new(Shape::One, [4, 1, 1], (Channel::F32, 1), address);
    let handle = emulator
        .texture(line, Sampling::default())
        .expect("a texture");
    let fetch = "tex.1d.v4.f32.s32 {%r0, %r1, %r2, %r3}, [%rd2, {%r0}];";
    let loaded = load(&emulator, &kernel(fetch));
    let buffer = emulator.alloc(64).expect("memory is there");
    emulator.write(buffer, &[0; 64]).expect("it fits");
    let args = [buffer, handle].map(u64::to_le_bytes);
    let check = |threads| {
        let options = CheckOptions::default();
        let args = [&args[0][..], &args[1]];
        let report = emulator.check(&loaded, "k", shape(1, threads, 0), &args, &options);
        let findings = report.expect("it is launched").findings;
        findings
            .iter()
            .map(|finding| finding.rule)
            .collect::<Vec<_>>()
    };
    assert_eq!(check(3), []);
    let found = check(4);
    assert!(
        !found.is_empty() && found.iter().all(|&rule| rule == Rule::UninitialisedMemory),
        "{found:?}"
    );
}
