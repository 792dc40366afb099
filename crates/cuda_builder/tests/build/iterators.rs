//! What Rust's iterators, comparisons and sorts do with addresses builds for shared memory, too; a
//! pointer that may be to other memory does not, and the error has its line.

use cuda_builder::CudaBuilderError;
use ptx_emulator::testing::Launch;

use crate::common::{build, text};

// The same on both sides: the kernels' source contains this text.
// BEGIN
#[allow(clippy::iter_nth)]
fn mixed(s: &[u32], n: usize, i: usize) -> u32 {
    let mut sum = s.iter().step_by(4).sum::<u32>() + s.iter().nth(n).copied().unwrap_or(0);
    sum += s.iter().position(|&v| v == 7).unwrap_or(99) as u32;
    sum += s.iter().rposition(|&v| v == 7).unwrap_or(99) as u32;
    sum +=
        s.chunks(n).map(|c| c[0]).sum::<u32>() + s.rchunks(n).map(|c| c.len() as u32).sum::<u32>();
    sum += s.windows(3).map(|w| w[0] * w[2]).sum::<u32>();
    let (a, b) = s.split_at(n);
    sum += a.iter().zip(b).map(|(a, b)| a * b).sum::<u32>();
    sum += s.iter().rev().skip(n).step_by(3).fold(0, |a, b| a ^ b);
    sum += s
        .chunks_exact(4)
        .map(|c| c.iter().max().copied().unwrap_or(0))
        .sum::<u32>();
    sum += s
        .iter()
        .enumerate()
        .filter(|(i, _)| i % 3 == 0)
        .map(|(_, v)| *v)
        .sum::<u32>();
    sum += s.binary_search(&(i as u32)).unwrap_or_else(|e| e) as u32;
    sum += s.iter().max_by_key(|v| **v % 5).copied().unwrap_or(0);
    sum += s.iter().len() as u32 + s.iter().skip(n).len() as u32;
    sum += s.partition_point(|v| *v < 9) as u32 + s.split(|v| *v == 3).count() as u32;
    sum += u32::from(s.contains(&5)) + u32::from(s.starts_with(&[1, 2])) + u32::from(s.is_sorted());
    sum += s.iter().cycle().take(n).sum::<u32>() + s.first().copied().unwrap_or(0);
    sum += s
        .iter()
        .skip_while(|v| **v < 3)
        .take_while(|v| **v < 20)
        .sum::<u32>();
    sum += s.as_chunks::<4>().0.iter().map(|c| c[3]).sum::<u32>();
    sum += s.iter().chain(a.iter()).sum::<u32>();
    let mut ends = s.iter();
    ends.next();
    ends.next_back();
    sum += ends.as_slice().len() as u32 + ends.as_slice()[1];
    let mut pairs = s.iter().peekable();
    while let Some(v) = pairs.next() {
        sum += u32::from(pairs.peek().is_some_and(|next| **next == v + 1));
    }
    sum
}
fn reordered(s: &mut [u32], n: usize) {
    s.sort_unstable();
    s.reverse();
    s.rotate_left(n / 2);
    s.swap(0, n - 1);
    s.sort_unstable_by(|a, b| b.cmp(a));
    s.select_nth_unstable(3);
    s[4..].sort_unstable_by_key(|v| v % 7 * 1000 + v / 7);
    s.copy_within(1..5, 7);
}
fn addresses(s: &[u32], n: usize, t: usize) -> u64 {
    struct View {
        next: *const u32,
        end: *const u32,
    }
    let (p, q) = (&raw const s[n], &raw const s[t]);
    let mut view = View {
        next: p,
        end: s.as_ptr().wrapping_add(s.len()),
    };
    // SAFETY: both are in the slice.
    let mut sum = unsafe { q.offset_from(p) }.unsigned_abs() as u64;
    sum += p.align_offset(16) as u64 + (q.addr() - s.as_ptr().addr()) as u64;
    sum += u64::from(p < q) + 2 * u64::from(core::ptr::eq(p, q)) + 4 * u64::from(p.is_aligned());
    while view.next < view.end {
        // SAFETY: it is below the slice's end.
        sum += u64::from(unsafe { *view.next });
        view.next = view.next.wrapping_add(3);
    }
    // SAFETY: a byte of an element.
    sum + u64::from(unsafe { *p.cast::<u8>().add(n & 3) })
}
fn paired(s: &mut [u32], t: &mut [u32], n: usize) -> u32 {
    let mut sum = u32::from(s == t) + 2 * u32::from(s < t) + 4 * u32::from(s[n..] == t[..32 - n]);
    sum += u32::from(s.iter().eq(t.iter().rev())) + u32::from(s.ends_with(&t[30..]));
    sum += s
        .iter()
        .zip(t.iter())
        .skip(n)
        .filter(|(a, b)| a < b)
        .count() as u32;
    sum += s
        .iter()
        .rev()
        .zip(t.iter().step_by(2))
        .map(|(a, b)| a ^ b)
        .sum::<u32>();
    sum += s.iter().min_by_key(|v| **v ^ 9).copied().unwrap_or(0);
    sum += s
        .split_first()
        .map_or(0, |(first, rest)| first + rest.len() as u32);
    sum += s.last_chunk::<3>().map_or(0, |c| c[0]) + s.windows(2).map(|w| w[0] & w[1]).sum::<u32>();
    sum += s
        .chunk_by(|a, b| a < b)
        .map(|run| run.len() as u32 * run[0])
        .max()
        .unwrap_or(0);
    sum += s
        .binary_search_by_key(&7, |v| v / 3)
        .unwrap_or_else(|at| at + 100) as u32;
    s[..n].swap_with_slice(&mut t[..n]);
    t[n..].copy_from_slice(&s[n..]);
    s.iter_mut()
        .zip(t.iter())
        .for_each(|(a, b)| *a = a.wrapping_mul(3) ^ b);
    s.split_at_mut(16).0.fill(sum);
    t.iter_mut().rev().step_by(3).for_each(|v| *v += 1);
    let range = t.as_ptr_range();
    // SAFETY: both are of one slice.
    sum += unsafe { range.end.offset_from(range.start) } as u32;
    sum + u32::from(range.contains(&t.as_ptr()))
}
// END

const KERNELS: &str = "
#[kernel(require(x.len() == 32))]
pub fn safe(block: &mut Block<32>, tile: Shared<[u32; 32]>, x: &[u32], n: usize, mut y: Out<u32>) {
    let written = tile.write(block, |slot| x[slot]);
    let loaded = block.sync_threads(written);
    for (i, y) in y.mine() {
        *y = mixed(&loaded[..], n, i);
    }
}
#[kernel(require(block.x == 32))]
pub unsafe fn raw(x: &[u32], n: usize, sorted: *mut u32, sums: *mut u64, texts: *mut u32) {
    let tile = shared_array![u32; 32];
    let letters = shared_array![u8; 32];
    let t = thread::thread_idx_x() as usize;
    unsafe {
        tile.add(t).write(x[t]);
        letters.add(t).write(b'a' + x[t] as u8 % 26);
        thread::sync_threads();
        *sums.add(t) = addresses(core::slice::from_raw_parts(tile, 32), n, t);
        let word = core::slice::from_raw_parts(letters, 32);
        *texts.add(t) = core::str::from_utf8(word).map_or(0, |s| (s.find('g').unwrap_or(40) + s.trim_start_matches('h').len()) as u32);
        thread::sync_threads();
        if t == 0 {
            reordered(core::slice::from_raw_parts_mut(tile, 32), n);
        }
        thread::sync_threads();
        *sorted.add(t) = *tile.add(t);
    }
}
#[kernel(require(block.x == 32))]
pub unsafe fn two(x: &[u32], n: usize, out: *mut u32) {
    let (first, second) = (shared_array![u32; 32], shared_array![u32; 32]);
    let t = thread::thread_idx_x() as usize;
    unsafe {
        first.add(t).write(x[t]);
        second.add(t).write(x[31 - t]);
        thread::sync_threads();
        if t == 0 {
            let (s, t) = (core::slice::from_raw_parts_mut(first, 32), core::slice::from_raw_parts_mut(second, 32));
            *out = paired(s, t, n);
        }
        thread::sync_threads();
        *out.add(1 + t) = *first.add(t);
        *out.add(33 + t) = *second.add(t);
    }
}
";

#[test]
fn iterators_over_shared_memory_give_what_they_give_on_the_host() {
    let both = include_str!("iterators.rs");
    let both = both.split("// BEGIN").nth(1).unwrap();
    let both = both.split("// END").next().unwrap();
    let ptx = text(build("iterators", &format!("{both}{KERNELS}")).unwrap());
    // Of the tile's alignment.
    #[repr(align(16))]
    struct Tile([u32; 32]);
    let tile = Tile(std::array::from_fn(|i| (i as u32 * 7 + 3) % 32));
    let x = tile.0;
    for n in [1, 5, 12] {
        let mut y = [0; 32];
        let launch = Launch::of(&ptx).unwrap().kernel("safe").block(32);
        let report = launch.slice(&x).value(n).slice_mut(&mut y).check().unwrap();
        report.assert_clean();
        assert_eq!(y, std::array::from_fn(|i| mixed(&x, n, i)));

        let (mut sorted, mut sums, mut texts) = ([0; 32], [0; 32], [0; 32]);
        let launch = Launch::of(&ptx).unwrap().kernel("raw").block(32);
        let launch = launch
            .slice(&x)
            .value(n)
            .output(&mut sorted)
            .output(&mut sums);
        launch.output(&mut texts).check().unwrap().assert_clean();
        let mut expected = x;
        reordered(&mut expected, n);
        assert_eq!(sorted, expected);
        assert_eq!(sums, std::array::from_fn(|t| addresses(&tile.0, n, t)));
        let word: String = x.iter().map(|&v| char::from(b'a' + v as u8 % 26)).collect();
        let found = word.find('g').unwrap_or(40) + word.trim_start_matches('h').len();
        assert_eq!(texts, [found as u32; 32]);

        let mut both = [0; 65];
        let launch = Launch::of(&ptx).unwrap().kernel("two").block(32);
        let launch = launch.slice(&x).value(n).output(&mut both);
        launch.check().unwrap().assert_clean();
        let (mut first, mut second) = (x, x);
        second.reverse();
        let sum = paired(&mut first, &mut second, n);
        assert_eq!(both[0], sum);
        assert_eq!((&both[1..33], &both[33..]), (&first[..], &second[..]));
    }
}

#[test]
fn what_cannot_stay_in_shared_memory_is_refused_with_its_line_and_a_way_out() {
    let error = build(
        "refused",
        "#[inline(never)] unsafe fn own_sum(s: *const u32, n: usize) -> u32 {
            unsafe { if n < 2 { *s } else { own_sum(s, n / 2) + own_sum(s.add(n / 2), n - n / 2) } }
        }
        #[kernel] pub unsafe fn recursive(n: usize, out: *mut u32) {
            let tile = shared_array![u32; 32];
            unsafe { *out = own_sum(tile, n) }
        }
        unsafe fn first(s: *const u32) -> u32 { unsafe { *s } }
        unsafe fn second(s: *const u32) -> u32 { unsafe { *s.add(1) } }
        #[kernel] pub unsafe fn table(which: usize, out: *mut u32) {
            let tile = shared_array![u32; 32];
            const FUNCTIONS: [unsafe fn(*const u32) -> u32; 2] = [first, second];
            unsafe { *out = FUNCTIONS[which](tile) }
        }
        #[kernel] pub unsafe fn choice(which: bool, out: *mut u32) {
            let tile = shared_array![u32; 32];
            unsafe {
                let s = if which { tile } else { out };
                s.write(7);
            }
        }
        #[kernel] pub unsafe fn stored(which: usize, out: *mut u32) {
            let (a, b) = (shared_array![u32; 32], shared_array![u32; 8]);
            let all = core::hint::black_box([a, b]);
            unsafe { *out = *all[which] }
        }",
    )
    .unwrap_err();
    assert!(
        matches!(error, CudaBuilderError::GenericSharedAccess { .. }),
        "{error}"
    );
    let reports = error.to_string();
    for (kernel, parts) in [
        (
            "recursive",
            [
                "is passed to `refused::own_sum` at members/refused/src/lib.rs:7:29, which calls itself",
                "pass an index",
            ],
        ),
        (
            "table",
            [
                "is passed to a function through a pointer at members/refused/src/lib.rs:14:29",
                "by its name, through generics",
            ],
        ),
        (
            "choice",
            [
                "is written through a pointer at members/refused/src/lib.rs:20:",
                "which may also be to other memory",
            ],
        ),
        (
            "stored",
            [
                "has its address stored in memory at members/refused/src/lib.rs:25:",
                "store indices into the array",
            ],
        ),
    ] {
        let of_kernel = format!("kernel `{kernel}`: shared memory `refused::{kernel}::");
        let report = reports.lines().find(|line| line.starts_with(&of_kernel));
        let report = report.unwrap_or_else(|| panic!("{kernel}: {reports}"));
        for part in parts {
            assert!(report.contains(part), "{part}: {report}");
        }
    }
}
