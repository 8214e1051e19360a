//! The URL of `loadgen run`: taken apart, and the request target sent as it was written.
//!
//! Not a WHATWG parser, which would tidy paths (`/a/../b`): a load generator sends what it was
//! given. Only what cannot stand in a request line is changed: spaces and non-ASCII are
//! percent-encoded (UTF-8, RFC 3986 section 2.1), the fragment is dropped (RFC 9110 section 4.2.3).

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv6Addr};

/// A URL taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Url {
    /// `https`.
    pub(super) tls: bool,
    /// Host name, or an address without brackets.
    pub(super) host: String,
    /// Port, given or the scheme's default.
    pub(super) port: u16,
    /// Value of `Host`: with the port unless it is the scheme's default.
    pub(super) authority: String,
    /// Request target in origin form (RFC 9112 section 3.2.1).
    pub(super) target: String,
    /// `user:password`, percent-decoded, as for `Authorization: Basic`.
    pub(super) credentials: Option<Vec<u8>>,
}

/// A URL that cannot be loaded: what is wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct UrlError(String);

impl Url {
    /// Takes `text` apart.
    pub(super) fn parse(text: &str) -> Result<Self, UrlError> {
        if let Some(control) = text.chars().find(char::is_ascii_control) {
            return Err(wrong(format!("the URL holds the control character {control:?}")));
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(wrong(format!("`{text}` has no scheme: try http://{text}")));
        };
        let tls = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return Err(wrong(format!("scheme `{scheme}` is not http or https"))),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        let (credentials, host_and_port) = match authority.rsplit_once('@') {
            Some((credentials, host)) => (Some(credentials), host),
            None => (None, authority),
        };
        let (host, port) = host_and_port_of(host_and_port, text)?;
        let default_port = if tls { 443 } else { 80 };
        let port = port.unwrap_or(default_port);
        let mut authority = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        if port != default_port {
            authority = format!("{authority}:{port}");
        }
        let target = origin_form(target);
        let credentials = credentials.map(basic_credentials).transpose()?;
        Ok(Self { tls, host, port, authority, target, credentials })
    }

    /// The URL for messages and results: as understood, without credentials.
    pub(super) fn display(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}{}", self.authority, self.target)
    }

    /// The host as an address, if it is one.
    pub(super) fn ip(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }
}

fn wrong(text: impl Into<String>) -> UrlError {
    UrlError(text.into())
}

fn host_and_port_of(text: &str, url: &str) -> Result<(String, Option<u16>), UrlError> {
    let (host, port) = if let Some(bracketed) = text.strip_prefix('[') {
        let (host, rest) = bracketed
            .split_once(']')
            .ok_or_else(|| wrong(format!("`{text}` lacks the closing bracket of [IPv6]")))?;
        host.parse::<Ipv6Addr>()
            .map_err(|_| wrong(format!("`[{host}]` is not an IPv6 address such as [::1]")))?;
        match rest.strip_prefix(':') {
            Some(port) => (host, port),
            None if rest.is_empty() => (host, ""),
            None => return Err(wrong(format!("`{rest}` after the address is not :PORT"))),
        }
    } else {
        let (host, port) = text.split_once(':').unwrap_or((text, ""));
        if port.contains(':') {
            return Err(wrong(format!("an IPv6 address is written in brackets: [{text}]")));
        }
        check_name(host, url)?;
        (host, port)
    };
    if port.is_empty() {
        return Ok((host.to_owned(), None));
    }
    let number = Some(port).filter(|port| port.bytes().all(|b| b.is_ascii_digit()));
    match number.and_then(|port| port.parse().ok()) {
        Some(number) if number != 0 => Ok((host.to_owned(), Some(number))),
        _ => Err(wrong(format!("port `{port}` is not between 1 and 65535"))),
    }
}

fn check_name(host: &str, url: &str) -> Result<(), UrlError> {
    if host.is_empty() {
        return Err(wrong(format!("`{url}` has no host: expected http://HOST[:PORT]/PATH")));
    }
    if !host.is_ascii() {
        return Err(wrong(format!("host `{host}` is not ASCII: write it in its xn-- form")));
    }
    match host.chars().find(|c| !c.is_ascii_alphanumeric() && !"-._~".contains(*c)) {
        Some(c) => Err(wrong(format!("host `{host}` holds {c:?}, which no host name can"))),
        None => Ok(()),
    }
}

/// The target as it goes on the wire: a path, and the query if there is one.
fn origin_form(text: &str) -> String {
    let text = text.split_once('#').map_or(text, |(target, _fragment)| target);
    let mut target = String::with_capacity(text.len() + 1);
    if !text.starts_with('/') {
        target.push('/');
    }
    for byte in text.bytes() {
        if byte.is_ascii_graphic() {
            target.push(char::from(byte));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(target, "%{byte:02X}");
        }
    }
    target
}

/// As curl: `user`, `user:` and `user:password` are sent as `Authorization: Basic`.
fn basic_credentials(text: &str) -> Result<Vec<u8>, UrlError> {
    let mut bytes = Vec::with_capacity(text.len() + 1);
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next(), rest.next()];
        let value = digits.iter().try_fold(0, |value, digit| {
            Some(value * 16 + char::from((*digit)?).to_digit(16)? as u8)
        });
        bytes.push(value.ok_or_else(|| wrong("`%` before @ is not followed by two digits"))?);
    }
    if !text.contains(':') {
        bytes.push(b':');
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Url {
        Url::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn targets_are_sent_as_written() {
        for (url, target) in [
            ("http://h:8000", "/"),
            ("http://h:8000?a=1", "/?a=1"),
            ("http://h/p?a=b#frag", "/p?a=b"),
            ("http://h#frag", "/"),
            ("http://h/münchen", "/m%C3%BCnchen"),
            ("http://h/?family=A|B", "/?family=A|B"),
            ("http://h/a b", "/a%20b"),
            ("http://h/a/../b/./c//d", "/a/../b/./c//d"),
            ("http://h/%7e%zz?q='<\">{seq}", "/%7e%zz?q='<\">{seq}"),
            ("http://h/p?u=http://x:1/@y", "/p?u=http://x:1/@y"),
        ] {
            assert_eq!(parsed(url).target, target, "{url}");
        }
    }

    #[test]
    fn the_authority_has_a_port_unless_it_is_the_default() {
        for (url, authority, port, host) in [
            ("http://h", "h", 80, "h"),
            ("http://h:80/", "h", 80, "h"),
            ("https://h", "h", 443, "h"),
            ("HTTPS://h:80/", "h:80", 80, "h"),
            ("http://h:/", "h", 80, "h"),
            ("http://[::1]:3000/", "[::1]:3000", 3000, "::1"),
            ("https://[2001:db8::1]", "[2001:db8::1]", 443, "2001:db8::1"),
            ("http://127.0.0.1:65535", "127.0.0.1:65535", 65535, "127.0.0.1"),
        ] {
            let url = parsed(url);
            assert_eq!((&*url.authority, url.port, &*url.host), (authority, port, host));
        }
    }

    #[test]
    fn credentials_are_decoded_and_not_shown() {
        let url = parsed("http://u:p%40ss@h/x");
        assert_eq!(url.credentials.as_deref(), Some(&b"u:p@ss"[..]));
        assert_eq!(url.display(), "http://h/x");
        assert_eq!(parsed("http://u@h/").credentials.as_deref(), Some(&b"u:"[..]));
        assert_eq!(parsed("http://h/").credentials, None);
    }

    #[test]
    fn bad_urls_are_one_line_that_helps() {
        for (url, part) in [
            ("htt", "try http://htt"),
            ("localhost:8000", "try http://localhost:8000"),
            ("", "no scheme"),
            ("ftp://h/", "not http or https"),
            ("://h/", "not http or https"),
            ("http://h:99999/", "between 1 and 65535"),
            ("http://h:0/", "between 1 and 65535"),
            ("http://h:+80/", "between 1 and 65535"),
            ("http://h:80a/", "between 1 and 65535"),
            ("http:///x", "no host"),
            ("http://:80/", "no host"),
            ("http://", "no host"),
            ("http://u:p@/", "no host"),
            ("http://a b/", "holds ' '"),
            ("http://h\\x/", "holds '\\\\'"),
            ("http://münchen/", "xn--"),
            ("http://::1/", "brackets"),
            ("http://[::1/", "closing bracket"),
            ("http://[::g]/", "not an IPv6 address"),
            ("http://[::1]x/", "not :PORT"),
            ("http://u%zz@h/", "two digits"),
            ("http://u%4@h/", "two digits"),
            ("http://h/a\r\nX: y", "control character"),
            ("http://h/\0", "control character"),
        ] {
            let error = Url::parse(url).expect_err(url).to_string();
            assert!(error.contains(part), "{url}: {error}");
            assert!(!error.contains('\n'), "{url}");
        }
    }
}
