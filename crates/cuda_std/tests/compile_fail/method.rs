use cuda_std::prelude::*;

struct Filter;

impl Filter {
    #[kernel]
    pub unsafe fn apply(&self, values: *mut f32) {
        let _ = values;
    }
}

fn main() {}
