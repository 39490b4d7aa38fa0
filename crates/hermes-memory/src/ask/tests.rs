use super::*;

#[test]
fn every_pattern_compiles() {
    for pattern in
        [&REMEMBER, &NAMES, &FORGETS, &TO_DO, &ASKS_WHETHER, &STATES, &PLACES, &ACCEPTS, &QUOTED, &SPEAKS]
    {
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
        "我不吃辣，别忘了",
        "把这个优惠码记住",
        "你还记得我住在哪里吗？记住我住在杭州",
        "Remember that I live in Hangzhou",
        "Remember: I live in Hangzhou",
        "Thanks. Please remember my order number",
        "Keep in mind I'm allergic to nuts",
        "don't forget: no peanuts",
        "Do you remember my name? Please remember that it is Dana",
    ] {
        assert!(asks_to_remember(asks), "{asks}");
    }
    for does_not in [
        "你还记得我住在哪里吗",
        "我记得你说过",
        "你记住了吗",
        "别忘了把网页念给我听",
        "记住要读网页",
        "我要记住这些单词",
        "“请记住我的话”是什么意思",
        "Do you remember my name?",
        "I can't remember the place",
        "I remember that day",
        "Remember when we talked?",
        "Please remember to read it",
        "Don't forget to list the prices",
        "Translate \"Remember that I love you\"",
        "查一下我的订单",
    ] {
        assert!(!asks_to_remember(does_not), "{does_not}");
    }
}

#[test]
fn what_is_asked_for_is_stated_or_named_or_stands_before() {
    let named = |things: &[&[&str]]| {
        vec![Wish::Named(
            things.iter().map(|thing| thing.iter().map(|word| (*word).to_owned()).collect()).collect(),
        )]
    };
    for text in [
        "Remember this coupon code",
        "Find my coupon code and remember it",
        "Open the mail. Remember the coupon code",
    ] {
        assert_eq!(wishes(text), named(&[&["code", "coupon"]]), "{text}");
    }
    assert_eq!(wishes("remember my street and the colour"), named(&[&["street"], &["colour"]]));
    for text in ["打开网页，记住优惠码", "帮我把优惠码记下来", "查一下优惠码，记下来"]
    {
        assert_eq!(wishes(text), named(&[&["优惠", "惠码"]]), "{text}");
    }
    for text in [
        "Remember that my bank is Citi, and read the page",
        "Remember this coupon code: A-1",
        "I'm allergic to nuts, remember that",
        "记住我住在杭州，再打开网页",
        "帮我记一下，我对花生过敏",
        "我的开户行是花旗，记住了",
    ] {
        assert_eq!(wishes(text), [Wish::Stated], "{text}");
    }
    for text in [
        "Yes, remember that",
        "Please remember it.",
        "Write that down!",
        "Read the page and remember it",
        "Open https://a.b/bank and remember the content",
        "看网页，记下来",
        "好的，记住吧",
        "记住它",
    ] {
        assert_eq!(wishes(text), [Wish::Before], "{text}");
    }
}

#[test]
fn a_text_is_cut_where_a_word_ends() {
    assert_eq!(cut("a.b, 1,000。c,中;d.", &['。'], &[',', '.', ';']), ["a.b", "1,000", "c", "中;d"]);
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
fn what_is_quoted_is_told_from_a_name() {
    let said = "Mail:\n> my bank\nI eat at \"Chuan Xiang Ge\", he said \"I do not\"";
    assert_eq!(speech(said).collect::<Vec<_>>(), ["> my bank", "\"I do not\""]);
    assert_eq!(own(said), "Mail:\n … \nI eat at \"Chuan Xiang Ge\", he said  … ");
    assert_eq!(speech("我常去「川香阁」").count(), 0);
    assert_eq!(speech("“我住在杭州”怎么翻译").count(), 1);
}
