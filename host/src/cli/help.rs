//! What `--help` shows: an example of each command first, and only the options that mean something
//! there.

use blockwise_ops::find;
use clap::{Arg, Command};

/// An example of each command but the operations', by its words.
const EXAMPLES: &[(&str, &str)] = &[
    (
        "profile",
        "blockwise profile transpose --kernel tiled,padded",
    ),
    ("profile ptx", PROFILE_PTX),
    ("trace", "blockwise trace transpose --kernel tiled,padded"),
    ("trace ptx", TRACE_PTX),
    ("check", CHECK),
    ("debug", "blockwise debug --port 4711"),
    ("bench", "blockwise bench --filter sum --size 2^20"),
    (
        "scale",
        "blockwise scale matmul --sizes 8192,8192,8192 --plot plots",
    ),
    ("tune", "blockwise tune --filter sum --quick"),
    ("new", "blockwise new demo"),
    ("init", "blockwise init ."),
    ("exercise", "blockwise exercise 1"),
    ("setup", "blockwise setup"),
    ("doctor", "blockwise doctor"),
    ("devices", "blockwise devices"),
    ("demo", "blockwise demo conv --plot plots"),
    ("completions", "blockwise completions bash"),
    ("man", "blockwise man -o man"),
];

const CHECK: &str = "blockwise check kernels.ptx --kernel saxpy --grid 4 --block 256 \
                     --arg f32:2 --arg slice:f32[1000]=random:1 --arg slice:f32[1000]=zeros";
const PROFILE_PTX: &str = "blockwise profile ptx kernels.ptx --kernel saxpy --grid 4 --block 256 \
                           --arg f32:2 --arg slice:f32[1000]=random:1 --arg slice:f32[1000]=zeros";
const TRACE_PTX: &str = "blockwise trace ptx kernels.ptx --kernel saxpy --grid 4 --block 256 \
                         --arg f32:2 --arg slice:f32[1000]=random:1 --arg slice:f32[1000]=zeros";

/// Options of every command that mean nothing to one, or that it refuses: they are understood, and
/// not listed.
const UNLISTED: &[(&str, &[&str])] = &[
    ("profile", &["device", "device_memory"]),
    ("trace", &["device", "device_memory"]),
    ("check", &["device", "device_memory"]),
    ("debug", &["device", "device_memory", "json"]),
    ("scale", &["device", "device_memory", "ptx"]),
    ("new", &["device", "device_memory", "ptx"]),
    ("init", &["device", "device_memory", "ptx"]),
    ("exercise", &["device", "device_memory", "ptx"]),
    ("setup", &["device", "device_memory", "ptx"]),
    ("doctor", &["device", "device_memory", "ptx"]),
    ("devices", &["device_memory", "ptx"]),
    (
        "completions",
        &["device", "device_memory", "ptx", "json", "quiet"],
    ),
    ("man", &["device", "device_memory", "ptx"]),
];

/// The command line with examples, and without what means nothing.
pub(super) fn of(root: Command) -> Command {
    let globals: Vec<Arg> = root.get_arguments().cloned().collect();
    root.mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        let unlisted = UNLISTED.iter().find(|(of, _)| *of == name);
        let unlisted = unlisted.map_or(&[][..], |(_, options)| options);
        let hidden = (globals.iter())
            .filter(|option| unlisted.iter().any(|of| option.get_id() == *of))
            .map(|option| option.clone().hide(true));
        let command = command.args(hidden);
        // `profile conv` is like `profile`, with another operation.
        let command = command.mut_subcommands(|inner| {
            let words = format!("{name} {}", inner.get_name());
            let example = example(&words).map_or(format!("blockwise {words}"), str::to_owned);
            with_example(inner, &example)
        });
        let of_operation = || find(&name).map(|of| format!("blockwise {name} {}", of.example));
        match example(&name).map(str::to_owned).or_else(of_operation) {
            Some(example) => with_example(command, &example),
            None => command,
        }
    })
}

fn example(words: &str) -> Option<&'static str> {
    let found = EXAMPLES.iter().find(|(of, _)| *of == words)?;
    Some(found.1)
}

fn with_example(command: Command, example: &str) -> Command {
    command.before_help(format!("Example: {example}"))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches};

    use super::super::Cli;
    use super::*;

    /// Every command with its words, those without subcommands last.
    fn commands(command: &Command, words: &str) -> Vec<(String, Command)> {
        let inner = command
            .get_subcommands()
            .filter(|inner| inner.get_name() != "help");
        inner
            .flat_map(|inner| {
                let words = format!("{words} {}", inner.get_name()).trim().to_owned();
                let below = commands(inner, &words);
                [(words, inner.clone())].into_iter().chain(below)
            })
            .collect()
    }

    #[test]
    fn each_command_begins_with_an_example_that_can_be_parsed() {
        let root = Cli::command();
        for (words, mut command) in commands(&of(root.clone()), "") {
            let help = command.render_help().to_string();
            let first = help.lines().next().unwrap_or_default();
            let example = first
                .strip_prefix("Example: ")
                .unwrap_or_else(|| panic!("{words}: {help}"));
            assert!(
                example.starts_with(&format!("blockwise {words}")),
                "{words}: {example}"
            );
            let parsed = of(root.clone()).try_get_matches_from(example.split(' '));
            assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
        }
        for (words, _) in EXAMPLES {
            let mut all = commands(&root, "").into_iter();
            assert!(all.any(|(of, _)| of == *words), "`{words}` is no command");
        }
    }

    #[test]
    fn kernels_are_listed_by_a_flag_of_their_own() {
        let list = |line: &str| {
            let matches = of(Cli::command()).try_get_matches_from(line.split(' '));
            let parsed = Cli::from_arg_matches(&matches.unwrap());
            parsed.err().unwrap().to_string()
        };
        let (conv, profile) = (
            list("blockwise conv --kernels"),
            list("blockwise profile conv --kernels"),
        );
        assert!(
            conv.contains("tiled\n") && !conv.contains("fft-radix2"),
            "{conv}"
        );
        assert!(profile.contains("fft-radix2\n"), "{profile}");
        assert!(!conv.contains("error"), "{conv}");
        for (words, mut command) in commands(&of(Cli::command()), "") {
            let help = command.render_long_help().to_string();
            assert!(!help.contains("possible values: naive"), "{words}: {help}");
        }
    }

    #[test]
    fn options_that_mean_nothing_are_understood_and_not_listed() {
        let root = of(Cli::command());
        for (name, options) in UNLISTED {
            let mut root = root.clone();
            root.build();
            let mut command = root.find_subcommand(name).unwrap().clone();
            let help = command.render_long_help().to_string();
            for option in *options {
                let line = format!("--{}", option.replace('_', "-"));
                assert!(!help.contains(&format!("{line} ")), "{name} lists {line}");
                assert!(command.get_arguments().any(|arg| arg.get_id() == *option));
            }
        }
        let mut conv = root.find_subcommand("conv").unwrap().clone();
        assert!(conv.render_help().to_string().contains("--kernels"));
    }
}
