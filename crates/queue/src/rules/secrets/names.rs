//! Names that announce a secret: `password`, `DB_PASSWORD`, `x-api-key`, `clientSecret`; not `password_reset_url`,
//! `max_tokens`, `secretary` or `author`.
//!
//! A name is read word by word (`_`, `-`, `.` and capitals divide), so that a word inside another says nothing, and a
//! word that speaks *about* a secret (`token_count`, `secret_arn`, `cookie_policy`) makes the name harmless.

use std::{collections::HashSet, sync::LazyLock};

type Listed = LazyLock<HashSet<&'static str>>;

/// One of these announces a secret wherever it stands in a name.
static WORDS: Listed = LazyLock::new(|| {
    listed(
        "password passwords passwd passphrase passcode pwd secret secrets token credential credentials apikey apikeys \
    authorization cookie cookies",
    )
});

/// What a word written together may end in: `dbpassword`, `accesstoken`, `sharedaccesskey`.
const ENDINGS: &str = "password passwd passphrase pwd secret token credential credentials apikey accesskey secretkey privatekey \
    accountkey signingkey encryptionkey masterkey authkey setcookie proxyauthorization";

/// A key of these is a secret; a primary key, a cache key or a public key is not.
static KEYS_OF: Listed = LazyLock::new(|| {
    listed(
        "access account admin aes anthropic api app auth bearer bot cipher client consumer crypto decryption deploy \
    encryption gpg hmac integration jwt license mailgun master openai pgp private rest root rsa secret sendgrid \
    server service session shared signing ssh ssl storage stripe subscription symmetric tls wallet webhook",
    )
});

/// Tokens in the plural are counted more often than they are kept: `max_tokens`, but `refresh_tokens`.
static TOKENS_OF: Listed =
    LazyLock::new(|| listed("access api auth bearer bot device id oauth push refresh security session"));

/// `pass` is a password's short name only beside what is opened by it; a first pass is not.
static PASS_OF: Listed = LazyLock::new(|| {
    listed(
        "admin basic database db ftp http imap keystore ldap login mail mongo my mysql pg postgres proxy redis root \
    smtp ssh svc user wifi",
    )
});

/// Two words that are a secret together.
const PAIRS: &[(&str, &str)] = &[
    ("backup", "codes"),
    ("recovery", "code"),
    ("recovery", "codes"),
    ("recovery", "phrase"),
    ("seed", "phrase"),
    ("secret", "id"),
];

/// Behind a secret's word these say something about it and not it.
static ABOUT: Listed = LazyLock::new(|| {
    listed(
        "age alg algorithm arn at attempts audience banner bucket budget bytes change changed complexity consent cost \
    count counter counts created days description dir disabled doc docs domain enabled encoding endpoint env \
    error errors expiration expired expires expiry failures field fields file filename folder form format help \
    hint id ids in index interval issuer jar kind label len length lifetime limit limits link manager max \
    maximum message method min minimum minutes mode name names offset on optional page path pattern placeholder \
    policies policy position prefix price prompt provider rate reason ref reference refs regex required reset \
    ring rotated rotation rule rules schema scope scopes score screen seconds size source state status store \
    strategy strength \
    sum timeout title total ttl type types updated uri url urls usage used valid var variable version visible \
    window",
    )
});
/// Before `token` these count.
static COUNTING: Listed = LazyLock::new(|| listed("avg count max min num per total"));

/// How surely a name announces a secret.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Announces {
    Nothing,
    /// A secret only if the value looks like one: `auth`.
    Perhaps,
    Secret,
}

pub fn announces(name: &str) -> Announces {
    let words = words(name);
    for (i, word) in words.iter().enumerate().rev() {
        if ABOUT.contains(word.as_str()) && !is_pair(&words, i) {
            return Announces::Nothing;
        }
        if is_secret(&words, i) {
            return Announces::Secret;
        }
    }
    match words.last().map(String::as_str) {
        Some("auth" | "pass") => Announces::Perhaps,
        _ => Announces::Nothing,
    }
}

/// The name of a field that holds a secret.
pub fn is_secret_name(name: &str) -> bool {
    announces(name) == Announces::Secret
}

fn is_secret(words: &[String], i: usize) -> bool {
    let word = words[i].trim_end_matches(|c: char| c.is_ascii_digit());
    let before = i.checked_sub(1).map_or("", |i| words[i].as_str());
    match word {
        "token" => !COUNTING.contains(before),
        "tokens" => TOKENS_OF.contains(before),
        "key" | "keys" => KEYS_OF.contains(before),
        "pass" => PASS_OF.contains(before),
        _ => {
            let written_together = || ENDINGS.split_ascii_whitespace().any(|end| word.ends_with(end));
            WORDS.contains(word) || is_pair(words, i) || written_together()
        }
    }
}

fn is_pair(words: &[String], i: usize) -> bool {
    i > 0 && PAIRS.iter().any(|(first, second)| words[i - 1] == *first && words[i] == *second)
}

fn listed(list: &'static str) -> HashSet<&'static str> {
    list.split_ascii_whitespace().collect()
}

/// `DBPassword` → db, password; `x-api-key` → x, api, key.
pub fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let bytes = name.as_bytes();
    for (i, byte) in bytes.iter().enumerate() {
        if !byte.is_ascii_alphanumeric() {
            words.push(String::new());
            continue;
        }
        let before = i.checked_sub(1).map_or(b'_', |i| bytes[i]);
        let after = bytes.get(i + 1).copied().unwrap_or(b'_');
        let hump = byte.is_ascii_uppercase()
            && (before.is_ascii_lowercase() || (before.is_ascii_uppercase() && after.is_ascii_lowercase()));
        if hump {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(char::from(byte.to_ascii_lowercase()));
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_however_they_are_written() {
        let names = "password Password DB_PASSWORD dbPassword dbpassword password2 passwordConfirm PGPASSWORD \
            smtp_pass pwd X-Auth-Token x-api-key APIKey apiKEY apikey api_keys secret_value tokenValue \
            password_hash password_reset_token client.secret SecretAccessKey aws_secret_access_key \
            AccountKey SharedAccessKey privateKey private-key refresh_tokens set-cookie Cookie authorization \
            Proxy-Authorization credentials secret_id seed_phrase encryption_key passphrase secrets \
            OPENAI_API_KEY npm_token botToken";
        for name in names.split_ascii_whitespace() {
            assert_eq!(announces(name), Announces::Secret, "{name}");
        }
    }

    #[test]
    fn names_that_only_look_like_it_are_harmless() {
        let names = "max_tokens prompt_tokens tokens token_count tokenCount token_type max_token_length author \
            authority authored_by keyboard secretary secretariat password_reset_url passwordless \
            password_policy token_bucket tokenizer cookie_policy cookieConsent access_key_id primary_key \
            cache_key public_key dedupe_key key keys rows path pass_rate first_pass_rate secret_arn \
            secret_name token_endpoint compass bypass monkey turkey hotkey max_token passenger passage \
            authorId";
        for name in names.split_ascii_whitespace() {
            assert_eq!(announces(name), Announces::Nothing, "{name}");
        }
        assert_eq!(announces("auth"), Announces::Perhaps);
    }
}
