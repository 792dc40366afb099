//! One access by one warp: every width, many patterns of addresses and lanes.

use blockwise::Device;

use crate::Arguments;
use crate::bench::threads;
use crate::data::vector;

/// Elements of the memory that a probe accesses; the largest has 16 bytes.
const ELEMENTS: u32 = 1024;

/// What one lane accesses: its name, its type in PTX, how many registers, their type, and its
/// bytes.
const FORMS: [(&str, &str, usize, &str, u32); 4] = [
    ("2", "u16", 1, "b16", 2),
    ("4", "u32", 1, "b32", 4),
    ("8", "u64", 1, "b64", 8),
    ("16", "v4.u32", 4, "b32", 16),
];

const OPERATIONS: [&str; 2] = ["load", "store"];
const ATOMICS: [&str; 2] = ["atom", "red"];

/// Which element each lane accesses, and which lanes do.
struct Pattern {
    name: String,
    elements: [u32; 32],
    lanes: u32,
}

pub(super) fn run(device: &Device, space: &str, mut launched: impl FnMut(&str)) {
    // SAFETY: nothing is launched through a typed handle, which would believe the text's
    // signatures.
    let module = unsafe { device.load_ptx(&text(space), "the probes") }.expect("good PTX");
    let mut buffer = device
        .upload(&vec![1_u32; 4 * ELEMENTS as usize])
        .expect("memory");
    let mut out = device.zeros::<u32>(32).expect("memory");
    let probes = OPERATIONS
        .iter()
        .flat_map(|operation| FORMS.map(|form| (*operation, form.0, form.4)));
    for (operation, form, bytes) in probes.chain(ATOMICS.map(|operation| (operation, "4", 4))) {
        for pattern in patterns() {
            let offsets = pattern.elements.map(|element| element * bytes);
            let offsets = device.upload(&offsets).expect("memory");
            let kernel = format!("{space}_{operation}_{form}");
            let arguments = Arguments::new()
                .slice(&offsets)
                .value(pattern.lanes)
                .pointer(&mut buffer)
                .pointer(&mut out);
            // SAFETY: these are the parameters of the probes; every offset is below the buffer's
            // size.
            unsafe { arguments.launch(&module, &kernel, threads(32)) }.expect("a good launch");
            device.synchronize().expect("a good launch");
            launched(&format!("{operation} {form} {}", pattern.name));
        }
    }
}

fn patterns() -> Vec<Pattern> {
    let all = u32::MAX;
    let mut patterns = Vec::new();
    let mut add = |name: &str, lanes: u32, element: &dyn Fn(u32) -> u32| {
        let elements = std::array::from_fn(|lane| element(lane as u32) % ELEMENTS);
        patterns.push(Pattern {
            name: name.to_owned(),
            elements,
            lanes,
        });
    };
    for stride in [1, 2, 3, 4, 8, 16, 32, 33] {
        add(&format!("stride {stride}"), all, &|lane| stride * lane);
    }
    add("backwards", all, &|lane| 31 - lane);
    add("one", all, &|_| 5);
    add("pairs", all, &|lane| lane / 2);
    add("fours", all, &|lane| lane / 4);
    add("pairs apart", all, &|lane| lane / 2 * 32);
    add("modulo 2", all, &|lane| lane % 2 * 32);
    add("modulo 8", all, &|lane| lane % 8);
    add("modulo 16", all, &|lane| lane % 16);
    add("two halves", all, &|lane| lane % 16 + lane / 16 * 512);
    add("between sectors", all, &|lane| lane + 1);
    add("swapped", all, &|lane| lane ^ 1);
    add("swapped fours", all, &|lane| lane ^ 4);
    add("one lane", 1 << 13, &|lane| lane);
    add("even lanes", 0x5555_5555, &|lane| lane);
    add("lower half", 0x0000_ffff, &|lane| lane);
    add("lower half by 16", 0x0000_ffff, &|lane| 16 * lane);
    add("even lanes packed", 0x5555_5555, &|lane| lane / 2);
    add("one of four packed", 0x1111_1111, &|lane| lane / 4);
    add("two of four packed", 0x3333_3333, &|lane| {
        lane / 4 * 2 + lane % 2
    });
    add("seven of eight", 0x7f7f_7f7f, &|lane| lane / 2);
    add("mixed pairs", all, &|lane| match lane {
        0..16 => lane / 2,
        _ => lane / 4 * 2 + lane % 2,
    });
    add("pairs but one", all, &|lane| {
        if lane == 9 { 40 } else { lane / 2 }
    });
    add("last lanes", 0xfc00_0000, &|lane| 8 * lane);
    for (seed, range, lanes) in [
        (1, 32, all),
        (2, 64, all),
        (3, 256, all),
        (4, ELEMENTS, all),
        (5, ELEMENTS, all),
        (6, 128, 0x0ff0_1357),
        (7, ELEMENTS, 0x8001_ff01),
    ] {
        let random = vector::<u64>(seed, 32);
        add(&format!("random {seed}"), lanes, &|lane| {
            (random[lane as usize] % u64::from(range)) as u32
        });
    }
    patterns
}

/// The module of one space's probes.
fn text(space: &str) -> String {
    let mut text = ".version 7.0\n.target sm_80\n.address_size 64\n".to_owned();
    for (name, ty, count, register, _) in FORMS {
        let names: Vec<String> = (0..count).map(|index| format!("%v{index}")).collect();
        let vector = match count {
            1 => names[0].clone(),
            _ => format!("{{{}}}", names.join(", ")),
        };
        // A result that depends on all that was loaded.
        let widen = match register {
            "b16" => "cvt.u32.u16 %result, %v0;".to_owned(),
            "b64" => "cvt.u32.u64 %result, %v0; shr.u64 %v0, %v0, 32; cvt.u32.u64 %other, %v0; xor.b32 %result, %result, %other;".to_owned(),
            _ => names.iter().map(|name| format!("xor.b32 %result, %result, {name}; ")).collect(),
        };
        let clear: String = names
            .iter()
            .map(|name| format!("mov.{register} {name}, 0; "))
            .collect();
        let fill = match register {
            "b16" => "cvt.u16.u32 %v0, %t;".to_owned(),
            "b64" => "cvt.u64.u32 %v0, %t;".to_owned(),
            _ => names
                .iter()
                .map(|name| format!("mov.b32 {name}, %t; "))
                .collect(),
        };
        let registers = format!(".reg .{register} %v<4>;");
        text += &kernel(
            space,
            "load",
            name,
            &format!("{registers} {clear}"),
            &format!("ld.{space}.{ty} {vector}, [%address];"),
            &widen,
        );
        text += &kernel(
            space,
            "store",
            name,
            &format!("{registers} {fill}"),
            &format!("st.{space}.{ty} [%address], {vector};"),
            READ_BACK[usize::from(space == "shared")],
        );
    }
    text += &kernel(
        space,
        "atom",
        "4",
        "",
        &format!("atom.{space}.add.u32 %result, [%address], %t;"),
        "",
    );
    text += &kernel(
        space,
        "red",
        "4",
        "",
        &format!("red.{space}.add.u32 [%address], %t;"),
        READ_BACK[usize::from(space == "shared")],
    );
    text
}

/// Stores to shared memory that is never read would be removed, so all lanes read one word after a
/// barrier.
const READ_BACK: [&str; 2] = ["", "bar.sync 0; ld.shared.u32 %result, [tile];"];

/// A kernel of one instruction that the lanes of a mask execute, each at its offset.
fn kernel(
    space: &str,
    operation: &str,
    form: &str,
    before: &str,
    instruction: &str,
    after: &str,
) -> String {
    let base = match space {
        "shared" => "mov.u64 %address, tile;",
        _ => "ld.param.u64 %address, [buffer];",
    };
    format!(
        ".visible .entry {space}_{operation}_{form}(.param .u64 offsets, .param .u64 count, .param .u32 lanes, .param .u64 buffer, .param .u64 out)
{{
    .reg .b64 %at, %address, %offset; .reg .b32 %t, %lanes, %bit, %own, %result, %other; .reg .pred %p;
    .shared .align 16 .b8 tile[{tile}];
    mov.u32 %t, %tid.x;
    ld.param.u64 %at, [offsets];
    mad.wide.u32 %at, %t, 4, %at;
    ld.global.u32 %own, [%at];
    cvt.u64.u32 %offset, %own;
    {base}
    add.u64 %address, %address, %offset;
    ld.param.u32 %lanes, [lanes];
    shr.u32 %bit, %lanes, %t;
    and.b32 %bit, %bit, 1;
    setp.ne.u32 %p, %bit, 0;
    mov.u32 %result, 0;
    {before}
    @%p {instruction}
    {after}
    ld.param.u64 %at, [out];
    mad.wide.u32 %at, %t, 4, %at;
    st.global.u32 [%at], %result;
    ret;
}}
",
        tile = 16 * ELEMENTS
    )
}
