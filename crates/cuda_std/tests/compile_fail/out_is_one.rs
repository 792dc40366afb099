use cuda_std::prelude::*;

#[kernel]
pub fn copied(mut y: Out<f32>) {
    let mut other = y;
    let _ = (y.mine(), other.mine());
}

#[kernel]
pub fn cloned(y: Out<f32>) {
    let _ = y.clone().mine();
}

#[kernel]
pub fn twice(mut y: Out<f32>) {
    let (a, b) = (y.mine(), y.mine());
    let _ = a.zip(b);
}

#[kernel]
pub fn outlived(mut y: Out<f32>) {
    let first = y.mine().next();
    drop(y);
    let _ = first;
}

fn sent(_: impl Send) {}
fn shared(_: &impl Sync) {}

#[kernel]
pub fn to_others(y: Out<f32>) {
    shared(&y);
    sent(y);
}

fn made(launch: &(), memory: *mut f32) -> Out<'_, f32> {
    Out::new(launch, memory, 4)
}

fn main() {}
