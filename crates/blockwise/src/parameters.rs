/// The parameters of a signature, split at commas outside brackets.
pub(crate) fn split(signature: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    for (at, c) in signature.char_indices() {
        match c {
            '{' | '[' | '(' | '<' => depth += 1,
            '}' | ']' | ')' | '>' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(signature[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = signature[start..].trim();
    if !last.is_empty() {
        parts.push(last);
    }
    parts
}
