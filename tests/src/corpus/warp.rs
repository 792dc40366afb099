//! Shuffles, votes, matches, reductions: 9.7.9.6 and 9.7.13.

use super::case::Case;
use super::values::{Source, Ty, Values};

/// Four warps.
const THREADS: u32 = 128;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = shuffles();
    cases.extend(votes());
    cases.extend(matches());
    cases.extend(reductions());
    cases
}

/// Segments of all sizes, and masks and clamps that no compiler would write.
fn shuffles() -> Vec<Case> {
    let mut cases = Vec::new();
    let usual = [0x1f_u32, 0x1c1f, 0x181f, 0x101f, 0x1e1f, 0x1f1f];
    let usual_up = [0, 0x1c00, 0x1800, 0x1000, 0x1e00, 0x1f00];
    let odd = [
        0x0f10,
        0x150a,
        0x0003,
        0x0a05,
        0x1807,
        0x0111,
        0x1b04,
        0x7f,
        0xffff_ffff,
    ];
    for (mode, usual) in [
        ("up", usual_up),
        ("down", usual),
        ("bfly", usual),
        ("idx", usual),
    ] {
        for c in usual.into_iter().chain(odd) {
            let form = format!("shfl.sync.{mode}.b32");
            let body = format!("{form} %d0|%d1, %a0, %a1, {c:#x}, -1;");
            let lanes: Source = ("b32", Values::Below(64)).into();
            let name = format!("{form}.{c:x}");
            cases.push(
                Case::with_body(&name, &body, &["b32", "pred"], &["b32".into(), lanes])
                    .threads(THREADS),
            );
        }
        let body = format!("shfl.sync.{mode}.b32 %d0, %a0, 3, %a1, 0xffffffff;");
        let c: Source = ("b32", Values::Below(0x2000)).into();
        cases.push(
            Case::with_body(
                &format!("shfl.sync.{mode}.c"),
                &body,
                &["b32"],
                &["b32".into(), c],
            )
            .threads(THREADS),
        );
    }
    // The halves of a warp apart.
    let body = "mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 16; \
                @%p1 shfl.sync.idx.b32 %d0|%d1, %a0, 3, 31, 0xffff; \
                @!%p1 shfl.sync.idx.b32 %d0|%d1, %a0, 20, 31, 0xffff0000; bar.warp.sync -1;";
    cases.push(
        Case::with_body("shfl.sync.halves", body, &["b32", "pred"], &["b32".into()])
            .threads(THREADS),
    );
    cases
}

/// For each thread: in the first warp all, in the second none, in the third one, in the fourth
/// some.
fn predicates() -> Source {
    let bit = |thread: u64| match thread / 32 {
        0 => 1,
        1 => 0,
        2 => u64::from(thread % 32 == 19),
        _ => thread * 5 / 3 % 2,
    };
    (
        "pred",
        Values::List((0..u64::from(THREADS)).map(bit).collect()),
    )
        .into()
}

fn votes() -> Vec<Case> {
    let mut cases = Vec::new();
    for (kind, ty) in [
        ("all.pred", "pred"),
        ("any.pred", "pred"),
        ("uni.pred", "pred"),
        ("ballot.b32", "b32"),
    ] {
        let form = format!("vote.sync.{kind}");
        for predicate in ["%a0", "!%a0"] {
            let body = format!("{form} %d0, {predicate}, -1;");
            cases.push(Case::with_body(&form, &body, &[ty], &[predicates()]).threads(THREADS));
        }
        let body = format!(
            "mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 13; @%p1 {form} %d0, %a0, 0x1fff; @!%p1 {form} %d0, %a0, 0xffffe000;"
        );
        cases.push(
            Case::with_body(&format!("{form}.parts"), &body, &[ty], &[predicates()])
                .threads(THREADS),
        );
    }
    let body = "mov.u32 %r1, %laneid; mov.u32 %d0, 0; setp.lt.u32 %p1, %r1, 5; @!%p1 bra $rest; activemask.b32 %d0; $rest: bar.warp.sync -1;";
    cases.push(Case::with_body("activemask", body, &["b32"], &[]).threads(THREADS));
    let body = "mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 11; mov.u32 %d0, 77; setp.ne.u32 %d1, %r1, %r1; \
                @!%p1 elect.sync %d0|%d1, 0xfffff800; bar.warp.sync -1; @%p1 elect.sync %d0|%d1, 0x7ff;";
    cases.push(Case::with_body("elect.sync", body, &["b32", "pred"], &[]).threads(THREADS));
    cases
}

fn matches() -> Vec<Case> {
    let mut cases = Vec::new();
    for ty in ["b32", "b64"] {
        let wide = |value: u64| if ty == "b64" { value << 32 | 5 } else { value };
        let values = (0..u64::from(THREADS)).map(|thread| match thread / 32 {
            0 => wide(7),
            1 => wide(thread % 3),
            2 => wide(thread),
            _ => wide(thread * thread % 5),
        });
        let values: Source = (ty, Values::List(values.collect())).into();
        let new = |name: &str, body: &str, results: &[Ty]| {
            Case::with_body(
                name,
                &body.replace("TY", ty),
                results,
                std::slice::from_ref(&values),
            )
            .threads(THREADS)
        };
        cases.push(new(
            &format!("match.any.sync.{ty}"),
            "match.any.sync.TY %d0, %a0, -1;",
            &["b32"],
        ));
        cases.push(new(
            &format!("match.all.sync.{ty}"),
            "match.all.sync.TY %d0|%d1, %a0, -1;",
            &["b32", "pred"],
        ));
        cases.push(new(
            &format!("match.all.sync.{ty}.mask"),
            "match.all.sync.TY %d0, %a0, -1;",
            &["b32"],
        ));
        let parts = "mov.u32 %r1, %laneid; and.b32 %r1, %r1, 1; setp.eq.u32 %p1, %r1, 0; \
                     @%p1 match.any.sync.TY %d0, %a0, 0x55555555; @!%p1 match.any.sync.TY %d0, %a0, 0xaaaaaaaa;";
        cases.push(new(&format!("match.any.sync.{ty}.parts"), parts, &["b32"]));
    }
    cases
}

fn reductions() -> Vec<Case> {
    let mut cases = Vec::new();
    for (operation, ty) in [
        ("add", "u32"),
        ("add", "s32"),
        ("min", "u32"),
        ("min", "s32"),
        ("max", "u32"),
        ("max", "s32"),
        ("and", "b32"),
        ("or", "b32"),
        ("xor", "b32"),
    ] {
        let form = format!("redux.sync.{operation}.{ty}");
        let body = format!("{form} %d0, %a0, -1;");
        cases.push(Case::with_body(&form, &body, &[ty], &[ty.into()]).threads(THREADS));
        let body = format!(
            "mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 7; @%p1 {form} %d0, %a0, 0x7f; @!%p1 {form} %d0, %a0, 0xffffff80;"
        );
        cases.push(
            Case::with_body(&format!("{form}.parts"), &body, &[ty], &[ty.into()]).threads(THREADS),
        );
    }
    cases
}
