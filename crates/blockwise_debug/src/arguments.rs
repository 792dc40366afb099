//! The request arguments that this debugger uses.

use crate::wire::Request;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The arguments of a request.
pub(crate) fn parse<T: DeserializeOwned>(request: &Request) -> Result<T, String> {
    // Serde would read a list as the fields in order.
    if !request.arguments.is_object() {
        return Err(format!("`{}` has no arguments by name", request.command));
    }
    T::deserialize(&request.arguments).map_err(|error| format!("`{}`: {error}", request.command))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfThread {
    pub(crate) thread_id: i64,
    #[serde(default)]
    pub(crate) granularity: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StackTrace {
    pub(crate) thread_id: i64,
    #[serde(default)]
    pub(crate) start_frame: usize,
    #[serde(default)]
    pub(crate) levels: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Scopes {
    pub(crate) frame_id: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Variables {
    pub(crate) variables_reference: i64,
    #[serde(default)]
    pub(crate) start: u64,
    #[serde(default)]
    pub(crate) count: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Evaluate {
    pub(crate) expression: String,
    #[serde(default)]
    pub(crate) frame_id: Option<i64>,
    /// What asks: `repl` is the console, `watch` and others only look.
    #[serde(default)]
    pub(crate) context: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct SetBreakpoints {
    pub(crate) source: Source,
    #[serde(default)]
    pub(crate) breakpoints: Vec<SourceBreakpoint>,
}

#[derive(Deserialize)]
pub(crate) struct Source {
    pub(crate) path: String,
}

#[derive(Deserialize)]
pub(crate) struct SourceBreakpoint {
    pub(crate) line: u32,
    #[serde(default)]
    pub(crate) condition: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct SetExceptionBreakpoints {
    pub(crate) filters: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DataBreakpointInfo {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) variables_reference: Option<i64>,
    #[serde(default)]
    pub(crate) frame_id: Option<i64>,
}

#[derive(Deserialize)]
pub(crate) struct SetDataBreakpoints {
    pub(crate) breakpoints: Vec<DataBreakpoint>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DataBreakpoint {
    pub(crate) data_id: String,
    #[serde(default)]
    pub(crate) access_type: Option<String>,
}
