//! A form that the emulator does not run refuses the kernels that reach it, and no others.

use crate::common::{module, parse, shape};
use ptx_emulator::{Emulator, InvalidLaunch, LaunchError, Module, ParseErrorKind};

/// The kernels that can run, and for each other one the line and form that refuse it.
fn kernels(module: &Module) -> (Vec<&str>, Vec<(&str, u32, String)>) {
    let (mut run, mut refused) = (Vec::new(), Vec::new());
    for kernel in module.entries() {
        match kernel.unsupported() {
            None => run.push(kernel.name()),
            Some(error) => match &error.kind {
                ParseErrorKind::Unsupported { form } => {
                    refused.push((kernel.name(), error.line, form.clone()));
                }
                other => panic!("{other:?}"),
            },
        }
    }
    (run, refused)
}

const GOOD: &str = "\n.visible .entry good() { ret; }";

#[test]
fn a_form_refuses_its_kernel_only() {
    let text = ".visible .entry bad(.param .u64 out) { .reg .b32 %r<9>; .reg .b64 %rd<3>;
        ld.param.u64 %rd0, [out];
        add.s32.foo %r0, %r1, %r2;
        tex.2d.v4.f32.s32 {%r0, %r1, %r2, %r3}, [nothing, {%r0, %r1}];
        ret; }";
    let module = module(&format!("{text}{GOOD}"));
    let refused = vec![("bad", 6, "add.s32.foo".to_owned())];
    assert_eq!(kernels(&module), (vec!["good"], refused));
    assert_eq!(module.entry("bad").expect("it is listed").params().len(), 1);
}

#[test]
fn a_launch_says_what_is_not_supported() {
    let text = ".visible .entry bad() { .reg .b32 %r<9>;\n add.s32.foo %r0, %r1, %r2; ret; }";
    let emulator = Emulator::new(crate::common::limits());
    let loaded = emulator.load(&module(&format!("{text}{GOOD}")));
    let loaded = loaded.expect("the module loads");
    let error = emulator.launch(&loaded, "bad", shape(1, 32, 0), &[]);
    let error = error.expect_err("it is refused");
    assert!(matches!(
        error,
        LaunchError::Invalid(InvalidLaunch::Unsupported { .. })
    ));
    assert_eq!(
        error.to_string(),
        "launch refused: kernel `bad` cannot run here: PTX line 5: unsupported: `add.s32.foo`; \
         the emulator does not know this form"
    );
    let good = emulator.launch(&loaded, "good", shape(1, 32, 0), &[]);
    good.expect("the other kernel runs");
}

#[test]
fn functions_refuse_the_kernels_that_reach_them() {
    let text = "
        .func bad() { .reg .b32 %r; add.s32.foo %r, %r, %r; ret; }
        .func between() { call bad, (); ret; }
        .func fine() { ret; }
        .visible .entry calls() { call between, (); ret; }
        .visible .entry takes() { .reg .b64 %rd; mov.u64 %rd, bad; ret; }
        .visible .entry avoids() { call fine, (); ret; }";
    let module = module(text);
    let form = || "add.s32.foo".to_owned();
    assert_eq!(
        kernels(&module),
        (
            vec!["avoids"],
            vec![("calls", 5, form()), ("takes", 5, form())]
        )
    );
}

#[test]
fn a_function_in_a_table_refuses_those_that_call_pointers() {
    let text = "
        .func bad() { .reg .b32 %r; add.s32.foo %r, %r, %r; ret; }
        .global .u64 table[1] = { bad };
        .visible .entry calls() { .reg .b64 %rd; ld.global.u64 %rd, [table];
            type: .callprototype () _ (); call (), %rd, (), type; ret; }";
    let module = module(&format!("{text}{GOOD}"));
    let refused = vec![("calls", 5, "add.s32.foo".to_owned())];
    assert_eq!(kernels(&module), (vec!["good"], refused));
}

#[test]
fn variables_refuse_the_kernels_that_name_them() {
    for (declaration, form) in [
        (".const[3] .b32 image;", ".const[3]"),
        (
            ".global .align 1024 .b32 image;",
            ".align 1024 outside of shared memory",
        ),
        (".tex .u64 image;", ".tex"),
        (".global .v4 .f32 image[4] = { 1.0, 2.0 };", ".v4"),
        (
            ".shared .b32 other; .global .u64 image = generic(other);",
            "generic() of a shared variable",
        ),
    ] {
        let text = format!(
            "{declaration}
             .visible .entry bad() {{ .reg .b64 %rd; mov.u64 %rd, image; ret; }}{GOOD}"
        );
        let refused = vec![("bad", 4, form.to_owned())];
        assert_eq!(kernels(&module(&text)), (vec!["good"], refused), "{text}");
    }
}

#[test]
fn what_a_header_says_refuses_the_kernel() {
    for (header, form) in [
        ("(.param .texref image)", ".texref"),
        ("() .strange 3", ".strange"),
    ] {
        let text = format!(
            ".visible .entry bad{header} {{ .reg .b32 %r<9>; mov.b32 {{%r1, %r2}}, %r3; {{ ret; }} }}{GOOD}"
        );
        let refused = vec![("bad", 4, form.to_owned())];
        assert_eq!(kernels(&module(&text)), (vec!["good"], refused), "{text}");
    }
    let text = ".func (.reg .b32 %r) bad (.reg .b32 %r);
        .func (.reg .b32 %r) bad (.reg .b32 %r) { ret; }
        .visible .entry calls() { .reg .b64 %rd; mov.u64 %rd, bad; ret; }";
    let refused = vec![("calls", 5, ".reg parameter".to_owned())];
    let module = module(&format!("{text}{GOOD}"));
    assert_eq!(kernels(&module), (vec!["good"], refused));
}

#[test]
fn what_is_not_ptx_stays_an_error_of_the_module() {
    let refused = ".reg .b32 %r<9>; foo.b32 %r0, {1";
    for (body, message) in [
        (
            format!("{refused}; ret;"),
            "expected `;`, found the end of the text",
        ),
        (format!("{refused}}} ret"), "expected `;`, found `}`"),
        (
            format!("{refused}}}; ld.b32 5 5;"),
            "expected `;`, found `5`",
        ),
    ] {
        let error = parse(&format!(".visible .entry bad() {{ {body} }}{GOOD}"));
        let error = error.err().expect("it is refused");
        assert_eq!(
            (error.kind, error.message.as_str()),
            (ParseErrorKind::Syntax, message)
        );
    }
    // Nor does another function's form hide a mistake.
    let text = ".func f() { foo.b32 1; } .visible .entry k() { add.s32 %r, %r, %r; }";
    assert_eq!(
        parse(text).err().expect("a mistake").message,
        "`%r` is not declared"
    );
}
