//! Outputs that a launch leaves partly unwritten: which are reported, and which are not.

use crate::common::{limits, module, shape};
use ptx_emulator::{CheckOptions, CheckReport, Emulator, Finding, LaunchConfig, Rule, Severity};

/// Thread i of the grid does `body` with its index in %i and the address of its element in %at.
fn kernel(body: &str) -> String {
    format!(
        "
.visible .entry k(.param .u64 out, .param .u64 n) {{
.reg .b64 %out, %at, %n; .reg .b32 %i, %t, %b, %w, %r<4>; .reg .pred %p;
ld.param.u64 %out, [out]; ld.param.u64 %n, [n];
mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %w, %ntid.x; mad.lo.u32 %i, %b, %w, %t;
mad.wide.u32 %at, %i, 4, %out; mov.u32 %r0, 7;
{body}
ret;
}}"
    )
}

const STORE: &str = "st.global.u32 [%at], %r0;";
/// Its line, after the three of the header.
const LINE: u32 = 10;

struct Launch {
    words: u64,
    /// The first bytes of the buffer that the parameter does not point to.
    skipped: u64,
    stated: u64,
    host_writes: bool,
    config: LaunchConfig,
    options: CheckOptions,
}

impl Launch {
    fn new(words: u64, config: LaunchConfig) -> Self {
        Self {
            words,
            skipped: 0,
            stated: 5,
            host_writes: false,
            config,
            options: CheckOptions::default(),
        }
    }

    fn check(&self, body: &str) -> CheckReport {
        let emulator = Emulator::new(limits());
        let loaded = emulator.load(&module(&kernel(body))).expect("it loads");
        let address = emulator.alloc(4 * self.words).expect("memory is there");
        if self.host_writes {
            emulator.write(address, &[1; 4]).expect("it fits");
        }
        let args = [address + self.skipped, self.stated].map(u64::to_le_bytes);
        let args = args.each_ref().map(|arg| arg.as_slice());
        emulator
            .check(&loaded, "k", self.config, &args, &self.options)
            .expect("it is launched")
    }

    /// The message, if there is one.
    fn says(&self, body: &str) -> Option<String> {
        let findings = self.check(body).findings;
        assert!(findings.len() <= 1, "{findings:#?}");
        findings.into_iter().next().map(|finding| finding.message)
    }
}

#[test]
fn elements_that_no_thread_wrote_are_named_and_are_no_error() {
    let launch = Launch::new(100, shape(2, 32, 0));
    let report = launch.check(STORE);
    assert!(report.is_clean());
    let [finding]: [Finding; 1] = report.findings.try_into().expect("one");
    assert_eq!(finding.rule, Rule::UnwrittenOutput);
    assert_eq!(finding.severity, Severity::Information);
    assert_eq!(
        finding.message,
        "no thread wrote 36 of 100 elements of parameter 1: 64 to 99"
    );
    // The last write there is: the highest lane of the last warp.
    let site = &finding.site;
    assert_eq!((site.place.ptx_line, site.block), (LINE, [1, 0, 0]));
    assert_eq!(site.thread, Some([31, 0, 0]));
    let target = site.target.expect("an access");
    assert_eq!((target.address % 512, target.size), (4 * 63, 4));
    assert!(finding.hint.expect("a hint").contains("grid"));
    // Its step is that of the write: two more follow, the end of each warp's last turn.
    assert!(finding.step > 0 && finding.step < report.statistics.warp_instructions);
}

#[test]
fn what_is_written_whole_or_not_at_all_is_not_told() {
    assert_eq!(Launch::new(64, shape(2, 32, 0)).says(STORE), None);
    assert_eq!(Launch::new(64, shape(2, 32, 0)).says(""), None);
}

#[test]
fn ranges_are_shortened() {
    let odd = "and.b32 %r1, %i, 1; setp.eq.u32 %p, %r1, 0; @%p st.global.u32 [%at], %r0;";
    let said = |words: u32| Launch::new(words.into(), shape(1, words, 0)).says(odd);
    assert_eq!(
        said(6).expect("a note"),
        "no thread wrote 3 of 6 elements of parameter 1: 1, 3, 5"
    );
    assert!(
        said(8)
            .expect("a note")
            .ends_with(": 1, 3, 5 and 1 further range")
    );
    let many = said(32).expect("a note");
    assert!(
        many.ends_with("16 of 32 elements of parameter 1: 1, 3, 5 and 13 further ranges"),
        "{many}"
    );
}

#[test]
fn elements_have_the_size_of_the_stores() {
    let bytes = "st.global.u8 [%at], %r0; st.global.u16 [%at+2], %r0;";
    let said = Launch::new(2, shape(1, 2, 0)).says(bytes);
    assert_eq!(
        said.expect("a note"),
        "no thread wrote 2 of 8 elements of parameter 1: 1, 5"
    );
    // Two elements a store.
    let pairs = "mad.wide.u32 %at, %i, 8, %out; st.global.v2.u32 [%at], {%r0, %r0};";
    let said = Launch::new(8, shape(1, 3, 0)).says(pairs);
    assert_eq!(
        said.expect("a note"),
        "no thread wrote 2 of 8 elements of parameter 1: 6 to 7"
    );
}

#[test]
fn memory_that_the_host_wrote_is_no_output() {
    let mut launch = Launch::new(100, shape(2, 32, 0));
    launch.host_writes = true;
    assert_eq!(launch.says(STORE), None);
}

#[test]
fn memory_that_the_launch_reads_is_no_output() {
    let body = format!("{STORE} ld.global.u32 %r1, [%at];");
    assert_eq!(Launch::new(100, shape(2, 32, 0)).says(&body), None);
}

#[test]
fn elements_after_the_length_that_was_told_are_not_the_kernels() {
    let mut launch = Launch::new(100, shape(2, 32, 0));
    launch.stated = 64;
    assert_eq!(launch.says(STORE), None);
    launch.stated = 63;
    assert!(launch.says(STORE).is_some());
}

#[test]
fn elements_before_the_pointer_are_not_the_kernels() {
    let mut launch = Launch::new(64, shape(1, 32, 0));
    launch.skipped = 4 * 32;
    assert_eq!(launch.says(STORE), None);
    launch.skipped = 4 * 31;
    let said = launch.says(STORE).expect("a note");
    assert!(said.contains("1 of 33 elements"), "{said}");
}

#[test]
fn other_orders_do_not_tell_it_again() {
    let mut launch = Launch::new(100, shape(2, 32, 0));
    launch.options.schedules = 3;
    let findings = launch.check(STORE).findings;
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].count, findings[0].seed), (1, None));
}

/// Whoever reads the report mends the error first: what is unwritten may follow from it.
#[test]
fn a_launch_with_an_error_says_nothing_of_its_outputs() {
    let body = ".reg .b32 %unset; st.global.u32 [%at], %unset;";
    let findings = Launch::new(100, shape(2, 32, 0)).check(body).findings;
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].rule, Rule::UninitialisedRegister);
}

#[test]
fn a_launch_that_faults_says_nothing_of_its_outputs() {
    let body = format!("{STORE} trap;");
    let findings = Launch::new(100, shape(2, 32, 0)).check(&body).findings;
    assert!(
        findings.iter().all(|finding| finding.rule == Rule::Trap),
        "{findings:#?}"
    );
}

#[test]
fn without_initcheck_it_is_not_looked_for_and_with_strict_it_is_an_error() {
    let mut launch = Launch::new(100, shape(2, 32, 0));
    launch.options.strict = true;
    assert_eq!(launch.check(STORE).count(Severity::Error), 1);
    launch.options.init = false;
    assert_eq!(launch.says(STORE), None);
}

/// A kernel of this project says how its parameters are called.
#[test]
fn a_rust_kernels_output_is_named() {
    let text = kernel(STORE).replace(
        ".visible .entry",
        ".visible .global .align 1 .b8 k__signature[14] = {121, 58, 32, 79, 117, 116, 60, 117, 51, 50, 62, 44, 32, 32};\n.visible .entry",
    );
    let emulator = Emulator::new(limits());
    let loaded = emulator.load(&module(&text)).expect("it loads");
    let address = emulator.alloc(400).expect("memory is there");
    let args = [address, 5].map(u64::to_le_bytes);
    let args = args.each_ref().map(|arg| arg.as_slice());
    let report = emulator.check(
        &loaded,
        "k",
        shape(2, 32, 0),
        &args,
        &CheckOptions::default(),
    );
    let message = &report.expect("it is launched").findings[0].message;
    assert_eq!(
        message,
        "no thread wrote 36 of 100 elements of output `y`: 64 to 99"
    );
}
