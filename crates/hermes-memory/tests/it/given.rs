//! The given cases on memory, by id.

use std::sync::{Arc, Mutex};

use hermes_core::{
    EpisodicStore, Layer, Limit, MemoryFilter, MemoryKind, MemoryRecord, MemorySource, MemoryStatus,
    PageRequest, Score, SemanticStore, Seq, SessionId, async_trait,
};
use hermes_inmemory::{InMemorySemanticStore, InMemoryStore};
use hermes_memory::{
    Dictated, Draft, ExtractError, Extraction, ExtractionInput, Extractor, Memory, MemoryConfig,
    ModelExtractor, Recall, RecallRequest, Relation, TurnTranscript,
};
use hermes_testkit::fake::{Answer, FailingStore, Fault, HashEmbedder, ManualClock, ScriptedModel};

use crate::support::{
    FailingEmbedder, FixedEmbedder, ScriptedJudge, at, contents, dana, memory, owner, turn, with_status,
};

#[tokio::test]
async fn g28_the_extractors_answer_is_json_wrapped_in_other_things() {
    let cases: [(&str, &[&str], bool); 9] = [
        (
            "```json\n{\"memories\":[{\"type\":\"preference\",\"content\":\"用户偏好简洁回复\",\"confidence\":0.92}]}\n```",
            &["用户偏好简洁回复"],
            true,
        ),
        (
            "根据对话{关于旅行}，结果如下：{\"memories\":[{\"type\":\"fact\",\"content\":\"用户住在杭州\",\"confidence\":0.9}]} 希望有帮助 {完}",
            &["用户住在杭州"],
            true,
        ),
        (
            "<think>也许是 {\"memories\":[{\"type\":\"preference\",\"content\":\"用户讨厌香菜\",\"confidence\":0.95}]}</think>{\"memories\":[]}",
            &[],
            true,
        ),
        (
            "{\"memories\":[{\"type\":\"fact\",\"content\":\"用户用 fish，启动命令是 ```set -x A 1```\",\"confidence\":0.9}]}",
            &["用户用 fish，启动命令是 ```set -x A 1```"],
            true,
        ),
        (
            "{\"memories\":[{\"type\":\"fact\",\"content\":\"a\",\"confidence\":0.8},{\"type\":\"fact\",\"content\":\"b\",\"confidence\":0.81},{\"type\":\"fact\",\"content\":\"c\"},{\"type\":\"fact\",\"content\":\"d\",\"confidence\":1.7},{\"type\":\"fact\",\"content\":\"\",\"confidence\":0.9}]}",
            &["b"],
            true,
        ),
        ("{\"memories\":null}", &[], true),
        ("I found nothing to remember.", &[], false),
        ("", &[], false),
        (
            "{\"memories\":[{\"type\":\"fact\",\"content\":\"用户有两只猫\",\"confidence\":0.9},{\"type\":\"fact\",\"content\":\"用户在上",
            &[],
            false,
        ),
    ];
    let said = "我偏好简洁回复，住在杭州，讨厌香菜，用 fish，启动命令是 ```set -x A 1```，a b c d，有两只猫";
    for (answer, written, read) in cases {
        // A failed extraction is tried twice in all, as configured by default.
        let model = ScriptedModel::new([Answer::text(answer), Answer::text(answer)]);
        let (memory, _) = memory();
        let memory = memory.with_extractor(ModelExtractor::new(model.clone()));
        let report = memory.learn(&turn(1, said, "2026-12-01T12:00:00Z")).await;
        assert_eq!(contents(&with_status(&memory, &dana(), MemoryStatus::Active).await), written, "{answer}");
        assert_eq!(matches!(report.extraction, Extraction::Read { .. }), read, "{answer}: {report:?}");
        assert_eq!(
            matches!(report.extraction, Extraction::Failed(ExtractError::Unreadable { .. })),
            !read,
            "{answer}"
        );
        assert_eq!(model.requests().len(), if read { 1 } else { 2 }, "{answer}");
        assert!(report.errors.is_empty());
    }
}

/// The two statements of g29 with the sentence that is extracted from each.
fn changed_mind() -> [(TurnTranscript, Draft); 2] {
    let session = SessionId::generate();
    let event = |seq, when: &str, said: &str, extracted: &str| {
        let turn = TurnTranscript::new(dana(), session, at(when)).with_user(Seq::new(seq), said);
        (turn, Draft::new(MemoryKind::Preference, extracted, Score::ONE).with_quote(said))
    };
    [
        event(1, "2026-03-01T10:00:00+08:00", "我喜欢吃辣", "用户喜欢吃辣"),
        event(9, "2026-03-20T10:00:00+08:00", "我现在不吃辣了，胃不好", "用户不再吃辣"),
    ]
}

/// A memory whose embedder finds all texts alike, on stores that a test can look into.
fn alike(store: impl EpisodicStore, clock: &ManualClock) -> Memory {
    Memory::new(store, InMemorySemanticStore::default(), FixedEmbedder::new(&[], [1.0, 0.0]))
        .with_judge(ScriptedJudge(Relation::Contradicts))
        .with_clock(clock.clone())
}

async fn dinner(memory: &Memory, clock: &ManualClock) -> Recall {
    clock.set(at("2026-03-21T12:00:00+08:00"));
    memory.recall(&dana(), &RecallRequest::new("晚饭推荐点什么")).await
}

fn recalled(recall: &Recall) -> Vec<&str> {
    recall.items.iter().map(|item| item.record.content.as_str()).collect()
}

async fn assert_mind_changed(memory: &Memory, clock: &ManualClock) {
    let active = with_status(memory, &dana(), MemoryStatus::Active).await;
    let expired = with_status(memory, &dana(), MemoryStatus::Expired).await;
    assert_eq!(contents(&active), ["用户不再吃辣"]);
    assert_eq!(contents(&expired), ["用户喜欢吃辣"]);
    let (active, expired) = (active.first().unwrap(), expired.first().unwrap());
    assert_eq!(expired.valid_until, Some(at("2026-03-20T10:00:00+08:00")));
    assert_eq!(active.supersedes, Some(expired.id));
    assert_eq!(recalled(&dinner(memory, clock).await), ["用户不再吃辣"]);
}

#[tokio::test]
async fn g29_a_contradiction_leaves_the_later_statement_in_both_orders() {
    for order in [[0, 1], [1, 0]] {
        let events = changed_mind();
        let clock = ManualClock::new(at("2026-03-20T10:00:05+08:00"));
        let mut memory = alike(InMemoryStore::new(), &clock);
        for place in order {
            let (turn, draft) = &events[place];
            if order == [0, 1] {
                clock.set(turn.at);
            }
            let report;
            (memory, report) = crate::support::learn(memory, turn, vec![draft.clone()]).await;
            assert_eq!(report.written.len(), 1, "{report:?}");
        }
        assert_mind_changed(&memory, &clock).await;
    }
}

#[tokio::test]
async fn g29_at_no_time_are_both_or_neither_active_for_a_reader() {
    let events = changed_mind();
    let clock = ManualClock::new(events[0].0.at);
    let store = FailingStore::new(InMemoryStore::new());
    let (memory, _) =
        crate::support::learn(alike(store.clone(), &clock), &events[0].0, vec![events[0].1.clone()]).await;
    clock.set(events[1].0.at);
    // The writer dies between writing the new one and marking the old one.
    store.fail_call("EpisodicStore::update", 1, Fault::Permanent);
    let (memory, report) = crate::support::learn(memory, &events[1].0, vec![events[1].1.clone()]).await;
    assert_eq!(report.errors.len(), 1);
    assert_eq!(recalled(&dinner(&memory, &clock).await), ["用户不再吃辣"]);
    // Learning the same turn again ends what was begun.
    let (memory, report) = crate::support::learn(memory, &events[1].0, vec![events[1].1.clone()]).await;
    assert!(report.errors.is_empty(), "{report:?}");
    assert_mind_changed(&memory, &clock).await;
}

#[tokio::test]
async fn g30_nobody_gets_anothers_memories() {
    let records = [
        (owner("t1", "u1"), "用户住在法国"),
        (owner("t1", "u2"), "用户住在美国"),
        (owner("t2", "u1"), "用户住在日本"),
        (owner("t1", "U1"), "用户住在德国"),
    ];
    let asks = [
        (owner("t1", "u1"), Some("用户住在法国")),
        (owner("t1", "u2"), Some("用户住在美国")),
        (owner("t2", "u1"), Some("用户住在日本")),
        (owner("t1", "nobody"), None),
        (owner("t1", "u1' OR '1'='1"), None),
        (owner("t1", "u*"), None),
    ];
    let query = RecallRequest::new("用户住在哪里");
    let everything = (MemoryFilter::default(), PageRequest::first(Limit::MAX));
    for layer in [Layer::Semantic, Layer::Episodic] {
        let (episodic, semantic) = (InMemoryStore::new(), InMemorySemanticStore::default());
        let fused = Memory::new(episodic.clone(), semantic.clone(), HashEmbedder::new());
        for (owner, content) in &records {
            let id = fused.add(owner, Dictated::fact(*content)).await.unwrap().record().unwrap().id;
            if layer == Layer::Episodic {
                let record = SemanticStore::get(&semantic, owner, id).await.unwrap().unwrap();
                SemanticStore::delete(&semantic, owner, id).await.unwrap();
                let record = MemoryRecord { layer, ..record };
                EpisodicStore::create(&episodic, &record).await.unwrap();
            }
        }
        let mut no_words = MemoryConfig::default();
        no_words.recall.lexical_gate = usize::MAX;
        let by_words = Memory::new(episodic.clone(), semantic.clone(), FailingEmbedder(HashEmbedder::new()));
        let by_vector =
            Memory::new(episodic.clone(), semantic.clone(), HashEmbedder::new()).with_config(no_words);
        for (owner, expected) in &asks {
            let expected: Vec<&str> = expected.iter().copied().collect();
            for memory in [&fused, &by_words, &by_vector] {
                let recall = memory.recall(owner, &query).await;
                assert_eq!(recalled(&recall), expected, "{owner} {layer:?}");
            }
            let listed = fused.list(owner, layer, &everything.0, &everything.1).await.unwrap().items;
            assert_eq!(contents(&listed), expected);
            assert_eq!(contents(&fused.export(owner).await.unwrap()), expected);
            let found = fused.search(owner, "住在哪里", Limit::new(10)).await.unwrap();
            assert_eq!(found.iter().map(|item| item.record.content.as_str()).collect::<Vec<_>>(), expected);
        }
        let first = &fused.export(&records[0].0).await.unwrap()[0];
        for (stranger, _) in &asks[1..] {
            assert_eq!(fused.forget(stranger, first.id).await.unwrap(), 0);
            assert!(fused.why(stranger, first.id).await.unwrap().is_none());
        }
        assert_eq!(fused.forget(&records[0].0, first.id).await.unwrap(), 1);
        assert!(fused.export(&records[0].0).await.unwrap().is_empty());
        for (owner, content) in &records[1..] {
            assert_eq!(contents(&fused.export(owner).await.unwrap()), [*content]);
        }
    }
}

/// Takes every code and every quoted word that it is shown for a fact.
#[derive(Debug, Clone, Default)]
struct Greedy(Arc<Mutex<Vec<ExtractionInput>>>);

#[async_trait]
impl Extractor for Greedy {
    async fn extract(&self, input: &ExtractionInput) -> Result<Vec<Draft>, ExtractError> {
        self.0.lock().unwrap().push(input.clone());
        let values = ["SPRING-77", "O-9", "次日达"];
        let draft =
            |value: &str| Draft::new(MemoryKind::Fact, value, Score::new(0.95).unwrap()).with_quote(value);
        let shown = input.lines.iter();
        Ok(shown
            .flat_map(|line| values.iter().filter(|v| line.text.contains(**v)).map(|v| draft(v)))
            .collect())
    }
}

#[tokio::test]
async fn g31_tool_output_and_its_retelling_do_not_become_facts() {
    let extractor = Greedy::default();
    let (memory, _) = memory();
    let memory = memory.with_extractor(extractor.clone());
    let session = SessionId::generate();
    let tool = "{\"order\":\"O-9\",\"coupon\":\"SPRING-77\",\"note\":\"客户偏好次日达\"}";
    let told = "订单 O-9 备注显示您偏好次日达，另有优惠码 SPRING-77。";
    let first = TurnTranscript::new(dana(), session, at("2026-12-01T11:00:00Z"))
        .with_user(Seq::new(1), "查一下我的订单")
        .with_tool(Seq::new(3), tool)
        .with_assistant(Seq::new(4), told);
    memory.learn(&first).await;
    assert!(memory.export(&dana()).await.unwrap().is_empty());
    let shown = extractor.0.lock().unwrap()[0].clone();
    assert_eq!(shown.lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), ["查一下我的订单"]);

    let second = TurnTranscript::new(dana(), session, at("2026-12-01T11:01:00Z"))
        .with_assistant(Seq::new(4), told)
        .with_user(Seq::new(5), "记住这个优惠码")
        .with_assistant(Seq::new(6), "好的，SPRING-77 已记下。")
        .with_tool(Seq::new(3), tool);
    memory.learn(&second).await;
    let records = memory.export(&dana()).await.unwrap();
    assert_eq!(records.len(), 1, "{records:?}");
    assert!(records[0].content.contains("SPRING-77"));
    assert_eq!(records[0].source, MemorySource::UserCommand);
    assert_eq!(records[0].provenance[0].session, session);
    assert!(records[0].provenance[0].messages.contains(&Seq::new(3)), "{:?}", records[0].provenance);
    assert!(records[0].provenance[0].messages.contains(&Seq::new(5)));
    assert!(records.iter().all(|r| !r.content.contains("次日达") && !r.content.contains("O-9")));
}

#[tokio::test]
async fn g32_the_threshold_is_compared_with_a_likeness() {
    let vectors = [
        ("same", [1.0, 0.0]),
        ("near", [0.9, 0.43589]),
        ("half", [0.5, 0.866_025]),
        ("far", [0.2, 0.979_796]),
        ("opposite", [-1.0, 0.0]),
    ];
    let cases: [(f32, &[&str]); 3] =
        [(0.45, &["same", "near", "half"]), (0.6, &["same", "near"]), (0.95, &["same"])];
    // Vectors of any length give the same.
    for length in [1.0, 7.5] {
        let scaled = vectors.map(|(name, [x, y])| (name, [x * length, y * length]));
        let mut fewer = usize::MAX;
        for (threshold, expected) in std::iter::once((0.0, &[][..])).chain(cases) {
            let mut config = MemoryConfig::default();
            config.recall.threshold = threshold;
            let embedder = FixedEmbedder::new(&scaled, [length, 0.0]);
            let memory = Memory::new(InMemoryStore::new(), InMemorySemanticStore::default(), embedder)
                .with_config(config);
            for (name, _) in &vectors {
                memory.add(&dana(), Dictated::fact(*name)).await.unwrap();
            }
            let recall = memory.recall(&dana(), &RecallRequest::new("query")).await;
            if threshold > 0.0 {
                assert_eq!(recalled(&recall), expected, "{threshold}");
            }
            assert!((recall.items[0].score.get() - 1.0).abs() < 1e-6);
            let scores = [("same", 1.0), ("near", 0.9), ("half", 0.5), ("far", 0.2), ("opposite", 0.0)];
            for item in &recall.items {
                let (_, score) = scores.iter().find(|(name, _)| *name == item.record.content).unwrap();
                assert!((item.score.get() - score).abs() < 1e-4, "{item:?}");
            }
            assert!(recall.items.len() <= fewer, "a higher threshold never adds");
            fewer = recall.items.len();
        }
    }
}
