//! Launches that a kernel's contract refuses. A safe kernel must be sound in them, too: guards that
//! no other launch needs are there for them.

use std::sync::Arc;

use super::{Job, Parameter};

impl Job {
    /// The same launch with one extent of an argument, and the memory that it stands for, halved or
    /// doubled. Any output is right.
    pub fn refused(&self) -> Vec<Job> {
        let extents = self.parameters.iter().enumerate();
        let changed = extents.filter_map(|(index, parameter)| match parameter {
            Parameter::Extent(extent) | Parameter::Shared(extent) => Some((index, *extent)),
            _ => None,
        });
        changed
            .flat_map(|(index, extent)| [(index, extent, extent / 2), (index, extent, 2 * extent)])
            .filter(|(_, before, after)| before != after)
            .filter_map(|(index, before, after)| self.resized(index, before, after))
            .collect()
    }

    fn resized(&self, index: usize, before: u64, after: u64) -> Option<Job> {
        let mut job = self.clone();
        let scaled = |bytes: u64| usize::try_from(bytes * after / before).ok();
        if let Parameter::Shared(_) = self.parameters[index] {
            let bytes = scaled(self.plan.dynamic_shared_bytes.into())?;
            job.plan.dynamic_shared_bytes = u32::try_from(bytes).ok()?;
            job.parameters[index] = Parameter::Shared(after);
        } else {
            job.parameters[index] = Parameter::Extent(after);
            // The buffer whose extent it is stands before it.
            let buffers = self.parameters[..index].iter().rev();
            let buffer = buffers
                .copied()
                .find(|parameter| matches!(parameter, Parameter::Input(..) | Parameter::Output(_)));
            match buffer? {
                Parameter::Input(input, offset) => {
                    let old = &self.inputs[input];
                    let len = scaled(old.len() as u64 - offset)? + offset as usize;
                    job.inputs[input] = old.iter().copied().cycle().take(len).collect();
                }
                Parameter::Output(place) => {
                    let follows =
                        |it: &Parameter| matches!(it, Parameter::Output(at) if *at > place);
                    // The memory of one that another follows stays as it is.
                    if !self.parameters.iter().any(follows) {
                        let own = scaled(self.output_bytes as u64 - place)?;
                        job.output_bytes = place as usize + own;
                        job.start.truncate(job.output_bytes);
                    }
                }
                _ => return None,
            }
        }
        job.case = format!("{}, parameter {index} of {after}", self.case);
        job.judge = Arc::new(|_| Ok(()));
        Some(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::all_telling;

    #[test]
    fn an_extent_changes_with_its_memory() {
        // Those of its variant are made.
        let jobs = all_telling(|name| name == "reverse_dynamic_u32");
        let job = jobs.first().expect("it has jobs");
        let bytes = |job: &Job| {
            let inputs: usize = job.inputs.iter().map(Vec::len).sum();
            [
                inputs,
                job.output_bytes,
                job.plan.dynamic_shared_bytes as usize,
            ]
        };
        let [input, output, shared] = bytes(job);
        let mut refused: Vec<_> = job.refused().iter().map(bytes).collect();
        refused.sort_unstable();
        let mut expected = vec![
            [input, output, shared / 2],
            [input, output, 2 * shared],
            [input, output / 8 * 4, shared],
            [input, 2 * output, shared],
            [input / 8 * 4, output, shared],
            [2 * input, output, shared],
        ];
        expected.sort_unstable();
        assert_eq!(refused, expected);
    }
}
