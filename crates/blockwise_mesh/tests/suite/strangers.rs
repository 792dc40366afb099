//! Strangers that try to join a job: none gets in, nothing that they do ends the job, and the real
//! rank still finds its place.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Mutex;
use std::time::Duration;

use blockwise_mesh::{Error, Job, JoinOptions, MeetingPlace};

use crate::meetings::{free_port, in_vain, job, options, run, with_secret};
use crate::processes::{self, start, variables};

/// What a connection begins with.
const MAGIC: &[u8; 16] = b"blockwise mesh 3";

/// Connects as soon as somebody listens.
fn connect(port: u16) -> TcpStream {
    loop {
        if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) {
            return stream;
        }
        std::thread::yield_now();
    }
}

/// Whether the other end hangs up, and what it says before.
fn said(stream: &mut impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Bytes that it did not read make it a reset.
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

/// Lets `stranger` do its worst at the port of rank 0 of two. Then rank 1 comes, and both end well.
#[track_caller]
fn job_goes_on(stranger: impl FnOnce(u16)) {
    let port = free_port();
    let gather = |jobs: &[(Job, _)]| {
        let outcomes = run(jobs, |rank| rank.gather(&[rank.number() as u32]));
        outcomes.into_iter().map(Result::unwrap).collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        let host = scope.spawn(|| gather(&[(job(0, 2, port), options())]));
        stranger(port);
        assert_eq!(gather(&[(job(1, 2, port), options())]), [[[0], [1]]]);
        assert_eq!(host.join().unwrap(), [[[0], [1]]]);
    });
}

#[test]
fn what_is_no_greeting_is_hung_up_on() {
    let old = [&b"blockwise mesh 1"[..], &u64::MAX.to_le_bytes(), b"test 1"].concat();
    let hello = [&MAGIC[..], &[7; 32]].concat();
    let guess = [&hello[..], &[0; 32]].concat();
    let more = [&guess[..], &[0xFF; 4096]].concat();
    for greeting in [
        &b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"[..],
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a TLS hello",
        &old,
        &guess,
        &more,
    ] {
        job_goes_on(|port| {
            let mut stranger = connect(port);
            stranger.write_all(greeting).unwrap();
            let answer = said(&mut stranger);
            // Nothing, or its challenge and a no: never its own proof.
            assert!(
                [0, 49].contains(&answer.len()) || answer.len() < 49,
                "{answer:?}"
            );
        });
    }
}

#[test]
fn what_ends_in_the_middle_is_forgotten() {
    let hello = [&MAGIC[..], &[7; 32], &[0; 32]].concat();
    for cut in [0, 1, 15, 16, 17, 47, 48, 49, 79] {
        job_goes_on(|port| {
            let mut stranger = connect(port);
            stranger.write_all(&hello[..cut]).unwrap();
            stranger.shutdown(Shutdown::Write).unwrap();
            let answer = said(&mut stranger);
            assert_eq!(answer.len(), if cut < 48 { 0 } else { 48 }, "{cut}");
        });
    }
}

/// More connections than a job keeps, all silent, and all still there when rank 1 comes.
#[test]
fn a_thousand_silent_connections_keep_nobody_out() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
    let port = free_port();
    let host = |rank| {
        let mut own = variables("torchrun", rank, 2, port);
        own.extend(processes::over_tcp(port, "the secret of this job"));
        start("once", &own)
    };
    let first = host(0);
    let files = |process: &Child| {
        fs::read_dir(format!("/proc/{}/fd", process.id()))
            .unwrap()
            .count()
    };
    let mut most = 0;
    let silent: Vec<TcpStream> = (0..1000)
        .map(|_| {
            let stream = connect(port);
            most = most.max(files(&first));
            stream
        })
        .collect();
    let second = host(1);
    for child in [first, second] {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(processes::results(&output).len(), 1);
    }
    assert_eq!(silent.len(), 1000);
    // 64 of them, each with a copy for its thread, and what a process has anyway.
    assert!(most < 200, "{most}");
}

/// Passes on what two ends say to each other; the bytes of who has connected, and of the other.
/// `change` sees each piece of the first.
fn relay(to: u16, listener: TcpListener, change: impl Fn(usize, &mut [u8]) + Send) -> [Vec<u8>; 2] {
    let (one, _) = listener.accept().unwrap();
    let other = connect(to);
    let pass = |mut from: &TcpStream, mut to: &TcpStream, change: &dyn Fn(usize, &mut [u8])| {
        let mut all = Vec::new();
        let mut piece = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut piece) {
            let piece = &mut piece[..count];
            change(all.len(), piece);
            all.extend_from_slice(piece);
            if to.write_all(piece).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
        all
    };
    std::thread::scope(|scope| {
        let back = scope.spawn(|| pass(&other, &one, &|_, _| ()));
        let forth = pass(&one, &other, &change);
        [forth, back.join().unwrap()]
    })
}

/// What each of two ranks has gathered.
type Gathered = [Result<Vec<Vec<u32>>, Error>; 2];

/// A job of two whose rank 1 comes through a relay; what rank 1 has said, and rank 0.
fn relayed(
    options: &JoinOptions,
    change: impl Fn(usize, &mut [u8]) + Send,
) -> (Gathered, [Vec<u8>; 2]) {
    let port = free_port();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let detour = listener.local_addr().unwrap().port();
    std::thread::scope(|scope| {
        let relay = scope.spawn(move || relay(port, listener, change));
        let jobs = [job(0, 2, port), job(1, 2, detour)].map(|job| (job, options.clone()));
        let mut outcomes = run(&jobs, |rank| rank.gather(&[rank.number() as u32]));
        let second = outcomes.pop().unwrap();
        ([outcomes.pop().unwrap(), second], relay.join().unwrap())
    })
}

#[test]
fn a_recorded_rank_is_no_rank() {
    let (outcomes, [recorded, _]) = relayed(&options(), |_, _| ());
    for outcome in outcomes {
        assert_eq!(outcome.unwrap(), [[0], [1]]);
    }
    assert!(recorded.len() > 100);
    job_goes_on(|port| {
        let mut stranger = connect(port);
        let _ = stranger.write_all(&recorded);
        let answer = said(&mut stranger);
        assert!(answer.len() < 50, "{answer:?}");
    });
}

/// A bit of each part of what rank 1 sends: greeting, then records. No value of it is used.
#[test]
fn what_is_changed_on_the_way_is_noticed() {
    // Rank 0 waits for another rank 1, in vain.
    let short = JoinOptions {
        meeting_limit: Duration::from_secs(1),
        ..options()
    };
    let length = relayed(&options(), |_, _| ()).1[0].len();
    // Behind 16 bytes of name, 32 of challenge and 32 of proof come records.
    for at in [20, 50, 82, 90, 130, length - 40, length - 1] {
        let (outcomes, _) = relayed(&short, |start, piece| {
            if let Some(byte) = at.checked_sub(start).and_then(|at| piece.get_mut(at)) {
                *byte ^= 4;
            }
        });
        let [first, second] = outcomes;
        let (first, second) = (
            first.map_err(|e| e.to_string()),
            second.map_err(|e| e.to_string()),
        );
        let told = |outcome: &Result<_, String>| outcome.is_err();
        // The last record says that rank 1 has ended, after the data.
        assert!(
            told(&first) || told(&second) || at > length - 60,
            "{at}: {first:?} {second:?}"
        );
        for outcome in [first, second].into_iter().flatten() {
            assert_eq!(outcome, [[0], [1]], "{at}");
        }
    }
}

#[test]
fn another_jobs_secret_is_refused_and_the_job_goes_on() {
    job_goes_on(|port| {
        let other = with_secret("the secret of another job", job(1, 2, port));
        let outcomes = run(&[(other, options())], |_| Ok(()));
        let error = outcomes.into_iter().next().unwrap().unwrap_err();
        let expected = format!("rank 1: rank 0 at 127.0.0.1:{port} has refused its secret");
        assert_eq!(error.to_string(), expected);
        assert!(error.hint().unwrap().contains("BLOCKWISE_MESH_SECRET"));
    });
}

/// Rank 0 says who came instead.
#[test]
fn who_has_not_come_is_named_with_those_who_have() {
    let port = free_port();
    let alone = [(job(0, 2, port), in_vain())];
    let outcomes = std::thread::scope(|scope| {
        let host = scope.spawn(|| run(&alone, |_| Ok(())));
        let other = with_secret("the secret of another job", job(1, 2, port));
        run(&[(other, options())], |_| Ok(()));
        host.join().unwrap()
    });
    let error = outcomes
        .into_iter()
        .next()
        .unwrap()
        .unwrap_err()
        .to_string();
    let expected = "ranks [1] have not come within 0.2 s; 1 connections had another secret";
    assert_eq!(error, expected);
}

/// A process in rank 0's place learns nothing and convinces no rank, even if it repeats all that a
/// real rank 0 has sent.
#[test]
fn a_false_rank_0_is_noticed() {
    let (_, [_, recorded]) = relayed(&options(), |_, _| ());
    assert!(recorded.len() > 100);
    for answer in [
        recorded,
        [&MAGIC[..], &[9; 32], &[1], &[0; 32]].concat(),
        [&MAGIC[..], &[9; 32], &[1], &[0xFF; 4096]].concat(),
        b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n".to_vec(),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let error = std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.write_all(&answer);
                said(&mut stream)
            });
            let outcomes = run(&[(job(1, 2, port), options())], |_| Ok(()));
            outcomes.into_iter().next().unwrap().unwrap_err()
        });
        let error = error.to_string();
        let known = ["does not know the secret", "is no rank 0"];
        assert!(known.iter().any(|known| error.contains(known)), "{error}");
    }
}

/// Rank 0 binds to the address that the job names, and to no other.
#[test]
fn nobody_listens_elsewhere() {
    let port = free_port();
    let alone = [(job(0, 2, port), in_vain())];
    std::thread::scope(|scope| {
        let host = scope.spawn(|| run(&alone, |_| Ok(())));
        drop(connect(port));
        // The same port of another address of this machine.
        assert!(TcpStream::connect(("127.0.0.2", port)).is_err());
        host.join().unwrap();
    });
}

/// A job at sockets in a folder of its own, as its launcher starts it.
struct AtSockets {
    folder: tempfile::TempDir,
    port: u16,
}

impl AtSockets {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let port = free_port();
        Self { folder, port }
    }

    fn rank(&self, rank: usize, program: &str) -> Child {
        let mut own = variables("torchrun", rank, 2, self.port);
        own.push(("TMPDIR", self.folder.path().to_str().unwrap().to_owned()));
        start(program, &own)
    }

    fn private(&self) -> PathBuf {
        let own = rustix::process::geteuid().as_raw();
        self.folder.path().join(format!("blockwise-{own}"))
    }

    /// Where rank 0 listens.
    fn socket(&self) -> PathBuf {
        let key = format!("torchrun localhost:{} ", self.port);
        let usual = MeetingPlace::Machine { key }.to_string();
        self.private().join(Path::new(&usual).file_name().unwrap())
    }

    /// The socket, when rank 0 listens.
    fn wait(&self) -> PathBuf {
        let socket = self.socket();
        while !socket.exists() {
            std::thread::yield_now();
        }
        socket
    }

    /// Both ranks end well.
    #[track_caller]
    fn ends(first: Child, second: Child) {
        for child in [first, second] {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{output:?}");
        }
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// On one machine no port is open, only the user can enter the folder, and nothing is left there.
#[test]
fn a_job_of_one_machine_has_no_port() {
    let job = AtSockets::new();
    let first = job.rank(0, "once");
    job.wait();
    assert!(TcpStream::connect(("127.0.0.1", job.port)).is_err());
    let about = fs::metadata(job.private()).unwrap();
    assert_eq!(about.permissions().mode() & 0o777, 0o700);
    AtSockets::ends(first, job.rank(1, "once"));
    assert_eq!(fs::read_dir(job.private()).unwrap().count(), 0);
}

/// What a process of this user sends there may be anything, too.
#[test]
fn a_greeting_at_the_socket_may_be_anything() {
    let job = AtSockets::new();
    let first = job.rank(0, "once");
    let socket = job.wait();
    // A name of 2^64 - 1 bytes, and one whose end never comes.
    let oversized = [&MAGIC[..], &[1; 32], &u64::MAX.to_le_bytes(), b"test"].concat();
    let cut = [&MAGIC[..], &[1; 32], &200_u64.to_le_bytes(), b"test"].concat();
    let mut silent = Vec::new();
    for greeting in [b"GET / HTTP/1.1\r\n\r\n", &oversized[..], &cut] {
        let mut stranger = UnixStream::connect(&socket).unwrap();
        stranger.write_all(greeting).unwrap();
        match greeting == cut {
            true => silent.push(stranger),
            false => assert_eq!(said(&mut stranger), b""),
        }
    }
    AtSockets::ends(first, job.rank(1, "once"));
}

/// What another user does at a socket or in the place of one: the main program of a child.
pub(crate) fn another_user(what: &str, path: &str) {
    if what == "connect" {
        let mut stream = UnixStream::connect(path).expect("the socket can be reached");
        let hello = [&MAGIC[..], &[0; 8], &[1, 0, 0, 0, 0, 0, 0, 0]].concat();
        let _ = stream.write_all(&hello);
        println!("result {:?}", said(&mut stream));
    } else {
        let listener = UnixListener::bind(path).expect("the folder can be written");
        println!("listens");
        let (mut stream, _) = listener.accept().unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        println!("result {:?}", said(&mut stream));
    }
}

/// This program as another user, whom the system's rights would let in: the check of the other
/// end's user is what is tried. `None` where that is not root's to do.
fn as_nobody(folder: &Path, program: &str) -> Option<Child> {
    const NOBODY: u32 = 65_534;
    /// One copy at a time: this program is large.
    static COPYING: Mutex<()> = Mutex::new(());
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can start a process as another user");
        return None;
    }
    let exe = folder.join("exe");
    let copying = COPYING.lock().unwrap();
    fs::copy(std::env::current_exe().unwrap(), &exe).unwrap();
    drop(copying);
    mode(&exe, 0o755);
    let mut command = processes::command(&exe, program, &[]);
    Some(
        command
            .uid(NOBODY)
            .gid(NOBODY)
            .current_dir("/")
            .spawn()
            .unwrap(),
    )
}

#[test]
fn another_user_at_the_socket_is_turned_away() {
    let job = AtSockets::new();
    let first = job.rank(0, "once");
    let socket = job.wait();
    mode(&job.private(), 0o755);
    mode(&socket, 0o777);
    let stranger = as_nobody(job.folder.path(), &format!("connect:{}", socket.display()));
    if let Some(stranger) = stranger {
        let output = stranger.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(processes::results(&output), ["result []"]);
    }
    mode(&job.private(), 0o700);
    AtSockets::ends(first, job.rank(1, "once"));
}

#[test]
fn another_users_socket_is_not_taken_for_rank_0() {
    let job = AtSockets::new();
    let (private, socket) = (job.private(), job.socket());
    fs::create_dir(&private).unwrap();
    mode(&private, 0o777);
    let Some(mut stranger) = as_nobody(job.folder.path(), &format!("listen:{}", socket.display()))
    else {
        return;
    };
    while !socket.exists() {
        assert!(stranger.try_wait().unwrap().is_none(), "it has ended");
        std::thread::yield_now();
    }
    mode(&private, 0o700);
    let output = job.rank(1, "few").wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("is another user's"), "{error}");
    let output = stranger.wait_with_output().unwrap();
    // It has heard nothing.
    assert_eq!(processes::results(&output), ["result []"]);
}
