//! Trait objects: calls through a table.

use cuda_std::prelude::*;

trait Shape {
    fn area(&self) -> f32;
    fn scaled(&self, by: f32) -> f32 {
        self.area() * by * by
    }
}

struct Square(f32);
struct Ring {
    outer: f32,
    inner: f32,
}

impl Shape for Square {
    fn area(&self) -> f32 {
        self.0 * self.0
    }
}

impl Shape for Ring {
    fn area(&self) -> f32 {
        3.0 * (self.outer * self.outer - self.inner * self.inner)
    }
    fn scaled(&self, by: f32) -> f32 {
        -self.area() * by
    }
}

/// Thread t scales the area of shape t mod 3 by 2; `Ring` has a way of its own.
#[kernel]
pub unsafe fn shapes(out: *mut f32) {
    let t = thread::index_1d();
    let (small, large) = (Square(1.5), Square(t as f32));
    let ring = Ring {
        outer: t as f32,
        inner: 1.0,
    };
    let all: [&dyn Shape; 3] = [&small, &large, &ring];
    let shape = core::hint::black_box(all)[(t % 3) as usize];
    *out.add(t as usize) = shape.scaled(2.0);
}
