//! Text with placeholders (`{uuid}`, `{seq}`, `{rand:N}`) that is expanded for each request.

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(Vec<u8>),
}

impl Template {
    /// A template with no placeholders.
    pub fn literal(text: impl Into<Vec<u8>>) -> Self {
        Self { parts: vec![Part::Literal(text.into())] }
    }
}
