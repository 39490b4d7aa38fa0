//! Relative dates become dates when a memory is written, in the user's time zone (R3): "tomorrow" means nothing a week later.

use std::sync::LazyLock;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _, ZonedDateTime};
use regex::{Captures, Regex};

/// Words for days, and how many days they lie from the day they are said on.
const DAYS: &[(&str, i64)] = &[
    ("大后天", 3),
    ("后天", 2),
    ("明天", 1),
    ("明晚", 1),
    ("明早", 1),
    ("今天", 0),
    ("今晚", 0),
    ("昨天", -1),
    ("昨晚", -1),
    ("前天", -2),
    ("the day after tomorrow", 2),
    ("the day before yesterday", -2),
    ("tomorrow", 1),
    ("today", 0),
    ("tonight", 0),
    ("yesterday", -1),
];

static RELATIVE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words: Vec<String> = DAYS
        .iter()
        .map(|(word, _)| if word.is_ascii() { format!(r"\b{word}\b") } else { (*word).to_owned() })
        .collect();
    Regex::new(&format!("(?i){}", words.join("|"))).ok()
});

static DATED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}\s*月\s*\d{1,2}\s*[日号]").ok());

/// The sentence with the date written behind each word for a day; a sentence that names a date already is left as it is.
pub(crate) fn resolved(content: &str, said_at: &ZonedDateTime) -> String {
    let (Some(relative), Some(dated)) = (RELATIVE.as_ref(), DATED.as_ref()) else {
        return content.to_owned();
    };
    if dated.is_match(content) {
        return content.to_owned();
    }
    relative
        .replace_all(content, |found: &Captures<'_>| {
            let word = found.get(0).map_or("", |found| found.as_str());
            match day(word, said_at) {
                Some(date) if word.is_ascii() => format!("{word} ({date})"),
                Some(date) => format!("{word}（{date}）"),
                None => word.to_owned(),
            }
        })
        .into_owned()
}

fn day(word: &str, said_at: &ZonedDateTime) -> Option<Date> {
    let word = word.to_lowercase();
    let (_, days) = DAYS.iter().find(|(known, _)| *known == word)?;
    said_at.date().checked_add(days.days()).ok()
}

/// The end of the day after the latest date that a sentence names in the form `2026-12-24`: until then an event matters.
pub(crate) fn over(content: &str, time_zone: &TimeZone) -> Option<Timestamp> {
    let dates = DATED.as_ref()?.find_iter(content).filter_map(|found| found.as_str().parse::<Date>().ok());
    let end = dates.max()?.checked_add(2.days()).ok()?;
    Some(end.to_zoned_datetime(time_zone.clone()).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: &str, zone: &str) -> ZonedDateTime {
        time.parse::<Timestamp>().unwrap().to_zoned_datetime(TimeZone::get(zone).unwrap())
    }

    #[test]
    fn a_day_is_counted_in_the_users_time_zone() {
        // 20:30 UTC on the first is 04:30 on the second in Shanghai.
        let shanghai = at("2026-12-01T20:30:00Z", "Asia/Shanghai");
        assert_eq!(resolved("用户明天要去看牙医", &shanghai), "用户明天（2026-12-03）要去看牙医");
        let new_york = at("2026-12-01T20:30:00Z", "America/New_York");
        assert_eq!(
            resolved("The user sees a dentist Tomorrow.", &new_york),
            "The user sees a dentist Tomorrow (2026-12-02)."
        );
    }

    #[test]
    fn an_event_matters_until_the_day_after_its_last_date() {
        let shanghai = TimeZone::get("Asia/Shanghai").unwrap();
        let until = over("从 2026-12-24 到 2026-12-26 出差", &shanghai).unwrap();
        assert_eq!(until, "2026-12-28T00:00:00+08:00".parse::<Timestamp>().unwrap());
        assert_eq!(over("出差", &shanghai), None);
        assert_eq!(over("2026-13-45", &shanghai), None);
    }

    #[test]
    fn longer_words_win_and_dates_that_are_written_stay() {
        let when = at("2026-12-30T01:00:00Z", "Asia/Shanghai");
        assert_eq!(resolved("大后天出发", &when), "大后天（2027-01-02）出发");
        assert_eq!(resolved("the day after tomorrow", &when), "the day after tomorrow (2027-01-01)");
        for dated in
            ["明天（2026-12-31）出发", "leaves tomorrow, 2026-12-31", "12月31日（明天）出发", "todayish"]
        {
            assert_eq!(resolved(dated, &when), dated);
        }
    }
}
