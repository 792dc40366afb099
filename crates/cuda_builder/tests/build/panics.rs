//! What a panic costs: as much as `assert` in CUDA C++, unless its message has to be formatted.

use cuda_builder::tools::ptxas::Ptxas;

use crate::common::{SHARED, build, repository, text};

/// Checks `a[i]` and `b[i]`; that `c[i]` is right the compiler sees.
pub(crate) const VECADD: &str = "
    #[kernel]
    pub unsafe fn vecadd(a: &[f32], b: &[f32], c: *mut f32, n: usize) {
        let c = unsafe { core::slice::from_raw_parts_mut(c, n) };
        let i = thread::index_1d() as usize;
        if i < n {
            c[i] = a[i] + b[i];
        }
    }";

/// A kernel for each way to panic that needs no formatting.
const CHEAP: [(&str, &str); 12] = [
    ("index", "*out = a[n]"),
    ("range_start", "*out = a[n..].len() as u32"),
    ("range_end", "*out = a[..n].len() as u32"),
    ("range", "*out = a[n..m].len() as u32"),
    ("range_to_inclusive", "*out = a[..=n].len() as u32"),
    ("split", "*out = a.split_at(n).0.len() as u32"),
    (
        "copy",
        "core::slice::from_raw_parts_mut(out, n).copy_from_slice(a)",
    ),
    ("quotient", "*out = n as u32 / m as u32"),
    ("remainder", "*out = (n as i32 % m as i32) as u32"),
    ("overflow", "*out = (n as u32).strict_add(m as u32)"),
    (
        "unwrap",
        "*out = *a.get(n).unwrap() + *a.get(m).expect(\"the second\")",
    ),
    (
        "assert",
        "assert!(n > 7); assert!(m > 7, \"few\"); if n > m { unreachable!() } else { panic!(\"many\") }",
    ),
];

const FORMATS: &str = "#[kernel] pub unsafe fn formats(n: usize) { assert!(n > 7, \"{n}\") }";

/// Whether a part of `core::fmt` is there.
fn formats(ptx: &str) -> bool {
    ptx.contains("4core3fmt")
}

/// The source of the kernels that panic without formatting.
pub(crate) fn cheap() -> String {
    let kernels = CHEAP.map(|(name, body)| {
        format!("#[kernel] pub unsafe fn {name}(a: &[u32], n: usize, m: usize, out: *mut u32) {{ unsafe {{ {body} }} }}\n")
    });
    kernels.concat()
}

#[track_caller]
fn assert_at_most(names: &[&str], registers: u32) {
    let ptxas = Ptxas::find_or_fetch(&repository().join("target/tools")).unwrap();
    let mut kernels = ptxas.verify(&SHARED.path).unwrap();
    kernels.retain(|usage| names.contains(&&*usage.kernel));
    assert_eq!(kernels.len(), names.len());
    for usage in kernels {
        assert!(
            usage.registers <= registers && usage.stack == 0,
            "{usage:?}"
        );
    }
}

#[test]
fn a_bounds_check_costs_what_an_assertion_costs() {
    assert_at_most(&["vecadd"], 20);
    let ptx = SHARED.kernel("vecadd");
    assert!(!ptx.contains(".local") && !formats(&ptx), "{ptx}");
    // What stands in a comment costs nothing.
    let code = ptx
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default().trim_end());
    let bytes: usize = code
        .filter(|line| !line.is_empty())
        .map(|line| line.len() + 1)
        .sum();
    assert!(bytes <= 4608, "{bytes} bytes: {ptx}");
}

#[test]
fn no_panic_without_values_of_the_user_s_formats() {
    assert_at_most(&CHEAP.map(|(name, _)| name), 32);
    let ptx = &SHARED.ptx;
    let has_stack = |&(name, _): &(&str, &str)| SHARED.kernel(name).contains(".local");
    assert!(!CHEAP.iter().any(has_stack) && !formats(ptx), "{ptx}");
    assert!(formats(&text(build("formats", FORMATS).unwrap())));
}
