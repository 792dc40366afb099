use ptx_emulator::*;
use std::time::Instant;
fn rss() -> u64 { let s = std::fs::read_to_string("/proc/self/status").unwrap(); s.lines().find(|l| l.starts_with("VmHWM")).unwrap().split_whitespace().nth(1).unwrap().parse().unwrap() }
fn many(n: usize) -> String {
    let mut t = String::from(".version 8.0\n.target sm_90\n.address_size 64\n");
    for i in 0..n { t += &format!(".visible .global .align 1 .b8 k{i}__signature[8];\n.visible .entry k{i}(.param .u64 out) {{ .shared .align 4 .b32 s{i}; .reg .b64 %at; .reg .b32 %t; ld.param.u64 %at, [out]; mov.u32 %t, %tid.x; st.shared.u32 [s{i}], 1; mad.wide.u32 %at, %t, 4, %at; st.global.u32 [%at], %t; ret; }}\n"); }
    t
}
fn main() {
    let what = std::env::args().nth(1).unwrap();
    match what.as_str() {
        "many" => for n in [1000, 2000, 4000, 8000] {
            let text = many(n);
            let t = Instant::now(); let module = Module::parse(&text).unwrap(); let parse = t.elapsed();
            let e = Emulator::new(Limits::default());
            let t = Instant::now(); let l = e.load(&module).unwrap(); let load = t.elapsed();
            let b = e.alloc(4096).unwrap();
            let t = Instant::now();
            let c = LaunchConfig { grid: [1,1,1], block: [32,1,1], dynamic_shared_bytes: 0 };
            for i in 0..n.min(500) { e.check(&l, &format!("k{i}"), c, &[&b.to_le_bytes()], &CheckOptions::default()).unwrap(); }
            println!("{n}: parse {parse:?} load {load:?} 500 checks {:?}", t.elapsed());
        },
        "profile" => {
            let n: usize = std::env::args().nth(2).unwrap().parse().unwrap();
            let mut t = String::from(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out) { .reg .b64 %at; .reg .b32 %t; .reg .pred %p; ld.param.u64 %at, [out]; mov.u32 %t, %tid.x;\n");
            for i in 0..n { t += &format!("setp.lt.u32 %p, %t, {i};\n@%p bra L{i};\nadd.u32 %t, %t, 1;\nst.global.u32 [%at], %t;\nL{i}:\n"); }
            t += "ret; }\n";
            println!("text {} MB, rss {} MB", t.len() >> 20, rss() >> 10);
            let module = Module::parse(&t).unwrap();
            println!("parsed, rss {} MB", rss() >> 10);
            let e = Emulator::new(Limits::default()); let l = e.load(&module).unwrap(); let b = e.alloc(4096).unwrap();
            let c = LaunchConfig { grid: [1,1,1], block: [32,1,1], dynamic_shared_bytes: 0 };
            let t = Instant::now();
            let p = e.profile(&l, "k", c, &[&b.to_le_bytes()]).unwrap();
            println!("profiled {:?}, rss {} MB", t.elapsed(), rss() >> 10);
            let t = Instant::now();
            let lines = p.lines();
            println!("lines {} {:?}, rss {} MB", lines.len(), t.elapsed(), rss() >> 10);
        }
        "spin" => {
            let body = std::env::args().nth(2).unwrap();
            let shared = if body == "shared" { "ld.volatile.shared.u32 %r0, [s];" } else { "ld.volatile.global.u32 %r0, [%at];" };
            let undef = if body == "undef" { "add.u32 %r5, %r6, 1;" } else { "" };
            let text = format!(".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 4 .b32 s; .shared .align 4 .b8 other[4096];\n.visible .entry k(.param .u64 out) {{ .reg .b64 %at; .reg .b32 %r<9>; .reg .pred %p,%q; ld.param.u64 %at, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, 0; setp.ge.u32 %p, %r1, 32; {undef} st.shared.u32 [s], 0; st.global.u32 [%at], 0; bar.sync 0;\n@%p bra wait;\nwork: add.u32 %r2, %r2, 1; mad.lo.u32 %r3, %r2, %r2, %r1; setp.lt.u32 %q, %r2, 2000000; @%q bra work; st.shared.u32 [s], 1; st.global.u32 [%at], 1; ret;\nwait: {shared} setp.eq.u32 %q, %r0, 0; @%q bra wait; ret; }}");
            let module = Module::parse(&text).unwrap();
            for (name, race, init) in [("neither", false, false), ("race", true, false), ("init", false, true), ("both", true, true)] {
                let e = Emulator::new(Limits::default()); let l = e.load(&module).unwrap(); let b = e.alloc(4096).unwrap();
                let c = LaunchConfig { grid: [1,1,1], block: [256,1,1], dynamic_shared_bytes: 0 };
                let t = Instant::now();
                let r = e.check(&l, "k", c, &[&b.to_le_bytes()], &CheckOptions { race, init, ..CheckOptions::default() }).unwrap();
                println!("{body} {name}: {:?} {} findings, {} warp instr", t.elapsed(), r.findings.len(), r.statistics.warp_instructions);
            }
        }
        _ => { // atomics
            for (name, add) in [("relaxed", "atom.global.add.u32 %r0, [%w], 1;"), ("acq_rel", "atom.acq_rel.gpu.global.add.u32 %r0, [%w], 1;"), ("seq_cst", "fence.sc.gpu; atom.acquire.gpu.global.add.u32 %r0, [%w], 1;"), ("fences", "membar.gl; atom.global.add.u32 %r0, [%w], 1; membar.gl;"), ("red.release", "red.release.gpu.global.add.u32 [%w], 1;")] {
                for bins in [1, 256] {
                let text = format!(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out) {{ .reg .b64 %at, %w; .reg .b32 %r<9>; .reg .pred %p,%q; ld.param.u64 %at, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, 0; \nwork: mad.lo.u32 %r3, %r2, 7919, %r1; and.b32 %r3, %r3, {}; mad.wide.u32 %w, %r3, 4, %at; {add} add.u32 %r2, %r2, 1; setp.lt.u32 %q, %r2, 16; @%q bra work; ret; }}", bins - 1);
                let module = Module::parse(&text).unwrap();
                let e = Emulator::new(Limits::default()); let l = e.load(&module).unwrap(); let b = e.alloc(4096).unwrap();
                e.write(b, &[0; 4096]).unwrap();
                let c = LaunchConfig { grid: [64,1,1], block: [256,1,1], dynamic_shared_bytes: 0 };
                let t = Instant::now();
                e.launch(&l, "k", c, &[&b.to_le_bytes()]).unwrap();
                let bare = t.elapsed();
                let t = Instant::now();
                let r = e.check(&l, "k", c, &[&b.to_le_bytes()], &CheckOptions::default()).unwrap();
                println!("{name} {bins} bins: bare {bare:?} check {:?} {} findings {:?} rss {}", t.elapsed(), r.findings.len(), r.notices, rss() >> 10);
                }
            }
        }
    }
}
