//! Warp-specialised kernels as CUTLASS shapes them: a producer and groups of consumers that never
//! meet as a whole block. Each is clean in 64 orders of the threads, and each mutilated one is found.

use crate::common::{limits, module, shape};
use ptx_emulator::{CheckOptions, CheckReport, Emulator, Limits, Severity};

#[track_caller]
fn check(text: &str, (grid, threads): (u32, u32), schedules: u32) -> CheckReport {
    let emulator = Emulator::new(Limits {
        warp_instructions: 2_000_000,
        ..limits()
    });
    let loaded = emulator.load(&module(text)).expect("the module loads");
    let bytes: Vec<u8> = (0..4 * 4096).map(|at| at as u8).collect();
    let buffers = [(); 2].map(|()| {
        let buffer = emulator.alloc(bytes.len() as u64).expect("memory is there");
        emulator.write(buffer, &bytes).expect("it fits");
        buffer.to_le_bytes()
    });
    let args: Vec<&[u8]> = buffers.iter().map(|bytes| &bytes[..]).collect();
    let options = CheckOptions {
        schedules,
        ..CheckOptions::default()
    };
    let report = emulator.check(&loaded, "k", shape(grid, threads, 0), &args, &options);
    report.expect("it is launched")
}

/// Clean as it is; found with each of the parts replaced.
#[track_caller]
fn sound(text: &str, launch: (u32, u32), wrong: &[(&str, &str)]) {
    let report = check(text, launch, 64);
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
    assert_eq!(report.schedules, 65);
    for (part, by) in wrong {
        assert!(text.contains(part), "{part}");
        let report = check(&text.replace(part, by), launch, 16);
        assert!(
            report.count(Severity::Error) > 0,
            "`{part}` by `{by}`: {:#?}",
            report.findings
        );
    }
}

/// One thread copies in bulk through three slots; two warpgroups read each slot, pass words on in
/// their own part of shared memory, and store them from there.
const BULK: &str = ".shared .align 128 .b8 slots[1536]; .shared .align 128 .b8 parts[1024];
.shared .align 8 .b8 full[24]; .shared .align 8 .b8 empty[24];
.visible .entry k(.param .u64 in, .param .u64 out) {
.reg .b64 %in, %out, %w<6>; .reg .b32 %t, %g, %lane, %i, %stage, %round, %parity, %slot, %f, %e, %sum, %part, %other, %r<8>; .reg .pred %p, %q, %first, %elected, %last;
ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; shr.u32 %g, %t, 7; and.b32 %lane, %t, 31;
setp.eq.u32 %first, %t, 0; setp.eq.u32 %elected, %lane, 0; mov.u32 %f, full; mov.u32 %e, empty; mov.u32 %i, 0; mov.u32 %sum, 0;
@%first mbarrier.init.shared.b64 [%f], 1; @%first mbarrier.init.shared.b64 [%f+8], 1; @%first mbarrier.init.shared.b64 [%f+16], 1;
@%first mbarrier.init.shared.b64 [%e], 8; @%first mbarrier.init.shared.b64 [%e+8], 8; @%first mbarrier.init.shared.b64 [%e+16], 8;
@%first fence.mbarrier_init.release.cluster;
bar.sync 0; // made
setp.ne.u32 %p, %g, 2; @%p bra consume;
setp.ne.u32 %p, %t, 256; @%p bra done;
produce:
rem.u32 %stage, %i, 3; div.u32 %round, %i, 3; and.b32 %parity, %round, 1; xor.b32 %parity, %parity, 1;
mad.lo.u32 %r0, %stage, 8, %f; mad.lo.u32 %r1, %stage, 8, %e; mov.u32 %slot, slots; mad.lo.u32 %slot, %stage, 512, %slot;
free: mbarrier.try_wait.parity.shared.b64 %q, [%r1], %parity; @!%q bra free;
mbarrier.arrive.expect_tx.shared.b64 _, [%r0], 512;
mad.wide.u32 %w0, %i, 512, %in;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%slot], [%w0], 512, [%r0];
add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 8; @%p bra produce;
bra done;
consume:
rem.u32 %stage, %i, 3; div.u32 %round, %i, 3; and.b32 %parity, %round, 1;
mad.lo.u32 %r0, %stage, 8, %f; mad.lo.u32 %r1, %stage, 8, %e; mov.u32 %slot, slots; mad.lo.u32 %slot, %stage, 512, %slot;
and.b32 %r2, %t, 127; mad.lo.u32 %r3, %r2, 4, %slot;
filled: mbarrier.try_wait.parity.shared.b64 %q, [%r0], %parity; @!%q bra filled;
ld.shared.u32 %r4, [%r3]; add.u32 %sum, %sum, %r4;
bar.warp.sync -1; // read
@%elected mbarrier.arrive.shared.b64 _, [%r1];
add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 8; @%p bra consume;
mov.u32 %part, parts; mad.lo.u32 %part, %g, 512, %part; and.b32 %r2, %t, 127; mad.lo.u32 %r3, %r2, 4, %part;
add.u32 %r5, %g, 1; xor.b32 %r6, %r2, 77; mad.lo.u32 %other, %r6, 4, %part;
st.shared.u32 [%r3], %sum;
bar.sync %r5, 128; // passed on
ld.shared.u32 %r7, [%other];
mad.wide.u32 %w1, %t, 4, %out; st.global.u32 [%w1], %r7;
fence.proxy.async.shared::cta;
bar.sync %r5, 128;
setp.ne.u32 %p, %r2, 0; @%p bra done;
mad.wide.u32 %w2, %g, 512, %out;
cp.async.bulk.global.shared::cta.bulk_group [%w2+2048], [%part], 512; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
done: ret;
}";

#[test]
fn a_thread_that_copies_in_bulk_for_two_warpgroups() {
    sound(
        BULK,
        (1, 384),
        &[
            ("bar.sync 0; // made", ""),
            ("bar.warp.sync -1; // read", ""),
            (
                "free: mbarrier.try_wait.parity.shared.b64 %q, [%r1], %parity; @!%q bra free;",
                "",
            ),
            ("bar.sync %r5, 128; // passed on", ""),
            ("bar.sync %r5, 128; // passed on", "bar.warp.sync -1;"),
        ],
    );
}

#[test]
fn blocks_that_share_an_output_still_race() {
    let report = check(
        &BULK.replace(
            "add.u32 %sum, %sum, %r4;",
            "add.u32 %sum, %sum, %r4; mov.u32 %r4, %ctaid.x; add.u32 %sum, %sum, %r4;",
        ),
        (2, 384),
        0,
    );
    assert!(report.count(Severity::Error) > 0, "{:#?}", report.findings);
}

/// Two consumer groups take turns at one scratch array, as in a ping-pong schedule.
const PING_PONG: &str = ".shared .align 16 .b8 scratch[512];
.visible .entry k(.param .u64 in, .param .u64 out) {
.reg .b64 %out, %w<4>; .reg .b32 %t, %g, %i, %mine, %theirs, %own, %turn, %next, %r<8>; .reg .pred %p, %q;
ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; shr.u32 %g, %t, 7; mov.u32 %i, 0; mov.u32 %r0, scratch; and.b32 %r1, %t, 127;
mad.lo.u32 %mine, %r1, 4, %r0; xor.b32 %r2, %r1, 97; mad.lo.u32 %theirs, %r2, 4, %r0;
setp.ge.u32 %p, %g, 2; @%p bra done;
add.u32 %own, %g, 1; add.u32 %turn, %g, 4; xor.b32 %r3, %g, 1; add.u32 %next, %r3, 4;
setp.eq.u32 %p, %g, 0; @%p bra again;
bar.arrive %next, 256; // begin
again:
bar.sync %turn, 256; // turn
st.shared.u32 [%mine], %t;
bar.sync %own, 128; // within
ld.shared.u32 %r4, [%theirs];
setp.eq.u32 %q, %g, 1; setp.eq.u32 %p, %i, 3; and.pred %p, %p, %q; @%p bra store;
bar.arrive %next, 256; // next
store: mad.wide.u32 %w0, %t, 4, %out; st.global.u32 [%w0], %r4;
add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra again;
done: ret;
}";

#[test]
fn two_groups_that_take_turns() {
    sound(
        PING_PONG,
        (1, 288),
        &[
            ("bar.sync %own, 128; // within", ""),
            ("bar.sync %own, 128; // within", "bar.warp.sync -1;"),
        ],
    );
    // The other group is let in before the words are read.
    let early = PING_PONG
        .replace("ld.shared.u32 %r4, [%theirs];\n", "")
        .replace("store: ", "store: ld.shared.u32 %r4, [%theirs]; ");
    let report = check(&early, (1, 288), 16);
    assert!(report.count(Severity::Error) > 0, "{:#?}", report.findings);
}

/// A warp copies by `cp.async` into two slots, for two warps that read them.
const COPIES: &str = ".shared .align 16 .b8 slots[1024]; .shared .align 8 .b8 full[16]; .shared .align 8 .b8 empty[16];
.visible .entry k(.param .u64 in, .param .u64 out) {
.reg .b64 %in, %out, %w<4>; .reg .b32 %t, %lane, %i, %stage, %parity, %slot, %f, %e, %r<8>; .reg .pred %p, %q, %first, %elected;
ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; and.b32 %lane, %t, 31; mov.u32 %i, 0;
setp.eq.u32 %first, %t, 0; setp.eq.u32 %elected, %lane, 0; mov.u32 %f, full; mov.u32 %e, empty;
@%first mbarrier.init.shared.b64 [%f], 32; @%first mbarrier.init.shared.b64 [%f+8], 32;
@%first mbarrier.init.shared.b64 [%e], 2; @%first mbarrier.init.shared.b64 [%e+8], 2;
bar.sync 0;
setp.ge.u32 %p, %t, 32; @%p bra consume;
produce:
and.b32 %stage, %i, 1; shr.u32 %parity, %i, 1; and.b32 %parity, %parity, 1; xor.b32 %parity, %parity, 1;
mad.lo.u32 %r0, %stage, 8, %f; mad.lo.u32 %r1, %stage, 8, %e; mov.u32 %slot, slots; mad.lo.u32 %slot, %stage, 512, %slot;
free: mbarrier.try_wait.parity.shared.b64 %q, [%r1], %parity; @!%q bra free;
mad.lo.u32 %r2, %lane, 16, %slot; mad.wide.u32 %w0, %lane, 16, %in;
cp.async.cg.shared.global [%r2], [%w0], 16;
cp.async.mbarrier.arrive.noinc.shared.b64 [%r0]; // copied
add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 6; @%p bra produce;
bra done;
consume:
and.b32 %stage, %i, 1; shr.u32 %parity, %i, 1; and.b32 %parity, %parity, 1;
mad.lo.u32 %r0, %stage, 8, %f; mad.lo.u32 %r1, %stage, 8, %e; mov.u32 %slot, slots; mad.lo.u32 %slot, %stage, 512, %slot;
filled: mbarrier.try_wait.parity.shared.b64 %q, [%r0], %parity; @!%q bra filled;
sub.u32 %r3, %t, 32; xor.b32 %r3, %r3, 21; mad.lo.u32 %r2, %r3, 4, %slot;
ld.shared.u32 %r4, [%r2];
bar.warp.sync -1; // read
@%elected mbarrier.arrive.shared.b64 _, [%r1];
mad.wide.u32 %w1, %t, 4, %out; st.global.u32 [%w1], %r4;
add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 6; @%p bra consume;
done: ret;
}";

#[test]
fn a_warp_that_copies_for_two_others() {
    sound(
        COPIES,
        (1, 96),
        &[
            ("bar.warp.sync -1; // read", ""),
            (
                "cp.async.mbarrier.arrive.noinc.shared.b64 [%r0]; // copied",
                "mbarrier.arrive.shared.b64 _, [%r0];",
            ),
            (
                "free: mbarrier.try_wait.parity.shared.b64 %q, [%r1], %parity; @!%q bra free;",
                "",
            ),
        ],
    );
}

/// Two blocks of a cluster fill each other's slot too, and hear from each other when both are empty.
const CLUSTER: &str = ".shared .align 128 .b8 slots[1024]; .shared .align 8 .b8 full[16]; .shared .align 8 .b8 empty[16];
.visible .entry k(.param .u64 in, .param .u64 out) .reqnctapercluster 2 {
.reg .b64 %in, %out, %w<4>; .reg .b32 %t, %lane, %i, %stage, %parity, %slot, %f, %e, %rank, %r<12>; .reg .b16 %both; .reg .pred %p, %q, %first, %two;
ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; and.b32 %lane, %t, 31; mov.u32 %i, 0; mov.u32 %rank, %cluster_ctarank; mov.u16 %both, 3;
setp.eq.u32 %first, %t, 0; setp.lt.u32 %two, %lane, 2; mov.u32 %f, full; mov.u32 %e, empty;
@%first mbarrier.init.shared.b64 [%f], 1; @%first mbarrier.init.shared.b64 [%f+8], 1;
@%first mbarrier.init.shared.b64 [%e], 4; @%first mbarrier.init.shared.b64 [%e+8], 4;
@%first fence.mbarrier_init.release.cluster;
barrier.cluster.arrive; barrier.cluster.wait; // made
setp.ge.u32 %p, %t, 32; @%p bra consume;
setp.ne.u32 %p, %t, 0; @%p bra done;
produce:
and.b32 %stage, %i, 1; shr.u32 %parity, %i, 1; and.b32 %parity, %parity, 1; xor.b32 %parity, %parity, 1;
mad.lo.u32 %r0, %stage, 8, %f; mad.lo.u32 %r1, %stage, 8, %e; mov.u32 %slot, slots; mad.lo.u32 %slot, %stage, 512, %slot; mad.lo.u32 %slot, %rank, 256, %slot;
free: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [%r1], %parity; @!%q bra free;
mbarrier.arrive.expect_tx.shared.b64 _, [%r0], 512;
mad.wide.u32 %w0, %rank, 256, %in;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%slot], [%w0], 256, [%r0], %both;
add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 5; @%p bra produce;
bra done;
consume:
and.b32 %stage, %i, 1; shr.u32 %parity, %i, 1; and.b32 %parity, %parity, 1;
mad.lo.u32 %r0, %stage, 8, %f; mad.lo.u32 %r1, %stage, 8, %e; mov.u32 %slot, slots; mad.lo.u32 %slot, %stage, 512, %slot;
filled: mbarrier.try_wait.parity.shared.b64 %q, [%r0], %parity; @!%q bra filled;
sub.u32 %r3, %t, 32; mad.lo.u32 %r2, %r3, 8, %slot;
ld.shared.u32 %r4, [%r2]; ld.shared.u32 %r5, [%r2+4];
bar.warp.sync -1; // read
mapa.shared::cluster.u32 %r6, %r1, %lane;
@%two mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];
add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 5; @%p bra consume;
done:
barrier.cluster.arrive; barrier.cluster.wait;
ret;
}";

#[test]
fn two_blocks_that_fill_each_others_slots() {
    let text = CLUSTER.replace(
        "mapa.shared::cluster.u32 %r6, %r1, %lane;",
        "and.b32 %r7, %lane, 1; mapa.shared::cluster.u32 %r6, %r1, %r7;",
    );
    sound(
        &text,
        (2, 96),
        &[
            ("bar.warp.sync -1; // read", ""),
            (
                "free: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [%r1], %parity; @!%q bra free;",
                "",
            ),
        ],
    );
    // As CUTLASS arrives at another block's object.
    let plain = text.replace(
        "mbarrier.arrive.release.cluster.shared::cluster",
        "mbarrier.arrive.shared::cluster",
    );
    sound(&plain, (2, 96), &[]);
}
