//! The relay's HTTP: two questions about its health, one upgrade, and 404 for the rest.
//! Spec: §7 "HTTP", W5.3, W5.11
//!
//! This module reads requests and writes responses; what an upgrade leads to is its caller's business.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT,
    SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Version};
use messaging_core::b64;
use messaging_wire::{CONNECT_PATH, SUB_PROTOCOL};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

pub(crate) type Reply = Response<Full<Bytes>>;

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// Whether the process answers.
    Health,
    /// Whether the relay can serve.
    Ready,
    /// A WebSocket: the handshake is right.
    Connect(Handshake),
    /// A WebSocket, asked for in a way that gets this status.
    NoWebSocket(StatusCode),
    /// Anything else.
    Unknown,
}

/// What a right upgrade request is answered with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Handshake {
    accept: String,
    /// Whether the client offered our sub-protocol.
    offered: bool,
}

/// Reads a request's line and head.
pub(crate) fn route<B>(request: &Request<B>) -> Route {
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/healthz") => Route::Health,
        (&Method::GET, "/readyz") => Route::Ready,
        (&Method::GET, CONNECT_PATH) => match handshake(request.version(), request.headers()) {
            Ok(handshake) => Route::Connect(handshake),
            Err(status) => Route::NoWebSocket(status),
        },
        _ => Route::Unknown,
    }
}

/// The answer to `/healthz`.
pub(crate) fn healthy() -> Reply {
    json(StatusCode::OK, r#"{"ok":true}"#.to_owned())
}

/// The answer to `/readyz`: the words of what is wrong, which need no escapes.
pub(crate) fn readiness(why: &[&'static str]) -> Reply {
    let mut reply = if why.is_empty() {
        healthy()
    } else {
        let why = why.join(r#"",""#);
        json(StatusCode::SERVICE_UNAVAILABLE, format!(r#"{{"ok":false,"why":["{why}"]}}"#))
    };
    reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    reply
}

/// The answer that switches protocols.
pub(crate) fn switching(handshake: &Handshake) -> Reply {
    let mut reply = empty(StatusCode::SWITCHING_PROTOCOLS);
    let headers = reply.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    // A base64 text is a header value: the conversion cannot fail.
    if let Ok(accept) = HeaderValue::from_str(&handshake.accept) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    if handshake.offered {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUB_PROTOCOL));
    }
    reply
}

/// The answer to a request for a WebSocket that is none. 426 says what would be one.
pub(crate) fn no_web_socket(status: StatusCode) -> Reply {
    let mut reply = empty(status);
    if status == StatusCode::UPGRADE_REQUIRED {
        let headers = reply.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    }
    reply
}

/// An answer without a body.
pub(crate) fn empty(status: StatusCode) -> Reply {
    let mut reply = Response::new(Full::default());
    *reply.status_mut() = status;
    reply
}

fn json(status: StatusCode, text: String) -> Reply {
    let mut reply = Response::new(Full::new(Bytes::from(text)));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}

/// Checks a WebSocket handshake (RFC 6455, section 4.2.1).
fn handshake(version: Version, headers: &HeaderMap) -> Result<Handshake, StatusCode> {
    let asks =
        has_token(headers, &UPGRADE, "websocket") && has_token(headers, &CONNECTION, "upgrade");
    if !asks || version != Version::HTTP_11 {
        return Err(StatusCode::UPGRADE_REQUIRED);
    }
    if headers.get(SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        return Err(StatusCode::UPGRADE_REQUIRED);
    }
    let key = headers.get(SEC_WEBSOCKET_KEY).and_then(|key| key.to_str().ok());
    let key = key.filter(|key| b64::decode_standard(key).is_ok_and(|bytes| bytes.len() == 16));
    let key = key.ok_or(StatusCode::BAD_REQUEST)?;
    Ok(Handshake {
        accept: derive_accept_key(key.as_bytes()),
        offered: has_token(headers, &SEC_WEBSOCKET_PROTOCOL, SUB_PROTOCOL),
    })
}

/// Whether a comma-separated header holds a word, in any case.
fn has_token(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    headers
        .get_all(name)
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .any(|token| token.trim().eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, path: &str, headers: &[(&str, &str)]) -> Request<()> {
        let mut builder = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        builder.body(()).unwrap()
    }

    const GOOD: [(&str, &str); 4] = [
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "WebSocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];

    #[test]
    fn three_paths_are_known_and_only_by_get() {
        assert_eq!(route(&request("GET", "/healthz", &[])), Route::Health);
        assert_eq!(route(&request("GET", "/readyz?x=1", &[])), Route::Ready);
        for (method, path) in [
            ("POST", "/healthz"),
            ("HEAD", "/readyz"),
            ("POST", "/v1/connect"),
            ("GET", "/"),
            ("GET", "/healthz/"),
            ("GET", "/metrics"),
            ("GET", "/.well-known/messaging.json"),
            ("OPTIONS", "*"),
        ] {
            assert_eq!(route(&request(method, path, &[])), Route::Unknown, "{method} {path}");
        }
    }

    #[test]
    fn a_right_handshake_is_answered_as_the_standard_says() {
        let Route::Connect(handshake) = route(&request("GET", CONNECT_PATH, &GOOD)) else {
            panic!()
        };
        let reply = switching(&handshake);
        assert_eq!(reply.status(), StatusCode::SWITCHING_PROTOCOLS);
        assert_eq!(reply.headers()[SEC_WEBSOCKET_ACCEPT], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert!(!reply.headers().contains_key(SEC_WEBSOCKET_PROTOCOL));
        let mut offering = GOOD.to_vec();
        offering.push(("sec-websocket-protocol", "other, messaging.relay.v1"));
        let Route::Connect(handshake) = route(&request("GET", CONNECT_PATH, &offering)) else {
            panic!()
        };
        assert_eq!(switching(&handshake).headers()[SEC_WEBSOCKET_PROTOCOL], SUB_PROTOCOL);
    }

    #[test]
    fn a_plain_request_must_upgrade_and_a_malformed_one_is_bad() {
        let status = |headers: &[(&str, &str)]| match route(&request("GET", CONNECT_PATH, headers))
        {
            Route::NoWebSocket(status) => status.as_u16(),
            other => panic!("{other:?}"),
        };
        let without =
            |name: &str| -> Vec<_> { GOOD.into_iter().filter(|(n, _)| *n != name).collect() };
        assert_eq!(status(&[]), 426);
        for name in ["connection", "upgrade", "sec-websocket-version"] {
            assert_eq!(status(&without(name)), 426, "{name}");
        }
        assert_eq!(status(&without("sec-websocket-key")), 400);
        for key in ["", "dGhlIHNhbXBsZSBub25jZQ", "c2hvcnQ=", "not base64 at all!======"] {
            let mut headers = without("sec-websocket-key");
            headers.push(("sec-websocket-key", key));
            assert_eq!(status(&headers), 400, "{key}");
        }
        let mut headers = without("sec-websocket-version");
        headers.push(("sec-websocket-version", "8"));
        assert_eq!(status(&headers), 426);
        let mut old = request("GET", CONNECT_PATH, &GOOD);
        *old.version_mut() = Version::HTTP_10;
        assert_eq!(route(&old), Route::NoWebSocket(StatusCode::UPGRADE_REQUIRED));
        assert_eq!(
            no_web_socket(StatusCode::UPGRADE_REQUIRED).headers()[SEC_WEBSOCKET_VERSION],
            "13"
        );
    }

    #[test]
    fn readiness_names_what_is_wrong_and_is_never_cached() {
        let ready = readiness(&[]);
        assert_eq!(
            (ready.status(), &ready.headers()[CACHE_CONTROL]),
            (StatusCode::OK, &HeaderValue::from_static("no-store"))
        );
        let unready = readiness(&["store_failing", "stopping"]);
        assert_eq!(unready.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(unready.headers()[CACHE_CONTROL], "no-store");
    }
}
