//! The alphabet of the PDF's standard fonts, and the way into it.
//!
//! WinAnsi holds the letters of western Europe. Anything else is transliterated to plain letters (Łódź → Lódz with the ó
//! kept, Москва → Moskva, → becomes ->); what has no transliteration becomes `?`.

/// Codes 0x80 to 0x9F; the five that mean nothing are marked by NUL.
const HIGH: [char; 32] = [
    '€', '\0', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\0', 'Ž', '\0', '\0', '‘', '’', '“',
    '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\0', 'ž', 'Ÿ',
];

/// The code of a character, if the alphabet has it.
#[must_use]
pub fn code(c: char) -> Option<u8> {
    match c {
        ' '..='~' => u8::try_from(u32::from(c)).ok(),
        '\u{a0}'..='\u{ff}' => u8::try_from(u32::from(c)).ok(),
        '\0' => None,
        _ => HIGH.iter().position(|high| *high == c).and_then(|at| u8::try_from(0x80 + at).ok()),
    }
}

/// Text whose every character has a code; line ends and tabs stay.
#[must_use]
pub fn transliterate(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // An optional hyphen would be drawn as one.
            '\u{ad}' => {}
            '\n' | '\t' => out.push(c),
            _ if code(c).is_some() => out.push(c),
            _ => out.push_str(&spelled(c)),
        }
    }
    out
}

fn spelled(c: char) -> String {
    match c {
        '✓' | '✔' | '☑' => "x".to_owned(),
        '→' | '⟶' => "->".to_owned(),
        '←' | '⟵' => "<-".to_owned(),
        '↔' => "<->".to_owned(),
        '⇒' => "=>".to_owned(),
        '≤' => "<=".to_owned(),
        '≥' => ">=".to_owned(),
        '≠' => "!=".to_owned(),
        '−' | '\u{2010}' | '\u{2011}' => "-".to_owned(),
        '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => " ".to_owned(),
        '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{fe00}'..='\u{fe0f}' => String::new(),
        _ => match deunicode::deunicode_char(c) {
            Some(ascii) => ascii.chars().filter(|c| code(*c).is_some()).collect(),
            None => "?".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_code_page() {
        assert_eq!(
            [code('A'), code('ü'), code('€'), code('—')],
            [Some(65), Some(0xfc), Some(0x80), Some(0x97)]
        );
        assert_eq!([code('→'), code('\n'), code('\0'), code('\u{81}')], [None; 4]);
    }

    #[test]
    fn other_letters_are_spelled_with_the_ones_we_have() {
        assert_eq!(transliterate("Łódź, Москва → über"), "Lódz, Moskva -> über");
        assert_eq!(transliterate("≤ ≥ ✓"), "<= >= x");
        assert_eq!(transliterate("\u{10ffff}"), "?");
        assert!(transliterate("日本語 🚀 ﷽").chars().all(|c| code(c).is_some()));
    }
}
