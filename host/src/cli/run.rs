//! Runs an operation on files: its parts decide which file here runs it.

mod arrays;
mod chunks;
mod divided;
mod expectation;
mod folded;
mod inputs;
mod rows;
mod sink;
mod task;
mod windows;
mod windows_check;
mod windows_part;
mod windows_sink;
mod windows_task;

use blockwise_ops::operation::Parts;

use self::task::Task;
use super::Global;
use super::failure::Failure;
use super::operation::Arguments;
use super::report::Report;

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Report, Failure> {
    let readers = inputs::open(arguments)?;
    if let Parts::Windows(windows) = arguments.of.parts
        && !inputs::are_rows(&readers)?
    {
        return windows::run(global, arguments, windows, readers);
    }
    let task = Task::new(arguments, readers)?;
    match arguments.of.parts {
        Parts::Folded(fold) => folded::run(global, arguments, fold, task),
        Parts::Windows(_) => rows::run(global, arguments, task),
        Parts::Whole | Parts::Tiles | Parts::Carried(_) | Parts::Panels => {
            arrays::run(global, arguments, &task)
        }
    }
}
