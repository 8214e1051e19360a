//! The JavaScript contenders keep the same contracts as the Rust servers.
//!
//! `npm ci` installs the runtimes where they are missing. Where that is impossible the tests say so
//! and pass, unless `CI` is set.

mod runtimes;

use runtimes::{bun, deno, node};
use server_contract::{Program, Result, Scheme, Traits, fib, hello, json, png, qr, upload};

/// One test for each contender: its name, its program, and the contract it is asked.
macro_rules! contenders {
    ($($name:ident: $program:expr => $check:expr;)*) => {
        $(#[test]
        fn $name() -> Result<()> {
            let Some(program) = $program? else { return Ok(()) };
            let check: fn(&Program) -> Result<()> = $check;
            check(&program)
        })*
    };
}

const NODE: Traits = Traits::NODE;
const DENO: Traits = Traits::DENO;
const BUN: Traits = Traits::BUN;
/// Handlers that await more than the body of the request.
const BUN_ASYNC: Traits = Traits { pipelines: false, ..BUN };
const FASTIFY: Traits = Traits { any_content_type: false, lingers: false, ..NODE };
const FASTIFY_DENO: Traits = Traits { requires_host: false, ..FASTIFY };
const FASTIFY_BUN: Traits = Traits { complete_head: false, ..FASTIFY };
const ELYSIA: Traits = Traits { any_content_type: false, ..BUN };
const ELYSIA_ASYNC: Traits = Traits { pipelines: false, ..ELYSIA };
const NODE_STREAM: Traits = Traits { sized_files: false, ..NODE };
const DENO_STREAM: Traits = Traits { sized_files: false, ..DENO };

contenders! {
    hello_node: node("hello") => |p| hello::check(p, Scheme::Http, &NODE);
    hello_deno: deno("hello") => |p| hello::check(p, Scheme::Http, &DENO);
    hello_bun: bun("hello") => |p| hello::check(p, Scheme::Http, &BUN);
    hello_node_fastify: node("hello-fastify") => |p| hello::check(p, Scheme::Http, &FASTIFY);
    hello_deno_fastify: deno("hello-fastify") => |p| hello::check(p, Scheme::Http, &FASTIFY_DENO);
    hello_bun_fastify: bun("hello-fastify") => |p| hello::check(p, Scheme::Http, &FASTIFY_BUN);
    hello_node_express: node("hello-express") => |p| hello::check(p, Scheme::Http, &NODE);
    hello_deno_express: deno("hello-express") => |p| hello::check(p, Scheme::Http, &DENO);
    hello_bun_express: bun("hello-express") => |p| hello::check(p, Scheme::Http, &BUN);
    hello_bun_elysia: bun("hello-elysia") => |p| hello::check(p, Scheme::Http, &ELYSIA);

    https_node: node("https") => |p| hello::check(p, Scheme::Https, &NODE);
    https_deno: deno("https") => |p| hello::check(p, Scheme::Https, &DENO);
    https_bun: bun("https") => |p| hello::check(p, Scheme::Https, &BUN);
    https_node_fastify: node("https-fastify") => |p| hello::check(p, Scheme::Https, &FASTIFY);
    https_deno_fastify: deno("https-fastify") => |p| hello::check(p, Scheme::Https, &FASTIFY_DENO);
    https_bun_fastify: bun("https-fastify") => |p| hello::check(p, Scheme::Https, &FASTIFY_BUN);
    https_bun_elysia: bun("https-elysia") => |p| hello::check(p, Scheme::Https, &ELYSIA);

    hello_node_all: two_workers(node("hello-all")) => |p| hello::check(p, Scheme::Http, &NODE);
    hello_bun_all: two_workers(bun("hello-all")) => |p| hello::check(p, Scheme::Http, &BUN);
    https_node_all: two_workers(node("https-all")) => |p| hello::check(p, Scheme::Https, &NODE);
    https_deno_all: two_workers(deno("https-all")) => |p| hello::check(p, Scheme::Https, &DENO);
    https_bun_all: two_workers(bun("https-all")) => |p| hello::check(p, Scheme::Https, &BUN);

    json_node: node("json") => |p| json::check(p, &NODE);
    json_deno: deno("json") => |p| json::check(p, &DENO);
    json_bun: bun("json") => |p| json::check(p, &BUN);
    json_node_fastify: node("json-fastify") => |p| json::check(p, &FASTIFY);
    json_deno_fastify: deno("json-fastify") => |p| json::check(p, &FASTIFY_DENO);
    json_bun_fastify: bun("json-fastify") => |p| json::check(p, &FASTIFY_BUN);
    json_bun_elysia: bun("json-elysia") => |p| json::check(p, &ELYSIA);

    png_node: node("png") => |p| png::check(p, &NODE_STREAM);
    png_node_read: node("png-read") => |p| png::check(p, &NODE);
    png_deno: deno("png") => |p| png::check(p, &DENO_STREAM);
    png_deno_read: deno("png-read") => |p| png::check(p, &DENO);
    png_bun: bun("png") => |p| png::check(p, &BUN);
    png_bun_read: bun("png-read") => |p| png::check(p, &BUN_ASYNC);

    qr_node: node("qr") => |p| qr::check(p, &NODE);
    qr_deno: deno("qr") => |p| qr::check(p, &DENO);
    qr_bun: bun("qr") => |p| qr::check(p, &BUN_ASYNC);
    qr_node_fastify: node("qr-fastify") => |p| qr::check(p, &FASTIFY);
    qr_deno_fastify: deno("qr-fastify") => |p| qr::check(p, &FASTIFY_DENO);
    qr_bun_fastify: bun("qr-fastify") => |p| qr::check(p, &FASTIFY_BUN);
    qr_bun_elysia: bun("qr-elysia") => |p| qr::check(p, &ELYSIA_ASYNC);

    fib_node_express: node("fib-express") => |p| fib::check(p, &NODE);
    fib_deno_express: deno("fib-express") => |p| fib::check(p, &DENO);
    fib_bun_express: bun("fib-express") => |p| fib::check(p, &BUN);

    fib_logging_node_express: node("fib-logging-express") => fib::check_logging;
    fib_logging_deno_express: deno("fib-logging-express") => fib::check_logging;
    fib_logging_bun_express: bun("fib-logging-express") => fib::check_logging;

    upload_node: node("upload") => |p| upload::check(p, &NODE);
    upload_deno: deno("upload") => |p| upload::check(p, &DENO);
    upload_bun: bun("upload") => |p| upload::check(p, &BUN);
}

/// A contender in its form for several cores.
fn two_workers(program: Result<Option<Program>>) -> Result<Option<Program>> {
    Ok(program?.map(|program| program.env("WORKERS", "2")))
}

/// A contract that nothing can break says nothing.
#[test]
fn another_scenario_does_not_pass() -> Result<()> {
    let (Some(hello), Some(https), Some(json)) = (node("hello")?, node("https")?, node("json")?)
    else {
        return Ok(());
    };
    for outcome in [
        hello::check(&json, Scheme::Https, &NODE),
        json::check(&https, &NODE),
        png::check(&hello, &NODE),
        fib::check(&hello, &NODE),
        upload::check(&hello, &NODE),
        qr::check(&json, &NODE),
    ] {
        let difference = format!("{:#}", outcome.expect_err("it is another scenario"));
        assert!(difference.contains("cases differ from the contract"), "{difference}");
    }
    Ok(())
}
