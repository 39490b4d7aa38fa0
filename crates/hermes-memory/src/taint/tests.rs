use super::*;

#[test]
fn every_pattern_compiles() {
    for pattern in [&REMEMBER, &ASKS_WHETHER, &ACCEPTS, &LIKES, &PASSES] {
        assert!(pattern.is_some());
    }
}

#[test]
fn asking_to_remember_is_told_from_asking_about_it() {
    for asks in [
        "记住这个优惠码",
        "帮我记一下，我对花生过敏",
        "请记住：我住在杭州",
        "别忘了我不吃辣",
        "Remember that I live in Hangzhou",
        "Thanks. Please remember my order number",
        "Keep in mind I'm allergic to nuts",
        "don't forget: no peanuts",
    ] {
        assert!(asks_to_remember(asks), "{asks}");
    }
    for does_not in [
        "你还记得我住在哪里吗",
        "我记得你说过",
        "你记住了吗",
        "Do you remember my name?",
        "I can't remember the place",
        "I remember that day",
        "Remember when we talked?",
        "查一下我的订单",
    ] {
        assert!(!asks_to_remember(does_not), "{does_not}");
    }
}

#[test]
fn acceptance_stands_at_the_beginning() {
    for yes in [
        "Yes",
        "yes, please",
        "That's right.",
        "Exactly!",
        "对",
        "对的，就这样",
        "好的",
        "是的。",
        "嗯嗯",
        "没错啊",
    ] {
        assert!(accepts(yes), "{yes}");
    }
    for no in
        ["No", "yesterday was fine", "对不起", "好像不是", "行李在哪", "I said yes", "righteous", "可以吗"]
    {
        assert!(!accepts(no), "{no}");
    }
}

#[test]
fn a_mention_without_a_liking_is_passing() {
    assert!(only_mentioned("I went to Rome last year", "I went to Rome last year"));
    assert!(!only_mentioned("I went to Rome and loved it, I love Rome", "…"));
    assert!(!only_mentioned("上次去过成都", "上次去过成都，我最爱那里的火锅"));
    assert!(!only_mentioned("I live in Rome", "I live in Rome"), "not passing at all");
}

#[test]
fn clauses_end_at_the_punctuation_of_both_languages() {
    let text = "订单 O-9 已发货，优惠码 A-1。Next, version 1.5 ships. Done";
    assert_eq!(
        clauses(text).collect::<Vec<_>>(),
        ["订单 O-9 已发货", "优惠码 A-1", "Next", "version 1.5 ships", "Done"]
    );
}
