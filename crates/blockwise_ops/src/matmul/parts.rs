//! Parts of a product that are launched one by one, with the bits of the whole product.
//!
//! An element's bits follow from the order of its sum, and that from four things: the family of the
//! kernel, the slices of the inner extent and which rows have them, how threads divide it in
//! [`FEW`], and the inner extent, which a part shares. [`SumOrder`] is what the whole's own plan has
//! of them. A part's plan is made from it, and chooses what is left: tiles, copies of operands, the
//! grid.

use std::num::NonZeroU32;

use blockwise::DeviceProperties;
use kernels::matmul::policy::Tiles;
use kernels::matmul::slices::Cut;

use super::few::Division;
use super::{
    FEW, MATMUL, MMA, PIPELINED, SLICED, SLICED_COPY, choice, extents, mma, plan, vectors,
};
use crate::LaunchError;
use crate::operation::{self, Options, Problem, Task, Variant};

/// Waves of the largest tiles after which it counts little that the last one is not full.
const MANY_WAVES: usize = 8;

/// The order in which the sums of a product run.
///
/// It is that of operands that begin at multiples of 16 bytes, as whole buffers do.
///
/// Two products of one order, one inner extent and one device's kind have the same bits where they
/// have the same elements. With [`TENSOR`](super::TENSOR) that holds if the elements of every part
/// fit the tensor cores, or those of none: each part decides by its own.
#[derive(Clone, Copy, Debug)]
pub struct SumOrder {
    whole: Problem,
    options: Options,
    variant: &'static Variant,
    slices: usize,
    /// The first rows in one slice.
    in_one: usize,
    division: Option<Division>,
}

/// What else runs on the device at the same time as a part.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// Nothing.
    Alone,
    /// The other parts of this product: alone, the part would have smaller tiles, to fill
    /// multiprocessors that the next part fills anyway.
    Among(Problem),
    /// The last blocks of the other parts of this product. Of a large one, these leave
    /// multiprocessors idle for most of a block's time, which smaller blocks use best.
    AtTheEnd(Problem),
}

impl SumOrder {
    /// That of a product, launched alone with these options on a device with these properties.
    ///
    /// # Errors
    /// A kernel of another operation.
    pub fn of(
        whole: &Problem,
        options: &Options,
        device: &DeviceProperties,
    ) -> Result<Self, LaunchError> {
        let variant = operation::choose(&MATMUL, whole, options, device)?.variant;
        let task = Task::new(variant, whole, options, device);
        let slices = match plan::has_slices(variant) {
            true => choice::slicing(&task).slices,
            false => 1,
        };
        Ok(Self {
            whole: *whole,
            options: *options,
            variant,
            slices,
            in_one: match *variant == MMA {
                true => mma::whole(&task, slices),
                false => 0,
            },
            division: (*variant == FEW).then(|| Division::of(&task)),
        })
    }

    /// How to launch a part of the product, of some of its rows, from row `first` on, and of some of
    /// its columns.
    pub fn part(
        &self,
        part: &Problem,
        first: usize,
        place: Place,
        device: &DeviceProperties,
    ) -> Options {
        let Self {
            options, variant, ..
        } = *self;
        if *part == self.whole {
            return options;
        }
        let launch = |kernel| Options {
            kernel: Some(kernel),
            ..options
        };
        let in_slices = |kernel| Options {
            count: NonZeroU32::new(self.slices as u32),
            ..launch(kernel)
        };
        if let Some(division) = self.division {
            let instance = division.instance();
            return Options {
                instance,
                ..in_slices(&FEW)
            };
        }
        if *variant == MMA && self.slices > 1 {
            let in_one = self.in_one.saturating_sub(first);
            let slices = match in_one >= part.extents[0] {
                true => 1,
                false => self.slices as u32,
            };
            return Options {
                count: NonZeroU32::new(slices),
                whole: (slices > 1).then_some(in_one),
                ..launch(&MMA)
            };
        }
        // One family: their tiles and copies change no sum.
        let family = [&PIPELINED, &SLICED, &SLICED_COPY];
        if options.kernel.is_some() || !family.contains(&variant) {
            return match plan::has_slices(variant) {
                true => in_slices(variant),
                false => launch(variant),
            };
        }
        let (beside, is_alone) = match &place {
            Place::Among(all) if all != part => (all, false),
            _ => (part, true),
        };
        if self.slices == 1 {
            if let Place::Among(all) | Place::AtTheEnd(all) = &place
                && all != part
                && choice::wide_waves(extents(all), device) >= MANY_WAVES
            {
                let cut = at_the_end(part, device).filter(|_| matches!(place, Place::AtTheEnd(_)));
                return match cut {
                    None => Options {
                        instance: Some(Tiles::Wide as u8),
                        ..launch(&PIPELINED)
                    },
                    Some(cut) => Options {
                        instance: Some(cut as u8),
                        ..in_slices(&SLICED)
                    },
                };
            }
            let (task, two) = (
                Task::new(variant, beside, &options, device),
                [&PIPELINED, &SLICED],
            );
            if choice::fastest_in(&two, &task, 1) == Some(&PIPELINED) {
                let tiles = plan::tiles(None, extents(beside), 1, true, device);
                return Options {
                    instance: Some(tiles as u8),
                    ..launch(&PIPELINED)
                };
            }
        }
        let copies = is_alone && *variant == SLICED_COPY && vectors::need_copies(part);
        let kernel = if copies { &SLICED_COPY } else { &SLICED };
        let sliced = in_slices(kernel);
        let cut = choice::slicing(&Task::new(kernel, beside, &sliced, device)).cut;
        Options {
            instance: Some(cut as u8),
            ..sliced
        }
    }
}

/// The tiles of a panel that fills what a last wave of the largest tiles leaves idle. 16384³ on two
/// H200: 83.2 ms with the smallest, 83.8 with 64 × 64, 84.4 with the largest; 32768³, where the
/// panel is twice as many tiles: 653.3 with 64 × 64, 655.1 with the largest. `None` for a panel
/// that is a wave of its own.
fn at_the_end(part: &Problem, device: &DeviceProperties) -> Option<Cut> {
    let [rows, _, cols] = extents(part);
    let wide = Tiles::Wide.policy().tiles(rows, cols);
    match device.multiprocessors_to_fill() as usize {
        at_once if 2 * wide <= at_once => Some(Cut::Small),
        at_once if wide < at_once => Some(Cut::Square),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
