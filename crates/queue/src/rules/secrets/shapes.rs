//! Shapes that are a secret by themselves. Each has a few letters that stand in every one of them: a text without
//! those letters is not searched at all (see [`super::prefilter`]).

use regex::{Match, Regex};
use std::{ops::Range, sync::LazyLock};

/// The letters, separated by blanks, and the pattern. When the pattern has a group, the group is the secret.
pub const SHAPES: &[(&str, &str)] = &[
    // AWS: a key's id, and the key itself when it stands behind it
    (
        "akia asia abia acca ltai akid",
        r#"(?-u:\b)(?:(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?-u:\b)(?:["']?[\s,:;|]+["']?[A-Za-z0-9/+]{40}(?-u:\b))?|LTAI[A-Za-z0-9]{16,24}(?-u:\b)|AKID[A-Za-z0-9]{28,36}(?-u:\b))"#,
    ),
    ("ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"),
    (
        "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- gloas- glimt- glagent- gr1348941",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|oas|imt|agent)-[A-Za-z0-9_.-]{16,}|GR1348941[A-Za-z0-9_-]{16,}",
    ),
    ("xox xapp-", r"xox[abceoprs][-.][A-Za-z0-9._-]{10,}|xapp-[A-Za-z0-9-]{10,}"),
    (
        "hooks.slack.com hooks.zapier.com webhook.office.com",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{20,})|hooks\.zapier\.com/hooks/catch/([A-Za-z0-9/]{8,})|webhook\.office\.com/webhookb2/([A-Za-z0-9@/_-]{20,})",
    ),
    ("/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/([0-9]+/[A-Za-z0-9_-]{20,})"),
    ("sk- sk_ rk_", r"(?-u:\b)(?:sk[-_]|rk_)[A-Za-z0-9_-]{20,}"),
    ("whsec_", r"whsec_[A-Za-z0-9+/=_-]{16,}"),
    ("aiza", r"(?-u:\b)AIza[A-Za-z0-9_-]{35}"),
    (
        "ya29. gocspx- 1//0",
        r"(?-u:\b)(?:ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}|1//0[A-Za-z0-9_-]{20,})",
    ),
    ("npm_ hf_", r"(?-u:\b)(?:npm|hf)_[A-Za-z0-9]{20,}"),
    ("sg.", r"(?-u:\b)SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("dapi dkea dose", r"(?-u:\b)(?:dapi|dkea|dose)[0-9a-f]{32}(?:-[0-9])?"),
    ("pypi-", r"pypi-[A-Za-z0-9_-]{40,}"),
    ("dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[0-9a-f]{32,}"),
    ("shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    ("age-secret-key-", r"AGE-SECRET-KEY-1[0-9A-Za-z]{20,}"),
    ("key-", r"(?-u:\b)key-[0-9a-f]{32}(?-u:\b)"),
    ("-us", r"(?-u:\b)[0-9a-f]{32}-us[0-9]{1,2}(?-u:\b)"),
    ("xkeysib- xsmtpsib-", r"x(?:keysib|smtpsib)-[0-9a-f]{32,}(?:-[A-Za-z0-9]{8,})?"),
    (":aa", r"(?-u:\b)[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    ("eyj", r"(?-u:\b)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*"),
    ("sig=", r"[?&]sig=([A-Za-z0-9%+/=_-]{16,})"),
    ("8q~", r"[A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{31,37}"),
    (
        "hvs. hvb. hvr. dp. atlasv1. pul- nrak- pmak- hrku- cfpat- tskey-",
        r"(?-u:\b)(?:hv[sbr]\.[A-Za-z0-9_-]{20,}|dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{20,}|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{20,}|pul-[0-9a-f]{40}|(?:NRAK|PMAK|HRKU|CFPAT)-[A-Za-z0-9_-]{20,}|tskey-[a-z]+-[A-Za-z0-9_-]{10,})",
    ),
    (
        "glsa_ glc_ sntrys_ sntryu_ sbp_ sb_secret_ nfp_ fm1_ fm2_ fo1_ pscale_ bkua_ ccipat_ dckr_",
        r"(?-u:\b)(?:glsa|glc|sntrys|sntryu|sbp|sb_secret|nfp|fm1|fm2|fo1|pscale_tkn|pscale_pw|pscale_oauth|bkua|CCIPAT|dckr_pat|dckr_oat)_[A-Za-z0-9+/=_.-]{20,}",
    ),
    (
        "lin_api_ ntn_ secret_ figd_ rubygems_ clojars_ pplx- gsk_ r8_ xai- lsv2_ tfp_ shippo_ fw_ nvapi- fc- ops_ey",
        r"(?-u:\b)(?:lin_api_[A-Za-z0-9]{20,}|ntn_[A-Za-z0-9]{20,}|secret_[A-Za-z0-9]{43}|figd_[A-Za-z0-9_-]{20,}|rubygems_[0-9a-f]{32,}|CLOJARS_[A-Za-z0-9]{32,}|pplx-[A-Za-z0-9]{32,}|gsk_[A-Za-z0-9]{32,}|r8_[A-Za-z0-9]{30,}|xai-[A-Za-z0-9]{32,}|lsv2_(?:pt|sk)_[A-Za-z0-9_]{20,}|tfp_[A-Za-z0-9_.-]{32,}|shippo_(?:live|test)_[0-9a-f]{32,}|fw_[A-Za-z0-9]{24}|nvapi-[A-Za-z0-9_-]{32,}|fc-[0-9a-f]{32}|ops_eyJ[A-Za-z0-9_-]{20,})",
    ),
    ("atatt3 atctt3 atbb", r"(?-u:\b)(?:AT[AC]TT3[A-Za-z0-9_=-]{20,}|ATBB[A-Za-z0-9]{20,})"),
    ("sq0 eaaa", r"(?-u:\b)(?:sq0(?:csp|atp|idp)-[A-Za-z0-9_-]{20,}|EAAA[A-Za-z0-9_-]{40,})"),
    ("sl. eaa", r"(?-u:\b)(?:sl\.(?:u\.)?[A-Za-z0-9_-]{80,}|EAA[A-Za-z0-9]{80,})"),
    ("pat", r"(?-u:\b)pat[A-Za-z0-9]{14}\.[0-9a-f]{32,}"),
    ("oy2 lh_", r"(?-u:\b)(?:oy2[a-z0-9]{43}(?-u:\b)|lh_[A-Za-z0-9]+_[A-Za-z0-9_-]{16,})"),
    // Words of programs that take a secret
    ("bearer", r#"(?i)(?-u:\b)bearer\s+([A-Za-z0-9._~+/=-]{8,})"#),
    ("basic", r"(?i)(?-u:\b)basic\s+([A-Za-z0-9+/_=-]{8,})"),
    ("ssws", r"(?-u:\b)SSWS\s+([A-Za-z0-9_-]{20,})"),
    (
        "-u --user --proxy-user",
        r#"(?:^|[\s"'])(?:-u|-U|--user|--proxy-user)(?:\s+|=)?["']?([^\s:"'=@/]*:[^\s"']+)"#,
    ),
    (
        "sshpass redis-cli docker",
        r#"(?:sshpass\s+-p|redis-cli[^\n]*?\s-a|docker\s+login[^\n]*?\s-p)\s*["']?([^\s"']+)"#,
    ),
    ("identified by", r#"(?i)identified\s+by\s+\\?["']([^"'\\]+)"#),
    ("password", r"(?i)(?-u:\b)login\s+\S+\s+password\s+(\S+)"),
    (":5432: :3306: :1433: :27017:", r"(?m)^[^\s:]+:[0-9]{2,5}:[^\s:]+:[^\s:]+:(\S+)$"),
    ("@tcp( @unix(", r"(?-u:\b)[A-Za-z0-9_.-]+:([^\s@/]+)@(?:tcp|unix)\("),
    // A pair whose value comes first
    (
        "value",
        r#"\\*["']value\\*["']\s*:\s*\\*["']([^"'\\]+)\\*["']\s*,\s*\\*["'](?:name|key)\\*["']\s*:\s*\\*["']([A-Za-z0-9_.-]+)"#,
    ),
];

/// No letters stand in all of these, but the engine is fast at them.
pub const WITHOUT_LETTERS: &str = r"(?:MT|Mj|Mz|ND|NT|Nj|Nz|OD|OT)[A-Za-z0-9_-]{21,26}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}|(?-u:\b)SK[0-9a-f]{32}(?-u:\b)";
/// Shorter texts have none of them.
pub const SHORTEST_WITHOUT_LETTERS: usize = 34;

/// Compiled when first needed: that takes longer than everything else a short command does. One that does not compile
/// is caught by the tests, not by a panic in a server.
static COMPILED: LazyLock<Vec<Option<Regex>>> =
    LazyLock::new(|| SHAPES.iter().map(|(_, pattern)| Regex::new(pattern).ok()).collect());
static COMPILED_WITHOUT_LETTERS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(WITHOUT_LETTERS).ok());

/// Where the text has this shape.
pub fn find(shape: usize, text: &str, spans: &mut Vec<Range<usize>>) {
    let Some(Some(regex)) = COMPILED.get(shape) else { return };
    for found in regex.captures_iter(text) {
        let groups: Vec<_> = found.iter().skip(1).flatten().collect();
        let secret = groups.first().copied().or(found.get(0));
        let Some(secret) = secret else { continue };
        if is_one(SHAPES[shape].0, text, secret.as_str(), groups.get(1).map(Match::as_str)) {
            spans.push(secret.range());
        }
    }
}

pub fn find_without_letters(text: &str, spans: &mut Vec<Range<usize>>) {
    if text.len() >= SHORTEST_WITHOUT_LETTERS
        && let Some(regex) = COMPILED_WITHOUT_LETTERS.as_ref()
    {
        spans.extend(regex.find_iter(text).map(|found| found.range()));
    }
}

/// What a pattern cannot tell.
fn is_one(letters: &str, text: &str, secret: &str, second: Option<&str>) -> bool {
    match letters.split(' ').next() {
        // Class names and package names: `sk-estimator-doc-link`.
        Some("sk-") => {
            secret.bytes().any(|b| b.is_ascii_digit() || b.is_ascii_uppercase()) || !secret[3..].contains('-')
        }
        // "Bearer certificates", "basic functionality"
        Some("bearer") => secret.len() >= 24 || is_mixed(secret),
        Some("basic") => decodes_to_a_pair(secret),
        // `docker run -u 1000:1000`
        Some("-u") => {
            let (user, password) = secret.split_once(':').unwrap_or_default();
            let of_a_client = ["curl", "wget", "http"].iter().any(|client| text.contains(client));
            let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
            of_a_client || !(user == password || (digits(user) && digits(password)))
        }
        Some("value") => second.is_some_and(super::names::is_secret_name),
        _ => true,
    }
}

pub fn is_mixed(text: &str) -> bool {
    let has = |class: fn(&u8) -> bool| text.as_bytes().iter().any(class);
    has(u8::is_ascii_digit)
        || (has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && !is_capitalised(text))
}

fn is_capitalised(text: &str) -> bool {
    text.get(1..).is_some_and(|rest| !rest.bytes().any(|b| b.is_ascii_uppercase()))
}

/// `user:password` in base64.
fn decodes_to_a_pair(text: &str) -> bool {
    let sixtet = |b: u8| match b {
        b'A'..=b'Z' => Some(b - b'A'),
        b'a'..=b'z' => Some(b - b'a' + 26),
        b'0'..=b'9' => Some(b - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    let (mut bits, mut have, mut decoded) = (0_u32, 0, Vec::new());
    for byte in text.trim_end_matches('=').bytes() {
        let Some(sixtet) = sixtet(byte) else { return false };
        bits = (bits << 6) | u32::from(sixtet);
        have += 6;
        if have >= 8 {
            have -= 8;
            decoded.push(u8::try_from((bits >> have) & 0xff).unwrap_or_default());
        }
    }
    decoded.contains(&b':') && decoded.iter().all(|b| b.is_ascii_graphic() || *b == b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for (shape, (letters, pattern)) in SHAPES.iter().enumerate() {
            assert!(COMPILED[shape].is_some(), "{letters}: {pattern}");
        }
        assert!(COMPILED_WITHOUT_LETTERS.is_some());
    }

    #[test]
    fn a_word_after_basic_is_a_word_unless_it_is_a_pair() {
        assert!(decodes_to_a_pair("dXNlcjpwYXNzd29yZA=="));
        assert!(!decodes_to_a_pair("functionality") && !decodes_to_a_pair("authentication"));
    }
}
