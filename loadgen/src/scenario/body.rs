//! One request of a scenario as bytes, with values of its own: for readiness and preflight.

use rand::Rng;

use super::{Content, RequestBody, Scenario, fill};

/// Largest `n` asked for in a preflight: cheap everywhere, and never the `n` of the load.
const PREFLIGHT_MAX_N: u32 = 22;
/// Size bounds of a preflight upload.
const PREFLIGHT_UPLOAD: std::ops::Range<usize> = 1_000..200_000;

/// A whole HTTP/1.1 request of `scenario`, every value in it drawn from `random`.
pub fn request_bytes(scenario: &Scenario, authority: &str, random: &mut impl Rng) -> Vec<u8> {
    let mut path = fill(&scenario.path, random);
    if matches!(scenario.answer.content, Content::Fibonacci)
        && let Some(slash) = path.rfind('/')
    {
        path.truncate(slash + 1);
        path.push_str(&random.random_range(5..=PREFLIGHT_MAX_N).to_string());
    }
    let body = match &scenario.body {
        None => Vec::new(),
        Some(RequestBody::Template(text)) => fill(text, random).into_bytes(),
        Some(RequestBody::UploadFile(_)) => {
            let size = random.random_range(PREFLIGHT_UPLOAD);
            random_bytes(size, random)
        }
    };
    let mut head = format!("{} {path} HTTP/1.1\r\nHost: {authority}\r\n", scenario.method);
    for (name, value) in &scenario.headers {
        head.push_str(&format!("{name}: {}\r\n", fill(value, random)));
    }
    if scenario.body.is_some() {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    let mut request = head.into_bytes();
    request.extend_from_slice(&body);
    request
}

/// `count` random bytes.
pub fn random_bytes(count: usize, random: &mut impl Rng) -> Vec<u8> {
    let mut bytes = vec![0; count];
    random.fill_bytes(&mut bytes);
    bytes
}
