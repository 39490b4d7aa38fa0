//! Habits are counted, and made once (R4).

use hermes_core::{MemoryKind, MemorySource, Seq, SessionId};
use hermes_inmemory::InMemoryStore;
use hermes_memory::{
    Error, Memory, MemoryConfig, Observation, Observed, Pattern, RecallRequest, Switch, ToolHabits,
    TurnTranscript,
};

use crate::support::{at, dana, memory, owner};

fn counting(memory: Memory) -> Memory {
    let mut config = MemoryConfig::default();
    config.implicit.switch = Switch::On;
    memory.with_config(config).with_state(InMemoryStore::new())
}

fn tomorrow(message: u64) -> Observation {
    let key = "weather.then_tomorrow".to_owned();
    let pattern = Pattern { key, description: "用户习惯连续追问多天天气".to_owned() };
    Observation {
        pattern,
        session: "01936d7c-0000-7000-8000-000000000001".parse::<SessionId>().unwrap(),
        message: Seq::new(message),
    }
}

#[tokio::test]
async fn the_fourth_occurrence_makes_a_habit_once() {
    let memory = counting(memory().0);
    for n in 1..=3 {
        let seen = memory.observe(&dana(), &tomorrow(n)).await.unwrap();
        assert_eq!(seen, Observed::Counted { count: u32::try_from(n).unwrap() });
    }
    assert_eq!(
        memory.observe(&dana(), &tomorrow(3)).await.unwrap(),
        Observed::Counted { count: 3 },
        "the same message again"
    );
    assert_eq!(
        memory.observe(&owner("acme", "erik"), &tomorrow(4)).await.unwrap(),
        Observed::Counted { count: 1 }
    );
    let Observed::Habit(habit) = memory.observe(&dana(), &tomorrow(4)).await.unwrap() else { unreachable!() };
    assert_eq!((habit.kind, habit.source), (MemoryKind::Habit, MemorySource::Implicit));
    assert_eq!(habit.weight, 0.8);
    assert_eq!(habit.provenance[0].messages, [1, 2, 3, 4].map(Seq::new));
    assert_eq!(memory.observe(&dana(), &tomorrow(5)).await.unwrap(), Observed::Counted { count: 5 });
    assert_eq!(memory.export(&dana()).await.unwrap().len(), 1);
    let recall = memory.recall(&dana(), &RecallRequest::new("今天天气怎么样，追问多天")).await;
    assert_eq!(recall.items.len(), 1);

    // What the user removed does not come back.
    assert_eq!(memory.forget(&dana(), habit.id).await.unwrap(), 1);
    memory.observe(&dana(), &tomorrow(6)).await.unwrap();
    assert!(memory.export(&dana()).await.unwrap().is_empty());
}

#[tokio::test]
async fn at_once_no_occurrence_is_lost_and_one_habit_is_made() {
    let memory = counting(memory().0);
    let seen: Vec<_> = (1..=10).map(tomorrow).collect();
    let dana = dana();
    let outcomes = futures_util::future::join_all(seen.iter().map(|seen| memory.observe(&dana, seen))).await;
    let made = outcomes.into_iter().map(Result::unwrap).filter(|o| matches!(o, Observed::Habit(_))).count();
    assert_eq!(made, 1);
    assert_eq!(memory.observe(&dana, &tomorrow(11)).await.unwrap(), Observed::Counted { count: 11 });
}

#[tokio::test]
async fn nothing_is_counted_unless_it_is_switched_on() {
    let off = memory().0.with_state(InMemoryStore::new());
    assert_eq!(off.observe(&dana(), &tomorrow(1)).await.unwrap(), Observed::Off);
    let mut config = MemoryConfig::default();
    config.implicit.switch = Switch::On;
    let stateless = memory().0.with_config(config);
    assert!(matches!(stateless.observe(&dana(), &tomorrow(1)).await, Err(Error::NoState)));
}

#[tokio::test]
async fn tools_that_are_used_again_and_again_are_a_habit() {
    let memory = counting(memory().0).with_recognizer(ToolHabits);
    let mut habits = Vec::new();
    for seq in 1..=5 {
        let mut turn = TurnTranscript::new(dana(), SessionId::generate(), at("2026-12-01T11:00:00Z"))
            .with_user(Seq::new(seq), "帮我订个位子");
        turn.tools_used = vec!["make_reservation".to_owned(), "make_reservation".to_owned()];
        habits.extend(memory.learn(&turn).await.habits);
    }
    assert_eq!(habits.len(), 1);
    assert_eq!(habits[0].content, "用户经常提出需要使用工具「make_reservation」的请求");
    assert_eq!(habits[0].provenance.len(), 4);
    assert_eq!(memory.erase_user(&dana()).await.unwrap(), 2, "the memory and the counter");
}
