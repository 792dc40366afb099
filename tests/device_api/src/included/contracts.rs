/// Of another file.
#[kernel(require(y.len() > N))]
pub fn rule_included(mut y: Out<u32>) {
    for (_, y) in y.mine() {
        *y = 1;
    }
}
