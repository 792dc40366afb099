//! Elements without bytes, and elements of a large alignment.

use safe_kernels::sizes::{Line, lines, nothing};

use super::{device, values};

#[test]
fn elements_of_a_large_alignment_are_aligned_everywhere() {
    let device = &device();
    for len in [0_u32, 1, 63, 64, 130] {
        let host = Vec::from_iter((0..len).map(|i| Line([i + 1; 32])));
        let x = device.upload(&host).unwrap();
        let mut y = device.zeros(host.len()).unwrap();
        let mut wrong = device.zeros(1).unwrap();
        let kernel = lines::on(device).unwrap().grid(2);
        kernel.launch(&x, &mut y, &mut wrong).unwrap();
        assert_eq!(values(&wrong), [0]);
        for (i, line) in values(&y).into_iter().enumerate() {
            let other = host.get(i ^ 1).map_or(0, |line| line.0[0]);
            let last = host.len().min((i / 64 + 1) * 64) as u32;
            assert_eq!((line.0[0], line.0[31]), (other, last), "{len}, {i}");
        }
    }
}

#[test]
fn elements_without_bytes_are_counted() {
    let device = &device();
    for len in [0, 1, 999, isize::MAX as usize] {
        let x = device.zeros::<[u32; 0]>(len).unwrap();
        let a = device.zeros::<[f64; 0]>(6).unwrap();
        let mut seen = device.zeros(3).unwrap();
        let kernel = nothing::on(device).unwrap().grid(3);
        kernel.launch(&x, (&a, 2, 3), [], &mut seen).unwrap();
        let counted = if len < 1000 { len as u64 } else { 0 };
        assert_eq!(values(&seen), [len as u64, 5, counted]);
    }
}
