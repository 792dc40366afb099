//! Textures and surfaces as arguments of `blockwise check`.

use std::fs;
use std::path::Path;

use crate::command::{Run, npy};

/// `stretch(t, out)` reads a texture between its texels, `copy(s)` a reference into a surface.
const PTX: &str = "
.version 8.0
.target sm_80
.address_size 64
.global .texref picture;
.visible .entry stretch(.param .u64 t, .param .u64 .ptr .global .align 4 out)
{
    .reg .b64 %t, %o; .reg .b32 %i; .reg .f32 %f<6>;
    ld.param.u64 %t, [t]; ld.param.u64 %o, [out]; mov.u32 %i, %tid.x;
    cvt.rn.f32.u32 %f0, %i; mov.f32 %f1, 0f3F000000;
    tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%t, {%f0, %f1}];
    mad.wide.u32 %o, %i, 4, %o;
    st.global.f32 [%o], %f2;
    ret;
}
.visible .entry copy(.param .u64 s)
{
    .reg .b64 %s; .reg .b32 %i, %j, %v<4>; .reg .f32 %f<2>;
    ld.param.u64 %s, [s]; mov.u32 %i, %tid.x; mov.u32 %j, %tid.y;
    cvt.rn.f32.u32 %f0, %i; cvt.rn.f32.u32 %f1, %j;
    tex.2d.v4.u32.f32 {%v0, %v1, %v2, %v3}, [picture, {%f0, %f1}];
    sust.p.2d.v4.b32.trap [%s, {%i, %j}], {%v1, %v0, %v0, %v0};
    ret;
}
";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.ptx"), PTX).unwrap();
    let floats: Vec<u8> = [1.0_f32, 3.0, 7.0, 15.0]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    let line = npy("'<f4'", "False", "(1, 4)", &floats);
    fs::write(folder.path().join("line.npy"), line).unwrap();
    // Two rows of three texels of two channels.
    let pairs = npy(
        "'|u1'",
        "False",
        "(2, 3, 2)",
        &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
    );
    fs::write(folder.path().join("pairs.npy"), pairs).unwrap();
    folder
}

fn check(folder: &Path, line: &str) -> Run {
    Run::line(folder, &format!("check k.ptx {line}"))
}

#[test]
fn a_texture_is_read_from_a_file() {
    let folder = folder();
    let stretch = "--kernel stretch --block 5 --arg f32[5]->out.npy";
    let arguments = |texture: &str| stretch.replace("--arg", &format!("--arg {texture} --arg"));
    for (texture, sum) in [
        // Between texels: 1, 2, 5, 11, 15.
        ("tex2d:f32=line.npy,linear", "34\n"),
        // The texel to the right: 1, 3, 7, 15, and zero outside.
        ("tex2d:f32=line.npy,border", "26\n"),
        ("tex2d:f32[1,4]=line.npy,clamp", "41\n"),
    ] {
        check(folder.path(), &arguments(texture)).ends(0);
        assert_eq!(
            Run::line(folder.path(), "sum out.npy").ends(0).stdout,
            sum,
            "{texture}"
        );
    }
    let refused =
        |texture: &str, reason: &str| check(folder.path(), &arguments(texture)).refused(reason);
    refused(
        "tex2d:u8=pairs.npy",
        "the extents [2, 3, 2] are not [HEIGHT,WIDTH]",
    );
    refused(
        "tex2d:f32=line.npy,wrap",
        "only a texture with normalized coordinates wraps",
    );
    refused("tex2d:f32[2,4]=line.npy", "it has 4 elements, not 8");
    refused("tex9d:f32=line.npy", "`9d` is none of 1d, 2d, 3d");
}

#[test]
fn a_reference_is_bound_and_a_surface_saved() {
    let folder = folder();
    let copy = "--kernel copy --block 3,2 --arg picture=tex2d:u8x2=pairs.npy --arg surf2d:u8x2[2,3]=zeros->out.npy";
    check(folder.path(), copy).ends(0);
    let out = Run::line(folder.path(), "sum out.npy").ends(0);
    assert_eq!(out.stdout, "78\n");
    Run::line(folder.path(), &format!("profile ptx k.ptx {copy}")).ends(0);
    let bound = "--kernel copy --block 3,2 --arg surf2d:u8x2[2,3]=zeros";
    let unbound = check(folder.path(), bound).ends(1);
    assert!(
        unbound
            .stdout
            .contains("nothing is bound to this texture reference"),
        "{unbound:?}"
    );
    check(folder.path(), &copy.replace("picture=", "image="))
        .refused("no texture or surface reference `image`; it has: picture");
    let small = check(folder.path(), &copy.replace("[2,3]", "[2,2]")).ends(1);
    for part in ["memory-out-of-bounds", "texel 2, row 0", "k.ptx:22"] {
        assert!(small.stdout.contains(part), "{part}: {small:?}");
    }
}
