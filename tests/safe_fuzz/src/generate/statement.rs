//! Statements on numbers, and control flow.

use super::{Generator, State};

/// What a block of statements must leave as it found it.
struct Scope {
    uniform: usize,
    divergent: usize,
    variables: usize,
    views: usize,
    arrays: Vec<(String, State)>,
    split: bool,
}

impl Generator {
    pub(super) fn statement(&mut self) {
        self.left = self.left.saturating_sub(1);
        match self.rng.below(42) {
            0 | 1 => self.let_number(),
            2 | 3 => self.assign(),
            4..=6 => self.branch(),
            7..=10 => self.count(),
            11 => self.loop_with_break(),
            12 => self.early_return(),
            13 => self.rounds(),
            14..=25 => self.array_statement(),
            26..=28 => self.scratch_statement(),
            29 => self.warp_statement(),
            30 => self.vote(),
            31 | 32 => self.output_statement(),
            33..=36 => self.travel(),
            37 | 38 => self.called(),
            39 => self.panic(),
            _ => self.matrix_statement(),
        }
    }

    /// Whether to write a barrier here: where all threads are, or by mistake.
    pub(super) fn may_wait(&mut self) -> bool {
        !self.split || self.rng.chance(self.misplaced)
    }

    /// A condition of a branch, and whether it is uniform.
    fn fork(&mut self) -> (bool, String) {
        let uniform = self.rng.chance(60);
        (uniform, self.condition(uniform))
    }

    pub(super) fn let_number(&mut self) {
        let uniform = !self.split && self.rng.chance(40);
        let (name, value) = (self.fresh("x"), self.number(uniform));
        self.line(format!("let mut {name}: u32 = {value};"));
        self.declare(name.clone(), uniform);
        self.variables.push((name, uniform));
    }

    pub(super) fn declare(&mut self, name: String, uniform: bool) {
        if uniform {
            self.uniform.push(name);
        } else {
            self.divergent.push(name);
        }
    }

    fn assign(&mut self) {
        let (name, uniform) = self.rng.pick(&self.variables).clone();
        if uniform && self.split {
            return self.add_to_sum();
        }
        let value = self.number(uniform);
        match self.rng.below(3) {
            0 => self.line(format!("{name} = {value};")),
            1 => self.line(format!("{name} = {name}.wrapping_add({value});")),
            _ => {
                let with = self.number(uniform);
                self.line(format!("{{ let mut other = {value}; if {with} % 2 == 0 {{ core::mem::swap(&mut {name}, &mut other); }} }}"));
            }
        }
    }

    pub(super) fn add_to_sum(&mut self) {
        let value = match self.shared_element(false) {
            Some(element) if self.rng.chance(60) => element,
            _ => self.number(false),
        };
        self.line(format!("sum = mix(sum, {value});"));
    }

    /// A block of statements between braces, after which everything outside is as before.
    pub(super) fn nested(&mut self, open: &str, split: bool, body: impl FnOnce(&mut Self)) {
        let scope = Scope {
            uniform: self.uniform.len(),
            divergent: self.divergent.len(),
            variables: self.variables.len(),
            views: self.views.len(),
            arrays: (self.arrays.iter())
                .map(|array| (array.variable.clone(), array.state))
                .collect(),
            split: self.split,
        };
        self.line(format!("{open} {{"));
        self.indent += 1;
        self.depth += 1;
        self.split |= split;
        body(self);
        for (at, (variable, state)) in scope.arrays.into_iter().enumerate() {
            self.restore(at, &variable, state);
        }
        self.depth -= 1;
        self.indent -= 1;
        self.line("}");
        self.uniform.truncate(scope.uniform);
        self.divergent.truncate(scope.divergent);
        self.variables.truncate(scope.variables);
        self.views.truncate(scope.views);
        self.split = scope.split;
    }

    /// Up to N statements.
    pub(super) fn some(&mut self, most: usize) {
        for _ in 0..1 + self.rng.below(most) {
            if self.left > 0 && self.depth < 5 {
                self.statement();
            }
        }
        self.add_to_sum();
    }

    fn branch(&mut self) {
        let (uniform, condition) = self.fork();
        self.nested(&format!("if {condition}"), !uniform, |this| this.some(3));
        if self.rng.chance(40) {
            self.nested("else", !uniform, |this| this.some(3));
        }
    }

    fn count(&mut self) {
        let uniform = self.rng.chance(65);
        let (name, end) = (self.fresh("i"), self.number(uniform));
        let (most, step) = (1 + self.rng.below(4), 1 + self.rng.below(2));
        let open = format!("for {name} in (0..{end} % {most}).step_by({step})");
        self.nested(&open, !uniform, |this| {
            let differs = this.split;
            this.declare(name, !differs);
            this.some(3);
        });
    }

    fn loop_with_break(&mut self) {
        let uniform = self.rng.chance(60);
        let (name, label) = (self.fresh("i"), self.fresh("'l"));
        let (most, condition) = (1 + self.rng.below(4), self.condition(uniform));
        self.line(format!("let mut {name} = 0;"));
        self.nested(
            &format!("{label}: while {name} < {most}"),
            !uniform,
            |this| {
                this.line(format!("{name} += 1;"));
                this.some(2);
                // Where the block ends, arrays are as at its begin, and so they must be here.
                let moved = this
                    .arrays
                    .iter()
                    .any(|array| array.variable.starts_with("now"));
                if !moved {
                    let jump = if this.rng.chance(50) {
                        "break"
                    } else {
                        "continue"
                    };
                    this.line(format!("if {condition} {{ {jump} {label}; }}"));
                    this.add_to_sum();
                }
            },
        );
    }

    fn early_return(&mut self) {
        let uniform = self.misplaced == 0 || self.rng.chance(50);
        if uniform && self.split {
            return self.add_to_sum();
        }
        let condition = self.condition(uniform);
        self.line(format!("if {condition} {{ return; }}"));
    }

    /// A closure with barriers, called in a loop in another function.
    fn rounds(&mut self) {
        if !self.may_wait() {
            return self.add_to_sum();
        }
        let (round, end) = (self.fresh("round"), self.number(true));
        let most = 1 + self.rng.below(3);
        let before = core::mem::replace(&mut self.in_closure, true);
        self.nested(
            &format!("rounds(block, {end} % {most}, |block, {round}|"),
            false,
            |this| {
                this.declare(round, !this.split);
                this.some(3);
            },
        );
        // The call's own parenthesis.
        let body = &mut self.kernel.body;
        body.truncate(body.trim_end().len());
        body.push_str(");\n");
        self.in_closure = before;
    }

    fn vote(&mut self) {
        if !self.may_wait() {
            return self.add_to_sum();
        }
        let (name, condition) = (self.fresh("vote"), self.condition(false));
        let call = match self.rng.below(3) {
            0 => "block.sync_threads_count",
            1 => "u32::from(block.sync_threads_and",
            _ => "u32::from(block.sync_threads_or",
        };
        let close = if call.contains('(') { "))" } else { ")" };
        self.line(format!("let {name} = {call}({condition}{close};"));
        let differs = self.split;
        self.declare(name, !differs);
    }

    fn warp_statement(&mut self) {
        if !self.may_wait() {
            return self.add_to_sum();
        }
        let (value, other) = (self.number(false), self.number(false));
        let element = super::Element::any(&mut self.rng);
        let value = element.of(&value);
        let op = format!("|a, b| {}", element.of("mix(a.number(), b.number())"));
        let call = match self.rng.below(10) {
            0 => format!("warp.fold({value}, {op}).number()"),
            1 => format!("warp.inclusive_scan({value}, {op}).number()"),
            2 => format!(
                "warp.fold_segments({value}, {other} % 3 == 0, {op}).map_or(1, Value::number)"
            ),
            3 => format!("warp.shuffle({value}, {other} as usize % 40).number()"),
            4 => format!("warp.shuffle_down({value}, {other} as usize % 40).number()"),
            5 => format!("warp.shuffle_up({value}, {other} as usize % 40).number()"),
            6 => format!("warp.shuffle_xor({value}, {other} as usize % 40).number()"),
            7 => format!("warp.ballot({other} % 3 == 0)"),
            8 => format!("warp.match_any({other} % 5)"),
            _ => format!("u32::from(warp.all({other} % 3 != 0) | warp.any({other} % 7 == 0))"),
        };
        // Whole warps may go their own ways, and parts of them by mistake.
        let alone = if self.misplaced > 0 && self.rng.chance(10) {
            format!("if t % {} != 1", 2 + self.rng.below(4))
        } else if self.rng.chance(30) {
            "if warp.index() % 2 == 0".to_owned()
        } else {
            String::new()
        };
        self.line(format!(
            "{{ let warp = block.warp(); {alone} {{ sum = mix(sum, {call}); }} }}"
        ));
    }

    fn scratch_statement(&mut self) {
        if self.scratches.is_empty() || !self.may_wait() {
            return self.add_to_sum();
        }
        let (scratch, element) = self.rng.pick(&self.scratches).clone();
        let (name, value) = (self.fresh("y"), self.number(false));
        let value = element.of(&value);
        // An operation of each thread's own: then the results differ.
        let own = self.rng.chance(30);
        let with = if own { " ^ t" } else { "" };
        let op = format!(
            "|a, b| {}",
            element.of(&format!("mix(a.number(), b.number()){with}"))
        );
        let none = element.of("0");
        let (call, uniform) = match self.rng.below(5) {
            0 | 1 => (format!("{scratch}.reduce(block, {value}, {op})"), !own),
            2 => (
                format!("{scratch}.inclusive_scan(block, {value}, {op})"),
                false,
            ),
            3 => (
                format!("{scratch}.exclusive_scan(block, {value}, {none}, {op})"),
                false,
            ),
            _ => {
                let from = self.number(true);
                let call = format!(
                    "{scratch}.broadcast(block, {value}, {from} as usize % threads as usize)"
                );
                (call, true)
            }
        };
        self.line(format!("let {name} = {call}.number();"));
        let uniform = uniform && !self.split;
        self.declare(name, uniform);
    }
}
