//! Values in memory: parameters, variables, other addresses.

use super::*;

#[test]
fn steady_memory_is_what_its_address_is() {
    uniform("  %x = load i32, ptr %in\n  %c = icmp eq i32 %x, 0");
    uniform(
        "  %p = getelementptr i32, ptr %in, i32 %block\n  %x = load i32, ptr %p\n  %c = icmp eq i32 %x, 0",
    );
    uniform(
        "  %x = load i32, ptr addrspacecast (ptr addrspace(3) @tile to ptr)\n  %c = icmp eq i32 %x, 0",
    );
    divergent(
        "  %p = getelementptr i32, ptr %in, i32 %tid\n  %x = load i32, ptr %p\n  %c = icmp eq i32 %x, 0",
    );
}

#[test]
fn other_memory_is_the_threads_own() {
    divergent("  %x = load volatile i32, ptr %in\n  %c = icmp eq i32 %x, 0");
    divergent("  %x = load atomic i32, ptr %in monotonic, align 4\n  %c = icmp eq i32 %x, 0");
    divergent("  %x = load i32, ptr @counter\n  %c = icmp eq i32 %x, 0");
    divergent("  %x = atomicrmw add ptr %in, i32 1 monotonic\n  %c = icmp eq i32 %x, 0");
    // The target of a pointer loaded from memory is unknown.
    divergent("  %p = load ptr, ptr %in\n  %x = load i32, ptr %p\n  %c = icmp eq i32 %x, 0");
    divergent("  %p = inttoptr i32 %n to ptr\n  %x = load i32, ptr %p\n  %c = icmp eq i32 %x, 0");
}

#[test]
fn a_variable_holds_what_is_stored_in_it() {
    let variable = |stored: &str| {
        format!(
            "  %v = alloca [4 x i32]\n  %w = getelementptr i32, ptr %v, i32 1\n  {stored}\n  \
             %x = load i32, ptr %w\n  %c = icmp eq i32 %x, 0"
        )
    };
    uniform(&variable("store i32 %block, ptr %v"));
    uniform(&variable(
        "call void @llvm.memcpy.p0.p0.i64(ptr %v, ptr %in, i64 16, i1 false)",
    ));
    divergent(&variable("store i32 %tid, ptr %v"));
    divergent(&variable(
        "%at = getelementptr i32, ptr %v, i32 %tid\n  store i32 1, ptr %at",
    ));
    // Each thread sets or copies a different length.
    let copied = |length: &str| {
        variable(&format!(
            "%l = zext i32 {length} to i64\n  \
             call void @llvm.memcpy.p0.p0.i64(ptr %v, ptr %in, i64 %l, i1 false)"
        ))
    };
    let set = |length: &str| {
        copied(length)
            .replace("memcpy.p0.p0", "memset.p0")
            .replace("ptr %in", "i8 1")
    };
    for of_length in [&copied as &dyn Fn(&str) -> String, &set] {
        uniform(&of_length("%block"));
        divergent(&of_length("%tid"));
    }
    // From here on any code may write it.
    divergent(&variable("store ptr %v, ptr %out"));
    divergent(&variable("%r = call i32 @elsewhere(ptr %v)"));
    divergent(&variable(
        "%p = ptrtoint ptr %v to i64\n  %q = xor i64 %p, 1",
    ));
    divergent(&variable("%p = select i1 %all, ptr %v, ptr %in"));
}

#[test]
fn a_variable_that_some_threads_store_in_is_their_own() {
    check(
        "  %v = alloca i32
  store i32 0, ptr %v
  br i1 %some, label %then, label %join, !dbg !3
then:
  store i32 1, ptr %v
  br label %join
join:
  %x = load i32, ptr %v
  %c = icmp eq i32 %x, 0
  br i1 %c, label %last, label %end, !dbg !4
last:
  BARRIER, !dbg !5
  br label %end
end:
  ret void
",
        &[(5, 4)],
    );
}

#[test]
fn addresses_of_variables_compare_by_their_offsets_only() {
    let two = "  %v = alloca [4 x i32]\n  %w = getelementptr i32, ptr %v, i32 %n\n";
    uniform(&format!("{two}  %c = icmp eq ptr %v, %w"));
    uniform(&format!("{two}  %c = icmp eq ptr %w, null"));
    let numbers = "  %a = ptrtoint ptr %v to i64\n  %b = ptrtoint ptr %w to i64\n";
    uniform(&format!(
        "{two}{numbers}  %d = sub i64 %b, %a\n  %c = icmp eq i64 %d, 4"
    ));
    uniform(&format!("{two}{numbers}  %c = icmp eq i64 %b, 0"));
    divergent(&format!("{two}{numbers}  %c = icmp ult i64 %b, 4096"));
    divergent(&format!(
        "{two}{numbers}  %d = and i64 %b, 64\n  %c = icmp eq i64 %d, 0"
    ));
    divergent(&format!(
        "{two}  %u = alloca i32\n  %c = icmp ult ptr %u, %w"
    ));
}
