//! Uses of values that were never written: each kind is reported with the right places, and what
//! compilers do with undefined values without using them is not.

mod harmless;
mod lanes;
mod memory;
mod registers;

use crate::common::{limits, module, shape};
use ptx_emulator::{
    CheckOptions, CheckReport, Emulator, Finding, LaunchConfig, LoadedModule, Rule, Space,
};

const BYTES: u64 = 4096;

/// A device with two buffers: the host has written the first one and not the second.
struct Device {
    emulator: Emulator,
    loaded: LoadedModule,
    input: u64,
    output: u64,
}

impl Device {
    fn new(text: &str) -> Self {
        let emulator = Emulator::new(limits());
        let loaded = emulator.load(&module(text)).expect("it loads");
        let input = emulator.alloc(BYTES).expect("memory is there");
        let output = emulator.alloc(BYTES).expect("memory is there");
        let values: Vec<u8> = (0..BYTES / 4)
            .flat_map(|word| (word as u32).to_le_bytes())
            .collect();
        emulator.write(input, &values).expect("it fits");
        Self {
            emulator,
            loaded,
            input,
            output,
        }
    }

    fn check(&self, kernel: &str, config: LaunchConfig) -> CheckReport {
        let args = [self.input.to_le_bytes(), self.output.to_le_bytes()];
        let args = args.each_ref().map(|arg| arg.as_slice());
        let options = CheckOptions {
            race: false,
            ..CheckOptions::default()
        };
        self.emulator
            .check(&self.loaded, kernel, config, &args, &options)
            .expect("it is launched")
    }
}

const HEAD: &str = "
.visible .entry k(.param .u64 in, .param .u64 out) {
.reg .b64 %in, %out, %rd<9>; .reg .b32 %t, %r<9>, %f<20>; .reg .b16 %h<4>; .reg .pred %p<4>;
ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x;
mad.wide.u32 %in, %t, 4, %in; mad.wide.u32 %out, %t, 4, %out;";
/// The line of the first instruction of a body that follows the head.
const BODY: u32 = 9;

/// A kernel with buffers `in` and `out`, and the lane's place in them in %in and %out; one
/// instruction a line.
fn kernel(before: &str, body: &str) -> String {
    assert!(!before.contains('\n'), "the body's lines are counted");
    format!("{before}{HEAD}\n{body}\nret;\n}}")
}

fn check(before: &str, body: &str, config: LaunchConfig) -> CheckReport {
    Device::new(&kernel(before, body)).check("k", config)
}

#[track_caller]
fn clean(before: &str, body: &str) {
    for config in [shape(1, 32, 0), shape(2, 64, 0), shape(1, 40, 0)] {
        let report = check(before, body, config);
        assert!(report.is_clean(), "{:#?}", report.findings);
    }
}

/// The only finding.
#[track_caller]
fn only(report: CheckReport) -> Finding {
    let [finding] = report
        .findings
        .try_into()
        .unwrap_or_else(|all| panic!("{all:#?}"));
    finding
}

/// A finding about memory: where the value was read and where it is used, as lines of the body from
/// 0.
#[track_caller]
fn memory(report: CheckReport, space: Space, read: u32, used: u32, words: &[&str]) -> Finding {
    let finding = only(report);
    assert_eq!(finding.rule, Rule::UninitialisedMemory);
    assert_eq!(finding.site.place.ptx_line, BODY + used, "{finding:#?}");
    let [origin] = finding.others.as_slice() else {
        panic!("{finding:#?}")
    };
    assert_eq!(origin.place.ptx_line, BODY + read, "{finding:#?}");
    assert_eq!(origin.target.expect("an access").space, space);
    assert_eq!(origin.thread, finding.site.thread);
    let hint = finding.hint.clone().unwrap_or_default();
    for word in words {
        let said = finding.message.contains(word) || hint.contains(word);
        assert!(said, "`{word}` is missing: {finding:#?}");
    }
    finding
}

const TILE: &str = ".shared .align 16 .b8 tile[1024];";
