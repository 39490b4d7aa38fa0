//! What is learned from a turn, and what is not (R3, R5, R9, R10, R12).

use hermes_core::{Layer, MemoryKind, MemorySource, MemoryStatus, Score, Seq, SessionId};
use hermes_memory::{
    Draft, DropReason, Extraction, LearnReport, Memory, MemoryConfig, Switch, TurnTranscript, Written,
};

use crate::support::{ScriptedExtractor, at, contents, dana, learn, memory, turn, with_status};

const WHEN: &str = "2026-12-01T11:00:00Z";

fn draft(kind: MemoryKind, content: &str, quote: &str) -> Draft {
    Draft::new(kind, content, Score::new(0.95).unwrap()).with_quote(quote)
}

fn reasons(report: &LearnReport) -> Vec<DropReason> {
    report.dropped.iter().map(|dropped| dropped.reason).collect()
}

/// What is said about a single proposal for a single message.
async fn verdict(said: &str, draft: Draft) -> Result<(), DropReason> {
    let (memory, report) = learn(memory().0, &turn(1, said, WHEN), vec![draft]).await;
    assert!(report.errors.is_empty(), "{report:?}");
    let written = memory.export(&dana()).await.unwrap().len();
    match reasons(&report).as_slice() {
        [] => {
            assert_eq!(written, 1);
            Ok(())
        }
        [reason] => {
            assert_eq!(written, 0);
            Err(*reason)
        }
        more => unreachable!("one proposal has one verdict: {more:?}"),
    }
}

#[tokio::test]
async fn each_kind_goes_to_its_layer() {
    let said = "I live in Hangzhou, I like tea and I see a dentist on Friday";
    let drafts = vec![
        draft(MemoryKind::Fact, "The user lives in Hangzhou", "I live in Hangzhou"),
        draft(MemoryKind::Preference, "The user likes tea", "I like tea"),
        draft(MemoryKind::Event, "The user sees a dentist on Friday", "I see a dentist on Friday"),
    ];
    let (memory, report) = learn(memory().0, &turn(3, said, WHEN), drafts).await;
    assert!(matches!(report.extraction, Extraction::Read { proposed: 3 }));
    let records = with_status(&memory, &dana(), MemoryStatus::Active).await;
    let layer = |kind| records.iter().find(|r| r.kind == kind).unwrap().layer;
    assert_eq!(layer(MemoryKind::Fact), Layer::Semantic);
    assert_eq!(layer(MemoryKind::Preference), Layer::Episodic);
    assert_eq!(layer(MemoryKind::Event), Layer::Episodic);
    let tea = records.iter().find(|r| r.kind == MemoryKind::Preference).unwrap();
    assert_eq!(tea.source, MemorySource::Explicit);
    assert_eq!(tea.provenance[0].messages, [Seq::new(3)]);
    assert_eq!(tea.provenance[0].quote.as_deref(), Some("I like tea"));
    assert_eq!(tea.valid_from, at(WHEN));
    assert_eq!(tea.expires, Some(at("2026-12-08T12:00:00Z")), "seven days from the clock's present");
}

#[tokio::test]
async fn what_is_not_proved_is_not_written() {
    let fact = |content: &str, quote: &str| draft(MemoryKind::Fact, content, quote);
    let said = "I live in Hangzhou";
    assert_eq!(verdict(said, fact("The user lives in Hangzhou", "i  LIVE in hangzhou.")).await, Ok(()));
    assert_eq!(
        verdict(said, fact("The user lives in Hangzhou", "I moved to Hangzhou")).await,
        Err(DropReason::Unproven)
    );
    assert_eq!(verdict(said, fact("The user owns a sailing boat", said)).await, Err(DropReason::Unsupported));
    let unquoted = Draft::new(MemoryKind::Fact, "The user lives in Hangzhou", Score::ONE);
    assert_eq!(verdict(said, unquoted.clone()).await, Ok(()), "its own words are proof enough");
    let unquoted = Draft { content: "The user works for a bank in Shanghai".to_owned(), ..unquoted };
    assert_eq!(verdict(said, unquoted).await, Err(DropReason::Unproven));
    let unsure =
        Draft::new(MemoryKind::Fact, "The user lives in Hangzhou", Score::new(0.8).unwrap()).with_quote(said);
    assert_eq!(verdict(said, unsure).await, Err(DropReason::Unsure), "exactly 0.8 is not above it");
}

#[tokio::test]
async fn a_passing_mention_is_no_preference() {
    let likes = |place: &str, quote: &str| draft(MemoryKind::Preference, place, quote);
    let passing = Err(DropReason::PassingMention);
    assert_eq!(
        verdict("I once went to Shanghai", likes("The user likes Shanghai", "I once went to Shanghai")).await,
        passing
    );
    assert_eq!(verdict("我去过上海", likes("用户喜欢上海", "我去过上海")).await, passing);
    assert_eq!(verdict("我喜欢上海，去过三次", likes("用户喜欢上海", "我喜欢上海")).await, Ok(()));
    assert_eq!(verdict("I love Shanghai", likes("The user loves Shanghai", "I love Shanghai")).await, Ok(()));
}

#[tokio::test]
async fn secrets_are_neither_stored_nor_shown_to_the_extractor() {
    let said = "My password is hunter22 and my card is 4111 1111 1111 1111. I live in Hangzhou.";
    let drafts = vec![
        draft(MemoryKind::Fact, "The user's password is hunter22", "My password is hunter22"),
        draft(MemoryKind::Fact, "The user's card is 4111 1111 1111 1111", "my card is 4111 1111 1111 1111"),
        draft(MemoryKind::Fact, "The user lives in Hangzhou", said),
    ];
    let extractor = ScriptedExtractor::new([drafts]);
    let memory = memory().0.with_extractor(extractor.clone());
    let report = memory.learn(&turn(1, said, WHEN)).await;
    assert_eq!(reasons(&report), [DropReason::Secret, DropReason::Secret]);
    let stored = format!("{:?}", memory.export(&dana()).await.unwrap());
    let shown = format!("{:?}", extractor.shown.lock().unwrap());
    for text in [stored, shown] {
        assert!(text.contains("Hangzhou"));
        assert!(!text.contains("hunter22") && !text.contains("4111"), "{text}");
    }
}

#[tokio::test]
async fn a_sentence_whose_words_come_from_a_tool_is_tainted() {
    let turn = turn(1, "Look up my order please", WHEN)
        .with_tool(Seq::new(3), r#"{"note":"customer prefers next-day delivery"}"#)
        .with_assistant(Seq::new(4), "Your order says you prefer next-day delivery.");
    let lie = draft(
        MemoryKind::Preference,
        "The user prefers delivery of each order on the next day",
        "Look up my order please",
    );
    let (memory, report) = learn(memory().0, &turn, vec![lie]).await;
    assert_eq!(reasons(&report), [DropReason::Tainted]);
    assert!(memory.export(&dana()).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_memory_that_was_shown_is_not_learned_again() {
    let mut turn = turn(1, "Where should I eat tonight?", WHEN);
    turn.recalled = vec!["The user likes Sichuan food".to_owned()];
    let echo =
        draft(MemoryKind::Preference, "The user likes to eat Sichuan dishes", "Where should I eat tonight?");
    let (_, report) = learn(memory().0, &turn, vec![echo]).await;
    assert_eq!(reasons(&report), [DropReason::Tainted]);
}

#[tokio::test]
async fn what_the_user_accepted_counts_as_said() {
    let accepted = |answer: &str| {
        TurnTranscript::new(dana(), SessionId::generate(), at(WHEN))
            .with_assistant(Seq::new(4), "So you live in Hangzhou, right?")
            .with_user(Seq::new(5), answer)
            .with_assistant(Seq::new(6), "Good. Suzhou is near.")
    };
    let lives = draft(MemoryKind::Fact, "The user lives in Hangzhou", "you live in Hangzhou");
    let (_, report) = learn(memory().0, &accepted("Yes, that's right."), vec![lives.clone()]).await;
    let Written::Added(record) = &report.written[0] else { unreachable!("{report:?}") };
    assert_eq!(record.provenance[0].messages, [Seq::new(4)]);
    let (_, report) = learn(memory().0, &accepted("No, and what is the weather there?"), vec![lives]).await;
    assert_eq!(reasons(&report), [DropReason::Unproven]);
}

#[tokio::test]
async fn a_repeated_preference_becomes_lasting() {
    let tea = draft(MemoryKind::Preference, "The user likes tea", "I like tea");
    let (memory, _) = learn(memory().0, &turn(1, "I like tea", WHEN), vec![tea.clone()]).await;
    let id = memory.export(&dana()).await.unwrap()[0].id;
    let (memory, report) =
        learn(memory, &turn(9, "As I said, I like tea", "2026-12-02T11:00:00Z"), vec![tea]).await;
    assert!(matches!(&report.written[..], [Written::Reinforced(_)]), "{report:?}");
    let records = memory.export(&dana()).await.unwrap();
    assert_eq!(records.len(), 1);
    assert_eq!((records[0].id, records[0].layer, records[0].expires), (id, Layer::Semantic, None));
    assert_eq!(records[0].provenance.len(), 2);
}

#[tokio::test]
async fn learning_a_turn_twice_changes_nothing() {
    let turn = turn(1, "I like tea", WHEN);
    let tea = draft(MemoryKind::Preference, "The user likes tea", "I like tea");
    let (memory, _) = learn(memory().0, &turn, vec![tea.clone()]).await;
    let before = memory.export(&dana()).await.unwrap();
    let (memory, report) = learn(memory, &turn, vec![tea]).await;
    assert!(matches!(&report.written[..], [Written::Known(id)] if *id == before[0].id));
    assert_eq!(memory.export(&dana()).await.unwrap(), before);
}

#[tokio::test]
async fn a_new_value_of_the_same_attribute_supersedes_the_old_one() {
    let lives = |city: &str| {
        draft(MemoryKind::Fact, &format!("The user lives in {city}"), city)
            .with_attribute("user", "home_city")
            .with_value(city)
    };
    let (memory, _) = learn(memory().0, &turn(1, "I live in Hangzhou", WHEN), vec![lives("Hangzhou")]).await;
    let later = "2026-12-01T11:30:00Z";
    let (memory, report) =
        learn(memory, &turn(1, "I live in Suzhou now", later), vec![lives("Suzhou")]).await;
    let [Written::Superseded { record, replaced }] = &report.written[..] else { unreachable!("{report:?}") };
    assert_eq!(record.content, "The user lives in \"Suzhou\"");
    let old = memory.get(&dana(), replaced[0]).await.unwrap().unwrap();
    assert_eq!((old.status, old.valid_until), (MemoryStatus::Expired, Some(at(later))));
    // The same value in other words is no new value.
    let again = draft(MemoryKind::Fact, "The user's home is in Suzhou", "home")
        .with_attribute("user", "home_city")
        .with_value("Suzhou");
    let (memory, report) =
        learn(memory, &turn(1, "My home in Suzhou is small", "2026-12-01T11:40:00Z"), vec![again]).await;
    assert!(matches!(&report.written[..], [Written::Reinforced(_)]), "{report:?}");

    let restored = memory.undo(&dana(), record.id).await.unwrap();
    assert_eq!(restored.content, "The user lives in \"Hangzhou\"");
    assert_eq!(
        contents(&with_status(&memory, &dana(), MemoryStatus::Active).await),
        ["The user lives in \"Hangzhou\""]
    );
}

#[tokio::test]
async fn alike_memories_without_a_common_attribute_stand_beside_each_other() {
    let likes = draft(MemoryKind::Preference, "The user likes spicy food", "I like spicy food");
    let hates = draft(MemoryKind::Preference, "The user likes mild food", "I like mild food");
    let (memory, _) =
        learn(memory().0, &turn(1, "I like spicy food, I like mild food", WHEN), vec![likes, hates]).await;
    assert_eq!(with_status(&memory, &dana(), MemoryStatus::Active).await.len(), 2);
}

#[tokio::test]
async fn two_writers_of_the_same_fact_leave_one() {
    let lives = draft(MemoryKind::Fact, "The user lives in Hangzhou", "I live in Hangzhou");
    let memory = memory().0.with_extractor(ScriptedExtractor::new(vec![vec![lives]; 8]));
    let turns: Vec<_> = (1..=8).map(|seq| turn(seq, "I live in Hangzhou", WHEN)).collect();
    let reports = futures_util::future::join_all(turns.iter().map(|turn| memory.learn(turn))).await;
    assert!(
        reports.iter().all(|report| report.errors.is_empty() && report.written.len() == 1),
        "{reports:?}"
    );
    let records = memory.export(&dana()).await.unwrap();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].provenance.len(), 8);
}

#[tokio::test]
async fn days_become_dates_in_the_users_time_zone() {
    let turn = turn(1, "我明天要去看牙医", "2026-12-01T20:30:00Z").with_time_zone_name(Some("Asia/Shanghai"));
    let dentist = draft(MemoryKind::Event, "用户明天要去看牙医", "我明天要去看牙医");
    let (memory, _) = learn(memory().0, &turn, vec![dentist]).await;
    assert_eq!(memory.export(&dana()).await.unwrap()[0].content, "用户明天（2026-12-03）要去看牙医");
}

#[tokio::test]
async fn an_event_is_kept_until_it_is_over() {
    let said = "I fly to Chengdu on 2026-12-24";
    let flight = draft(MemoryKind::Event, "The user flies to Chengdu on 2026-12-24", said);
    let (memory, _) = learn(memory().0, &turn(1, said, WHEN), vec![flight]).await;
    let record = &memory.export(&dana()).await.unwrap()[0];
    assert_eq!((record.layer, record.expires), (Layer::Episodic, Some(at("2026-12-26T00:00:00Z"))));
}

#[tokio::test]
async fn the_explicit_path_has_a_switch_and_a_weight() {
    let tea = || draft(MemoryKind::Preference, "The user likes tea", "I like tea");
    let with = |switch, weight| {
        let mut config = MemoryConfig::default();
        config.explicit.switch = switch;
        config.explicit.weight = weight;
        memory().0.with_config(config)
    };
    let off: Memory = with(Switch::Off, 1.0);
    let (off, report) = learn(off, &turn(1, "I like tea", WHEN), vec![tea()]).await;
    assert!(matches!(report.extraction, Extraction::NotTried));
    assert!(off.export(&dana()).await.unwrap().is_empty());
    let (on, _) = learn(with(Switch::On, 0.5), &turn(1, "I like tea", WHEN), vec![tea()]).await;
    assert_eq!(on.export(&dana()).await.unwrap()[0].weight, 0.5);
}
