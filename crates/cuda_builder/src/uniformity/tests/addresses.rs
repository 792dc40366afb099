//! Comparisons of addresses: where both come from.

use super::*;

/// Two arrays, one of them chosen, and an address in it.
const CHOSEN: &str = "  %v = alloca [4 x i32]\n  %u = alloca [4 x i32]\n  \
                      %from = select i1 %all, ptr %v, ptr %u\n  \
                      %p = getelementptr inbounds i32, ptr %from, i32 %n\n";

#[test]
fn casts_lead_back_to_the_address() {
    uniform(&format!(
        "{CHOSEN}  %a = ptrtoint ptr %from to i64\n  %q = inttoptr i64 %a to ptr\n  %c = icmp ult ptr %q, %p"
    ));
}

#[test]
fn two_elements_of_a_vector_are_not_moved_from_one_address() {
    let body = "  %p = call ptr @malloc(i64 8)\n  %q = call ptr @malloc(i64 8)\n  \
                %a = ptrtoint ptr %p to i64\n  %b = ptrtoint ptr %q to i64\n  \
                %one = insertelement <2 x i64> poison, i64 %a, i32 0\n  \
                %two = insertelement <2 x i64> %one, i64 %b, i32 1\n  \
                %x = extractelement <2 x i64> %two, i32 0\n  \
                %y = extractelement <2 x i64> %two, i32 1\n  %d = sub i64 %x, %y\n  \
                %c = icmp slt i64 %d, 64\n  br i1 %c, label %then, label %end, !dbg !3\n\
                then:\n  BARRIER, !dbg !4\n  br label %end\nend:\n  ret void\n";
    let declared = "declare ptr @malloc(i64)\n";
    assert_eq!(reported(Rule::Refuse, body, declared), [(4, 3)]);
}

#[test]
fn two_variables_are_equal_in_all_threads_or_in_none() {
    uniform(&format!("{CHOSEN}  %c = icmp eq ptr %from, %v"));
    divergent(&format!("{CHOSEN}  %c = icmp ult ptr %from, %v"));
}

#[test]
fn an_address_from_null_is_an_address() {
    divergent(
        "  %v = alloca [4 x i32]\n  %a = ptrtoint ptr %v to i64\n  \
         %q = getelementptr inbounds i32, ptr null, i64 %a\n  %c = icmp ult ptr %v, %q",
    );
}

#[test]
fn only_small_distances_stay_within_all_addresses() {
    let near = |lines: &str| {
        format!(
            "  %v = alloca [4 x i32]\n  %z = zext i1 %all to i64\n  %big = zext i32 %n to i64\n  \
             {lines}\n  %w = getelementptr i32, ptr %v, i64 %o\n  %c = icmp ult ptr %v, %w"
        )
    };
    uniform(&near("%o = sub nsw i64 0, %z"));
    for lines in [
        "%o = sub i64 0, %big",
        "%o = sub i64 4611686018427387904, %z",
        "%o = sub i64 %z, 4611686018427387904",
    ] {
        divergent(&near(lines));
    }
}

/// A walk from an address, which ends at another one; a second walk starts elsewhere.
fn walk(first: &str, asks: &str) -> String {
    format!(
        "{CHOSEN}  br i1 %all, label %there, label %here
there:
  br label %head
here:
  br label %head
head:
  %at = phi ptr [ %from, %there ], [ {first}, %here ], [ %next, %head ]
  %next = getelementptr inbounds i32, ptr %at, i64 1
  %c = icmp {asks}
  br i1 %c, label %head, label %done, !dbg !3
done:
  BARRIER, !dbg !4
  br i1 %c, label %then, label %end, !dbg !5
then:
  BARRIER, !dbg !6
  br label %end
end:
  ret void
"
    )
}

#[test]
fn a_walk_starts_from_one_address() {
    check(&walk("%from", "ult ptr %at, %p"), &[]);
    check(&walk("%v", "ult ptr %at, %p"), &[(6, 5)]);
    check(&walk("%v", "ult ptr %from, %at"), &[(6, 5)]);
    check(&walk("null", "ult ptr %at, %p"), &[(6, 5)]);
}

#[test]
fn nothing_is_said_of_what_a_later_store_explains() {
    let later = |asks: &str| {
        format!(
            "  %v = alloca ptr
  %w = alloca [4 x i32]
  store i32 %n, ptr %w
  %end_of_w = getelementptr inbounds i32, ptr %w, i64 4
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %j, %more ]
  %first = icmp eq i32 %i, 0
  br i1 %first, label %more, label %reads
reads:
  %p = load ptr, ptr %v
  %x = load i32, ptr %p
  %c = icmp {asks}
  br i1 %c, label %then, label %more, !dbg !3
then:
  BARRIER, !dbg !4
  br label %more
more:
  store ptr %w, ptr %v
  %j = add i32 %i, 1
  %again = icmp ult i32 %j, %n
  br i1 %again, label %head, label %end
end:
  ret void
"
        )
    };
    check(&later("eq i32 %x, 0"), &[]);
    check(&later("ult ptr %p, %end_of_w"), &[]);
    check(&later("eq i32 %x, %tid"), &[(4, 3)]);
}

#[test]
fn a_choice_by_a_bit_of_an_address_is_the_threads_own() {
    divergent(
        "  %v = alloca i32\n  %u = alloca i32\n  %w = alloca i32\n  store i32 1, ptr %u\n  \
         store i32 2, ptr %w\n  %a = ptrtoint ptr %v to i64\n  %bits = bitcast i64 %a to <64 x i1>\n  \
         %b = extractelement <64 x i1> %bits, i32 9\n  %p = select i1 %b, ptr %u, ptr %w\n  \
         %x = load i32, ptr %p\n  %c = icmp eq i32 %x, 1",
    );
}
