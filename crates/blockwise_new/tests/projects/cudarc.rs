//! A program on cudarc that launches a kernel of ours (`tests/beside_cudarc`): it links, and on a GPU
//! both libraries' results are right.

use std::collections::{BTreeMap, BTreeSet};

use crate::place::{Place, text};
use crate::{read, repository, whole_sweeps};

/// The packages of a lock file that come from no registry, with the names of what they need.
fn own(lock: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let packages = lock.split("[[package]]\n").skip(1);
    let own = packages.filter(|package| !package.contains("\nsource = "));
    own.map(|package| {
        let name = package.lines().next().unwrap();
        let name = name.trim_start_matches("name = ").trim_matches('"');
        let needed = package.lines().filter_map(|line| line.strip_prefix(" \""));
        let needed = needed.filter_map(|line| line.split([' ', '"']).next());
        (name, needed.collect())
    })
    .collect()
}

/// A stale one is renewed by most builds without a word, and ends those with `--locked`.
#[test]
fn lock_files_outside_the_workspace_need_nothing_that_ours_do_not() {
    let lock = |folder: &str| read(repository().join(folder).join("Cargo.lock"));
    let ours = lock("");
    let ours = own(&ours);
    for folder in [
        "tests/beside_cudarc",
        "crates/cuda_builder/fuzz",
        "crates/ptx_emulator/fuzz",
        "crates/ptx_emulator/peers",
    ] {
        let lock = lock(folder);
        let shared = own(&lock)
            .into_iter()
            .filter(|(name, _)| ours.contains_key(name));
        let mut count = 0;
        for (name, needed) in shared {
            let gone: Vec<_> = needed.difference(&ours[name]).collect();
            assert!(
                gone.is_empty(),
                "{folder}: `cargo fetch` there: {name} needs no {gone:?}"
            );
            count += 1;
        }
        assert!(count > 0, "{folder}");
    }
}

#[test]
fn a_program_on_cudarc_links_and_shares_a_gpu() {
    if !whole_sweeps() {
        return;
    }
    let project = repository().join("tests/beside_cudarc");
    let place = Place::new(&[]);
    let online = |arguments: &[&str]| {
        let mut command = place.command(&project, arguments);
        command.env("CARGO_NET_OFFLINE", "false").output().unwrap()
    };
    let fetched = online(&["fetch", "--locked"]);
    let is_stale = text(&fetched).contains("cannot update the lock file");
    assert!(
        !is_stale,
        "`cargo fetch` there renews it: {}",
        text(&fetched)
    );
    if !fetched.status.success() {
        println!("skipped: cudarc cannot be fetched\n{}", text(&fetched));
        return;
    }
    let built = online(&["build", "--locked"]);
    assert!(built.status.success(), "{}", text(&built));
    let ran = online(&["run", "--locked"]);
    let said = text(&ran);
    if said.contains("no CUDA GPU can be used") {
        println!("skipped on the GPU: no CUDA GPU can be used\n{said}");
        return;
    }
    assert!(
        ran.status.success() && said.contains("beside cudarc: pass"),
        "{said}"
    );
}
