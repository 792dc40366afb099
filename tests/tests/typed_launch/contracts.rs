//! Kernels of which the two builds saw different things: each is an error at the first `on`, which
//! names the kernel, its place and what differs.

use blockwise::{Error, Module};
use device_api as k;

use super::benches;

#[track_caller]
fn check<T: std::fmt::Debug>(kernel: &str, found: Result<T, Error>, parts: &[&str]) {
    let error = found.expect_err(kernel);
    let text = error.to_string();
    for part in [kernel].iter().chain(parts) {
        assert!(text.contains(part), "no `{part}` in: {text}");
    }
    match &error {
        Error::Contract { place, .. } => {
            let (file, line) = place.rsplit_once(':').unwrap();
            let is_there = ["contracts.rs", "builds.rs"]
                .iter()
                .any(|name| file.ends_with(name))
                && line.parse::<u32>().unwrap() > 1;
            assert!(is_there && text.contains(place), "{text}");
        }
        Error::Signature { .. } | Error::UnknownKernel { .. } => {}
        other => panic!("{other:?}"),
    }
    assert!(error.hint().is_some());
}

macro_rules! refused {
    ($module:expr; $($kernel:ident $(::<$($argument:ty),*>)?: $($part:expr),+;)*) => {$(
        check(stringify!($kernel), k::$kernel$(::<$($argument),*>)?::on($module), &[$($part),+]);
    )*};
}

#[test]
fn rules_that_differ_are_refused_with_both() {
    for (_, module) in benches() {
        refused! { &module;
            rule_of_the_device: "rule 1 is `x.len() == y.len()` there and absent here";
            rule_more: "rule 2 is `!y.is_empty()` there and absent here";
            rule_weaker: "`(x.len() == y.len()) || (x.len() == 1)` there", "`(x.len() == y.len()) && (x.len() == 1)` here";
            rule_of_ones_own: "a rule that only the host checks differs";
            rule_constant: "rule 1 is `x.len() == N`", "`N` is 4usize there and 8usize here";
            rule_table: "`TABLE[1].1` is 4usize there and 8usize here";
            rule_associated::<u32>: "`T::LIMIT` is 4u32 there and 8u32 here";
            rule_block: "2i32 there and 3i32 here";
            rule_float: "`SCALE` is 0x3e800000f32 there and 0x3f000000f32 here";
            rule_cast: "`y.len() as u8 == 3` there", "as u32";
            rule_of_a_macro: "`N` is 4usize there and 8usize here";
            macro_of_a_build: "rule 1 is `y.len() >= 2` there and `y.len() >= 1` here";
            rule_made: "`MADE` is 5usize there and 9usize here";
            rule_of_another_crate: "`device_limits::LIMIT` is 16usize there and 1024usize here";
            grid_in_a_type: "what the types ask of the launch is `(grid.y == 1) && (grid.z == 1)` there and absent here";
            rule_included: "`N` is 4usize there and 8usize here";
        }
        let found = k::rule_instance::<{ k::N }>::on(&module);
        check(
            "rule_instance_N",
            found,
            &["`COUNT` is 4usize there and 8usize here"],
        );
    }
}

#[test]
fn lengths_layouts_and_definitions_that_differ_are_refused() {
    for (_, module) in benches() {
        refused! { &module;
            length_constant: "the length of `tile` is `N` there and `N` here, where `N` is 4usize there and 8usize here";
            length_literal: "the length of `tile` is `1024` there and `1` here";
            array_constant: "the shared array `tile` has 16 bytes aligned to 4 there and 32 bytes aligned to 4 here";
            block_constant: "`block: &mut Block<4,1,1>` there and `block: &mut Block<8,1,1>` here";
            bounds_of_a_build: "`max_threads` and `min_blocks` are 64 1 there and 128 1 here";
            elements_of_a_build: "`y: Out<f64>` there and `y: Out<f32>` here";
            alignment_of_a_build: "@16";
            raw_of_a_build: "the type of `raw` has 8 bytes aligned to 8 there and 8 bytes aligned to 4 here";
            scratch_of_a_build: "the shared array `scratch` has 512 bytes aligned to 8 there and 256 bytes aligned to 4 here";
            fields_of_a_build: "Fields{always:u32,sometimes:u32}` there", "Fields{always:u32}";
            map_of_a_build: "the map of `y` is Strided<4> there and Strided<8> here";
            tile_of_a_build: "the map of `c` is 4 8 there and 8 8 here";
            two_functions: "two functions have this name";
            safe_on_the_host: "the function is unsafe there and safe here";
            host_alone: "has no kernel `host_alone`";
        }
    }
}

fn written(module: &Module, launch: impl Fn(&Module, &mut blockwise::Buffer<u32>)) -> Vec<u32> {
    let (device, _) = benches().remove(0);
    let mut y = device.filled::<u32>(3, 0).unwrap();
    launch(module, &mut y);
    y.to_vec().unwrap()
}

/// What no text shows: the same words mean something else in each build.
#[test]
fn the_same_words_with_other_meanings_are_refused() {
    for (_, module) in benches() {
        refused! { &module;
            rule_of_a_profile: "`CHECKED` is 4usize there and 16usize here";
            rule_of_a_size: "`size_of::<Sized>()` is 16usize there and 8usize here";
            rule_of_a_discriminant: "`LAST` is 2usize there and 1usize here";
            rule_of_a_provided_constant: "is 8usize there and 4usize here";
            elements_of_an_associated_type: "`x: &[u64]` there and `x: &[u32]` here";
            array_of_a_size: "the shared array `tile` has 64 bytes aligned to 4 there and 32 bytes aligned to 4 here";
        }
        // What is no constant is the host's alone.
        if let Err(error) = k::rule_of_a_table::on(&module) {
            assert!(error.to_string().contains("there and"), "{error}");
        }
    }
    for (device, module) in benches() {
        let kernel = k::rules_for_the_host::on(&module)
            .unwrap()
            .grid(1)
            .block(32);
        let mut y = device.filled::<u32>(3, 0).unwrap();
        let x = |len| device.upload(&vec![6_u32; len]).unwrap();
        for (len, rule) in [(3, "needs x.len() > (if"), (5, "needs { const K")] {
            let refused = kernel.launch(&x(len), &mut y).unwrap_err().to_string();
            assert!(refused.contains(rule), "{refused}");
        }
        kernel.launch(&x(6), &mut y).unwrap();
        assert_eq!(y.to_vec().unwrap(), [6; 3]);
    }
}

/// `bool` and `char` are values of safe kernels, also in rules.
#[test]
fn truth_and_letters_are_values() {
    for (device, module) in benches() {
        let kernel = k::said::on(&module).unwrap().grid(1).block(32);
        let mut y = device.filled::<u32>(3, 0).unwrap();
        for letter in ['a', 'ß', '\u{10FFFF}'] {
            kernel.launch(true, letter, &mut y).unwrap();
            assert_eq!(y.to_vec().unwrap(), [0, 1, 2].map(|i| letter as u32 + i));
        }
        kernel.launch(false, 'ß', &mut y).unwrap();
        assert_eq!(y.to_vec().unwrap(), [0; 3]);
        for (flag, letter, rule) in [(true, 'x', "letter != 'x'"), (false, 'a', "letter == 'ß'")] {
            let refused = kernel.launch(flag, letter, &mut y).unwrap_err().to_string();
            assert!(refused.contains(rule), "{refused}");
        }
    }
}

#[test]
fn names_that_rules_use_are_ordinary_where_no_rule_uses_them() {
    let (_, module) = benches().remove(0);
    let words = written(&module, |module, y| {
        let kernel = k::words_as_names::on(module).unwrap().grid(1).block(32);
        kernel.launch(2, 3, &mut *y).unwrap();
        let refused = kernel.launch(1, 3, y).unwrap_err().to_string();
        assert!(refused.contains("needs shared > 1"), "{refused}");
    });
    assert_eq!(words, [37; 3]);
    let numbers = written(&module, |module, y| {
        let kernel = k::grid_as_a_number::on(module).unwrap().grid(1).block(32);
        kernel.launch(7, 8, 9, y).unwrap();
    });
    assert_eq!(numbers, [24; 3]);
}

#[test]
fn a_rule_for_the_host_alone_is_the_hosts() {
    for (device, module) in benches() {
        let kernel = k::rule_of_the_host::on(&module).unwrap().grid(1).block(32);
        let mut y = device.filled::<u32>(3, 0).unwrap();
        let (short, long) = (
            device.filled::<u32>(9, 0).unwrap(),
            device.filled::<u32>(10, 0).unwrap(),
        );
        let refused = kernel.launch(&short, &mut y).unwrap_err().to_string();
        assert!(refused.contains("needs x.len() > made()"), "{refused}");
        kernel.launch(&long, &mut y).unwrap();
        assert_eq!(y.to_vec().unwrap(), [10; 3]);
    }
}

#[test]
fn items_may_have_the_names_of_generated_code() {
    let named = k::Named {
        two: [0, 10],
        one: [100],
    };
    let written = written(&benches().remove(0).1, |module, y| {
        let kernel = k::names_of_generated_code::on(module).unwrap();
        let kernel = kernel.grid(1).block(32);
        kernel.launch(4, named, &mut *y).unwrap();
        for n in [2, 5] {
            assert!(kernel.launch(n, named, &mut *y).is_err(), "{n}");
        }
    });
    assert_eq!(written, [115; 3]);
}

#[test]
fn items_beside_a_kernel_are_not_caught_by_generated_code() {
    macro_rules! check {
        ($module:ident, $mine:ident, $tiled:ident, $of_many:ident) => {
            for (device, module) in benches() {
                use k::names::$module as beside;
                let x = device.upload(&[1_u32, 2, 3]).unwrap();
                let mut y = device.filled::<u32>(3, 0).unwrap();
                let kernel = beside::$mine::on(&module).unwrap().grid(1).block(32);
                let two = beside::Two(1, 2);
                kernel.launch(3, two, &x, (&x, 3, 1), &mut y).unwrap();
                assert_eq!(y.to_vec().unwrap(), [217, 218, 219]);
                for (n, rule) in [(1, "n > 1"), (9, "(1..9).contains(&n)")] {
                    let refused = kernel.launch(n, two, &x, (&x, 3, 1), &mut y);
                    assert!(refused.unwrap_err().to_string().contains(rule));
                }
                let tiled = beside::$tiled::on(&module).unwrap().grid(1);
                tiled.launch(&x, &mut y).unwrap();
                assert_eq!(y.to_vec().unwrap(), [2, 3, 4]);
                let many = beside::$of_many::<u32>::on(&module).unwrap();
                let many = many.clone().covering(3).unwrap();
                many.launch(&x, &mut y).unwrap();
                assert_eq!(y.to_vec().unwrap(), [1, 2, 3]);
                assert!(format!("{many:?}").contains(stringify!($of_many)));
            }
        };
    }
    check!(
        structs_,
        mine_beside_structs,
        tiled_beside_structs,
        many_beside_structs
    );
    check!(
        constants_,
        mine_beside_constants,
        tiled_beside_constants,
        many_beside_constants
    );
    check!(
        statics_,
        mine_beside_statics,
        tiled_beside_statics,
        many_beside_statics
    );
    check!(
        functions_,
        mine_beside_functions,
        tiled_beside_functions,
        many_beside_functions
    );
}

#[test]
fn items_of_generated_code_do_not_hide_those_beside_a_kernel() {
    use k::names::items;
    let kind = items::KernelParameterKind {
        one: [100],
        two: [0, 1000],
    };
    let written = written(&benches().remove(0).1, |module, y| {
        let kernel = items::beside_items::on(module).unwrap().grid(1);
        kernel.launch(kind, [0, 0, 10_000], y).unwrap();
    });
    assert_eq!(written, [11_136; 3]);
}

#[test]
fn a_word_of_a_rule_is_the_parameter_of_that_text() {
    for (device, module) in benches() {
        let kernel = k::words_of_a_macro::on(&module).unwrap().grid(1).block(32);
        let x = device.upload(&[10_u32, 20, 30, 40]).unwrap();
        let mut y = device.filled::<u32>(4, 0).unwrap();
        kernel.launch(&x, 3, &mut y).unwrap();
        assert_eq!(y.to_vec().unwrap(), [13, 23, 33, 43]);
        for (n, rule) in [(4, "n < x.len()"), (2, "(1..n).contains(&2)")] {
            let refused = kernel.launch(&x, n, &mut y).unwrap_err().to_string();
            assert!(refused.contains(rule), "{refused}");
        }
        let mut longer = device.filled::<u32>(5, 0).unwrap();
        let refused = kernel.launch(&x, 3, &mut longer).unwrap_err().to_string();
        assert!(refused.contains("x.len() >= y.len()"), "{refused}");
    }
}

#[test]
fn names_outside_of_ascii_launch_and_are_in_messages() {
    for (device, module) in benches() {
        let kernel = k::flächen::on(&module).unwrap().grid(1).block(32);
        let größen = [(2.0, 3.0), (4.0, 5.0)].map(|(länge, höhe)| k::Größe { länge, höhe });
        let größen = device.upload(&größen).unwrap();
        let mut y = device.filled::<f32>(2, 0).unwrap();
        kernel.launch(&größen, 1, &mut y).unwrap();
        assert_eq!(y.to_vec().unwrap(), [6.0, 20.0]);
        let refused = kernel.launch(&größen, 2, &mut y).unwrap_err().to_string();
        assert!(
            refused.contains("needs größen.len() > mindestens_größer"),
            "{refused}"
        );
    }
}
