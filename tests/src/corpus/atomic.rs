//! Atomics and fences: 9.7.13.

use super::case::Case;
use super::values::{Source, Ty};

const OPERATIONS: &[(&str, &[Ty])] = &[
    ("and", &["b32", "b64"]),
    ("or", &["b32", "b64"]),
    ("xor", &["b32", "b64"]),
    ("exch", &["b32", "b64"]),
    ("cas", &["b16", "b32", "b64"]),
    ("add", &["u32", "s32", "u64", "f32", "f64"]),
    ("add.noftz", &["f16", "f16x2", "bf16", "bf16x2"]),
    ("inc", &["u32"]),
    ("dec", &["u32"]),
    ("min", &["u32", "s32", "u64", "s64"]),
    ("max", &["u32", "s32", "u64", "s64"]),
];

const SHARED: &str = ".shared .align 8 .b8 slots[3072];
	mov.u32 %r1, slots;
	mad.lo.u32 %r1, %thread, 8, %r1;
	cvt.u64.u32 %l1, %r1;
	cvta.shared.u64 %l1, %l1;
	";

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &(operation, types) in OPERATIONS {
        for &ty in types {
            for (space, store, at) in [
                (".global", ".global", "%out"),
                ("", ".global", "%out"),
                (".shared", ".shared", "%r1"),
                ("", ".shared", "%l1"),
            ] {
                cases.push(own("atom", "", space, store, at, operation, ty));
                if !matches!(operation, "exch" | "cas") {
                    cases.push(own("red", "", space, store, at, operation, ty));
                }
            }
        }
    }
    for order in ["relaxed", "acquire", "release", "acq_rel"] {
        for scope in ["cta", "gpu", "sys"] {
            let modifiers = format!(".{order}.{scope}");
            cases.push(own(
                "atom", &modifiers, ".global", ".global", "%out", "add", "u32",
            ));
            cases.push(own(
                "atom", &modifiers, ".shared", ".shared", "%r1", "cas", "b32",
            ));
            if matches!(order, "relaxed" | "release") {
                cases.push(own(
                    "red", &modifiers, ".global", ".global", "%out", "add", "u32",
                ));
            }
        }
    }
    for scope in ["cta", "gpu", "sys"] {
        cases.push(own(
            "atom",
            &format!(".{scope}"),
            ".global",
            ".global",
            "%out",
            "max",
            "s32",
        ));
    }
    cases.extend(contended());
    cases.push(fences());
    cases
}

/// Each thread changes memory of its own: the old value (of `atom`) and the new one.
fn own(
    base: &str,
    modifiers: &str,
    space: &str,
    store: &str,
    at: &str,
    operation: &str,
    ty: Ty,
) -> Case {
    let memory = if store == ".shared" { SHARED } else { "" };
    let bits = match ty {
        "b16" | "f16" | "bf16" => "b16",
        "b64" | "u64" | "s64" | "f64" => "b64",
        _ => "b32",
    };
    // `atom` writes shared memory of its own; global memory is the place of the first result.
    let form = format!("{base}{modifiers}{space}.{operation}.{ty}");
    let (d, name) = match base {
        "atom" => ("%d0, ", format!("{form}{store}")),
        _ => ("", format!("{form}{store}")),
    };
    let other = if operation == "cas" { ", %a2" } else { "" };
    let mut body = format!(
        "{memory}st{store}.{bits} [{}], %a0; {form} {d}[{at}], %a1{other};",
        if store == ".shared" { "%r1" } else { "%out" }
    );
    let read = if store == ".shared" { "%r1" } else { "%out" };
    let mut sources: Vec<Source> = vec![ty.into(), ty.into()];
    if operation == "cas" {
        sources.push(ty.into());
    }
    if base == "atom" {
        body += &format!(" ld{store}.{bits} %d1, [{read}];");
        Case::with_body(&name, &body, &[ty, ty], &sources).threads(192)
    } else {
        body += &format!(" ld{store}.{bits} %d0, [{read}];");
        Case::with_body(&name, &body, &[ty], &sources).threads(192)
    }
}

/// All threads change one place; what is there at the end does not depend on their order.
fn contended() -> Vec<Case> {
    let mut cases = Vec::new();
    let operations = [
        ("add.u32", "b32"),
        ("add.u64", "b64"),
        ("min.s32", "b32"),
        ("max.u32", "b32"),
        ("and.b32", "b32"),
        ("or.b64", "b64"),
        ("xor.b32", "b32"),
        ("max.s64", "b64"),
        ("inc.u32", "b32"),
        ("dec.u32", "b32"),
    ];
    for (operation, ty) in operations {
        let value = if operation.starts_with("inc") || operation.starts_with("dec") {
            "100"
        } else {
            "%a0"
        };
        for (space, globals, declaration) in [
            (
                "global",
                format!(".global .align 8 .{ty} place;"),
                String::new(),
            ),
            (
                "shared",
                String::new(),
                format!(".shared .align 8 .{ty} place; st.shared.{ty} [place], 0; bar.sync 0; "),
            ),
        ] {
            let body = format!(
                "{declaration}red.{space}.{operation} [place], {value}; bar.sync 0; ld.volatile.{space}.{ty} %d0, [place];"
            );
            let name = format!("red.{space}.{operation}.contended");
            cases.push(
                Case::with_body(&name, &body, &[ty], &[ty.into()])
                    .globals(&globals)
                    .threads(96),
            );
        }
    }
    cases
}

fn fences() -> Case {
    let forms = [
        "membar.cta",
        "membar.gl",
        "membar.sys",
        "fence.sc.cta",
        "fence.sc.gpu",
        "fence.sc.sys",
        "fence.acq_rel.cta",
        "fence.acq_rel.gpu",
        "fence.acq_rel.sys",
        "fence.acq_rel.cluster",
    ];
    let body = format!(
        "st.global.b32 [%out], %a0; {}; ld.global.b32 %d0, [%out];",
        forms.join("; ")
    );
    Case::with_body("fences", &body, &["b32"], &["b32".into()]).threads(64)
}
