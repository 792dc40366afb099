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
    divergent(&variable("store i32 %tid, ptr %w"));
    // Elsewhere in it.
    uniform(&variable("store i32 %tid, ptr %v"));
    divergent(&variable(
        "store i64 poison, ptr %v\n  store i32 %tid, ptr %w",
    ));
    divergent(&variable(
        "%z = zext i32 %tid to i64\n  store i64 %z, ptr %v",
    ));
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
        "%slot = alloca ptr\n  %u = load volatile ptr, ptr %in\n  \
         %to = select i1 %all, ptr %slot, ptr %u\n  store ptr %v, ptr %to",
    ));
    uniform(&variable("call void @llvm.lifetime.start.p0(ptr %v)"));
    divergent(&variable(
        "%p = ptrtoint ptr %v to i64\n  %q = xor i64 %p, 1\n  %r = inttoptr i64 %q to ptr\n  \
         store i32 1, ptr %r",
    ));
}

#[test]
fn a_stored_constant_address_is_followed() {
    uniform(
        "  %v = alloca ptr\n  store ptr addrspacecast (ptr addrspace(3) @tile to ptr), ptr %v\n  \
         %p = load ptr, ptr %v\n  %x = load i32, ptr %p\n  %c = icmp eq i32 %x, 0",
    );
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
    let two = "  %v = alloca [4 x i32]\n  %w = getelementptr inbounds i32, ptr %v, i32 %n\n";
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
    uniform(&format!("{two}  %c = icmp ult ptr %v, %w"));
    // Moved by anything, it may lie beyond the last address.
    let far = two.replace("inbounds ", "");
    uniform(&format!("{far}  %c = icmp eq ptr %v, %w"));
    uniform(&format!(
        "{far}{numbers}  %d = sub i64 %b, %a\n  %c = icmp eq i64 %d, 4"
    ));
    divergent(&format!("{far}  %c = icmp ult ptr %v, %w"));
    divergent(&format!("{far}  %c = icmp eq ptr %w, null"));
    let near = |index: &str| {
        format!(
            "  %v = alloca [4 x i32]\n  %z = zext i1 %all to i64\n  %o = sub i64 0, %z\n  %big = zext i32 %n to i64\n  \
             %huge = sub i64 %big, %z\n  %w = getelementptr i32, ptr %v, i64 {index}\n  %c = icmp ult ptr %v, %w"
        )
    };
    for index in ["1", "-3", "%z", "%o"] {
        uniform(&near(index));
    }
    for index in ["4611686018427387904", "%big", "%huge"] {
        divergent(&near(index));
    }
}

#[test]
fn addresses_moved_from_one_compare_by_what_they_are_moved() {
    let two = |move_by: &str| {
        format!(
            "  %v = alloca [4 x i32]\n  %u = alloca [4 x i32]\n  %from = select i1 %all, ptr %v, ptr %u\n  \
             %p = getelementptr inbounds i32, ptr %from, i32 {move_by}\n  %a = ptrtoint ptr %from to i64\n  \
             %b = ptrtoint ptr %p to i64\n  %d = sub i64 %b, %a\n"
        )
    };
    for asks in [
        "%c = icmp eq i64 %d, 4",
        "%c = icmp eq ptr %p, %from",
        "%c = icmp ult ptr %from, %p",
    ] {
        uniform(&format!("{}  {asks}", two("%n")));
        divergent(&format!("{}  {asks}", two("%tid")));
    }
    // Not from one.
    divergent(&format!("{}  %c = icmp ult ptr %v, %p", two("%n")));
    let chosen = two("%n").replace("ptr %from, i32 %n", "ptr %v, i32 %n");
    divergent(&format!("{chosen}  %c = icmp ult ptr %from, %p"));
    // A part of the address.
    let part = two("%n")
        .replace("to i64", "to i32")
        .replace("sub i64", "sub i32");
    divergent(&format!("{part}  %c = icmp ult i32 %a, %b"));
}

/// The address of an allocation, after what checks it.
pub(super) fn allocated(checked: &str, asks: &str) -> String {
    format!(
        "  %p = call ptr @malloc(i64 8)
  %null = icmp eq ptr %p, null
  br i1 %null, label %failed, label %fine, !dbg !6
failed:
  br label %both
fine:
  br label %both
both:
  %tag = phi i64 [ 1, %failed ], [ 0, %fine ]
  %error = trunc i64 %tag to i1
  br i1 %error, label %end_of_it, label %go_on, !dbg !5
end_of_it:
  {checked}
go_on:
  store i32 %n, ptr %p
  {asks}
  br i1 %c, label %then, label %end, !dbg !3
then:
  BARRIER, !dbg !4
  br label %end
end:
  ret void
"
    )
}

#[test]
fn an_allocation_whose_failure_is_a_panic_is_every_threads() {
    let reads = "%x = load i32, ptr %p\n  %c = icmp eq i32 %x, 0";
    let asks = "%c = icmp ne ptr %p, null";
    for what in [reads, asks] {
        let after = |checked: &str, expected: &[(u32, u32)]| {
            let declared = "declare ptr @malloc(i64)\ndeclare void @panics()\n";
            let body = allocated(checked, what);
            assert_eq!(reported(Rule::Refuse, &body, declared), expected, "{body}");
        };
        after("unreachable", &[]);
        after("call void @panics()\n  unreachable", &[]);
    }
    let declared = "declare ptr @malloc(i64)\n";
    let changed = |from: &str, to: &str| {
        let body = allocated("unreachable", asks);
        assert!(body.contains(from), "{from}");
        reported(Rule::Refuse, &body.replace(from, to), declared)
    };
    let question = "%null = icmp eq ptr %p, null";
    let number = "%i = ptrtoint ptr %p to i64\n  %null = icmp eq i64 %i, 0";
    assert_eq!(changed(question, number), []);
    assert_eq!(changed("trunc i64 %tag to i1", "icmp eq ptr %p, null"), []);
    let phi = "failed:\n  %one = phi i64 [ 1, %entry ]\n  br label %both\nfine:\n  br label %both\nboth:\n  \
               %tag = phi i64 [ %one, %failed ]";
    let plain = "failed:\n  br label %both\nfine:\n  br label %both\nboth:\n  %tag = phi i64 [ 1, %failed ]";
    assert_eq!(changed(plain, phi), []);
    // Another question.
    assert_eq!(changed(question, "%null = icmp eq ptr %p, %in"), [(4, 3)]);
    // A thread may go on without, or wait before it panics.
    let survives = allocated("ret void", reads);
    assert_eq!(reported(Rule::Refuse, &survives, declared), [(4, 5)]);
    let waits = allocated("BARRIER, !dbg !7\n  unreachable", reads);
    assert_eq!(reported(Rule::Refuse, &waits, declared), [(4, 5), (7, 5)]);
}

#[test]
fn whether_an_allocation_succeeds_is_the_threads_own() {
    let declared = "declare ptr @malloc(i64)\n";
    let asked = |question: &str| {
        let body = format!(
            "  %p = call ptr @malloc(i64 8)\n  %q = call ptr @malloc(i64 8)\n  {question}\n  \
             br i1 %c, label %then, label %end, !dbg !3\nthen:\n  BARRIER, !dbg !4\n  \
             br label %end\nend:\n  ret void\n"
        );
        reported(Rule::Refuse, &body, declared)
    };
    assert_eq!(asked("%c = icmp eq ptr %p, null"), [(4, 3)]);
    assert_eq!(asked("%c = icmp eq ptr %p, %q"), [(4, 3)]);
    assert_eq!(asked("%c = icmp ult ptr %p, %q"), [(4, 3)]);
    // In one of them.
    let moved = "%r = getelementptr inbounds i8, ptr %p, i64 4\n";
    let by_memory = "%s = alloca ptr\n  store ptr %r, ptr %s\n  %t = load ptr, ptr %s\n";
    for asks in [
        "eq ptr %p, %r",
        "ult ptr %p, %r",
        "eq ptr %p, %t",
        "ult ptr %t, %p",
    ] {
        assert_eq!(
            asked(&format!("{moved}  {by_memory}  %c = icmp {asks}")),
            []
        );
    }
}

/// Whether what is allocated by each round of a loop compares the same in all threads.
pub(super) fn asked_in_a_loop(allocates: &str, asks: &str, functions: &str) -> Vec<(u32, u32)> {
    let body = format!(
        "  %kept = alloca ptr\n  br label %round
round:
  %i = phi i32 [ 0, %entry ], [ %j, %round ]
  %last = phi ptr [ null, %entry ], [ %p, %round ]
  {allocates}
  %q = getelementptr inbounds i8, ptr %p, i64 4
  %again = icmp {asks}
  store ptr %p, ptr %kept
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, %n
  br i1 %more, label %round, label %after
after:
  br i1 %again, label %then, label %end, !dbg !3
then:
  BARRIER, !dbg !4
  br label %end
end:
  ret void
"
    );
    let declared = format!("{functions}declare ptr @malloc(i64)\n");
    reported(Rule::Refuse, &body, &declared)
}

#[test]
fn an_allocation_may_lie_where_another_one_was_freed() {
    let malloc = "%p = call ptr @malloc(i64 8)";
    for asks in ["eq ptr %p, %last", "ult ptr %p, %last"] {
        assert_eq!(asked_in_a_loop(malloc, asks, ""), [(4, 3)], "{asks}");
    }
    let kept = format!("%old = load ptr, ptr %kept\n  {malloc}");
    assert_eq!(asked_in_a_loop(&kept, "eq ptr %p, %old", ""), [(4, 3)]);
    // Of one round.
    for asks in ["eq ptr %p, %q", "ult ptr %p, %q"] {
        assert_eq!(asked_in_a_loop(malloc, asks, ""), [], "{asks}");
    }
    // In a function that the loop calls, that calls itself, or that both do.
    let makes =
        "define internal ptr @makes(i32 %n) {\n  %p = call ptr @malloc(i64 8)\n  ret ptr %p\n}\n";
    let calls = "%p = call ptr @makes(i32 %n)";
    assert_eq!(asked_in_a_loop(calls, "eq ptr %p, %last", makes), [(4, 3)]);
    assert_eq!(asked_in_a_loop(calls, "eq ptr %p, %q", makes), []);
    let compares = "define internal i1 @compares(i32 %n, ptr %last) {\nentry:\n  %p = call ptr @malloc(i64 8)\n  \
                    %c = icmp eq ptr %p, %last\n  %z = icmp eq i32 %n, 0\n  br i1 %z, label %end, label %more\n\
                    more:\n  %m = sub i32 %n, 1\n  %d = call i1 @compares(i32 %m, ptr %p)\n  ret i1 %d\n\
                    end:\n  ret i1 %c\n}\n";
    let once = "  %c = call i1 @compares(i32 %n, ptr null)\n  br i1 %c, label %then, label %end, !dbg !3\n\
                then:\n  BARRIER, !dbg !4\n  br label %end\nend:\n  ret void\n";
    let declared = format!("{compares}declare ptr @malloc(i64)\n");
    assert_eq!(reported(Rule::Refuse, once, &declared), [(4, 3)]);
}

#[test]
fn an_address_that_travels_is_followed() {
    let travels = |by: &str, last: &str| {
        format!(
            "  %v = alloca i32\n  %w = alloca i32\n  %from = alloca [2 x ptr]\n  %to = alloca [2 x ptr]\n  \
             store i32 %tid, ptr %v\n  store i32 %n, ptr %w\n  \
             store ptr %v, ptr %from\n  %second = getelementptr i8, ptr %from, i64 8\n  \
             store ptr %w, ptr %second\n  {by}\n  {last}"
        )
    };
    let reads = "%p = load ptr, ptr %to\n  %x = load i32, ptr %p\n  %c = icmp eq i32 %x, 0";
    let moves = |ty: &str| format!("%m = load {ty}, ptr %from\n  store {ty} %m, ptr %to");
    for ty in [
        "i64",
        "i128",
        "ptr",
        "<2 x i64>",
        "<16 x i8>",
        "{ ptr, ptr }",
    ] {
        divergent(&travels(&moves(ty), reads));
        divergent(&travels(
            "call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 16, i1 false)",
            reads,
        ));
    }
    // By halves.
    divergent(&travels(
        "%l = load i32, ptr %from\n  store i32 %l, ptr %to\n  %fh = getelementptr i8, ptr %from, i64 4\n  \
         %h = load i32, ptr %fh\n  %th = getelementptr i8, ptr %to, i64 4\n  store i32 %h, ptr %th",
        reads,
    ));
    // The other one.
    let other = "%m = load i64, ptr %second\n  store i64 %m, ptr %to";
    uniform(&travels(other, reads));
    // By an index that is not constant: either.
    let either = "%at = getelementptr [8 x i8], ptr %from, i32 %n\n  %m = load i64, ptr %at\n  \
                  store i64 %m, ptr %to";
    divergent(&travels(either, reads));
    // A store through it.
    let stores = "%p = load ptr, ptr %to\n  store i32 %tid, ptr %p\n  \
                  %x = load i32, ptr %w\n  %c = icmp eq i32 %x, 0";
    divergent(&travels(other, stores));
    uniform(&travels(&moves("i64"), stores));
}

#[test]
fn a_part_of_an_address_is_no_number() {
    let part = |read: &str, last: &str| {
        divergent(&format!(
            "  %v = alloca i32\n  %a = alloca [16 x i8]\n  %n64 = ptrtoint ptr %v to i64\n  \
             store i64 %n64, ptr %a\n  %b = getelementptr i8, ptr %a, i64 8\n  store i64 %n64, ptr %b\n  \
             {read}\n  {last}"
        ));
    };
    let byte = "%d = getelementptr i8, ptr %a, i64 3\n  %x = load i8, ptr %d";
    part(byte, "%c = icmp eq i8 %x, 0");
    part(
        "%d = getelementptr i8, ptr %a, i64 4\n  %x = load i64, ptr %d",
        "%c = icmp eq i64 %x, 0",
    );
    part(
        "%d = getelementptr i8, ptr %a, i32 %n\n  %x = load i64, ptr %d",
        "%c = icmp eq i64 %x, 0",
    );
    part(
        "%y = bitcast i64 %n64 to <8 x i8>\n  %x = extractelement <8 x i8> %y, i32 2",
        "%c = icmp eq i8 %x, 0",
    );
    part("%x = trunc i64 %n64 to i8", "%c = icmp eq i8 %x, 0");
    part("%x = ptrtoint ptr %v to i32", "%c = icmp eq i32 %x, 0");
    uniform(
        "  %v = alloca i32\n  %a = alloca i64\n  %n64 = ptrtoint ptr %v to i64\n  store i64 %n64, ptr %a\n  \
         %x = load i64, ptr %a\n  %c = icmp eq i64 %x, 0",
    );
}

#[test]
fn a_field_of_an_element_is_not_its_neighbour() {
    let table = |number: &str, reads: &str| {
        format!(
            "  %w = alloca i32\n  store i32 %n, ptr %w\n  %v = alloca [4 x {{ ptr, i64 }}]\n  \
             %z = zext i32 %n to i64\n  %t = zext i32 %tid to i64\n  \
             %a = getelementptr inbounds {{ ptr, i64 }}, ptr %v, i64 %z\n  store ptr %w, ptr %a\n  \
             %b = getelementptr inbounds {{ ptr, i64 }}, ptr %v, i64 %z, i32 1\n  store i64 {number}, ptr %b\n  \
             %at = getelementptr inbounds {{ ptr, i64 }}, ptr %v, i32 %block\n  {reads}"
        )
    };
    let copies = "%to = alloca [2 x { ptr, i64 }]\n  \
                  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %at, i64 16, i1 false)\n  ";
    for (copy, from) in [("", "%at"), (copies, "%to")] {
        let reads = |at: i64, what: &str, then: &str| {
            format!(
                "{copy}%f = getelementptr inbounds i8, ptr {from}, i64 {at}\n  %x = load {what}, ptr %f\n  {then}"
            )
        };
        let number = reads(8, "i64", "%c = icmp eq i64 %x, 0");
        uniform(&table("%z", &number));
        divergent(&table("%t", &number));
        let pointer = reads(
            0,
            "i64",
            "%q = inttoptr i64 %x to ptr\n  %y = load i32, ptr %q\n  %c = icmp eq i32 %y, 0",
        );
        let is_null = reads(0, "i64", "%c = icmp eq i64 %x, 0");
        for number in ["%z", "%t"] {
            uniform(&table(number, &pointer));
            uniform(&table(number, &is_null));
            // A part of the address.
            divergent(&table(number, &reads(4, "i32", "%c = icmp eq i32 %x, 0")));
        }
    }
    // Anywhere.
    let anywhere = "%any = getelementptr inbounds i8, ptr %v, i32 %n\n  store i8 1, ptr %any\n  ";
    let number = "%f = getelementptr inbounds i8, ptr %at, i64 8\n  %x = load i64, ptr %f\n  %c = icmp eq i64 %x, 0";
    uniform(&table("%z", &format!("{anywhere}{number}")));
    divergent(&table(
        "%z",
        &format!("{anywhere}{number}")
            .replace("i8 1", "i8 %own")
            .replace("store i8", "%own = trunc i32 %tid to i8\n  store i8"),
    ));
}
