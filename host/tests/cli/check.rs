//! `blockwise check`: foreign PTX, its arguments, reports and exit codes.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::command::{Run, names, npy, program, vector};

/// `scale(x: &[f32], y: *mut f32, factor: f32)`, and one with a mistake that the first line's
/// `PREDICATE` makes.
const PTX: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(
    .param .u64 .ptr .align 1 x, .param .u64 len, .param .u64 .ptr .align 1 y, .param .f32 factor)
{
    .reg .b64 %x, %y, %len, %i; .reg .b32 %t, %b, %n; .reg .f32 %f, %k; .reg .pred %p;
    ld.param.u64 %x, [x]; ld.param.u64 %len, [len]; ld.param.u64 %y, [y]; ld.param.f32 %k, [factor];
    mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x;
    mad.lo.u32 %t, %b, %n, %t; cvt.u64.u32 %i, %t;
    setp.ge.u64 %p, %i, %len;
    @%p ret;
    shl.b64 %i, %i, 2; add.u64 %x, %x, %i; add.u64 %y, %y, %i;
    ld.global.f32 %f, [%x];
    mul.f32 %f, %f, %k;
    st.global.f32 [%y], %f;
    ret;
}
.visible .entry forever() { LOOP: bra LOOP; }
.visible .entry share()
{
    .shared .align 4 .b8 tile[256];
    .reg .b32 %t, %s, %v;
    mov.u32 %t, %tid.x; mov.u32 %s, tile; mad.lo.u32 %s, %t, 4, %s;
    st.shared.u32 [%s], %t;
    xor.b32 %s, %s, 128;
    ld.shared.u32 %v, [%s];
    ret;
}
.visible .entry struct(.param .align 4 .b8 pair[8], .param .u16 half) { ret; }
";

/// A folder with that PTX as `k.ptx`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.ptx"), PTX).unwrap();
    folder
}

/// Runs `blockwise check k.ptx` with the words of `line`; an argument with spaces is not among
/// them.
fn check(folder: &tempfile::TempDir, line: &str) -> Run {
    Run::line(folder.path(), &format!("check k.ptx {line}"))
}

const SCALE: &str = "--kernel scale --grid 4 --block 256";

#[test]
fn a_clean_kernel_is_exit_code_0_and_its_output_is_saved() {
    let folder = folder();
    let data: Vec<u8> = (0..1000).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let file = npy("'<f4'", "False", "(1000,)", &data);
    fs::write(folder.path().join("x.npy"), file).unwrap();
    let arguments = "--arg slice:f32[]=x.npy --arg f32[1000]->y.npy --arg f32:2";
    let run = check(
        &folder,
        &format!("{SCALE} {arguments} --schedules 2 --seed 9"),
    )
    .ends(0);
    assert!(run.stdout.contains("scale in 3 schedules"), "{run:?}");
    assert!(
        run.stdout.ends_with("========= ERROR SUMMARY: 0 errors\n"),
        "{run:?}"
    );
    let sum = Run::line(folder.path(), "sum y.npy").ends(0);
    assert_eq!(sum.stdout, "999000\n");
}

/// Not one that fewer numbers fit into: here two floats, -0 and -1, are one number.
#[test]
fn an_output_is_saved_in_its_own_type() {
    let folder = folder();
    let launch = "--kernel scale --block 2 --arg slice:f32[2]=iota --arg f32:-1";
    for (buffer, ty, sum) in [
        ("u64[1]", "'<u8'", 0xBF80_0000_8000_0000),
        ("u32[2]", "'<u4'", 0xBF80_0000_u64 + 0x8000_0000),
    ] {
        let line = launch.replace(" --arg f32:", &format!(" --arg {buffer}->y.npy --arg f32:"));
        check(&folder, &line).ends(0);
        let file = fs::read(folder.path().join("y.npy")).unwrap();
        assert!(String::from_utf8_lossy(&file).contains(ty), "{buffer}");
        let run = Run::line(folder.path(), "sum y.npy").ends(0);
        assert_eq!(run.stdout, format!("{sum}\n"), "{buffer}");
    }
}

#[test]
fn a_finding_is_exit_code_1_with_the_line_of_the_ptx() {
    let folder = folder();
    // The output is shorter than the length.
    let arguments = "--arg slice:f32[1000]=random:1 --arg f32[999] --arg f32:2";
    let run = check(&folder, &format!("{SCALE} {arguments}")).ends(1);
    for part in [
        "Error: Invalid __global__ write of 4 bytes [memory-out-of-bounds]",
        "by thread (231,0,0) in block (3,0,0)",
        "--> k.ptx:17:5",
        "st.global.f32 [%y], %f",
        "ERROR SUMMARY: 1 error",
    ] {
        assert!(run.stdout.contains(part), "{part}: {run:?}");
    }
    assert!(!run.stdout.contains('\u{1b}'), "{run:?}");
}

#[test]
fn tools_and_severities_can_be_chosen() {
    let folder = folder();
    let run = check(&folder, "--kernel share --block 64 --tool race").ends(1);
    assert!(run.stdout.contains("race-read-after-write"), "{run:?}");
    assert!(run.stdout.contains("RACECHECK SUMMARY: "), "{run:?}");
    check(&folder, "--kernel share --block 64 --tool mem,sync").ends(0);
    // One warp touches no byte twice.
    check(
        &folder,
        "--kernel share --block 32 --tool race,racecheck --max-findings 0",
    )
    .ends(0);
    let none = check(
        &folder,
        "--kernel share --block 64 --tool race --max-findings 0",
    )
    .ends(1);
    assert!(none.stdout.contains("more finding"), "{none:?}");
    assert!(
        none.stdout.contains("ERROR SUMMARY: 0 errors, "),
        "{none:?}"
    );
}

/// The programs that reports from elsewhere are about, with their launches.
#[test]
fn notes_fail_a_check_only_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let programs = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../crates/ptx_emulator/tests/suite/reported"
    );
    let check = |name: &str, line: &str| {
        let ptx = format!("{programs}/{name}.ptx");
        fs::copy(ptx, folder.path().join("k.ptx")).unwrap();
        Run::line(folder.path(), &format!("check k.ptx {line}"))
    };
    check("bar_count", "--block 96 --arg i32[64] --schedules 16").ends(0);
    check("match_then_inval", "--block 64").ends(0);
    check("syncwarp_then_inval", "--block 64").ends(0);
    let shuffle = check(
        "shfl_after_acquire",
        "--block 64 --arg i32[32] --schedules 16",
    )
    .ends(0);
    assert!(
        shuffle.stdout.contains("by the letter of PTX"),
        "{shuffle:?}"
    );
    let constant = check("nc_load", "--block 32 --arg i32[32] --arg i32[32]").ends(1);
    assert!(
        constant.stdout.contains("race-non-coherent"),
        "{constant:?}"
    );
    let sum = "--block 128 --arg f32[128]=random:1 --arg f32[1]=zeros --schedules 8";
    let noted = check("float_atomic", sum).ends(0);
    assert!(noted.stdout.contains("Information: "), "{noted:?}");
    check("float_atomic", &format!("{sum} --error-on information")).ends(1);
    check("float_atomic", &format!("{sum} --error-on note")).ends(1);
    check("float_atomic", &format!("{sum} --error-on error")).ends(0);
}

#[test]
fn json_and_sarif_are_documents_on_standard_output_or_in_a_file() {
    let folder = folder();
    let line = "--kernel share --block 64 --tool race";
    let json = check(&folder, &format!("{line} --format json"))
        .ends(1)
        .json();
    assert_eq!(json["version"], 1);
    assert_eq!(json["checks"][0]["kernel"], "share");
    assert_eq!(
        check(&folder, &format!("{line} --json")).ends(1).json(),
        json
    );

    let run = check(&folder, &format!("{line} --format sarif -o out.sarif")).ends(1);
    assert!(run.stdout.starts_with("share: "), "{run:?}");
    let text = fs::read_to_string(folder.path().join("out.sarif")).unwrap();
    let sarif: Value = serde_json::from_str(&text).unwrap();
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
        "k.ptx"
    );
}

#[test]
fn json_lists_the_kernels_that_cannot_run() {
    let folder = folder();
    let text = PTX.to_owned() + ".visible .entry odd() { .reg .b32 %r; mystery.u32 %r, 1; ret; }";
    fs::write(folder.path().join("k.ptx"), &text).unwrap();
    let json = check(&folder, "--kernel share --block 32 --json").json();
    let left_out = &json["left_out"];
    assert_eq!(left_out.as_array().map(Vec::len), Some(1), "{json}");
    assert_eq!(left_out[0]["kernel"], "odd");
    assert_eq!(left_out[0]["ptx_line"], text.lines().count());
    assert!(left_out[0]["reason"].to_string().contains("mystery.u32"));
    let run = Run::line(folder.path(), "profile ptx k.ptx --kernel share --json").ends(0);
    assert_eq!(&run.json()["left_out"], left_out);
    let run = check(&folder, "--kernel odd");
    run.refused("kernel `odd` cannot run here");
    assert!(
        run.stderr
            .contains("hint: these can: scale, forever, share, struct"),
        "{run:?}"
    );
}

#[test]
fn two_outputs_in_one_place_are_refused() {
    let folder = folder();
    let line = "--kernel scale --arg slice:f32[8]=iota --arg f32[8]->y.npy --arg f32:2 -o y.npy";
    check(&folder, line).refused("cannot write y.npy: another output goes there already");
}

#[test]
fn an_endless_loop_is_a_finding() {
    let run = check(&folder(), "--kernel forever --block 1 --steps 1000").ends(1);
    assert!(run.stdout.contains("sync-step-limit"), "{run:?}");
    // Nothing in it changes, so it needs no limit.
    let run = check(&folder(), "--kernel forever --block 1").ends(1);
    assert!(run.stdout.contains("sync-endless-loop"), "{run:?}");
    assert_eq!(run.stderr, "");
}

/// `transposed(x: Matrix<f32>, y: OutMatrix<f32>)` by its record: one thread, one element.
#[test]
fn matrices_are_passed_and_named_as_the_rust_source_names_them() {
    let folder = folder();
    let record = "block: &mut Block<8,8,1>, x: Matrix<f32>, y: OutMatrix<f32>";
    let bytes: Vec<_> = record.bytes().map(|byte| byte.to_string()).collect();
    let text = format!(
        "{PTX}.visible .global .align 1 .b8 turn__signature[{}] = {{{}}};
.visible .entry turn(
    .param .u64 .ptr .align 1 turn_0, .param .u64 turn_1, .param .u64 turn_2,
    .param .u64 .ptr .align 1 turn_3, .param .u64 turn_4, .param .u64 turn_5)
{{
    .reg .b64 %y, %n, %m; .reg .f32 %f;
    ld.param.u64 %y, [turn_3]; ld.param.u64 %n, [turn_1]; ld.param.u64 %m, [turn_5];
    mad.lo.u64 %n, %n, 1000, %m;
    cvt.rn.f32.u64 %f, %n; st.global.f32 [%y], %f;
    ret;
}}\n",
        record.len(),
        bytes.join(", ")
    );
    fs::write(folder.path().join("k.ptx"), text).unwrap();
    let turn = |arguments: &str| check(&folder, &format!("--kernel turn {arguments}"));
    let takes = "takes 6 parameters (x: Matrix<f32> as 3, y: OutMatrix<f32> as 3)";
    let line = "--grid 2,2 --block 8,8 --arg matrix:f32[64,64]=random:1 --arg matrix:f32[64,64]";
    for arguments in ["", "--arg f32[15]=iota --arg f32[15]"] {
        let run = turn(arguments);
        run.refused(takes);
        assert!(run.stderr.contains(line), "{run:?}");
    }
    let data: Vec<u8> = (0..15).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let file = npy("'<f4'", "False", "(3, 5)", &data);
    fs::write(folder.path().join("x.npy"), file).unwrap();
    // Rows of x, columns of y: 3 and 2.
    let y = "--arg matrix:f32[1,2]->y.npy";
    for x in [
        "matrix:f32[3,5]=iota",
        "matrix:f32[3,5]=x.npy",
        "matrix:f32[]=x.npy",
    ] {
        turn(&format!("--block 1 --arg {x} {y}")).ends(0);
        let max = Run::line(folder.path(), "max y.npy").ends(0);
        assert_eq!(max.stdout, "3002\n", "{x}");
    }
    turn(&format!("--arg matrix:f32[5,3]=x.npy {y}")).refused("the file's shape is [3, 5]");
    turn(&format!("--arg matrix:f32[15]=iota {y}")).refused("matrix:TYPE[ROWS,COLUMNS]");
    fs::write(folder.path().join("x.npy"), vector(&[1.0, 2.0])).unwrap();
    turn(&format!("--arg matrix:f64[]=x.npy {y}")).refused("which is no matrix");
}

#[test]
fn numbers_of_other_types_and_structs_are_passed() {
    let folder = folder();
    check(
        &folder,
        "--kernel struct --arg bytes:0001020304050607 --arg u16:0xffff",
    )
    .ends(0);
    check(&folder, "--kernel struct --arg bytes:00 --arg u16:1")
        .refused("`bytes:00` has 1 bytes, but parameter 1 of kernel `struct` is `b8[8] pair`");
    check(
        &folder,
        "--kernel struct --arg bytes:0001020304050607 --arg f32:1",
    )
    .refused("`f32:1` has 4 bytes, but parameter 2 of kernel `struct` is `u16 half`");
}

#[test]
fn what_cannot_be_checked_is_one_line_and_exit_code_2() {
    let folder = folder();
    let scale = |arguments: &str| check(&folder, &format!("{SCALE} {arguments}"));
    let x = "--arg slice:f32[8]=iota";
    check(&folder, "").refused("k.ptx has several kernels: scale, forever, share, struct");
    check(&folder, "--kernel none").refused("k.ptx has no kernel `none`; it has: scale, forever");
    scale("").refused(
        "kernel `scale` takes 4 parameters (u64 pointer x, u64 len, u64 pointer y, f32 factor), and there is no --arg",
    );
    assert!(
        scale("")
            .stderr
            .contains("--arg f32[1024]=random:1 --arg u64:1024")
    );
    scale(x).refused("takes 4 parameters (u64 pointer x, u64 len, u64 pointer y, f32 factor), the arguments give 2");
    scale(&format!("{x} {x} --arg f32:1")).refused("the arguments give 5");
    scale(&format!("{x} --arg f32[8] --arg u32:1"))
        .refused("`u32:1` is the integer u32, but parameter 4 of kernel `scale` is `f32 factor`");
    scale(&format!("{x} --arg f32[8] --arg f64:1")).refused("has 8 bytes");
    scale("--arg f32[8] --arg f64:8 --arg f32[8] --arg f32:1").refused("is the float f64");
    scale(&format!("{x} --arg f32[8] --arg f32:x")).refused("`x` is no number");
    scale(&format!("{x} --arg f32[8]=ones --arg f32:1")).refused("is no argument of a kernel");
    scale(&format!("{x} --arg f32[8]=no.npy --arg f32:1")).refused("cannot read no.npy");
    scale(&format!("{x} --arg f32[99999999999999999] --arg f32:1")).refused("out of device memory");
    scale(&format!("{x} --arg f32[8]->no/out.npy --arg f32:1")).refused("cannot write no/out.npy");
    scale(&format!("{x} --arg f32[8] --arg f32:1 -o no/report")).refused("cannot write no/report");
    check(&folder, "--kernel forever --block 2048").refused("block [2048, 1, 1]");
    check(&folder, "--kernel forever --grid 0").refused("grid [0, 1, 1]");
    scale(&format!("{x} --arg f32[8] --arg f32:1 --shared 999999")).refused("shared memory");
    fs::write(folder.path().join("f64.npy"), vector(&[1.0, 2.0])).unwrap();
    scale(&format!("{x} --arg f32[]=f64.npy --arg f32:1")).refused("it holds float64");
    scale(&format!("{x} --arg f64[3]=f64.npy --arg f32:1")).refused("it has 2 elements, not 3");
    assert_eq!(names(folder.path()), ["f64.npy", "k.ptx"]);
    for line in [
        "--grid 0,x",
        "--grid 1,1,1,1",
        "--tool valgrind",
        "--format xml",
        "--grid -1",
    ] {
        check(&folder, line).ends(2);
    }
}

#[test]
fn options_of_which_one_would_be_passed_over_are_refused() {
    let folder = folder();
    let before = fs::read(folder.path().join("k.ptx")).unwrap();
    check(&folder, "--kernel share --format sarif --json").ends(2);
    check(&folder, "--kernel share --ptx k.ptx")
        .refused("--ptx names the kernels of the other commands");
    let lost = "the output would take the place of k.ptx";
    check(&folder, "--kernel share -o k.ptx").refused(lost);
    check(&folder, "--kernel share -o ./k.ptx").refused(lost);
    check(&folder, "--kernel share --html k.ptx").refused(lost);
    Run::line(folder.path(), "trace ptx k.ptx --kernel share -o k.ptx").refused(lost);
    check(&folder, "--kernel share --html a -o a").ends(2);
    let seed = "a page cannot keep the seed 9007199254740992";
    check(
        &folder,
        "--kernel share --seed 9007199254740991 --schedules 1 --html a",
    )
    .refused(seed);
    Run::line(
        folder.path(),
        "trace ptx k.ptx --kernel share --seed 9007199254740992",
    )
    .refused(seed);
    assert_eq!(fs::read(folder.path().join("k.ptx")).unwrap(), before);
}

#[test]
fn files_that_are_not_ptx_are_refused() {
    let folder = folder();
    let run = |name: &str| Run::line(folder.path(), &format!("check {name}"));
    let put = |name: &str, text: &[u8]| fs::write(folder.path().join(name), text).unwrap();
    run("missing.ptx").refused("cannot read missing.ptx: No such file");
    put("binary.ptx", b"\x7fELF\xff\xfe");
    run("binary.ptx").refused("binary.ptx is not PTX");
    let header = ".version 8.0\n.target sm_80\n.address_size 64\n";
    put("empty.ptx", header.as_bytes());
    run("empty.ptx").refused("empty.ptx has no kernel");
    put(
        "broken.ptx",
        format!("{header}.visible .entry k() {{ add.u32").as_bytes(),
    );
    run("broken.ptx").refused("broken.ptx: PTX line 4");
    put(
        "foreign.ptx",
        format!("{header}.visible .entry k() {{ .reg .b32 %r;\ntex.2dms.v4.u32.s32 {{%r,%r,%r,%r}}, [t, {{%r,%r,%r,%r}}];\n}}")
            .as_bytes(),
    );
    run("foreign.ptx")
        .refused("foreign.ptx: kernel `k` cannot run here: PTX line 5: unsupported: `tex.2dms");
    // The only kernel need not be named, and hostile sizes end at once.
    put(
        "one.ptx",
        format!("{header}.visible .entry k() {{ ret; }}").as_bytes(),
    );
    run("one.ptx").ends(0);
    put(
        "huge.ptx",
        format!("{header}.global .b8 x[99999999999];\n.visible .entry k() {{ .reg .b64 %a; mov.u64 %a, x; ret; }}")
            .as_bytes(),
    );
    run("huge.ptx").refused("out of device memory");
    let mut on_gpu = program();
    on_gpu.args(["--device", "gpu", "check", "one.ptx"]);
    Run::of(on_gpu.current_dir(folder.path())).refused("checks are made on the emulator");
}

#[test]
fn without_a_file_the_embedded_kernels_are_checked() {
    let run = |line: &str| Run::line(Path::new("."), line);
    run("check").refused("embedded:kernels.sm_80.ptx has several kernels: ");
    let arguments = "--block 64 --arg slice:u32[64]=iota --arg slice:u32[64]";
    let clean = run(&format!(
        "check --kernel reverse_direct_u32 {arguments} --schedules 2"
    ))
    .ends(0);
    assert!(
        clean.stdout.contains("reverse_direct_u32 in 3 schedules"),
        "{clean:?}"
    );
    run("check --kernel reverse_direct_u32").refused("takes ");
}

/// Counts that no launch can have, or that would take for ever, end at once and name their bound.
#[test]
fn absurd_counts_are_refused() {
    let folder = folder();
    let refused = |line: &str, why: &str| {
        let run = Run::line(folder.path(), line).ends(2);
        assert!(run.stderr.contains(why), "{line}: {run:?}");
        assert!(!run.stderr.contains("panicked"), "{line}: {run:?}");
    };
    let buffer = "--kernel share --arg";
    for (arguments, why) in [
        (
            "--kernel forever --grid 4294967295",
            "[2147483647, 65535, 65535]",
        ),
        ("--kernel forever --grid 4294967296", "no number of blocks"),
        (
            "--kernel forever --grid 2147483647,65535,65535",
            "the launch may take 100000000 instructions",
        ),
        (
            "--kernel forever --grid 100000001",
            "the launch may take 100000000 instructions",
        ),
        (
            "--kernel forever --grid 1000 --block 1024 --steps 31999",
            "the grid has 32000 warps, and the launch may take 31999 instructions",
        ),
        (
            "--kernel forever --block 4294967295,4294967295,4294967295",
            "at most 1024",
        ),
        (
            "--kernel forever --shared 4294967295",
            "over the limit of 232448",
        ),
        ("--kernel forever --schedules 65537", "0..=65536"),
        ("--kernel forever --schedules 4294967296", "0..=65536"),
        (
            "--kernel forever --steps 18446744073709551616",
            "18446744073709551615 is the largest",
        ),
        (
            "--kernel forever --race-memory 4294967296",
            "0..=4294967295",
        ),
    ] {
        refused(&format!("check k.ptx {arguments}"), why);
    }
    for length in [
        "999999999999",
        "4611686018427387904",
        "18446744073709551615",
    ] {
        for argument in [
            format!("i32[{length}]"),
            format!("u8[{length}]=zeros"),
            format!("slice:f64[{length}]=iota"),
            format!("tex1d:f32[{length}]=random:1"),
            format!("surf2d:u8x4[{length},{length}]=zeros"),
        ] {
            let run = Run::of(
                program()
                    .current_dir(folder.path())
                    .args(["check", "k.ptx", "--kernel", "scale", "--arg", &argument])
                    .args(["--arg", "slice:f32[4]", "--arg", "f32:1"]),
            );
            assert_eq!(run.code, Some(2), "{argument}: {run:?}");
            assert!(!run.stderr.contains("panicked"), "{argument}: {run:?}");
        }
    }
    refused(
        &format!("check k.ptx {buffer} i32[99999999999999999999]"),
        "is no length",
    );
    for (line, why) in [
        (
            "scale sum --sizes 18446744073709551615",
            "up to 281474976710656",
        ),
        (
            "scale matmul --sizes 2^63,2^63,2^63",
            "up to 281474976710656",
        ),
        (
            "scale matmul --sizes 2^40,2^40,2^40 --gpus 8",
            "281474976710656 elements at most",
        ),
        (
            "scale conv --sizes 2^48,2^48",
            "281474976710656 elements at most",
        ),
        (
            "scale transpose --sizes 2^30,2^30",
            "281474976710656 elements at most",
        ),
        ("scale sum --sizes 8 --gpus 99999999999", "from 1 to 4096"),
        (
            "scale sum --sizes 8 --gpus-per-host 99999999999",
            "from 1 to 4096",
        ),
        (
            "profile transpose --rows 4294967295 --cols 4294967295",
            "134217728 elements",
        ),
        (
            "profile sum --len 18446744073709551615",
            "134217728 elements",
        ),
        ("bench --sweep 4000000000", "1..=100000"),
    ] {
        refused(line, why);
    }
}

/// What `--help` begins with, on a kernel with those parameters.
#[test]
fn the_examples_of_the_help_run() {
    let folder = tempfile::tempdir().unwrap();
    let ptx = "
.version 7.0
.target sm_80
.address_size 64
.visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 len_x, .param .u64 y, .param .u64 len_y)
{
    ret;
}
";
    fs::write(folder.path().join("kernels.ptx"), ptx).unwrap();
    for command in ["check", "profile ptx", "trace ptx"] {
        let help = Run::line(folder.path(), &format!("{command} --help")).ends(0);
        let example = help.stdout.lines().next().unwrap_or_default();
        let line = example
            .strip_prefix("Example: blockwise ")
            .expect("an example");
        Run::line(folder.path(), line).ends(0);
    }
}
