//! The datagrams that docs/reference/tou-protocol.md shows byte for byte.

use std::fs;
use std::path::Path;

/// The bytes of each ```` ```hex ```` block of the page. Text after `#` in a line is a comment.
pub(crate) fn datagrams() -> Vec<Vec<u8>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/tou-protocol.md");
    let page = fs::read_to_string(page).expect("the page");
    let blocks = page.split("```hex\n").skip(1);
    blocks.map(|rest| bytes(rest.split_once("```").expect("a block that ends").0)).collect()
}

fn bytes(block: &str) -> Vec<u8> {
    let lines = block.lines().map(|line| line.split('#').next().unwrap_or(line));
    let octets = lines.flat_map(str::split_whitespace);
    octets.map(|octet| u8::from_str_radix(octet, 16).expect("two hexadecimal digits")).collect()
}
