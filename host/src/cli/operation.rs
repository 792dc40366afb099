//! The command of an operation, from its description.

use std::path::{Path, PathBuf};

use blockwise_ops::operation::{Given, Operation, Parts, Setting, Tier, Variant};
use blockwise_ops::{OPERATIONS, find, pipeline};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::failure::Failure;
use super::mesh::Gpus;
use super::operand::{Chunk, Reference};

/// What a user asks of an operation.
pub(super) struct Arguments {
    pub(super) of: &'static Operation,
    pub(super) inputs: Vec<PathBuf>,
    /// `None` if the result is a number.
    pub(super) output: Option<PathBuf>,
    pub(super) kernel: Option<&'static Variant>,
    pub(super) given: Given,
    /// `None` if the operation cannot be divided over devices, or is not to be.
    pub(super) gpus: Option<Gpus>,
    /// `None` if it cannot be divided into chunks.
    pub(super) chunk: Option<Chunk>,
    pub(super) reference: Reference,
}

/// The most device memory for each element of a chunk, in bytes: the chunks in flight, each with
/// operands, results and a kernel's own memory, for two channels.
const BYTES_IN_FLIGHT: u64 = 256;

impl Arguments {
    /// Reduces the chunk until it fits into this much device memory.
    pub(super) fn fit(&mut self, bytes: u64) {
        if let Some(chunk) = &mut self.chunk {
            let most = (bytes / BYTES_IN_FLIGHT).max(1);
            chunk.chunk = usize::try_from(most).map_or(chunk.chunk, |most| chunk.chunk.min(most));
        }
    }

    /// The elements of each operand that are on a device at a time, at most.
    pub(super) fn chunk(&self) -> usize {
        (self.chunk.as_ref()).map_or(pipeline::CHUNK, |chunk| chunk.chunk)
    }

    /// The output's file, of an operation whose result goes to one.
    pub(super) fn output(&self) -> Result<&Path, Failure> {
        let missing = || Failure::new("`-o FILE` is missing");
        self.output.as_deref().ok_or_else(missing)
    }
}

/// Whether an operation can be divided over devices, and into chunks.
fn divided(of: &Operation) -> [bool; 2] {
    match of.parts {
        Parts::Whole => [false, false],
        Parts::Tiles | Parts::Panels => [true, false],
        // An index has no total.
        Parts::Folded(fold) => [!fold.is_index, true],
        Parts::Carried(_) | Parts::Windows(_) => [true, true],
    }
}

/// Every operation's command.
pub(super) fn commands() -> impl Iterator<Item = Command> {
    OPERATIONS.iter().map(|of| command(of))
}

fn command(of: &'static Operation) -> Command {
    let file = |arg: Arg| {
        arg.value_parser(clap::value_parser!(PathBuf))
            .required(true)
    };
    let mut command = Command::new(of.name);
    for operand in of.operands {
        command = command.arg(file(
            Arg::new(operand.name)
                .value_name(operand.name.to_uppercase())
                .help(operand.about),
        ));
    }
    let output = Arg::new("output")
        .short('o')
        .long("output")
        .value_name("FILE");
    let output = file(output.help(format!("Where to write {}", of.result)));
    let kernel = Arg::new("kernel")
        .long("kernel")
        .value_name("KERNEL")
        .help("The kernel, one of those that --kernels lists [default: the fastest]")
        .hide_possible_values(true)
        .value_parser(kernels(of));
    let list = Arg::new(KERNELS)
        .long(KERNELS)
        .help("List the kernels, and end");
    command = settings(command, of)
        .arg(kernel)
        .arg(list.action(ArgAction::SetTrue).exclusive(true));
    command = match (of.parts, has_axis(of)) {
        // The whole is a number, which is printed.
        (Parts::Folded(_), false) => command,
        (Parts::Folded(_), true) => {
            let [over_devices, _] = divided(of);
            let others: &[&'static str] = match over_devices {
                true => &["kernel", "gpus"],
                false => &["kernel"],
            };
            (command.arg(output.required(false).requires("axis"))).mut_arg("axis", |axis| {
                axis.requires("output").conflicts_with_all(others)
            })
        }
        _ => command.arg(output),
    };
    let [over_devices, in_chunks] = divided(of);
    if over_devices {
        command = Gpus::augment_args(command);
    }
    if in_chunks {
        command = Chunk::augment_args(command);
    }
    // The groups of arguments above have an `about` of their own.
    let command = Reference::augment_args(command).about(of.about);
    match of.widens {
        "" => command,
        widens => command.after_help(widens),
    }
}

fn has_axis(of: &Operation) -> bool {
    (of.settings.iter()).any(|setting| matches!(setting, Setting::Axis { .. }))
}

/// The flag that lists an operation's kernels.
pub(super) const KERNELS: &str = "kernels";

/// The names of the kernels that a user can choose, one a line, as the help of a command: clap prints
/// it.
pub(super) fn list<'a>(
    of: &'static Operation,
    variants: impl Iterator<Item = &'a Variant>,
) -> clap::Error {
    let names = variants.filter(|variant| variant.tier != Tier::Step);
    let text: String = names.flat_map(|variant| [variant.name, "\n"]).collect();
    let command = Command::new(of.name).override_help(text);
    let help = command.try_get_matches_from([of.name, "--help"]);
    help.expect_err("help is asked for")
}

/// A parser of a kernel's name: of those that a user can sensibly choose.
fn kernels(of: &'static Operation) -> impl TypedValueParser<Value = &'static Variant> {
    let named = ladder::variants(of).filter(|variant| variant.tier != Tier::Step);
    let all = named.map(|variant| {
        // Steps of the ladder are not in the help, and refused with a reason below.
        PossibleValue::new(variant.name).hide(is_step(variant))
    });
    PossibleValuesParser::new(all).try_map(|name| match of.variant(&name) {
        Some(variant) => Ok(variant),
        None => Err(format!(
            "`{name}` is a step of the ladder (docs/ladders.md), not for results: `bench`, \
             `profile`, `trace` and `check` take it"
        )),
    })
}

/// Whether a variant is of the crate `ladder`.
fn is_step(variant: &Variant) -> bool {
    matches!(variant.tier, Tier::Ladder { .. })
}

/// Adds an argument for each setting.
pub(super) fn settings(mut command: Command, of: &'static Operation) -> Command {
    for setting in of.settings {
        command = command.arg(match *setting {
            Setting::OneOf {
                name,
                about,
                values,
            } => one_of(name, "WHICH", about, values, values),
            Setting::Mode {
                name,
                about,
                values,
                shown,
                ..
            } => one_of(name, "MODE", about, values, shown),
            Setting::Flag { name, about } => Arg::new(name)
                .long(name)
                .help(about)
                .action(ArgAction::SetTrue),
            Setting::Axis { about } => Arg::new("axis")
                .long("axis")
                .value_name("K")
                .help(about)
                .allow_negative_numbers(true)
                .value_parser(clap::value_parser!(isize)),
        });
    }
    command
}

/// An argument that is one of some words, the first by default, in the order that help shows.
fn one_of(
    name: &'static str,
    value: &'static str,
    about: &'static str,
    values: &'static [&'static str],
    shown: &'static [&'static str],
) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name(value)
        .help(about)
        .default_value(values[0])
        .value_parser(PossibleValuesParser::new(shown))
}

/// The settings that were given.
pub(super) fn given(matches: &ArgMatches, of: &'static Operation) -> Given {
    let mut given = Given::default();
    let mut at = 0;
    for setting in of.settings {
        let index = match *setting {
            Setting::OneOf { name, values, .. } | Setting::Mode { name, values, .. } => {
                let value = matches.get_one::<String>(name);
                let index = values
                    .iter()
                    .position(|of| value.is_some_and(|it| it == of));
                index.unwrap_or(0)
            }
            Setting::Flag { name, .. } => usize::from(matches.get_flag(name)),
            Setting::Axis { .. } => {
                given.axis = matches.get_one("axis").copied();
                continue;
            }
        };
        // A setting has few values.
        given.settings[at] = index as u8;
        at += 1;
    }
    given
}

/// The arguments of the subcommand that was given, if it is an operation's.
pub(super) fn arguments(matches: &ArgMatches) -> Option<Result<Arguments, clap::Error>> {
    let (name, matches) = matches.subcommand()?;
    Some(of_matches(find(name)?, matches))
}

fn of_matches(of: &'static Operation, matches: &ArgMatches) -> Result<Arguments, clap::Error> {
    if matches.get_flag(KERNELS) {
        return Err(list(of, of.variants.iter().copied()));
    }
    let missing = || clap::Error::new(clap::error::ErrorKind::MissingRequiredArgument);
    let file = |name| {
        matches
            .get_one::<PathBuf>(name)
            .cloned()
            .ok_or_else(missing)
    };
    let [over_devices, in_chunks] = divided(of);
    let gpus = over_devices.then(|| Gpus::from_arg_matches(matches));
    let chunk = in_chunks.then(|| Chunk::from_arg_matches(matches));
    Ok(Arguments {
        of,
        inputs: (of.operands.iter())
            .map(|operand| file(operand.name))
            .collect::<Result<_, _>>()?,
        output: matches.try_get_one("output").ok().flatten().cloned(),
        kernel: matches.get_one("kernel").copied(),
        given: given(matches, of),
        gpus: gpus.transpose()?,
        chunk: chunk.transpose()?,
        reference: Reference::from_arg_matches(matches)?,
    })
}
