//! The texels of a fetch and their weights: chapter "Texture Fetching" of the CUDA C++ Programming
//! Guide.

use crate::texture::{AddressMode, Filter, Image, Shape, Texture};

/// Steps of the weights of a linear filter from one texel to the next.
const STEPS: u32 = 256;
/// Steps of a normalized coordinate from 0 to 1: an H200 drops the bits below.
const NORMALIZED_STEPS: f64 = (1_u64 << 21) as f64;
/// Further away than any texel.
const FAR: f64 = 1e12;

/// Texels and their weights, which add up to 1; those outside of an image with a border have no
/// address.
pub(super) type Taps = Vec<(Option<u64>, f64)>;

/// The coordinates of a fetch.
pub(super) struct Aim {
    pub(super) at: [f64; 3],
    /// Coordinates are texel indices.
    pub(super) integers: bool,
    pub(super) layer: i32,
    /// `tld4`: the four texels of a linear filter, separately.
    pub(super) gathers: bool,
}

/// The texels along one axis: one, or two with the weight of the second.
struct Axis {
    first: Option<u32>,
    /// Its weight is in steps.
    second: Option<(Option<u32>, u32)>,
}

impl Axis {
    const ONLY: Self = Self {
        first: Some(0),
        second: None,
    };

    /// The texels, and whether each is the second.
    fn places(&self) -> impl Iterator<Item = (Option<u32>, bool)> + Clone {
        let second = self.second.map(|(place, _)| (place, true));
        [(self.first, false)].into_iter().chain(second)
    }

    fn weight(&self) -> u32 {
        self.second.map_or(0, |(_, weight)| weight)
    }
}

/// The weights of the eight texels around a point as `[z][y][x]`, 1 for the second, in steps.
///
/// In two dimensions these are an H200's: the product for the texel that is second along both axes
/// is rounded to whole steps, half a step up, and its neighbours have the rest. In three dimensions
/// an H200 rounds in another order, which differs by a step or two.
fn weights([x, y, z]: [u32; 3]) -> [[[u32; 2]; 2]; 2] {
    let split = |weight: u32, by: u32, is_second: bool| {
        let half = STEPS / 2 - u32::from(!is_second);
        let second = (weight * by + half) / STEPS;
        [weight - second, second]
    };
    let mut weights = [[[0; 2]; 2]; 2];
    for (right, of_x) in split(STEPS, x, true).into_iter().enumerate() {
        for (back, of_z) in split(of_x, z, right == 1).into_iter().enumerate() {
            let is_second = right == 1 && (back == 1 || z == 0);
            let [up, down] = split(of_z, y, is_second);
            [weights[back][0][right], weights[back][1][right]] = [up, down];
        }
    }
    weights
}

/// The texels of a fetch. A gather returns them counterclockwise from the lower left.
pub(super) fn taps(texture: &Texture, aim: &Aim) -> Taps {
    let image = &texture.image;
    let layer = aim.layer.clamp(0, image.layers as i32 - 1) as u64;
    let (face, at, normalized) = match image.shape {
        Shape::Cube => cube(aim.at),
        _ => (0, aim.at, texture.sampling.normalized),
    };
    let linear = texture.sampling.filter == Filter::Linear || aim.gathers;
    let axis = |axis: usize| {
        let mode = if image.shape == Shape::Cube {
            // A texel past a face belongs to another face; here, the edge of this face is used.
            AddressMode::Clamp
        } else if aim.integers {
            // Zeros outside, whatever the address mode says (seen on an H200).
            AddressMode::Border
        } else {
            texture.sampling.address[axis]
        };
        let extent = image.extents[axis];
        let at = if normalized && !aim.integers {
            scaled(at[axis], extent, mode)
        } else {
            at[axis].clamp(-FAR, FAR)
        };
        if linear && !aim.integers {
            around(at, extent, mode)
        } else {
            Axis {
                first: place(at.floor() as i64, extent, mode),
                second: None,
            }
        }
    };
    let dimensions = match image.shape {
        Shape::One => 1,
        Shape::Two | Shape::Cube => 2,
        Shape::Three => 3,
    };
    let [x, y, z] = std::array::from_fn(|at| {
        if at < dimensions {
            axis(at)
        } else if at == 1 && linear && !aim.integers {
            // A line is filtered as a sheet of one row, at its edge: a border along y halves it.
            around(0.0, 1, texture.sampling.address[1])
        } else {
            Axis::ONLY
        }
    });
    let layer = layer * image.faces() + face;
    let mut taps = Vec::new();
    let weights = weights([x.weight(), y.weight(), z.weight()]);
    for (z, back) in z.places() {
        for (y, down) in y.places() {
            for (x, right) in x.places() {
                let weight = weights[usize::from(back)][usize::from(down)][usize::from(right)];
                if weight != 0 || aim.gathers {
                    let weight = f64::from(weight) / f64::from(STEPS);
                    taps.push((address(image, [x, y, z], layer), weight));
                }
            }
        }
    }
    if aim.gathers {
        taps.swap(0, 2);
        taps.swap(1, 3);
        taps.swap(2, 3);
    }
    taps
}

fn address(image: &Image, at: [Option<u32>; 3], layer: u64) -> Option<u64> {
    let [x, y, z] = at;
    Some(image.texel([x?, y?, z?], layer))
}

/// The two texels whose centres enclose a coordinate.
fn around(at: f64, extent: u32, mode: AddressMode) -> Axis {
    let fixed = ((at - 0.5) * f64::from(STEPS) + 0.5).floor() as i64;
    let (first, weight) = (
        fixed.div_euclid(STEPS.into()),
        fixed.rem_euclid(STEPS.into()),
    );
    Axis {
        first: place(first, extent, mode),
        second: Some((place(first + 1, extent, mode), weight as u32)),
    }
}

/// A normalized coordinate in texels.
fn scaled(at: f64, extent: u32, mode: AddressMode) -> f64 {
    let at = match mode {
        // An infinity has no remainder: it wraps to 0.
        AddressMode::Wrap | AddressMode::Mirror if at.is_infinite() => 0.0,
        AddressMode::Wrap | AddressMode::Mirror => at.rem_euclid(2.0),
        AddressMode::Clamp | AddressMode::Border => at.clamp(-FAR, FAR),
    };
    (at * NORMALIZED_STEPS).floor() * f64::from(extent) / NORMALIZED_STEPS
}

/// The texel for an index, which may be outside.
fn place(index: i64, extent: u32, mode: AddressMode) -> Option<u32> {
    let extent = i64::from(extent);
    let index = match mode {
        AddressMode::Border => index,
        AddressMode::Clamp => index.clamp(0, extent - 1),
        AddressMode::Wrap => index.rem_euclid(extent),
        AddressMode::Mirror => {
            let index = index.rem_euclid(2 * extent);
            index.min(2 * extent - 1 - index)
        }
    };
    (0..extent).contains(&index).then_some(index as u32)
}

/// The face that a direction intersects, and the position on it from 0 to 1.
fn cube([x, y, z]: [f64; 3]) -> (u64, [f64; 3], bool) {
    let (face, major, s, t) = if x.abs() >= y.abs() && x.abs() >= z.abs() {
        if x >= 0.0 {
            (0, x, -z, -y)
        } else {
            (1, -x, z, -y)
        }
    } else if y.abs() >= z.abs() {
        if y >= 0.0 {
            (2, y, x, z)
        } else {
            (3, -y, x, -z)
        }
    } else if z >= 0.0 {
        (4, z, x, -y)
    } else {
        (5, -z, -x, -y)
    };
    (
        face,
        [(s / major + 1.0) / 2.0, (t / major + 1.0) / 2.0, 0.0],
        true,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_outside_follow_the_mode() {
        let along = |mode| (-5..6).map(move |index| place(index, 3, mode));
        let numbers = |mode| {
            along(mode)
                .map(|at| at.map_or(9, |at| at))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            numbers(AddressMode::Wrap),
            [1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]
        );
        assert_eq!(
            numbers(AddressMode::Mirror),
            [1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0]
        );
        assert_eq!(
            numbers(AddressMode::Clamp),
            [0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2]
        );
        assert_eq!(
            numbers(AddressMode::Border),
            [9, 9, 9, 9, 9, 0, 1, 2, 9, 9, 9]
        );
    }

    #[test]
    fn weights_have_eight_bits() {
        let of = |at| {
            let axis = around(at, 8, AddressMode::Clamp);
            (axis.first, axis.second)
        };
        assert_eq!(of(2.5), (Some(2), Some((Some(3), 0))));
        assert_eq!(of(3.0), (Some(2), Some((Some(3), 128))));
        assert_eq!(of(2.5 + 0.3), (Some(2), Some((Some(3), 77))));
        assert_eq!(of(-7.0), (Some(0), Some((Some(0), 128))));
    }

    #[test]
    fn weights_add_up_and_are_what_an_h200_takes() {
        // 62 × 192 / 256 is 46.5: up for the texel below right, so down for its neighbours.
        assert_eq!(weights([62, 192, 0])[0], [[49, 15], [145, 47]]);
        let steps = || (0..256).step_by(3);
        for (x, y, z) in
            steps().flat_map(|x| steps().flat_map(move |y| steps().map(move |z| (x, y, z))))
        {
            let sum: u32 = weights([x, y, z]).iter().flatten().flatten().sum();
            assert_eq!(sum, 256, "{x} {y} {z}");
        }
    }

    #[test]
    fn normalized_coordinates_lose_their_last_bits() {
        let third = f64::from(1.0_f32 / 3.0);
        assert!(scaled(third, 3, AddressMode::Clamp) < 1.0);
        assert_eq!(scaled(0.25, 12, AddressMode::Clamp), 3.0);
        assert_eq!(scaled(f64::INFINITY, 12, AddressMode::Wrap), 0.0);
        assert_eq!(scaled(-0.25, 12, AddressMode::Wrap), 21.0);
    }

    #[test]
    fn directions_meet_faces() {
        assert_eq!(cube([2.0, 1.0, 0.0]), (0, [0.5, 0.25, 0.0], true));
        assert_eq!(cube([-2.0, 0.0, 1.0]), (1, [0.75, 0.5, 0.0], true));
        assert_eq!(cube([0.0, -4.0, 2.0]), (3, [0.5, 0.25, 0.0], true));
        assert_eq!(cube([1.0, 0.0, -2.0]), (5, [0.25, 0.5, 0.0], true));
    }
}
