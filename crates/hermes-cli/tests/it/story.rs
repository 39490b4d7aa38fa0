//! The demo as people read it.

use crate::program::{Home, Ran};

fn told(language: &str, variables: &[(&str, &str)]) -> Ran {
    let home = Home::new();
    let mut command = home.command(&["demo", "--language", language]);
    Ran::of(command.envs(variables.iter().copied()).spawn().unwrap()).well()
}

/// Each link of the task can be seen, in this order.
#[track_caller]
fn shows(out: &str, links: &[&str]) {
    let mut rest = out;
    for link in links {
        let Some((_, after)) = rest.split_once(link) else {
            panic!("{link:?} is missing, or not in its place: {out}")
        };
        rest = after;
    }
}

#[test]
fn the_story_shows_each_link() {
    let out = told("en", &[]).out;
    shows(
        &out,
        &[
            "the model here is a script; everything else is real",
            "user: Yesterday I ate at a Sichuan restaurant called \"Chuan Xiang Ge\"",
            "learned: new: The user's favourite Sichuan restaurant is \"Chuan Xiang Ge\"",
            "user: Book the Sichuan restaurant I mentioned last time",
            "memory: The user's favourite Sichuan restaurant is \"Chuan Xiang Ge\" [fact]",
            "passed by likeness",
            "folded into a digest",
            "<memory>",
            "the model calls search_restaurant({\"cuisine\":\"Sichuan\"})",
            "/name was missing; memory ",
            " supplied \"Chuan Xiang Ge\"",
            "the model calls booking_make_reservation(",
            "checked: the arguments fit the contract",
            "written to the log, then run: booking_make_reservation(",
            "R-0001",
            "assistant: Done: Chuan Xiang Ge, tomorrow at 7 pm, a table for two (confirmation R-0001).\n",
            "tool schemas",
            "user: Is the table booked?",
            "Already done earlier in this session",
            "assistant: Yes, it is done already; I will not book it twice.\n",
            "reservation R-0001, made by process ",
            "visits to the booking service counted: 1 ",
            "the log of today's session is whole: 74 messages",
            "total ",
        ],
    );
    assert!(!out.contains('\u{1b}'), "no colours where there is no screen");
}

#[test]
fn the_story_is_told_in_chinese() {
    let out = told("zh", &[]).out;
    shows(
        &out,
        &[
            "user: 昨天我去了一家川菜馆「川香阁」",
            "learned: new: 用户最喜欢的川菜馆是「川香阁」",
            "memory: 用户最喜欢的川菜馆是「川香阁」 [fact]",
            " supplied \"川香阁\"",
            "assistant: 订好了：川香阁",
            "本次会话中已完成的操作",
            "reservation R-0001, made by process ",
        ],
    );
}

#[test]
fn colours_go_with_no_color() {
    let force = ("CLICOLOR_FORCE", "1");
    assert!(told("en", &[force]).out.contains('\u{1b}'), "there are colours to go");
    assert!(!told("en", &[force, ("NO_COLOR", "1")]).out.contains('\u{1b}'));
}
