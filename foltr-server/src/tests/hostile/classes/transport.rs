//! What is wrong with the HTTP of a request whose content would be taken.

use super::{Class, class};
use crate::problem::Name::{self, *};
use crate::tests::hostile::raw::bytes_of;
use crate::tests::hostile::scene::Scene;

/// More than any body may have in this scene.
const LONG: usize = 70_000;

pub fn all(scene: &Scene) -> Vec<Class> {
    let upload = bytes_of(&scene.upload(|_| {}));
    let length = scene.upload(|_| {}).body.len();
    let body = scene.upload(|_| {}).body;
    let head = String::from_utf8_lossy(&upload[..upload.len() - length]).into_owned();
    let edit = |name: &str, from: &str, to: &str, refusal: Name| {
        assert!(head.contains(from), "{name}");
        class(name, [head.replacen(from, to, 1).as_bytes(), &body].concat(), refusal)
    };
    let length_line = format!("content-length: {length}");
    let sized = |name: &str, line: &str, refusal| edit(name, &length_line, line, refusal);
    let chunked = |name: &str, chunks: &[u8], refusal| {
        class(name, [head.replacen(&length_line, "transfer-encoding: chunked", 1).as_bytes(), chunks].concat(), refusal)
    };
    let header = |line: &str| format!("host: localhost\r\n{line}\r\n");
    let host = "host: localhost\r\n";
    let many: String = (0..70).map(|n| format!("x-{n}: y\r\n")).collect();
    let mut classes = vec![
        sized("no length", "x: y", BadSignature),
        sized("length that is too short", "content-length: 5", BadSignature),
        sized("length below zero", "content-length: -1", BadRequest),
        sized("length with a plus", "content-length: +5", BadRequest),
        sized("length that is no number", "content-length: many", BadRequest),
        sized("two lengths", "content-length: 1\r\ncontent-length: 2", BadRequest),
        sized("length beyond all limits", "content-length: 99999999999999999999", BadRequest),
        sized("length of a giant body", &format!("content-length: {LONG}"), TooLarge),
        sized("unknown transfer encoding", "transfer-encoding: gzip", BadRequest),
        chunked("chunk whose size is no number", b"zz\r\n", BadRequest),
        chunked("chunks of a giant body", &giant_chunks(), TooLarge),
        edit("compressed body", host, &header("content-encoding: gzip"), BadRequest),
        edit("host that is missing", host, "", BadRequest),
        edit("two hosts", host, &header("host: other"), BadRequest),
        edit("header that is folded", host, &header("x: a\r\n b"), BadRequest),
        edit("header without a colon", host, &header("nonsense"), BadRequest),
        edit("header with a zero byte", host, &header("x: \0"), BadRequest),
        edit("name of a header with a blank", host, &header("x y: z"), BadRequest),
        edit("giant header", host, &header(&format!("x: {}", "y".repeat(20_000))), HeadersTooLarge),
        edit("too many headers", host, &header(many.trim_end()), HeadersTooLarge),
        edit("giant path", "/v1/", &format!("/{}/v1/", "x".repeat(3_000)), BadRequest),
        edit("blank in the path", "/rounds", "/ rounds", BadRequest),
        edit("HTTP of version 3", "HTTP/1.1", "HTTP/3.0", BadRequest),
        edit("protocol that is not HTTP", "HTTP/1.1", "SPDY/1.1", BadRequest),
        class("preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), BadRequest),
        class(
            "handshake of TLS without TLS",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(),
            BadRequest,
        ),
        class("star in place of a path", b"OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n".to_vec(), MethodNotAllowed),
        class("tunnel", b"CONNECT example.org:443 HTTP/1.1\r\nhost: x\r\n\r\n".to_vec(), MethodNotAllowed),
    ];
    for method in ["DELETE", "PATCH", "OPTIONS", "TRACE", "put"] {
        classes.push(edit(&format!("method {method}"), "PUT ", &format!("{method} "), MethodNotAllowed));
    }
    let longer = format!("content-length: {}", length + 1);
    classes.push(Class { is_last: true, ..sized("length that is too long", &longer, BadRequest) });
    classes.push(Class { is_last: true, ..chunked("chunks that end early", b"5\r\nab", BadRequest) });
    classes
}

fn giant_chunks() -> Vec<u8> {
    let chunk = [format!("{:x}\r\n", 10_000).as_bytes(), &[b'z'; 10_000], b"\r\n"].concat();
    chunk.repeat(LONG / 10_000 + 1)
}
