//! Addresses that travel: cells behind references that are exchanged, copied, returned, held by
//! closures and passed to functions, and a barrier behind what one of them then holds.

use super::Generator;

/// How a reference is kept, as `Hold` of the generated crate: some have numbers beside it.
const HOLDS: [&str; 4] = [
    "Option<&Cell<u32>>",
    "(u8, &Cell<u32>, u32)",
    "Slot<'_>",
    "[&Cell<u32>; 3]",
];

/// The tables of one statement.
struct Travel {
    cells: usize,
    rows: usize,
    cols: usize,
    /// Nothing in it differs between threads.
    uniform: bool,
}

impl Generator {
    /// References travel, and a number comes back.
    pub(super) fn travel(&mut self) {
        let mut travel = Travel {
            cells: 2 + self.rng.below(2),
            rows: 1 + self.rng.below(3),
            cols: 1 + self.rng.below(3),
            uniform: !self.split && self.rng.chance(45),
        };
        let name = self.fresh("x");
        let hold = match self.rng.chance(40) {
            true => "&Cell<u32>",
            false => *self.rng.pick(&HOLDS),
        };
        self.line(format!("let mut {name}: u32 = {{"));
        self.indent += 1;
        for at in 0..travel.cells {
            let uniform = travel.uniform || self.rng.chance(50);
            let value = self.number(uniform);
            self.line(format!("let c{at} = Cell::new({value});"));
        }
        let Travel { rows, cols, .. } = travel;
        for table in ["rows", "other"] {
            let mut text = Vec::new();
            for _ in 0..rows {
                let row: Vec<_> = (0..cols)
                    .map(|_| format!("hold(&c{})", self.rng.below(travel.cells)))
                    .collect();
                text.push(format!("[{}]", row.join(", ")));
            }
            self.line(format!(
                "let mut {table}: [[{hold}; {cols}]; {rows}] = [{}];",
                text.join(", ")
            ));
        }
        for _ in 0..1 + self.rng.below(5) {
            let step = self.travel_step(&mut travel);
            let step = match self.rng.below(8) {
                0 => {
                    let condition = self.condition(travel.uniform);
                    format!("if {condition} {{ {step} }}")
                }
                1 => {
                    let end = self.number(travel.uniform);
                    format!("for _ in 0..{end} % 3 {{ {step} }}")
                }
                _ => step,
            };
            self.line(step);
        }
        let result = match self.rng.below(3) {
            0 => format!("{}.get()", self.held(&travel)),
            _ => format!("c{}.get()", self.rng.below(travel.cells)),
        };
        self.line(result);
        self.indent -= 1;
        self.line("};");
        self.declare(name.clone(), travel.uniform);
        // The check does not follow each of them, and a kernel that it refuses is not run.
        let waits = self.traps || self.rng.chance(35);
        self.trap(&name, travel.uniform && waits);
    }

    /// A barrier behind a number, if the kernel has such, or where all threads take the same way.
    pub(super) fn trap(&mut self, number: &str, uniform: bool) {
        let waits = !self.split && (uniform || (self.traps && self.rng.chance(50)));
        if !waits {
            return self.line(format!("sum = mix(sum, {number});"));
        }
        let (part, is) = (2 + self.rng.below(3), self.rng.below(2));
        let condition = match self.rng.below(3) {
            0 => format!("{number} < {}", 1 + self.rng.below(60)),
            _ => format!("{number} % {part} == {is}"),
        };
        let wait = match self.rng.below(3) {
            0 => "block.sync_threads(());".to_owned(),
            1 => "drop(AtTheEnd(&mut *block));".to_owned(),
            _ => "sum = mix(sum, block.sync_threads_count(sum % 2 == 0));".to_owned(),
        };
        self.line(format!("if {condition} {{ {wait} }}"));
    }

    /// An index into a table.
    fn place(&mut self, travel: &Travel, len: usize) -> String {
        match self.rng.below(3) {
            0 => self.rng.below(len).to_string(),
            _ => format!("{} as usize % {len}", self.name(travel.uniform)),
        }
    }

    fn row(&mut self, travel: &Travel) -> String {
        let table = *self.rng.pick(&["rows", "other"]);
        format!("{table}[{}]", self.place(travel, travel.rows))
    }

    /// A cell that a table leads to.
    fn held(&mut self, travel: &Travel) -> String {
        let (row, col) = (self.row(travel), self.place(travel, travel.cols));
        format!("{row}[{col}].cell()")
    }

    fn travel_step(&mut self, travel: &mut Travel) -> String {
        let value = self.number(travel.uniform);
        let (a, b) = (
            self.place(travel, travel.rows),
            self.place(travel, travel.rows),
        );
        let held = self.held(travel);
        match self.rng.below(22) {
            0..=2 => format!("core::mem::swap(&mut rows[{a}], &mut other[{b}]);"),
            3 => format!("rows.swap({a}, {b});"),
            4 => format!("rows[{a}] = other[{b}];"),
            5 => format!(
                "let old = core::mem::replace(&mut rows[{a}], other[{b}]); other[{a}] = old;"
            ),
            6 => {
                let (c, d) = (
                    self.place(travel, travel.cols),
                    self.place(travel, travel.cols),
                );
                format!("rows[{a}].swap({c}, {d});")
            }
            7 => format!("rows.rotate_left({a}); other.reverse();"),
            8 => format!(
                "rows.copy_within(..{}, 0);",
                self.rng.below(travel.rows + 1)
            ),
            9 => "rows.swap_with_slice(&mut other);".to_owned(),
            10 => "rows = pass(rows);".to_owned(),
            11 => format!("other[{b}] = pass(rows[{a}]);"),
            12 | 13 => format!("{held}.set({value});"),
            14 => {
                let other = self.held(travel);
                format!("{held}.swap({other});")
            }
            15 => format!("poke(&rows[{a}], {value});"),
            16 => format!("down({}, {held}, {value});", self.rng.below(4)),
            17 => {
                let which = self.name(travel.uniform);
                format!("SETTERS[{which} as usize % 3]({held}, {value});")
            }
            18 => format!("apply(&|value| {held}.set(value), {value});"),
            19 => format!(
                "let boxed = alloc::boxed::Box::new(rows[{a}]); boxed[0].cell().set({value});"
            ),
            20 => {
                let condition = self.condition(travel.uniform);
                format!(
                    "{{ let put = AtTheEndSet({held}, {value}); if {condition} {{ core::mem::forget(put); }} }}"
                )
            }
            _ => format!(
                "let mut sorted: [_; {}] = core::array::from_fn(|i| ({value} >> i & 3, i)); sorted.sort_unstable(); rows[{a}] = other[sorted[0].1];",
                travel.rows
            ),
        }
    }

    /// Numbers by functions that call themselves, that a table names, or that are not inlined.
    pub(super) fn called(&mut self) {
        let uniform = !self.split && self.rng.chance(50);
        let (name, a, b) = (self.fresh("x"), self.number(uniform), self.number(uniform));
        let call = match self.rng.below(7) {
            0 => format!("fib({a} % 7)"),
            1 => format!("FUNCTIONS[({a}) as usize % 3]({b}, 3)"),
            2 => {
                let shared = self.shared_slice();
                let inputs = self.inputs.clone();
                let slice = match (shared, inputs.is_empty()) {
                    (Some(shared), false) if self.rng.chance(50) => Some(shared),
                    (_, false) => Some(self.rng.pick(&inputs).clone()),
                    (shared, true) => shared,
                };
                match slice {
                    Some(slice) => {
                        format!("total({slice}.get(..({a}) as usize % 40).unwrap_or(&[]))")
                    }
                    None => format!("far({a}, {b})"),
                }
            }
            3 => format!(
                "{{ let mut values: [u32; 9] = core::array::from_fn(|i| mix({a}, i as u32)); values.sort_unstable(); values[({b}) as usize % 9] }}"
            ),
            4 => format!(
                "u32::from(({a}).to_le_bytes().starts_with(&({b}).to_le_bytes()[..({a}) as usize % 3]))"
            ),
            5 => format!("{{ use cuda_std::GpuFloat; (({a}) as f32).sin().to_bits() }}"),
            _ => format!(
                "{{ let mut seen = [0_u32; 4]; even({a} % 9, &mut seen); seen[({b}) as usize % 4] }}"
            ),
        };
        self.line(format!("let mut {name}: u32 = {call};"));
        self.declare(name.clone(), uniform);
        self.trap(&name, uniform);
    }

    /// Some threads panic, which is no mistake of the others.
    pub(super) fn panic(&mut self) {
        if !self.may_panic {
            return self.add_to_sum();
        }
        let condition = self.condition(false);
        self.kernel.panics = true;
        let how = match self.rng.below(3) {
            0 => "panic!(\"{sum} is too much\")".to_owned(),
            1 => "let none: Option<u32> = None; sum ^= none.unwrap();".to_owned(),
            _ => "sum ^= [1_u32, 2][sum as usize | 2];".to_owned(),
        };
        self.line(format!("if {condition} && sum % 5 == 4 {{ {how} }}"));
    }
}
