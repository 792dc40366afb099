//! The LLVM stage: link the bitcode, transform the IR, optimise it, print PTX.

mod groups;
mod join;
mod kept;
mod link;
mod part;
mod pool;
mod tool;

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

use crate::compile::Bitcode;
use crate::error::{CudaBuilderError, io_error};
use crate::files::replace;
use crate::ir::module::{Excerpts, Module};
use crate::ir::{self, Stage, calls, public};
use crate::output::Folder;
use crate::uniformity::Suspects;
use crate::{CudaBuilder, DebugInfo, EmitOption};
use crate::{nvvm, parameters};
use cuda_tools::Toolchain;
use groups::{Group, LIMITS, Limits};
use kept::Kept;
use part::{Compiler, Files};
pub(crate) use tool::read;
use tool::{run, write};

/// Compiles the archives to the folder's PTX file.
pub(crate) fn emit_ptx(
    builder: &CudaBuilder,
    toolchain: &Toolchain,
    bitcode: &Bitcode,
    folder: &Folder,
) -> Result<(), CudaBuilderError> {
    let linked = link::crates(builder, toolchain, bitcode, folder)?;
    let mut module = Module::parse(&linked)?;
    parameters::check(&module)?;
    ir::rewrite(Stage::Crates, &mut module, builder)?;
    let whole = link::libdevice(toolchain, bitcode, folder, &module)?;
    if let Some(whole) = &whole {
        module = Module::parse(whole)?;
    }
    let public = public(&module);
    ir::rewrite(Stage::Program, &mut module, builder)?;
    let files = folder.new_folder("parts")?;
    let program = Program {
        compiler: Compiler {
            builder,
            toolchain,
            launch_parameters: &nvvm::launch_parameters(bitcode.device_sources())?,
        },
        public: &public,
        files: &files,
        limits: LIMITS,
    };
    let kept = bitcode.target_folder.join("parts").join(&bitcode.name);
    let (ptx, warnings) = program.make(module, &kept)?;
    write(&folder.warnings(), &warnings)?;
    // Whoever reads it without the lock, as other programs do, has the one of before or this one.
    replace(&folder.ptx(), ptx.as_bytes())?;
    let part = Files::of(&files, 0);
    if builder.emit == Some(EmitOption::Bitcode) {
        run(Command::new(&toolchain.opt)
            .arg("-passes=")
            .arg(&part.optimised)
            .arg("-o")
            .arg(folder.file("bc")))?;
    }
    if builder.keeps_ir() {
        for (from, to) in [
            (&part.lowered, folder.lowered_ir()),
            (&part.optimised, folder.optimised_ir()),
        ] {
            std::fs::rename(from, &to).map_err(io_error("write", to))?;
        }
    }
    std::fs::remove_dir_all(&files).map_err(io_error("remove", files))
}

/// The settings that a module is compiled with.
struct Program<'a> {
    compiler: Compiler<'a>,
    /// Symbols that keep their names.
    public: &'a [String],
    files: &'a Path,
    limits: Limits,
}

/// PTX and warnings.
type Made = (String, String);

/// A module to be compiled.
struct Piece<'a> {
    lowered: String,
    /// Those of the public symbols that it defines.
    public: Vec<&'a str>,
}

/// One call of LLVM's optimiser and what follows. In parallel, because each uses only one core.
enum Task<'t> {
    Check(usize, Suspects),
    Compile(usize, &'t Piece<'t>, Option<&'static str>),
}

impl Program<'_> {
    fn make(&self, mut module: Module<'_>, kept: &Path) -> Result<Made, CudaBuilderError> {
        let kernels: Vec<_> = calls::kernels(&module).map(str::to_owned).collect();
        let public = self.public.iter().map(String::as_str).collect();
        let groups = match self.is_divisible() {
            true => groups::groups(&module, &public, self.limits),
            false => None,
        };
        let groups = groups.unwrap_or_default();
        let suspects = match groups.is_empty() {
            // What is not optimised, the check does not follow.
            true if self.compiler.builder.keeps_locals() => Vec::new(),
            true => Suspects::of(&module, &[&kernels])?,
            false => {
                let groups: Vec<_> = groups.iter().map(|group| &*group.kernels).collect();
                Suspects::of(&module, &groups)?
            }
        };
        let checks = suspects.into_iter().enumerate();
        let checks = checks
            .map(|(at, suspects)| Task::Check(at, suspects))
            .collect();
        ir::rewrite(Stage::Checked, &mut module, self.compiler.builder)?;
        if groups.is_empty() {
            return self.whole(&module, checks);
        }
        let kept = Kept::of(kept.to_owned())?;
        let pieces = self.pieces(&module, &groups);
        let (texts, warnings) = self.run(checks, &pieces, &kept)?;
        kept.clean();
        let ptx = match join::join(&texts, &kernels) {
            Some(ptx) => ptx,
            // The parts cannot be joined.
            None => self.whole(&module, Vec::new())?.0,
        };
        Ok((ptx, warnings))
    }

    /// Compiles a module in one piece.
    fn whole(
        &self,
        module: &Module<'_>,
        checks: Vec<Task<'static>>,
    ) -> Result<Made, CudaBuilderError> {
        let whole = Piece {
            lowered: module.to_string(),
            public: self.public.iter().map(String::as_str).collect(),
        };
        let mut tasks: Vec<Task<'_>> = checks;
        tasks.push(Task::Compile(0, &whole, None));
        let (mut texts, warnings) = self.results(tasks, None)?;
        Ok((texts.pop().unwrap_or_default(), warnings))
    }

    /// Whether only the PTX is wanted, and can be joined from parts.
    fn is_divisible(&self) -> bool {
        let builder = self.compiler.builder;
        !builder.keeps_ir()
            && builder.emit.is_none()
            && matches!(builder.debug, DebugInfo::None | DebugInfo::LineTables)
    }

    fn pieces(&self, module: &Module<'_>, groups: &[Group]) -> Vec<Piece<'_>> {
        let excerpts = Excerpts::of(module);
        let piece = |group: &Group| Piece {
            lowered: excerpts.with(&group.symbols),
            public: (self.public.iter().map(String::as_str))
                .filter(|symbol| group.symbols.contains(*symbol))
                .collect(),
        };
        groups.iter().map(piece).collect()
    }

    /// The texts of several pieces, all of one PTX version, and the warnings.
    fn run<'t>(
        &self,
        mut tasks: Vec<Task<'t>>,
        pieces: &'t [Piece<'t>],
        kept: &Kept,
    ) -> Result<(Vec<String>, String), CudaBuilderError> {
        let compile = |version| {
            let pieces = pieces.iter().enumerate();
            pieces.map(move |(at, piece)| Task::Compile(at, piece, version))
        };
        tasks.extend(compile(None));
        let (mut texts, warnings) = self.results(tasks, Some(kept))?;
        // One kernel with large parameters needs a newer version: then all get it.
        let versions: HashSet<_> = texts
            .iter()
            .map(|text| parameters::declared(text))
            .collect();
        if versions.len() > 1 {
            let newer = compile(Some(parameters::NEWER)).collect();
            texts = self.results(newer, Some(kept))?.0;
        }
        Ok((texts, warnings))
    }

    /// The texts and the warnings of tasks.
    fn results(
        &self,
        tasks: Vec<Task<'_>>,
        kept: Option<&Kept>,
    ) -> Result<(Vec<String>, String), CudaBuilderError> {
        let settings = self.compiler.settings();
        let get = |inputs: &[&str], make: &mut dyn FnMut() -> Result<String, CudaBuilderError>| {
            match kept {
                Some(kept) => kept.get(inputs, make),
                None => make(),
            }
        };
        let is_check: Vec<_> = tasks
            .iter()
            .map(|task| matches!(task, Task::Check(..)))
            .collect();
        let results = pool::run(tasks, Task::size, |task| match task {
            Task::Check(at, suspects) => {
                get(&[&settings, &suspects.key(), suspects.text()], &mut || {
                    self.compiler.check(&suspects, &Files::of(self.files, at))
                })
            }
            Task::Compile(at, piece, version) => {
                let version_ = version.unwrap_or_default();
                let public = piece.public.join(" ");
                get(&[&settings, version_, &public, &piece.lowered], &mut || {
                    let files = Files::of(self.files, at);
                    (self.compiler).compile(&piece.lowered, &piece.public, version, &files)
                })
            }
        });
        let (mut texts, mut warnings, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        let mut findings = Vec::new();
        for (result, is_check) in results.into_iter().zip(is_check) {
            match result {
                Ok(text) if !is_check => texts.push(text),
                Ok(text) => warnings.extend(text.lines().map(str::to_owned)),
                Err(CudaBuilderError::Divergence { reports }) => findings.extend(reports),
                Err(error) => errors.push(error),
            }
        }
        if !findings.is_empty() {
            return Err(CudaBuilderError::Divergence { reports: findings });
        }
        let mut errors = errors.into_iter();
        let Some(mut first) = errors.next() else {
            return Ok((texts, warnings.join("\n")));
        };
        // What is wrong with other kernels is said, too.
        if let Some(reports) = first.reports() {
            errors
                .filter_map(|mut error| Some(std::mem::take(error.reports()?)))
                .for_each(|more| reports.extend(more));
        }
        Err(first)
    }
}

impl Task<'_> {
    fn size(&self) -> usize {
        match self {
            Task::Check(_, suspects) => suspects.text().len(),
            Task::Compile(_, piece, _) => piece.lowered.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::Ptx;

    /// Two kernels share a shared array, two share a function that is not inlined.
    fn text(value: u32) -> String {
        let kernel = |name: &str, number: u32, body: &str| {
            // Each function has a subprogram of its own, and positions in it.
            let body = body.replace("!dbg !9", &format!("!dbg !{}", number + 1));
            let positions = format!(
                "!{number} = distinct !DISubprogram(name: \"{name}\", file: !2, line: 1, type: !6, unit: !1, spFlags: DISPFlagDefinition)\n\
                 !{} = !DILocation(line: 3, column: 5, scope: !{number})\n",
                number + 1
            );
            format!(
                "@{name}__signature = constant [2 x i8] c\"{name}\\0A\"\n\
                 define ptx_kernel void @{name}(ptr addrspace(1) %x, i32 %n) !dbg !{number} {{\n{body}  ret void, !dbg !{}\n}}\n{positions}",
                number + 1
            )
        };
        let tile = "  %t = addrspacecast ptr addrspace(3) @tile to ptr\n  store i32 %n, ptr %t, align 4, !dbg !9\n  \
                    call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n  %v = load i32, ptr %t, align 4\n  \
                    store i32 %v, ptr addrspace(1) %x, align 4\n";
        let helps = format!(
            "  %v = call i32 @help(i32 %n, i32 {value}), !dbg !9\n  %w = load i32, ptr @anon.0.3, align 4\n  %u = add i32 %v, %w\n  \
             store i32 %u, ptr addrspace(1) %x, align 4\n"
        );
        let loops = "  br label %head\nhead:\n  %i = phi i32 [ 0, %0 ], [ %j, %head ]\n  %j = add i32 %i, 1\n  \
                     %v = call i32 @help(i32 %i, i32 5), !dbg !9\n  store volatile i32 %v, ptr addrspace(1) %x, align 4\n  \
                     %c = icmp ult i32 %j, %n\n  br i1 %c, label %head, label %end\nend:\n";
        format!(
            "target triple = \"nvptx64-nvidia-cuda\"\n@tile = internal addrspace(3) global [4 x i8] undef, align 4\n\
             @anon.0.3 = private constant [4 x i8] c\"\\07\\00\\00\\00\", align 4\n{}{}{}{}\
             define internal i32 @help(i32 %a, i32 %b) #0 !dbg !7 {{\n  %c = mul i32 %a, %b, !dbg !10\n  ret i32 %c\n}}\n\
             declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #1\n\
             attributes #0 = {{ noinline }}\nattributes #1 = {{ convergent nounwind }}\n\
             !llvm.dbg.cu = !{{!1}}\n!llvm.module.flags = !{{!3, !4}}\n\
             !1 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !2, emissionKind: DebugDirectivesOnly)\n\
             !2 = !DIFile(filename: \"a.rs\", directory: \"/x\")\n!3 = !{{i32 2, !\"Debug Info Version\", i32 3}}\n\
             !4 = !{{i32 2, !\"Dwarf Version\", i32 4}}\n!5 = !DIFile(filename: \"b.rs\", directory: \"/x\")\n\
             !6 = !DISubroutineType(types: !{{}})\n\
             !7 = distinct !DISubprogram(name: \"help\", file: !5, line: 1, type: !6, unit: !1, spFlags: DISPFlagDefinition)\n\
             !10 = !DILocation(line: 4, column: 7, scope: !7)\n",
            kernel("a", 20, tile),
            kernel("b", 22, &helps),
            kernel("c", 24, loops),
            kernel("d", 26, tile),
        )
    }

    /// Every part of a text, without comments, by kind and name.
    fn parts(text: &str) -> Vec<(String, String)> {
        let ptx = Ptx::parse(text).unwrap();
        let part = |text: &str| {
            let lines = text.lines().map(|line| crate::ptx::code(line).trim_end());
            let lines: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
            lines.join("\n")
        };
        let items = ptx.items.iter();
        let mut parts: Vec<_> = items
            .map(|item| (format!("{:?} {}", item.kind, item.name), part(item.text)))
            .collect();
        parts.sort();
        parts.push((ptx.header.to_owned(), part(ptx.end)));
        parts
    }

    #[test]
    fn groups_give_what_the_whole_gives_and_are_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept");
        let public: Vec<_> = ["a", "b", "c", "d"]
            .into_iter()
            .flat_map(|name| [name.to_owned(), format!("{name}__signature")])
            .collect();
        let builder = CudaBuilder::new("nowhere");
        let toolchain = Toolchain::find().unwrap();
        let make = |text: &str, kernels: usize| {
            let program = Program {
                compiler: Compiler {
                    builder: &builder,
                    toolchain: &toolchain,
                    launch_parameters: &[],
                },
                public: &public,
                files: folder.path(),
                limits: Limits {
                    kernels,
                    bytes: 0,
                    group: 1,
                },
            };
            program.make(Module::parse(text).unwrap(), &kept).unwrap()
        };
        let files = || std::fs::read_dir(&kept).map_or(0, Iterator::count);
        let whole = make(&text(5), 5);
        assert_eq!(files(), 0);
        let divided = make(&text(5), 1);
        // Two kernels share memory, so there are three groups, each compiled; two of them have no
        // barriers to check.
        assert_eq!(files(), 5);
        // Labels have the numbers of functions in their order.
        let whole = join::join(&[whole.0], &["a", "b", "c", "d"]).unwrap();
        assert_eq!(parts(&divided.0), parts(&whole));
        assert!(divided.0.contains(".loc"), "{}", divided.0);
        assert_eq!(make(&text(5), 1), divided);
        assert_eq!(files(), 5);
        // Only `b` has changed, and has its own `help`.
        let changed = make(&text(6), 1).0;
        assert_eq!(files(), 6);
        assert!(changed.contains("help_"), "{changed}");
    }
}
