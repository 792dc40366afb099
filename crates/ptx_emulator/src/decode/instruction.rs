use super::builder::Builder;
use super::form::Form;
use super::{
    atomic, bits, cluster, compare, control, convert, copy, float, function, hint, integer, matrix,
    mbarrier, memory, mov, remote, scalar_video, stack, surface, tensor_map, texture,
    vector_atomic, video, warp, wgmma,
};
use crate::error::ParseError;
use crate::parse::Family;

/// Decodes one instruction.
pub(super) fn decode<'a>(b: &mut Builder<'a, '_>, form: Form<'_, 'a>) -> Result<(), ParseError> {
    match Family::of(form.base).ok_or_else(|| form.unsupported())? {
        Family::Arithmetic => match form.base {
            "add" | "min" | "max" if video::is_packed(&form) => video::packed(b, form),
            _ if float::is_float(&form) => float::arithmetic(b, form),
            _ => integer::arithmetic(b, form),
        },
        Family::Fused if float::is_float(&form) => float::arithmetic(b, form),
        Family::Fused => Err(form.unsupported()),
        Family::Integer => integer::arithmetic(b, form),
        Family::Function => function::decode(b, form),
        Family::Bits => bits::decode(b, form),
        Family::Compare => compare::decode(b, form),
        Family::Convert => convert::decode(b, form),
        Family::Cluster => cluster::decode(b, form),
        Family::Move => mov::mov(b, form),
        Family::Load => memory::load(b, form),
        Family::Store if remote::is_async(&form) => remote::store(b, form),
        Family::Store => memory::store(b, form),
        Family::Hint => hint::decode(b, form),
        Family::Video => video::decode(b, form),
        Family::ScalarVideo => scalar_video::decode(b, form),
        Family::Mbarrier => mbarrier::decode(b, form),
        Family::Reduce if remote::is_async(&form) => remote::reduce(b, form),
        Family::Atomic | Family::Reduce if vector_atomic::is_vector(&form) => {
            vector_atomic::decode(b, form)
        }
        Family::Atomic | Family::Reduce => atomic::decode(b, form),
        Family::Fence => atomic::fence(b, form),
        Family::Copy => copy::decode(b, form),
        Family::Control => control::decode(b, form),
        Family::Barrier => warp::barrier(b, form),
        Family::Exchange => warp::exchange(b, form),
        Family::Texture => texture::fetch(b, form),
        Family::Query => texture::query(b, form),
        Family::IsType => texture::is_type(b, form),
        Family::Surface => surface::decode(b, form),
        Family::Stack => stack::decode(b, form),
        Family::TensorMap => tensor_map::decode(b, form),
        Family::Wgmma => wgmma::decode(b, form),
        Family::Matrix => matrix::decode(b, form),
    }
}
