//! Whatever a client sends, the session answers or ends; it never panics.

use crate::common::{Client, FILE, replay};
use serde_json::{Value, json};

#[test]
fn requests_that_make_no_sense_get_an_error() {
    let mut client = Client::connect();
    for command in ["threads", "continue", "setBreakpoints", "stackTrace"] {
        assert_eq!(client.refused(command, json!({})), "nothing was launched");
    }
    assert!(
        client
            .refused("launch", json!({ "refuse": "no such kernel" }))
            .contains("no such kernel")
    );
    client.ask("initialize", json!({}));
    client.ask("launch", json!({}));
    client.configured();
    let before = client.step();
    for (command, arguments) in [
        ("nonsense", json!({})),
        ("stackTrace", json!({})),
        ("stackTrace", json!({ "threadId": "one" })),
        ("stackTrace", json!({ "threadId": i64::MAX })),
        ("stackTrace", json!({ "threadId": i64::MIN })),
        ("scopes", json!({ "frameId": i64::MAX })),
        ("scopes", json!({ "frameId": -5 })),
        ("variables", json!({ "variablesReference": i64::MIN })),
        ("variables", json!({ "variablesReference": 77 })),
        ("variables", json!(null)),
        ("evaluate", json!({})),
        ("evaluate", json!({ "expression": "" })),
        ("evaluate", json!({ "expression": "output[" })),
        (
            "evaluate",
            json!({ "expression": "output[99999999999999999999999999]" }),
        ),
        ("evaluate", json!({ "expression": "output[-1]" })),
        ("evaluate", json!({ "expression": "nobody" })),
        ("evaluate", json!({ "expression": "goto nowhere" })),
        ("setBreakpoints", json!({ "breakpoints": [{ "line": 1 }] })),
        (
            "setBreakpoints",
            json!({ "source": { "path": FILE }, "breakpoints": [{ "line": -1 }] }),
        ),
        ("setDataBreakpoints", json!({ "breakpoints": 3 })),
        ("setExceptionBreakpoints", json!([])),
        ("next", json!({ "threadId": 0 })),
        ("stepBack", json!([1])),
    ] {
        let problem = client.refused(command, arguments.clone());
        assert!(!problem.is_empty(), "{command} {arguments}");
    }
    assert_eq!(client.step(), before);
    client.hang_up().expect("it ends well");
}

#[test]
fn breakpoints_that_cannot_be_are_not_verified() {
    let mut client = Client::launched(json!({}));
    let set = json!({ "source": { "path": FILE }, "breakpoints": [
        { "line": 33, "condition": "lane =" }, { "line": 4_000_000_000_u32 }, { "line": 33, "condition": " " },
        { "line": 33, "condition": "tile[nobody] == 1" },
    ] });
    let set = client.ask("setBreakpoints", set);
    let verified: Vec<&Value> = set["breakpoints"]
        .as_array()
        .expect("all")
        .iter()
        .map(|one| &one["verified"])
        .collect();
    assert_eq!(verified, [false, false, true, false]);
    let other =
        json!({ "source": { "path": "/elsewhere/main.rs" }, "breakpoints": [{ "line": 33 }] });
    assert_eq!(
        client.ask("setBreakpoints", other)["breakpoints"][0]["verified"],
        false
    );
    for data in ["", "global:0", "shared:0:0:99999999999999", "moon:0:0:4"] {
        let set = json!({ "breakpoints": [{ "dataId": data }] });
        assert_eq!(
            client.ask("setDataBreakpoints", set)["breakpoints"][0]["verified"],
            false,
            "{data}"
        );
    }
    for name in [
        "output",
        "output[512]",
        "nobody[0]",
        "%r1",
        "output[%r1",
        "3",
    ] {
        let info = client.ask("dataBreakpointInfo", json!({ "name": name }));
        assert_eq!(info["dataId"], Value::Null, "{info}");
    }
    // Bytes at the end of the address space overlap nothing, and wrap around to nothing.
    let end = json!({ "breakpoints": [{ "dataId": format!("global:0:{}:{}", u64::MAX, u32::MAX), "accessType": "readWrite" }] });
    assert_eq!(
        client.ask("setDataBreakpoints", end)["breakpoints"][0]["verified"],
        true
    );
    client.configured();
    client.ask("setBreakpoints", json!({ "source": { "path": FILE } }));
    assert_eq!(
        client.moves("continue", json!({}))["text"],
        "the end of the launch"
    );
    client.hang_up().expect("it ends well");
}

#[test]
fn what_is_no_message_is_answered_or_ends_the_session() {
    let mut client = Client::launched(json!({}));
    for text in [
        "{",
        "[]",
        "3",
        "\"initialize\"",
        "{\"seq\": 9}",
        "{\"seq\": \"x\", \"command\": \"threads\"}",
    ] {
        client.message(text);
        let answer = client.answer();
        assert_eq!(answer["success"], false, "{answer}");
    }
    client.message("{\"seq\": 9, \"command\": 5}");
    assert_eq!(client.answer()["request_seq"], 9);
    // The session still works.
    client.configured();
    client.hang_up().expect("it ends well");

    for bytes in [
        &b"Content-Length: 99999999999\r\n\r\n"[..],
        b"Content-Length: 1048577\r\n\r\n",
        b"Content-Length: 18446744073709551616\r\n\r\n",
        b"Content-Length: x\r\n\r\n{}",
        b"Content-Length: -1\r\n\r\n{}",
        b"Content-Length: 2 2\r\n\r\n{}",
        b"Content-Length:\r\n\r\n{}",
        b"\xff\xfe\x00\r\n",
        b"\r\n",
    ] {
        let mut client = Client::launched(json!({}));
        client.bytes(bytes);
        assert!(client.hang_up().is_err(), "{bytes:?}");
    }
    // A message that is cut off.
    let mut client = Client::launched(json!({}));
    client.bytes(b"Content-Length: 100\r\n\r\n{\"seq\"");
    assert!(client.hang_up().is_err());
}

/// A request that a web page could make a browser send to a local port ends the session at the
/// first byte that does not belong to a header: no body is read, and the end of the line is not
/// waited for.
#[test]
fn requests_of_other_protocols_end_the_session_before_their_first_line_does() {
    let launch = r#"{"seq":1,"type":"request","command":"launch","arguments":{}}"#;
    let hidden = format!("Content-Length: {}\r\n\r\n{launch}", launch.len());
    for start in [
        "POST /a:b HTTP/1.1\r\nHost: evil.example:4711\r\n\r\n",
        "POST /a:b",
        "G",
        "OPTIONS * HTTP/1.1\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "Host: localhost\r\n",
        "Content-Type: application/json\r\n",
        "Content-Lengthy: 2\r\n",
        " Content-Length: 2\r\n",
        "\u{16}\u{3}\u{1}",
    ] {
        // With its end, and without: the client waits for an answer.
        for text in [format!("{start}{hidden}"), start.to_owned()] {
            let mut client = Client::connect();
            client.bytes(text.as_bytes());
            assert_eq!(client.read(), None, "{text}");
        }
    }
    // Another line after the header, and one that never ends.
    for text in [
        "Content-Length: 2\r\nHost: localhost\r\n\r\n{}".to_owned(),
        "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}".to_owned(),
        "Content-Length: 2\r\r".to_owned(),
        format!("Content-Length: {}", "0".repeat(64)),
    ] {
        let mut client = Client::connect();
        client.bytes(text.as_bytes());
        assert_eq!(client.read(), None, "{text}");
    }
}

#[test]
fn without_the_token_nothing_is_launched() {
    const TOKEN: &str = "0123456789abcdef";
    let longer = format!("{TOKEN}0");
    for command in ["launch", "attach"] {
        for (arguments, why) in [
            (json!({}), "needs the field `token`"),
            (json!(null), "needs the field `token`"),
            (json!({ "token": 123 }), "needs the field `token`"),
            (json!({ "token": null }), "needs the field `token`"),
            (json!({ "token": [TOKEN] }), "needs the field `token`"),
            (json!({ "token": "" }), "is not the one"),
            (json!({ "token": "0123456789abcdeF" }), "is not the one"),
            (json!({ "token": TOKEN[1..] }), "is not the one"),
            (json!({ "token": longer }), "is not the one"),
        ] {
            // A loader that was asked would have refused it in its own words.
            let mut arguments = arguments;
            if let Some(arguments) = arguments.as_object_mut() {
                arguments.insert("refuse".to_owned(), "the loader was asked".into());
            }
            let mut client = Client::knowing(replay, Some(TOKEN));
            client.ask("initialize", json!({}));
            assert_eq!(client.refused("threads", json!({})), "nothing was launched");
            let problem = client.refused(command, arguments.clone());
            assert!(problem.contains(why), "{command} {arguments}: {problem}");
            assert_eq!(client.event()["event"], "terminated");
            assert_eq!(client.read(), None);
        }
    }
    let mut client = Client::knowing(replay, Some(TOKEN));
    client.ask("initialize", json!({}));
    let attached = client.refused("attach", json!({ "token": TOKEN }));
    assert!(attached.contains("nothing to attach to"), "{attached}");
    client.ask("launch", json!({ "token": TOKEN }));
    client.configured();
    client.hang_up().expect("it ends well");
}
