//! The field of the fingerprints: 4 coordinates modulo 2³¹ − 1.
//!
//! A point is given by four numbers a₀ … a₃ for which f(X) = (X − a₀)(X − a₁)(X − a₂)(X − a₃) − 1 is
//! irreducible modulo p = 2³¹ − 1. The field is that of the polynomials modulo f, and the point r is
//! X. Coordinates belong to the basis
//!
//! e₃ = 1, e₂ = r − a₃, e₁ = (r − a₂)e₂, e₀ = (r − a₁)e₁.
//!
//! There, (r − aᵢ)eᵢ is the element before eᵢ, and (r − a₀)e₀ = f(r) + 1 = e₃. So multiplication by
//! r + x takes one product per coordinate: coordinate i becomes (aᵢ + x)·i + the next one.

use std::array::from_fn;

/// Coordinates of an element.
pub(super) const DEGREE: usize = 4;
/// The prime modulus.
pub(super) const P: u32 = (1 << 31) - 1;
/// The aᵢ are below.
pub(super) const CHOICE: u32 = 1 << 26;
/// Numbers that are told apart.
pub(super) const WINDOW: u32 = 1 << 28;

/// An element by its coordinates, each below [`P`].
pub(super) type Element = [u32; DEGREE];

/// The element 1.
pub(super) const ONE: Element = [0, 0, 0, 1];

/// A field and its point. Whoever knows the point can make numbers that pass for a permutation, so
/// it is random, neither printed nor copied, and given to the device only.
pub(super) struct Point(pub(super) [u32; DEGREE]);

impl Point {
    /// Draws a point from random numbers of 32 bits each.
    pub(super) fn draw<E>(mut random: impl FnMut() -> Result<[u32; DEGREE], E>) -> Result<Self, E> {
        loop {
            let point = Self(random()?.map(|number| number % CHOICE));
            if point.is_in_a_field() {
                return Ok(point);
            }
        }
    }

    /// Whether f is irreducible. A quarter of all are.
    fn is_in_a_field(&self) -> bool {
        let r = self.plus_times(0, ONE);
        // r to the power of p².
        let twice = |r| self.power(self.power(r, u64::from(P)), u64::from(P));
        let power = twice(r);
        // If r to the power of p⁴ is r, f is a product of different factors of degrees 1, 2 and 4.
        // Without one of degree 4, the power of p² is r, too.
        power != r && twice(power) == r
    }

    /// (r + x)·element, for x up to p
    pub(super) fn plus_times(&self, x: u32, element: Element) -> Element {
        from_fn(|i| {
            let factor = self.0[i] + x;
            let next = element[(i + 1) % DEGREE];
            reduced(u64::from(factor) * u64::from(element[i]) + u64::from(next))
        })
    }

    /// The product of two elements.
    pub(super) fn product(&self, left: Element, right: Element) -> Element {
        let scaled = |by: u32| right.map(|of| reduced(u64::from(by) * u64::from(of)));
        // Horner's rule in the basis above.
        let mut product = scaled(left[0]);
        for (&a, &by) in self.0.iter().zip(&left).skip(1) {
            let (sum, term) = (self.plus_times(P - a, product), scaled(by));
            product = from_fn(|i| reduced(u64::from(sum[i]) + u64::from(term[i])));
        }
        product
    }

    pub(super) fn power(&self, mut base: Element, mut exponent: u64) -> Element {
        let mut power = ONE;
        while exponent > 0 {
            if exponent % 2 == 1 {
                power = self.product(power, base);
            }
            base = self.product(base, base);
            exponent /= 2;
        }
        power
    }
}

/// A number modulo p.
pub(super) fn reduced(number: u64) -> u32 {
    (number % u64::from(P)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Polynomials modulo p, the constant first.
    type Polynomial = Vec<u32>;

    fn times(a: &[u32], b: &[u32]) -> Polynomial {
        let mut product = vec![0; a.len() + b.len() - 1];
        for (i, &x) in a.iter().enumerate() {
            for (j, &y) in b.iter().enumerate() {
                let sum = u128::from(x) * u128::from(y) + u128::from(product[i + j]);
                product[i + j] = (sum % u128::from(P)) as u32;
            }
        }
        product
    }

    fn sum(a: &[u32], b: &[u32]) -> Polynomial {
        let at = |of: &[u32], i: usize| u64::from(of.get(i).copied().unwrap_or(0));
        let len = a.len().max(b.len());
        Vec::from_iter((0..len).map(|i| reduced(at(a, i) + at(b, i))))
    }

    fn scaled(a: &[u32], by: u32) -> Polynomial {
        times(a, &[by])
    }

    fn without_zeros(mut a: Polynomial) -> Polynomial {
        while a.last() == Some(&0) {
            a.pop();
        }
        a
    }

    fn inverse(a: u32) -> u32 {
        let (mut power, mut base, mut exponent) = (1, u64::from(a), P - 2);
        while exponent > 0 {
            if exponent % 2 == 1 {
                power = power * base % u64::from(P);
            }
            base = base * base % u64::from(P);
            exponent /= 2;
        }
        power as u32
    }

    fn rest(a: &[u32], by: &[u32]) -> Polynomial {
        let mut a = without_zeros(a.to_vec());
        let unit = inverse(by[by.len() - 1]);
        while a.len() >= by.len() {
            let top = reduced(u64::from(a[a.len() - 1]) * u64::from(unit));
            let mut shifted = vec![0; a.len() - by.len()];
            shifted.extend(scaled(by, reduced(u64::from(P - top))));
            a = without_zeros(sum(&a, &shifted));
        }
        a
    }

    fn common_divisor(a: Polynomial, b: Polynomial) -> Polynomial {
        let (mut a, mut b) = (without_zeros(a), without_zeros(b));
        while !b.is_empty() {
            (a, b) = (b.clone(), rest(&a, &b));
        }
        a
    }

    /// X + a
    fn linear(a: u32) -> Polynomial {
        vec![reduced(a.into()), 1]
    }

    fn modulus(point: &Point) -> Polynomial {
        let product = point
            .0
            .iter()
            .fold(vec![1], |f, &a| times(&f, &linear(P - a)));
        sum(&product, &[P - 1])
    }

    fn polynomial(point: &Point, element: Element) -> Polynomial {
        let (mut basis, mut all) = (vec![1], Vec::new());
        for i in (0..DEGREE).rev() {
            all = sum(&all, &scaled(&basis, element[i]));
            basis = times(&basis, &linear(P - point.0[i]));
        }
        without_zeros(all)
    }

    fn random(state: &mut u64) -> u32 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*state >> 32) as u32
    }

    #[test]
    fn products_are_those_of_polynomials_modulo_f() {
        let state = &mut 1;
        let edges = [0, 1, 2, P - 2, P - 1, 1 << 28];
        for round in 0..300 {
            let point = Point(from_fn(|_| match round % 3 {
                0 => [0, CHOICE - 1][random(state) as usize % 2],
                _ => random(state) % CHOICE,
            }));
            let mut element = || {
                from_fn(|_| match random(state) % 2 {
                    0 => edges[random(state) as usize % edges.len()],
                    _ => random(state) % P,
                })
            };
            let (a, b): (Element, Element) = (element(), element());
            let f = modulus(&point);
            let expected = rest(&times(&polynomial(&point, a), &polynomial(&point, b)), &f);
            assert_eq!(polynomial(&point, point.product(a, b)), expected);
            for x in edges {
                let expected = rest(&times(&linear(x), &polynomial(&point, a)), &f);
                assert_eq!(polynomial(&point, point.plus_times(x, a)), expected);
            }
        }
    }

    /// f of degree 4 is reducible only if it has a factor of degree 1 or 2.
    #[test]
    fn points_are_in_fields_and_a_quarter_of_all_are() {
        let state = &mut 2;
        let mut fields = 0;
        for round in 0..2_000 {
            let point = Point(from_fn(|_| random(state) % CHOICE));
            let is_in_a_field = point.is_in_a_field();
            fields += u32::from(is_in_a_field);
            if round < 200 {
                let f = modulus(&point);
                let r = point.plus_times(0, ONE);
                let mut power = r;
                let is_irreducible = (1..=2).all(|_| {
                    power = point.power(power, u64::from(P));
                    let difference = sum(&polynomial(&point, power), &[0, P - 1]);
                    common_divisor(f.clone(), difference).len() == 1
                });
                assert_eq!(is_in_a_field, is_irreducible, "{round}");
            }
        }
        assert!((430..570).contains(&fields), "{fields} of 2000");
    }

    #[test]
    fn a_point_is_drawn_from_all_its_numbers() {
        let mut drawn = 0;
        let point = Point::draw(|| {
            drawn += 1;
            Ok::<_, ()>([drawn, u32::MAX, 7 * drawn, CHOICE - 1])
        });
        let point = point.unwrap_or(Point(ONE));
        assert!(point.is_in_a_field());
        let of_last = [drawn, u32::MAX, 7 * drawn, CHOICE - 1];
        assert_eq!(point.0, of_last.map(|number| number % CHOICE));
        assert!(Point::draw(|| Err::<Element, _>("no generator")).is_err());
    }
}
