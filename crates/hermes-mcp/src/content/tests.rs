use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hermes_core::ToolOutcome;
use serde_json::json;

use super::*;
use crate::given::given;

fn model_text(output: &ToolOutput) -> String {
    ToolOutcome::success(output.value.clone()).to_model_text()
}

#[test]
fn g20_structured_content_is_enough() {
    let case = given("g20");
    let must = &case["expect"]["values"]["must_contain"];
    for (place, result) in case["input"]["results"].as_array().unwrap().iter().enumerate() {
        let output = normalise(result).unwrap();
        let text = model_text(&output);
        match must[place.to_string()].as_array() {
            Some(parts) => parts
                .iter()
                .for_each(|part| assert!(text.contains(part.as_str().unwrap()), "{place}: {text}")),
            None => assert!(text.contains(EMPTY), "{place}: {text}"),
        }
    }
}

/// Expands `{"base64_of": {"repeat": hexadecimal, "times": n}}`.
fn bytes_of(spec: &Value) -> Vec<u8> {
    let spec = &spec["base64_of"];
    let hex = spec["repeat"].as_str().unwrap();
    let unit: Vec<u8> =
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
    unit.repeat(usize::try_from(spec["times"].as_u64().unwrap()).unwrap())
}

#[test]
fn g21_bytes_stay_out_of_the_text_and_can_be_had() {
    let case = given("g21");
    let mut result = case["input"]["results"][0].clone();
    let places = ["/content/1/data", "/content/2/data", "/content/3/resource/blob"];
    let mut sent = Vec::new();
    for place in places {
        let slot = result.pointer_mut(place).unwrap();
        let bytes = bytes_of(slot);
        *slot = json!(STANDARD.encode(&bytes));
        sent.push(bytes);
    }
    assert_eq!(json!(sent.iter().map(Vec::len).collect::<Vec<_>>()), case["expect"]["values"]["bytes"]);

    let output = normalise(&result).unwrap();
    let text = output.value.as_str().unwrap();
    let longest = text.split(|c| !is_base64(c)).map(str::len).max().unwrap();
    assert!(longest < 64, "{text}");
    // A token is at least one character.
    assert!(text.chars().count() < 400, "{text}");
    let mut rest = text;
    for part in [
        "图表已生成",
        "image/png, 300000 bytes",
        "content/1/data",
        "audio/wav, 80000 bytes",
        "content/2/data",
        "application/pdf, 200000 bytes",
        "content/3/resource/blob",
        "完成",
    ] {
        rest =
            rest.split_once(part).unwrap_or_else(|| panic!("{part} is missing or out of order in {text}")).1;
    }

    let raw: Value = serde_json::from_str(output.raw.as_deref().unwrap()).unwrap();
    for (place, bytes) in places.iter().zip(sent) {
        assert!(text.contains(&place[1..]));
        assert_eq!(STANDARD.decode(raw.pointer(place).unwrap().as_str().unwrap()).unwrap(), bytes);
    }
}

#[test]
fn blocks_are_read_as_they_are_meant() {
    let text = |text: &str| json!({ "type": "text", "text": text });
    for (result, value, raw) in [
        (json!({ "content": [text("hello")] }), json!("hello"), false),
        (json!({ "content": [text("<b>bold</b>\u{7}")] }), json!("bold"), true),
        (json!({ "content": [text("a"), text(""), text("b")] }), json!("a\nb"), false),
        (json!({ "content": [text("{ \"n\" : 1 }")] }), json!({ "n": 1 }), true),
        (
            json!({ "content": [text("{\"id\":12345678901234567890}")] }),
            json!("{\"id\":12345678901234567890}"),
            false,
        ),
        (
            json!({ "content": [text("{\"n\":1.0}")], "structuredContent": { "n": 1 } }),
            json!({ "n": 1 }),
            false,
        ),
        (
            json!({ "content": [text("one")], "structuredContent": { "n": 1 } }),
            json!("one\n{\"n\":1}"),
            false,
        ),
        (json!({ "structuredContent": { "s": "a\u{200b}b" } }), json!({ "s": "ab" }), true),
        (json!({ "structuredContent": [] }), json!([]), false),
        (json!({ "content": "plain" }), json!("plain"), false),
        (
            json!({ "content": [{ "type": "resource", "resource": { "uri": "file:///a", "text": "x" } }] }),
            json!("[file:///a]\nx"),
            true,
        ),
        (
            json!({ "content": [{ "type": "resource_link", "uri": "https://e.com/a", "name": "a", "mimeType": "text/csv", "size": 9 }] }),
            json!("[link a: https://e.com/a, text/csv, 9 bytes]"),
            true,
        ),
        (
            json!({ "content": [{ "type": "hologram", "x": 1 }] }),
            json!("[a block of the kind hologram, left out; it is content/0 of the raw result]"),
            true,
        ),
        (
            json!({ "structuredContent": { "png": "QUJD".repeat(300), "n": 1 } }),
            json!({ "png": "[900 bytes of base64 left out]", "n": 1 }),
            true,
        ),
    ] {
        let output = normalise(&result).unwrap();
        assert_eq!(output.value, value, "{result}");
        assert_eq!(output.raw.is_some(), raw, "{result}");
    }
}

#[test]
fn a_failure_is_told_in_the_servers_words() {
    for (result, message) in [
        (
            json!({ "content": [{ "type": "text", "text": "no <b>such</b> city" }], "isError": true }),
            "no such city",
        ),
        (json!({ "content": [], "structuredContent": { "code": 7 }, "isError": true }), "{\"code\":7}"),
        (json!({ "content": [], "isError": true }), "the tool failed and did not say why"),
        (json!({ "hello": 1 }), "the MCP server answered with something that is no result"),
        (json!(null), "the MCP server answered with something that is no result"),
    ] {
        let error = normalise(&result).unwrap_err();
        assert!(matches!(error, ToolError::Failed { .. }));
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn base64_is_measured_without_decoding() {
    for bytes in 0..20 {
        assert_eq!(decoded_len(&STANDARD.encode(vec![7; bytes])), bytes);
    }
}
