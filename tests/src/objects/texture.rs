//! What fetches give: shapes, channels, address modes and filters.

use ptx_emulator::{AddressMode, Channel, Filter, Image, Sampling, Shape};

use super::{Object, Program, Tolerance, bytes, module};

const POINT: Sampling = Sampling {
    address: [AddressMode::Clamp; 3],
    filter: Filter::Point,
    normalized: false,
    as_float: false,
};
const MODES: [AddressMode; 4] = [
    AddressMode::Wrap,
    AddressMode::Clamp,
    AddressMode::Mirror,
    AddressMode::Border,
];
const THREADS: u32 = 128;
/// Texels from 0 to 1 times exact weights: the last bits of a sum of four.
const FILTERED: f32 = 2e-7;
/// In three dimensions the order in which an H200 rounds the eight weights is not known.
const FILTERED_3D: f32 = 4.0 / 256.0;
/// How an H200 widens signed bytes to the 16 bits of a sum is not known to the last step.
const FILTERED_S8: f32 = 1.5 / 32767.0;

pub(super) fn programs() -> Vec<Program> {
    let mut programs = Vec::new();
    channels(&mut programs);
    modes(&mut programs);
    filtered(&mut programs);
    shapes(&mut programs);
    queries(&mut programs);
    programs
}

/// Every type and number of channels, by point fetches at texels.
fn channels(programs: &mut Vec<Program>) {
    use Channel::{F16, F32, S8, S16, S32, U8, U16, U32};
    for channel in [U8, U16, U32, S8, S16, S32, F16, F32] {
        for count in [1, 2, 4] {
            let image = Image::new(Shape::Two, [13, 7, 1], (channel, count), 0);
            let name = format!("{channel:?}x{count}").to_lowercase();
            let ty = match channel {
                F16 | F32 => "f32",
                S8 | S16 | S32 => "s32",
                U8 | U16 | U32 => "u32",
            };
            programs.push(fetch(
                &format!("tex_2d_{name}_s32"),
                &image,
                POINT,
                &tex("2d", ty, "s32"),
            ));
            if channel.is_float() {
                programs.push(fetch(
                    &format!("tex_2d_{name}_f32"),
                    &image,
                    POINT,
                    &tex("2d", ty, "f32"),
                ));
                let halves = "tex.2d.v2.f16x2.f32 {%r0, %r1}, [%rd2, {%f0, %f1}]; mov.u32 %r2, 0; mov.u32 %r3, 0;";
                programs.push(fetch(
                    &format!("tex_2d_{name}_f16x2"),
                    &image,
                    POINT,
                    halves,
                ));
            } else if channel.bytes() < 4 {
                let sampling = Sampling {
                    as_float: true,
                    ..POINT
                };
                programs.push(fetch(
                    &format!("tex_2d_{name}_norm"),
                    &image,
                    sampling,
                    &tex("2d", "f32", "f32"),
                ));
            }
        }
    }
}

/// Every address mode with both filters and both kinds of coordinates.
fn modes(programs: &mut Vec<Program>) {
    for mode in MODES {
        for normalized in [false, true] {
            if !normalized && matches!(mode, AddressMode::Wrap | AddressMode::Mirror) {
                continue;
            }
            for filter in [Filter::Point, Filter::Linear] {
                for channel in [Channel::F32, Channel::U8] {
                    let sampling = Sampling {
                        address: [mode; 3],
                        filter,
                        normalized,
                        as_float: channel == Channel::U8,
                    };
                    let form = if normalized { "norm" } else { "texels" };
                    let name = format!("{mode:?}_{filter:?}_{form}_{channel:?}").to_lowercase();
                    for (shape, extents, geometry) in [
                        (Shape::One, [19, 1, 1], "1d"),
                        (Shape::Two, [13, 7, 1], "2d"),
                        (Shape::Three, [5, 6, 7], "3d"),
                    ] {
                        let image = Image::new(shape, extents, (channel, 1), 0);
                        programs.push(fetch(
                            &format!("tex_{geometry}_{name}"),
                            &image,
                            sampling,
                            &tex(geometry, "f32", "f32"),
                        ));
                    }
                    let image = Image::new(Shape::Two, [13, 7, 1], (channel, 4), 0);
                    for component in ["r", "a"] {
                        let gather = format!(
                            "tld4.{component}.2d.v4.f32.f32 {{%r0, %r1, %r2, %r3}}, [%rd2, {{%f0, %f1}}];"
                        );
                        programs.push(fetch(
                            &format!("tld4_{component}_{name}"),
                            &image,
                            sampling,
                            &gather,
                        ));
                    }
                }
            }
        }
    }
}

/// Filtered integers.
fn filtered(programs: &mut Vec<Program>) {
    let sampling = Sampling {
        filter: Filter::Linear,
        as_float: true,
        ..POINT
    };
    for channel in [Channel::U8, Channel::U16, Channel::S8, Channel::S16] {
        for (shape, extents, geometry) in [
            (Shape::One, [19, 1, 1], "1d"),
            (Shape::Two, [13, 7, 1], "2d"),
        ] {
            let image = Image::new(shape, extents, (channel, 2), 0);
            let name = format!("tex_{geometry}_filtered_{channel:?}").to_lowercase();
            programs.push(fetch(&name, &image, sampling, &tex(geometry, "f32", "f32")));
        }
    }
}

/// Layers, cubes, levels, and lines of texels by their number.
fn shapes(programs: &mut Vec<Program>) {
    let linear = Sampling {
        filter: Filter::Linear,
        ..POINT
    };
    for (sampling, name) in [(POINT, "point"), (linear, "linear")] {
        let image = |shape, extents, layers| Image {
            layers,
            ..Image::new(shape, extents, (Channel::F32, 2), 0)
        };
        let [line, sheet] = [(Shape::One, [19, 1, 1]), (Shape::Two, [13, 7, 1])];
        for (geometry, image) in [
            ("a1d", image(line.0, line.1, 5)),
            ("a2d", image(sheet.0, sheet.1, 5)),
        ] {
            programs.push(fetch(
                &format!("tex_{geometry}_{name}"),
                &image,
                sampling,
                &tex(geometry, "f32", "f32"),
            ));
        }
        let level = "mov.f32 %f3, 0f00000000; tex.level.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%rd2, {%f0, %f1}], %f3;";
        programs.push(fetch(
            &format!("tex_level_2d_{name}"),
            &image(sheet.0, sheet.1, 1),
            sampling,
            level,
        ));
        let base = tex("2d", "f32", "f32").replace("tex.", "tex.base.");
        programs.push(fetch(
            &format!("tex_base_2d_{name}"),
            &image(sheet.0, sheet.1, 1),
            sampling,
            &base,
        ));
        let normalized = Sampling {
            normalized: true,
            ..sampling
        };
        programs.push(cube(&format!("tex_cube_{name}"), normalized, 1, "cube"));
        programs.push(cube(&format!("tex_acube_{name}"), normalized, 3, "acube"));
    }
    for (geometry, shape, extents) in [
        ("1d", Shape::One, [19, 1, 1]),
        ("3d", Shape::Three, [5, 6, 7]),
    ] {
        let image = Image::new(shape, extents, (Channel::U32, 1), 0);
        programs.push(fetch(
            &format!("tex_{geometry}_u32_s32"),
            &image,
            POINT,
            &tex(geometry, "u32", "s32"),
        ));
    }
}

/// Directions whose linear filter stays on one face: the emulator does not filter across edges.
fn cube(name: &str, sampling: Sampling, layers: u32, geometry: &str) -> Program {
    let image = Image {
        layers,
        ..Image::new(Shape::Cube, [9, 9, 1], (Channel::F32, 1), 0)
    };
    let mut random = crate::data::random_bits(99);
    let mut unit = || (random() >> 40) as f32 / (1 << 24) as f32;
    let words = (0..THREADS).flat_map(|thread| {
        let mut direction = [
            unit() * 1.5 - 0.75,
            unit() * 1.5 - 0.75,
            unit() * 1.5 - 0.75,
        ];
        let major = if thread & 1 == 0 { 1.0 } else { -1.0 };
        direction[thread as usize / 2 % 3] = major;
        let scale = 0.25 + 4.0 * unit();
        let [x, y, z] = direction.map(|along| (along * scale).to_bits());
        [x, y, z, thread % 5]
    });
    let buffer = words.flat_map(u32::to_le_bytes).collect();
    program(name, &image, sampling, &tex(geometry, "f32", "f32"), buffer)
}

fn queries(programs: &mut Vec<Program>) {
    for (shape, extents, layers) in [
        (Shape::One, [19, 1, 1], 1),
        (Shape::One, [19, 1, 1], 5),
        (Shape::Two, [13, 7, 1], 1),
        (Shape::Two, [13, 7, 1], 5),
        (Shape::Three, [5, 6, 7], 1),
        (Shape::Cube, [9, 9, 1], 1),
        (Shape::Cube, [9, 9, 1], 3),
    ] {
        let image = Image {
            layers,
            ..Image::new(shape, extents, (Channel::F16, 2), 0)
        };
        query(programs, &image);
    }
}

fn query(programs: &mut Vec<Program>, image: &Image) {
    let shape = format!("{:?}_{}", image.shape, image.layers).to_lowercase();
    for query in ["width", "height", "depth"] {
        let ask =
            format!("txq.{query}.b32 %r0, [%rd2]; mov.u32 %r1, 0; mov.u32 %r2, 0; mov.u32 %r3, 0;");
        programs.push(fetch(&format!("txq_{query}_{shape}"), image, POINT, &ask));
    }
}

/// A fetch of four channels. A layer is the fourth word of the thread's input.
fn tex(geometry: &str, ty: &str, coordinates: &str) -> String {
    let base = geometry.trim_start_matches('a');
    let count = match base {
        "1d" => 1,
        "2d" => 2,
        _ => 3,
    };
    let file = if coordinates == "f32" { 'f' } else { 's' };
    let layer = (base.len() < geometry.len()).then(|| "%r7".to_owned());
    let mut places: Vec<String> = layer.into_iter().collect();
    places.extend((0..count).map(|at| format!("%{file}{at}")));
    // Three coordinates are written as four.
    if places.len() == 3 {
        places.push(places[2].clone());
    }
    format!(
        "tex.{geometry}.v4.{ty}.{coordinates} {{%r0, %r1, %r2, %r3}}, [%rd2, {{{}}}];",
        places.join(", ")
    )
}

/// At texels, around them, far away, and where no number is.
fn fetch(name: &str, image: &Image, sampling: Sampling, body: &str) -> Program {
    let mut random = crate::data::random_bits(name.len() as u64);
    let mut unit = || (random() >> 40) as f32 / (1 << 24) as f32;
    let words = (0..THREADS).flat_map(|thread| {
        let at = std::array::from_fn::<f32, 3, _>(|axis| {
            let extent = image.extents[axis] as f32;
            let at = match thread % 4 {
                // Inside, in the middle of texels, on their edges, and outside too.
                0 => unit() * extent,
                1 => (unit() * extent).floor() + 0.5,
                2 => (unit() * extent).floor(),
                _ => (unit() * 5.0 - 2.0) * extent,
            };
            if sampling.normalized { at / extent } else { at }
        });
        let [x, y, z] = at.map(f32::to_bits);
        [x, y, z, thread % 7]
    });
    let mut words: Vec<u32> = words.collect();
    let odd = [
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        1e30,
        -1e30,
        -0.0,
    ];
    for (at, odd) in odd.into_iter().enumerate() {
        words[16 * at] = odd.to_bits();
    }
    let buffer = words.into_iter().flat_map(u32::to_le_bytes).collect();
    program(name, image, sampling, body, buffer)
}

fn program(name: &str, image: &Image, sampling: Sampling, body: &str, buffer: Vec<u8>) -> Program {
    let count = image.bytes().unwrap_or(0) as usize;
    let contents = match image.channel {
        // From 0 to 1, so that a difference is one of weights.
        Channel::F32 => {
            let words = bytes(5, count);
            let words = words
                .chunks(4)
                .map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
            words
                .flat_map(|word| (word as f32 / 65536.0).to_le_bytes())
                .collect()
        }
        // No NaN among the halves.
        Channel::F16 => {
            let halves = bytes(6, count);
            halves
                .chunks(2)
                .flat_map(|half| [half[0], half[1] & 0xbb])
                .collect()
        }
        _ => bytes(7, count),
    };
    let tolerance = match sampling.filter {
        Filter::Linear if image.shape == Shape::Three => Tolerance::Absolute(FILTERED_3D),
        Filter::Linear if image.channel == Channel::S8 => Tolerance::Absolute(FILTERED_S8),
        Filter::Linear if !body.starts_with("tld4") => Tolerance::Absolute(FILTERED),
        _ => Tolerance::Exact,
    };
    Program {
        name: name.to_owned(),
        ptx: module(&format!(
            ".visible .entry k(.param .u64 buffer, .param .u64 object) {{
    .reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .s32 %s<4>;
    ld.param.u64 %rd1, [buffer]; ld.param.u64 %rd2, [object];
    mov.u32 %r0, %tid.x; mad.wide.u32 %rd1, %r0, 16, %rd1;
    ld.global.v4.f32 {{%f0, %f1, %f2, %f3}}, [%rd1]; ld.global.u32 %r7, [%rd1+12];
    cvt.rzi.s32.f32 %s0, %f0; cvt.rzi.s32.f32 %s1, %f1; cvt.rzi.s32.f32 %s2, %f2;
    {body}
    st.global.v4.u32 [%rd1], {{%r0, %r1, %r2, %r3}};
    ret;
}}"
        )),
        object: Object::Texture(image.clone(), sampling),
        contents,
        buffer,
        launch: [1, THREADS],
        tolerance,
    }
}
