//! Loads, stores, moves and addresses: 9.7.9.

use super::case::Case;
use super::values::{Source, Ty, Values, size};

/// PTX loads and stores `f16` as `b16`.
const TYPES: [Ty; 14] = [
    "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64",
];

/// 16 bytes of shared memory for each thread, their address in `%r1`, and its generic address in
/// `%l1`.
const SHARED: &str = ".shared .align 16 .b8 slots[6144];
	mov.u32 %r1, slots;
	mad.lo.u32 %r1, %thread, 16, %r1;
	cvt.u64.u32 %l1, %r1;
	cvta.shared.u64 %l1, %l1;
	";
/// 32 bytes of local memory, their address in `%r1` and `%l1`.
const LOCAL: &str = ".local .align 16 .b8 slots[32];
	mov.u64 %l1, slots;
	cvt.u32.u64 %r1, %l1;
	cvta.local.u64 %l1, %l1;
	";

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for ty in TYPES {
        let float = ty.contains('f');
        for register in ["b16", "b32", "b64"] {
            if size(register) >= size(ty) && (!float || size(register) == size(ty)) {
                cases.push(load(&format!("ld.global.{ty}"), register));
                cases.push(store(&format!("st.global.{ty}"), register));
            }
        }
        for (space, memory) in [
            (".shared", SHARED),
            (".local", LOCAL),
            ("", SHARED),
            ("", LOCAL),
        ] {
            cases.push(round_trip(space, memory, ty));
        }
        for (count, bytes) in [(2, 2 * size(ty)), (4, 4 * size(ty))] {
            if bytes <= 16 {
                cases.push(vector(count, ty));
            }
        }
    }
    for modifiers in LOADS {
        cases.push(load(&format!("ld{modifiers}.b32"), "b32"));
        cases.push(load(&format!("ld{modifiers}.u64"), "b64"));
    }
    for modifiers in STORES {
        cases.push(store(&format!("st{modifiers}.b32"), "b32"));
        cases.push(store(&format!("st{modifiers}.u64"), "b64"));
    }
    for modifiers in [
        ".volatile.shared",
        ".relaxed.cta.shared",
        ".acquire.cta.shared::cta",
        ".weak.shared",
    ] {
        let store = modifiers.replace("acquire", "release");
        let body = format!("{SHARED}st{store}.b32 [%r1], %a0; ld{modifiers}.b32 %d0, [%r1];");
        let name = format!("ld.st{modifiers}");
        cases.push(Case::with_body(&name, &body, &["b32"], &["b32".into()]).threads(96));
    }
    cases.extend(variables());
    cases.extend(moves());
    cases.extend(addresses());
    cases
}

const LOADS: &[&str] = &[
    "",
    ".weak",
    ".volatile",
    ".volatile.global",
    ".relaxed.cta",
    ".relaxed.gpu.global",
    ".relaxed.sys.global",
    ".acquire.cta.global",
    ".acquire.gpu.global",
    ".acquire.sys",
    ".global.nc",
    ".global.ca",
    ".global.cg",
    ".global.cs",
    ".global.lu",
    ".global.cv",
    ".weak.global.ca",
    ".global.L1::evict_last",
    ".global.L1::evict_normal",
    ".global.L1::evict_unchanged",
    ".global.L1::evict_first",
    ".global.L2::64B",
    ".global.L2::256B",
    ".global.L1::no_allocate",
    ".global.L2::128B",
    ".global.nc.L1::no_allocate.L2::256B",
    ".relaxed.cluster.global",
];
const STORES: &[&str] = &[
    "",
    ".weak",
    ".volatile",
    ".volatile.global",
    ".relaxed.cta",
    ".relaxed.gpu.global",
    ".relaxed.sys.global",
    ".release.cta.global",
    ".release.gpu.global",
    ".release.sys",
    ".global.wb",
    ".global.cg",
    ".global.cs",
    ".global.wt",
    ".global.L1::evict_first",
    ".global.L1::evict_normal",
    ".global.L1::evict_unchanged",
    ".global.L1::evict_last",
    ".global.L1::no_allocate",
    ".relaxed.cluster.global",
];

/// Loads part of the thread's eight bytes of input.
fn load(form: &str, register: Ty) -> Case {
    let body = format!("{form} %d0, [%in];");
    let name = format!("{form}.{register}");
    Case::with_body(&name, &body, &[register], &["b64".into()]).threads(96)
}

/// Stores into eight bytes of 0xff and reads them all.
fn store(form: &str, register: Ty) -> Case {
    let body = format!("{form} [%out], %a0; ld.global.b64 %d0, [%out];");
    let name = format!("{form}.{register}");
    Case::with_body(&name, &body, &["b64"], &[register.into()]).threads(96)
}

fn round_trip(space: &str, memory: &str, ty: Ty) -> Case {
    let register = if size(ty) == 1 { "b16" } else { ty };
    let at = if space.is_empty() { "%l1" } else { "%r1" };
    let owner = if memory == LOCAL { "local" } else { "shared" };
    let body = format!("{memory}st{space}.{ty} [{at}+8], %a0; ld{space}.{ty} %d0, [{at}+8];");
    Case::with_body(
        &format!("ld.st{space}.to.{owner}.{ty}"),
        &body,
        &[register],
        &[register.into()],
    )
    .threads(96)
}

/// Through shared memory as a vector, elements exchanged, to global memory as a vector.
fn vector(count: usize, ty: Ty) -> Case {
    let register = if size(ty) == 1 { "b16" } else { ty };
    let list = |prefix: &str, order: &[usize]| {
        let names: Vec<String> = order
            .iter()
            .map(|index| format!("{prefix}{index}"))
            .collect();
        format!("{{{}}}", names.join(", "))
    };
    let (forward, swapped): (&[usize], &[usize]) = match count {
        2 => (&[0, 1], &[1, 0]),
        _ => (&[0, 1, 2, 3], &[2, 0, 3, 1]),
    };
    let body = format!(
        "{SHARED}st.shared.v{count}.{ty} [%r1], {}; ld.shared.v{count}.{ty} {}, [%r1]; \
         ld.global.v{count}.{ty} {}, [%in]; ld.v{count}.{ty} {}, [%l1]; st.global.v{count}.{ty} [%out], {};",
        list("%a", forward),
        list("%d", swapped),
        list("%a", forward),
        list("%d", swapped),
        list("%d", forward),
    );
    let sources: Vec<Source> = vec![register.into(); count];
    Case::with_body(
        &format!("ld.st.v{count}.{ty}"),
        &body,
        &vec![register; count],
        &sources,
    )
    .threads(96)
}

/// Variables of a module, with values and without.
fn variables() -> Vec<Case> {
    let index = || Source::from(("u32", Values::Below(8)));
    let mut cases = Vec::new();
    for space in ["const", "global"] {
        let globals = format!(".{space} .align 8 .b32 table[8] = {{1, -2, 0x7fffffff, 3, 5, 6}};");
        let body = format!(
            "mov.u64 %l1, table; mad.wide.u32 %l1, %a0, 4, %l1; ld.{space}.u32 %d0, [%l1];"
        );
        let case = Case::with_body(&format!("ld.{space}.table"), &body, &["b32"], &[index()]);
        cases.push(case.globals(&globals).threads(64));
        let body = format!(
            "mov.u64 %l1, table; cvta.{space}.u64 %l1, %l1; mad.wide.u32 %l1, %a0, 4, %l1; ld.u32 %d0, [%l1]; \
             ld.{space}.v2.u32 {{%r1, %r2}}, [table+8]; add.u32 %d0, %d0, %r1; sub.u32 %d0, %d0, %r2;"
        );
        let case = Case::with_body(&format!("ld.{space}.generic"), &body, &["b32"], &[index()]);
        cases.push(case.globals(&globals).threads(64));
        let body = format!(
            "mov.u64 %l1, table; cvta.{space}.u64 %l2, %l1; cvta.to.{space}.u64 %l3, %l2; mad.wide.u32 %l3, %a0, 4, %l3; \
             ld.{space}.u32 %d0, [%l3];"
        );
        let case = Case::with_body(
            &format!("cvta.to.{space}.table"),
            &body,
            &["b32"],
            &[index()],
        );
        cases.push(case.globals(&globals).threads(64));
    }
    let bytes = ".global .align 4 .b8 text[12] = {72, 101, 108, 108, 111, 255};
.global .align 8 .f32 floats[4] = {0f3F800000, 0fC0000000, 1.5, 0f7FC00000};
.global .align 8 .u64 places[2] = {generic(text), text+4};";
    let body = "mov.u64 %l1, text; cvt.u64.u32 %l2, %a0; add.u64 %l1, %l1, %l2; ld.global.s8 %d0, [%l1]; \
                ld.global.v2.u64 {%l3, %l4}, [places]; ld.u8 %r1, [%l3+1]; ld.global.u8 %r2, [%l4]; \
                mad.lo.u32 %d0, %r1, 1000, %d0; mad.lo.u32 %d0, %r2, 100000, %d0; \
                and.b32 %r3, %a0, 3; mov.u64 %l5, floats; mad.wide.u32 %l5, %r3, 4, %l5; ld.global.f32 %d1, [%l5];";
    let case = Case::with_body("initial.values", body, &["b32", "f32"], &[index()]);
    cases.push(case.globals(bytes).threads(32));
    cases
}

fn moves() -> Vec<Case> {
    let mut cases = Vec::new();
    for ty in TYPES.into_iter().filter(|ty| size(ty) > 1) {
        cases.push(Case::new(&format!("mov.{ty}"), ty, &[ty.into()]).threads(96));
    }
    cases.push(Case::new("mov.pred", "pred", &["pred".into()]).threads(32));
    for (name, body, results, sources) in [
        (
            "mov.b32.pack",
            "mov.b32 %d0, {%a1, %a0};",
            &["b32"][..],
            &["b16", "b16"][..],
        ),
        (
            "mov.b32.unpack",
            "mov.b32 {%d1, %d0}, %a0;",
            &["b16", "b16"],
            &["b32"],
        ),
        (
            "mov.b64.pack",
            "mov.b64 %d0, {%a1, %a0};",
            &["b64"],
            &["b32", "b32"],
        ),
        (
            "mov.b64.unpack",
            "mov.b64 {%d1, %d0}, %a0;",
            &["b32", "b32"],
            &["b64"],
        ),
        (
            "mov.b64.sink",
            "mov.b64 {_, %d0}, %a0; mov.b64 {%d1, _}, %a0;",
            &["b32", "b32"],
            &["b64"],
        ),
        (
            "mov.b64.quarters",
            "mov.b64 {%d3, %d2, %d1, %d0}, %a0;",
            &["b16", "b16", "b16", "b16"],
            &["b64"],
        ),
        (
            "mov.b64.join",
            "mov.b64 %d0, {%a3, %a2, %a1, %a0};",
            &["b64"],
            &["b16", "b16", "b16", "b16"],
        ),
        ("mov.b32.sink", "mov.b32 {_, %d0}, %a0;", &["b16"], &["b32"]),
    ] {
        let sources: Vec<Source> = sources.iter().map(|&ty| ty.into()).collect();
        cases.push(Case::with_body(name, body, results, &sources).threads(96));
    }
    for register in [
        "%tid.x",
        "%tid.y",
        "%tid.z",
        "%ntid.x",
        "%ntid.y",
        "%ctaid.x",
        "%ctaid.z",
        "%nctaid.x",
        "%nctaid.y",
        "%laneid",
        "%lanemask_eq",
        "%lanemask_lt",
        "%lanemask_le",
        "%lanemask_gt",
        "%lanemask_ge",
        "%dynamic_smem_size",
    ] {
        let body = format!("mov.u32 %d0, {register};");
        let name = format!("mov.{}", &register[1..]);
        cases.push(Case::with_body(&name, &body, &["b32"], &[]).threads(96));
    }
    cases
}

/// Which space a generic address lies in, and hints, which change nothing.
fn addresses() -> Vec<Case> {
    let mut cases = Vec::new();
    let globals = ".const .align 4 .b32 table[2] = {7, 8};";
    for space in [
        "global",
        "shared",
        "shared::cta",
        "local",
        "const",
        "param",
        "param::entry",
    ] {
        let body = format!(
            ".shared .align 8 .b8 shared_slots[16]; .local .align 8 .b8 local_slots[16];
	mov.u64 %l1, shared_slots; cvta.shared.u64 %l1, %l1;
	mov.u64 %l2, local_slots; cvta.local.u64 %l2, %l2;
	mov.u64 %l3, table; cvta.const.u64 %l3, %l3;
	isspacep.{space} %d0, %l1; isspacep.{space} %d1, %l2; isspacep.{space} %d2, %l3; isspacep.{space} %d3, %out;"
        );
        let case = Case::with_body(&format!("isspacep.{space}"), &body, &["pred"; 4], &[]);
        cases.push(case.globals(globals).threads(32));
    }
    for (space, memory) in [("shared", SHARED), ("local", LOCAL)] {
        let body = format!(
            "{memory}st.b64 [%l1], %a0; cvta.to.{space}.u64 %l2, %l1; ld.{space}.b64 %d0, [%l2];"
        );
        cases.push(
            Case::with_body(
                &format!("cvta.to.{space}"),
                &body,
                &["b64"],
                &["b64".into()],
            )
            .threads(96),
        );
    }
    // The thread's distance from the first one's operand, by way of the kernel's parameter.
    let body = "mov.b64 %l1, input; cvta.param.u64 %l1, %l1; ld.u64 %l2, [%l1]; sub.u64 %d0, %in, %l2; \
                isspacep.param %d1, %l1; \
                cvta.to.param.u64 %l3, %l1; ld.param.u64 %l3, [%l3]; sub.u64 %l3, %l3, %l2; add.u64 %d0, %d0, %l3;";
    cases.push(Case::with_body("cvta.param", body, &["b64", "pred"], &["b64".into()]).threads(96));
    let body = "cvta.to.global.u64 %l1, %in; ld.global.b64 %d0, [%l1]; cvta.global.u64 %l2, %l1; ld.b64 %d1, [%l2];";
    cases.push(
        Case::with_body("cvta.to.global", body, &["b64", "b64"], &["b64".into()]).threads(96),
    );
    let body = "mov.u32 %r1, slots; st.local.b32 [%r1+8], %a0; ld.local.b32 %d0, [slots+8];";
    let body = format!(".local .align 8 .b8 slots[16]; {body}");
    cases.push(Case::with_body("mov.u32.local", &body, &["b32"], &["b32".into()]).threads(32));
    let body = ".local .align 8 .b8 slots[16]; mov.u64 %l1, slots; st.local.u64 [%l1], %a0; prefetch.global.L1 [%in]; prefetch.global.L2 [%in]; prefetch.L1 [%in]; prefetchu.L1 [%in]; \
                setp.eq.u32 %p1, %thread, 4096; @%p1 discard.global.L2 [%in], 128; \
                @%p1 applypriority.global.L2::evict_normal [%in], 128; prefetch.global.L2::evict_last [%in]; \
                ldu.global.b32 %d0, [%in]; ldu.b32 %r1, [%in]; xor.b32 %d0, %d0, %r1; \
                prefetch.local.L1 [%l1]; prefetch.local.L2 [%l1]; prefetch.L2 [%in]; prefetch.global.L2::evict_normal [%in]; \
                @%p1 discard.L2 [%in], 128; @%p1 applypriority.L2::evict_normal [%in], 128;";
    cases.push(Case::with_body("hints", body, &["b32"], &["b64".into()]).threads(32));
    cases
}
