//! Surfaces: what kernels write there and read back, past their edges too, and the races on their
//! texels.

use crate::common::{limits, module, shape};
use ptx_emulator::{
    Channel, CheckOptions, CheckReport, Emulator, Image, LaunchError, Rule, Sampling, Shape,
};

/// A surface of bytes that are all `fill`.
fn surface(
    emulator: &Emulator,
    (shape, extents): (Shape, [u32; 3]),
    format: (Channel, u32),
    fill: u8,
) -> Image {
    let image = Image::new(shape, extents, format, 0);
    let bytes = vec![fill; image.bytes().expect("a small image") as usize];
    let address = emulator.alloc(bytes.len() as u64).expect("memory is there");
    emulator.write(address, &bytes).expect("it fits");
    Image { address, ..image }
}

fn kernel(body: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 s, .param .u64 t) {{ .reg .b64 %rd<4>; .reg .b32 %r<9>; .reg .b16 %h<9>; .reg .f32 %f<9>;
        ld.param.u64 %rd1, [s]; ld.param.u64 %rd2, [t]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;
        {body}
        ret; }}"
    )
}

/// The bytes of a surface after a launch with its handle.
fn run(
    emulator: &Emulator,
    image: &Image,
    body: &str,
    threads: u32,
) -> Result<Vec<u8>, LaunchError> {
    let loaded = emulator
        .load(&module(&kernel(body)))
        .expect("the module loads");
    let handle = emulator
        .surface(image.clone())
        .expect("a surface")
        .to_le_bytes();
    emulator.launch(&loaded, "k", shape(1, threads, 0), &[&handle, &[0; 8]])?;
    let mut bytes = vec![0; image.bytes().expect("a small image") as usize];
    emulator
        .read(image.address, &mut bytes)
        .expect("it is there");
    Ok(bytes)
}

fn check(
    emulator: &Emulator,
    image: &Image,
    body: &str,
    (blocks, threads): (u32, u32),
) -> CheckReport {
    let loaded = emulator
        .load(&module(&kernel(body)))
        .expect("the module loads");
    let handle = emulator
        .surface(image.clone())
        .expect("a surface")
        .to_le_bytes();
    let texture = emulator.texture(image.clone(), Sampling::default());
    let texture = texture.expect("a texture").to_le_bytes();
    let config = shape(blocks, threads, 0);
    let report = emulator.check(
        &loaded,
        "k",
        config,
        &[&handle, &texture],
        &CheckOptions::default(),
    );
    report.expect("it is launched")
}

#[test]
fn bytes_are_stored_and_loaded_where_x_says() {
    let emulator = Emulator::new(limits());
    let image = surface(&emulator, (Shape::Two, [4, 2, 1]), (Channel::U16, 2), 9);
    let body = "shl.b32 %r2, %r0, 2; add.u32 %r3, %r0, 100; cvt.u16.u32 %h0, %r3; mov.u16 %h1, 7;
        sust.b.2d.v2.b16.trap [%rd1, {%r2, 0}], {%h0, %h1};
        suld.b.2d.b32.trap %r4, [%rd1, {%r2, 0}]; sust.b.2d.b32.trap [%rd1, {%r2, 1}], %r4;";
    let bytes = run(&emulator, &image, body, 3).expect("it runs");
    let row = [100, 0, 7, 0, 101, 0, 7, 0, 102, 0, 7, 0, 9, 9, 9, 9];
    assert_eq!(bytes, [row, row].concat());
}

#[test]
fn what_lies_outside_is_clamped_or_left_out() {
    let emulator = Emulator::new(limits());
    let image = surface(&emulator, (Shape::Two, [3, 2, 1]), (Channel::U8, 1), 9);
    let body = "mov.u16 %h0, 5; sust.b.2d.b8.zero [%rd1, {3, 0}], %h0; sust.b.2d.b8.zero [%rd1, {0, -1}], %h0;
        mov.u16 %h1, 6; sust.b.2d.b8.clamp [%rd1, {70, 1}], %h1; sust.b.2d.b8.clamp [%rd1, {-1, -8}], %h1;
        suld.b.2d.b8.zero %h2, [%rd1, {3, 1}]; add.u16 %h2, %h2, 3; sust.b.2d.b8.trap [%rd1, {1, 1}], %h2;
        suld.b.2d.b8.clamp %h3, [%rd1, {9, 9}]; sust.b.2d.b8.trap [%rd1, {1, 0}], %h3;";
    let bytes = run(&emulator, &image, body, 1).expect("it runs");
    assert_eq!(bytes, [6, 6, 9, 9, 3, 6]);
}

#[test]
fn a_trap_outside_names_the_line_and_the_place() {
    let emulator = Emulator::new(limits());
    let image = surface(&emulator, (Shape::Two, [4, 2, 1]), (Channel::F32, 1), 0);
    let body = "shl.b32 %r2, %r0, 2;\nsust.b.2d.b32.trap [%rd1, {%r2, 1}], %r0;";
    let error = run(&emulator, &image, body, 5).expect_err("it leaves the row");
    let text = error.to_string();
    let expected = "outside of the surface: write of 4 bytes at byte 16, row 1, slice 0, layer 0 of 4 x 2 x 1 texels of 4 bytes";
    assert!(text.starts_with(expected), "{text}");
    assert!(
        text.contains("thread (4, 0, 0)") && text.contains("PTX line 7"),
        "{text}"
    );
    let report = check(&emulator, &image, body, (1, 5));
    let rules: Vec<Rule> = report.findings.iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, [Rule::OutOfBounds]);
}

#[test]
fn texels_are_converted_to_what_the_surface_holds() {
    let emulator = Emulator::new(limits());
    let image = surface(&emulator, (Shape::Two, [2, 1, 1]), (Channel::S8, 2), 9);
    let body = "mov.s32 %r2, -300; mov.s32 %r3, 5; sust.p.2d.v4.b32.trap [%rd1, {1, 0}], {%r2, %r3, %r3, %r3};";
    let bytes = run(&emulator, &image, body, 1).expect("it runs");
    assert_eq!(bytes, [9, 9, 0x80, 5]);
    let image = surface(&emulator, (Shape::One, [2, 1, 1]), (Channel::F16, 1), 0);
    let body = "mov.f32 %f0, 0f3FC00000; sust.p.1d.v4.b32.trap [%rd1, {1}], {%f0, %f0, %f0, %f0};";
    assert_eq!(
        run(&emulator, &image, body, 1).expect("it runs"),
        [0, 0, 0, 0x3e]
    );
}

#[test]
fn layers_are_apart_and_reductions_add_up() {
    let emulator = Emulator::new(limits());
    let mut image = surface(&emulator, (Shape::One, [2, 2, 1]), (Channel::U32, 1), 0);
    (image.extents, image.layers) = ([2, 1, 1], 2);
    let body =
        "sured.b.add.a1d.u32.trap [%rd1, {1, 4}], 3; sured.p.or.a1d.b32.trap [%rd1, {0, 1}], %r0;
        sured.b.max.a1d.s32.clamp [%rd1, {0, 0}], %r0;";

    let bytes = run(&emulator, &image, body, 6).expect("it runs");
    assert_eq!(bytes, [5, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 18, 0, 0, 0]);
}

#[test]
fn stores_to_one_texel_race_and_reductions_do_not() {
    let emulator = Emulator::new(limits());
    let image = surface(&emulator, (Shape::Two, [64, 1, 1]), (Channel::U32, 1), 0);
    let rules = |body: &str| {
        let findings = check(&emulator, &image, body, (1, 64)).findings;
        findings
            .iter()
            .map(|finding| finding.rule)
            .collect::<Vec<_>>()
    };
    let own = "shl.b32 %r2, %r0, 2; sust.b.2d.b32.trap [%rd1, {%r2, 0}], %r0;";
    assert_eq!(rules(own), []);
    let one =
        "and.b32 %r2, %r0, 31; shl.b32 %r2, %r2, 2; sust.b.2d.b32.trap [%rd1, {%r2, 0}], %r0;";
    assert_eq!(rules(one), [Rule::WriteAfterWrite]);
    assert_eq!(rules("sured.b.add.2d.u32.trap [%rd1, {0, 0}], %r0;"), []);
}

#[test]
fn a_texture_that_is_written_meanwhile_races() {
    let emulator = Emulator::new(limits());
    let image = surface(&emulator, (Shape::One, [64, 1, 1]), (Channel::U32, 1), 0);
    let body = "shl.b32 %r2, %r0, 2; sust.b.1d.b32.trap [%rd1, {%r2}], %r0; xor.b32 %r3, %r0, 32;
        tex.1d.v4.u32.s32 {%r4, _, _, _}, [%rd2, {%r3}];";
    let findings = check(&emulator, &image, body, (1, 64)).findings;
    let rules: Vec<Rule> = findings.iter().map(|finding| finding.rule).collect();
    assert!(
        !rules.is_empty()
            && rules.iter().all(|rule| matches!(
                rule,
                Rule::ReadAfterWrite | Rule::WriteAfterRead | Rule::NonCoherent
            ))
            && rules.contains(&Rule::NonCoherent),
        "{rules:?}"
    );
}
