//! Tasks on all cores.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// The results of tasks, in the tasks' order. The largest start first, so that no core is left with
/// a long one at the end.
pub(super) fn run<T: Send, R: Send>(
    tasks: Vec<T>,
    size: impl Fn(&T) -> usize,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let mut order: Vec<_> = (0..tasks.len()).collect();
    order.sort_by_key(|&task| std::cmp::Reverse(size(&tasks[task])));
    let tasks: Vec<_> = tasks
        .into_iter()
        .map(|task| Mutex::new(Some(task)))
        .collect();
    let results: Vec<_> = tasks.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // A panic in a task ends the scope with that panic.
    std::thread::scope(|scope| {
        for _ in 0..cores.min(tasks.len()) {
            scope.spawn(|| {
                while let Some(&at) = order.get(next.fetch_add(1, Relaxed)) {
                    let task = lock(&tasks[at]).take();
                    *lock(&results[at]) = task.map(&work);
                }
            });
        }
    });
    let results = results.into_iter().map(Mutex::into_inner);
    results
        .filter_map(|result| result.unwrap_or_else(PoisonError::into_inner))
        .collect()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::run;

    #[test]
    fn results_are_in_the_order_of_the_tasks() {
        let tasks: Vec<usize> = (0..100).collect();
        let results = run(tasks.clone(), |&task| task * 37 % 100, |task| task);
        assert_eq!(results, tasks);
        assert!(run(Vec::new(), |&task| task, |task: usize| task).is_empty());
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_of_a_task_is_not_lost() {
        run(vec![1], |_| 1, |_| panic!("here"));
    }
}
