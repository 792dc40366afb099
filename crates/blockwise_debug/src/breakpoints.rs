//! Breakpoints as the client sets them.

use crate::arguments::{DataBreakpointInfo, SetBreakpoints, SetDataBreakpoints};
use crate::breaks::{LineBreak, Watch};
use crate::debuggee::Debuggee;
use crate::expression::Condition;
use crate::lane::StackFrame;
use ptx_emulator::replay::Word;
use serde_json::{Value, json};

/// Replaces a file's breakpoints.
pub(crate) fn set_lines(debuggee: &mut Debuggee, of: &SetBreakpoints, count: &mut i64) -> Value {
    let file = &of.source.path;
    debuggee.breaks.lines.retain(|known| known.file != *file);
    let mut answers = Vec::new();
    for wanted in &of.breakpoints {
        *count += 1;
        let id = *count;
        let refused = |text: String| json!({ "id": id, "verified": false, "message": text });
        let condition = wanted
            .condition
            .as_deref()
            .filter(|text| !text.trim().is_empty());
        let understood = |text| {
            let condition = Condition::parse(text)?;
            match condition.unknown(|place| debuggee.knows(place)) {
                Some(name) => Err(format!("there is no `{name}` here")),
                None => Ok(condition),
            }
        };
        let condition = match condition.map(understood).transpose() {
            Ok(condition) => condition,
            Err(problem) => {
                answers.push(refused(problem));
                continue;
            }
        };
        let Some((line, heads)) = debuggee.lines.resolve(file, wanted.line) else {
            let text = match debuggee.lines.is_left_out(file) {
                true => "library code is passed over: \"justMyCode\": false stops in it",
                false => "the kernel has no code there",
            };
            answers.push(refused(text.to_owned()));
            continue;
        };
        answers
            .push(json!({ "id": id, "verified": true, "line": line, "source": { "path": file } }));
        debuggee.breaks.lines.push(LineBreak {
            id,
            file: file.clone(),
            line,
            heads,
            condition,
        });
    }
    json!({ "breakpoints": answers })
}

/// The bytes that a name refers to.
pub(crate) fn data_info(
    debuggee: &Debuggee,
    of: &DataBreakpointInfo,
    mut frame: StackFrame,
) -> Value {
    let mut name = of.name.clone();
    if let Some((path, block)) = of
        .variables_reference
        .and_then(|at| debuggee.path(at, &of.name))
    {
        name = path;
        frame.lane.block = block.unwrap_or(frame.lane.block);
    }
    match debuggee.word(&name, frame) {
        Ok(Word {
            block,
            address,
            size,
        }) => json!({
            "dataId": match block {
                Some(block) => format!("shared:{block}:{address}:{size}"),
                None => format!("global:0:{address}:{size}"),
            },
            "description": name,
            "accessTypes": ["read", "write", "readWrite"],
            "canPersist": true,
        }),
        Err(problem) => json!({ "dataId": null, "description": problem }),
    }
}

/// Replaces all data breakpoints.
pub(crate) fn set_data(debuggee: &mut Debuggee, of: &SetDataBreakpoints, count: &mut i64) -> Value {
    let mut watches = Vec::new();
    let mut answers = Vec::new();
    for wanted in &of.breakpoints {
        *count += 1;
        let id = *count;
        let Some(word) = word_of(&wanted.data_id) else {
            let text = format!("`{}` is no data of this session", wanted.data_id);
            answers.push(json!({ "id": id, "verified": false, "message": text }));
            continue;
        };
        let access = wanted.access_type.as_deref().unwrap_or("write");
        watches.push(Watch {
            id,
            word,
            reads: access != "write",
            writes: access != "read",
        });
        answers.push(json!({ "id": id, "verified": true }));
    }
    debuggee.breaks.watches = watches;
    json!({ "breakpoints": answers })
}

fn word_of(data: &str) -> Option<Word> {
    let mut parts = data.split(':');
    let space = parts.next()?;
    let mut number = || parts.next()?.parse::<u64>().ok();
    let (block, address, size) = (number()?, number()?, number()?);
    let block = match space {
        "shared" => Some(block),
        "global" => None,
        _ => return None,
    };
    let size = u32::try_from(size).ok()?;
    Some(Word {
        block,
        address,
        size,
    })
}
