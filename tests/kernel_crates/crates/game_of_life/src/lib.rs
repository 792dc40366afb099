//! Conway's game of life on a torus, a bit for each cell.

use cuda_std::prelude::*;

/// One generation; each `u32` is 32 cells of a row, `words` of them a row.
#[kernel]
pub unsafe fn next_generation(cells: &[u32], words: u32, out: *mut u32) {
    let i = thread::index_1d();
    let rows = cells.len() as u32 / words;
    if i >= words * rows {
        return;
    }
    let (row, word) = (i / words, i % words);
    let cell = |row: u32, bit: u32| {
        let bit = bit % (32 * words);
        cells[(row % rows * words + bit / 32) as usize] >> (bit % 32) & 1
    };
    let mut next = 0;
    for bit in 32 * word..32 * word + 32 {
        let (left, right) = (bit + 32 * words - 1, bit + 1);
        let mut neighbours = cell(row, left) + cell(row, right);
        for other in [row + rows - 1, row + 1] {
            neighbours += cell(other, left) + cell(other, bit) + cell(other, right);
        }
        let lives = neighbours == 3 || neighbours == 2 && cell(row, bit) == 1;
        next |= u32::from(lives) << (bit % 32);
    }
    *out.add(i as usize) = next;
}
