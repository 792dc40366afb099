//! How long a build takes: of a kernel whose source has changed, and of one that is finished
//! already.
//!
//! The first build, which compiles `core` too, is not timed. Needs what `cargo xtask doctor` lists.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

use criterion::{Criterion, criterion_group, criterion_main};
use cuda_builder::CudaBuilder;

/// A crate of its own with one kernel, in a temporary folder.
struct Project {
    folder: tempfile::TempDir,
    versions: Cell<u32>,
}

impl Project {
    fn new() -> Self {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let repository = repository.canonicalize().expect("the repository is there");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let manifest = format!(
            "[package]\nname = \"timed\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dependencies]\ncuda_std = {{ package = \"blockwise_std\", path = {:?} }}\n",
            repository.join("crates/cuda_std")
        );
        fs::write(folder.path().join("Cargo.toml"), manifest).expect("it is writable");
        // The repository's lock file: the same versions, nothing to look up.
        fs::copy(
            repository.join("Cargo.lock"),
            folder.path().join("Cargo.lock"),
        )
        .expect("it is writable");
        fs::create_dir(folder.path().join("src")).expect("it is writable");
        let project = Project {
            folder,
            versions: Cell::new(0),
        };
        project.change();
        project.build();
        project
    }

    /// Gives the kernel another source, so that its PTX is another.
    fn change(&self) {
        self.versions.set(self.versions.get() + 1);
        let source = format!(
            "use cuda_std::prelude::*;

            #[kernel]
            pub unsafe fn mirror(input: &[f32], output: *mut f32) {{
                let tile = shared_array![f32; 256];
                let thread = thread::thread_idx_x() as usize;
                unsafe {{
                    tile.add(thread).write(*input.get_unchecked(thread));
                    thread::sync_threads();
                    output.add(thread).write(*tile.add(255 - thread) + {}.0);
                }}
            }}",
            self.versions.get()
        );
        fs::write(self.folder.path().join("src/lib.rs"), source).expect("it is writable");
    }

    fn build(&self) -> PathBuf {
        CudaBuilder::new(self.folder.path())
            .build_args(&["--offline"])
            .build()
            .unwrap_or_else(|error| panic!("{error}"))
    }
}

fn builds(criterion: &mut Criterion) {
    let project = Project::new();
    let mut group = criterion.benchmark_group("cuda_builder");
    group.sample_size(10);
    group.bench_function("one kernel, changed", |bencher| {
        bencher.iter(|| {
            project.change();
            project.build()
        });
    });
    group.bench_function("one kernel, finished", |bencher| {
        bencher.iter(|| project.build());
    });
    group.finish();
}

criterion_group!(benches, builds);
criterion_main!(benches);
