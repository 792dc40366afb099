//! The operands' files.

use std::ops::Range;

use blockwise::Type;
use blockwise_ops::AnyArray;
use blockwise_ops::operation::{Parts, Posed, Rank as Dimensions};

use crate::cli::failure::Failure;
use crate::cli::operand;
use crate::cli::operation::Arguments;
use crate::io::{Contents, Reader};

/// Opens the operands' files.
pub(super) fn open(arguments: &Arguments) -> Result<Vec<Reader>, Failure> {
    let paths = arguments.inputs.iter();
    paths.map(|path| operand::open(path)).collect()
}

/// Whether signals are rows of a matrix. A matrix beside a recording is refused.
pub(super) fn are_rows(readers: &[Reader]) -> Result<bool, Failure> {
    let rank = |reader: &Reader| match reader.contents() {
        Contents::Array(array) => Some(array.shape().len()),
        Contents::Recording(_) => None,
    };
    let Some(matrix) = readers.iter().find(|reader| rank(reader) == Some(2)) else {
        return Ok(false);
    };
    let Some(sound) = readers.iter().find(|reader| rank(reader).is_none()) else {
        return Ok(true);
    };
    let shape = operand::extents(matrix).0;
    Err(Failure::new(format!(
        "{} has shape {shape:?}, and beside the recording {} a vector or a recording is wanted",
        matrix.path().display(),
        sound.path().display()
    ))
    .hint("filters of one channel each are a .wav with these channels, at the same sample rate"))
}

/// The operands' files, with what is known before their elements are read.
pub(super) struct Inputs {
    pub(super) readers: Vec<Reader>,
    pub(super) shapes: Vec<Vec<usize>>,
    /// The files' types.
    pub(super) types: Vec<Type>,
    /// The type that is computed with.
    pub(super) ty: Type,
}

impl Inputs {
    pub(super) fn new(arguments: &Arguments, opened: Vec<Reader>) -> Result<Self, Failure> {
        let of = arguments.of;
        let (mut readers, mut shapes, mut types) = (Vec::new(), Vec::new(), Vec::new());
        // All samples of a recording are taken together: it has no axis.
        let takes_sound = matches!(of.parts, Parts::Folded(_)) && arguments.given.axis.is_none();
        for (operand, reader) in of.operands.iter().zip(opened) {
            let reader = match operand.rank {
                Dimensions::Matrix | Dimensions::Matrices => reader.into_matrix(),
                Dimensions::Any | Dimensions::Vector | Dimensions::Signal => reader,
            };
            let (shape, computed) = operand::extents(&reader);
            types.push(match reader.contents() {
                Contents::Recording(_) if takes_sound => computed,
                _ => operand::contents(&reader)?.stored(),
            });
            shapes.push(shape);
            readers.push(reader);
        }
        for (at, operand) in of.operands.iter().enumerate().take(shapes.len()) {
            let wanted = match (operand.rank, shapes[at].len()) {
                (Dimensions::Matrix | Dimensions::Matrices, 2)
                | (Dimensions::Matrices, 3)
                | (Dimensions::Vector, 1) => continue,
                (Dimensions::Matrices, _) => "a batch or a matrix",
                (Dimensions::Matrix, _) => "a matrix",
                (Dimensions::Vector, _) => "a vector",
                (Dimensions::Any | Dimensions::Signal, _) => continue,
            };
            let wrong = operand::other_shape(&arguments.inputs[at], &shapes[at], wanted);
            let others = (0..shapes.len()).filter(|&other| other != at);
            return Err(others.fold(wrong, |wrong, other| {
                wrong.more(&operand::beside(&arguments.inputs[other], &shapes[other]))
            }));
        }
        let ty = (of.types)(&types, &arguments.given);
        Ok(Self {
            readers,
            shapes,
            types,
            ty,
        })
    }

    pub(super) fn posed(&self, arguments: &Arguments) -> Result<Posed, Failure> {
        let shapes: Vec<_> = self.shapes.iter().map(Vec::as_slice).collect();
        let posed = (arguments.of.pose)(self.ty, &shapes, &arguments.given);
        posed.map_err(|error| match &arguments.inputs[..] {
            [path] => operand::named(path, error),
            paths => {
                let names: Vec<_> = paths
                    .iter()
                    .map(|path| path.display().to_string())
                    .collect();
                Failure::new(format!("{}: {error}", names.join(" and ")))
            }
        })
    }

    /// Rows and columns of an operand, of a batch the rows of all its matrices.
    pub(super) fn matrix(&self, at: usize) -> [usize; 2] {
        match self.shapes[at][..] {
            [rows, cols] => [rows, cols],
            [batch, rows, cols] => [batch * rows, cols],
            _ => [1, self.shapes[at].iter().product()],
        }
    }

    /// Some rows' elements of a matrix in some columns.
    pub(super) fn block(
        &self,
        at: usize,
        [rows, cols]: [Range<usize>; 2],
    ) -> Result<AnyArray, Failure> {
        let [_, pitch] = self.matrix(at);
        let mut array = AnyArray::zeros(self.ty, &[rows.len(), cols.len()])?;
        self.read_block(at, pitch, [rows, cols], array.bytes_mut())?;
        Ok(array)
    }

    /// Some rows' elements in some columns, of rows of `pitch` elements.
    pub(super) fn read_block(
        &self,
        at: usize,
        pitch: usize,
        [rows, cols]: [Range<usize>; 2],
        bytes: &mut [u8],
    ) -> Result<(), Failure> {
        // Whole rows follow each other.
        let run = match cols.len() {
            width if width == pitch => bytes.len(),
            width => width * self.ty.bytes(),
        };
        let mut reader = self.readers[at].again();
        reader.skip(rows.start * pitch + cols.start);
        for bytes in bytes.chunks_mut(run.max(1)) {
            reader.read_as(self.ty, bytes)?;
            reader.skip(pitch - cols.len());
        }
        Ok(())
    }

    /// All operands, whole.
    pub(super) fn read(&self) -> Result<Vec<AnyArray>, Failure> {
        let each = self.readers.iter().zip(&self.shapes);
        each.map(|(reader, shape)| {
            let mut array = AnyArray::zeros(self.ty, shape)?;
            reader.again().read_as(self.ty, array.bytes_mut())?;
            Ok(array)
        })
        .collect()
    }

    /// Says that sums of products of integers may be rounded, where they may be that large.
    pub(super) fn notice_of_products(&self, terms: usize) -> Result<(), Failure> {
        if self.types.iter().any(|ty| ty.is_float()) {
            return Ok(());
        }
        let mut largest = terms as f64;
        for at in 0..self.readers.len() {
            let [rows, cols] = self.matrix(at);
            let mut most: f64 = 0.0;
            for row in 0..rows {
                let row = self.block(at, [row..row + 1, 0..cols])?;
                let numbers = (0..row.len()).map(|at| row.number(at).to_f64().abs());
                most = numbers.fold(most, f64::max);
            }
            largest *= most;
        }
        operand::notice_of_integers(largest);
        Ok(())
    }
}
