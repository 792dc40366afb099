//! Choices that `blockwise tune --save` wrote: used for their own device, mentioned when broken.

use std::path::Path;

use crate::command::{Run, blockwise, npy, vector};

/// What `conv` with these saved choices says: its JSON and its notices.
fn chosen(folder: &Path, saved: &str) -> (serde_json::Value, String) {
    let file = folder.join("tuning.txt");
    std::fs::write(&file, saved).expect("a file");
    let [x, taps, y] = ["x.npy", "taps.npy", "y.npy"].map(|name| folder.join(name));
    std::fs::write(&x, vector(&[1.0; 1000])).expect("a file");
    std::fs::write(&taps, vector(&[0.5; 9])).expect("a file");
    let mut command = blockwise(["--json", "conv"]);
    command.args([&x, &taps]).arg("-o").arg(&y);
    let run = Run::of(command.env("BLOCKWISE_TUNING", &file)).ends(0);
    (run.json()["choice"].clone(), run.stderr)
}

#[test]
fn a_saved_choice_is_used_on_its_device_only_and_a_broken_line_is_mentioned() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let (choice, _) = chosen(at, "");
    assert_eq!(
        (&choice["kernel"], &choice["by"]),
        (&"tiled".into(), &"model".into())
    );

    let device = emulator();
    let saved = format!("[{device}]\nconv-same f64 900x10 direct\n");
    let (choice, notices) = chosen(at, &saved);
    assert_eq!(
        (&choice["kernel"], &choice["by"]),
        (&"direct".into(), &"tuning".into())
    );
    assert!(
        notices.contains("kernels for 1 sizes as saved in"),
        "{notices}"
    );

    let foreign = saved.replace("132", "133");
    let (choice, notices) = chosen(at, &foreign);
    assert_eq!(choice["by"], "model", "of another device");
    assert!(!notices.contains("saved"), "{notices}");

    let (choice, notices) = chosen(at, &format!("{saved}conv-same f64 many direct\n"));
    assert_eq!(choice["by"], "tuning", "the other line holds");
    assert!(notices.contains("tuning.txt:3: "), "{notices}");
    assert!(notices.contains("delete the file"), "{notices}");

    let file = at.join("tuning.txt");
    std::fs::write(&file, &saved).expect("a file");
    let mut forget = blockwise(["tune", "--forget"]);
    Run::of(forget.env("BLOCKWISE_TUNING", &file)).ends(0);
    let left = std::fs::read_to_string(&file).expect("a file");
    assert!(!left.contains("direct"), "{left}");
}

/// 10¹⁶ + 1 − 10¹⁶ + 1 is 1 in this order, as the naive kernel adds, and 0 by packs of two.
#[test]
fn a_saved_kernel_multiplies() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name| folder.path().join(name);
    let row: Vec<f64> = [1e16, 1.0, -1e16, 1.0]
        .into_iter()
        .chain([0.0; 44])
        .collect();
    for (name, shape, values) in [
        ("a.npy", "(1, 48)", &row[..]),
        ("b.npy", "(48, 1)", &[1.0; 48]),
    ] {
        let data: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        std::fs::write(at(name), npy("'<f8'", "False", shape, &data)).expect("a file");
    }
    for (rule, expected) in [("", 0.0_f64), ("matmul f64 1x50x1 naive\n", 1.0)] {
        let saved = format!("[{}]\n{rule}", emulator());
        std::fs::write(at("tuning.txt"), saved).expect("a file");
        let mut command = blockwise(["matmul"]);
        command
            .args([at("a.npy"), at("b.npy")])
            .arg("-o")
            .arg(at("c.npy"));
        Run::of(command.env("BLOCKWISE_TUNING", at("tuning.txt"))).ends(0);
        let c = std::fs::read(at("c.npy")).expect("a file");
        assert!(c.ends_with(&expected.to_le_bytes()), "{rule:?}");
    }
}

/// As every output of the command.
#[cfg(unix)]
#[test]
fn the_file_is_written_through_a_link_and_nothing_beside_it_is_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name| folder.path().join(name);
    let saved = format!("[{}]\nconv-same f64 900x10 direct\n", emulator());
    for (name, text) in [("real.txt", &*saved), ("link.new", "mine")] {
        std::fs::write(at(name), text).expect("a file");
    }
    std::os::unix::fs::symlink("real.txt", at("link.txt")).expect("a link");
    let mut forget = blockwise(["tune", "--forget"]);
    Run::of(forget.env("BLOCKWISE_TUNING", at("link.txt"))).ends(0);
    let text = |name| std::fs::read_to_string(at(name)).expect("a file");
    assert!(!text("real.txt").contains("direct"), "{}", text("real.txt"));
    assert!(at("link.txt").is_symlink());
    assert_eq!(text("link.new"), "mine");
}

/// The emulator, as the file names it.
fn emulator() -> String {
    let device = blockwise::Device::emulator();
    let properties = device.properties();
    format!("{}, 132 multiprocessors", properties.name)
}
