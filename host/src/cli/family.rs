//! What `profile` and `trace` run: the project's kernels by their families, or a kernel of any PTX.

use blockwise::Type;
use blockwise_ops::operation::{Given, Operation as Described, Size, Tier, Variant};
use blockwise_ops::{OPERATIONS, find};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches, Subcommand};

use super::kernel_args::{ARGUMENTS_HELP, Launch};
use super::operation;
use crate::profile::Workload;

/// What to run: every kernel of a family side by side, or some of them; or a kernel of any PTX.
#[derive(Clone)]
pub(super) enum Family {
    /// An operation that has a description.
    Operation {
        of: &'static Described,
        sizes: Vec<usize>,
        given: Given,
        threads: Option<u32>,
        kernels: Vec<&'static Variant>,
    },
    Other(Other),
}

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

impl Family {
    pub(super) fn subject(&self) -> Subject {
        match self.clone() {
            Self::Operation {
                of,
                sizes,
                given,
                threads,
                kernels,
            } => Subject::Workload(Workload::Operation {
                operation: of,
                sizes,
                given,
                threads,
                kernels,
            }),
            Self::Other(other) => other.subject(),
        }
    }
}

/// The subcommand of an operation.
fn command(of: &'static Described) -> Command {
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
        .help("These kernels only, separated by commas")
        .value_delimiter(',')
        .action(ArgAction::Append)
        .value_parser(PossibleValuesParser::new(
            (of.variants.iter())
                .filter(|variant| variant.tier != Tier::Step)
                .map(|variant| variant.name),
        ));
    let threads = Arg::new("threads")
        .long("threads")
        .value_name("N")
        .help("Threads of a block, for the kernels that leave them open")
        .value_parser(clap::value_parser!(u32));
    operation::settings(command.arg(threads).arg(kernel), of)
}

impl Subcommand for Family {
    fn augment_subcommands(command: Command) -> Command {
        Other::augment_subcommands(
            command.subcommands(OPERATIONS.iter().map(|of| self::command(of))),
        )
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        find(name).is_some() || Other::has_subcommand(name)
    }
}

impl FromArgMatches for Family {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let described = matches.subcommand();
        let Some((of, matches)) = described.and_then(|(name, of)| Some((find(name)?, of))) else {
            return Other::from_arg_matches(matches).map(Self::Other);
        };
        let size = |size: &Size| matches.get_one(size.name).copied().unwrap_or(size.profile);
        let kernels = matches.get_many::<String>("kernel").unwrap_or_default();
        Ok(Self::Operation {
            of,
            sizes: of.sizes.iter().map(size).collect(),
            given: operation::given(matches, of),
            threads: matches.get_one("threads").copied(),
            kernels: kernels.filter_map(|name| of.variant(name)).collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The families that have no description, and any PTX.
#[derive(Clone, Subcommand)]
pub(super) enum Other {
    /// Any kernel of any PTX file
    #[command(after_help = ARGUMENTS_HELP)]
    Ptx(Launch),
}

/// What a family's words ask for.
pub(super) enum Subject {
    Workload(Workload),
    File(Launch),
}

impl Other {
    fn subject(&self) -> Subject {
        let Self::Ptx(launch) = self.clone();
        Subject::File(launch)
    }
}
