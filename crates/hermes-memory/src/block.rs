//! The wording in which recalled memories reach the model (R7).

use hermes_core::MemoryKind;
use hermes_text::{Language, fence};
use jiff::tz::TimeZone;

use crate::recall::Recall;

/// The tag around the block.
pub const BLOCK_LABEL: &str = "memory";

impl Recall {
    /// The block that goes before the user's message, or `None` where nothing was recalled.
    ///
    /// It is labelled as history that may be relevant, for reference, and to be judged by the model; each memory has its
    /// kind and the date on which it was said, in the user's time zone. It is fenced, so that no memory's text can end it.
    #[must_use]
    pub fn block(&self, language: Language, time_zone: &TimeZone) -> Option<String> {
        self.text(language, time_zone).map(|text| fence(BLOCK_LABEL, &text))
    }

    /// The same without its fence, for who fences it, as a session does with what stands beside the user's message.
    #[must_use]
    pub fn text(&self, language: Language, time_zone: &TimeZone) -> Option<String> {
        if self.items.is_empty() {
            return None;
        }
        let mut text = match language {
            Language::English => ENGLISH.trim_end().to_owned(),
            Language::Chinese => CHINESE.trim_end().to_owned(),
        };
        for item in &self.items {
            let date = item.record.valid_from.to_zoned_datetime(time_zone.clone()).date();
            let kind = kind(item.record.kind, language);
            // One line each: a line break could pass for the next memory.
            let content = item.record.content.split_whitespace().collect::<Vec<_>>().join(" ");
            text.push_str(&match language {
                Language::English => format!("\n- [{kind}, {date}] {content}"),
                Language::Chinese => format!("\n- [{kind}，{date}] {content}"),
            });
        }
        Some(text)
    }
}

const ENGLISH: &str = include_str!("prompts/block.en.md");
const CHINESE: &str = include_str!("prompts/block.zh.md");

fn kind(kind: MemoryKind, language: Language) -> &'static str {
    match (language, kind) {
        (Language::English, kind) => kind.as_str(),
        (Language::Chinese, MemoryKind::Preference) => "偏好",
        (Language::Chinese, MemoryKind::Fact) => "事实",
        (Language::Chinese, MemoryKind::Event) => "事件",
        (Language::Chinese, MemoryKind::Habit) => "习惯",
    }
}
