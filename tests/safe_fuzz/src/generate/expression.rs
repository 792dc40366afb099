//! Numbers: expressions of type `u32`.

use super::{Form, Generator, State};

impl Generator {
    /// An expression. A uniform one is the same in all threads of the block.
    pub(super) fn number(&mut self, uniform: bool) -> String {
        self.expression(uniform, 2, &[])
    }

    /// An expression in a closure, which has one more name, of a number that differs.
    pub(super) fn number_with(&mut self, also: &str) -> String {
        self.expression(false, 2, &[also])
    }

    /// A condition.
    pub(super) fn condition(&mut self, uniform: bool) -> String {
        let (a, b) = (
            self.expression(uniform, 2, &[]),
            self.expression(uniform, 1, &[]),
        );
        match self.rng.below(4) {
            0 => format!("{a} % 3 == {}", self.rng.below(3)),
            1 => format!("{a} < {b}"),
            2 => format!("{a} & 8 != {b} & 8"),
            _ => format!("{a} % 7 > 2 && {b} % 5 < 4"),
        }
    }

    fn expression(&mut self, uniform: bool, depth: usize, also: &[&str]) -> String {
        if depth == 0 || self.rng.chance(25) {
            return self.atom(uniform, also);
        }
        let mut operand = |depth| self.expression(uniform, depth, also);
        let (a, b) = (operand(depth - 1), operand(depth - 1));
        let few = 1 + self.rng.below(9);
        match self.rng.below(16) {
            0 | 1 => format!("({a}).wrapping_add({b})"),
            2 => format!("({a}).wrapping_mul({b})"),
            3 => format!("(({a}) ^ ({b}))"),
            4 => format!("(({a}) % {few})"),
            5 => format!("(({a}) >> {few})"),
            6 => format!("({a}).min({b})"),
            7 => format!("mix({a}, {b})"),
            8 => format!("far({a}, {b})"),
            9 => format!("(if {a} < {b} {{ {b} }} else {{ {few} }})"),
            10 => format!("(match {a} % 4 {{ 0 => {few}, 1 => {b}, _ => 7 }})"),
            11 => format!(
                "({{ let mut x = {a}; for step in 0..{b} % {few} {{ x = mix(x, step); }} x }})"
            ),
            12 => format!("bits({a} % 64)"),
            13 => format!("collatz({a} % 50, {b} % 5)"),
            _ => self.indirect(&a, &b),
        }
    }

    /// Calls whose function is chosen by a value. No barrier is in them.
    fn indirect(&mut self, a: &str, b: &str) -> String {
        if self.rng.chance(50) {
            format!(
                "({{ let f: fn(u32, u32) -> u32 = if {b} % 2 == 0 {{ mix }} else {{ far }}; f({a}, {b}) }})"
            )
        } else {
            format!(
                "({{ let (add, fold) = (Add({b}), Fold({b})); \
                 let step: &dyn Step = if {a} % 2 == 0 {{ &add }} else {{ &fold }}; step.step({a}) }})"
            )
        }
    }

    fn atom(&mut self, uniform: bool, also: &[&str]) -> String {
        if !uniform && !also.is_empty() && self.rng.chance(30) {
            return format!("({})", self.rng.pick(also));
        }
        match self.rng.below(10) {
            0 => format!("{}_u32", self.rng.below(100)),
            1 if !self.inputs.is_empty() => {
                let (input, at) = (self.rng.pick(&self.inputs).clone(), self.name(uniform));
                format!("any({input}, {at})")
            }
            2 if !self.inputs.is_empty() => {
                format!("({}.len() as u32)", self.rng.pick(&self.inputs))
            }
            3 if !self.matrices.is_empty() => {
                let matrix = self.rng.pick(&self.matrices).clone();
                let (row, col) = (self.name(uniform), self.name(uniform));
                format!("{matrix}.or_default({row} as usize % 41, {col} as usize % 41)")
            }
            4..=6 => self
                .shared_element(uniform)
                .unwrap_or_else(|| self.name(uniform)),
            _ => self.name(uniform),
        }
    }

    /// An element of an array that is published.
    pub(super) fn shared_element(&mut self, uniform: bool) -> Option<String> {
        let published = self
            .arrays
            .iter()
            .filter(|array| array.state == State::Published);
        let mut from: Vec<_> = published
            .map(|array| (array.variable.clone(), array.form))
            .collect();
        from.extend(self.views.iter().cloned());
        if from.is_empty() {
            return None;
        }
        let (view, form) = self.rng.pick(&from).clone();
        let at = self.name(uniform);
        Some(format!("({})", form.read(&view, &at)))
    }

    /// Elements of an array that is published, as a slice.
    pub(super) fn shared_slice(&mut self) -> Option<String> {
        let published = (self.arrays.iter())
            .filter(|array| array.state == State::Published)
            .map(|array| (&array.variable, array.form));
        let views = self.views.iter().map(|(view, form)| (view, *form));
        let slices: Vec<_> = (published.chain(views))
            .filter_map(|(view, form)| match form {
                Form::Linear(_) | Form::Dynamic => Some(view.clone()),
                Form::Pair(_) => Some(format!("{view}.0")),
                Form::Tile { .. } => None,
            })
            .collect();
        match slices.is_empty() {
            true => None,
            false => Some(self.rng.pick(&slices).clone()),
        }
    }

    /// A name in scope. Where a uniform number may stand, so may one that is.
    pub(super) fn name(&mut self, uniform: bool) -> String {
        if uniform || self.rng.chance(25) {
            self.rng.pick(&self.uniform).clone()
        } else {
            self.rng.pick(&self.divergent).clone()
        }
    }
}
