//! What the user reads besides the diff.

/// What is left to do, and what is good to know; each with the file that it is about.
#[derive(Default)]
pub(super) struct Notes {
    todo: Vec<(String, String)>,
    known: Vec<(String, String)>,
}

impl Notes {
    /// Something that could not be moved, and what to do.
    pub(super) fn todo(&mut self, place: String, text: impl Into<String>) {
        add(&mut self.todo, place, text.into());
    }

    /// Something that needs nothing, and why.
    pub(super) fn known(&mut self, place: String, text: impl Into<String>) {
        add(&mut self.known, place, text.into());
    }

    /// Whether something is left to do in a file.
    pub(super) fn has_todo(&self, file: &str) -> bool {
        let is_in = |place: &str| {
            place
                .strip_prefix(file)
                .is_some_and(|rest| rest.starts_with(':'))
        };
        self.todo.iter().any(|(place, _)| is_in(place))
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (title, notes) in [("to do by hand", &self.todo), ("good to know", &self.known)] {
            if notes.is_empty() {
                continue;
            }
            text += &format!("\n\n{title}:");
            for (at, (place, note)) in notes.iter().enumerate() {
                let same = |(_, other): &&(String, String)| other == note;
                if notes[..at].iter().any(|other| same(&other)) {
                    continue;
                }
                text += &format!("\n  {place}");
                for (place, _) in notes[at + 1..].iter().filter(same) {
                    text += &format!(", {place}");
                }
                text += &format!(": {note}");
            }
        }
        text
    }

    #[cfg(test)]
    pub(super) fn all(&self) -> Vec<String> {
        let all = self.todo.iter().chain(&self.known);
        all.map(|(place, note)| format!("{place}: {note}"))
            .collect()
    }
}

fn add(notes: &mut Vec<(String, String)>, place: String, text: String) {
    let note = (place, text);
    if !notes.contains(&note) {
        notes.push(note);
    }
}
