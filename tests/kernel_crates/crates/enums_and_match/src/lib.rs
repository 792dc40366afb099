//! Enums with data: a small machine that runs a program.

use cuda_std::prelude::*;

#[derive(Clone, Copy)]
enum Op {
    Push(i32),
    Add,
    Mul,
    Dup,
    Swap { depth: u8 },
    Stop,
}

fn decode(word: u32) -> Op {
    match (word >> 24, word & 0xFF_FFFF) {
        (0, value) => Op::Push(value as i32 - 0x80_0000),
        (1, _) => Op::Add,
        (2, _) => Op::Mul,
        (3, _) => Op::Dup,
        (4, depth @ 1..=7) => Op::Swap { depth: depth as u8 },
        _ => Op::Stop,
    }
}

/// What `program` leaves on top of a stack that starts with the thread's number; `i32::MIN` if the
/// stack runs empty.
#[kernel]
pub unsafe fn interpret(program: &[u32], out: *mut i32) {
    let t = thread::index_1d();
    let (mut stack, mut top) = ([0_i32; 16], 1_usize);
    stack[0] = t as i32;
    let mut result = None;
    for &word in program {
        match decode(word) {
            Op::Push(value) if top < 16 => {
                stack[top] = value;
                top += 1;
            }
            Op::Dup if top >= 1 && top < 16 => {
                stack[top] = stack[top - 1];
                top += 1;
            }
            op @ (Op::Add | Op::Mul) if top >= 2 => {
                let (a, b) = (stack[top - 2], stack[top - 1]);
                top -= 1;
                stack[top - 1] = if let Op::Add = op {
                    a.wrapping_add(b)
                } else {
                    a.wrapping_mul(b)
                };
            }
            Op::Swap { depth } if usize::from(depth) < top => {
                stack.swap(top - 1, top - 1 - usize::from(depth))
            }
            Op::Stop => {
                result = stack[..top].last().copied();
                break;
            }
            _ => break,
        }
    }
    *out.add(t as usize) = result.unwrap_or(i32::MIN);
}
