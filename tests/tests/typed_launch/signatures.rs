//! PTX of another build is an error at the first `on`, never a launch that reads past its
//! arguments.

use blockwise::{Device, DeviceKind, Error, PtxFile};
use blockwise_ops::{LaunchError, Options, reverse};
use blockwise_tests::devices::devices;
use blockwise_tests::ptx::file;
use kernels::raw::reverse::reverse_static_raw;
use ndarray::array;

/// The kernel that is varied: `(input: &[u32], output: *mut u32)`.
const KERNEL: &str = "reverse_static_raw_u32";

/// Its PTX, without other kernels and their records.
fn good() -> String {
    const ENTRY: &str = ".visible .entry ";
    let text = file("kernels", (8, 0)).text;
    let mut parts = text.split(ENTRY);
    let mut alone = parts.next().expect("what comes before").to_owned();
    for part in parts {
        match part.starts_with(&format!("{KERNEL}(")) {
            true => alone = alone + ENTRY + part,
            // What comes after the body.
            false => alone += part.rsplit_once("\n}\n").map_or("", |(_, after)| after),
        }
    }
    let own = format!(" {KERNEL}__signature[");
    let lines =
        (alone.lines()).filter(|line| !line.contains("__signature[") || line.contains(&own));
    alone = lines.collect::<Vec<_>>().join("\n") + "\n";
    alone
}

/// Every line that declares the record as `change` makes it of the signature; without it, `None`.
fn with_record(ptx: &str, change: impl Fn(&str) -> Option<String>) -> String {
    let name = format!("{KERNEL}__signature[");
    let signature = reverse_static_raw::<u32>::entry().record;
    let mut found = 0;
    let lines = ptx.lines().map(|line| {
        if !line.contains(&name) {
            return line.to_owned();
        }
        found += 1;
        let Some(changed) = change(signature) else {
            return String::new();
        };
        let bytes: Vec<_> = changed.bytes().map(|byte| byte.to_string()).collect();
        let (len, bytes) = (changed.len(), bytes.join(", "));
        format!(".visible .global .align 1 .b8 {name}{len}] = {{{bytes}}};")
    });
    let changed = lines.collect::<Vec<_>>().join("\n") + "\n";
    assert_eq!(found, 1, "no record in {ptx}");
    changed
}

/// With parameters put before the kernel's own.
fn with_parameters(ptx: &str, parameters: &str) -> String {
    let head = format!(".entry {KERNEL}(");
    assert!(ptx.contains(&head), "{ptx}");
    ptx.replace(&head, &format!("{head}\n{parameters}"))
}

/// Every device finds the kernel, or says what is wrong with it: `parts` are in the message.
#[track_caller]
fn check(ptx: &str, parts: Option<&[&str]>) {
    for device in devices() {
        let name = &device.properties().name;
        // SAFETY: nothing is launched.
        let module = unsafe { device.load_ptx(ptx, "another/build.ptx") };
        let module = module.unwrap_or_else(|error| panic!("{name}: {error}"));
        let kernel = reverse_static_raw::<u32>::on(&module);
        let (error, parts) = match (kernel.err(), parts) {
            (None, None) => continue,
            (Some(error), Some(parts)) => (error, parts),
            (error, _) => panic!("{name}: {error:?}, expected {parts:?}"),
        };
        assert!(matches!(error, Error::Signature { .. }), "{error:?}");
        let text = error.to_string();
        for part in [KERNEL, "another/build.ptx"].iter().chain(parts) {
            assert!(text.contains(part), "{name}: no `{part}` in: {text}");
        }
    }
}

#[test]
fn the_same_signature_is_found() {
    check(&good(), None);
    check(&with_record(&good(), |same| Some(same.to_owned())), None);
}

#[test]
fn one_parameter_more() {
    let ptx = with_record(&good(), |own| Some(own.replacen('\n', ", len: usize\n", 1)));
    check(&ptx, Some(&["len: usize", "3 parameters there and 2 here"]));
}

#[test]
fn one_parameter_less() {
    let ptx = with_record(&good(), |own| {
        Some(own.replacen(", output: *mut u32", "", 1))
    });
    check(&ptx, Some(&["1 parameters there and 2 here"]));
}

#[test]
fn another_order() {
    let ptx = with_record(&good(), |own| {
        let (signature, rest) = own.split_once('\n')?;
        let (first, second) = signature.split_once(", ")?;
        Some(format!("{second}, {first}\n{rest}"))
    });
    let parts = ["parameter 1 is `output: *mut u32` there and `input: &[u32]` here"];
    check(&ptx, Some(&parts));
}

#[test]
fn another_type() {
    let ptx = with_record(&good(), |own| Some(own.replace("*mut u32", "*mut f32")));
    let parts = ["parameter 2 is `output: *mut f32` there and `output: *mut u32` here"];
    check(&ptx, Some(&parts));
}

/// PTX of another compiler: the number of its parameters and their sizes count.
#[test]
fn without_a_record_the_parameters_of_the_ptx_are_compared() {
    let bare = with_record(&good(), |_| None);
    check(&bare, None);
    let more = with_parameters(&bare, "\t.param .u64 more,");
    check(&more, Some(&["8, 8, 8, 8 bytes", "8, 8, 8 bytes"]));
    let wide = bare.replace(".param .u64 _param_1", ".param .align 8 .b8 _param_1[16]");
    assert_ne!(wide, bare);
    check(&wide, Some(&["8, 16, 8 bytes", "8, 8, 8 bytes"]));
}

/// Where other kernels have a record, one without was not made by this build.
#[test]
fn a_kernel_without_a_record_beside_others_is_refused() {
    let other = ".visible .global .align 1 .b8 other__signature[2] = {97, 58};\n";
    let beside = with_record(&good(), |_| None) + other;
    for device in devices() {
        // SAFETY: nothing is launched.
        let module = unsafe { device.load_ptx(&beside, "another/build.ptx") }.unwrap();
        let error = reverse_static_raw::<u32>::on(&module).unwrap_err();
        assert!(matches!(error, Error::Contract { .. }), "{error:?}");
        assert!(
            error.to_string().contains("it has no record there"),
            "{error}"
        );
    }
}

/// A record that is right hides no parameters that are not.
#[test]
fn a_right_record_over_other_parameters() {
    let more = with_parameters(&good(), "\t.param .u32 more,");
    check(&more, Some(&["4, 8, 8, 8 bytes"]));
}

/// A file in the place of embedded PTX is compared as well, and operations hand the error on.
#[test]
fn a_stale_file_is_refused_by_the_operations_that_use_it() {
    let options = Options::of(&reverse::STATIC_RAW);
    let stale = with_record(&good(), |own| Some(own.replace("&[u32]", "&[i32]")));
    for device in devices() {
        // One of its own: the others keep their kernels.
        let device = match device.properties().kind {
            DeviceKind::Cuda => Device::gpu(0).unwrap(),
            _ => Device::emulator(),
        };
        let run = || reverse(&device, array![1_u32, 2].view(), &options);
        assert_eq!(run().unwrap(), array![2, 1]);
        let file = |text: &str| PtxFile {
            origin: "old/kernels.sm_80.ptx".to_owned(),
            target: 80,
            text: text.to_owned(),
        };
        // SAFETY: the kernel is that of this program; one of the two files says otherwise and is to
        // be refused.
        unsafe { device.replace_kernels("blockwise_kernels", file(&stale)) };
        let error = run().unwrap_err();
        let LaunchError::Device(Error::Signature { origin, .. }) = &error else {
            panic!("{error:?}");
        };
        assert_eq!(origin, "old/kernels.sm_80.ptx");
        let part = "parameter 1 is `input: &[i32]` there and `input: &[u32]` here";
        assert!(error.to_string().contains(part), "{error}");
        // SAFETY: as above.
        unsafe { device.replace_kernels("blockwise_kernels", file(&good())) };
        assert_eq!(run().unwrap(), array![2, 1]);
    }
}
