//! Shared arrays and their states.

use super::{Array, Element, Form, Generator, State};

impl Generator {
    /// Some arrays are for loops from the start.
    pub(super) fn roles(&mut self) {
        for at in 0..self.arrays.len() {
            if self.arrays[at].state == State::Shared && self.rng.chance(30) {
                let (old, new) = (self.arrays[at].variable.clone(), self.fresh("refill"));
                self.line(format!("let mut {new} = {old}.refill();"));
                self.arrays[at].variable = new;
                self.arrays[at].state = State::Refill;
            }
        }
    }

    pub(super) fn array_statement(&mut self) {
        let at = self.rng.below(self.arrays.len());
        match self.arrays[at].state {
            State::Away => self.add_to_sum(),
            State::Refill | State::Ring => self.fill(at),
            _ if self.in_closure => self.add_to_sum(),
            State::Shared => match self.rng.below(10) {
                0..=2 => self.slots(at),
                3 | 4 => self.histogram(at),
                5 => self.optional(at),
                6 => self.leave(at),
                _ => self.write(at),
            },
            State::Written | State::Published => self.barrier(),
        }
    }

    fn array(&self, at: usize) -> Array {
        self.arrays[at].clone()
    }

    fn becomes(&mut self, at: usize, variable: String, state: State) {
        self.arrays[at].variable = variable;
        self.arrays[at].state = state;
    }

    /// The closure that computes an array's elements.
    fn closure(&mut self, form: Form, element: Element) -> String {
        let (pattern, index) = form.index();
        let (first, second) = (self.number_with(index), self.number_with(index));
        format!("|{pattern}| {}", form.value(element, &first, &second))
    }

    /// A write needs no barrier, so threads may write at different places in the code.
    fn write(&mut self, at: usize) {
        let Array {
            variable,
            form,
            element,
            ..
        } = self.array(at);
        let (name, value) = (self.fresh("now"), self.closure(form, element));
        if self.rng.chance(25) {
            let (uniform, other) = (self.rng.chance(30), self.closure(form, element));
            let condition = self.condition(uniform);
            self.line(format!(
                "let mut {name} = if {condition} {{ {variable}.write(block, {value}) }} else {{ {variable}.write(block, {other}) }};"
            ));
        } else {
            self.line(format!(
                "let mut {name} = {variable}.write(block, {value});"
            ));
        }
        self.becomes(at, name, State::Written);
    }

    /// A barrier for some of the arrays that can take part.
    fn barrier(&mut self) {
        if !self.may_wait() {
            return self.add_to_sum();
        }
        let mut part = Vec::new();
        for at in 0..self.arrays.len() {
            let can = matches!(self.arrays[at].state, State::Written | State::Published);
            if can && part.len() < 6 && self.rng.chance(70) {
                part.push(at);
            }
        }
        match part[..] {
            [] => self.line("block.sync_threads(());"),
            [at] => {
                self.step(at);
                if self.arrays[at].state == State::Shared {
                    self.write(at);
                }
            }
            _ => {
                let mut names = Vec::new();
                let old: Vec<_> = part.iter().map(|&at| self.array(at).variable).collect();
                for &at in &part {
                    let name = self.fresh("now");
                    names.push(format!("mut {name}"));
                    let state = next(self.arrays[at].state);
                    self.becomes(at, name, state);
                }
                self.line(format!(
                    "let ({}) = block.sync_threads(({}));",
                    names.join(", "),
                    old.join(", ")
                ));
            }
        }
    }

    /// A barrier for one array, which is read on the side where it is published.
    fn step(&mut self, at: usize) {
        let Array {
            variable,
            form,
            state,
            ..
        } = self.array(at);
        let name = self.fresh("now");
        let call = match (self.rng.below(2), state) {
            (0, State::Written) => "publish(block, ",
            (0, _) => "reclaim(block, ",
            _ => "block.sync_threads(",
        };
        let other = format!("({})", self.number(false));
        let read = |view: &str| format!("sum = mix(sum, {});", form.read(view, &other));
        if state == State::Published {
            self.line(read(&variable));
        }
        self.line(format!("let mut {name} = {call}{variable});"));
        if state == State::Written {
            self.line(read(&name));
        }
        self.becomes(at, name, next(state));
    }

    /// Brings an array back to the variable and the state that it had when a block began.
    pub(super) fn restore(&mut self, at: usize, variable: &str, state: State) {
        if self.arrays[at].variable == variable {
            return;
        }
        while self.arrays[at].state != state {
            match self.arrays[at].state {
                State::Shared => self.write(at),
                _ => self.step(at),
            }
        }
        let now = self.array(at).variable;
        self.line(format!("{variable} = {now};"));
        self.becomes(at, variable.to_owned(), state);
    }

    /// Everybody writes, a barrier, everybody reads for some statements.
    fn fill(&mut self, at: usize) {
        if !self.may_wait() {
            return self.add_to_sum();
        }
        let Array {
            variable,
            form,
            element,
            state,
            ..
        } = self.array(at);
        let call = if state == State::Ring { "next" } else { "fill" };
        self.arrays[at].state = State::Away;
        // Again at once, for nothing but the array's own barriers to lie between.
        for _ in 0..1 + self.rng.below(2) {
            let (view, value) = (self.fresh("view"), self.closure(form, element));
            self.nested("", false, |this| {
                this.line(format!("let {view} = {variable}.{call}(block, {value});"));
                this.views.push((view, form));
                this.some(2);
            });
        }
        self.arrays[at].state = state;
    }

    /// A tree over the values of all threads, which ends the array.
    fn slots(&mut self, at: usize) {
        let Array {
            variable,
            form,
            element,
            has_slots,
            ..
        } = self.array(at);
        if self.depth > 0 || !has_slots || !self.may_wait() {
            return self.write(at);
        }
        let (name, value) = (self.fresh("slots"), self.number(false));
        let op = format!("|a, b| {}", element.of("mix(a.number(), b.number())"));
        let call = format!("{variable}.slots(block, {})", element.of(&value));
        if matches!(form, Form::Dynamic) {
            self.line(format!("let Some(mut {name}) = {call} else {{ return }};"));
        } else {
            self.line(format!("let mut {name} = {call};"));
        }
        let condition = self.condition(true);
        self.line(format!("while {name}.len() > 1 {{"));
        self.line(format!(
            "    if {condition} {{ {name}.fold_interleaved(block, {op}); }}"
        ));
        self.line(format!("    else {{ {name}.fold_halves(block, {op}); }}"));
        self.line(format!(
            "    if let Some(mine) = {name}.mine() {{ sum = mix(sum, mine.number()); }}"
        ));
        self.line("}");
        self.arrays[at].state = State::Away;
    }

    /// Counts, in an array of its own type: others are written.
    fn histogram(&mut self, at: usize) {
        let Array {
            variable,
            form,
            element,
            ..
        } = self.array(at);
        let counts = matches!(element.name, "u32" | "u64" | "i32");
        if !counts || !matches!(form, Form::Linear(_) | Form::Dynamic) || !self.may_wait() {
            return self.write(at);
        }
        let (bins, name, times) = (self.fresh("bins"), self.fresh("now"), self.number(false));
        let (bin, count) = (self.number_with("round"), self.number_with("round"));
        self.line(format!("let zeroed = {variable}.zeroed(block);"));
        self.line(format!("let {bins} = count(block, zeroed);"));
        self.line(format!(
            "for round in 0..{times} % 4 {{ {bins}.add(({bin}) as usize % 250, {}); }}",
            element.of(&count)
        ));
        self.line(format!("let mut {name} = counted(block, {bins});"));
        let other = format!("({})", self.number(false));
        self.line(format!("sum = mix(sum, {});", form.read(&name, &other)));
        self.becomes(at, name, State::Published);
    }

    /// An array in an `Option`, taken out under a condition.
    fn optional(&mut self, at: usize) {
        if !self.may_wait() {
            return self.write(at);
        }
        let Array {
            variable,
            form,
            element,
            ..
        } = self.array(at);
        let (held, name) = (self.fresh("held"), self.fresh("now"));
        let (uniform, value) = (
            self.misplaced == 0 || self.rng.chance(50),
            self.closure(form, element),
        );
        let (condition, at_random) = (self.condition(uniform), self.number(false));
        self.line(format!("let mut {held} = Some({variable});"));
        self.line(format!(
            "if {condition} && let Some(free) = {held}.take() {{"
        ));
        self.line(format!(
            "    let published = block.sync_threads(free.write(block, {value}));"
        ));
        self.line(format!(
            "    sum = mix(sum, {});",
            form.read("published", &format!("({at_random})"))
        ));
        self.line(format!("    {held} = Some(block.sync_threads(published));"));
        self.line("}");
        self.line(format!("let Some(mut {name}) = {held} else {{ return }};"));
        self.becomes(at, name, State::Shared);
    }

    /// The last use of an array: some threads leak it.
    fn leave(&mut self, at: usize) {
        if self.depth > 0 {
            return self.write(at);
        }
        let (variable, condition) = (self.array(at).variable, self.condition(false));
        self.line(format!(
            "if {condition} {{ core::mem::forget({variable}); }} else {{ drop({variable}); }}"
        ));
        self.arrays[at].state = State::Away;
    }
}

fn next(state: State) -> State {
    match state {
        State::Written => State::Published,
        _ => State::Shared,
    }
}
