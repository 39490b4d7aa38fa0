use super::*;

#[test]
fn the_password_is_in_no_text() {
    for url in [
        "postgres://dana:secret@db:5433/hermes",
        "postgresql://dana:secret@db/hermes?sslmode=require",
        "postgres://dana@db/hermes?password=secret",
        "postgres://dana:secret@db:port/hermes",
        "postgres://dana:secret/hermes",
        "postgres://dana:se?cret@db/hermes",
        "postgres://dana@db/hermes?pasword=secret",
        "postgres://dana:secret@db/hermes?sslmode=secret",
        "mysql://dana:secret@db/hermes",
        "secret",
    ] {
        let config = PostgresConfig::new(url);
        let text = format!("{config:?} {:?}", config.options().err());
        assert!(!text.contains("secret") && !text.contains("cret@"), "{text}");
    }
}

#[test]
fn what_is_no_address_is_refused() {
    for url in ["", "postgres:", "sqlite://a.db", "postgres://db:port/a", "postgres://db/a?colour=red"] {
        let error = PostgresConfig::new(url).options().unwrap_err();
        assert!(matches!(error, StoreError::Invalid { what: "database address", .. }), "{url}: {error}");
    }
    let config = PostgresConfig::new("postgres://dana:secret@db:5433/hermes");
    assert_eq!(place(&config.options().unwrap()), "the database hermes at db:5433 as dana");
}

#[test]
fn schemas_have_plain_names() {
    for schema in ["public", "_a1", &"x".repeat(63)] {
        assert!(PostgresConfig::new("postgres://db").with_schema(schema).options().is_ok(), "{schema}");
    }
    for schema in ["", "1a", "A", "a b", "a\"b", "a,b", "ä", "pg_x", &"x".repeat(64)] {
        let error = PostgresConfig::new("postgres://db").with_schema(schema).options().unwrap_err();
        assert!(matches!(error, StoreError::Invalid { what: "schema name", .. }), "{schema}: {error}");
    }
}

#[test]
fn settings_left_out_have_their_defaults_and_unknown_ones_are_refused() {
    let config: PostgresConfig =
        serde_json::from_str(r#"{"url":"postgres://db/hermes","connections":3}"#).unwrap();
    assert_eq!(config, PostgresConfig::new("postgres://db/hermes").with_connections(3));
    assert!(serde_json::from_str::<PostgresConfig>(r#"{"adress":"postgres://db"}"#).is_err());
}
