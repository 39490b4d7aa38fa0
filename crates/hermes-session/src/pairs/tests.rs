use super::*;

fn id(text: &str) -> CallId {
    CallId::new(text).unwrap()
}

/// `u` a user, `a` a plain answer, `c:x,y` a step with calls, `r:x` a result.
fn log(script: &str) -> Vec<Arc<ChatMessage>> {
    let one = |word: &str| match word.split_once(':') {
        Some(("c", ids)) => ChatMessage::Assistant {
            content: Vec::new(),
            calls: ids.split(',').map(|name| ToolCall::new(id(name), "tool", "{}")).collect(),
            provider: hermes_core::ProviderMetadata::new(),
        },
        Some(("r", name)) => ChatMessage::Tool {
            call: id(name),
            tool: "tool".to_owned(),
            content: vec![ContentPart::Text(format!("result {name}"))],
        },
        _ if word == "u" => ChatMessage::user("u"),
        _ => ChatMessage::assistant("a"),
    };
    script.split_whitespace().map(|word| Arc::new(one(word))).collect()
}

/// The same script back; `x:id` is an explanatory result.
fn script(messages: &[Arc<ChatMessage>]) -> String {
    let word = |message: &Arc<ChatMessage>| match message.as_ref() {
        ChatMessage::Tool { call, content, .. } => {
            let logged =
                content.iter().any(|part| part.as_text().is_some_and(|text| text.starts_with("result ")));
            format!("{}:{call}", if logged { "r" } else { "x" })
        }
        ChatMessage::User { .. } | ChatMessage::System { .. } => "u".to_owned(),
        ChatMessage::Assistant { calls, .. } if calls.is_empty() => "a".to_owned(),
        ChatMessage::Assistant { calls, .. } => {
            format!("c:{}", calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>().join(","))
        }
    };
    messages.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn any_log_becomes_one_that_can_be_sent() {
    for (given, expected) in [
        ("u c:1,2 r:1 r:2 a", "u c:1,2 r:1 r:2 a"),
        // Results in call order.
        ("u c:1,2,3 r:1 r:3 r:2 a", "u c:1,2,3 r:1 r:2 r:3 a"),
        // What stands in between moves behind.
        ("u c:1,2 r:1 u r:2 a", "u c:1,2 r:1 r:2 u a"),
        ("u c:1 u a r:1", "u c:1 r:1 u a"),
        // A missing result is explained.
        ("u c:1,2 r:1 u", "u c:1,2 r:1 x:2 u"),
        ("u c:1", "u c:1 x:1"),
        // Orphans go: no call, a call that comes later, a call that is answered.
        ("r:1 u a", "u a"),
        ("u r:1 c:1 a", "u c:1 x:1 a"),
        ("u c:1 r:1 r:1 a", "u c:1 r:1 a"),
        // An id that comes again is another call, and is sent under an id of its own.
        ("u c:1 r:1 c:1 r:1", "u c:1 r:1 c:1~2 r:1~2"),
        ("u c:1 u c:1 r:1", "u c:1 x:1 u c:1~2 r:1~2"),
        ("u c:1,1 r:1 r:1", "u c:1,1~2 r:1 r:1~2"),
        ("u c:1 r:1 c:1 r:1 c:1~2 r:1~2", "u c:1 r:1 c:1~2 r:1~2 c:1~2~2 r:1~2~2"),
        ("", ""),
    ] {
        let repaired = repair(log(given), &HashSet::new());
        assert_eq!(script(&repaired), expected, "{given}");
        assert!(paired(&repaired), "{given}");
        let again = repair(repaired.clone(), &HashSet::new());
        assert_eq!(again, repaired, "{given}");
    }
}

#[test]
fn a_healthy_log_keeps_its_very_messages() {
    let healthy = log("u c:1,2 r:1 r:2 a u c:3 r:3 a");
    let repaired = repair(healthy.clone(), &HashSet::new());
    assert!(healthy.iter().zip(&repaired).all(|(before, after)| Arc::ptr_eq(before, after)));
}

#[test]
fn an_explanation_depends_on_the_call_alone_and_says_what_is_known() {
    let text = |script: &str, pending: &[&str]| {
        let repaired = repair(log(script), &pending.iter().map(|name| id(name)).collect());
        let tool =
            repaired.iter().find(|message| matches!(message.as_ref(), ChatMessage::Tool { .. })).cloned();
        serde_json::to_string(&tool.as_deref()).unwrap()
    };
    let lost = text("u c:1", &[]);
    assert_eq!(lost, text("u a u u c:1 u a", &[]));
    assert!(lost.contains(r#"\"success\":false"#) && lost.contains("outcome is unknown"), "{lost}");
    let running = text("u c:1", &["1"]);
    assert!(running.contains("still running") && !running.contains("interrupted"), "{running}");
}

#[test]
fn a_result_stays_with_its_step_by_position() {
    let steps = match_results(&log("u c:1 c:1 r:1"));
    assert_eq!(
        steps.iter().map(|step| step.results.clone()).collect::<Vec<_>>(),
        [vec![None], vec![Some(3)]]
    );
}
