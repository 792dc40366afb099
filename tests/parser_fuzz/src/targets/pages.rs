//! The launches that a page of `blockwise trace` carries, as JSON.

use blockwise_viewer::{Detectors, Document, Launch, Ptx, Session, StoredFile, StoredFiles};

use super::Target;

pub(super) const TARGET: Target = Target {
    name: "traces",
    run,
    seeds,
    words: &[
        "\"title\":",
        "\"launches\":[",
        "\"ptx\":",
        "\"kernel\":\"k\"",
        "\"grid\":[1,1,1]",
        "\"block\":[32,1,1]",
        "\"shared_bytes\":",
        "\"arguments\":[",
        "slice:f32[4]=x.npy",
        "f32[]=x.npy",
        "u32:7",
        "f32[8]=iota",
        "f32[8]=random:1",
        "bytes:00ff",
        "tex2d:u8x4[4,4]=random:1,linear,wrap,normalized",
        "surf2d:f32[4,4]=zeros",
        "\"seed\":null",
        "\"steps\":",
        "\"detectors\":{",
        "\"race_bytes\":",
        "\"max_findings\":",
        "\"files\":[",
        "\"base64\":\"",
        "AAAA",
        "====",
        "\"extents\":[",
        "\"ty\":\"f32\"",
        "\"sources\":[",
        "[[[[",
        "{{{{",
        "null",
        "\\u0000",
        "1e400",
        " -> y.npy",
    ],
    in_test: 800,
};

const PTX: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 .ptr .align 4 x, .param .u64 n, .param .u64 .ptr .align 4 y)
{
    .reg .b32 %r<4>; .reg .b64 %q<6>; .reg .pred %p;
    .shared .align 4 .b8 tile[128];
    ld.param.u64 %q1, [x]; ld.param.u64 %q2, [n]; ld.param.u64 %q3, [y];
    mov.u32 %r1, %tid.x; cvt.u64.u32 %q4, %r1;
    setp.ge.u64 %p, %q4, %q2; @%p bra END;
    shl.b64 %q4, %q4, 2; add.u64 %q1, %q1, %q4; add.u64 %q3, %q3, %q4;
    ld.global.u32 %r2, [%q1]; mov.u32 %r3, tile; st.shared.u32 [%r3], %r2;
    st.global.u32 [%q3], %r2;
END: ret;
}
";

/// Bounds of what a page's launches may ask for here. What a reader starts in a browser takes the
/// time and the memory that it says.
const THREADS: u64 = 256;
const ELEMENTS: usize = 4;

fn seeds() -> Vec<Vec<u8>> {
    let launch = |arguments: &[&str], seed| Launch {
        name: "k".into(),
        ptx: 0,
        kernel: "k".into(),
        grid: [2, 1, 1],
        block: [32, 1, 1],
        shared_bytes: 0,
        arguments: arguments
            .iter()
            .map(|&argument| argument.to_owned())
            .collect(),
        seed,
        steps: 1000,
        detectors: Detectors {
            race_bytes: 1 << 16,
            ..Detectors::default()
        },
    };
    let bytes: Vec<u8> = (0..32_u8)
        .flat_map(|i| f32::from(i).to_le_bytes())
        .collect();
    let ty = "f32".parse();
    let document = Document {
        title: "a page".into(),
        launches: vec![
            launch(&["slice:f32[]=x.npy", "f32[32]"], None),
            launch(&["slice:u32[9]=iota", "u32[9]=random:3 -> y.npy"], Some(7)),
            launch(&["f32[8]=zeros", "u64:8", "f32[8]"], None),
        ],
        ptx: vec![Ptx {
            origin: "k.ptx".into(),
            text: PTX.into(),
        }],
        files: ty
            .into_iter()
            .map(|ty| StoredFile::new("x.npy", ty, vec![32], &bytes))
            .collect(),
        sources: Vec::new(),
    };
    let text = serde_json::to_string(&document).unwrap_or_default();
    vec![
        text.into_bytes(),
        b"{}".to_vec(),
        b"[1, {\"title\": null}]".to_vec(),
    ]
}

fn run(bytes: &[u8]) -> String {
    let mut document: Document = match serde_json::from_slice(bytes) {
        Ok(document) => document,
        Err(error) => return error.to_string(),
    };
    document.leave_out_other_kernels();
    let files = StoredFiles(document.files);
    let mut outcome = format!("{} launches", document.launches.len().min(3));
    for launch in document.launches.iter().take(3) {
        let Some(ptx) = document.ptx.get(launch.ptx) else {
            outcome += ", no PTX";
            continue;
        };
        let threads = launch.grid.iter().chain(&launch.block);
        let threads = threads
            .map(|&extent| u64::from(extent))
            .fold(1, u64::saturating_mul);
        // A run of digits that long is a large buffer.
        let long = |text: &String| {
            text.split(|c: char| !c.is_ascii_digit())
                .any(|n| n.len() > ELEMENTS)
        };
        let is_large =
            threads > THREADS || launch.shared_bytes > 4096 || launch.arguments.iter().any(long);
        if is_large {
            outcome += ", large";
            continue;
        }
        let launch = Launch {
            steps: launch.steps.min(1000),
            detectors: Detectors {
                race_bytes: launch.detectors.race_bytes.min(1 << 16),
                ..launch.detectors
            },
            ..launch.clone()
        };
        match Session::open(&launch, &ptx.text, &files) {
            Err(problem) => outcome += &format!(", {problem:?}"),
            Ok(mut session) => {
                let steps = session.timeline().at.len();
                for step in [0, steps / 2, steps, usize::MAX] {
                    session.go_to(step);
                    session.writers(step);
                }
                session.memory();
                session.show(u64::MAX);
                let summary = serde_json::to_string(&session.summary()).unwrap_or_default();
                outcome += if summary.contains("race") {
                    ", runs with a race"
                } else {
                    ", runs"
                };
            }
        }
    }
    outcome
}
