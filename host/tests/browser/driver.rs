//! A browser that the tests drive: the few requests of WebDriver that they need, over a plain
//! connection to chromedriver.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// An open page.
pub(crate) struct Browser {
    port: u16,
    session: String,
    driver: Child,
}

impl Browser {
    /// Starts a browser without a screen; `None` where there is none.
    pub(crate) fn start() -> Option<Self> {
        // It takes a free port and names it; one chosen here could be another test's by then.
        let driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut driver) = driver else {
            println!("skipped: no chromedriver here; `cargo xtask setup --browser` installs it");
            return None;
        };
        let output = driver.stdout.take().expect("its output");
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let port = lines.find_map(|line| {
            let (_, port) = line.split_once("successfully on port ")?;
            port.trim_end_matches('.').parse().ok()
        });
        let mut browser = Self {
            port: port.expect("chromedriver names its port"),
            session: String::new(),
            driver,
        };
        std::thread::spawn(move || lines.for_each(drop));
        let options = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--window-size=1500,1800",
        ];
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:loggingPrefs": { "performance": "ALL", "browser": "ALL" },
            "goog:chromeOptions": { "args": options },
        } } });
        let answer = browser.request("POST", "/session", &wanted);
        browser.session = answer["sessionId"].as_str().expect("a session").to_owned();
        Some(browser)
    }

    /// Opens a file and waits until its launches are shown.
    pub(crate) fn open(&self, page: &Path, fragment: &str) {
        // Another fragment alone would not load the page again.
        self.session_request("POST", "/url", &json!({ "url": "about:blank" }));
        let url = format!("file://{}{fragment}", page.display());
        self.session_request("POST", "/url", &json!({ "url": url }));
        let start = Instant::now();
        while self
            .run("return document.documentElement.dataset.opened || null")
            .is_null()
        {
            assert!(
                start.elapsed() < Duration::from_secs(120),
                "the page does not open"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Runs JavaScript in the page; what it returns.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.session_request(
            "POST",
            "/execute/sync",
            &json!({ "script": script, "args": [] }),
        )
    }

    /// The text of what a selector finds.
    pub(crate) fn text(&self, selector: &str) -> String {
        let value = self.run(&format!(
            "return document.querySelector({selector:?})?.innerText ?? ''"
        ));
        value.as_str().unwrap_or_default().to_owned()
    }

    /// Presses keys, as a person does.
    pub(crate) fn keys(&self, keys: &str) {
        let actions = keys.chars().flat_map(|key| {
            let press = |kind: &str| json!({ "type": kind, "value": key.to_string() });
            [press("keyDown"), press("keyUp")]
        });
        let keyboard =
            json!({ "type": "key", "id": "keyboard", "actions": actions.collect::<Vec<_>>() });
        self.session_request("POST", "/actions", &json!({ "actions": [keyboard] }));
    }

    /// Makes the window so large.
    pub(crate) fn resize(&self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height });
        self.session_request("POST", "/window/rect", &size);
    }

    /// The addresses that the page asked for over the network since the last call.
    pub(crate) fn requests(&self) -> Vec<String> {
        let log = self.session_request("POST", "/se/log", &json!({ "type": "performance" }));
        let entries = log.as_array().cloned().unwrap_or_default().into_iter();
        let messages = entries.filter_map(|entry| {
            let message: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let message = &message["message"];
            let sent = message["method"] == "Network.requestWillBeSent";
            let url = message["params"]["request"]["url"].as_str()?;
            sent.then(|| url.to_owned())
        });
        messages.collect()
    }

    /// Keeps a picture of the page.
    pub(crate) fn picture(&self, name: &str) {
        let picture = self.session_request("GET", "/screenshot", &Value::Null);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../trace");
        std::fs::create_dir_all(&folder).expect("a folder for pictures");
        let text = picture.as_str().expect("a picture");
        std::fs::write(folder.join(format!("{name}.png")), decode(text)).expect("a picture");
    }

    fn session_request(&self, method: &str, path: &str, body: &Value) -> Value {
        self.request(method, &format!("/session/{}{path}", self.session), body)
    }

    fn request(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("chromedriver");
        let (port, length) = (self.port, body.len());
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .expect("a request");
        let mut stream = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).expect("a header");
            if let Some(("content-length", value)) = line.to_lowercase().split_once(':') {
                length = value.trim().parse().expect("a length");
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut answer = vec![0; length];
        stream.read_exact(&mut answer).expect("an answer");
        let answer: Value = serde_json::from_slice(&answer).expect("JSON");
        let value = answer["value"].clone();
        assert!(value.get("error").is_none(), "{path}: {value}");
        value
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            self.session_request("DELETE", "", &Value::Null);
        }
        // It may have ended by itself.
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// The bytes of base64.
pub(crate) fn decode(text: &str) -> Vec<u8> {
    let value = |digit: u8| match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text
        .bytes()
        .filter(|&digit| digit != b'=')
        .map(value)
        .collect();
    let mut bytes = Vec::new();
    for group in digits.chunks(4) {
        let bits = group
            .iter()
            .fold(0_u32, |bits, &digit| bits << 6 | u32::from(digit));
        let bits = bits << (6 * (4 - group.len()));
        bytes.extend(&bits.to_be_bytes()[1..group.len()]);
    }
    bytes
}
