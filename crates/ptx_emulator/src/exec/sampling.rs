//! The texels of a fetch and their weights: chapter "Texture Fetching" of the CUDA C++ Programming
//! Guide.

use crate::texture::{AddressMode, Filter, Image, Shape, Texture};

/// Resolution of linear-filter weights between two texels.
const STEPS: f64 = 256.0;
/// Farther away than any texel.
const FAR: f64 = 1e12;

/// Texels and their weights; texels outside of an image with a border have no address.
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
    second: Option<(Option<u32>, f64)>,
}

impl Axis {
    const ONLY: Self = Self {
        first: Some(0),
        second: None,
    };

    fn places(&self) -> impl Iterator<Item = (Option<u32>, f64)> + Clone {
        let weight = self.second.map_or(0.0, |(_, weight)| weight);
        [(self.first, 1.0 - weight)].into_iter().chain(self.second)
    }
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
        let mode = match (image.shape, aim.integers) {
            // Beyond an edge is another face; here the edge texel is used.
            (Shape::Cube, _) => AddressMode::Clamp,
            // `tex1Dfetch` gives zeros there.
            (Shape::One, true) => AddressMode::Border,
            _ => texture.sampling.address[axis],
        };
        let extent = image.extents[axis];
        let scale = if normalized && !aim.integers {
            f64::from(extent)
        } else {
            1.0
        };
        let at = (at[axis] * scale).clamp(-FAR, FAR);
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
        } else {
            Axis::ONLY
        }
    });
    let layer = layer * image.faces() + face;
    let mut taps = Vec::new();
    for (z, of_z) in z.places() {
        for (y, of_y) in y.places() {
            for (x, of_x) in x.places() {
                let weight = of_x * of_y * of_z;
                if weight != 0.0 || aim.gathers {
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
    let fixed = ((at - 0.5) * STEPS).round();
    let first = (fixed / STEPS).floor();
    let weight = fixed / STEPS - first;
    Axis {
        first: place(first as i64, extent, mode),
        second: Some((place(first as i64 + 1, extent, mode), weight)),
    }
}

/// The texel of an index that may be outside the image.
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
        assert_eq!(of(2.5), (Some(2), Some((Some(3), 0.0))));
        assert_eq!(of(3.0), (Some(2), Some((Some(3), 0.5))));
        assert_eq!(of(2.5 + 0.3), (Some(2), Some((Some(3), 77.0 / 256.0))));
        assert_eq!(of(-7.0), (Some(0), Some((Some(0), 0.5))));
    }

    #[test]
    fn directions_meet_faces() {
        assert_eq!(cube([2.0, 1.0, 0.0]), (0, [0.5, 0.25, 0.0], true));
        assert_eq!(cube([-2.0, 0.0, 1.0]), (1, [0.75, 0.5, 0.0], true));
        assert_eq!(cube([0.0, -4.0, 2.0]), (3, [0.5, 0.25, 0.0], true));
        assert_eq!(cube([1.0, 0.0, -2.0]), (5, [0.25, 0.5, 0.0], true));
    }
}
