//! Debug information that no compiler writes: what it says of itself takes neither memory nor time
//! out of proportion.

use super::{Dwarf, Type};

/// Kinds of entries: a unit, structures, members, the two of variants, a base type, and one whose
/// name is in `.debug_str`.
const KINDS: [&[u8]; 7] = [
    &[1, 0x11, 1],
    &[2, 0x13, 1, 3, 8, 0xb, 6],
    &[3, 0x0d, 0, 3, 8, 0x49, 0x13, 0x38, 0xb],
    &[4, 0x33, 1],
    &[5, 0x19, 1],
    &[6, 0x24, 0, 3, 8, 0x3e, 0xb, 0xb, 0xb],
    &[7, 0x24, 0, 3, 0xe],
];

fn kinds() -> Vec<u8> {
    let ended = KINDS.iter().map(|kind| [*kind, &[0, 0]].concat());
    [ended.collect::<Vec<_>>().concat(), vec![0]].concat()
}

/// A unit with its kinds at an offset.
fn unit(kinds: u32, entries: &[u8]) -> Vec<u8> {
    let length = 7 + entries.len() as u32;
    let head = [
        &length.to_le_bytes()[..],
        &[2, 0],
        &kinds.to_le_bytes(),
        &[8],
    ]
    .concat();
    [&head, entries].concat()
}

fn read(kinds: &[u8], info: &[u8], strings: &[u8]) -> Result<Dwarf, String> {
    let sections = [("abbrev", kinds), ("info", info), ("str", strings)];
    let text = sections.map(|(name, bytes)| {
        let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
        format!(
            ".section .debug_{name}\n{{\n.b8 {}\n}}\n",
            numbers.join(",")
        )
    });
    Dwarf::read(&text.concat()).map(|dwarf| dwarf.expect("sections"))
}

fn structure(name: &str, size: u32) -> Vec<u8> {
    [&[2], name.as_bytes(), &[0], &size.to_le_bytes()].concat()
}

fn member(name: &str, ty: u32) -> Vec<u8> {
    [&[3], name.as_bytes(), &[0], &ty.to_le_bytes(), &[0]].concat()
}

/// The first entry of a unit after its own.
const FIRST: u32 = 12;

#[test]
fn a_variant_of_itself_has_an_end() {
    let variant = [vec![4, 5], member("Again", FIRST)].concat();
    let entries = [vec![1], structure("Maybe", 8), variant, vec![0; 4]].concat();
    // Without a discriminant, the only variant is the one for all other numbers.
    let dwarf = read(&kinds(), &unit(0, &entries), &[]).expect("it is read");
    let bytes = [Some(7); 8];
    assert_eq!(dwarf.parts(Type(1), &bytes), []);
    assert!(dwarf.text(Type(1), &bytes).starts_with("Again"));
}

#[test]
fn fields_that_overlap_are_not_copied_without_bound() {
    let large = structure("Large", 60_000);
    let fields: Vec<u8> = (0..3000)
        .flat_map(|at| member(&format!("f{at}"), FIRST))
        .collect();
    let entries = [
        vec![1],
        large,
        vec![0],
        structure("All", 60_000),
        fields,
        vec![0; 2],
    ];
    let dwarf = read(&kinds(), &unit(0, &entries.concat()), &[]).expect("it is read");
    let bytes = vec![Some(0); 60_000];
    let parts = dwarf.parts(Type(2), &bytes);
    let total: usize = parts.iter().map(|(.., bytes)| bytes.len()).sum();
    assert!(!parts.is_empty() && total <= 1 << 20, "{total}");
}

#[test]
fn a_line_is_short() {
    let mut entries = [&[1][..], &[6], b"u8\0", &[7, 1]].concat();
    let mut inner = FIRST;
    for name in ["A", "B", "C", "D", "E", "F", "G"] {
        let at = 11 + entries.len() as u32;
        entries.extend(structure(name, 8));
        for field in ["a", "b", "c", "d", "e", "f"] {
            entries.extend(member(&field.repeat(400), inner));
        }
        entries.push(0);
        inner = at;
    }
    entries.push(0);
    let dwarf = read(&kinds(), &unit(0, &entries), &[]).expect("it is read");
    let outermost = Type(2 + 6 * 7);
    assert_eq!(dwarf.type_name(outermost), "G");
    let line = dwarf.text(outermost, &[Some(1); 8]);
    assert!(line.starts_with("G { a") && line.contains('…'), "{line}");
    // The limit, and the names of those fields that were open.
    assert!(line.len() < 20_000, "{}", line.len());
}

#[test]
fn names_in_types_are_cut() {
    let entries = [vec![1], structure(&"ü".repeat(5000), 1), vec![0; 2]].concat();
    let dwarf = read(&kinds(), &unit(0, &entries), &[]).expect("it is read");
    let name = dwarf.type_name(Type(1));
    assert!(name.len() < 300 && name.ends_with('…'), "{name}");
}

#[test]
fn kinds_have_few_attributes() {
    for (attributes, is_read) in [(64, true), (65, false)] {
        let flags = [3, 0x19].repeat(attributes);
        let kinds = [&[1, 0x11, 0][..], &flags, &[0, 0, 0]].concat();
        let read = read(&kinds, &unit(0, &[1]), &[]);
        assert_eq!(read.is_ok(), is_read, "{attributes}");
    }
}

#[test]
fn units_share_tables_that_do_not_overlap() {
    let table = kinds();
    // Closes a block, which needs no kind.
    let empty = |at: u32| unit(at, &[0]);
    let two = [table.clone(), table.clone()].concat();
    let shared = [empty(0), empty(0), empty(table.len() as u32)].concat();
    assert!(read(&two, &shared, &[]).is_ok());
    let lengths = KINDS.iter().scan(0, |at, kind| {
        let here = *at;
        *at += kind.len() as u32 + 2;
        Some(here)
    });
    let overlap: Vec<u8> = lengths.flat_map(empty).collect();
    assert!(read(&table, &overlap, &[]).is_err());
}

#[test]
fn texts_are_shared_and_begin_where_others_end() {
    let strings = b"one\0two\0";
    for (at, is_read) in [(0, true), (4, true), (1, false), (7, false), (8, false)] {
        let named = [vec![1, 7, at, 0, 0, 0], vec![7, at, 0, 0, 0], vec![0]].concat();
        let read = read(&kinds(), &unit(0, &named), strings);
        assert_eq!(read.is_ok(), is_read, "{at}");
    }
}
