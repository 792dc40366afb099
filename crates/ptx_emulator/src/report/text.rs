use super::excerpt::excerpt;
use super::{Sources, count};
use crate::fault::Space;
use crate::sanitize::{CheckReport, Finding, Rule, Severity, Site, Tool};
use crate::source::{SourceLocation, other_frames};
use annotate_snippets::Renderer;
use std::fmt::{self, Write};
use std::io::IsTerminal;

/// Starts every line, as in compute-sanitizer: distinguishes the report from the program's output.
const MARGIN: &str = "=========";

/// The style of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Plain characters.
    Plain,
    /// With terminal colours.
    Coloured,
}

impl Style {
    /// Coloured on a terminal, unless the variable `NO_COLOR` is set and not empty.
    pub fn on(stream: &impl IsTerminal) -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if stream.is_terminal() && !unwanted {
            Self::Coloured
        } else {
            Self::Plain
        }
    }
}

/// The checks as text in the layout of compute-sanitizer, with the source lines of every place.
pub fn text(checks: &[CheckReport], sources: &Sources, style: Style) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = checks
        .iter()
        .try_for_each(|check| check_text(&mut text, check, sources, style))
        .and_then(|()| summary(&mut text, checks));
    text
}

fn check_text(
    to: &mut String,
    check: &CheckReport,
    sources: &Sources,
    style: Style,
) -> fmt::Result {
    let schedules = plural(check.schedules.into(), "schedule");
    let kernel = clean(&check.kernel);
    writeln!(to, "{MARGIN} BLOCKWISE CHECK of {kernel} in {schedules}")?;
    for finding in &check.findings {
        finding_text(to, finding, &kernel, sources, style)?;
    }
    if check.dropped > 0 {
        let dropped = plural(check.dropped, "more finding");
        writeln!(
            to,
            "{MARGIN} {dropped} not kept: raise the limit of findings to keep more"
        )?;
    }
    for notice in &check.notices {
        writeln!(to, "{MARGIN} Notice: {}", clean(notice))?;
    }
    writeln!(to, "{MARGIN}")
}

fn finding_text(
    to: &mut String,
    finding: &Finding,
    kernel: &str,
    sources: &Sources,
    style: Style,
) -> fmt::Result {
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Coloured => Renderer::styled(),
    };
    let (name, paint) = match finding.severity {
        Severity::Error => ("Error", renderer_style(style, "31")),
        Severity::Warning => ("Warning", renderer_style(style, "33")),
        Severity::Information => ("Information", renderer_style(style, "36")),
    };
    let ([on, off], rule) = (paint, finding.rule.name());
    writeln!(to, "{MARGIN}")?;
    writeln!(
        to,
        "{MARGIN} {on}{name}: {}{off} [{rule}]",
        headline(finding)
    )?;
    writeln!(to, "{MARGIN}     {}", clean(&finding.message))?;
    place_text(to, &finding.site, kernel)?;
    actor_text(to, &finding.site)?;
    for other in &finding.others {
        writeln!(to, "{MARGIN}   and")?;
        place_text(to, other, kernel)?;
        actor_text(to, other)?;
    }
    if finding.count > 1 {
        writeln!(
            to,
            "{MARGIN}     {} times; this is the first",
            finding.count
        )?;
    }
    if let Some(seed) = finding.seed {
        writeln!(
            to,
            "{MARGIN}     in the schedule of seed {seed}; `--schedules 1 --seed {seed}` replays it"
        )?;
    }
    if let Some(hint) = &finding.hint {
        writeln!(to, "{MARGIN}     hint: {}", clean(hint))?;
    }
    let excerpt = excerpt(finding, sources, &renderer);
    excerpt
        .lines()
        .try_for_each(|line| writeln!(to, "{MARGIN} {line}"))
}

/// The start and end of bold text in a colour.
fn renderer_style(style: Style, colour: &str) -> [String; 2] {
    match style {
        Style::Plain => [String::new(), String::new()],
        Style::Coloured => [format!("\x1b[1;{colour}m"), "\x1b[0m".to_owned()],
    }
}

fn place_text(to: &mut String, site: &Site, kernel: &str) -> fmt::Result {
    let what = clean(&site.what);
    match &site.place.source {
        Some(source) => {
            let (source, line) = (location(source), site.place.ptx_line);
            writeln!(
                to,
                "{MARGIN}     {what}, in {kernel} at {source} (PTX line {line})"
            )?;
        }
        None if site.place.ptx_line > 0 => {
            let line = site.place.ptx_line;
            writeln!(to, "{MARGIN}     {what}, in {kernel} at PTX line {line}")?;
        }
        None => writeln!(to, "{MARGIN}     {what}, in {kernel}")?,
    }
    other_frames(&site.inlined, site.place.source.as_ref())
        .iter()
        .try_for_each(|frame| writeln!(to, "{MARGIN}         {}", clean(frame)))
}

/// The thread, with its access if there is one.
fn actor_text(to: &mut String, site: &Site) -> fmt::Result {
    let (Some([x, y, z]), [bx, by, bz]) = (site.thread, site.block) else {
        return Ok(());
    };
    let barriers = plural(site.epoch.into(), "barrier");
    writeln!(
        to,
        "{MARGIN}     by thread ({x},{y},{z}) in block ({bx},{by},{bz}), after {barriers}"
    )?;
    let Some(target) = site.target else {
        return Ok(());
    };
    let (access, size, space) = (target.access, target.size, target.space);
    write!(
        to,
        "{MARGIN}     address {:#x}: {access} of {size} bytes in {space} memory",
        target.address
    )?;
    match target.value {
        Some(value) => writeln!(to, ", value {value:#x}"),
        None => writeln!(to),
    }
}

/// The finding's headline, in CUDA's terms.
fn headline(finding: &Finding) -> String {
    let used = finding.others.first().and_then(|read| read.target);
    let target = match finding.rule {
        // The headline names the read: the first of `others`; `site` is where its value is used. An
        // atomic access may be both, and has no `others`.
        Rule::UninitialisedMemory => used.or(finding.site.target),
        _ => finding.site.target,
    };
    let access = || match target {
        Some(target) => {
            let (space, access) = (qualifier(target.space), target.access);
            format!("{space} {access} of {} bytes", target.size)
        }
        None => "access".to_owned(),
    };
    let memory = target.map_or("", |target| qualifier(target.space));
    match finding.rule {
        Rule::ReadAfterWrite => format!("Race (read after write) on {memory} memory"),
        Rule::WriteAfterRead => format!("Race (write after read) on {memory} memory"),
        Rule::WriteAfterWrite => format!("Race (write after write) on {memory} memory"),
        Rule::AsyncCopy => format!("Race with an asynchronous copy on {memory} memory"),
        Rule::NonCoherent => format!("Non-coherent read of {memory} memory that is written"),
        Rule::OutOfBounds => format!("Invalid {}", access()),
        Rule::Misaligned => format!("Misaligned {}", access()),
        Rule::ReadOnly => "Write to read-only memory".to_owned(),
        Rule::UninitialisedMemory => format!("Uninitialised {}", access()),
        Rule::UninitialisedRegister => "Uninitialised register".to_owned(),
        Rule::UnwrittenOutput => "Output not wholly written".to_owned(),
        Rule::DivergentBarrier => "Barrier in divergent code".to_owned(),
        Rule::InvalidMembers => "Invalid member mask".to_owned(),
        Rule::Deadlock => "Deadlock".to_owned(),
        Rule::InvalidOperand => "Invalid operand".to_owned(),
        Rule::StepLimit => "Step limit".to_owned(),
        Rule::EndlessLoop => "Endless loop".to_owned(),
        Rule::OrderDependent => "Result depends on the order of threads".to_owned(),
        Rule::Trap => "Trap".to_owned(),
        Rule::Assert => "Assertion".to_owned(),
        Rule::Undefined => "Undefined operation".to_owned(),
        Rule::Unsupported => "Not supported by the emulator".to_owned(),
    }
}

fn qualifier(space: Space) -> &'static str {
    match space {
        Space::Generic => "generic",
        Space::Global => "__global__",
        Space::Shared => "__shared__",
        Space::Local => "__local__",
        Space::Const => "__constant__",
        Space::Param => "parameter",
    }
}

fn summary(to: &mut String, checks: &[CheckReport]) -> fmt::Result {
    let races = |severity| {
        let findings = checks.iter().flat_map(|check| &check.findings);
        let race = |finding: &&Finding| {
            finding.rule.tool() == Tool::Racecheck && finding.severity == severity
        };
        findings.filter(race).count() as u64
    };
    let [errors, warnings, information] = SEVERITIES.map(races);
    let hazards = errors + warnings + information;
    if hazards > 0 {
        writeln!(
            to,
            "{MARGIN} RACECHECK SUMMARY: {} displayed ({}, {}{})",
            plural(hazards, "hazard"),
            plural(errors, "error"),
            plural(warnings, "warning"),
            informing(information)
        )?;
    }
    let notices: usize = checks.iter().map(|check| check.notices.len()).sum();
    if notices > 0 {
        let notices = plural(notices as u64, "notice");
        writeln!(to, "{MARGIN} NOT ALL WAS CHECKED: {notices} above")?;
    }
    let [errors, warnings, information] = SEVERITIES.map(|severity| count(checks, severity) as u64);
    write!(to, "{MARGIN} ERROR SUMMARY: {}", plural(errors, "error"))?;
    if warnings > 0 {
        write!(to, ", {}", plural(warnings, "warning"))?;
    }
    write!(to, "{}", informing(information))?;
    let dropped: u64 = checks.iter().map(|check| check.dropped).sum();
    if dropped > 0 {
        write!(to, ", {dropped} not kept")?;
    }
    writeln!(to)
}

const SEVERITIES: [Severity; 3] = [Severity::Error, Severity::Warning, Severity::Information];

fn informing(count: u64) -> String {
    match count {
        0 => String::new(),
        count => format!(", {count} for information"),
    }
}

fn plural(count: u64, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        _ => format!("{count} {thing}s"),
    }
}

fn location(place: &SourceLocation) -> String {
    clean(&place.to_string())
}

/// Escapes control characters: PTX may contain anything, including terminal escape sequences.
fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            clean.extend(character.escape_default());
        } else {
            clean.push(character);
        }
    }
    clean
}
