//! The name that was probably meant (T3).

/// The candidate closest to `word`, if one is close enough to suggest.
///
/// Letter case and the difference between `-`, `_` and space do not count; two swapped letters are one edit. Close enough
/// is one edit per three letters and never all of them. The same words in another order count as close too
/// (`weather_get`). Among equals the first candidate wins.
///
/// ```
/// let tools = ["search_restaurant", "get_weather"];
/// assert_eq!(hermes_text::nearest("get_wether", tools), Some("get_weather"));
/// assert_eq!(hermes_text::nearest("weather-get", tools), Some("get_weather"));
/// assert_eq!(hermes_text::nearest("delete_account", tools), None);
/// ```
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = folded(word);
    let length = wanted.chars().count();
    if length == 0 {
        return None;
    }
    let sorted = sorted_words(&wanted);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let folded = folded(candidate);
            let longest = length.max(folded.chars().count());
            // One edit per three letters is what rustc allows for its own suggestions.
            let allowed = (length.max(3) / 3).min(longest.saturating_sub(1));
            let distance = if longest - length.min(folded.chars().count()) > allowed {
                None
            } else {
                Some(strsim::osa_distance(&wanted, &folded)).filter(|&distance| distance <= allowed)
            };
            let distance = distance
                .or_else(|| (sorted.len() > 1 && sorted == sorted_words(&folded)).then_some(usize::MAX))?;
            Some((distance, candidate))
        })
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

fn folded(word: &str) -> String {
    word.chars()
        .flat_map(char::to_lowercase)
        .map(|letter| if matches!(letter, '-' | ' ') { '_' } else { letter })
        .collect()
}

fn sorted_words(folded: &str) -> Vec<&str> {
    let mut words: Vec<&str> = folded.split('_').filter(|word| !word.is_empty()).collect();
    words.sort_unstable();
    words
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_of_the_pen_are_recognised() {
        for (word, meant) in [
            ("celcius", "celsius"),
            ("Celsius", "celsius"),
            ("clesius", "celsius"),
            ("serch_restaurant", "search_restaurant"),
            ("search-restaurant", "search_restaurant"),
            ("restaurant_search", "search_restaurant"),
            ("北精", "北京"),
        ] {
            let candidates = ["fahrenheit", "celsius", "search_restaurant", "get_weather", "北京"];
            assert_eq!(nearest(word, candidates), Some(meant), "{word}");
        }
    }

    #[test]
    fn what_is_far_is_not_suggested() {
        for word in ["", "x", "kelvin", "unit", "天气", &"a".repeat(100_000)] {
            assert_eq!(nearest(word, ["celsius", "fahrenheit", "c", ""]), None, "{word:.20}");
        }
    }

    #[test]
    fn the_closest_wins_and_the_first_among_equals() {
        assert_eq!(nearest("get_user", ["get_uses", "get_user", "get_used"]), Some("get_user"));
        assert_eq!(nearest("get_usex", ["get_uses", "get_user"]), Some("get_uses"));
    }
}
