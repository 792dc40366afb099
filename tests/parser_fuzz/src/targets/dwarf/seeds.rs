//! Inputs to begin with.

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let patch = |records: &[(u32, u8, u64)]| {
        let record = |&(at, what, value): &(u32, u8, u64)| {
            [&at.to_le_bytes()[..3], &[what], &value.to_le_bytes()].concat()
        };
        let records: Vec<Vec<u8>> = records.iter().map(record).collect();
        [vec![1], records.concat()].concat()
    };
    let text = "\u{2}.section .debug_abbrev {\n.b8 1,17,0,0,0,0\n}\n.section .debug_info {\n.b32 8\n\
        .b8 2,0\n.b32 .debug_abbrev\n.b8 8,1\n}\n";
    vec![
        small(),
        patch(&[]),
        patch(&[(3000, 0, 3), (9000, 4, 7)]),
        patch(&[(20_000, 3, 40), (30_000, 5, 200), (40_000, 6, 60_000)]),
        patch(&[(50_000, 7, 1), (60_000, 2, 1)]),
        text.as_bytes().to_vec(),
    ]
}

/// Bytes of sections with each kind of type and of place.
fn small() -> Vec<u8> {
    let number = |mut value: u64| {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    };
    let register = |name: &str| {
        let value = name
            .bytes()
            .fold(0, |value, byte| value << 8 | u64::from(byte));
        [vec![0x90], number(value)].concat()
    };
    let abbreviations: [&[u8]; 18] = [
        &[1, 0x11, 1],
        &[2, 0x2e, 1, 3, 8, 0x11, 1, 0x12, 1],
        &[3, 0x1d, 1, 0x11, 1, 0x12, 1, 0x59, 0xb, 0x57, 0xb],
        &[4, 0x34, 0, 3, 8, 0x49, 0x11, 2, 0xa],
        &[5, 0x05, 0, 3, 8, 0x49, 0x11, 0x1c, 7],
        &[6, 0x34, 0, 3, 8, 0x49, 0x11, 2, 6],
        &[7, 0x24, 0, 3, 8, 0x3e, 0xb, 0xb, 0xb],
        &[8, 0x13, 1, 3, 8, 0xb, 0xb],
        &[9, 0x0d, 0, 3, 8, 0x49, 0x11, 0x38, 0xb],
        &[10, 0x0f, 0, 0x49, 0x11],
        &[11, 0x01, 1, 0x49, 0x11],
        &[12, 0x21, 0, 0x37, 6],
        &[13, 0x04, 1, 3, 8, 0xb, 0xb],
        &[14, 0x28, 0, 3, 8, 0x1c, 0xd],
        &[15, 0x33, 1, 0x15, 0x11],
        &[16, 0x19, 1, 0x16, 0xb],
        &[17, 0x16, 0, 3, 0xe, 0x49, 0x11],
        &[18, 0x0b, 1, 0x11, 1, 0x12, 1],
    ];
    let mut table = abbreviations.map(|kind| [kind, &[0, 0]].concat()).concat();
    table.push(0);
    // References are of one byte: offsets in the unit, whose first entry is at 11.
    let mut unit = vec![2, 0, 0, 0, 0, 0, 8, 1];
    let add = |unit: &mut Vec<u8>, parts: &[&[u8]]| {
        let at = 4 + unit.len() as u8;
        unit.extend(parts.concat());
        at
    };
    let float = add(&mut unit, &[&[7], b"f32\0", &[4, 4]]);
    let int = add(&mut unit, &[&[7], b"u64\0", &[7, 8]]);
    let truth = add(&mut unit, &[&[7], b"bool\0", &[2, 1]]);
    let letter = add(&mut unit, &[&[7], b"char\0", &[0x10, 4]]);
    let pointer = add(&mut unit, &[&[10, float]]);
    let members: &[&[u8]] = &[
        &[8],
        b"&[f32]\0",
        &[16, 9],
        b"data_ptr\0",
        &[pointer, 0, 9],
        b"length\0",
        &[int, 8, 0],
    ];
    let slice = add(&mut unit, members);
    let array = add(&mut unit, &[&[11, float, 12, 3, 0, 0, 0, 0]]);
    let way = add(
        &mut unit,
        &[
            &[13],
            b"Way\0",
            &[1, 14],
            b"Up\0",
            &[0, 14],
            b"Down\0",
            &[1, 0],
        ],
    );
    // The discriminant is a member of the part itself.
    let part = 4 + unit.len() as u8 + 8;
    let option: &[&[u8]] = &[
        &[8],
        b"Maybe\0",
        &[8, 15, part + 2, 9],
        b"d\0",
        &[truth, 0, 16, 1, 9],
        b"Some\0",
        &[array, 0, 0, 0, 0],
    ];
    let option = add(&mut unit, option);
    let alias = add(&mut unit, &[&[17, 0, 0, 0, 0, option]]);
    let from_to = [1_u64, 5000].map(u64::to_le_bytes).concat();
    add(&mut unit, &[&[2], b"means\0", &from_to]);
    let variable = |name: &[u8], ty: u8, place: &[u8]| {
        [&[4], name, &[0, ty, place.len() as u8], place].concat()
    };
    let rd = register("%rd1");
    let halves = [
        register("%rd1"),
        vec![0x93, 8],
        register("%rd2"),
        vec![0x93, 8],
    ]
    .concat();
    let constant = [&[5], &b"first\0"[..], &[int], &64_u64.to_le_bytes()].concat();
    let list = [&[6], &b"scale\0"[..], &[float, 0, 0, 0, 0]].concat();
    let variables = [
        variable(b"thread", int, &rd),
        variable(b"x", slice, &halves),
        variable(b"way", way, &register("%r1")),
        variable(b"letter", letter, &register("%r2")),
        variable(b"maybe", alias, &rd),
        constant.clone(),
        list,
    ];
    unit.extend(variables.concat());
    // A block, and an inlined call.
    add(&mut unit, &[&[18], &from_to]);
    unit.extend(variable(b"point", array, &[0x03, 0, 0, 0, 0, 0, 0, 0, 0]));
    unit.push(0);
    add(&mut unit, &[&[3], &from_to, &[41, 28]]);
    unit.extend(variable(b"first", int, &[0x10, 7, 0x9f]));
    unit.extend([0, 0, 0]);
    let info = [&(unit.len() as u32).to_le_bytes()[..], &unit].concat();
    let place = register("%f1");
    let size = (place.len() as u16).to_le_bytes();
    let locations = [&from_to[..], &size, &place, &[0; 16]].concat();
    let sections = [table, info, locations, b"Alias\0k::Other\0".to_vec()];
    let mut seed = vec![0];
    for section in sections {
        seed.extend((section.len() as u16).to_le_bytes());
        seed.extend(section);
    }
    seed
}
