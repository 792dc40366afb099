//! Small kernels around an instruction, and what they compute.
use ptx_emulator::{
    CheckOptions, CheckReport, Emulator, Fault, LaunchConfig, LaunchError, Limits, Module, Site,
    Statistics,
};

/// A module with one or more kernels, given without its header.
pub(crate) fn module(text: &str) -> Module {
    parse(text).unwrap_or_else(|error| panic!("{error}\n{}", numbered(text)))
}

pub(crate) fn parse(text: &str) -> Result<Module, ptx_emulator::ParseError> {
    Module::parse(&with_header(text))
}

/// Why a text is refused, or the first kernel of it.
pub(crate) fn unsupported_or_wrong(text: &str) -> Option<ptx_emulator::ParseError> {
    match parse(text) {
        Ok(module) => module
            .entries()
            .find_map(|entry| entry.unsupported().cloned()),
        Err(error) => Some(error),
    }
}

/// The header takes the first three lines: the text's own first line is line 4.
pub(crate) fn with_header(text: &str) -> String {
    format!(".version 8.0\n.target sm_90\n.address_size 64\n{text}")
}

fn numbered(text: &str) -> String {
    with_header(text)
        .lines()
        .enumerate()
        .map(|(at, line)| format!("{:4} {line}\n", at + 1))
        .collect()
}

/// One worker, so that every run is the same.
pub(crate) fn limits() -> Limits {
    Limits {
        workers: Some(1),
        warp_instructions: 10_000_000,
        ..Limits::default()
    }
}

pub(crate) fn shape(grid: u32, block: u32, dynamic_shared_bytes: u32) -> LaunchConfig {
    LaunchConfig {
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        dynamic_shared_bytes,
    }
}

/// Launches the kernel `k`, whose only parameter is a buffer of `words` u64 that starts as
/// `initial`; the buffer.
pub(crate) fn launch(
    text: &str,
    config: LaunchConfig,
    initial: &[u64],
    words: usize,
) -> Result<(Vec<u64>, Statistics), Box<Fault>> {
    launch_with(limits(), text, config, initial, words)
}

pub(crate) fn launch_with(
    limits: Limits,
    text: &str,
    config: LaunchConfig,
    initial: &[u64],
    words: usize,
) -> Result<(Vec<u64>, Statistics), Box<Fault>> {
    let emulator = Emulator::new(limits);
    let loaded = emulator.load(&module(text)).expect("the module loads");
    let buffer = emulator.alloc(8 * words as u64).expect("memory is there");
    let bytes: Vec<u8> = initial.iter().flat_map(|word| word.to_le_bytes()).collect();
    emulator
        .write(buffer, &bytes)
        .expect("the initial values fit");
    let statistics = match emulator.launch(&loaded, "k", config, &[&buffer.to_le_bytes()]) {
        Ok(statistics) => statistics,
        Err(LaunchError::Fault(fault)) => return Err(fault),
        Err(error) => panic!("{error}"),
    };
    let mut bytes = vec![0; 8 * words];
    emulator
        .read(buffer, &mut bytes)
        .expect("the buffer can be read");
    let words = bytes
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")))
        .collect();
    Ok((words, statistics))
}

/// Runs the kernel `k`, whose parameter is a zeroed buffer of 4096 u32, with the race detector
/// alone.
pub(crate) fn races(text: &str, config: LaunchConfig) -> CheckReport {
    races_in(text, config, 0)
}

/// The same in that many other orders too.
#[track_caller]
pub(crate) fn races_in(text: &str, config: LaunchConfig, schedules: u32) -> CheckReport {
    let emulator = Emulator::new(limits());
    let loaded = emulator.load(&module(text)).expect("the module loads");
    let buffer = emulator.alloc(4 * 4096).expect("memory is there");
    let options = CheckOptions {
        init: false,
        schedules,
        ..CheckOptions::default()
    };
    let args = [&buffer.to_le_bytes()[..]];
    emulator
        .check(&loaded, "k", config, &args, &options)
        .expect("it is launched")
}

/// Runs instructions on operands, one thread for each set; the results.
///
/// The body finds its operands in `%A %B %C` (64 bits), `%a %b %c` (32) and `%ha %hb %hc` (16), and
/// leaves its result in `%D`, `%d`, `%h` or the predicate `%p`, as `result` says.
#[track_caller]
pub(crate) fn compute(body: &str, result: &str, operands: &[[u64; 3]]) -> Vec<u64> {
    let finish = match result {
        "%D" => "",
        "%d" => "cvt.u64.u32 %D, %d;",
        "%h" => "cvt.u64.u16 %D, %h;",
        "%p" => "selp.b64 %D, 1, 0, %p;",
        other => panic!("no result {other}"),
    };
    let text = format!(
        ".visible .entry k(.param .u64 buffer) {{
    .reg .b64 %A, %B, %C, %D, %at, %at2;
    .reg .b32 %a, %b, %c, %d, %thread;
    .reg .b16 %ha, %hb, %hc, %h;
    .reg .pred %p, %q;
    .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .b16 %rs<8>; .reg .pred %pp<8>;
    ld.param.u64 %at, [buffer];
    mov.u32 %thread, %tid.x;
    mad.wide.u32 %at, %thread, 32, %at;
    ld.global.v2.u64 {{%A, %B}}, [%at];
    ld.global.u64 %C, [%at+16];
    cvt.u32.u64 %a, %A; cvt.u32.u64 %b, %B; cvt.u32.u64 %c, %C;
    cvt.u16.u64 %ha, %A; cvt.u16.u64 %hb, %B; cvt.u16.u64 %hc, %C;
    mov.u64 %D, 0; mov.u32 %d, 0; mov.u16 %h, 0;
    setp.ne.u32 %p, 0, 0;
    {body}
    {finish}
    st.global.u64 [%at+24], %D;
    ret;
}}"
    );
    let initial: Vec<u64> = operands
        .iter()
        .flat_map(|&[a, b, c]| [a, b, c, 0])
        .collect();
    let config = shape(1, operands.len() as u32, 0);
    let (words, _) =
        launch(&text, config, &initial, initial.len()).unwrap_or_else(|fault| panic!("{fault}"));
    words.chunks_exact(4).map(|words| words[3]).collect()
}

/// One set of operands.
#[track_caller]
pub(crate) fn one(body: &str, result: &str, operands: [u64; 3]) -> u64 {
    compute(body, result, &[operands])[0]
}

/// The number along x of the thread at a place that is one thread's.
#[track_caller]
pub(crate) fn thread(site: &Site) -> u32 {
    site.thread.expect("one thread")[0]
}

pub(crate) fn f(value: f32) -> u64 {
    u64::from(value.to_bits())
}

pub(crate) fn d(value: f64) -> u64 {
    value.to_bits()
}
