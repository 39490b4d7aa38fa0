//! What is said in the demo, in English and Chinese.

use clap::ValueEnum;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde_json::{Value, json};

/// The language that the demo is spoken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Words {
    /// English.
    #[default]
    En,
    /// Chinese.
    Zh,
}

/// The user's time zone in the demo.
pub(crate) const TIME_ZONE: &str = "Asia/Shanghai";

/// How many short turns go before the wish, and again before the question: enough to fold twice.
pub(crate) const SMALL_TALK: usize = 16;

impl Words {
    fn pick(self, en: &'static str, zh: &'static str) -> &'static str {
        match self {
            Self::En => en,
            Self::Zh => zh,
        }
    }

    pub(crate) fn system(self) -> &'static str {
        self.pick(
            "You are a personal assistant. Use the tools to find and book restaurants.",
            "你是一名私人助理。请使用工具查找并预订餐厅。",
        )
    }

    /// What the user says in the session of last week.
    pub(crate) fn earlier(self) -> &'static str {
        self.pick(
            "Yesterday I ate at a Sichuan restaurant called \"Chuan Xiang Ge\", it is my favourite now.",
            "昨天我去了一家川菜馆「川香阁」，现在是我最喜欢的川菜馆。",
        )
    }

    /// What is learned from it, as an extraction model would write it.
    pub(crate) fn extraction(self) -> Value {
        let (content, value) = match self {
            Self::En => ("The user's favourite Sichuan restaurant is \"Chuan Xiang Ge\"", "Chuan Xiang Ge"),
            Self::Zh => ("用户最喜欢的川菜馆是「川香阁」", "川香阁"),
        };
        json!({ "memories": [{
            "type": "fact",
            "content": content,
            "confidence": 0.95,
            "quote": self.earlier(),
            "subject": "user",
            "attribute": "favourite_sichuan_restaurant",
            "value": value,
        }] })
    }

    /// The wish of the article.
    pub(crate) fn wish(self) -> &'static str {
        self.pick(
            "Book the Sichuan restaurant I mentioned last time, tomorrow 7 pm, two people.",
            "我上次提到的那家川菜馆，帮我订个明天晚上7点两个人的位置。",
        )
    }

    pub(crate) fn question(self) -> &'static str {
        self.pick("Is the table booked?", "位子订好了吗？")
    }

    pub(crate) fn already_booked(self) -> &'static str {
        self.pick("Yes, it is done already; I will not book it twice.", "是的，已经订好了，我不会重复预订。")
    }

    pub(crate) fn cuisine(self) -> &'static str {
        self.pick("Sichuan", "川菜")
    }

    pub(crate) fn noted(self) -> &'static str {
        self.pick("Good to know, I will think of it.", "好的，我记住了。")
    }

    pub(crate) fn acknowledge(self) -> &'static str {
        self.pick("About twelve kilometres.", "大约十二公里。")
    }

    pub(crate) fn booked(self, restaurant: &str, confirmation: &str) -> String {
        match self {
            Self::En => format!(
                "Done: {restaurant}, tomorrow at 7 pm, a table for two (confirmation {confirmation})."
            ),
            Self::Zh => format!("订好了：{restaurant}，明天晚上7点，两位（确认号 {confirmation}）。"),
        }
    }

    /// One of the short turns that fill the session.
    pub(crate) fn small_talk(self, n: usize) -> String {
        match self {
            Self::En => {
                format!("How far is stage {n} of the tour, from hut H-{:03} to gate {}?", 100 + n, n % 9 + 1)
            }
            Self::Zh => format!("徒步第{n}段有多远，从 H-{:03} 小屋到 {} 号门？", 100 + n, n % 9 + 1),
        }
    }

    /// Tomorrow in the user's time zone, as `YYYY-MM-DD`.
    pub(crate) fn tomorrow(self, now: Timestamp) -> String {
        let zone = TimeZone::get(TIME_ZONE).unwrap_or(TimeZone::UTC);
        let today = now.to_zoned_datetime(zone).date();
        today.checked_add(1.day()).unwrap_or(today).to_string()
    }
}
