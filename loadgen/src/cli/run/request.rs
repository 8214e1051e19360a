//! The request of `loadgen run`: headers and body, checked before the first byte is sent.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::args::Args;
use super::url::Url;
use crate::cli::units::is_token;
use crate::engine::{Body, Framing, RequestSpec, Template};

/// The request that `args` describe, and whether it has placeholders.
pub(super) fn request(args: &Args, url: &Url) -> anyhow::Result<(RequestSpec, bool)> {
    let body = body(args)?;
    let has_body = args.body.is_some() || args.body_file.is_some();
    let method =
        args.method.clone().unwrap_or_else(|| if has_body { "POST" } else { "GET" }.into());
    let headers = headers(args, url)?;
    let mut placeholders = false;
    let mut template = |what: &str, text: &str| {
        let template = Template::parse(text).with_context(|| format!("in {what}"))?;
        placeholders |= template.as_literal().is_none();
        anyhow::Ok(template)
    };
    let path = template("the URL", &url.target)?;
    let headers = headers
        .into_iter()
        .map(|(name, value)| {
            let value = template(&format!("header `{name}`"), &value)?;
            Ok((name, value))
        })
        .collect::<anyhow::Result<_>>()?;
    let body = match body {
        Some(Given::Text(text)) => Body::Template(template("the body", &text)?, framing(args)),
        Some(Given::Bytes(bytes)) => Body::Fixed(bytes, framing(args)),
        // These methods announce that there is no body (RFC 9110 section 8.6).
        None if ["POST", "PUT", "PATCH"].contains(&&*method) => {
            Body::Fixed(Arc::from([]), Framing::ContentLength)
        }
        None => Body::None,
    };
    Ok((RequestSpec { method, path, headers, body }, placeholders))
}

fn framing(args: &Args) -> Framing {
    if args.chunked { Framing::Chunked } else { Framing::ContentLength }
}

/// The headers as given, and those that are sent unless they are given.
fn headers(args: &Args, url: &Url) -> anyhow::Result<Vec<(String, String)>> {
    let mut headers =
        args.headers.iter().map(|text| header(text)).collect::<anyhow::Result<Vec<_>>>()?;
    let given =
        |name: &str| headers.iter().filter(|given| given.0.eq_ignore_ascii_case(name)).count();
    if given("host") > 1 {
        bail!("-H 'Host: …' is given twice: a request has one");
    }
    let mut defaults = Vec::new();
    if given("user-agent") == 0 {
        defaults.push((
            "User-Agent".to_owned(),
            concat!("loadgen/", env!("CARGO_PKG_VERSION")).to_owned(),
        ));
    }
    if let Some(credentials) = &url.credentials
        && given("authorization") == 0
    {
        defaults.push(("Authorization".into(), format!("Basic {}", STANDARD.encode(credentials))));
    }
    headers.splice(0..0, defaults);
    Ok(headers)
}

/// One `-H`: split at the first colon, spaces around the value removed (RFC 9112 section 5).
fn header(text: &str) -> anyhow::Result<(String, String)> {
    let Some((name, value)) = text.split_once(':') else {
        bail!("header `{}` has no colon: expected 'Name: value'", text.escape_debug());
    };
    let value = header_value(text, name, value)?;
    if ["content-length", "transfer-encoding"].contains(&&*name.to_ascii_lowercase()) {
        bail!("{name} follows from the body (-b, -f, --chunked) and cannot be given with -H");
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// Checks name and value of a header and returns the value without the spaces around it.
fn header_value<'a>(text: &str, name: &str, value: &'a str) -> anyhow::Result<&'a str> {
    if !is_token(name) {
        bail!("`{}` is not a header name: in '{}'", name.escape_debug(), text.escape_debug());
    }
    let value = value.trim_matches([' ', '\t']);
    if let Some(control) = value.chars().find(|c| c.is_ascii_control() && *c != '\t') {
        bail!("the value of header `{name}` holds {control:?}, which no header can");
    }
    Ok(value)
}

/// One `--expect-header`: a name, or a name and a value.
pub(super) fn expected_header(text: &str) -> anyhow::Result<(String, Option<String>)> {
    let (name, value) = match text.split_once(':') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    let checked = header_value(text, name, value.unwrap_or("")).context("--expect-header")?;
    Ok((name.to_owned(), value.map(|_| checked.to_owned())))
}

enum Given {
    Text(String),
    Bytes(Arc<[u8]>),
}

fn body(args: &Args) -> anyhow::Result<Option<Given>> {
    if args.chunked && args.body.is_none() && args.body_file.is_none() {
        bail!("--chunked says how a body is sent, and there is none: give -b or -f");
    }
    if let Some(text) = &args.body {
        return Ok(Some(Given::Text(text.clone())));
    }
    let Some(path) = &args.body_file else { return Ok(None) };
    let bytes = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).context("cannot read standard input")?;
        bytes.into()
    } else {
        read_shared(path).with_context(|| format!("cannot read {}", path.display()))?
    };
    Ok(Some(Given::Bytes(bytes)))
}

/// Reads a file into the one copy that all connections send.
fn read_shared(path: &Path) -> std::io::Result<Arc<[u8]>> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        return Ok(bytes.into());
    }
    let length = usize::try_from(metadata.len()).map_err(|_| std::io::ErrorKind::FileTooLarge)?;
    let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, length).collect();
    match Arc::get_mut(&mut bytes) {
        Some(bytes) => file.read_exact(bytes)?,
        None => unreachable!("nobody else has this copy yet"),
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_split_at_the_first_colon() {
        for (text, name, value) in [
            ("foo:bar", "foo", "bar"),
            ("host: other.test", "host", "other.test"),
            ("Referer:http://a:8080/x", "Referer", "http://a:8080/x"),
            ("Empty:", "Empty", ""),
            ("Spaces: \t x y \t", "Spaces", "x y"),
        ] {
            assert_eq!(header(text).unwrap(), (name.into(), value.into()));
        }
    }

    #[test]
    fn what_cannot_be_a_header_is_refused() {
        for text in [
            "NoColon",
            "X: a\r\nY: b",
            "X: a\nb",
            "X: \0",
            ": x",
            "A b: x",
            "A : x",
            "é: x",
            "content-length: 5",
            "Transfer-Encoding: chunked",
        ] {
            assert!(header(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn an_expected_header_may_have_no_value() {
        assert_eq!(expected_header("ETag").unwrap(), ("ETag".into(), None));
        assert_eq!(expected_header("A: b").unwrap(), ("A".into(), Some("b".into())));
        assert_eq!(expected_header("A:").unwrap(), ("A".into(), Some(String::new())));
        assert!(expected_header("a b").is_err());
    }
}
