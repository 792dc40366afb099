//! What the user reads besides the diff.

/// What is left to do, and what stays and why; each with the file that it is about.
#[derive(Default)]
pub(super) struct Notes {
    todo: Vec<(String, String)>,
    stays: Vec<(String, String)>,
}

impl Notes {
    /// Something that could not be moved, and what to do.
    pub(super) fn todo(&mut self, place: String, text: impl Into<String>) {
        add(&mut self.todo, place, text.into());
    }

    /// Something that stays, and why.
    pub(super) fn stays(&mut self, place: String, text: impl Into<String>) {
        add(&mut self.stays, place, text.into());
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (title, notes) in [
            ("to do by hand", &self.todo),
            ("stays as it is", &self.stays),
        ] {
            if notes.is_empty() {
                continue;
            }
            text += &format!("\n\n{title}:");
            for (place, note) in notes {
                text += &format!("\n  {place}: {note}");
            }
        }
        text
    }

    #[cfg(test)]
    pub(super) fn all(&self) -> Vec<String> {
        let all = self.todo.iter().chain(&self.stays);
        all.map(|(place, note)| format!("{place}: {note}")).collect()
    }
}

fn add(notes: &mut Vec<(String, String)>, place: String, text: String) {
    let note = (place, text);
    if !notes.contains(&note) {
        notes.push(note);
    }
}
