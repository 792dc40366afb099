//! From launch to launch: the state, graphs, a line in pieces, and totals of groups.

use super::*;

/// A state is for launches of any type and length, before and after its numbers of launches begin
/// anew.
#[test]
fn a_state_serves_many_launches() {
    let device = Device::checked();
    let len = 9 * tile::<f64>() + 3;
    let words = state_len::<f64>(Way::Tiles, len, len, 1);
    let (long, short) = (
        numbers::<f64>(51, len),
        numbers::<f64>(52, 2 * tile::<f64>()),
    );
    let integers = numbers::<i32>(53, len);
    let run = |state: &mut Buffer<u64>| {
        let launch = |len| Launch {
            grid: Some(5),
            ..Launch::line(len)
        };
        let a = launch(len).run_with::<f64, Sum>(&device, &long, &[], state);
        let b = launch(short.len()).run_with::<f64, Sum>(&device, &short, &[], state);
        let c = launch(len).run_with::<i32, Sum>(&device, &integers, &[], state);
        // In one step.
        let d = Launch::line(len).run_with::<i32, Sum>(&device, &integers, &[], state);
        assert_eq!(c, d);
        (a, b, c)
    };
    let expected = run(&mut device.zeros(words).unwrap());
    let mut state = device.zeros::<u64>(words).unwrap();
    for launches in [0, u32::MAX - 4] {
        let mut words = state.to_vec().unwrap();
        words[0] = words[0].wrapping_add(u64::from(launches) << 32);
        state = device.upload(&words).unwrap();
        for _ in 0..3 {
            assert_eq!(run(&mut state), expected);
        }
    }
    let count = state.to_vec().unwrap()[0];
    assert_eq!(
        count,
        u64::from(12_u32.wrapping_add(u32::MAX - 4).wrapping_add(12)) << 32
    );
}

/// Columns and a long line in turn, with one state, which the launch needs.
#[test]
fn a_state_serves_columns_too() {
    let device = Device::checked();
    let columns = Launch::of(tile_of_columns::<f64>(3) * 18, 3);
    let line = Launch::line(2 * tile::<f64>() + 1);
    let [a, b] = [columns.extent * 3, line.extent].map(|len| numbers::<f64>(33, len));
    let expected = [(columns, &a), (line, &b)]
        .map(|(launch, input)| launch.run::<f64, Sum>(&device, input, &[]));
    let words = state_len::<f64>(Way::Columns, a.len(), columns.extent, 3);
    let mut state = device.zeros::<u64>(words).unwrap();
    for _ in 0..2 {
        let mut run = |launch: Launch, input: &[f64]| {
            launch.run_with::<f64, Sum>(&device, input, &[], &mut state)
        };
        assert!([run(columns, &a), run(line, &b)] == expected);
    }

    let input = device.upload(&a).unwrap();
    let [mut output, mut after] = [a.len(), 0].map(|len| device.zeros::<f64>(len).unwrap());
    let mut short = device.zeros::<u64>(words - 1).unwrap();
    let none = device.zeros::<f64>(0).unwrap();
    let of = Memory {
        device: &device,
        input: input.as_view(),
        output: output.as_view_mut(),
        state: &mut short,
        before: none.as_view(),
        after: after.as_view_mut(),
    };
    let refused = <f64 as Scans<Sum>>::launch(&columns, 1, of).unwrap_err();
    assert!(refused.to_string().contains("state"), "{refused}");
}

#[test]
fn a_graph_scans_again() {
    let device = Device::checked();
    let len = 4 * tile::<i64>() + 1;
    let input = device.upload(&numbers::<i64>(61, len)).unwrap();
    let mut output = device.zeros::<i64>(len).unwrap();
    let mut state = device
        .zeros(state_len::<i64>(Way::Tiles, len, len, 1))
        .unwrap();
    let none = device.zeros::<i64>(0).unwrap();
    let mut after = device.zeros::<i64>(0).unwrap();
    let graph = device
        .graph(|stream| {
            let kernel = scan::<i64, Sum>::on(&device)?
                .stream(stream)
                .grid(3)
                .block(THREADS);
            kernel.shared_bytes(RING_BYTES).launch(
                &input,
                &mut output,
                &mut state,
                &none,
                &mut after,
                len,
                1,
                0,
                0,
            )
        })
        .unwrap();
    let expected = Launch::line(len)
        .run::<i64, Sum>(&device, &input.to_vec().unwrap(), &[])
        .0;
    for _ in 0..3 {
        output.copy_from_slice(&vec![0; len]).unwrap();
        graph.launch().unwrap();
        assert_eq!(output.to_vec().unwrap(), expected);
    }
}

/// In pieces of whole groups, with what comes before each from the piece before it or from the
/// groups' totals: the bits of one launch.
#[test]
fn a_line_in_pieces() {
    let device = Device::emulator();
    let size = group::<f64>();
    let len = 2 * size + 700;
    let input = numbers::<f64>(71, len);
    let in_pieces = |exclusive, input: &[f64]| {
        let of = |len| Launch {
            exclusive,
            ..Launch::line(len)
        };
        let (whole, after_whole) = of(input.len()).run::<f64, Sum>(&device, input, &[]);
        let mut before = Vec::new();
        for (piece, expected) in input.chunks(size).zip(whole.chunks(size)) {
            let (result, after) = of(piece.len()).run::<f64, Sum>(&device, piece, &before);
            assert!(result == expected, "{exclusive}");
            before = after;
        }
        assert_eq!(before, after_whole);
        (whole, after_whole)
    };
    in_pieces(true, &input[size..]);
    let (whole, after_whole) = in_pieces(false, &input);
    let launch = Launch {
        grid: Some(4),
        ..Launch::line(len)
    };
    let words = state_len::<f64>(Way::Tiles, len, len, 1);
    let mut state = device.zeros(words).unwrap();
    let totals = totals::<f64, Sum>(&device, launch, &input, &mut state);
    assert_eq!(totals.len(), groups::<f64>(len));
    let before = totals[0] + totals[1];
    let rest = &input[2 * size..];
    let (result, after) = Launch::line(700).run::<f64, Sum>(&device, rest, &[before]);
    assert_eq!(result, whole[2 * size..]);
    assert_eq!(after, after_whole);
    assert_eq!(before + totals[2], after[0]);
}

/// Of lines that are tiles, parts of a run, runs and more, whatever the grid and what the state was
/// used for: what a scan says that comes after them.
#[test]
fn totals_of_lines_are_what_comes_after_them() {
    fn of<T: Scans<Sum> + Scans<Extreme>>(device: &Device) {
        let same = |a: &[T], b: &[T]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is(*b));
        let size = tile::<T>();
        let most = 40 * size;
        let words = state_len::<T>(Way::Tiles, most, most, 1);
        let mut state = device.zeros::<u64>(words).unwrap();
        for (extent, lines) in [
            (1, 3),
            (ROW + 1, 2),
            (size, 5),
            (size + 1, 4),
            (3 * size - 1, 3),
            (32 * size, 1),
            (33 * size + 5, 1),
        ] {
            let input = numbers::<T>(81, extent * lines);
            for grid in [1, 3, 20] {
                let launch = Launch {
                    grid: Some(grid),
                    ..Launch::line(extent)
                };
                let (_, after) = launch.run_with::<T, Sum>(device, &input, &[], &mut state);
                let sums = totals::<T, Sum>(device, launch, &input, &mut state);
                assert!(same(&sums, &after), "{lines} lines, {launch:?}");
                let (_, after) = launch.run_with::<T, Extreme>(device, &input, &[], &mut state);
                let least = totals::<T, Extreme>(device, launch, &input, &mut state);
                assert!(same(&least, &after), "{lines} lines, {launch:?}");
            }
            // The number of launches begins anew.
            let mut anew = vec![0xffff_fff0 << 32; words];
            anew[0] = 0xffff_fffd << 32;
            state = device.upload(&anew).unwrap();
        }
    }
    let device = Device::checked();
    of::<i32>(&device);
    of::<f64>(&device);
}

/// The totals of lines' groups.
fn totals<T: Scans<O>, O: Op>(
    device: &Device,
    launch: Launch,
    input: &[T],
    state: &mut Buffer<u64>,
) -> Vec<T> {
    let lines = input.len() / launch.extent;
    let mut totals = device
        .zeros::<T>(lines * groups::<T>(launch.extent))
        .unwrap();
    let mut output = device.zeros::<T>(0).unwrap();
    let (input, none) = (device.upload(input).unwrap(), device.zeros::<T>(0).unwrap());
    let of = Memory {
        device,
        input: input.as_view(),
        output: output.as_view_mut(),
        state,
        before: none.as_view(),
        after: totals.as_view_mut(),
    };
    <T as Scans<O>>::launch(&launch, launch.grid.unwrap(), of).unwrap();
    totals.to_vec().unwrap()
}
