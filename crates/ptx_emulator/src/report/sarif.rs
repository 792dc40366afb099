use super::Sources;
use crate::fault::Place;
use crate::sanitize::{CheckReport, Finding, Rule, Severity, Site};
use serde_json::{Value, json};
use std::path::Path;

/// The checks as a SARIF 2.1.0 log with one run, for services that annotate code with findings.
///
/// Files below the working directory of `sources` are named relative to it, as such services
/// expect: create reports in the repository's root. A finding without a source line refers to the
/// PTX.
pub fn sarif(checks: &[CheckReport], sources: &Sources) -> String {
    let rules: Vec<_> = Rule::ALL.iter().map(|&rule| descriptor(rule)).collect();
    let results: Vec<_> = checks
        .iter()
        .flat_map(|check| {
            let result = |finding| result(check, finding, sources);
            check.findings.iter().map(result)
        })
        .collect();
    let notices = checks.iter().flat_map(|check| {
        let notice = |text: &String| {
            let text = format!("{}: {text}", check.kernel);
            json!({ "level": "warning", "message": { "text": text } })
        };
        check.notices.iter().map(notice)
    });
    let notices: Vec<_> = notices.collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "blockwise",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "columnKind": "utf16CodeUnits",
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": notices,
            }],
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

/// One log with the findings of two, each once; `None` if the older is no log with one run.
pub fn sarif_merged(old: &str, new: &str) -> Option<String> {
    let [old, mut new] = [old, new].map(|text| serde_json::from_str::<Value>(text).ok());
    let (old, new) = (old.as_ref()?, new.as_mut()?);
    let [old_run] = &old["runs"].as_array()?[..] else {
        return None;
    };
    old_run["tool"]["driver"]["name"].as_str()?;
    for list in ["/results", "/invocations/0/toolExecutionNotifications"] {
        let of_old = old_run.pointer(list).and_then(Value::as_array);
        let run = new.pointer_mut("/runs/0")?;
        let Some(of_new) = run.pointer_mut(list).and_then(Value::as_array_mut) else {
            continue;
        };
        let mut all: Vec<Value> = of_old.cloned().unwrap_or_default();
        for value in of_new.drain(..) {
            if !all.contains(&value) {
                all.push(value);
            }
        }
        *of_new = all;
    }
    Some(format!("{new:#}\n"))
}

fn descriptor(rule: Rule) -> Value {
    json!({
        "id": rule.name(),
        "shortDescription": { "text": rule.description() },
        "defaultConfiguration": { "level": level(Severity::Error) },
        "properties": { "tags": [rule.tool().to_string()] },
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Information => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

fn result(check: &CheckReport, finding: &Finding, sources: &Sources) -> Value {
    let index = Rule::ALL.iter().position(|&rule| rule == finding.rule);
    let mut text = finding.message.clone();
    if let Some(who) = who(&finding.site) {
        text += &format!("; {who}");
    }
    for other in &finding.others {
        text += &format!("; {}", described(other));
    }
    if let Some(hint) = &finding.hint {
        text += &format!("\n{hint}");
    }
    let related: Vec<_> = (1..)
        .zip(&finding.others)
        .map(|(id, other)| {
            let mut location = location(other, &check.kernel, sources);
            location["id"] = json!(id);
            location["message"] = json!({ "text": described(other) });
            location
        })
        .collect();
    let mut result = json!({
        "ruleId": finding.rule.name(),
        "ruleIndex": index,
        "level": level(finding.severity),
        "message": { "text": text },
        "locations": [location(&finding.site, &check.kernel, sources)],
        "relatedLocations": related,
        "occurrenceCount": finding.count.clamp(1, i32::MAX as u64),
    });
    if finding.site.inlined.len() > 1 {
        result["stacks"] = json!([stack(&finding.site, sources)]);
    }
    if let Some(seed) = finding.seed {
        result["properties"] = json!({ "seed": seed });
    }
    result
}

fn described(other: &Site) -> String {
    match who(other) {
        Some(who) => format!("{}, {who}", other.what),
        None => other.what.clone(),
    }
}

fn who(site: &Site) -> Option<String> {
    let ([x, y, z], [bx, by, bz]) = (site.thread?, site.block);
    Some(format!("thread ({x},{y},{z}) in block ({bx},{by},{bz})"))
}

fn location(site: &Site, kernel: &str, sources: &Sources) -> Value {
    let mut location = json!({ "logicalLocations": [{ "name": kernel, "kind": "function" }] });
    if let Some(physical) = physical(&site.place, sources) {
        location["physicalLocation"] = physical;
    }
    location
}

/// Every inlined frame, innermost first.
fn stack(site: &Site, sources: &Sources) -> Value {
    let frames = site.inlined.iter().map(|frame| {
        let place = Place {
            ptx_line: site.place.ptx_line,
            source: Some(frame.clone()),
        };
        json!({ "location": { "physicalLocation": physical(&place, sources) } })
    });
    json!({ "message": { "text": "inlined" }, "frames": frames.collect::<Vec<_>>() })
}

fn physical(place: &Place, sources: &Sources) -> Option<Value> {
    let (artifact, line, column) = match &place.source {
        Some(source) => {
            let found = sources.find(&source.file);
            let path = found.as_deref().unwrap_or(Path::new(&source.file));
            (artifact(path, sources), source.line, source.column)
        }
        None => (artifact(sources.ptx_path()?, sources), place.ptx_line, 0),
    };
    let mut region = json!({ "startLine": line.max(1) });
    if column > 0 {
        region["startColumn"] = json!(column);
    }
    Some(json!({ "artifactLocation": artifact, "region": region }))
}

fn artifact(path: &Path, sources: &Sources) -> Value {
    match sources.below(path) {
        Some(below) => json!({ "uri": encoded(&below), "uriBaseId": "%SRCROOT%" }),
        None => json!({ "uri": format!("file://{}", encoded(&sources.absolute(path))) }),
    }
}

/// A path as the path of a URI.
fn encoded(path: &Path) -> String {
    let mut uri = String::new();
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}
