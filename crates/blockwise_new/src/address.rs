//! Addresses of repositories. The build script has this module too.

/// Whoever installs with a password in the address does not want it in a project's manifest. A name
/// without one stays where hosts ask for it: `ssh://git@HOST`.
pub(crate) fn without_secret(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = match host.rsplit_once('@') {
        Some((user, host)) if scheme == "ssh" => {
            let name = user.split(':').next().unwrap_or_default();
            format!("{name}@{host}")
        }
        Some((_, host)) => host.to_owned(),
        None => host.to_owned(),
    };
    format!("{scheme}://{host}/{path}")
}
