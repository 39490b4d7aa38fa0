//! Taking the markup out of HTML; private to [`clean`](crate::clean).
//!
//! Not a parser: it recognises the tags that HTML knows and nothing else, so that what only looks like a tag stays.

mod entity;

use entity::decode_entities;

/// What a tag does to the text around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Nothing.
    Inline,
    /// Starts and ends a line.
    Block,
    /// A line of its own with a dash.
    Item,
    /// A space between cells.
    Cell,
    /// White space inside counts.
    Preformatted,
    /// What is inside is not text.
    Dropped,
}

/// The plain text of a document or fragment of HTML; `None` where the text is not evidently HTML.
pub(crate) fn to_text(text: &str) -> Option<String> {
    // Markdown with code blocks shows markup on purpose.
    if text.contains("```") && !text.trim_start().starts_with('<') {
        return None;
    }
    let evidence = Evidence::of(text)?;
    Some(escape_tags(&decode_entities(&remove_markup(text, evidence))))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// Tags inside lines only: line breaks are the author's.
    Inline,
    /// Blocks: line breaks are white space, as in HTML.
    Blocks,
}

impl Evidence {
    /// A closing tag that HTML knows, a void one (`<br>`), or the beginning of a document.
    fn of(text: &str) -> Option<Self> {
        let mut evidence = None;
        let mut rest = text;
        while let Some(at) = rest.find('<') {
            rest = rest.get(at..).unwrap_or_default();
            let Some(tag) = Tag::at(rest) else {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            };
            if tag.closing || tag.void {
                evidence = evidence.or(Some(Self::Inline));
            }
            if !matches!(tag.effect, Effect::Inline) {
                evidence = Some(Self::Blocks);
                break;
            }
            rest = rest.get(tag.length..).unwrap_or_default();
        }
        evidence
    }
}

struct Tag {
    name: &'static str,
    effect: Effect,
    closing: bool,
    void: bool,
    /// Bytes from `<` to `>`.
    length: usize,
}

impl Tag {
    /// The tag at the start of the text, if HTML knows it and it is closed by `>`.
    fn at(text: &str) -> Option<Self> {
        let inner = text.strip_prefix('<')?;
        let (closing, inner) = match inner.strip_prefix('/') {
            Some(inner) => (true, inner),
            None => (false, inner),
        };
        let written =
            inner.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '!')).next()?;
        let &(name, effect) = TAGS.iter().find(|(name, _)| written.eq_ignore_ascii_case(name))?;
        let attributes = inner.get(written.len()..)?;
        let end = tag_end(attributes)?;
        let between = attributes.get(..end)?;
        // `<a, b>` and `<i as T>` are code; an attribute list starts with white space and holds `=` or ends with a bare name.
        if !(between.is_empty() || between.trim_matches(['/', ' ']).is_empty() || is_attributes(between)) {
            return None;
        }
        let void = matches!(name, "br" | "hr" | "img" | "input" | "wbr" | "meta" | "link" | "!doctype");
        let length = 1 + usize::from(closing) + written.len() + end + 1;
        Some(Self { name, effect, closing, void, length })
    }
}

/// The longest tag believed to be one; attributes can hold images as data, but what never closes must not be searched through each time.
const LONGEST_TAG_BYTES: usize = 16_384;

/// Where the `>` stands that ends a tag: not one inside quotes.
fn tag_end(attributes: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in attributes.bytes().enumerate().take(LONGEST_TAG_BYTES) {
        match (quote, byte) {
            (Some(open), byte) if open == byte => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'>') => return Some(at),
            (None, b'<') => return None,
            _ => {}
        }
    }
    None
}

fn is_attributes(between: &str) -> bool {
    between.starts_with(|letter: char| letter.is_ascii_whitespace() || letter == '/')
        && (between.contains('=')
            || between.split_ascii_whitespace().all(|word| {
                matches!(
                    word.trim_end_matches('/').to_ascii_lowercase().as_str(),
                    "" | "html"
                        | "disabled"
                        | "checked"
                        | "selected"
                        | "hidden"
                        | "async"
                        | "defer"
                        | "required"
                        | "open"
                        | "controls"
                        | "readonly"
                        | "public"
                )
            }))
}

/// The tags of HTML (living standard, and the old ones still met in mail), with what each does.
const TAGS: &[(&str, Effect)] = {
    use Effect::{Block, Cell, Dropped, Inline, Item, Preformatted};
    &[
        ("!doctype", Block),
        ("html", Block),
        ("head", Block),
        ("body", Block),
        ("meta", Block),
        ("link", Block),
        ("base", Block),
        ("title", Block),
        ("script", Dropped),
        ("style", Dropped),
        ("noscript", Dropped),
        ("template", Dropped),
        ("svg", Dropped),
        ("math", Inline),
        ("iframe", Dropped),
        ("object", Dropped),
        ("canvas", Dropped),
        ("div", Block),
        ("p", Block),
        ("br", Block),
        ("hr", Block),
        ("h1", Block),
        ("h2", Block),
        ("h3", Block),
        ("h4", Block),
        ("h5", Block),
        ("h6", Block),
        ("ul", Block),
        ("ol", Block),
        ("li", Item),
        ("dl", Block),
        ("dt", Block),
        ("dd", Item),
        ("table", Block),
        ("thead", Block),
        ("tbody", Block),
        ("tfoot", Block),
        ("tr", Block),
        ("td", Cell),
        ("th", Cell),
        ("caption", Block),
        ("colgroup", Block),
        ("col", Block),
        ("section", Block),
        ("article", Block),
        ("aside", Block),
        ("header", Block),
        ("footer", Block),
        ("main", Block),
        ("nav", Block),
        ("figure", Block),
        ("figcaption", Block),
        ("blockquote", Block),
        ("pre", Preformatted),
        ("textarea", Preformatted),
        ("form", Block),
        ("fieldset", Block),
        ("legend", Block),
        ("details", Block),
        ("summary", Block),
        ("center", Block),
        ("span", Inline),
        ("a", Inline),
        ("b", Inline),
        ("i", Inline),
        ("u", Inline),
        ("s", Inline),
        ("q", Inline),
        ("em", Inline),
        ("strong", Inline),
        ("small", Inline),
        ("mark", Inline),
        ("sub", Inline),
        ("sup", Inline),
        ("code", Inline),
        ("kbd", Inline),
        ("abbr", Inline),
        ("cite", Inline),
        ("del", Inline),
        ("ins", Inline),
        ("font", Inline),
        ("label", Inline),
        ("button", Inline),
        ("input", Inline),
        ("select", Block),
        ("option", Item),
        ("img", Inline),
        ("wbr", Inline),
        ("time", Inline),
        ("strike", Inline),
    ]
};

fn remove_markup(text: &str, evidence: Evidence) -> String {
    let mut out = Writer {
        text: String::with_capacity(text.len()),
        blocks: evidence == Evidence::Blocks,
        preformatted: 0,
    };
    // What is known not to close any more, so that it is searched for once and not at every opening.
    let mut unclosed: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, markup) = rest.split_at(at);
        out.write(before);
        if let Some(comment) = markup.strip_prefix("<!--") {
            // A comment that is never closed hides nothing but its own beginning.
            let end = if unclosed.contains(&"-->") { None } else { comment.find("-->") };
            match end {
                Some(end) => rest = comment.get(end + 3..).unwrap_or_default(),
                None => {
                    unclosed.push("-->");
                    rest = comment;
                }
            }
            continue;
        }
        let Some(tag) = Tag::at(markup) else {
            out.write("<");
            rest = markup.get(1..).unwrap_or_default();
            continue;
        };
        rest = markup.get(tag.length..).unwrap_or_default();
        out.apply(&tag);
        if tag.effect == Effect::Dropped && !tag.closing && !unclosed.contains(&tag.name) {
            match after_closing(rest, tag.name) {
                Some(after) => rest = after,
                None => unclosed.push(tag.name),
            }
        }
    }
    out.write(rest);
    out.text
}

/// What follows the closing tag of this name.
fn after_closing<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = text;
    while let Some(at) = rest.find("</") {
        rest = rest.get(at..)?;
        match Tag::at(rest) {
            Some(tag) if tag.name == name => return rest.get(tag.length..),
            _ => rest = rest.get(2..)?,
        }
    }
    None
}

struct Writer {
    text: String,
    blocks: bool,
    preformatted: usize,
}

impl Writer {
    fn write(&mut self, piece: &str) {
        if !self.blocks || self.preformatted > 0 {
            self.text.push_str(piece);
            return;
        }
        for letter in piece.chars() {
            if !letter.is_ascii_whitespace() {
                self.text.push(letter);
            } else if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
                self.text.push(' ');
            }
        }
    }

    fn apply(&mut self, tag: &Tag) {
        match tag.effect {
            Effect::Inline => {}
            Effect::Dropped => self.write(" "),
            Effect::Cell => {
                if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
                    self.text.push(' ');
                }
            }
            Effect::Block => self.line(),
            Effect::Item => {
                self.line();
                if !tag.closing {
                    self.text.push_str("- ");
                }
            }
            Effect::Preformatted => {
                self.line();
                self.preformatted =
                    if tag.closing { self.preformatted.saturating_sub(1) } else { self.preformatted + 1 };
            }
        }
    }

    fn line(&mut self) {
        let end = self.text.trim_end_matches(' ').len();
        self.text.truncate(end);
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }
}

/// Markup that was shown as text (`&lt;b&gt;`), or that removing other markup brought about, stays text.
fn escape_tags(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, markup) = rest.split_at(at);
        escaped.push_str(before);
        escaped.push_str(if Tag::at(markup).is_some() { "&lt;" } else { "<" });
        rest = markup.get(1..).unwrap_or_default();
    }
    escaped.push_str(rest);
    escaped
}
