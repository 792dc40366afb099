//! Statements on global memory.

use super::{Generator, Output};

impl Generator {
    /// Every thread's `sum`: without it nothing before would matter.
    pub(super) fn store_sums(&mut self) {
        self.add_to_sum();
        for output in self.outputs.clone() {
            match output {
                Output::Strided(name, element) => {
                    self.line(format!("for (i, place) in {name}.mine() {{"));
                    let value = element.of("mix(sum, place.number() ^ i as u32)");
                    self.line(format!("    *place = {value};"));
                    self.line("}");
                }
                Output::Matrix {
                    variable,
                    element,
                    rows,
                    cols,
                } => {
                    self.line(format!(
                        "for top in block.tiles_y::<{rows}>({variable}.rows()) {{"
                    ));
                    self.line(format!(
                        "    for left in block.tiles_x::<{cols}>({variable}.cols()) {{"
                    ));
                    let value = element.of("mix(sum, own.row as u32)");
                    self.line(format!(
                        "        {variable}.store(block, top, left, |own| {value});"
                    ));
                    self.line("    }");
                    self.line("}");
                }
                _ => {}
            }
        }
    }

    pub(super) fn output_statement(&mut self) {
        match self.rng.pick(&self.outputs).clone() {
            Output::Strided(name, element) if self.rng.chance(30) => {
                let value = self.number_with("place.number()");
                self.line(format!(
                    "for (_, place) in {name}.mine() {{ *place = {}; }}",
                    element.of(&value)
                ));
            }
            Output::Strided(name, element) | Output::FromEnd(name, element) => {
                self.tiles(&name, "tiles", element)
            }
            Output::Several(name, element) => self.tiles(&name, "tiles_of", element),
            Output::PerBlock(name, element) => {
                let value = self.number(false);
                self.line(format!("{name}.store(block, {});", element.of(&value)));
            }
            Output::Atomics(name) => {
                let (at, value) = (self.number(false), self.number(false));
                self.line(format!("{name}.add(({at}) as usize % 9, {value});"));
            }
            Output::Matrix { .. } => self.matrix_statement(),
        }
    }

    /// The block's tiles, with other statements for each.
    fn tiles(&mut self, name: &str, tiles: &str, element: super::Element) {
        let place = self.fresh("place");
        // Any length is right: what lies past the output's end is left out.
        let (uniform, len) = match self.rng.below(3) {
            0 => (true, format!("({}) as usize % 400", self.number(true))),
            1 if self.misplaced > 0 => (false, format!("({}) as usize % 400", self.number(false))),
            _ => (true, format!("{name}.len()")),
        };
        self.nested(
            &format!("for {place} in block.{tiles}({len})"),
            !uniform,
            |this| {
                let start = this.fresh("start");
                this.line(format!("let {start} = {place}.start() as u32;"));
                this.declare(start, !this.split);
                if this.rng.chance(60) {
                    this.some(2);
                }
                let value = this.number_with("i as u32");
                this.line(format!(
                    "{name}.store(block, {place}, |i| {});",
                    element.of(&value)
                ));
            },
        );
    }

    pub(super) fn matrix_statement(&mut self) {
        let is_matrix = |output: &&Output| matches!(output, Output::Matrix { .. });
        let Some(Output::Matrix {
            variable,
            element,
            rows,
            cols,
        }) = self.outputs.iter().find(is_matrix).cloned()
        else {
            return self.add_to_sum();
        };
        let (top, left) = (self.fresh("top"), self.fresh("left"));
        let open = format!("for {top} in block.tiles_y::<{rows}>({variable}.rows())");
        self.nested(&open, false, |this| {
            let open = format!("for {left} in block.tiles_x::<{cols}>({variable}.cols())");
            this.nested(&open, false, |this| {
                if this.rng.chance(60) {
                    this.some(2);
                }
                let value = this.number_with("(own.row * 5 + own.col + own.i + own.j) as u32");
                this.line(format!(
                    "{variable}.store(block, {top}, {left}, |own| {});",
                    element.of(&value)
                ));
            });
        });
    }
}
