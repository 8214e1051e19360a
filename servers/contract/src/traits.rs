//! Where a program is known, and allowed, to differ from the contract.

/// What a program can do beyond the part of the contract that binds everybody.
///
/// Each field names something its HTTP API decides, not its few lines of code; what is false here is
/// not asked of the program.
#[derive(Debug, Clone, Copy)]
pub struct Traits {
    /// HTTP/1.1 without `Host` is 400 (RFC 9112, section 3.2). Deno answers such a request.
    pub requires_host: bool,
    /// HEAD has the `Content-Type` of GET. Bun leaves out the one it would have inferred from the
    /// body (RFC 9110, section 9.3.2, permits that).
    pub complete_head: bool,
    /// Pipelined requests are answered in order. Bun closes the connection when the next request
    /// arrives while a handler still awaits something (oven-sh/bun #38128).
    pub pipelines: bool,
    /// An answer sent before the whole body was read always arrives. Fastify and Bun close after
    /// their 413, and the reset may overtake it.
    pub lingers: bool,
    /// Invalid UTF-8, a lone surrogate, and nesting over 128 are 400. `JSON.parse` after a lenient
    /// decoder, as every JavaScript API has it, takes them.
    pub strict_json: bool,
    /// A JSON body is read whatever its `Content-Type`. Fastify and Elysia choose the parser by it.
    pub any_content_type: bool,
    /// A file is sent with its `Content-Length`. The article's streaming code sends it chunked.
    pub sized_files: bool,
    /// Conditional and range requests are answered, and symbolic links do not leave the folder.
    pub complete_file_server: bool,
}

impl Traits {
    /// A Rust server: keeps the whole contract.
    pub const NATIVE: Self = Self {
        requires_host: true,
        complete_head: true,
        pipelines: true,
        lingers: true,
        strict_json: true,
        any_content_type: true,
        sized_files: true,
        complete_file_server: true,
    };

    /// A JavaScript contender on Node.js.
    pub const NODE: Self = Self { strict_json: false, complete_file_server: false, ..Self::NATIVE };

    /// A JavaScript contender on Deno.
    pub const DENO: Self = Self { requires_host: false, ..Self::NODE };

    /// A JavaScript contender on Bun.
    pub const BUN: Self = Self { complete_head: false, lingers: false, ..Self::NODE };
}
