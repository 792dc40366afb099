//! Kernels beside items of the names that generated code could bind: in a pattern such a name means
//! the item.

#![allow(non_camel_case_types, non_upper_case_globals, dead_code)]

macro_rules! beside {
    ($module:ident, $item:ident, $mine:ident, $tiled:ident, $of_many:ident) => {
        /// These kernels, beside items of one kind.
        pub mod $module {
            use cuda_std::prelude::*;

            $item! {
                launch, on, shape, refused, holds, rule, dynamic, bytes, size, grid, block, shared_bytes, stream,
                threads, target, prepared, instance, f, parameter, parameter_0, field_0, kernel, kernel_body,
                kernel_bounds, kernel_parameter, parameters_are_copy, entry, function, x_pointer, x_length,
                y_pointer, y_length, m_pointer, m_rows, m_cols, tile_length, tile_memory, fixed_memory,
            }

            /// What a kernel takes apart.
            #[derive(Clone, Copy, Debug, Plain)]
            #[repr(C)]
            pub struct Two(pub u32, pub u32);

            /// Values, memory and rules, one of them the host's.
            #[kernel(require(n > 1, x.len() >= y.len(), (1..9).contains(&n), m.rows() > 0))]
            pub fn $mine(n: u32, Two(one, other): Two, x: &[u32], m: Matrix<u32>, mut y: Out<u32>) {
                for (i, y) in y.mine() {
                    *y = n + 10 * one + 100 * other + x[i] + m.rows() as u32;
                }
            }

            /// Shared arrays, static and dynamic.
            #[kernel(shared(tile = block.threads() + x.len()))]
            pub fn $tiled(
                team: &mut Block<32>,
                fixed: Shared<[u32; 32]>,
                tile: Shared<[u32]>,
                x: &[u32],
                mut y: Out<u32>,
            ) {
                let _ = (fixed, tile);
                for place in team.tiles(y.len()) {
                    y.store(team, place, |at| x[at] + 1);
                }
            }

            /// An instance.
            #[kernel(instances(u32), require(x.len() == y.len()))]
            pub fn $of_many<T: Plain>(x: &[T], mut y: Out<T>) {
                for (i, y) in y.mine() {
                    *y = x[i];
                }
            }
        }
    };
}

/// Constants of the names of generated items, in rules, types and lengths.
pub mod items {
    use cuda_std::prelude::*;

    const KERNEL_PARTS: usize = 1;
    const KERNEL_RECORD: usize = 2;
    const KERNEL_SIZES: usize = 3;
    const KERNEL_ENTRY: usize = 2;
    const KERNEL_PARAMETERS: usize = 2;
    const PLAIN_PARTS: usize = 1;
    const PLAIN_NAME: usize = 2;

    /// A type that generated code has, too.
    #[derive(Clone, Copy, Debug, Plain)]
    #[repr(C)]
    pub struct KernelParameterKind {
        /// One.
        pub one: [u32; PLAIN_PARTS],
        /// Two.
        pub two: [u32; PLAIN_NAME],
    }

    fn kernel_body(n: u32) -> u32 {
        n + 1
    }
    macro_rules! body {
        ($n:expr) => {
            kernel_body($n)
        };
    }

    /// In rules, types and lengths, and a function that only a macro names.
    #[kernel(
        require(
            y.len() > KERNEL_PARTS,
            y.len() > KERNEL_RECORD,
            y.len() > KERNEL_ENTRY,
            y.len() > KERNEL_PARAMETERS
        ),
        shared(tile = block.threads() + KERNEL_SIZES)
    )]
    pub fn beside_items(
        block: &mut Block<{ 32 * KERNEL_PARTS }>,
        tile: Shared<[u32]>,
        kind: KernelParameterKind,
        numbers: [u32; KERNEL_SIZES],
        mut y: Out<u32>,
    ) {
        let sum = kind.one[0] + kind.two[1] + numbers[2] + tile.len() as u32;
        for place in block.tiles(y.len()) {
            y.store(block, place, |_| body!(sum));
        }
    }
}

macro_rules! unit_structs {
    ($($name:ident),* $(,)?) => { $(struct $name;)* };
}
macro_rules! constants {
    ($($name:ident),* $(,)?) => { $(const $name: () = ();)* };
}
macro_rules! statics {
    ($($name:ident),* $(,)?) => { $(static $name: () = ();)* };
}
macro_rules! functions {
    ($($name:ident),* $(,)?) => { $(fn $name() {})* };
}

beside!(
    structs_,
    unit_structs,
    mine_beside_structs,
    tiled_beside_structs,
    many_beside_structs
);
beside!(
    constants_,
    constants,
    mine_beside_constants,
    tiled_beside_constants,
    many_beside_constants
);
beside!(
    statics_,
    statics,
    mine_beside_statics,
    tiled_beside_statics,
    many_beside_statics
);
beside!(
    functions_,
    functions,
    mine_beside_functions,
    tiled_beside_functions,
    many_beside_functions
);
