//! Takes credentials out of texts that come from the storage below.
//!
//! Error texts of object stores quote addresses, and addresses can carry a user, a signature or a token.
//! What looks like one is replaced, at the risk of replacing too much.

/// What stands for something taken out.
const GONE: &str = "***";

/// Names whose values are secrets, wherever they stand before `=` or `:`.
const SECRET_NAMES: [&str; 12] = [
    "secret",
    "password",
    "passwd",
    "token",
    "signature",
    "credential",
    "authorization",
    "access_key",
    "accesskey",
    "api_key",
    "apikey",
    "sas_key",
];

/// The text without credentials.
pub fn redact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // A secret may follow its name as a word of its own: `authorization: Bearer …`.
    let mut hide = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let bare = word.trim_end();
        let space = &word[bare.len()..];
        if hide > 0 && !bare.is_empty() {
            hide = if is_scheme(bare) { 1 } else { 0 };
            out.push_str(if is_scheme(bare) { bare } else { GONE });
        } else {
            out.push_str(&clean(bare));
            hide = usize::from(names_secret(bare));
        }
        out.push_str(space);
    }
    out
}

/// An authorization scheme, which the secret follows.
fn is_scheme(word: &str) -> bool {
    ["bearer", "basic", "aws4-hmac-sha256"].contains(&word.to_ascii_lowercase().as_str())
}

/// Whether the word ends in a name and a colon or equals sign, so that its value is the next word.
fn names_secret(word: &str) -> bool {
    let Some(name) = word.strip_suffix([':', '=']) else {
        return is_scheme(word);
    };
    is_secret_name(name)
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    SECRET_NAMES.iter().any(|secret| name.ends_with(secret))
}

fn clean(word: &str) -> String {
    let word = match word.split_once("://") {
        Some((scheme, rest)) => format!("{scheme}://{}", address(rest)),
        None => word.to_string(),
    };
    let word = match word.split_once('=') {
        Some((name, value)) if is_secret_name(name) && !value.is_empty() => {
            format!("{name}={GONE}")
        }
        _ => word,
    };
    access_keys(&word)
}

/// Without the user before the host and without the query.
fn address(rest: &str) -> String {
    let path = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(path);
    let host = authority.rsplit_once('@').map(|(_, host)| format!("{GONE}@{host}"));
    let host = host.unwrap_or_else(|| authority.to_string());
    match tail.split_once('?') {
        Some((path, _)) => format!("{host}{path}?{GONE}"),
        None => format!("{host}{tail}"),
    }
}

/// Replaces what has the form of an access key id: four known letters and sixteen more.
fn access_keys(word: &str) -> String {
    const LENGTH: usize = 20;
    let mut out = word.to_string();
    for prefix in ["AKIA", "ASIA"] {
        while let Some(at) = out.find(prefix) {
            let key = out.get(at..at + LENGTH);
            let is_key = key.is_some_and(|k| k.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()));
            if !is_key {
                break;
            }
            out.replace_range(at..at + LENGTH, GONE);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_go_and_the_rest_stays() {
        for (text, expected) in [
            ("the object a/b is missing", "the object a/b is missing"),
            ("GET https://u:p@host/b/k?X-Amz-Signature=abc failed", "GET https://***@host/b/k?*** failed"),
            ("at s3://bucket/graphs/social.omni now", "at s3://bucket/graphs/social.omni now"),
            ("key AKIAABCDEFGHIJKLMNOP was refused", "key *** was refused"),
            ("aws_secret_access_key=abc/def x", "aws_secret_access_key=*** x"),
            ("authorization: Bearer abc.def", "authorization: Bearer ***"),
            ("Token: abc", "Token: ***"),
            ("the page token: abc", "the page token: ***"),
            ("found 7 = 8", "found 7 = 8"),
            ("AKIA is short", "AKIA is short"),
        ] {
            assert_eq!(redact(text), expected);
        }
    }
}
