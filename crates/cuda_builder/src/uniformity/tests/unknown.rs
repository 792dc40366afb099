//! Addresses that are not followed, and what escapes.

use super::*;

/// What a load may read: through this pointer, or from a variable that all threads agree on.
fn either(lines: &str, pointer: &str) -> String {
    format!(
        "  %v = alloca i32\n  store i32 %n, ptr %v\n  {lines}\n  \
         %p = select i1 %all, ptr {pointer}, ptr %v\n  %x = load i32, ptr %p\n  %c = icmp eq i32 %x, 0"
    )
}

/// The content of a variable, whose second address is `%a`, after other lines.
fn kept(lines: &str) -> String {
    format!(
        "  %v = alloca i32\n  store i32 %n, ptr %v\n  %slot = alloca [2 x i64]\n  \
         %a = ptrtoint ptr %v to i64\n  {lines}\n  %x = load i32, ptr %v\n  %c = icmp eq i32 %x, 0"
    )
}

#[test]
fn a_pointer_of_unknown_origin_stays_one_beside_a_known_one() {
    uniform(&either("", "%in"));
    divergent(&either("", "@counter"));
    divergent(&either("", "@nowhere"));
    divergent("  %x = load i32, ptr @nowhere\n  %c = icmp eq i32 %x, 0");
    divergent(&either("%q = load ptr, ptr %in", "%q"));
    divergent(&either(
        "%b = call i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32 0, i1 %some)\n  \
         %q = inttoptr i32 %b to ptr",
        "%q",
    ));
    divergent(&either(
        "%a = sub i64 ptrtoint (ptr @counter to i64), 4\n  %q = inttoptr i64 %a to ptr",
        "%q",
    ));
    divergent(&either(
        "%w = alloca i32\n  store i32 %tid, ptr %w\n  %a = ptrtoint ptr %w to i64\n  \
         %g = insertvalue { ptr, i64 } poison, ptr %v, 0\n  \
         %h = insertvalue { ptr, i64 } %g, i64 %a, 1\n  \
         %b = extractvalue { ptr, i64 } %h, 1\n  %q = inttoptr i64 %b to ptr",
        "%q",
    ));
    // Nothing here depends on the thread, but for what the global holds.
    divergent(&either(
        "%g = insertvalue { ptr, i64 } poison, ptr %v, 0\n  \
         %h = insertvalue { ptr, i64 } %g, i64 ptrtoint (ptr @counter to i64), 1\n  \
         %b = extractvalue { ptr, i64 } %h, 1\n  %q = inttoptr i64 %b to ptr",
        "%q",
    ));
}

#[test]
fn so_does_one_in_a_parameter_passed_by_value() {
    let passed = |parameter: &str, lines: &str| {
        let body = format!(
            "{}\n  br i1 %c, label %then, label %end, !dbg !3\nthen:\n  BARRIER, !dbg !4\n  \
             br label %end\nend:\n  ret void\n",
            either(lines, "%q")
        );
        let text = module_text(&body, "");
        assert!(text.contains("ptr %out)"));
        reported_in(Rule::Refuse, &text.replace("ptr %out)", parameter))
    };
    let load = "%q = load ptr, ptr %out";
    let copy = "ptr byval({ ptr, i32 }) align 8 %out)";
    assert_eq!(passed(copy, load), [(4, 3)]);
    let take = "%q = extractvalue { ptr, i32 } %out, 0";
    assert_eq!(passed("{ ptr, i32 } %out)", take), [(4, 3)]);
}

#[test]
fn what_is_told_to_others_may_change() {
    uniform(&kept(""));
    for tells in [
        "%o = atomicrmw add ptr %v, i32 %tid monotonic",
        "%o = atomicrmw xchg ptr %out, i64 %a monotonic",
        "call void asm sideeffect \"st.u32 [$0], 1;\", \"l\"(ptr %v)",
        "call void asm sideeffect \"bar.sync 0; st.u32 [$0], 1;\", \"l\"(ptr %v)",
        // In memory that others know, before or after.
        "store ptr %v, ptr %slot\n  store ptr %slot, ptr %out",
        "store ptr %slot, ptr %out\n  store ptr %v, ptr %slot",
        // Where it may be known.
        "%u = call ptr asm sideeffect \"mov.u64 $0, 0;\", \"=l\"()\n  \
         %to = select i1 %all, ptr %u, ptr %slot\n  store ptr %v, ptr %to",
    ] {
        divergent(&kept(tells));
    }
}

#[test]
fn a_number_that_is_an_address_is_followed_or_escapes() {
    let stores = "%q = inttoptr i64 %b to ptr\n  store i32 %tid, ptr %q";
    for takes in [
        "%g = insertvalue { i64, i64 } poison, i64 %a, 0\n  %b = extractvalue { i64, i64 } %g, 0",
        "store i64 %a, ptr %slot\n  %g = load { i64, i64 }, ptr %slot\n  \
         %b = extractvalue { i64, i64 } %g, 0",
    ] {
        divergent(&kept(&format!("{takes}\n  {stores}")));
        // Its bits say where the variable lies.
        divergent(&kept(takes).replace("%c = icmp eq i32 %x, 0", "%c = icmp ult i64 %b, 4096"));
    }
    divergent(&kept(
        "%q = getelementptr i8, ptr null, i64 %a\n  store i32 %tid, ptr %q",
    ));
}

#[test]
fn a_part_of_an_aggregate_is_what_was_put_there() {
    let pair = "  %w = alloca i32\n  store i32 %n, ptr %w\n  \
                %g = insertvalue { ptr, i32 } poison, ptr %w, 0\n";
    uniform(&format!(
        "{pair}  %q = extractvalue {{ ptr, i32 }} %g, 0\n  %x = load i32, ptr %q\n  %c = icmp eq i32 %x, 0"
    ));
    let number = |from: &str| {
        format!(
            "{pair}  %h = insertvalue {{ ptr, i32 }} %g, i32 {from}, 1\n  \
             %x = extractvalue {{ ptr, i32 }} %h, 1\n  %c = icmp eq i32 %x, 0"
        )
    };
    uniform(&number("%n"));
    divergent(&number("%tid"));
    // It is no part of the address beside it, whose bits would be the thread's own.
    uniform(&number("%n").replace("eq i32 %x, 0", "eq i32 %x, 1"));
}

#[test]
fn a_variable_with_many_ranges_has_one() {
    let variable = |ranges: usize, first: &str, read: usize| {
        let mut lines = String::from("  %v = alloca [80 x i32]\n");
        for at in 0..ranges {
            let value = if at == 0 { first } else { "%n" };
            let _ = writeln!(
                lines,
                "  %p{at} = getelementptr inbounds i32, ptr %v, i64 {at}"
            );
            let _ = writeln!(lines, "  store i32 {value}, ptr %p{at}");
        }
        format!("{lines}  %x = load i32, ptr %p{read}\n  %c = icmp eq i32 %x, 0")
    };
    for ranges in [60, 70] {
        uniform(&variable(ranges, "%n", 3));
        divergent(&variable(ranges, "%tid", 0));
    }
    uniform(&variable(60, "%tid", 3));
    divergent(&variable(70, "%tid", 3));
}

#[test]
fn a_copy_of_each_threads_own_place_is_its_own() {
    divergent(
        "  %v = alloca i32\n  %from = getelementptr i32, ptr %in, i32 %tid\n  \
         call void @llvm.memcpy.p0.p0.i64(ptr %v, ptr %from, i64 4, i1 false)\n  \
         %x = load i32, ptr %v\n  %c = icmp eq i32 %x, 0",
    );
}

#[test]
fn numbers_in_steady_memory_are_no_addresses() {
    uniform(
        "  %w = alloca i32\n  store i32 %n, ptr %w\n  %slot = alloca i64\n  %m = load i64, ptr %in\n  \
         store i64 %m, ptr %slot\n  store ptr %w, ptr %slot\n  %p = load ptr, ptr %slot\n  \
         %x = load i32, ptr %p\n  %c = icmp eq i32 %x, 0",
    );
    // Nor does an index that is no address lead elsewhere.
    uniform(
        "  %w = alloca [4 x i32]\n  store i32 %n, ptr %w\n  \
         %b = call i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32 0, i1 %some)\n  \
         %p = getelementptr inbounds i32, ptr %w, i32 %b\n  %x = load i32, ptr %p\n  %c = icmp eq i32 %x, 0",
    );
    for constant in ["@numbers", "addrspacecast (ptr addrspace(4) @set to ptr)"] {
        let body = format!(
            "  %x = load i32, ptr {constant}\n  %c = icmp eq i32 %x, 0\n  \
             br i1 %c, label %then, label %end\nthen:\n  BARRIER, !dbg !4\n  br label %end\nend:\n  ret void\n"
        );
        let globals = "@numbers = internal constant [2 x i32] [i32 1, i32 2]\n\
                       @set = internal addrspace(4) global i32 0\n";
        assert_eq!(reported(Rule::Refuse, &body, globals), []);
    }
}
