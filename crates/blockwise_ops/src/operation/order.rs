//! Minima and maxima by one kernel.

use blockwise::Type;
use kernels::reduce::Order;

/// How a kernel of extremes compares elements of a type. Unsigned integers, and `bool`, go to the
/// kernels of signed ones.
pub(crate) const fn order(ty: Type, is_greatest: bool) -> Order {
    match (is_greatest, ty.is_float(), ty.is_signed()) {
        (false, true, _) | (false, _, true) => Order::Least,
        (true, true, _) => Order::GreatestFloat,
        (true, _, true) => Order::Greatest,
        (false, ..) => Order::LeastUnsigned,
        (true, ..) => Order::GreatestUnsigned,
    }
}
