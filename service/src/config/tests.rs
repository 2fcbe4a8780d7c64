//! Defaults agree, and what cannot work is refused before anything starts.

use super::*;

#[test]
fn arguments_and_code_have_the_same_defaults() {
    let parsed = Config::try_parse_from(["omnigraph-server", "--storage", "data"]).unwrap();
    let coded = Config { listen: parsed.listen, ..Config::new("data") };
    assert_eq!(format!("{parsed:?}"), format!("{coded:?}"));
    assert!(parsed.listen.ip().is_loopback());
}

#[test]
fn storage_is_required_and_the_token_is_no_argument() {
    assert!(Config::try_parse_from(["omnigraph-server"]).is_err());
    assert!(Config::try_parse_from(["omnigraph-server", "--storage", "d", "--token", "t"]).is_err());
    assert!(Config::try_parse_from(["omnigraph-server", "--storage", "d", "--listen", "nowhere"]).is_err());
}

#[test]
fn unusable_storage_is_refused_at_the_start() {
    for good in ["data", "/srv/data/", "s3://bucket", "s3://bucket/prefix", "shared-memory://x"] {
        assert!(Config::new(good).check().is_ok(), "{good}");
    }
    for bad in ["", "  ", "ftp://x/y", "s3://key:secret@bucket/x", "http://x"] {
        let error = Config::new(bad).check().unwrap_err();
        assert!(!error.to_string().contains("secret") || bad.is_empty(), "{error}");
    }
}

#[test]
fn folders_may_be_written_as_addresses() {
    for (given, taken) in [
        ("file:./data", "./data"),
        ("file:///srv/data/", "file:///srv/data"),
        ("data", "data"),
        ("s3://b/p/", "s3://b/p"),
    ] {
        assert_eq!(Config::new(given).storage_address(), taken);
    }
}

#[test]
fn a_token_comes_from_one_place_and_is_not_empty() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("token");
    std::fs::write(&file, "s3cret\n").unwrap();
    assert_eq!(token(None, None).unwrap(), None);
    assert_eq!(token(None, Some(&file)).unwrap(), Some(Token::new("s3cret")));
    assert_eq!(token(Some("s3cret".into()), None).unwrap(), Some(Token::new("s3cret")));
    assert!(token(Some("a".into()), Some(&file)).is_err());
    std::fs::write(&file, " \n").unwrap();
    assert!(token(None, Some(&file)).is_err());
    assert!(token(None, Some(&dir.path().join("missing"))).is_err());
}

#[test]
fn only_a_server_that_writes_looks_for_interrupted_operations() {
    let config = |seconds, read_only| Config { recovery_interval_seconds: seconds, read_only, ..Config::new("data") };
    assert_eq!(config(15, false).recovery_interval(), Some(Duration::from_secs(15)));
    assert_eq!(config(0, false).recovery_interval(), None);
    assert_eq!(config(15, true).recovery_interval(), None);
    assert!(Config::new("data").recovery_interval().is_some());
}

#[test]
fn a_server_without_a_token_is_told_apart_by_its_address() {
    let mut config = Config::new("data");
    assert!(!config.is_open_to_the_network());
    config.listen = "0.0.0.0:1".parse().unwrap();
    assert!(config.is_open_to_the_network());
    assert!(!config.with_token("t").is_open_to_the_network());
}
