//! Character references of HTML.

/// The entities met in ordinary pages; an unknown one stays as it is.
const ENTITIES: &[(&str, char)] = &[
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", ' '),
    ("ensp", ' '),
    ("emsp", ' '),
    ("thinsp", ' '),
    ("copy", '©'),
    ("reg", '®'),
    ("trade", '™'),
    ("hellip", '…'),
    ("mdash", '—'),
    ("ndash", '–'),
    ("lsquo", '‘'),
    ("rsquo", '’'),
    ("ldquo", '“'),
    ("rdquo", '”'),
    ("laquo", '«'),
    ("raquo", '»'),
    ("bull", '•'),
    ("middot", '·'),
    ("times", '×'),
    ("deg", '°'),
    ("euro", '€'),
    ("pound", '£'),
    ("yen", '¥'),
    ("rarr", '→'),
    ("larr", '←'),
];

/// The text with the references it knows replaced by their characters, once.
pub(super) fn decode_entities(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        let (before, entity) = rest.split_at(at);
        decoded.push_str(before);
        match entity_at(entity) {
            Some((letter, length)) => {
                decoded.push(letter);
                rest = entity.get(length..).unwrap_or_default();
            }
            None => {
                decoded.push('&');
                rest = entity.get(1..).unwrap_or_default();
            }
        }
    }
    decoded.push_str(rest);
    decoded
}

/// The character an entity stands for and the bytes it takes.
fn entity_at(text: &str) -> Option<(char, usize)> {
    // The longest name known here has six letters, a number at most eight characters.
    let end = text.bytes().take(12).position(|byte| byte == b';')?;
    let name = text.get(1..end)?;
    let letter = match name.strip_prefix('#') {
        Some(number) => {
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            match char::from_u32(code)? {
                '\u{a0}' => ' ',
                letter => letter,
            }
        }
        None => ENTITIES.iter().find(|(known, _)| *known == name)?.1,
    };
    Some((letter, end + 1))
}
