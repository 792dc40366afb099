//! Matrices of a warp and asynchronous copies: 9.7.14 and 9.7.9.25.

use super::case::Case;
use super::rule::{Error, Rule};
use super::values::{Source, Ty, Values};
use crate::data::random_bits;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for count in [1, 2, 4] {
        for transposed in ["", ".trans"] {
            for space in [".shared", ".shared::cta", ""] {
                cases.push(load(count, transposed, space));
            }
        }
    }
    cases.extend(products());
    cases.extend(copies());
    cases
}

/// Rows of 16 bytes in shared memory, in an order of their own.
fn load(count: usize, transposed: &str, space: &str) -> Case {
    let form = format!("ldmatrix.sync.aligned.m8n8.x{count}{transposed}{space}.b16");
    let registers: Vec<String> = (0..count).map(|index| format!("%d{index}")).collect();
    let at = if space.is_empty() { "%l1" } else { "%r2" };
    let body = format!(
        ".shared .align 16 .b8 rows[512]; mov.u32 %r1, rows; mad.lo.u32 %r2, %thread, 16, %r1; st.shared.v2.b64 [%r2], {{%a0, %a1}}; \
         bar.warp.sync -1; mad.lo.u32 %r2, %thread, 5, 3; and.b32 %r2, %r2, 31; mad.lo.u32 %r2, %r2, 16, %r1; \
         cvt.u64.u32 %l1, %r2; cvta.shared.u64 %l1, %l1; {form} {{{}}}, [{at}];",
        registers.join(", ")
    );
    Case::with_body(
        &form,
        &body,
        &vec!["b32"; count],
        &["b64".into(), "b64".into()],
    )
    .threads(32)
}

fn products() -> Vec<Case> {
    const MMA: &str = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 \
                       {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%a4, %a5}, {%a6, %a7, %a8, %a9};";
    let list = |seed: u64, value: fn(u64) -> f32| -> Source {
        let mut random = random_bits(seed);
        let values = (0..97)
            .map(|_| u64::from(value(random()).to_bits()))
            .collect();
        ("f32", Values::List(values)).into()
    };
    let new = |name: &str, value: fn(u64) -> f32| {
        let sources: Vec<Source> = (0..10).map(|operand| list(operand + 1, value)).collect();
        let results: [Ty; 4] = ["f32"; 4];
        Case::with_body(&format!("mma.{name}"), MMA, &results, &sources).threads(32)
    };
    vec![
        // Sums of small integers are exact in every order.
        new("integers", |bits| (bits % 17) as f32 - 8.0),
        // Some infinities and NaN among them.
        new("specials", |bits| match bits % 97 {
            0 => f32::INFINITY,
            1 => f32::NEG_INFINITY,
            2 => f32::NAN,
            _ => (bits % 5) as f32 - 2.0,
        }),
        // Ten bits of fraction: operands fit tf32. The order of the sum and its rounding are left
        // open (9.7.14.5): eight products of at most 16 may lose 2 units of the last place of 128
        // each.
        new("fractions", |bits| (bits % 4096) as f32 / 512.0 - 4.0).rule(Rule::Near {
            ty: "f32",
            error: Error::Absolute(-12.0),
            section: "9.7.14.5",
        }),
    ]
}

fn copies() -> Vec<Case> {
    let mut cases = Vec::new();
    let own = ".shared .align 16 .b8 slots[1024]; mov.u32 %r1, slots; mad.lo.u32 %r1, %thread, 16, %r1; \
               mov.b64 %l1, -1; st.shared.v2.b64 [%r1], {%l1, %l1};";
    let read = "ld.shared.v2.b64 {%d0, %d1}, [%r1];";
    let mut forms = vec![
        ("cp.async.ca.shared.global".to_owned(), 4),
        ("cp.async.ca.shared.global".to_owned(), 16),
    ];
    for space in [".shared", ".shared::cta"] {
        for hint in ["", ".L2::64B", ".L2::128B", ".L2::256B"] {
            forms.push((format!("cp.async.ca{space}.global{hint}"), 8));
            forms.push((format!("cp.async.cg{space}.global{hint}"), 16));
        }
    }
    for (form, size) in forms {
        for (wait, name) in [
            ("cp.async.commit_group; cp.async.wait_group 0;", "group"),
            ("cp.async.wait_all;", "all"),
        ] {
            let body = format!("{own} {form} [%r1], [%in], {size}; {wait} {read}");
            let name = format!("{form}.{size}.{name}");
            cases.push(
                Case::with_body(&name, &body, &["b64", "b64"], &["b64".into(), "b64".into()])
                    .threads(64),
            );
        }
        for part in [0, 1, size / 2, size - 1, size] {
            let body =
                format!("{own} {form} [%r1], [%in], {size}, {part}; cp.async.wait_all; {read}");
            let name = format!("{form}.{size}.of.{part}");
            cases.push(
                Case::with_body(&name, &body, &["b64", "b64"], &["b64".into(), "b64".into()])
                    .threads(64),
            );
        }
    }
    // Two groups, the first of them complete, then both.
    let body = format!(
        "{own} cp.async.ca.shared.global [%r1], [%in], 8; cp.async.commit_group; \
         cp.async.ca.shared.global [%r1+8], [%in+8], 8; cp.async.commit_group; cp.async.wait_group 1; ld.shared.b64 %d0, [%r1]; \
         cp.async.wait_group 0; ld.shared.b64 %d1, [%r1+8];"
    );
    cases.push(
        Case::with_body(
            "cp.async.groups",
            &body,
            &["b64", "b64"],
            &["b64".into(), "b64".into()],
        )
        .threads(64),
    );
    cases
}
