//! The source lines of a finding.

use super::Sources;
use crate::sanitize::{Finding, Severity, Site};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::ops::Range;

/// Marks farther apart than this many bytes are shown in separate excerpts.
const NEAR: usize = 1 << 14;

/// Longer lines are generated, not written.
const LONGEST_LINE: usize = 1000;

/// A file and the places marked in it.
struct Shown {
    path: String,
    text: String,
    marks: Vec<Mark>,
}

struct Mark {
    kind: AnnotationKind,
    /// Bytes of the text.
    span: Range<usize>,
    label: String,
}

/// The lines of all places of a finding, marked; empty if none can be read.
pub(super) fn excerpt(finding: &Finding, sources: &Sources, renderer: &Renderer) -> String {
    let mut files: Vec<Shown> = Vec::new();
    let sites = std::iter::once(&finding.site).chain(&finding.others);
    for (at, site) in sites.enumerate() {
        let Some((path, text, span)) = in_source(site, sources).or_else(|| in_ptx(site, sources))
        else {
            continue;
        };
        let mark = Mark {
            kind: match at {
                0 => AnnotationKind::Primary,
                _ => AnnotationKind::Context,
            },
            span: span.clone(),
            label: match site.thread {
                Some([x, y, z]) => format!("{}, thread ({x},{y},{z})", site.what),
                None => site.what.clone(),
            },
        };
        let near = |mark: &Mark| mark.span.start.abs_diff(span.start) < NEAR;
        let shown = |file: &&mut Shown| file.path == path && file.marks.iter().all(near);
        match files.iter_mut().find(shown) {
            Some(file) => file.marks.push(mark),
            None => files.push(Shown {
                path,
                text,
                marks: vec![mark],
            }),
        }
    }
    if files.is_empty() {
        return String::new();
    }
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Information => Level::NOTE,
    };
    let group = Group::with_level(level).elements(files.iter().map(Shown::snippet));
    renderer.render(&[group])
}

/// The user's source line, if its file has it.
fn in_source(site: &Site, sources: &Sources) -> Option<(String, String, Range<usize>)> {
    let place = site.place.source.as_ref()?;
    let path = sources.find(&place.file)?;
    let text = Sources::read(&path)?;
    let span = expression(&text, place.line, place.column)?;
    Some((sources.shown(&path), text, span))
}

fn in_ptx(site: &Site, sources: &Sources) -> Option<(String, String, Range<usize>)> {
    let (path, text) = sources.ptx()?;
    let span = expression(text, site.place.ptx_line, 0)?;
    Some((path, text.to_owned(), span))
}

/// The range to mark in a line: from the column, if there is one, to the end of the code. `None` if
/// there is no code: then the file is not the one that was compiled.
fn expression(text: &str, line: u32, column: u32) -> Option<Range<usize>> {
    let index = usize::try_from(line).ok()?.checked_sub(1)?;
    let content = text.split_inclusive('\n').nth(index)?;
    if content.len() > LONGEST_LINE {
        return None;
    }
    let start = content.as_ptr() as usize - text.as_ptr() as usize;
    let code = content.split("//").next()?.trim_end();
    let code = code.trim_end_matches([';', '{', ',']).trim_end();
    let indent = code.len() - code.trim_start().len();
    let column = (column as usize).saturating_sub(1).max(indent);
    let from = match code.get(column..) {
        Some(rest) if !rest.is_empty() => column,
        _ if column == indent => return None,
        _ => indent,
    };
    (from < code.len()).then_some(start + from..start + code.len())
}

impl Shown {
    fn snippet(&self) -> Snippet<'_, annotate_snippets::Annotation<'_>> {
        let first = self.marks.iter().map(|mark| mark.span.start).min();
        let last = self.marks.iter().map(|mark| mark.span.end).max();
        let line_start = |at: usize| self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let start = line_start(first.unwrap_or(0));
        let end = last.unwrap_or(0);
        let end = self.text[end..]
            .find('\n')
            .map_or(self.text.len(), |length| end + length);
        let number = 1 + self.text[..start].matches('\n').count();
        let annotations = self.marks.iter().map(|mark| {
            let span = mark.span.start - start..mark.span.end - start;
            mark.kind.span(span).label(&mark.label)
        });
        Snippet::source(&self.text[start..end])
            .line_start(number)
            .path(&self.path)
            .annotations(annotations)
    }
}
