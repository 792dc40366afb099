//! How GPUs reach each other.

use cust::device::Device;
use cust_raw::{CUdevice_P2PAttribute, CUresult};

use crate::PeerAccess;

/// How one GPU reaches another one's memory. `None` when the driver does not say.
pub(crate) fn peer(from: usize, to: usize) -> Option<PeerAccess> {
    use CUdevice_P2PAttribute::*;
    cust::init(cust::CudaFlags::empty()).ok()?;
    let [from, to] = [from, to].map(|ordinal| {
        let ordinal = u32::try_from(ordinal).ok()?;
        Device::get_device(ordinal).ok()
    });
    let (from, to) = (from?.as_raw(), to?.as_raw());
    let number = |attribute| {
        let mut value = 0;
        // SAFETY: `value` is a valid place for the answer, and both devices came from the driver.
        let result = unsafe { cust_raw::cuDeviceGetP2PAttribute(&mut value, attribute, from, to) };
        (result == CUresult::CUDA_SUCCESS).then_some(value)
    };
    Some(PeerAccess {
        direct: number(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED)? != 0,
        atomics: number(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED)? != 0,
        performance_rank: number(CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK)?.unsigned_abs(),
    })
}
