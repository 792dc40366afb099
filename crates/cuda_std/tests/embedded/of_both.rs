//! What the host's compiler finds is all that is shown.

cuda_std::embedded_kernels!();

fn moved(text: &String) -> String {
    *text
}

fn main() {
    moved(&String::new());
}
