//! The names and the records of entry points.

use cuda_std::launch::Plain;

use crate::kernels::{
    Affine, Aligned, Min, Padded, Sum, Wrapped, absent, absent_twin, everything, fold_tree, forms,
    in_packs, letters, renamed, safe, saxpy, words,
};
use crate::support::{Device, Error};

#[test]
fn names_are_the_kernels_or_those_of_a_pattern() {
    assert_eq!(saxpy::<f64>::entry().name, "saxpy_f64");
    assert_eq!(safe::entry().name, "safe");
    assert_eq!(renamed::entry().name, "other_name");
    assert_eq!(fold_tree::<f32, Sum, -4>::entry().name, "summ4_tree_f32");
    assert_eq!(fold_tree::<f64, Min, 8>::entry().name, "min8_tree_f64");
    assert_eq!(words::<u32, 4>::entry().name, "words_u32_LANES");
    assert_eq!(words::<[f32; 2], 8>::entry().name, "words_f32_2_LANES_2");
    assert_eq!(words::<(u8, [i8; 3]), 3>::entry().name, "words_u8_i8_3_3");
    assert_eq!(letters::<u8, u16, u32>::entry().name, "letters_u8_u16_u32");
}

#[test]
fn records_say_every_parameter() {
    assert_eq!(
        saxpy::<f64>::entry().signature,
        "a: f64, x: &[f64], y: &mut [f64]"
    );
    assert_eq!(saxpy::<f64>::entry().parameter_bytes, [8; 5]);
    assert_eq!(saxpy::<f32>::entry().parameter_bytes, [4, 8, 8, 8, 8]);
    assert_eq!(
        fold_tree::<f32, Sum, -4>::entry().signature,
        "input: &[f32], partials: *mut f64"
    );
    assert_eq!(
        words::<u32, 4>::entry().signature,
        "value: u32, all: &[[u8;4]]"
    );
    assert_eq!(
        words::<(u8, [i8; 3]), 3>::entry().signature,
        "value: (u8,[i8;3])(4), all: &[[u8;3]]"
    );
    assert_eq!(absent::entry().signature, "");
    assert_eq!(
        safe::entry().signature,
        "n: u32, x: &[f32], y: Out<Affine{gain:f32,bias:[i16;2]}>"
    );
    assert_eq!(
        everything::entry().signature,
        "parameter_0: (f32,f32)(8), padded: Padded(16), nothing: ()(0), affine: Affine{gain:f32,bias:[i16;2]}, option: Option<&u32>(8), \
         reference: &[u32;3], text: &str, raw: *const [u8], raw_mut: *mut [u16], pointer: *const i64, pointer_mut: *mut [f32;2], \
         function: fn(u32,&u8)->u32(8), atomic: &AtomicU32(4), flag: bool(1), type: u8"
    );
    assert!(
        everything::entry().kernels.is_none(),
        "this package embeds none"
    );
}

#[test]
fn records_say_the_contract_after_the_signature() {
    let lines = |record: &'static str| -> Vec<&str> { record.lines().skip(1).collect() };
    let record = safe::entry().record;
    assert_eq!(record.lines().next(), Some(safe::entry().signature));
    let lines_of_safe = lines(record);
    let (kernel, rest) = lines_of_safe.split_first().unwrap();
    let hash = kernel.strip_prefix("kernel safe ").unwrap();
    assert!(hash.len() == 16 && u64::from_str_radix(hash, 16).is_ok());
    assert_eq!(
        rest,
        [
            "require (== (len 1) (len 2))",
            "require (> (value 0) 1)",
            "require (>= (shared_bytes) (* 4 (block x)))",
            "require (== (grid y) 1)",
        ]
    );
    assert!(lines(saxpy::<f32>::entry().record)[0].starts_with("kernel unsafe "));
    assert_eq!(
        lines(renamed::entry().record)[1..],
        ["bounds 64 2", "starts early"]
    );
    assert_eq!(
        lines(in_packs::entry().record)[1..],
        [
            "implied (&& (== (grid y) 1) (== (grid z) 1))",
            "implied (&& (== (block y) 1) (== (block z) 1))",
            "require (is_aligned_to 0 16)",
            "require (is_aligned_to 1 (* 4 (as usize (block x))))",
        ]
    );
    // A plain type's name has its layout.
    let types = lines(everything::entry().record)
        .into_iter()
        .filter(|line| line.starts_with("type "));
    assert_eq!(
        types.collect::<Vec<_>>(),
        [
            "type parameter_0 8/4",
            "type padded 16/8",
            "type nothing 0/1",
            "type option 8/8",
            "type function 8/8",
            "type atomic 4/4",
            "type flag 1/1",
        ]
    );
    assert!(
        safe::entry().place.ends_with("kernels.rs:159"),
        "{}",
        safe::entry().place
    );
    // Two functions are told apart by their words.
    assert_ne!(
        lines(absent::entry().record),
        lines(absent_twin::entry().record)
    );
}

#[test]
fn each_form_of_a_rule_stands_in_the_record() {
    let rules = |record: &'static str| -> Vec<&str> {
        let rules = record
            .lines()
            .filter_map(|line| line.strip_prefix("require "));
        rules.collect()
    };
    assert_eq!(
        rules(forms::<f64, 4>::entry().record),
        [
            "(|| (is_empty 0) (! (is_multiple_of (len 0) (const \"N\" 4usize))))",
            "(&& (== (as i32 (rows 1)) (const \"T::LIMIT\" -2i32)) (host))",
            "(== (checked_mul (rows 1) (cols 1)) (some (len 0)))",
            "(is_some (checked_add (value 2) 1))",
            "(&& (&& (== (block x) (as u32 (const \"LANES\" 4usize))) (== (block y) 1)) (== (grid z) 1))",
            "(&& (&& (== (grid x) 1) (== (grid y) 2)) (== (grid z) 1))",
            "(<= (value 2) (<< 1 29))",
            "(== (value 3) true)",
            "(== (value 3) (const \"SET.1\" true))",
            "(< (as u32 (block *)) 64)",
            "(>= (const \"size_of::<T>()\" 8usize) 4)",
            "(host)",
        ]
    );
}

#[test]
fn names_of_plain_types_say_their_layout() {
    assert_eq!(Affine::NAME, "Affine{gain:f32,bias:[i16;2]}");
    assert_eq!(
        Aligned::NAME,
        "Aligned{0:Affine{gain:f32,bias:[i16;2]},1:u64}@16"
    );
    assert_eq!(Wrapped::NAME, "Wrapped{0:u64}");
    assert_eq!(<[[u8; 10]; 1024]>::NAME, "[[u8;10];1024]");
    assert_eq!(<[Wrapped; 0]>::NAME, "[Wrapped{0:u64};0]");
    assert_eq!(size_of::<Padded>(), 16);
}

#[test]
fn a_kernel_that_is_not_there_is_the_targets_error() {
    let device = Device::default();
    assert_eq!(absent::on(&device).unwrap_err(), Error::Missing);
}
