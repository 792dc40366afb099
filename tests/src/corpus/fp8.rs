//! Floats of 8 bits (9.7.9.22) and registers of 128.

use super::case::Case;
use super::values::Values;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for ty in ["e4m3x2", "e5m2x2"] {
        for relu in ["", ".relu"] {
            let narrow = format!("cvt.rn.satfinite{relu}.{ty}");
            // Every value, those between them and those beyond.
            let range = Values::Range(-600.0, 600.0);
            let near_zero = Values::Range(-0.05, 0.05);
            for values in [Values::Any, range, near_zero] {
                let source = |values: &Values| ("f32", values.clone()).into();
                let sources = [source(&values), source(&values)];
                cases.push(Case::new(&format!("{narrow}.f32"), "b16", &sources));
            }
            cases.push(Case::new(
                &format!("{narrow}.f16x2"),
                "b16",
                &["b32".into()],
            ));
            let all = Values::List((0..0x1_0000).step_by(131).collect());
            let wide = format!("cvt.rn{relu}.f16x2.{ty}");
            cases.push(Case::new(&wide, "b32", &[("b16", all).into()]).threads(512));
        }
    }
    cases.extend(wide());
    cases
}

fn wide() -> Vec<Case> {
    let new = |name: &str, body: &str| {
        let pair = ["b64", "b64"];
        let body = format!(".reg .b128 %q<2>; {body}");
        Case::with_body(name, &body, &pair, &pair.map(Into::into)).threads(64)
    };
    vec![
        new(
            "mov.b128",
            "mov.b128 %q0, {%a1, %a0}; mov.b128 %q1, %q0; mov.b128 {%d0, %d1}, %q1;",
        ),
        new(
            "ld.global.b128",
            "ld.global.b128 %q0, [%in]; mov.b128 {%d1, %d0}, %q0;",
        ),
        new(
            "st.shared.b128",
            ".shared .align 16 .b8 slots[1024]; mov.u32 %r1, slots; mad.lo.u32 %r1, %thread, 16, %r1; \
             mov.b128 %q0, {%a1, %a0}; st.shared.b128 [%r1], %q0; ld.shared.v2.b64 {%d0, %d1}, [%r1];",
        ),
    ]
}
