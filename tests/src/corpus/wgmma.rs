//! Products by a warp group (9.7.15). Its matrices lie anywhere in 16 KiB of small integers:
//! wherever an element is looked for, the sum is exact and tells.

use super::case::Case;
use super::small::{eighths, half, pack};
use super::values::{Source, Values};
use crate::data::random_bits;

/// A kind of element: its name, the sum's length, and four or two of them from random bits.
type Element = (&'static str, usize, fn(u64) -> u64);

const F16: Element = ("f16", 16, |random| pack(random, 16, half));
const BF16: Element = ("bf16", 16, |random| {
    pack(random, 16, |value| u64::from(value.to_bits() >> 16))
});
const TF32: Element = ("tf32", 8, |random| {
    pack(random, 32, |value| u64::from(value.to_bits()))
});

const E4M3: Element = ("e4m3", 32, |random| eighths(random, 4));
const E5M2: Element = ("e5m2", 32, |random| eighths(random, 5));
const S8: Element = ("s8", 32, |random| random);
const U8: Element = ("u8", 32, |random| random);

/// A matrix in shared memory: its first byte, the two strides, and the number of its swizzle.
#[derive(Clone, Copy)]
struct Place(u64, u64, u64, u64);

impl Place {
    /// The descriptor in a register of 64 bits; `%r1` holds the address of the memory.
    fn descriptor(self, register: &str) -> String {
        let Self(start, leading, stride, swizzle) = self;
        let fixed = (leading >> 4) << 16 | (stride >> 4) << 32 | swizzle << 62;
        format!(
            "add.u32 %r2, %r1, {start}; and.b32 %r2, %r2, 0x3ffff; shr.u32 %r2, %r2, 4; cvt.u64.u32 {register}, %r2; \
             or.b64 {register}, {register}, {fixed:#x};"
        )
    }
}

/// Everything around one product.
struct Product {
    element: Element,
    /// The type of b; its bits are made as those of a.
    right_element: Element,
    /// The type of d, and what follows all types.
    sum: (&'static str, &'static str),
    columns: usize,
    /// `None` is in registers.
    left: Option<Place>,
    right: Place,
    /// `scale-d, scale-a, scale-b` and what is transposed.
    rest: &'static str,
}

impl Product {
    fn case(self, name: &str) -> Case {
        let (ty, depth, values) = self.element;
        let (sum, more) = self.sum;
        let form = format!(
            "wgmma.mma_async.sync.aligned.m64n{}k{depth}.{sum}.{ty}.{}{more}",
            self.columns, self.right_element.0
        );
        let (results, result, three) = match sum {
            "f16" => (self.columns / 4, "b32", "0x42004200"),
            "s32" => (self.columns / 2, "b32", "3"),
            _ => (self.columns / 2, "f32", "0f40400000"),
        };
        let list = |names: &mut dyn Iterator<Item = String>| names.collect::<Vec<_>>().join(", ");
        let d = list(&mut (0..results).map(|at| format!("%d{at}")));
        let clear: String = (0..results)
            .map(|at| format!("mov.b32 %d{at}, {three};"))
            .collect();
        let (a, left) = match self.left {
            Some(place) => ("%l1".to_owned(), place.descriptor("%l1")),
            None => {
                // ptxas 13.0 moves the low half of a register of 64 bits to both when it is
                // unpacked for this.
                let load = "ld.global.b32 %r4, [%in]; ld.global.b32 %r5, [%in+4]; ld.global.b32 %r6, [%in+8]; \
                            ld.global.b32 %r7, [%in+12];";
                ("{%r4, %r5, %r6, %r7}".to_owned(), load.to_owned())
            }
        };
        let right = self.right.descriptor("%l2");
        let fill: String = (0..4)
            .map(|at| {
                let word = |next: usize| format!("%a{}", (at + next) % 4);
                format!(
                    "st.shared.v2.b64 [%r3+{}], {{{}, {}}}; st.shared.v2.b64 [%r3+{}], {{{}, {}}};",
                    4096 * at,
                    word(0),
                    word(1),
                    4096 * at + 16,
                    word(2),
                    word(3)
                )
            })
            .collect();
        let body = format!(
            ".shared .align 1024 .b8 image[16384]; mov.u32 %r1, image; mad.lo.u32 %r3, %thread, 32, %r1; {fill} \
             {clear} {left} {right} setp.ne.u32 %p1, %r1, -1; fence.proxy.async.shared::cta; bar.sync 0; wgmma.fence.sync.aligned; \
             {form} {{{d}}}, {a}, %l2, {}; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
            self.rest
        );
        let source = |seed: u64| -> Source {
            let mut random = random_bits(seed);
            let list = (0..128).map(|_| values(random())).collect();
            ("b64", Values::List(list)).into()
        };
        let sources: Vec<Source> = (1..=4).map(source).collect();
        Case::with_body(
            &format!("{form}.{name}"),
            &body,
            &vec![result; results],
            &sources,
        )
        .threads(128)
        .target("sm_90a")
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: &str, element, columns, left, right, rest| {
        let product = Product {
            element,
            right_element: element,
            sum: ("f32", ""),
            columns,
            left,
            right,
            rest,
        };
        cases.push(product.case(name));
    };
    // Columns of a and rows of b follow each other: in every swizzle, and from the middle of a row.
    let along = [
        ("plain", Place(0, 128, 256, 0), Place(8192, 128, 256, 0)),
        ("apart", Place(0, 1024, 128, 0), Place(8192, 2048, 128, 0)),
        ("b128", Place(0, 16, 1024, 1), Place(8192, 16, 1024, 1)),
        (
            "b128.inside",
            Place(32, 16, 1024, 1),
            Place(8192 + 96, 16, 1024, 1),
        ),
        ("b64", Place(0, 16, 512, 2), Place(8192, 16, 512, 2)),
        (
            "b64.inside",
            Place(32, 16, 512, 2),
            Place(8192 + 32, 16, 512, 2),
        ),
        ("b32", Place(0, 16, 256, 3), Place(8192, 16, 256, 3)),
    ];
    for (name, left, right) in along {
        for columns in [8, 24, 64] {
            add(name, F16, columns, Some(left), right, "%p1, 1, 1, 0, 0");
        }
        add(name, BF16, 16, Some(left), right, "%p1, 1, 1, 0, 0");
        add(name, TF32, 32, Some(left), right, "%p1, 1, 1");
    }
    // The other way round.
    let across = [
        ("plain", Place(0, 1024, 128, 0), Place(8192, 1024, 128, 0)),
        ("b128", Place(0, 2048, 1024, 1), Place(8192, 2048, 1024, 1)),
        ("b64", Place(0, 1024, 512, 2), Place(8192, 1024, 512, 2)),
        ("b32", Place(0, 512, 256, 3), Place(8192, 512, 256, 3)),
    ];
    for (name, left, right) in across {
        let upright = Place(0, 128, 256, 0);
        for columns in [64, 128] {
            let name = format!("across.{name}");
            add(&name, F16, columns, Some(left), right, "%p1, 1, 1, 1, 1");
        }
        let plain = Place(8192, 128, 256, 0);
        let (of_a, of_b) = (format!("across.a.{name}"), format!("across.b.{name}"));
        add(&of_a, BF16, 8, Some(left), plain, "%p1, 1, 1, 1, 0");
        add(&of_b, BF16, 64, Some(upright), right, "%p1, 1, 1, 0, 1");
    }
    // What else an instruction can say.
    let (left, right) = (Some(Place(0, 128, 256, 0)), Place(8192, 128, 256, 0));
    add("from.zero", F16, 16, left, right, "!%p1, 1, 1, 0, 0");
    add("negative", F16, 16, left, right, "%p1, -1, 1, 0, 0");
    add("positive", F16, 16, left, right, "%p1, -1, -1, 0, 0");
    add("registers", F16, 32, None, right, "%p1, 1, 1, 0");
    add("registers", BF16, 8, None, right, "%p1, 1, -1, 0");
    add("registers", TF32, 16, None, right, "%p1, 1, 1");
    cases.extend(other_types(right));
    cases
}

/// Sums of 16 bits, 8-bit floats and integers, from memory and from registers.
fn other_types(right: Place) -> Vec<Case> {
    let left = Some(Place(0, 128, 256, 0));
    let mut cases = Vec::new();
    for (left, name) in [(left, "plain"), (None, "registers")] {
        let mut add = |types: [Element; 2], sum, columns, rest| {
            let product = Product {
                element: types[0],
                right_element: types[1],
                sum,
                columns,
                left,
                right,
                rest,
            };
            cases.push(product.case(name));
        };
        let scales = match left {
            Some(_) => "%p1, 1, 1, 0, 0",
            None => "%p1, 1, -1, 0",
        };
        add([F16, F16], ("f16", ""), 16, scales);
        for (a, b) in [E4M3, E5M2]
            .into_iter()
            .flat_map(|a| [E4M3, E5M2].map(|b| (a, b)))
        {
            add([a, b], ("f32", ""), 24, "%p1, 1, 1");
            add([a, b], ("f16", ""), 16, "%p1, -1, 1");
        }
        for (a, b) in [S8, U8].into_iter().flat_map(|a| [S8, U8].map(|b| (a, b))) {
            for saturates in ["", ".satfinite"] {
                add([a, b], ("s32", saturates), 32, "%p1");
            }
        }
    }
    cases
}
