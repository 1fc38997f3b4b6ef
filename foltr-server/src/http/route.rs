//! The paths of the API as patterns, for logs, metrics and the description: paths themselves name devices.

use crate::call::Method;

/// Every request that is described; `{...}` stands for one part of a path.
pub const ROUTES: &[(Method, &str)] = &[
    (Method::Post, "/v1/federations/{federation}/devices"),
    (Method::Get, "/v1/federations/{federation}/plans/{hash}"),
    (Method::Get, "/v1/federations/{federation}/task"),
    (Method::Get, "/v1/federations/{federation}/headers"),
    (Method::Get, "/v1/federations/{federation}/releases/newest"),
    (Method::Get, "/v1/federations/{federation}/releases/{version}"),
    (Method::Put, "/v1/federations/{federation}/rounds/{round}/contributions/{device}"),
    (Method::Post, "/v1/federations/{federation}/forget"),
    (Method::Get, "/v1/federations/{federation}/receipts/{device}"),
    (Method::Get, "/v1/admin/overview"),
    (Method::Post, "/v1/admin/federations/{federation}/actions"),
    (Method::Get, "/v1/admin/federations/{federation}/model"),
    (Method::Get, HEALTH),
    (Method::Get, READINESS),
    (Method::Get, METRICS),
    (Method::Get, DESCRIPTION),
];

// Monitoring asks for these without a token: they say nothing about any device.
pub(super) const HEALTH: &str = "/healthz";
pub(super) const READINESS: &str = "/readyz";
pub(super) const METRICS: &str = "/metrics";
pub(super) const DESCRIPTION: &str = "/openapi.json";

/// The dashboard, and whatever is at no path of [`ROUTES`].
pub(super) const OTHER: &str = "other";

/// The pattern of a path with or without its query.
pub(super) fn pattern(path: &str) -> &'static str {
    let path = path.split('?').next().unwrap_or_default();
    ROUTES.iter().map(|(_, pattern)| *pattern).find(|pattern| matches(pattern, path)).unwrap_or(OTHER)
}

fn matches(pattern: &str, path: &str) -> bool {
    let mut parts = path.split('/');
    let all_match = pattern.split('/').all(|expected| match parts.next() {
        Some(part) if expected.starts_with('{') => !part.is_empty(),
        part => part == Some(expected),
    });
    all_match && parts.next().is_none()
}

/// The header `allow` for a pattern.
pub(super) fn allowed(pattern: &str) -> &'static str {
    match ROUTES.iter().find(|(_, other)| *other == pattern) {
        Some((Method::Get, _)) => "GET, HEAD",
        Some((method, _)) => method.name(),
        None => "GET, HEAD, POST, PUT",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_that_of_its_own_paths() {
        for (_, route) in ROUTES {
            assert_eq!(pattern(route), *route);
            let path = route.replace("{federation}", "wards").replace(['{', '}'], "");
            assert_eq!(pattern(&path), *route);
            assert_eq!(pattern(&format!("{path}?shard=0")), *route);
            assert_eq!(pattern(&format!("{path}/")), OTHER);
            assert_eq!(pattern(&format!("/x{path}")), OTHER);
        }
    }

    #[test]
    fn what_is_no_path_of_the_api_has_no_pattern_of_its_own() {
        for path in
            ["", "/", "*", "//", "/v1", "/v1/federations//task", "/v1/federations/a/b/task", "?", "/metrics?/x/y"]
        {
            assert_eq!(pattern(path), if path.starts_with("/metrics") { METRICS } else { OTHER }, "{path}");
        }
    }
}
