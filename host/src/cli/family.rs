//! What `profile` and `trace` run: the project's kernels by their families, or a kernel of any PTX.

use blockwise::Type;
use blockwise_ops::operation::{Operation, Size, Tier};
use blockwise_ops::{OPERATIONS, find};
use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Subcommand};

use super::kernel_args::{ARGUMENTS_HELP, Launch};
use super::operation::{self, KERNELS};
use crate::profile::Workload;

/// What to run.
#[derive(Clone)]
pub(super) enum Subject {
    /// Every kernel of an operation side by side, or some of them.
    Workload(Workload),
    /// A kernel of any PTX.
    File(Launch),
}

/// The subcommand for any PTX.
const PTX: &str = "ptx";

/// The types that there are random numbers of.
pub(super) const TYPES: [Type; 10] = [
    Type::F32,
    Type::F64,
    Type::I8,
    Type::I16,
    Type::I32,
    Type::I64,
    Type::U8,
    Type::U16,
    Type::U32,
    Type::U64,
];

/// The subcommand of an operation.
fn command(of: &'static Operation) -> Command {
    let mut command = Command::new(of.name).about(of.about);
    for size in of.sizes {
        let size = Arg::new(size.name)
            .long(size.name)
            .value_name(size.name.to_uppercase())
            .help(size.about)
            .value_parser(clap::value_parser!(usize))
            .default_value(size.profile.to_string());
        command = command.arg(size);
    }
    let kernel = Arg::new("kernel")
        .long("kernel")
        .value_name("KERNEL")
        .help("These kernels only, separated by commas, of those that --kernels lists")
        .hide_possible_values(true)
        .value_delimiter(',')
        .action(ArgAction::Append)
        .value_parser(PossibleValuesParser::new(
            ladder::variants(of)
                .filter(|variant| variant.tier != Tier::Step)
                .map(|variant| variant.name),
        ));
    let threads = Arg::new("threads")
        .long("threads")
        .value_name("N")
        .help("Threads of a block, for the kernels that leave them open")
        .value_parser(clap::value_parser!(u32));
    let list = Arg::new(KERNELS)
        .long(KERNELS)
        .help("List the kernels, and end");
    let list = list.action(ArgAction::SetTrue).exclusive(true);
    operation::settings(command.arg(threads).arg(kernel).arg(list), of)
}

impl Subcommand for Subject {
    fn augment_subcommands(command: Command) -> Command {
        // The arguments have a line of their own.
        let ptx = Launch::augment_args(Command::new(PTX))
            .about("Any kernel of any PTX file")
            .after_help(ARGUMENTS_HELP);
        let operations = OPERATIONS.iter().map(|of| self::command(of));
        command.subcommands(operations).subcommand(ptx)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        find(name).is_some() || name == PTX
    }
}

impl FromArgMatches for Subject {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let Some((name, matches)) = matches.subcommand() else {
            return Err(clap::Error::new(ErrorKind::MissingSubcommand));
        };
        let Some(operation) = find(name) else {
            return Launch::from_arg_matches(matches).map(Self::File);
        };
        if matches.get_flag(KERNELS) {
            return Err(operation::list(operation, ladder::variants(operation)));
        }
        let size = |size: &Size| matches.get_one(size.name).copied().unwrap_or(size.profile);
        let kernels = matches.get_many::<String>("kernel").unwrap_or_default();
        Ok(Self::Workload(Workload {
            operation,
            sizes: operation.sizes.iter().map(size).collect(),
            given: operation::given(matches, operation),
            threads: matches.get_one("threads").copied(),
            kernels: kernels
                .filter_map(|name| ladder::variant(operation, name))
                .collect(),
        }))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
