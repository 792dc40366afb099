//! A program on cudarc that launches a kernel of ours (`tests/beside_cudarc`): it links, and on a GPU
//! both libraries' results are right.

use crate::place::{Place, text};
use crate::{repository, whole_sweeps};

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
        println!("skipped: {said}");
        return;
    }
    assert!(
        ran.status.success() && said.contains("beside cudarc: pass"),
        "{said}"
    );
}
