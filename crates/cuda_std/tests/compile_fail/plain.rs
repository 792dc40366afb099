use cuda_std::Plain;

#[derive(Clone, Copy, Plain)]
#[repr(C)]
struct Padded {
    small: u8,
    large: u64,
}

#[derive(Clone, Copy, Plain)]
#[repr(C)]
struct Pointer {
    to: *const f32,
}

#[derive(Clone, Copy, Plain)]
struct Reordered {
    x: f32,
}

#[derive(Clone, Copy, Plain)]
#[repr(C, packed)]
struct Packed {
    x: f32,
}

#[derive(Clone, Copy, Plain)]
#[repr(C)]
struct Generic<T>(T);

#[derive(Clone, Copy, Plain)]
#[repr(C)]
struct Empty;

#[derive(Clone, Copy, Plain)]
#[repr(u32)]
enum Kind {
    One = 1,
}

#[derive(Clone, Copy, Plain)]
#[repr(C)]
union Either {
    x: f32,
    y: u32,
}

#[derive(Plain)]
#[repr(C)]
struct NotCopy {
    x: f32,
}

fn main() {}
