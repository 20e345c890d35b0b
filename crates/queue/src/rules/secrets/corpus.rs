//! Made-up secrets of every kind that is known, and harmless texts that look like them, for tests. They are put together
//! here from alphabets, the same ones at every run, so that no scanner finds one in this repository.

/// A made-up secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Secret {
    pub kind: &'static str,
    /// As it stands in a text.
    pub text: String,
    /// What must not be seen of it anywhere.
    pub core: String,
}

const ALPHANUMERIC: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &str = "0123456789abcdef";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const DIGITS: &str = "123456789";

/// Before it, its alphabet and length, behind it.
type Kind = (&'static str, &'static str, &'static str, usize, &'static str);

/// By their shape.
const SHAPED: &[Kind] = &[
    ("aws key id", "AKIA", UPPER, 16, ""),
    ("aws temporary key id", "ASIA", UPPER, 16, ""),
    ("github", "ghp_", ALPHANUMERIC, 36, ""),
    ("github app", "ghs_", ALPHANUMERIC, 36, ""),
    ("github fine-grained", "github_pat_", ALPHANUMERIC, 60, ""),
    ("gitlab", "glpat-", ALPHANUMERIC, 20, ""),
    ("gitlab runner", "glrt-", ALPHANUMERIC, 20, ""),
    ("slack bot", "xoxb-", ALPHANUMERIC, 30, ""),
    ("slack browser", "xoxc-", ALPHANUMERIC, 30, ""),
    ("slack app", "xapp-1-", ALPHANUMERIC, 30, ""),
    ("slack webhook", "https://hooks.slack.com/services/T0000/B0000/", ALPHANUMERIC, 24, ""),
    ("discord webhook", "https://discord.com/api/webhooks/123456789/", ALPHANUMERIC, 60, ""),
    ("discord bot", "MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcDE.", ALPHANUMERIC, 38, ""),
    ("telegram", "123456789:AA", ALPHANUMERIC, 33, ""),
    ("openai", "sk-", ALPHANUMERIC, 48, ""),
    ("openai project", "sk-proj-", ALPHANUMERIC, 48, ""),
    ("stripe", "sk_live_", ALPHANUMERIC, 24, ""),
    ("stripe restricted", "rk_live_", ALPHANUMERIC, 24, ""),
    ("stripe webhook", "whsec_", ALPHANUMERIC, 32, ""),
    ("google", "AIza", ALPHANUMERIC, 35, ""),
    ("google oauth", "ya29.", ALPHANUMERIC, 60, ""),
    ("google client", "GOCSPX-", ALPHANUMERIC, 28, ""),
    ("npm", "npm_", ALPHANUMERIC, 36, ""),
    ("hugging face", "hf_", ALPHANUMERIC, 34, ""),
    ("sendgrid", "SG.abcdefghijklmnopqrstuv.", ALPHANUMERIC, 43, ""),
    ("databricks", "dapi", HEX, 32, ""),
    ("pypi", "pypi-", ALPHANUMERIC, 60, ""),
    ("digitalocean", "dop_v1_", HEX, 64, ""),
    ("shopify", "shpat_", HEX, 32, ""),
    ("age", "AGE-SECRET-KEY-1", UPPER, 58, ""),
    ("mailgun", "key-", HEX, 32, ""),
    ("mailchimp", "", HEX, 32, "-us12"),
    ("brevo", "xkeysib-", HEX, 64, ""),
    ("twilio", "SK", HEX, 32, ""),
    ("vault", "hvs.", ALPHANUMERIC, 24, ""),
    ("terraform", "abcdefghijklmn.atlasv1.", ALPHANUMERIC, 60, ""),
    ("pulumi", "pul-", HEX, 40, ""),
    ("new relic", "NRAK-", UPPER, 27, ""),
    ("grafana", "glsa_", ALPHANUMERIC, 41, ""),
    ("sentry", "sntrys_", ALPHANUMERIC, 60, ""),
    ("docker", "dckr_pat_", ALPHANUMERIC, 27, ""),
    ("linear", "lin_api_", ALPHANUMERIC, 40, ""),
    ("rubygems", "rubygems_", HEX, 48, ""),
    ("groq", "gsk_", ALPHANUMERIC, 52, ""),
    ("replicate", "r8_", ALPHANUMERIC, 37, ""),
    ("atlassian", "ATATT3", ALPHANUMERIC, 60, ""),
    ("nuget", "oy2", LOWER, 43, ""),
    ("azure client secret", "abc8Q~", ALPHANUMERIC, 34, ""),
    ("azure shared access", "https://x.blob.core.windows.net/c?sv=2024&sig=", ALPHANUMERIC, 43, "%3D"),
    ("json web token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.", ALPHANUMERIC, 43, ""),
    ("leasehold", "lh_ab12cd_", ALPHANUMERIC, 32, ""),
];

/// By what stands around them.
const NAMED: &[Kind] = &[
    ("assignment", "password=", ALPHANUMERIC, 14, ""),
    ("environment", "DB_PASSWORD=", ALPHANUMERIC, 14, " next"),
    ("digits", "pwd=", DIGITS, 9, ""),
    ("query", "https://example.org/a?rows=1&api_key=", ALPHANUMERIC, 20, "&b=2"),
    ("flag", "run --token ", ALPHANUMERIC, 16, " --rows 3"),
    ("flag with sign", "run --client-secret=", ALPHANUMERIC, 16, ""),
    ("bearer header", "Authorization: Bearer ", ALPHANUMERIC, 20, ""),
    ("other header", "Authorization: Digest username=a, response=", HEX, 32, ""),
    ("key header", "X-Api-Key: ", ALPHANUMERIC, 20, ""),
    ("cookie", "Cookie: theme=dark; session=", ALPHANUMERIC, 24, "; lang=en"),
    ("set-cookie", "Set-Cookie: sid=", ALPHANUMERIC, 24, "; Path=/; HttpOnly"),
    ("curl", "curl -u ann:", ALPHANUMERIC, 14, " https://example.org"),
    ("curl header", "curl -H 'Cookie: a=1; b=", ALPHANUMERIC, 16, "' https://example.org"),
    ("postgres", "postgres://app:", ALPHANUMERIC, 14, "@db.internal:5432/jobs"),
    ("redis", "redis://:", ALPHANUMERIC, 14, "@cache:6379/0"),
    ("amqp with signs", "amqp://app:a/b?c", ALPHANUMERIC, 14, "@mq/vhost"),
    ("git", "https://ann:", ALPHANUMERIC, 20, "@git.example.org/r.git"),
    ("go mysql", "app:", ALPHANUMERIC, 14, "@tcp(db:3306)/jobs"),
    (
        "azure storage",
        "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=",
        ALPHANUMERIC,
        40,
        "==;EndpointSuffix=y",
    ),
    ("sql server", "Server=db;User Id=sa;Password=", ALPHANUMERIC, 14, ";Encrypt=true"),
    ("json in a string", r#"{"user":"a","password":""#, ALPHANUMERIC, 14, r#"","n":1}"#),
    ("json in json", r#"{\"api_key\":\""#, ALPHANUMERIC, 14, r#"\",\"n\":1}"#),
    ("pair", r#"{"name":"DB_PASSWORD","value":""#, ALPHANUMERIC, 14, r#""}"#),
    ("pair backwards", r#"{"value":""#, ALPHANUMERIC, 14, r#"","name":"DB_PASSWORD"}"#),
    ("xml", "<config><password>", ALPHANUMERIC, 14, "</password></config>"),
    ("xml pair", r#"<add key="ApiKey" value=""#, ALPHANUMERIC, 14, r#""/>"#),
    ("sql", "CREATE ROLE app PASSWORD '", ALPHANUMERIC, 14, "'"),
    ("sshpass", "sshpass -p ", ALPHANUMERIC, 14, " ssh host"),
    ("aws secret", "aws_secret_access_key = ", ALPHANUMERIC, 40, ""),
    ("netrc", "machine x login ann password ", ALPHANUMERIC, 14, ""),
    ("ruby", ":password => \"", ALPHANUMERIC, 14, "\""),
    ("python", "{'secret_key': '", ALPHANUMERIC, 14, "'}"),
    ("encoded query", "next=%2Fa%3Ftoken%3D", ALPHANUMERIC, 20, ""),
    ("npmrc", "//registry.example.org/:_authToken=", ALPHANUMERIC, 36, ""),
    ("a comma inside", "password=ab,", ALPHANUMERIC, 12, ""),
];

/// So many of each kind.
const EACH: usize = 3;

/// More than two hundred, every one different from all others.
pub fn secrets() -> Vec<Secret> {
    let kinds = SHAPED.iter().chain(NAMED).enumerate();
    let mut all: Vec<Secret> = kinds
        .flat_map(|(i, (kind, before, alphabet, length, behind))| {
            (0..EACH).map(move |n| {
                let core = letters(alphabet, *length, i * EACH + n);
                Secret { kind, text: format!("{before}{core}{behind}"), core }
            })
        })
        .collect();
    all.extend((0..EACH).map(basic));
    all.extend((0..EACH).flat_map(private_keys));
    all
}

/// Base64 of a name and a password.
fn basic(n: usize) -> Secret {
    // Letters and digits in the right places decode to plain ASCII: `user:` and three more per group.
    let core: String = (0..4).map(|i| ["cGFz", "c3dv", "MTIz", "aHVu", "dGVy"][(n + i) % 5]).collect();
    Secret { kind: "basic", text: format!("Proxy used Basic dXNlcjpw{core}"), core }
}

/// Whole and cut at either end.
fn private_keys(n: usize) -> Vec<Secret> {
    let kinds = ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "];
    let kind = kinds[n % kinds.len()];
    let (open, close) = (edge("BEGIN", kind), edge("END", kind));
    let body = |part: usize| letters(ALPHANUMERIC, 64, 10_000 + 10 * n + part);
    let key = |kind, text: String, core| Secret { kind, text, core };
    let (one, two, three, four) = (body(0), body(1), body(2), body(3));
    vec![
        key("private key", format!("before\n{open}\n{one}\nAb3=\n{close}\nbehind"), one),
        key("private key on one line", format!("{open}\\n{two}\\n{close}\\n"), two),
        key("private key without its end", format!("{open}\n{three}"), three),
        key("private key without its beginning", format!("{four}\n{close}"), four),
    ]
}

fn edge(which: &str, kind: &str) -> String {
    format!("-----{which} {kind}PRIVATE KEY-----")
}

/// Looks random and is the same at every run.
pub fn letters(alphabet: &str, length: usize, seed: usize) -> String {
    let alphabet = alphabet.as_bytes();
    let mut state = (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..length)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(alphabet[usize::try_from(state >> 33).unwrap_or_default() % alphabet.len()])
        })
        .collect()
}

/// More than two hundred texts that look a little like secrets and must stay readable to the letter.
pub fn harmless() -> Vec<String> {
    let mut all: Vec<String> = SENTENCES.lines().map(str::to_owned).collect();
    for n in 0..20 {
        let hex = |length, seed: usize| letters(HEX, length, 500 + 20 * seed + n);
        all.push(hex(40, 1));
        all.push(format!("commit {}", hex(40, 2)));
        all.push(format!("sha256:{}", hex(64, 3)));
        all.push(hex(32, 4));
        all.push(format!("{}-{}-7{}-9{}-{}", hex(8, 5), hex(4, 6), hex(3, 7), hex(3, 8), hex(12, 9)));
        all.push(format!("data:image/png;base64,iVBORw0KGgo{}", letters(ALPHANUMERIC, 120, 900 + n)));
        all.push(format!("https://example.org:8080/a@b/{}?page={n}&sort=name", hex(8, 10)));
    }
    all
}

const SENTENCES: &str = r#"token count
PWD=/var/lib/app
max_tokens=512
tokens: 5
prompt_tokens: 812, completion_tokens: 44
"max_tokens": 4096
the author is Ann
author: Ann Example
author=ann
keyboard: de
keyboard=us
secretary: Bob
the secretary of state
password_reset_url=https://example.org/reset
password_policy: strict
passwordless: yes
password_min_length=12
token_type: bearer
token_count=12
token_bucket: 40
tokenizer=cl100k
cookie_policy=strict
cookie_consent: given
Forgot your password?
Please change your password soon.
The token expired.
Unexpected token: }
SyntaxError: Unexpected token '<', "<!DOCTYPE "... is not valid JSON
invalid token: ','
access_key_id: see the console
primary_key: id
cache_key=user:42
sort_key: created_at
public_key: see below
dedupe_key=import-2026-01-01
foreign_key=tenant_id
monkey: 1
key: value
key=value
Basic functionality: works
basic authentication is off
Bearer certificates are old
the bearer of bad news
compass: north
first pass: 3 of 9
pass rate: 99 %
bypass=none
passenger: 4
https://example.org/a/b?page=2&sort=name
https://example.org:8080/a@b
postgres://db.internal/jobs
ssh://git@example.org/r.git
mailto:ann@example.org
ann@example.org
docker run -u 1000:1000 image
docker run --user node:node image
-----BEGIN PUBLIC KEY-----
-----BEGIN CERTIFICATE-----
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGexample ann@host
2026-01-01T00:00:00.000000Z INFO started
1,200 rows written
sk-estimator-doc-link-label-something
task-scheduler-default-pool
pypi-publish
npm_config_registry
npm_package_version
shelf_life_of_products
key-value store
password: ${DB_PASSWORD}
token=$API_TOKEN_NAME
password=***
secret: <your secret>
password: null
the secret is out
use leasehold::secrets::Redactor
Token::Comma
secret://vault/db
authority: example.org
authorized: yes
authored_by=ann
authentication took 3 ms
session: 4 of 9
eyJhbGciOiJIUzI1NiJ9
SG.short
AKIA is a prefix
ghp_short
xoxo
dapifish
lighthouse-us
-us
hotkey=ctrl+c
turkey=1
credentialing is a word
The recovery took 4 s.
seed: 42
backup: done
sig=short
signature=0123456789abcdef0123456789abcdef
/attachments/0198c2de-7d1c-7b6a-9a3e-2f1d5c6b7a89?expires=1780000000&signature=0123456789abcdef0123456789abcdef
value: 3, name: rows
{"name":"ROWS","value":"4000"}
{"name":"max_tokens","value":"4000"}
<author>Ann</author>
1 + 1 = 2"#;

#[cfg(test)]
#[path = "corpus_tests.rs"]
mod tests;
