//! `blockwise scale`.

use std::path::PathBuf;

use blockwise::Type;
use blockwise_mesh::scale::{Estimate, Link, Machine, Work, estimate};
use blockwise_ops::ConvMode;
use blockwise_ops::operation::Parts;
use blockwise_ops::{OPERATIONS, find};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, ValueEnum};
use serde_json::json;

use super::failure::Failure;
use super::report::Report;
use super::{folder, names};
use crate::plot::{self, Scaled};

#[derive(Args)]
pub(super) struct Arguments {
    /// The operation
    #[arg(value_parser = operations())]
    operation: String,
    /// Extents: elements of sum, min, max, dot and scan; samples,taps of conv; rows,inner,columns of
    /// matmul; rows,columns of transpose
    #[arg(long, value_name = "N", value_delimiter = ',', required = true, value_parser = size)]
    sizes: Vec<usize>,
    /// Numbers of GPUs
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,2,4,8,16,32,64,128,256,512,1024", value_parser = count)]
    gpus: Vec<usize>,
    /// The elements' type
    #[arg(long, default_value = "f32", value_parser = names(&[Type::F32, Type::F64]))]
    r#type: Type,
    /// Which outputs of conv
    #[arg(long, default_value = "same", value_parser = names(ConvMode::ALL))]
    mode: ConvMode,
    /// Which GPUs
    #[arg(long, default_value = "h200")]
    gpu: Gpu,
    /// How GPUs of one host reach each other; between hosts it is the network
    #[arg(long, default_value = "nvlink")]
    link: Within,
    /// GPUs of a host
    #[arg(long, value_name = "N", default_value_t = Machine::H200.gpus_per_host, value_parser = count)]
    gpus_per_host: usize,
    /// Draw the speed-up over the number of GPUs, beside the perfect one, into this folder: `scale` as
    /// PNG and SVG
    #[arg(long, value_name = "DIR")]
    plot: Option<PathBuf>,
}

/// A parser for the operations that can be divided.
fn operations() -> impl clap::builder::TypedValueParser<Value = String> {
    let described = OPERATIONS
        .iter()
        .filter(|of| !matches!(of.parts, Parts::Whole));
    PossibleValuesParser::new(described.map(|of| of.name))
}

#[derive(Clone, Copy, ValueEnum)]
enum Gpu {
    /// H100 with 80 GB
    H100,
    /// H200 with 141 GB
    H200,
}

impl Gpu {
    fn machine(self) -> Machine {
        match self {
            Self::H100 => Machine::H100,
            Self::H200 => Machine::H200,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Within {
    /// NVLink 4
    Nvlink,
    /// PCIe 5.0 x16
    Pcie,
    /// Copies through the host's memory
    Host,
}

/// A number of elements: `1000000`, or `2^30`.
fn size(text: &str) -> Result<usize, String> {
    let size = match text.split_once('^') {
        None => text.parse().ok(),
        Some((base, power)) => {
            let (base, power) = (base.parse::<usize>().ok(), power.parse().ok());
            base.zip(power)
                .and_then(|(base, power)| base.checked_pow(power))
        }
    };
    size.filter(|&size| size <= LARGEST)
        .ok_or_else(|| format!("a whole number, such as 1000000 or 2^30, up to {LARGEST}"))
}

/// The most elements of an operand: their bytes and operations fit in 64 bits.
const LARGEST: usize = 1 << 48;

/// Every pair of neighbouring sizes.
fn pairs<T>(sizes: &[T]) -> impl Iterator<Item = [&T; 2]> {
    let after = move |at: usize| sizes[at + 1..].iter().map(move |b| [&sizes[at], b]);
    (0..sizes.len()).flat_map(after)
}

/// The most GPUs for which a prediction takes less than a second.
const MOST: usize = 4096;

fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if (1..=MOST).contains(&count) => Ok(count),
        _ => Err(format!("a whole number from 1 to {MOST}")),
    }
}

impl Arguments {
    /// What a picture is of.
    fn title(&self) -> String {
        let name = |value: &dyn Fn() -> Option<PossibleValue>| {
            value().map_or(String::new(), |value| value.get_name().to_owned())
        };
        let sizes: Vec<_> = self.sizes.iter().map(usize::to_string).collect();
        format!(
            "{} of {} {} on {} over {}, predicted",
            self.operation,
            sizes.join(" × "),
            self.r#type,
            name(&|| self.gpu.to_possible_value()).to_uppercase(),
            name(&|| self.link.to_possible_value()),
        )
    }

    fn work(&self) -> Result<Work, Failure> {
        let wanted = |what: &str| {
            let given = self.sizes.len();
            let failure = Failure::new(format!("--sizes has {given} extents, {what} are wanted"));
            failure.hint("such as `blockwise scale matmul --sizes 16384,16384,16384`")
        };
        for [&a, &b] in pairs(&self.sizes) {
            if (a as u128) * (b as u128) > LARGEST as u128 {
                let what = format!("--sizes {a},{b}: an operand has {LARGEST} elements at most");
                return Err(Failure::new(what));
            }
        }
        if let Some(of) = find(&self.operation) {
            let name = |name| if name == "cols" { "columns" } else { name };
            let names: Vec<_> = of.sizes.iter().map(|size| name(size.name)).collect();
            return match (of.parts, &*self.sizes) {
                (Parts::Tiles, &[rows, cols]) => Ok(Work::Transpose { rows, cols }),
                (Parts::Carried(carry), &[len]) => {
                    let align = (carry.align)(self.r#type);
                    Ok(Work::Carried { len, align })
                }
                (Parts::Folded(fold), &[len]) if !fold.is_index => Ok(Work::Folded {
                    len,
                    operands: of.operands.len(),
                }),
                (Parts::Windows(_), sizes) if sizes.len() == names.len() => {
                    let shapes = (of.shapes)(sizes);
                    let shapes: Vec<_> = shapes.iter().map(Vec::as_slice).collect();
                    let posed = (of.pose)(self.r#type, &shapes, &self.mode.given())?;
                    Ok(Work::Windows(posed.problem))
                }
                (Parts::Panels, &[rows, inner, cols]) => Ok(Work::Matmul([rows, inner, cols])),
                _ if names.len() == 1 => Err(wanted("the elements")),
                _ => Err(wanted(&names.join(","))),
            };
        }
        Err(Failure::new(format!(
            "`{}` is no operation",
            self.operation
        )))
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Report, Failure> {
    let work = arguments.work()?;
    arguments.plot.as_deref().map_or(Ok(()), folder::prepare)?;
    let machine = Machine {
        gpus_per_host: arguments.gpus_per_host,
        within: match arguments.link {
            Within::Nvlink => Link::NVLINK,
            Within::Pcie => Link::PCIE,
            Within::Host => Link::HOST,
        },
        ..arguments.gpu.machine()
    };
    let element_bytes = arguments.r#type.bytes();
    let predict = |gpus| estimate(&work, element_bytes, gpus, &machine);
    let one = predict(1)?;
    let estimates = arguments.gpus.iter().map(|&gpus| predict(gpus));
    let estimates: Vec<Estimate> = estimates.collect::<Result<_, _>>()?;
    let mut lines = vec![format!(
        "{:>5}  {:>12}  {:>9}  {:>16}  binds",
        "GPUs", "time", "of perfect", "received by one"
    )];
    let mut rows = Vec::new();
    for estimate in &estimates {
        let Estimate {
            gpus,
            seconds,
            bound,
            received,
            fits,
        } = *estimate;
        let efficiency = one.seconds / seconds / gpus as f64;
        let room = if fits { "" } else { "; does not fit in memory" };
        lines.push(format!(
            "{gpus:>5}  {:>9.3} ms  {efficiency:>10.3}  {received:>14} B  {bound}{room}",
            seconds * 1e3
        ));
        rows.push(json!({ "gpus": gpus, "seconds": seconds, "efficiency": efficiency, "received_bytes": received, "bound": bound.to_string(), "fits": fits }));
    }
    let mut json = json!({ "command": "scale", "sizes": arguments.sizes, "predictions": rows });
    if let Some(folder) = &arguments.plot {
        let points = estimates.iter().map(|estimate| Scaled {
            gpus: estimate.gpus,
            speed_up: one.seconds / estimate.seconds,
            bound: estimate.bound.to_string(),
            fits: estimate.fits,
        });
        let drawn = plot::scaling(folder, &arguments.title(), points.collect());
        let files = drawn.map_err(|error| {
            Failure::new(error.to_string()).hint("give --plot a folder that you may write in")
        })?;
        lines.extend(files.iter().map(|file| format!("plot: {}", file.display())));
        json["plots"] = json!(files);
    }
    Ok(Report::new(lines.join("\n"), json))
}
