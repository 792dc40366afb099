//! The extension for VS Code in a new project, and the configurations beside it.

use std::fs;
use std::io::BufReader;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::command::blockwise;
use crate::debug::{PTX, expect, send};

/// What VS Code itself reads of every debug configuration: texts, and the port of a debugger that
/// runs already.
const OF_EVERY_DEBUGGER: [&str; 4] = ["name", "type", "request", "debugServer"];

fn template(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = folder
        .join("../crates/blockwise_new/template/.vscode")
        .join(name);
    let text = fs::read_to_string(file).unwrap();
    // VS Code allows comments in it.
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    serde_json::from_str(&lines.collect::<Vec<_>>().join("\n")).unwrap()
}

/// The types and the attributes of a configuration are those that the project's extension declares,
/// and VS Code underlines every other.
#[test]
fn the_template_is_a_configuration_of_its_extension() {
    let extension = template("extensions/blockwise/package.json");
    let contributed = &extension["contributes"]["debuggers"][0];
    // With a `runtime` and no `program`, VS Code starts the command that it finds on the PATH.
    assert_eq!(contributed["runtime"], "blockwise");
    assert_eq!(contributed["runtimeArgs"], json!(["debug"]));
    assert!(contributed.get("program").is_none() && extension.get("main").is_none());
    for name in ["name", "publisher", "version"] {
        assert!(extension[name].is_string(), "{name}");
    }
    assert!(extension["engines"]["vscode"].is_string());
    let launch = template("launch.json");
    assert_eq!(launch["version"], "0.2.0");
    // At a port the token is asked for, and each input that is named is one.
    let input = &launch["inputs"][0];
    assert_eq!(
        (&input["id"], &input["type"]),
        (&json!("token"), &json!("promptString"))
    );
    for configuration in launch["configurations"].as_array().unwrap() {
        let token = configuration
            .get("debugServer")
            .map(|_| json!("${input:token}"));
        assert_eq!(configuration.get("token"), token.as_ref());
        assert_eq!(configuration["type"], contributed["type"]);
        let request = configuration["request"].as_str().unwrap();
        let properties = &contributed["configurationAttributes"][request]["properties"];
        let fits = |value: &Value, ty: &str| match ty {
            "string" => value.is_string(),
            "integer" => value.is_u64(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            _ => value.is_object(),
        };
        for (name, value) in configuration.as_object().unwrap() {
            if OF_EVERY_DEBUGGER.contains(&name.as_str()) {
                assert!(value.is_string() || name == "debugServer", "{name}");
                continue;
            }
            let ty = properties[name]["type"].as_str();
            assert!(
                ty.is_some_and(|ty| fits(value, ty)),
                "{name}: {value} is no {ty:?}"
            );
        }
    }
}

/// The attributes that the extension declares are those that `--help` describes, and the launch
/// request accepts them.
#[test]
fn the_extension_declares_what_a_launch_takes() {
    let extension = template("extensions/blockwise/package.json");
    let attributes = &extension["contributes"]["debuggers"][0]["configurationAttributes"];
    let declared = attributes["launch"]["properties"].as_object().unwrap();
    let mut declared: Vec<&str> = declared.keys().map(String::as_str).collect();
    declared.sort();
    let help = crate::command::Run::of(&mut blockwise(["debug", "--help"])).ends(0);
    let (_, request) = help.stdout.split_once("launch request").unwrap();
    let words = request.split('"').skip(1).step_by(2);
    let described = words.zip(request.split('"').skip(2).step_by(2));
    let mut described: Vec<&str> = described
        .filter(|(word, after)| after.starts_with(':') && *word != "tile")
        .map(|(word, _)| word)
        .collect();
    described.sort();
    assert_eq!(declared, described);

    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.ptx"), PTX).unwrap();
    let mut child = blockwise(["debug"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut output, input) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut input = BufReader::new(input);
    send(&mut output, 1, "initialize", json!({}));
    // As VS Code sends it, with what it adds itself.
    let launch = json!({
        "name": "k", "type": "blockwise", "request": "launch", "__sessionId": "1", "cwd": folder.path(), "ptx": "k.ptx",
        "kernel": "exchange", "grid": [1, 1, 1], "block": [64], "shared": 0, "steps": 1000, "args": ["f32[64]=zeros"], "seed": 3,
        "types": { "y": "u32" }, "stopOnEntry": true, "token": "of no port",
    });
    send(&mut output, 2, "launch", launch);
    let launched = expect(&mut input, "launch");
    assert_eq!(launched["success"], true, "{launched}");
    send(&mut output, 3, "disconnect", json!({}));
    expect(&mut input, "disconnect");
    drop(output);
    assert!(child.wait().unwrap().success());
}
