//! Structs by `#[derive(Plain)]`: by value, and as elements.

use blockwise::{Error, Plain};
use device_api::{Particle, Step, Vec3, moved};
use launch_contract::launch::record_text;

use super::benches;

fn particles(count: u16) -> Vec<Particle> {
    let particle = |i: u16| Particle {
        position: Vec3 {
            x: f32::from(i),
            y: -0.5 * f32::from(i),
            z: 1e3,
        },
        kind: i % 3,
        charge: i as i16 - 40,
        moves: u64::from(i) << 40 | 7,
    };
    (0..count).map(particle).collect()
}

const STEP: Step = Step {
    by: Vec3 {
        x: 0.25,
        y: 1.0,
        z: -2.0,
    },
    kind: 2,
};

#[test]
fn structs_are_parameters_and_elements() {
    for (device, module) in benches() {
        for count in [1, 100, 1000] {
            let before = particles(count);
            let input = device.upload(&before).unwrap();
            let mut output = device.filled::<Particle>(before.len(), 0xFF).unwrap();
            let kernel = moved::on(&module).unwrap().grid(3).block(40);
            kernel.launch(STEP, &input, &mut output).unwrap();
            let expected: Vec<_> = before.iter().map(|&before| STEP.of(before)).collect();
            assert_eq!(output.to_vec().unwrap(), expected);
        }
    }
}

#[test]
fn a_struct_is_known_by_its_fields() {
    let vector = "Vec3{x:f32,y:f32,z:f32}";
    assert_eq!(Vec3::NAME, vector);
    assert_eq!(Step::NAME, format!("Step{{by:{vector},kind:u32}}"));
    assert_eq!(
        moved::entry().signature,
        format!(
            "step: {}, before: &[{element}], after: Out<{element}>",
            Step::NAME,
            element = Particle::NAME
        )
    );
    assert_eq!(moved::entry().parameter_bytes, [16, 8, 8, 8, 8]);
}

/// Another order of a struct's fields is another signature, though all sizes are the same.
#[test]
fn a_struct_with_other_fields_is_refused() {
    let text = blockwise_tests::ptx::file("device_api", (8, 0)).text;
    // The record is an array of 64-bit words, in little-endian order.
    let line = (text.lines())
        .find(|line| line.contains(" moved__signature["))
        .unwrap();
    let (_, words) = line.split_once('{').unwrap();
    let bytes: Vec<u8> = (words.trim_end_matches("};").split(','))
        .flat_map(|word| {
            u64::from_str_radix(&word.trim()[2..], 16)
                .unwrap()
                .to_le_bytes()
        })
        .collect();
    let own = record_text(&bytes).unwrap();
    let other = own.replace("kind:u16,charge:i16", "charge:i16,kind:u16");
    assert_ne!(other, own);
    // As LLVM prints a record.
    let bytes: Vec<_> = other.bytes().map(|byte| byte.to_string()).collect();
    let (len, bytes) = (bytes.len(), bytes.join(", "));
    let array = format!(".align 1 .b8 moved__signature[{len}] = {{{bytes}}};");
    let changed = text.replace(line, &format!(".visible .global {array}"));
    for (device, _) in benches() {
        // SAFETY: nothing is launched.
        let module = unsafe { device.load_ptx(&changed, "other fields") }.unwrap();
        let error = moved::on(&module).expect_err("another signature");
        assert!(matches!(error, Error::Signature { .. }), "{error}");
        assert!(error.to_string().contains("parameter 2"), "{error}");
    }
}
