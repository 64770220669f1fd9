// SPDX-License-Identifier: Apache-2.0

//! Does the work of the benchmarks with zarrs, as its documentation advises: see bench/protocol.

mod read;
mod request;
mod write;

use request::{Request, Result};
use serde_json::{Value, json};

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let text = std::env::args().nth(1).ok_or("the argument is a request as JSON")?;
    let request = Request(serde_json::from_str(&text)?);
    request.configure()?;
    println!("{}", work(&request)?);
    Ok(())
}

fn work(request: &Request) -> Result<Value> {
    match request.text("work") {
        "read-all" => read::all(request),
        "read-regions" => read::regions(request),
        "read-points" => read::points(request),
        "open" => read::open(request),
        "members" => read::members(request),
        "copy" => write::copy(request),
        "append" => write::append(request),
        _ => Ok(json!({"unsupported": "no such work"})),
    }
}
