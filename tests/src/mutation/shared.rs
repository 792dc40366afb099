//! Shifted accesses to shared memory.

use super::{Changes, Source};

pub(super) fn changes(source: &Source) -> Changes {
    let mut changes = Changes::new();
    for (index, line) in source.instructions() {
        let Some(size) = element(line) else {
            continue;
        };
        let (Some(open), Some(close)) = (line.find('['), line.find(']')) else {
            continue;
        };
        let (base, offset) = address(&line[open + 1..close]);
        for offset in [offset - size, offset + size] {
            let (head, tail) = (&line[..open], &line[close + 1..]);
            changes.push((index, format!("{head}[{base}{offset:+}]{tail}")));
        }
    }
    changes
}

/// The bytes of an element, when the instruction accesses shared memory.
fn element(line: &str) -> Option<i64> {
    let line = match line.strip_prefix('@') {
        Some(guarded) => guarded.split_once(char::is_whitespace)?.1.trim_start(),
        None => line,
    };
    let opcode = line.split_whitespace().next()?;
    let accesses = ["ld.", "st.", "atom.", "red.", "cp.async."];
    if !opcode.contains(".shared") || !accesses.iter().any(|access| opcode.starts_with(access)) {
        return None;
    }
    // The copy's type is not in its opcode: its elements are words.
    let bits = opcode
        .rsplit('.')
        .next()?
        .trim_start_matches(|c: char| !c.is_ascii_digit());
    Some(bits.parse::<i64>().map_or(4, |bits| bits / 8))
}

/// `base`, `base+8` or `base+-8`, as base and offset.
fn address(text: &str) -> (&str, i64) {
    let parts = text.split_once('+');
    parts
        .and_then(|(base, offset)| Some((base.trim(), offset.trim().parse().ok()?)))
        .unwrap_or((text, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_element_before_and_behind() {
        let text = ".visible .entry k()\n{\n\tst.shared.v2.b32 \t[%rd1+4], {%r1, %r2};\n\
                    \tld.shared.b64 \t%rd2, [tile];\n\tld.global.b32 \t%r1, [%rd3];\n\
                    \tcp.async.ca.shared.global [%r1], [%rd1], 16;\n}\n";
        let lines: Vec<_> = changes(&Source::split(text)[0]);
        let after: Vec<_> = lines.iter().map(|(_, line)| line.as_str()).collect();
        assert_eq!(
            after,
            [
                "st.shared.v2.b32 \t[%rd1+0], {%r1, %r2};",
                "st.shared.v2.b32 \t[%rd1+8], {%r1, %r2};",
                "ld.shared.b64 \t%rd2, [tile-8];",
                "ld.shared.b64 \t%rd2, [tile+8];",
                "cp.async.ca.shared.global [%r1-4], [%rd1], 16;",
                "cp.async.ca.shared.global [%r1+4], [%rd1], 16;",
            ]
        );
    }
}
