use async_trait::async_trait;
use hermes_core::{NewMessage, Seq};

use super::*;
use crate::EstimateCounter;

/// Answers each request with the next of its answers.
#[derive(Debug)]
struct Scripted(&'static str);

#[async_trait]
impl Summarizer for Scripted {
    async fn summarize(&self, _request: SummaryRequest) -> Result<String, ModelError> {
        match self.0 {
            "fail" => Err(ModelError::Interrupted { source: None }),
            "long" => Ok("word ".repeat(5_000)),
            answer => Ok(answer.to_owned()),
        }
    }
}

fn turn(first: u64, user: &str, answer: &str) -> Vec<Arc<Message>> {
    let at = Timestamp::UNIX_EPOCH;
    let user = Message::from_new(NewMessage::user(user), Seq::new(first), at);
    let answer = Message::from_new(NewMessage::assistant(answer), Seq::new(first + 1), at);
    vec![Arc::new(user), Arc::new(answer)]
}

async fn fold_one(context: ContextMetadata, summarizer: Option<&'static str>, now: i64) -> ContextMetadata {
    let turn = turn(1, "Please book order M-23891 for 9 June 2027", "Booked, it costs $1,250.");
    let model = summarizer.map(Scripted);
    let model = model.as_ref().map(|model| model as &dyn Summarizer);
    let now = Timestamp::from_second(now).unwrap();
    fold(context, &[&turn], model, &SessionConfig::default(), &EstimateCounter::new(), now).await
}

fn written(context: &ContextMetadata) -> (&str, SummaryOrigin, Seq) {
    let summary = context.summary.as_ref().unwrap();
    (&summary.text, summary.origin, summary.through)
}

const DIGEST: &str =
    "- User: Please book order M-23891 for 9 June 2027\n- Assistant: Booked, it costs $1,250.";

#[tokio::test]
async fn a_model_writes_the_summary_and_rules_find_the_anchors() {
    let folded = fold_one(ContextMetadata::default(), Some(" The order is booked. "), 100).await;
    assert_eq!(written(&folded), ("The order is booked.", SummaryOrigin::Model, Seq::new(2)));
    assert_eq!(folded.summary.unwrap().anchors, ["M-23891", "9 June 2027", "$1,250"]);
    assert_eq!((folded.fold_failures, folded.fold_retry_at), (0, None));
}

#[tokio::test]
async fn without_a_model_or_with_a_useless_one_the_digest_stands_in() {
    for useless in [None, Some("fail"), Some(""), Some("  \n"), Some("long")] {
        let folded = fold_one(ContextMetadata::default(), useless, 100).await;
        assert_eq!(written(&folded), (DIGEST, SummaryOrigin::Digest, Seq::new(2)), "{useless:?}");
        assert_eq!(folded.fold_failures, u32::from(useless.is_some()), "{useless:?}");
    }
}

#[tokio::test]
async fn a_model_that_failed_is_left_alone_for_a_while_that_doubles() {
    let first = fold_one(ContextMetadata::default(), Some("fail"), 100).await;
    assert_eq!(first.fold_retry_at, Some(Timestamp::from_second(160).unwrap()));
    let known = ContextMetadata { summary: None, ..first };
    let early = fold_one(known.clone(), Some("It works again."), 159).await;
    assert_eq!((written(&early).1, early.fold_failures), (SummaryOrigin::Digest, 1));
    let later = fold_one(known.clone(), Some("It works again."), 160).await;
    assert_eq!((written(&later).0, later.fold_failures, later.fold_retry_at), ("It works again.", 0, None));
    let again = fold_one(known, Some("fail"), 160).await;
    assert_eq!(again.fold_retry_at, Some(Timestamp::from_second(280).unwrap()));
    assert_eq!(cooldown(Duration::from_secs(60), u32::MAX), Duration::from_secs(64 * 60));
}

#[test]
fn the_digest_takes_in_the_summary_so_far() {
    let (config, counter) = (SessionConfig::default(), EstimateCounter::new());
    let first = turn(1, "我的订单是 M-23891", "好的。");
    let second = turn(3, "改成六月九日", "已改。");
    let summary = stand_in(None, &[&first], &config, &counter);
    let summary = stand_in(summary.as_ref(), &[&second], &config, &counter).unwrap();
    assert_eq!(
        summary.text,
        "- 用户：我的订单是 M-23891\n- 助手：好的。\n- 用户：改成六月九日\n- 助手：已改。"
    );
    assert_eq!((summary.through, summary.anchors), (Seq::new(4), vec!["M-23891".to_owned()]));
    assert_eq!(stand_in(None, &[], &config, &counter), None);
}
