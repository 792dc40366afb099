//! Boxes of tensors, loaded, stored and added up.

use ptx_emulator::{Swizzle, TensorElement, TensorMap};

use super::{Object, Program, Tolerance, bytes, module};

/// Bytes of shared memory for the box. Larger than any.
const BOX: usize = 8192;
const THREADS: u32 = 64;

pub(super) fn programs() -> Vec<Program> {
    let mut programs = Vec::new();
    elements(&mut programs);
    ranks(&mut programs);
    swizzles(&mut programs);
    strides(&mut programs);
    programs
}

fn elements(programs: &mut Vec<Program>) {
    use TensorElement::{BF16, F16, F32, F64, S32, S64, U8, U16, U32, U64};
    for element in [U8, U16, U32, S32, U64, S64, F16, BF16, F32, F64] {
        let map = map(element, &[32, 9], &[16, 4]);
        let name = format!("{element:?}").to_lowercase();
        programs.push(load(
            &format!("load_{name}"),
            &map,
            &[-pieces(element, 1), -1],
        ));
        programs.push(store(
            &format!("store_{name}"),
            &map,
            &[32 - pieces(element, 1), 7],
            None,
        ));
    }
    for (element, operations) in [
        (
            U32,
            &["add", "min", "max", "inc", "dec", "and", "or", "xor"][..],
        ),
        (S32, &["add", "min", "max"]),
        (U64, &["add", "min", "max", "and", "or", "xor"]),
        (S64, &["min", "max"]),
        (F32, &["add"]),
        (F16, &["add", "min", "max"]),
        (BF16, &["add", "min", "max"]),
    ] {
        let map = map(element, &[32, 9], &[16, 4]);
        for operation in operations {
            let name = format!("reduce_{operation}_{element:?}").to_lowercase();
            programs.push(store(
                &name,
                &map,
                &[32 - pieces(element, 1), 6],
                Some(operation),
            ));
        }
    }
}

/// One to five dimensions, boxes inside and over every edge.
fn ranks(programs: &mut Vec<Program>) {
    let extents = [12, 5, 4, 3, 3];
    let boxes = [8, 3, 2, 2, 2];
    for rank in 1..=5 {
        let map = map(TensorElement::U32, &extents[..rank], &boxes[..rank]);
        for (at, place) in [
            [0; 5],
            [4, 2, 2, 1, 1],
            [8, 4, 3, 2, 2],
            [-4, -1, -1, -1, -1],
            [40, 9, 9, 9, 9],
        ]
        .iter()
        .enumerate()
        {
            programs.push(load(&format!("load_{rank}d_{at}"), &map, &place[..rank]));
            // A store that begins before the tensor is a fault.
            if place.iter().all(|&at| at >= 0) {
                let name = format!("store_{rank}d_{at}");
                programs.push(store(&name, &map, &place[..rank], None));
            }
        }
    }
}

fn swizzles(programs: &mut Vec<Program>) {
    for (swizzle, name, row) in [
        (Swizzle::B32, "b32", 32),
        (Swizzle::B64, "b64", 64),
        (Swizzle::B128, "b128", 128),
    ] {
        for element in [TensorElement::U8, TensorElement::F16, TensorElement::F32] {
            let across = row / element.bytes();
            let map = TensorMap {
                swizzle,
                ..map(element, &[256, 33], &[across, 17])
            };
            let name = format!("{name}_{element:?}").to_lowercase();
            programs.push(load(
                &format!("load_{name}"),
                &map,
                &[pieces(element, 3), 20],
            ));
            programs.push(store(&format!("store_{name}"), &map, &[16, 3], None));
        }
    }
}

/// Rows with gaps, and every second or third element.
fn strides(programs: &mut Vec<Program>) {
    let gaps = TensorMap {
        strides: vec![160, 1280],
        ..map(TensorElement::F32, &[33, 7, 3], &[8, 4, 2])
    };
    programs.push(load("load_gaps", &gaps, &[28, 5, 1]));
    programs.push(store("store_gaps", &gaps, &[28, 5, 1], None));
    programs.push(store("reduce_gaps", &gaps, &[28, 5, 1], Some("add")));
    for steps in [[2, 1, 1], [1, 3, 1], [3, 2, 2]] {
        let map = TensorMap {
            element_strides: steps.to_vec(),
            ..gaps.clone()
        };
        let [x, y, z] = steps;
        programs.push(load(&format!("load_steps_{x}{y}{z}"), &map, &[4, 2, 0]));
        programs.push(load(
            &format!("load_steps_{x}{y}{z}_outside"),
            &map,
            &[-4, -1, -1],
        ));
    }
}

/// The elements of `count` pieces of 16 bytes. A box begins at a piece of its row, or an H200
/// faults.
fn pieces(element: TensorElement, count: u32) -> i32 {
    (count * 16 / element.bytes()) as i32
}

/// Rows are multiples of 16 bytes, as a device wants them.
fn map(element: TensorElement, extents: &[u64], boxes: &[u32]) -> TensorMap {
    let mut map = TensorMap::new(element, 0, extents, boxes);
    let mut bytes = (u64::from(element.bytes()) * extents[0]).next_multiple_of(16);
    for (stride, extent) in map.strides.iter_mut().zip(&extents[1..]) {
        *stride = bytes;
        bytes *= extent;
    }
    map
}

/// Elements that a box moves along each dimension.
fn moved(map: &TensorMap) -> impl Iterator<Item = u32> {
    // The stride along the first dimension is ignored.
    let rest = map.box_extents[1..].iter().zip(&map.element_strides[1..]);
    let rest = rest.map(|(&extent, &step)| extent.div_ceil(step));
    std::iter::once(map.box_extents[0]).chain(rest)
}

fn place(at: &[i32]) -> String {
    let numbers: Vec<String> = at.iter().map(i32::to_string).collect();
    format!("{{{}}}", numbers.join(", "))
}

/// Every byte of shared memory after the copy is the result.
fn load(name: &str, map: &TensorMap, at: &[i32]) -> Program {
    let count = moved(map).product::<u32>() * map.element.bytes();
    let body = format!(
        "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], {count};
    @%p0 cp.async.bulk.tensor.{}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd2, {}], [%r2];
    mov.u32 %r4, 0;
again:
    // Bounded, so that a wrong count of bytes does not hang a GPU.
    add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 100000;
    mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0;
    @%p1 bra done; @%p2 bra again;
    trap;
done:",
        at.len(),
        place(at)
    );
    program(&format!("tensor_{name}"), map, &body)
}

/// Shared memory holds what the buffer does; the tensor is the result.
fn store(name: &str, map: &TensorMap, at: &[i32], operation: Option<&str>) -> Program {
    let rank = at.len();
    let copy = match operation {
        None => format!("cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group"),
        Some(operation) => format!(
            "cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{operation}.tile.bulk_group"
        ),
    };
    let body = format!(
        "@%p0 {copy} [%rd2, {}], [%r1];
    @%p0 cp.async.bulk.commit_group;
    @%p0 cp.async.bulk.wait_group 0;",
        place(at)
    );
    program(&format!("tensor_{name}"), map, &body)
}

fn program(name: &str, map: &TensorMap, body: &str) -> Program {
    let ptx = module(&format!(
        ".visible .entry k(.param .u64 buffer, .param .align 64 .b8 map[128]) {{
    .reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .pred %p<4>;
    .shared .align 1024 .b8 s[{BOX}]; .shared .align 8 .b64 bar;
    ld.param.u64 %rd1, [buffer]; mov.b64 %rd2, map; cvta.param.u64 %rd2, %rd2;
    mov.u32 %r0, %tid.x; mov.u32 %r1, s; mov.u32 %r2, bar; setp.eq.u32 %p0, %r0, 0;
    mul.wide.u32 %rd3, %r0, 4; add.u64 %rd1, %rd1, %rd3; mad.lo.u32 %r3, %r0, 4, %r1; mov.u32 %r4, 0;
fill:
    ld.global.u32 %r5, [%rd1]; st.shared.u32 [%r3], %r5;
    add.u64 %rd1, %rd1, {step}; add.u32 %r3, %r3, {step}; add.u32 %r4, %r4, {step};
    setp.lt.u32 %p2, %r4, {BOX}; @%p2 bra fill;
    @%p0 mbarrier.init.shared.b64 [%r2], 1; fence.mbarrier_init.release.cluster;
    fence.proxy.async; bar.sync 0;
    {body}
    bar.sync 0;
    sub.u64 %rd1, %rd1, {BOX}; sub.u32 %r3, %r3, {BOX}; mov.u32 %r4, 0;
drain:
    ld.shared.u32 %r5, [%r3]; st.global.u32 [%rd1], %r5;
    add.u64 %rd1, %rd1, {step}; add.u32 %r3, %r3, {step}; add.u32 %r4, %r4, {step};
    setp.lt.u32 %p2, %r4, {BOX}; @%p2 bra drain;
    ret;
}}",
        step = 4 * THREADS,
    ));
    let count = (map.strides.last().zip(map.extents.last())).map_or(
        u64::from(map.element.bytes()) * map.extents[0],
        |(stride, extent)| stride * extent,
    );
    Program {
        name: name.to_owned(),
        ptx,
        object: Object::Tensor(map.clone()),
        contents: finite(map.element, bytes(21, count.next_multiple_of(16) as usize)),
        buffer: finite(map.element, bytes(22, BOX)),
        launch: [1, THREADS],
        tolerance: Tolerance::Exact,
    }
}

/// No exponent of all ones: the bits of a resulting NaN are not specified.
fn finite(element: TensorElement, mut bytes: Vec<u8>) -> Vec<u8> {
    let width = element.bytes() as usize;
    let last = match element {
        TensorElement::F16 | TensorElement::BF16 | TensorElement::F32 | TensorElement::F64 => width,
        _ => return bytes,
    };
    for value in bytes.chunks_mut(width) {
        value[last - 1] &= 0xbf;
    }
    bytes
}
