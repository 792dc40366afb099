//! Arguments of every alignment and size, and names that are not ASCII.

use ptx_emulator::testing::Launch;

use crate::common::{build, text};

const KERNELS: &str = "
    #[repr(C, align(32))] #[derive(Clone, Copy, Plain)] pub struct Wide(pub [f64; 4]);
    #[repr(C, align(64))] #[derive(Clone, Copy, Plain)] pub struct Wider { pub left: Wide, pub right: [u32; 8] }
    type Alias = Wide;

    #[kernel] pub fn aligned(byte: u8, wide: Wide, wider: Wider, two: [Alias; 2], Wide([first, ..]): Wide, mut out: Out<f64>) {
        for (i, out) in out.mine() {
            let of_wider = wider.left.0[i] + f64::from(wider.right[i]);
            *out = f64::from(byte) + wide.0[i] + of_wider + two[1].0[i] + first;
        }
    }
    #[kernel(instances(Wide))] pub fn generic<T: Plain + PartialEq + Default>(value: T, mut out: Out<T>) {
        for (_, out) in out.mine() { *out = value }
    }
    impl PartialEq for Wide { fn eq(&self, other: &Self) -> bool { self.0 == other.0 } }
    impl Default for Wide { fn default() -> Self { Wide([0.0; 4]) } }
    #[kernel(require(flag, letter as u32 > 1))] pub fn small(flag: bool, letter: char, mut out: Out<u32>) {
        for (_, out) in out.mine() { *out = if flag { letter as u32 } else { 0 } }
    }
    #[kernel(name = \"groesser\", require(größe > 1))] pub fn größer(größe: u32, mut näher: Out<u32>) {
        for (_, out) in näher.mine() { *out = größe }
    }
    #[kernel] pub fn of_bytes(table: [u8; 32_000], odd: [[u8; 2]; 279], mut out: Out<u8>) {
        for (i, out) in out.mine() { *out = table[31_990 + i] ^ odd[275 + i][1] }
    }
    #[kernel] pub fn looked_up(table: [u64; 1024], mut out: Out<u64>) {
        for (i, out) in out.mine() { *out = table[1000 + i] }
    }";

#[test]
fn arguments_of_every_alignment_and_size_arrive() {
    let ptx = text(build("arguments", KERNELS).unwrap());
    assert!(ptx.contains(".version 8.1\n"), "{ptx}");
    let launch = |kernel: &str| Launch::of(&ptx).unwrap().kernel(kernel).block(4);
    let mut out = [0.0_f64; 4];
    let mut wider = [0_u8; 64];
    for (i, bytes) in wider[..32].chunks_mut(8).enumerate() {
        bytes.copy_from_slice(&(0.5 * (i + 1) as f64).to_le_bytes());
    }
    for (i, bytes) in wider[32..].chunks_mut(4).enumerate() {
        bytes.copy_from_slice(&(100 * (i + 1) as u32).to_le_bytes());
    }
    let checked = launch("aligned")
        .value(1_u8)
        .value([10.0_f64, 20.0, 30.0, 40.0])
        .value(wider)
        .value([0.0_f64, 0.0, 0.0, 0.0, 1e3, 2e3, 3e3, 4e3])
        .value([1e4_f64, 0.0, 0.0, 0.0])
        .slice_mut(&mut out)
        .check();
    checked.unwrap().assert_clean();
    assert_eq!(out, [11_111.5, 12_222.0, 13_332.5, 14_443.0]);

    let mut copies = [[0.0_f64; 4]; 2];
    let checked = launch("generic_wide")
        .value([1.0_f64, 2.0, 3.0, 4.0])
        .slice_mut(&mut copies)
        .check();
    checked.unwrap().assert_clean();
    assert_eq!(copies, [[1.0, 2.0, 3.0, 4.0]; 2]);

    for (flag, expected) in [(1_u8, 'ß' as u32), (0, 0)] {
        let mut letters = [7_u32; 3];
        let small = launch("small").value(flag).value('ß' as u32);
        small
            .slice_mut(&mut letters)
            .check()
            .unwrap()
            .assert_clean();
        assert_eq!(letters, [expected; 3]);
    }
    let mut larger = [0_u32; 4];
    let checked = launch("groesser")
        .value(9_u32)
        .slice_mut(&mut larger)
        .check();
    checked.unwrap().assert_clean();
    assert_eq!(larger, [9; 4]);

    let table: [u64; 1024] = std::array::from_fn(|i| 3 * i as u64);
    let mut found = [0_u64; 4];
    let looked_up = launch("looked_up").value(table).slice_mut(&mut found);
    looked_up.check().unwrap().assert_clean();
    assert_eq!(found, [3000, 3003, 3006, 3009]);

    // To LLVM these would be 32,558 parameters.
    let bytes: [[[u8; 25]; 20]; 64] = std::array::from_fn(|i| {
        std::array::from_fn(|j| std::array::from_fn(|k| (7 * (500 * i + 25 * j + k)) as u8))
    });
    let odd: [[[u8; 2]; 9]; 31] =
        std::array::from_fn(|i| std::array::from_fn(|j| [0, (9 * i + j) as u8]));
    let mut found = [0_u8; 4];
    let of_bytes = launch("of_bytes").value(bytes).value(odd);
    let checked = of_bytes.slice_mut(&mut found).check();
    checked.unwrap().assert_clean();
    let expected = |i: usize| ((31_990 + i) * 7) as u8 ^ (275 + i) as u8;
    assert_eq!(found, std::array::from_fn(expected));
}

#[test]
fn more_than_cuda_passes_is_an_error_of_the_build() {
    let kernels = "#[kernel] pub fn large(table: [u64; 4096], mut out: Out<u64>) {
        for (i, out) in out.mine() { *out = table[i] }
    }
    #[kernel] pub fn fits(table: [u64; 4093], mut out: Out<u64>) {
        for (i, out) in out.mine() { *out = table[i] }
    }
    #[kernel] pub fn larger(by: u64, table: [u64; 5000], mut out: Out<u64>) {
        for (i, out) in out.mine() { *out = by + table[i] }
    }";
    let line = |kernel, bytes| {
        format!(
            "kernel `{kernel}`: its arguments take {bytes} bytes, and CUDA passes at most 32764: put what is large into a buffer"
        )
    };
    // Each of these is thousands of parameters to LLVM.
    let bytes = "#[repr(C)] #[derive(Clone, Copy, Plain)] pub struct Bytes { one: [u8; 20_000], two: [u8; 20_000] }
    const LARGE: usize = 40_000;
    #[kernel] pub fn of_bytes(table: [u8; 40_000], mut out: Out<u8>) {
        for (i, out) in out.mine() { *out = table[i] }
    }
    #[kernel] pub fn of_a_struct(table: Bytes, mut out: Out<u8>) {
        for (i, out) in out.mine() { *out = table.two[i] }
    }
    #[kernel] pub fn together(one: [u8; 20_000], two: [u8; 20_000], mut out: Out<u8>) {
        for (i, out) in out.mine() { *out = one[i] ^ two[i] }
    }
    #[kernel(instances({ LARGE }))] pub fn generic<const N: usize>(table: [u8; N], mut out: Out<u8>) {
        for (i, out) in out.mine() { *out = table[i] }
    }";
    let error = build("too_many_bytes", bytes).unwrap_err().to_string();
    let mut lines: Vec<_> = error.lines().collect();
    lines.sort_unstable();
    let kernels_of_bytes = ["generic_LARGE", "of_a_struct", "of_bytes", "together"];
    assert_eq!(lines, kernels_of_bytes.map(|kernel| line(kernel, 40_016)));
    let error = build("too_large", kernels).unwrap_err().to_string();
    let mut lines: Vec<_> = error.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, [line("large", 32_784), line("larger", 40_024)]);
}

/// A constant of a variable's name takes its place in generated code. The launch's scope has a type
/// of its own: a constant of another one lives for ever, and so would the arguments.
#[test]
fn no_constant_is_taken_for_the_launchs_scope() {
    let kernel = "#[kernel] pub fn copy(x: &[u32], mut out: Out<u32>) {
            for (i, element) in out.mine() { *element = x[i] }
        }";
    build("scope_free", kernel).unwrap();
    let caught = build(
        "scope_caught",
        &format!("const __launch: () = ();\n{kernel}"),
    );
    let error = caught.unwrap_err().to_string();
    assert!(
        error.contains("mismatched types") && error.contains("Scope"),
        "{error}"
    );
}
