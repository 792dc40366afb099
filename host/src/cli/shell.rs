//! `blockwise completions` and `blockwise man`, generated from the description of the command line.

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::failure::Failure;
use super::report::Report;
use super::{Cli, folder, help};
use crate::io::OutputFile;

#[derive(Args)]
pub(super) struct CompletionsArguments {
    /// The shell: bash puts the text into ~/.local/share/bash-completion/completions/blockwise
    shell: Shell,
}

#[derive(Args)]
pub(super) struct ManArguments {
    /// The folder for the pages blockwise.1, blockwise-conv.1, …
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
}

/// The completions of a shell, on standard output.
pub(super) fn completions(arguments: &CompletionsArguments) -> Result<Report, Failure> {
    let mut text = Vec::new();
    let mut command = help::of(Cli::command());
    clap_complete::generate(arguments.shell, &mut command, "blockwise", &mut text);
    let text = String::from_utf8(text).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Report::document(text.trim_end()))
}

/// The man pages, one per command.
pub(super) fn man(arguments: &ManArguments) -> Result<Report, Failure> {
    let folder = &arguments.output;
    folder::prepare(folder)?;
    let mut command = help::of(Cli::command());
    command.build();
    let mut names = Vec::new();
    for (name, command) in pages(command) {
        let mut page = Vec::new();
        clap_mangen::Man::new(command)
            .title(&name)
            .render(&mut page)
            .map_err(|error| Failure::new(error.to_string()))?;
        OutputFile::prepare(&folder.join(format!("{name}.1")))?.write(&page)?;
        names.push(name);
    }
    let text = format!("{} pages in {}", names.len(), folder.display());
    Ok(Report::new(text, serde_json::json!({ "pages": names })))
}

/// The command and its subcommands, by the names of their pages.
fn pages(command: clap::Command) -> Vec<(String, clap::Command)> {
    let commands = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .cloned();
    let name = command.get_name().to_owned();
    let inner: Vec<_> = (commands.filter(|command| command.get_name() != "help"))
        .flat_map(|inner| {
            let own = format!("{name}-{}", inner.get_name());
            pages(inner.name(own))
        })
        .collect();
    [(name, command)].into_iter().chain(inner).collect()
}
