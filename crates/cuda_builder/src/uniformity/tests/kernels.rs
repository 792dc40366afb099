//! Which kernels of a module are checked, and what is reported of each.

use super::*;

/// The reports of a module, and how often it was optimised.
fn suspects(text: &str) -> (Reports, usize) {
    let mut optimised = 0;
    let suspects = all_suspects(text);
    let reports = suspects.check(|copy, _, _| {
        optimised += 1;
        Ok(copy.to_owned())
    });
    (reports.unwrap(), optimised)
}

/// A kernel of which only some threads wait.
const PARTS: &str = "  br i1 %some, label %then, label %end, !dbg !3\nthen:\n  BARRIER, !dbg !4\n  \
                     BARRIER, !dbg !4\n  br label %end\nend:\n  ret void\n";

const SAFE: &str = "ptr %out) \"cuda_std.uniform\"=\"error\" {";
const ALLOWED: &str = "ptr %out) \"cuda_std.uniform\"=\"allow\" {";

#[test]
fn only_kernels_that_wait_are_analysed() {
    let (reports, optimised) = suspects(&module_text("  ret void\n", ""));
    assert_eq!((reports, optimised), (Reports::default(), 0));
    let allowed = module_text(PARTS, "").replace("ptr %out) {", ALLOWED);
    assert!(allowed.contains(ALLOWED));
    assert_eq!(suspects(&allowed), (Reports::default(), 0));
}

#[test]
fn each_kernel_has_its_own_rule_and_one_report_a_place() {
    let other = module_text(PARTS, "");
    let (other, _) = other.split_once("@tile").unwrap();
    let other = other.replace("@k(", "@other(").replace("ptr %out) {", SAFE);
    let (reports, _) = suspects(&module_text(PARTS, &other));
    let (errors, warnings) = (&reports.errors[..], &reports.warnings[..]);
    let ([error], [warning]) = (errors, warnings) else {
        panic!("{reports:?}")
    };
    assert!(
        error.contains("`other`") && warning.contains("`k`"),
        "{reports:?}"
    );
}

#[test]
fn a_function_that_waits_must_not_be_pointed_to() {
    let function = format!("define internal void @waits() {{\n  {BARRIER}\n  ret void\n}}\n");
    let text = module_text("  store ptr @waits, ptr %out\n  ret void\n", &function);
    let (reports, _) = suspects(&text);
    assert!(reports.errors.is_empty());
    assert!(reports.warnings[0].contains("`waits`"), "{reports:?}");
    let (reports, _) = suspects(&text.replace("ptr %out) {", SAFE));
    assert!(reports.errors[0].contains("`waits`"), "{reports:?}");
    // By a function that no kernel calls.
    let stores =
        "define internal void @stores(ptr %p) {\n  store ptr @waits, ptr %p\n  ret void\n}\n";
    let text = module_text("  ret void\n", &format!("{function}{stores}"));
    assert_eq!(suspects(&text), (Reports::default(), 0));
}
