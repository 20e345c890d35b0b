//! What a new password must be like. One rule for everybody who chooses one: at the setup, behind a link, on the account
//! page and on the terminal.

use flate2::read::GzDecoder;
use leasehold_types::Problem;
use std::{collections::HashSet, io::Read, sync::LazyLock};

/// Longer input is not hashed at all: it cannot be anyone's password.
pub const LONGEST: usize = 200;
pub const SHORTEST: usize = 10;

/// Ten thousand of them, in lower case. See `assets/README.md`.
static COMMON: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let mut text = String::new();
    let packed: &[u8] = include_bytes!("../../assets/common-passwords.txt.gz");
    #[expect(clippy::expect_used, reason = "it is part of the program, and a test reads it")]
    GzDecoder::new(packed).read_to_string(&mut text).expect("the list of common passwords can be unpacked");
    text.lines().map(str::to_owned).collect()
});

/// Checks a new password; the message belongs to the field `password`. `about` is what others know of its owner: their
/// e-mail and the names of their tenants.
pub fn check<'a>(password: &str, about: impl IntoIterator<Item = &'a str>) -> Result<(), Problem> {
    let refuse = |message: &str| Err(Problem::invalid("password", message));
    let length = password.chars().take(LONGEST + 1).count();
    if length < SHORTEST {
        return refuse(&format!("Please use at least {SHORTEST} characters; a few words in a row do well."));
    }
    if length > LONGEST {
        return refuse(&format!("Please use at most {LONGEST} characters."));
    }
    let dense = dense(password);
    let unit = repeated(&dense);
    if unit.chars().count() <= 1 {
        return refuse("Please use more than one character over and over; a few words in a row do well.");
    }
    // `Sunshine2024!` is no better than `sunshine`.
    let bare = unit.trim_matches(|c: char| !c.is_alphabetic());
    let guesses = [&dense, unit, bare];
    if guesses.iter().any(|guess| COMMON.contains(*guess)) {
        return refuse("This is one of the most common passwords, or nearly. A few words in a row do well.");
    }
    let known = |about: &str| {
        let about = self::dense(about);
        let local = about.split('@').next().unwrap_or_default();
        guesses.iter().any(|guess| !guess.is_empty() && (*guess == about || *guess == local))
    };
    if about.into_iter().any(known) {
        return refuse("Please use something else than your e-mail address or your tenant's name.");
    }
    Ok(())
}

/// In lower case and without spaces.
fn dense(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect()
}

/// The shortest text of which this one is a repetition.
fn repeated(text: &str) -> &str {
    let ends = text.char_indices().map(|(at, _)| at).skip(1).chain([text.len()]);
    for end in ends.filter(|end| *end > 0 && text.len().is_multiple_of(*end)) {
        let unit = &text[..end];
        if unit.repeat(text.len() / end) == text {
            return unit;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(password: &str) -> bool {
        check(password, ["maria.lopez@example.org", "Acme Photos"]).is_err()
    }

    #[test]
    fn the_list_has_ten_thousand_entries_in_lower_case() {
        assert_eq!(COMMON.len(), 10_000);
        assert!(COMMON.iter().all(|word| *word == word.to_lowercase() && word.trim() == word));
    }

    #[test]
    fn a_password_is_neither_short_nor_endless() {
        assert!(refused("short") && refused(&"long words ".repeat(20)));
        assert!(check("ein längeres Passwort", []).is_ok(), "characters are counted, not bytes");
    }

    #[test]
    fn common_ones_are_refused_also_in_disguise() {
        for common in
            ["1234567890", "Password123", "qwertyuiop", "sunshine2024!", "  manchester", "!!!!dragon1999"]
        {
            assert!(refused(common), "{common}");
        }
        for fine in ["correct horse battery", "a fine long password", "dragons eat sunshine"] {
            assert!(!refused(fine), "{fine}");
        }
    }

    #[test]
    fn repetitions_are_as_short_as_what_they_repeat() {
        for one in [
            "aaaaaaaaaaaaaaa",
            "          ",
            "\t\t\t\t\t\t\t\t\t\t\t",
            "a a a a a a a a",
            "passwordpassword",
            "ééééééééééé",
        ] {
            assert!(refused(one), "{one:?}");
        }
    }

    #[test]
    fn what_others_know_of_somebody_is_refused() {
        for known in
            ["maria.lopez@example.org", "Maria.Lopez", "maria.lopez2026!", "acme photos", "ACME Photos 1"]
        {
            assert!(refused(known), "{known}");
        }
        assert!(!refused("photos of maria lopez"));
    }
}
