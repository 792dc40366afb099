//! The control-flow graph of one function, by index: post-dominators and the regions of branches.

/// Blocks and their edges. Node 0 is the entry; the last node is the exit, which every reachable
/// block leads to.
pub(super) struct Graph {
    successors: Vec<Vec<usize>>,
    predecessors: Vec<Vec<usize>>,
    /// For each node except the exit, its immediate post-dominator.
    post_dominators: Vec<usize>,
}

impl Graph {
    /// The graph of blocks with these successors.
    ///
    /// An endless loop gets an edge from its header to the exit: its post-dominators are then those
    /// of threads that would leave after whole iterations. So does a block without successors.
    pub(super) fn new(mut successors: Vec<Vec<usize>>) -> Self {
        let exit = successors.len();
        successors.push(Vec::new());
        let order = post_order(0, &successors);
        while let Some(endless) = first_of_an_endless_loop(&order, &successors, exit) {
            successors[endless].push(exit);
        }
        let predecessors = reversed(&successors);
        let post_dominators = post_dominators(&successors, &predecessors, exit);
        Graph {
            successors,
            predecessors,
            post_dominators,
        }
    }

    pub(super) fn exit(&self) -> usize {
        self.successors.len() - 1
    }

    pub(super) fn predecessors(&self, node: usize) -> &[usize] {
        &self.predecessors[node]
    }

    /// The reachable blocks in reverse postorder.
    pub(super) fn order(&self) -> Vec<usize> {
        let mut order = post_order(0, &self.successors);
        order.reverse();
        order.retain(|&node| node != self.exit());
        order
    }

    /// Whether the block has more than one successor.
    pub(super) fn branches(&self, node: usize) -> bool {
        let next = &self.successors[node];
        next.iter().any(|other| *other != next[0])
    }

    /// Whether a thread may execute the block several times.
    pub(super) fn repeats(&self, node: usize) -> bool {
        let next = self.successors[node].iter();
        next.copied()
            .any(|next| post_order(next, &self.successors).contains(&node))
    }

    /// The region that the branch at the end of `block` controls.
    pub(super) fn region(&self, block: usize) -> Region {
        let join = self.post_dominators[block];
        let mut inside = vec![false; self.successors.len()];
        let mut waiting = self.successors[block].clone();
        while let Some(node) = waiting.pop() {
            if node != join && !inside[node] {
                inside[node] = true;
                waiting.extend(&self.successors[node]);
            }
        }
        Region { join, inside }
    }
}

/// The blocks from a branch to its join.
pub(super) struct Region {
    /// The immediate post-dominator of the branch.
    pub(super) join: usize,
    /// For each node, whether a thread may execute it between the branch and the join.
    pub(super) inside: Vec<bool>,
}

/// For each node, whether it is one of `targets` or reaches one.
pub(super) fn leading_to(
    targets: impl Iterator<Item = usize>,
    successors: &[Vec<usize>],
) -> Vec<bool> {
    let predecessors = reversed(successors);
    let mut leads = vec![false; successors.len()];
    let mut waiting: Vec<_> = targets.collect();
    while let Some(node) = waiting.pop() {
        if !std::mem::replace(&mut leads[node], true) {
            waiting.extend(&predecessors[node]);
        }
    }
    leads
}

/// The nodes reachable from `from`, in postorder.
fn post_order(from: usize, edges: &[Vec<usize>]) -> Vec<usize> {
    let mut order = Vec::new();
    let mut seen = vec![false; edges.len()];
    seen[from] = true;
    let mut path = vec![(from, 0)];
    while let Some((node, next)) = path.last_mut() {
        let node = *node;
        match edges[node].get(*next) {
            Some(&child) => {
                *next += 1;
                if !seen[child] {
                    seen[child] = true;
                    path.push((child, 0));
                }
            }
            None => {
                order.push(node);
                path.pop();
            }
        }
    }
    order
}

/// The first block, from the entry, of a loop that no path leaves; `None` if there is no such loop.
fn first_of_an_endless_loop(
    order: &[usize],
    successors: &[Vec<usize>],
    exit: usize,
) -> Option<usize> {
    let predecessors = reversed(successors);
    let leaves = leading_to([exit].into_iter(), successors);
    let from_the_entry = || order.iter().rev();
    let mut node = *from_the_entry().find(|&&node| !leaves[node])?;
    loop {
        let reached = post_order(node, successors);
        let leading_back = post_order(node, &predecessors);
        match reached.iter().find(|node| !leading_back.contains(node)) {
            // The loop leads to another one.
            Some(&further) => node = further,
            None => {
                return from_the_entry()
                    .find(|node| reached.contains(node))
                    .copied();
            }
        }
    }
}

fn reversed(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut reversed = vec![Vec::new(); edges.len()];
    for (node, next) in edges.iter().enumerate() {
        for &child in next {
            reversed[child].push(node);
        }
    }
    reversed
}

/// Immediate dominators, by block; block 0 is the entry. The entry and blocks that it does not
/// reach dominate themselves.
pub(crate) fn dominators(successors: &[Vec<usize>]) -> Vec<usize> {
    post_dominators(&reversed(successors), successors, 0)
}

/// Immediate post-dominators: dominators of the reversed graph, improved until no node changes. The
/// exit and nodes that do not reach it post-dominate themselves.
fn post_dominators(
    successors: &[Vec<usize>],
    predecessors: &[Vec<usize>],
    exit: usize,
) -> Vec<usize> {
    let mut order = post_order(exit, predecessors);
    let mut rank = vec![0; successors.len()];
    for (at, &node) in order.iter().enumerate() {
        rank[node] = at;
    }
    order.reverse();
    let mut nearest: Vec<Option<usize>> = vec![None; successors.len()];
    nearest[exit] = Some(exit);
    let mut changed = true;
    while changed {
        changed = false;
        for &node in order.iter().filter(|&&node| node != exit) {
            let mut known = successors[node]
                .iter()
                .copied()
                .filter(|&next| nearest[next].is_some());
            let first = known.next();
            let meeting = first.map(|first| known.fold(first, |a, b| meet(a, b, &nearest, &rank)));
            if meeting != nearest[node] {
                nearest[node] = meeting;
                changed = true;
            }
        }
    }
    nearest
        .into_iter()
        .enumerate()
        .map(|(node, nearest)| nearest.unwrap_or(node))
        .collect()
}

/// The nearest common ancestor in the tree of post-dominators.
fn meet(mut a: usize, mut b: usize, nearest: &[Option<usize>], rank: &[usize]) -> usize {
    while a != b {
        if rank[a] < rank[b] {
            (a, b) = (b, a);
        }
        // The one farther from the exit has the smaller rank; now that is `b`.
        b = nearest[b].unwrap_or(a);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the join of the branch at the end of `block`, and the blocks between.
    #[track_caller]
    fn check(successors: &[&[usize]], block: usize, join: usize, between: &[usize]) {
        let graph = Graph::new(successors.iter().map(|next| next.to_vec()).collect());
        let region = graph.region(block);
        let inside: Vec<_> = (0..=graph.exit())
            .filter(|&node| region.inside[node])
            .collect();
        assert_eq!((region.join, &inside[..]), (join, between));
    }

    #[test]
    fn a_branch_decides_its_arms() {
        check(&[&[1, 2], &[3], &[3], &[]], 0, 3, &[1, 2]);
        check(&[&[1, 2], &[2], &[]], 0, 2, &[1]);
    }

    #[test]
    fn an_early_return_decides_all_after_it() {
        check(&[&[1, 2], &[], &[3], &[]], 0, 4, &[1, 2, 3]);
    }

    #[test]
    fn a_loops_end_decides_the_loop() {
        // 1 is the loop header, which exits to 3; 2 is the body.
        check(&[&[1], &[2, 3], &[1], &[]], 1, 3, &[1, 2]);
    }

    #[test]
    fn a_branch_in_a_loop_meets_before_the_next_round() {
        check(&[&[1], &[2, 5], &[3, 4], &[4], &[1], &[]], 2, 4, &[3]);
    }

    #[test]
    fn a_second_round_of_the_outer_loop_lies_between() {
        // 1 is the header of the outer loop, 2 of the inner one; 3 continues either. All paths pass
        // 2.
        check(&[&[1], &[2], &[3, 4], &[1, 2], &[]], 3, 2, &[1]);
    }

    #[test]
    fn an_endless_loop_may_end_at_its_first_block() {
        check(&[&[1], &[2], &[3, 4], &[4], &[1]], 2, 4, &[3]);
        // A loop that is endless for some threads controls everything that other threads do.
        check(&[&[1, 2], &[1], &[3], &[]], 0, 4, &[1, 2, 3]);
        check(&[&[1, 2], &[1], &[2]], 0, 3, &[1, 2]);
    }

    #[test]
    fn a_loop_that_leads_to_an_endless_one_ends_there() {
        check(&[&[1], &[1, 2], &[3], &[4, 5], &[5], &[2]], 1, 2, &[1]);
        check(&[&[1], &[1, 2], &[3], &[4, 5], &[5], &[2]], 3, 5, &[4]);
    }

    #[test]
    fn blocks_that_nothing_reaches_take_no_part() {
        check(&[&[1, 2], &[3], &[3], &[], &[1, 4]], 0, 3, &[1, 2]);
    }

    #[test]
    fn a_branch_dominates_its_arms_and_their_join() {
        let successors = [vec![1], vec![2, 3], vec![4], vec![4], vec![1], vec![4]];
        assert_eq!(dominators(&successors), [0, 0, 1, 1, 1, 5]);
    }

    #[test]
    fn blocks_of_a_loop_repeat() {
        let graph = Graph::new(vec![vec![1], vec![2, 3], vec![1], vec![4], vec![4]]);
        let repeats: Vec<_> = (0..5).filter(|&node| graph.repeats(node)).collect();
        assert_eq!(repeats, [1, 2, 4]);
    }

    #[test]
    fn equal_ways_are_no_branch() {
        let graph = Graph::new(vec![vec![1, 1], vec![2, 3], vec![3], vec![]]);
        assert!(!graph.branches(0) && graph.branches(1));
        assert_eq!(graph.order(), [0, 1, 2, 3]);
        assert_eq!(graph.predecessors(3), [1, 2]);
    }
}
