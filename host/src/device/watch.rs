/// What an emulated device watches while kernels run. It changes nothing of what they do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Watch {
    /// Nothing: the fastest.
    #[default]
    Nothing,
    /// What each instruction costs.
    Profile,
}
