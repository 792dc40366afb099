//! What surfaces hold after stores, and what loads give, past their edges too.

use ptx_emulator::{Channel, Image, Shape};

use super::{Object, Program, Tolerance, bytes, module};

const THREADS: u32 = 64;

pub(super) fn programs() -> Vec<Program> {
    let mut programs = Vec::new();
    for (geometry, shape, extents, layers) in [
        ("1d", Shape::One, [11, 1, 1], 1),
        ("2d", Shape::Two, [11, 5, 1], 1),
        ("3d", Shape::Three, [5, 4, 3], 1),
        ("a1d", Shape::One, [11, 1, 1], 3),
        ("a2d", Shape::Two, [11, 5, 1], 3),
    ] {
        for (ty, file, channel, channels) in [
            ("b8", "h", Channel::U8, 1),
            ("b16", "h", Channel::U16, 1),
            ("b32", "r", Channel::U8, 4),
            ("b32", "r", Channel::F32, 1),
            ("b64", "l", Channel::U32, 2),
        ] {
            let image = Image {
                layers,
                ..Image::new(shape, extents, (channel, channels), 0)
            };
            for edge in ["clamp", "zero"] {
                let name = format!("{geometry}_{ty}_{channel:?}_{edge}").to_lowercase();
                let at = place(geometry);
                let load = format!("suld.b.{geometry}.{ty}.{edge} %{file}6, [%rd2, {at}];");
                programs.push(program(
                    &format!("suld_{name}"),
                    &image,
                    &format!("{load} {}", take(file)),
                ));
                // Only thread 0 stores: past an edge many would meet in one texel.
                let store = format!(
                    "{} @%p0 sust.b.{geometry}.{ty}.{edge} [%rd2, {at}], %{file}6;",
                    give(file)
                );
                for offset in [0, 3, 40] {
                    let store = format!(
                        "add.u32 %r1, %r1, {}; {store}",
                        offset * image.texel_bytes()
                    );
                    programs.push(program(&format!("sust_{name}_{offset}"), &image, &store));
                }
            }
        }
    }
    for (channel, ty) in [
        (Channel::S8, "s32"),
        (Channel::U16, "u32"),
        (Channel::F16, "f32"),
        (Channel::F32, "f32"),
    ] {
        let image = Image::new(Shape::Two, [11, 5, 1], (channel, 2), 0);
        let value = match ty {
            "f32" => "cvt.rn.f32.s32 %f0, %r4; mov.b32 %r4, %f0;",
            _ => "",
        };
        // By texels, not by bytes: thread 0 only, as above.
        let body = format!(
            "{value} mov.u32 %r1, 2; @%p0 sust.p.2d.v2.b32.trap [%rd2, {{%r1, %r1}}], {{%r4, %r4}};"
        );
        programs.push(program(
            &format!("sust_p_{channel:?}").to_lowercase(),
            &image,
            &body,
        ));
    }
    programs
}

/// The place of a thread: x in bytes, from a word of its input that reaches past the edges.
fn place(geometry: &str) -> &'static str {
    match geometry {
        "1d" => "{%r1}",
        "2d" => "{%r1, %r2}",
        "3d" => "{%r1, %r2, %r3, %r3}",
        "a1d" => "{%r3, %r1}",
        _ => "{%r3, %r1, %r2, %r2}",
    }
}

/// The loaded value as the thread's result.
fn take(file: &str) -> &'static str {
    match file {
        "h" => "cvt.u32.u16 %r5, %h6; mov.u32 %r6, 0;",
        "r" => "mov.u32 %r5, %r6; mov.u32 %r6, 0;",
        _ => "mov.b64 {%r5, %r6}, %l6;",
    }
}

/// A value to store.
fn give(file: &str) -> &'static str {
    match file {
        "h" => "cvt.u16.u32 %h6, %r4;",
        "r" => "mov.u32 %r6, %r4;",
        _ => "mov.b64 %l6, {%r4, %r4};",
    }
}

fn program(name: &str, image: &Image, body: &str) -> Program {
    let count = image.bytes().unwrap_or(0) as usize;
    let mut random = crate::data::random_bits(name.len() as u64);
    let texel = image.texel_bytes();
    let words = (0..THREADS).flat_map(|thread| {
        let mut beyond = |extent: u32| (random() % u64::from(extent + 6)) as i32 - 3;
        let [x, y, z] = match thread {
            0 => [1, 1, 1],
            _ => [
                image.extents[0],
                image.extents[1],
                image.extents[2].max(image.layers),
            ]
            .map(&mut beyond),
        };
        // A layer that is not there is clamped by no rule that PTX states.
        let z = if image.layers > 1 {
            z.rem_euclid(image.layers as i32)
        } else {
            z
        };
        [x * texel as i32, y, z, 0x0100_0203 * thread as i32 + 77]
    });
    Program {
        name: name.to_owned(),
        ptx: module(&format!(
            ".visible .entry k(.param .u64 buffer, .param .u64 object) {{
    .reg .b64 %rd<4>; .reg .b64 %l<8>; .reg .b32 %r<8>; .reg .b16 %h<8>; .reg .f32 %f<8>; .reg .pred %p<2>;
    ld.param.u64 %rd1, [buffer]; ld.param.u64 %rd2, [object];
    mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; mad.wide.u32 %rd1, %r0, 16, %rd1;
    ld.global.v4.u32 {{%r1, %r2, %r3, %r4}}, [%rd1]; mov.u32 %r5, 0; mov.u32 %r6, 0;
    {body}
    st.global.v2.u32 [%rd1], {{%r5, %r6}};
    ret;
}}"
        )),
        object: Object::Surface(image.clone()),
        contents: bytes(11, count),
        buffer: words.flat_map(i32::to_le_bytes).collect(),
        launch: [1, THREADS],
        tolerance: Tolerance::Exact,
    }
}
