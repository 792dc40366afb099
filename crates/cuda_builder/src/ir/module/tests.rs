//! Tests with whole modules: accepted forms, refused forms, and that printing reproduces the text.

use super::*;

const MODULE: &str = "; ModuleID = 'x'
source_filename = \"x\"
target triple = \"nvptx64-nvidia-cuda\"

%struct.float2 = type { float, float }

@s = internal addrspace(3) global [4 x i8] undef, align 16
@\"quoted name\" = private unnamed_addr constant <{ ptr, [2 x i8] }> <{ ptr @f, [2 x i8] c\"\\22}\" }>, section \"a, b\", align 8
@p = external global ptr addrspace(3)

; Function Attrs: nounwind
define ptx_kernel void @k(ptr noundef align 4 %0, i32 range(i32 0, 7) %1) unnamed_addr #0 section \"s\" !dbg !7 {
  %3 = icmp eq i32 %1, 0, !dbg !9
  br i1 %3, label %bb1, label %\"a b\", !dbg !9, !prof !3

bb1:                                              ; preds = %2
  switch i32 %1, label %\"a b\" [
    i32 0, label %bb1
    i32 1, label %\"a b\"
  ], !dbg !9

\"a b\":                                            ; preds = %bb1, %2
  %x = phi [2 x ptr] [ [ptr @s, ptr null], %bb1 ], [ %y, %2 ]
    #dbg_value(ptr @s, !7, !DIExpression(DW_OP_plus_uconst, 4), !9)
  %z = tail call fast { i32, i1 } @f(ptr noundef %0, i32 range(i32 0, 3) %1) #0, !dbg !9
  call void asm sideeffect \"bar.sync 0; // @no, #7\", \"~{memory}\"() #1, !srcloc !5
  ret void
}

declare { i32, i1 } @f(ptr, i32) #0

attributes #0 = { nounwind memory(argmem: read) \"target-cpu\"=\"sm_80\" }

!7 = distinct !DISubprogram(name: \"k\", linkageName: \"_k\", scope: !8, file: !8, line: 1)
!8 = !DIFile(filename: \"src/lib.rs\", directory: \"/d\")
!9 = !DILocation(line: 3, column: 5, scope: !10, inlinedAt: !11)
!10 = !DILexicalBlock(scope: !7, file: !8, line: 2)
!11 = distinct !DILocation(line: 30, column: 1, scope: !7)
; the end
";

/// The instructions of a function with this body.
#[track_caller]
fn instructions(body: &str) -> Vec<Instruction<'static>> {
    let text = format!("define void @f(ptr %p) {{\nb:\n{body}  ret void\n}}\n");
    let Item::Function(function) = Module::item(&text).unwrap() else {
        panic!("{text}");
    };
    function.instructions().cloned().collect()
}

#[track_caller]
fn instruction(line: &str) -> Instruction<'static> {
    instructions(&format!("  {line}\n")).remove(0)
}

#[test]
fn printing_gives_the_text_again() {
    let module = Module::parse(MODULE).unwrap();
    assert_eq!(module.to_string(), MODULE);
    let outline = Module::outline(MODULE).unwrap();
    assert_eq!(outline.to_string(), MODULE);
    assert_eq!(outline.functions().next().unwrap().name(), "k");
    let nothing_at_the_end = MODULE.trim_end();
    let module = Module::parse(nothing_at_the_end).unwrap();
    assert_eq!(module.to_string(), nothing_at_the_end);
}

#[test]
fn the_parts_of_a_module_are_found() {
    let module = Module::parse(MODULE).unwrap();
    let globals: Vec<_> = module
        .globals()
        .map(|global| {
            (
                global.name(),
                global.ty(),
                global.section(),
                global.alignment(),
            )
        })
        .collect();
    assert_eq!(
        globals,
        [
            ("s", "[4 x i8]", None, Some(16)),
            ("quoted name", "<{ ptr, [2 x i8] }>", Some("a, b"), Some(8)),
            ("p", "ptr addrspace(3)", None, None),
        ]
    );
    let second = module.globals().nth(1).unwrap();
    assert_eq!(
        (second.linkage(), second.keyword()),
        ("private unnamed_addr", "constant")
    );
    assert_eq!(second.initialiser(), r#"<{ ptr @f, [2 x i8] c"\22}" }>"#);
    assert_eq!(second.globals().collect::<Vec<_>>(), ["f"]);
    let declared: Vec<_> = module.declarations().map(Head::name).collect();
    assert_eq!(declared, ["f"]);
    let groups = module.groups();
    assert!(groups[&0].has("nounwind") && !groups[&0].has("argmem"));
}

#[test]
fn the_parts_of_a_function_are_found() {
    let module = Module::parse(MODULE).unwrap();
    let kernel = module.functions().next().unwrap();
    assert!(kernel.is_kernel());
    assert_eq!(
        (kernel.head.group(), kernel.head.section()),
        (Some(0), Some("s"))
    );
    let parameters: Vec<_> = kernel.head.parameters().map(typed_name).collect();
    assert_eq!(parameters, ["0", "1"]);
    let blocks: Vec<_> = kernel
        .blocks
        .iter()
        .map(|block| (&*block.label, block.successors().collect::<Vec<_>>()))
        .collect();
    assert_eq!(
        blocks,
        [
            ("2", vec!["bb1", "a b"]),
            ("bb1", vec!["a b", "bb1", "a b"]),
            ("a b", vec![]),
        ]
    );
    let [phi, record, call, assembly, _] = &kernel.blocks[2].instructions[..] else {
        panic!("{:?}", kernel.blocks[2]);
    };
    let incoming: Vec<_> = phi.incoming().unwrap();
    assert_eq!(
        (incoming[0].value, incoming[0].block),
        ("[ptr @s, ptr null]", "bb1")
    );
    assert_eq!((incoming[1].value, incoming[1].block), ("%y", "2"));
    assert_eq!(phi.locals().collect::<Vec<_>>(), ["y"]);
    assert_eq!(record.opcode(), Opcode::DebugRecord);
    let parts = call.call().unwrap().unwrap();
    assert_eq!((parts.function(), parts.group()), (Some("f"), Some(0)));
    assert_eq!(call.locals().collect::<Vec<_>>(), ["0", "1"]);
    assert_eq!((call.result(), call.position()), (Some("z"), Some("9")));
    let parts = assembly.call().unwrap().unwrap();
    let expected = Callee::Assembly {
        template: "bar.sync 0; // @no, #7",
        constraints: "~{memory}",
    };
    assert_eq!((parts.callee, parts.group()), (expected, Some(1)));
    assert_eq!(assembly.globals().count(), 0);
}

fn typed_name(operand: &str) -> &str {
    local(value(operand)).unwrap_or_default()
}

#[test]
fn calls_of_every_kind_are_read() {
    #[track_caller]
    fn check(line: &str, callee: Callee<'_>, arguments: &[&str]) {
        let instruction = instruction(line);
        let call = instruction.call().unwrap().unwrap();
        assert_eq!(call.callee, callee);
        let found: Vec<_> = call.arguments().map(value).collect();
        assert_eq!(found, arguments);
    }
    check(
        "%1 = musttail call noundef range(i32 0, 7) ptr addrspace(3) @\"a b\"(ptr align 8 dereferenceable(8) %p, { i32, i32 } { i32 1, i32 2 }) nounwind [ \"deopt\"() ]",
        Callee::Direct("a b"),
        &["%p", "{ i32 1, i32 2 }"],
    );
    check(
        "call void %f(i32 range(i32 0, 5) -1)",
        Callee::Indirect("f"),
        &["-1"],
    );
    check(
        "%1 = call %struct.pair @f(ptr byval([8 x i8]) %p)",
        Callee::Direct("f"),
        &["%p"],
    );
    check(
        "%1 = call i32 (ptr, ...) @printf(ptr getelementptr inbounds nuw (i8, ptr @s, i64 4))",
        Callee::Direct("printf"),
        &["getelementptr inbounds nuw (i8, ptr @s, i64 4)"],
    );
    check("call void null()", Callee::Constant, &[]);
    for line in ["call void", "call void asm \"nop\"()", "call void @f"] {
        let error = instruction(line).call().unwrap_err();
        assert!(error.to_string().contains(line), "{error}");
    }
}

#[test]
fn operands_are_values_with_types() {
    for (operand, expected) in [
        ("nneg i32 %x to i64", ("i32", "%x")),
        (
            "ptr addrspace(3) %p syncscope(\"block\") acquire",
            ("ptr addrspace(3)", "%p"),
        ),
        (
            "nuw nsw <2 x i64> zeroinitializer",
            ("<2 x i64>", "zeroinitializer"),
        ),
        ("{ ptr, i64 } %x", ("{ ptr, i64 }", "%x")),
        ("[2 x i8] c\"ab\"", ("[2 x i8]", "c\"ab\"")),
        ("%struct.pair %x", ("%struct.pair", "%x")),
        (
            "i32 ptrtoint (ptr @x to i32) to i64",
            ("i32", "ptrtoint (ptr @x to i32)"),
        ),
        (
            "i64 ptrtoint (ptr @x to i64)",
            ("i64", "ptrtoint (ptr @x to i64)"),
        ),
        ("<4 x i8> splat (i8 1)", ("<4 x i8>", "splat (i8 1)")),
        ("%y", ("", "%y")),
        ("", ("", "")),
    ] {
        assert_eq!(typed(operand), expected, "{operand}");
    }
}

#[test]
fn values_that_are_read_are_neither_labels_nor_types() {
    for (line, expected) in [
        (
            "%1 = getelementptr %struct.pair, ptr %p, i64 %i",
            vec!["p", "i"],
        ),
        ("store i32 %x, ptr %p, align 4, !noalias !7", vec!["x", "p"]),
        (
            "%1 = insertvalue { ptr, i64 } %x, i64 %y, 1",
            vec!["x", "y"],
        ),
    ] {
        assert_eq!(instruction(line).locals().collect::<Vec<_>>(), expected);
    }
    let module = Module::parse(MODULE).unwrap();
    let switch = module.functions().next().unwrap().blocks[1]
        .terminator()
        .unwrap();
    assert_eq!(switch.locals().collect::<Vec<_>>(), ["1"]);
}

#[test]
fn a_changed_instruction_keeps_the_rest_of_its_line() {
    let mut instruction = instruction("%1 = call i32 @f() #1, !dbg !3 ; why");
    instruction.set_group(7).unwrap();
    instruction.add_attribute("convergent").unwrap();
    assert_eq!(
        instruction.source(),
        "  %1 = call i32 @f() convergent #7, !dbg !3 ; why\n"
    );
    instruction.set_operands(" i32 @g()").unwrap();
    assert_eq!(instruction.text(), "%1 = call i32 @g(), !dbg !3");
    instruction.replace("unclosed (").unwrap_err();
}

#[test]
fn one_instruction_becomes_several() {
    let mut module = Module::parse(MODULE).unwrap();
    let function = module.functions_mut().next().unwrap();
    let twice = |instruction: &Instruction<'_>| match instruction.opcode() {
        Opcode::ICmp => Ok(Some(vec![
            Instruction::new("fence acquire")?,
            Instruction::new("fence release")?,
        ])),
        Opcode::Call => Ok(Some(Vec::new())),
        _ => Ok(None),
    };
    function.expand(twice).unwrap();
    let opcodes: Vec<_> = function.instructions().map(Instruction::opcode).collect();
    assert_eq!(opcodes[..3], [Opcode::Fence, Opcode::Fence, Opcode::Br]);
    assert!(!opcodes.contains(&Opcode::Call));
}

#[test]
fn a_head_is_changed_where_llvm_wants_it() {
    let mut module = Module::parse(MODULE).unwrap();
    let head = &mut module.functions_mut().next().unwrap().head;
    head.add_attribute("noinline").unwrap();
    head.set_group(5).unwrap();
    head.remove_section().unwrap();
    assert_eq!(head.attributes(), "unnamed_addr noinline #5 !dbg !7");
    let text = "define void @g() section \"s\" {\n  ret void\n}\n";
    let mut module = Module::parse(text).unwrap();
    let head = &mut module.functions_mut().next().unwrap().head;
    head.set_group(5).unwrap();
    head.remove_section().unwrap();
    assert_eq!(head.text(), "define void @g() #5 {");
}

#[test]
fn positions_lead_outwards() {
    let module = Module::parse(MODULE).unwrap();
    let frame = |line, column| Frame {
        function: "_k",
        file: "src/lib.rs",
        folder: "/d",
        line,
        column,
    };
    assert_eq!(Nodes::of(&module).frames("9"), [frame(3, 5), frame(30, 1)]);
    assert_eq!(Nodes::of(&module).frames("12"), []);
    let circle = MODULE.replace("line: 30,", "line: 30, inlinedAt: !9,");
    assert!(
        !Nodes::of(&Module::parse(&circle).unwrap())
            .frames("9")
            .is_empty()
    );
}

#[test]
fn what_is_not_known_is_quoted() {
    for (old, new) in [
        ("icmp eq i32 %1, 0,", "newcmp eq i32 %1, 0,"),
        ("i32 %1, 0, !dbg", "i32 (%1, 0, !dbg"),
        ("i32 %1, 0, !dbg", "i32 %1, \"0, !dbg"),
        ("  ret void", "  %w = add i32 1, 2"),
        ("  ret void", "  ret void\n  ret void"),
        ("bb1:    ", "bb1    "),
        ("target triple", "targets triple"),
        ("%struct.float2 =", "%float2 ="),
        ("attributes #0 =", "attributes 0 ="),
        ("%3 = icmp", "%struct.x = icmp"),
        ("global ptr addrspace(3)", "variable ptr"),
        ("(ptr, i32) #0", "ptr, i32 #0"),
        ("= tail call fast", "= tail fast"),
    ] {
        let text = MODULE.replacen(old, new, 1);
        assert_ne!(text, MODULE, "{old}");
        let error = Module::parse(&text).unwrap_err();
        assert!(
            matches!(error, CudaBuilderError::UnexpectedIr { .. }),
            "{error}"
        );
    }
    for text in [
        "define void @f() {\n  ret void\n",
        "define void @f() {\na:\nb:\n  ret void\n}\n",
    ] {
        Module::parse(text).unwrap_err();
    }
}

mod hostile {
    use proptest::prelude::*;

    use super::*;
    use crate::ir::digest;

    /// Lines that passes look for, mixed at random.
    const LINES: &str = "  %a = atomicrmw add ptr %p, i32 1 syncscope(\"block\") seq_cst, align 4
  fence syncscope(\"singlethread\") acquire
  %b = frem float %a, 1.0
  %c = uitofp i128 %a to double
  %d = call i128 @llvm.fptosi.sat.i128.f32(float %b)
  %e = sext i1 %d to i64
  %g = addrspacecast ptr addrspace(3) @s to ptr
  store ptr %g, ptr %p
  %h = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %i = phi i64 [ 0, %b ], [ %j, %c ]
  %j = add i64 %i, %h
  call void asm \"bar.sync 0;\", \"\"(), !dbg !9
  call void asm \"{\\0A.reg .u64 g;\\0Acvta.to.global.u64 g, ${0};\\0A}\", \"l\"(ptr %p)
  switch i32 %a, label %b [
  ]
  unreachable
}
define void @_RNvXs_NtNtCs0_4core3fmt3numm(ptr %p) #0 section \"cuda_std.kernel.max_threads=1\" {
@t = global [4 x i8] undef, section \"cuda_std.shared\"
attributes #1 = { noinline }
b:
";

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[ -~\n]{0,200}") {
            digest(&text);
        }

        #[test]
        fn mixed_lines_are_read_or_refused(lines in prop::collection::vec(0_usize..200, 0..40)) {
            let all: Vec<_> = MODULE.lines().chain(LINES.lines()).collect();
            let text: Vec<_> = lines.iter().map(|at| all[at % all.len()]).collect();
            digest(&text.join("\n"));
        }

        #[test]
        fn mixed_bodies_are_read_or_refused(lines in prop::collection::vec(0_usize..200, 0..20)) {
            let all: Vec<_> = LINES.lines().take(13).collect();
            let body: Vec<_> = lines.iter().map(|at| all[at % all.len()]).collect();
            digest(&format!("define void @f(ptr %p) {{\nb:\n{}\n  ret void\n}}\n", body.join("\n")));
        }

        #[test]
        fn a_damaged_module_is_read_or_refused(at in 0..MODULE.len(), length in 0_usize..9, new in "[ -~\n]{0,4}") {
            let mut text = MODULE.to_owned();
            let end = (at + length).min(text.len());
            text.replace_range(at..end, &new);
            digest(&text);
        }
    }
}
