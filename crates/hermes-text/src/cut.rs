//! Shortening text to a limit without breaking a character (T10, S6).
//!
//! What a reader sees as one character may be several `char`s (`é` written with a combining accent, a
//! family emoji): text is only ever cut between grapheme clusters, so neither half shows a stray mark.

use std::borrow::Cow;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation as _};

/// A text shortened by [`head_tail`], or the text itself where it fitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The result: head, notice, tail; or the original where `cut` is false.
    pub text: String,
    /// Whether anything was left out.
    pub cut: bool,
    /// How many bytes of the original stand at the start of `text`: its prefix of this length.
    pub head_bytes: usize,
    /// How many bytes of the original stand at the end of `text`: its suffix of this length (0 when nothing was cut).
    pub tail_bytes: usize,
    /// How many characters (`char`s) of the original are in neither head nor tail.
    pub omitted_chars: usize,
}

/// Shortens `text` to its beginning and its end, so that the result measures at most `max`.
///
/// `measure` is usually a token counter; any unit will do. It need not be additive, since always the
/// whole result is measured, but a clearly longer text must not measure less. `notice` gets the number
/// of characters left out and returns what stands between head and tail, its own line breaks included.
///
/// Head and tail get the same number of bytes, and each gives up to a quarter of itself to end at a line break.
/// Where not even the notice fits, as much of the head as fits is returned without one (`cut` still tells).
///
/// `measure` is called about `log2(8 max)` times on pieces of the result's size; the whole text is measured only if its
/// first `8 max` bytes fit.
///
/// ```
/// let cut = hermes_text::head_tail("abcdefghijklmnopqrstuvwxyz", 10, str::len, |n| format!("[{n}]"));
/// assert_eq!(cut.text, "abc[20]xyz");
/// assert_eq!(cut.omitted_chars, 20);
/// ```
#[must_use]
pub fn head_tail(
    text: &str,
    max: usize,
    measure: impl Fn(&str) -> usize,
    notice: impl Fn(usize) -> String,
) -> Cut {
    // A unit of measure is seldom longer than 8 bytes (an English token has about 4), so what fits is seldom longer than this.
    let near = max.saturating_mul(8);
    let may_fit = text.len() <= near || measure(truncate_bytes(text, near)) <= max;
    if may_fit && measure(text) <= max {
        return whole(text);
    }
    let job = Job { text, chars: text.chars().count(), notice: &notice };
    let fitting = |cut: Cut| (measure(&cut.text) <= max).then_some(cut);
    let best = largest(text.len(), near, |keep| fitting(job.compose(job.spans(keep))));
    match best {
        Some(best) => {
            let lined = job.compose(job.at_lines((best.head_bytes, best.tail_bytes)));
            fitting(lined).unwrap_or(best)
        }
        None => {
            largest(text.len(), near, |keep| fitting(job.head_only(keep))).unwrap_or_else(|| job.head_only(0))
        }
    }
}

/// What `fits` returns for the largest number below `limit` for which it returns something, `None` if it does not even for 0.
/// It looks no further than twice what fits, once past `start`.
fn largest<T>(limit: usize, start: usize, fits: impl Fn(usize) -> Option<T>) -> Option<T> {
    let mut best = fits(0)?;
    let (mut low, mut high) = (0, limit);
    let mut next = start.max(1);
    while high - low > 1 {
        // Once something did not fit, or the next step would leave the range, halve.
        if next >= high {
            next = low + (high - low) / 2;
        }
        match fits(next) {
            Some(better) => (low, best, next) = (next, better, next.saturating_mul(2)),
            None => high = next,
        }
    }
    Some(best)
}

fn whole(text: &str) -> Cut {
    Cut { text: text.to_owned(), cut: false, head_bytes: text.len(), tail_bytes: 0, omitted_chars: 0 }
}

struct Job<'a> {
    text: &'a str,
    chars: usize,
    notice: &'a dyn Fn(usize) -> String,
}

impl Job<'_> {
    /// Head and tail lengths in bytes when at most `keep` bytes stay.
    fn spans(&self, keep: usize) -> (usize, usize) {
        let half = keep / 2;
        let head = boundary_at_or_before(self.text, keep - half);
        let tail = boundary_at_or_after(self.text, self.text.len() - half);
        (head, self.text.len() - tail)
    }

    /// The same spans, drawn back to line breaks where one is near.
    fn at_lines(&self, (head, tail): (usize, usize)) -> (usize, usize) {
        let (first, last) = self.pieces((head, tail));
        let head = match first.rfind('\n') {
            Some(at) if at + 1 >= head - head / 4 => at + 1,
            _ => head,
        };
        let tail = match last.find('\n') {
            Some(at) if at < tail / 4 => tail - at - 1,
            _ => tail,
        };
        (head, tail)
    }

    fn pieces(&self, (head, tail): (usize, usize)) -> (&str, &str) {
        let first = self.text.get(..head).unwrap_or_default();
        let last = self.text.get(self.text.len() - tail..).unwrap_or_default();
        (first, last)
    }

    /// A prefix of at most `keep` bytes, for limits too small to hold a notice.
    fn head_only(&self, keep: usize) -> Cut {
        let head = truncate_bytes(self.text, keep);
        Cut {
            text: head.to_owned(),
            cut: true,
            head_bytes: head.len(),
            tail_bytes: 0,
            omitted_chars: self.chars - head.chars().count(),
        }
    }

    fn compose(&self, spans: (usize, usize)) -> Cut {
        let (first, last) = self.pieces(spans);
        let omitted_chars = self.chars - first.chars().count() - last.chars().count();
        let notice = (self.notice)(omitted_chars);
        let text = [first, &notice, last].concat();
        Cut { text, cut: true, head_bytes: spans.0, tail_bytes: spans.1, omitted_chars }
    }
}

/// At most `max` characters as a reader counts them (grapheme clusters); where something was cut off,
/// the last of them is `…`.
///
/// ```
/// assert_eq!(hermes_text::truncate_chars("一二三四五", 3), "一二…");
/// assert_eq!(hermes_text::truncate_chars("一二三", 3), "一二三");
/// ```
#[must_use]
pub fn truncate_chars(text: &str, max: usize) -> Cow<'_, str> {
    let mut last_kept = 0;
    for (count, (at, _)) in text.grapheme_indices(true).enumerate() {
        if count + 1 == max {
            last_kept = at;
        }
        if count == max {
            let head = text.get(..last_kept).unwrap_or_default();
            return if max == 0 { Cow::Borrowed("") } else { Cow::Owned(format!("{head}…")) };
        }
    }
    Cow::Borrowed(text)
}

/// The longest prefix of at most `max` bytes that ends between two grapheme clusters.
///
/// ```
/// assert_eq!(hermes_text::truncate_bytes("始🌏", 4), "始");
/// ```
#[must_use]
pub fn truncate_bytes(text: &str, max: usize) -> &str {
    text.get(..boundary_at_or_before(text, max)).unwrap_or_default()
}

fn boundary_at_or_before(text: &str, at: usize) -> usize {
    let at = text.floor_char_boundary(at);
    if is_boundary(text, at) {
        return at;
    }
    // The whole text is the one chunk, so the cursor never asks for more context.
    GraphemeCursor::new(at, text.len(), true).prev_boundary(text, 0).ok().flatten().unwrap_or(0)
}

fn boundary_at_or_after(text: &str, at: usize) -> usize {
    let at = text.ceil_char_boundary(at);
    if is_boundary(text, at) {
        return at;
    }
    GraphemeCursor::new(at, text.len(), true).next_boundary(text, 0).ok().flatten().unwrap_or(text.len())
}

fn is_boundary(text: &str, at: usize) -> bool {
    GraphemeCursor::new(at, text.len(), true).is_boundary(text, 0).unwrap_or(false)
}

#[cfg(test)]
mod tests;
