//! Rules and lengths of shared arrays, and constants in them, of which the host's build may see
//! another value than the device's: then the launch must refuse the kernel.

use super::Generator;
use super::launch::Argument;

/// How a constant is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// `if cfg!(..) { .. } else { .. }`.
    Condition,
    /// Two definitions, each under `#[cfg]`.
    Definitions,
    /// Two attributes under `#[cfg_attr]`, each with its number.
    Attributes,
}

/// A constant in a rule or a length.
#[derive(Clone, Debug)]
pub(super) struct Constant {
    name: String,
    ty: &'static str,
    device: usize,
    host: usize,
    form: Form,
}

const DEVICE: &str = "target_arch = \"nvptx64\"";

impl Constant {
    pub(super) fn differs(&self) -> bool {
        self.device != self.host
    }

    fn is_in_attributes(&self) -> bool {
        self.differs() && self.form == Form::Attributes
    }

    /// Its definition.
    pub(super) fn text(&self) -> String {
        let Self {
            name,
            ty,
            device,
            host,
            form,
        } = self;
        match form {
            Form::Attributes => format!("const {name}: {ty} = {device};\n"),
            Form::Condition => format!(
                "const {name}: {ty} = if cfg!({DEVICE}) {{ {device} }} else {{ {host} }};\n"
            ),
            Form::Definitions => format!(
                "#[cfg({DEVICE})]\nconst {name}: {ty} = {device};\n\
                 #[cfg(not({DEVICE}))]\nconst {name}: {ty} = {host};\n"
            ),
        }
    }
}

/// `#[kernel(..)]`, or one for each build.
pub(super) fn attributes(options: &str, constants: &[Constant]) -> String {
    let of_build = |value: fn(&Constant) -> usize| {
        let mut text = options.to_owned();
        for constant in constants.iter().filter(|one| one.is_in_attributes()) {
            text = text.replace(&constant.name, &value(constant).to_string());
        }
        text
    };
    match constants.iter().any(Constant::is_in_attributes) {
        false => format!("#[kernel({options})]\n"),
        true => format!(
            "#[cfg_attr({DEVICE}, kernel({}))]\n#[cfg_attr(not({DEVICE}), kernel({}))]\n",
            of_build(|one| one.device),
            of_build(|one| one.host)
        ),
    }
}

impl Generator {
    /// A number of a rule or a length: as it is, or as a constant that is `differently` on the
    /// device if the kernel is one that differs.
    pub(super) fn constant(&mut self, ty: &'static str, host: usize, differently: usize) -> String {
        if self.rng.chance(50) {
            return host.to_string();
        }
        let device = match self.differs && self.rng.chance(60) {
            true => differently,
            false => host,
        };
        let form = *self
            .rng
            .pick(&[Form::Condition, Form::Definitions, Form::Attributes]);
        // Of no other kernel, and a part of no other name.
        let name = format!("{}_OF_{}", self.fresh("C"), self.kernel.name.to_uppercase());
        self.kernel.constants.push(Constant {
            name: name.clone(),
            ty,
            device,
            host,
            form,
        });
        name
    }

    /// Rules that each launch keeps, as the host sees them.
    pub(super) fn rules(&mut self) {
        if self.rng.chance(50) {
            return;
        }
        let numbers = (self.kernel.launches.iter()).map(|launch| match launch.arguments[0] {
            Argument::Number(n) => n as usize,
            Argument::Memory(_) | Argument::Size(_) => 0,
        });
        let end = numbers.max().unwrap_or_default() + 1 + self.rng.below(3);
        let less = 1 + self.rng.below(end);
        let end = self.constant("u32", end, less);
        self.kernel.rules.push(format!("n < {end}"));
        self.facts.push(format!(
            "sum = mix(sum, core::array::from_fn::<u32, {{ {end} as usize }}, _>(|i| mix(t, i as u32))[n as usize]);"
        ));
        for (name, len) in self.lengths.clone() {
            let more = len + 1 + self.rng.below(9);
            let len = self.constant("usize", len, more);
            self.kernel.rules.push(format!("{name}.len() >= {len}"));
            self.facts.push(format!(
                "for i in 0..{len} {{ sum = mix(sum, {name}[i].number()); }}"
            ));
        }
    }
}
