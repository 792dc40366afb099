//! PTX's special registers, and their names.

/// Special registers whose value is constant while a block runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    ThreadIndex(u8),
    BlockSize(u8),
    BlockIndex(u8),
    GridSize(u8),
    Lane,
    Warp,
    WarpCount,
    Multiprocessor,
    MultiprocessorCount,
    Grid,
    LanesEqual,
    LanesLess,
    LanesLessEqual,
    LanesGreater,
    LanesGreaterEqual,
    DynamicShared,
    TotalShared,
    /// The block's rank in its cluster.
    ClusterRank,
    /// Number of blocks in the cluster.
    ClusterRanks,
    /// The block's index in its cluster.
    ClusterBlockIndex(u8),
    ClusterSize(u8),
    ClusterIndex(u8),
    /// The grid's extents in clusters.
    ClusterGridSize(u8),
}

/// The special register of a name.
pub(super) fn special_register(name: &str) -> Option<Special> {
    let axis = |name: &str| match name {
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        _ => None,
    };
    if let Some((register, component)) = name.split_once('.') {
        let axis = axis(component)?;
        return Some(match register {
            "%tid" => Special::ThreadIndex(axis),
            "%ntid" => Special::BlockSize(axis),
            "%ctaid" => Special::BlockIndex(axis),
            "%nctaid" => Special::GridSize(axis),
            "%cluster_ctaid" => Special::ClusterBlockIndex(axis),
            "%cluster_nctaid" => Special::ClusterSize(axis),
            "%clusterid" => Special::ClusterIndex(axis),
            "%nclusterid" => Special::ClusterGridSize(axis),
            _ => return None,
        });
    }
    Some(match name {
        "%laneid" => Special::Lane,
        "%warpid" => Special::Warp,
        "%nwarpid" => Special::WarpCount,
        "%smid" => Special::Multiprocessor,
        "%nsmid" => Special::MultiprocessorCount,
        "%gridid" => Special::Grid,
        "%lanemask_eq" => Special::LanesEqual,
        "%lanemask_lt" => Special::LanesLess,
        "%lanemask_le" => Special::LanesLessEqual,
        "%lanemask_gt" => Special::LanesGreater,
        "%lanemask_ge" => Special::LanesGreaterEqual,
        "%cluster_ctarank" => Special::ClusterRank,
        "%cluster_nctarank" => Special::ClusterRanks,
        "%dynamic_smem_size" => Special::DynamicShared,
        "%total_smem_size" => Special::TotalShared,
        _ => return None,
    })
}

/// Special registers of PTX that the emulator lacks.
pub(super) fn is_foreign_register(name: &str) -> bool {
    let names = [
        "%aggr_smem_size",
        "%current_graph_exec",
        "%is_explicit_cluster",
        "%nctaid",
        "%ctaid",
        "%ntid",
        "%tid",
    ];
    let families = [
        "%cluster",
        "%envreg",
        "%nclusterid",
        "%pm",
        "%reserved_smem",
    ];
    names.contains(&name) || families.iter().any(|family| name.starts_with(family))
}
