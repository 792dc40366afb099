//! The compiler's messages as an error shows them: each error once, and the compiler's own panics.

/// The errors among the compiler's messages; all messages if there are none. A panic of the
/// compiler counts as an error, with what it was compiling.
pub(crate) fn errors_of(messages: &str) -> String {
    let mut errors: Vec<String> = Vec::new();
    let mut add = |text: &str| {
        let text = text.trim_end();
        let is_panic = text.starts_with("error: the compiler unexpectedly panicked");
        // cargo repeats that the compiler failed, with the compiler's command line.
        let is_summary =
            text.starts_with("error: could not compile") && text.contains("Caused by:");
        let text = match is_summary {
            true => text.lines().next().unwrap_or_default(),
            false => text,
        };
        if !is_panic && !errors.iter().any(|known| known == text) {
            errors.push(text.to_owned());
        }
    };
    let mut rest = messages.lines().peekable();
    let mut panic: Option<Panic> = None;
    while let Some(line) = rest.next() {
        if let Some(new) = Panic::starting(line) {
            panic = Some(new);
            continue;
        }
        if let Some(known) = &mut panic {
            known.continues(line);
            if line == "end of query stack" || rest.peek().is_none() {
                add(&known.text());
                panic = None;
            }
            continue;
        }
        if line.starts_with("error") {
            let mut text = line.to_owned();
            // Every compiler message ends with an empty line, and the next one starts at the
            // margin.
            while let Some(line) = rest.next_if(|line| !starts(line)) {
                text.push('\n');
                text.push_str(line);
            }
            add(&text);
        }
    }
    match errors.is_empty() {
        true => messages.trim_end().to_owned(),
        false => errors.join("\n\n"),
    }
}

/// Whether a line starts a message.
fn starts(line: &str) -> bool {
    let kinds = ["error", "warning", "note", "help"];
    kinds.iter().any(|kind| line.starts_with(kind)) || Panic::starting(line).is_some()
}

/// A panic of the compiler.
struct Panic {
    /// The source location in the compiler.
    place: String,
    message: Vec<String>,
    is_message: bool,
    /// The compiler's tasks, innermost first.
    doing: Vec<String>,
}

impl Panic {
    /// `thread 'rustc' (3183) panicked at compiler/x.rs:78:14:`
    fn starting(line: &str) -> Option<Self> {
        let (_, place) = line.strip_prefix("thread '")?.split_once(" panicked at ")?;
        Some(Panic {
            place: place.trim_end_matches(':').to_owned(),
            message: Vec::new(),
            is_message: true,
            doing: Vec::new(),
        })
    }

    fn continues(&mut self, line: &str) {
        let ends = ["stack backtrace:", "note: ", "error: "];
        self.is_message &= !line.is_empty() && !ends.iter().any(|end| line.starts_with(end));
        if self.is_message {
            self.message.push(line.to_owned());
        }
        // `#0 [query] computing call ABI of `kernel``
        if let Some((_, doing)) = line
            .strip_prefix('#')
            .and_then(|line| line.split_once("] "))
        {
            self.doing.push(doing.to_owned());
        }
    }

    fn text(&self) -> String {
        let doing = match self.doing.first() {
            Some(doing) => format!(" while {doing}"),
            None => String::new(),
        };
        format!(
            "error: the compiler itself panicked{doing}: {}\n  at {} of the compiler: this is not a fault of the kernel, but \
             something that it uses must be written in another way",
            self.message.join("\n"),
            self.place
        )
    }
}

#[cfg(test)]
mod tests {
    use super::errors_of;

    #[test]
    fn warnings_are_left_out_of_an_error() {
        let messages = "warning: unused\n --> a\n\nerror[E1]: wrong\n --> b\n\nwarning: again\n\nerror: could not compile\n";
        assert_eq!(
            errors_of(messages),
            "error[E1]: wrong\n --> b\n\nerror: could not compile"
        );
        assert_eq!(errors_of("no network\n"), "no network");
    }

    #[test]
    fn an_error_is_shown_once_and_cargo_s_command_never() {
        let error = "error[E1]: wrong\n --> b\n  |\n1 | x\n  | ^\n\n";
        let messages = format!(
            "{error}{error}error: could not compile `k` (lib) due to 2 previous errors\n\nCaused by:\n  process didn't exit successfully: `rustc`\n"
        );
        assert_eq!(
            errors_of(&messages),
            format!("{error}error: could not compile `k` (lib) due to 2 previous errors")
        );
    }

    #[test]
    fn a_panic_of_the_compiler_is_shown_with_what_it_compiled() {
        let panic = |name: &str| {
            format!(
                "\nthread 'rustc' (3183) panicked at compiler/nvptx64.rs:78:14:\nno such alignment\nof an argument\nstack backtrace:\n   \
                 0: one\nnote: Some details are omitted\n\nerror: the compiler unexpectedly panicked. This is a bug\n\nnote: we would \
                 appreciate a bug report\n\nquery stack during panic:\n#0 [abi] computing the ABI of `{name}`\n#1 [items] collecting items\nend of query stack\n"
            )
        };
        let messages = format!(
            "{}{}error: could not compile `k` (lib)\n\nCaused by:\n  process\n",
            panic("first"),
            panic("first")
        );
        assert_eq!(
            errors_of(&messages),
            "error: the compiler itself panicked while computing the ABI of `first`: no such alignment\nof an argument\n  \
             at compiler/nvptx64.rs:78:14 of the compiler: this is not a fault of the kernel, but something that it uses must be \
             written in another way\n\nerror: could not compile `k` (lib)"
        );
        // Two kernels are two errors; a panic without a query stack is one too.
        let two = errors_of(&(panic("first") + &panic("second")));
        assert!(two.contains("`first`") && two.contains("`second`"), "{two}");
        let bare = errors_of("thread 'rustc' panicked at x.rs:1:2:\nwhy\n");
        assert!(
            bare.starts_with("error: the compiler itself panicked: why\n"),
            "{bare}"
        );
    }
}
