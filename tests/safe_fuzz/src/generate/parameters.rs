//! The kernel's parameters, and their arguments in each launch.

use super::element::{Element, Form};
use super::launch::{Argument, length, shapes};
use super::{Array, Generator, Output, State};

impl Generator {
    pub(super) fn parameters(&mut self) {
        let with_matrix = self.rng.chance(35);
        // Linear outputs want a grid of one dimension.
        let with_linear = !with_matrix || self.rng.chance(50);
        let dimensions = if with_linear { 1 } else { 2 };
        let (block, launches) = shapes(&mut self.rng, with_matrix, dimensions);
        if !block.contains("ANY") && block.contains('<') {
            self.constant_threads = Some(launches[0].threads());
        }
        self.kernel.launches = launches;
        self.kernel.parameters.push(format!("block: &mut {block}"));
        self.parameter("n: u32".to_owned());
        for launch in &mut self.kernel.launches {
            let n = self.rng.below(9) as u32;
            launch.arguments.push(Argument::Number(n));
        }
        self.uniform.push("n".to_owned());
        for _ in 0..self.rng.below(3) {
            self.input();
        }
        if self.rng.chance(30) {
            let name = self.fresh("matrix");
            self.parameter(format!("{name}: Matrix<u32>"));
            for launch in &mut self.kernel.launches {
                let extents = [self.rng.below(40), self.rng.below(40)];
                launch.memory(4, &extents);
            }
            self.matrices.push(name);
        }
        for _ in 0..1 + self.rng.below(3) {
            self.shared();
        }
        if self.rng.chance(60) {
            let (name, element) = (self.fresh("scratch"), Element::any(&mut self.rng));
            self.parameter(format!("mut {name}: Scratch<{}>", element.name));
            self.scratches.push((name, element));
        }
        if with_matrix {
            self.matrix_output();
        }
        if with_linear {
            self.linear_output("");
            for map in [", FromEnd", ", PerBlock", ", Strided<3>"] {
                if self.rng.chance(25) {
                    self.linear_output(map);
                }
            }
        }
        if self.rng.chance(40) {
            self.atomics();
        }
        self.rules();
    }

    fn parameter(&mut self, text: String) {
        self.kernel.parameters.push(text);
    }

    fn input(&mut self) {
        let (name, element) = (self.fresh("input"), Element::any(&mut self.rng));
        self.parameter(format!("{name}: &[{}]", element.name));
        let mut shortest = usize::MAX;
        for launch in &mut self.kernel.launches {
            let len = length(&mut self.rng);
            shortest = shortest.min(len);
            launch.memory(element.size, &[len]);
        }
        self.lengths.push((name.clone(), shortest));
        self.inputs.push(name);
    }

    fn shared(&mut self) {
        if self.rng.chance(25) {
            return self.dynamic();
        }
        let element = Element::any(&mut self.rng);
        let name = self.fresh("array");
        let form = Form::any(&mut self.rng);
        let ty = form.of(element);
        if self.rng.chance(25) {
            let arrays = 2 + self.rng.below(2);
            self.parameter(format!("mut {name}: Ring<{ty}, {arrays}>"));
            self.arrays.push(Array {
                variable: name,
                form,
                element,
                state: State::Ring,
                has_slots: false,
            });
            return;
        }
        self.parameter(format!("mut {name}: Shared<{ty}>"));
        let threads = self.constant_threads;
        let has_slots =
            matches!((form, threads), (Form::Linear(len), Some(threads)) if len >= threads);
        self.arrays.push(Array {
            variable: name,
            form,
            element,
            state: State::Shared,
            has_slots,
        });
    }

    fn dynamic(&mut self) {
        let (name, element) = (self.fresh("array"), Element::any(&mut self.rng));
        self.parameter(format!("mut {name}: Shared<[{}]>", element.name));
        let (factor, more) = (self.rng.below(3), self.rng.below(40));
        let differently = more + 1 + self.rng.below(40);
        let number = self.constant("usize", more, differently);
        let length = format!("{name} = {factor} * block.threads() + {number}");
        self.kernel.lengths.push(length);
        for launch in &mut self.kernel.launches {
            let len = factor * launch.threads() + more;
            launch.dynamic(element.size, element.align, len);
        }
        self.arrays.push(Array {
            variable: name,
            form: Form::Dynamic,
            element,
            state: State::Shared,
            has_slots: factor > 0,
        });
    }

    fn linear_output(&mut self, map: &str) {
        let (name, element) = (self.fresh("out"), Element::any(&mut self.rng));
        self.parameter(format!("mut {name}: Out<{}{map}>", element.name));
        for launch in &mut self.kernel.launches {
            let len = match map {
                ", PerBlock" => launch.blocks() + self.rng.below(2),
                _ => length(&mut self.rng),
            };
            launch.memory(element.size, &[len]);
        }
        self.outputs.push(match map {
            ", FromEnd" => Output::FromEnd(name, element),
            ", PerBlock" => Output::PerBlock(name, element),
            ", Strided<3>" => Output::Several(name, element),
            _ => Output::Strided(name, element),
        });
    }

    fn matrix_output(&mut self) {
        let (variable, element) = (self.fresh("out"), Element::any(&mut self.rng));
        let [rows, cols] = [(); 2].map(|()| *self.rng.pick(&[1, 3, 8, 16]));
        let layout = if self.rng.chance(40) {
            ", cuda_std::block::ColMajor"
        } else {
            ""
        };
        self.parameter(format!(
            "mut {variable}: OutMatrix<{}, {rows}, {cols}{layout}>",
            element.name
        ));
        for launch in &mut self.kernel.launches {
            let extents = [self.rng.below(40), self.rng.below(40)];
            launch.memory(element.size, &extents);
        }
        self.outputs.push(Output::Matrix {
            variable,
            element,
            rows,
            cols,
        });
    }

    fn atomics(&mut self) {
        let name = self.fresh("out");
        self.parameter(format!("{name}: Atomics<u32>"));
        for launch in &mut self.kernel.launches {
            let len = self.rng.below(9);
            launch.memory(4, &[len]);
        }
        self.outputs.push(Output::Atomics(name));
    }
}
