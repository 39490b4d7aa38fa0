//! `${NAME}`, `${env:NAME}` and `${NAME:-text}` in a configuration's texts.

use super::Lookup;

/// The text with its variables put in; the name of the first that has no value otherwise.
pub(super) fn expand(text: &str, lookup: Lookup<'_>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((inside, after)) = after.split_once('}') else {
            // Without an end it is plain text.
            out.push_str("${");
            rest = after;
            continue;
        };
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        let name = name.strip_prefix("env:").unwrap_or(name);
        // A set variable that is empty takes the default too, as in a shell.
        let value = lookup(name).filter(|value| default.is_none() || !value.is_empty());
        match value.as_deref().or(default) {
            Some(value) => out.push_str(value),
            None => return Err(name.to_owned()),
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_put_in() {
        let lookup = |name: &str| match name {
            "A" => Some("1".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        for (text, expected) in [
            ("x", Ok("x")),
            ("${A}-${env:A}", Ok("1-1")),
            ("${B:-two}${EMPTY:-e}${EMPTY}", Ok("twoe")),
            ("$A ${", Ok("$A ${")),
            ("${A", Ok("${A")),
            ("${B}", Err("B")),
            ("${}", Err("")),
        ] {
            let found = expand(text, &lookup);
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text}");
        }
    }
}
