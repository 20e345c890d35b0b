use super::*;
use leasehold_types::KeyMode;

fn parse(text: &str) -> Result<CommandBook, BookError> {
    CommandBook::parse(text, Path::new("commands.toml"))
}

const IMPORT: &str = r#"
[commands.import]
description = "Imports rows"
program = "/usr/bin/import"
args = ["--rows={{payload.rows}}", { arg = "--note={{payload.note}}", optional = true }]
env = { inherit = ["PATH"], TENANT = "{{tenant.slug}}" }
timeout_seconds = 30
stages = [{ name = "reading", from = 0, to = 100 }]
[commands.import.retry]
jitter = "none"
[commands.import.schema]
type = "object"
additionalProperties = false
[commands.import.schema.properties]
rows = { type = "integer", default = 5 }
note = { type = "string" }
"#;

#[test]
fn a_book_becomes_definitions() {
    let book = parse(IMPORT).unwrap();
    assert_eq!(book.keys(), ["import"]);
    let definition = &book.definitions()[0];
    assert_eq!(
        (definition.domain.as_str(), definition.job_type.as_str(), definition.executor.as_str()),
        ("commands", "import", "command")
    );
    assert_eq!(definition.arg_schema["properties"]["rows"]["default"], 5);
    assert_eq!(definition.stages[0].name, "reading");
    let spec = book.get("import").unwrap();
    assert_eq!(spec.env_inherit, ["PATH"]);
    assert_eq!(spec.grace, Duration::from_secs(5));
}

#[test]
fn limits_are_part_of_the_definition() {
    assert_eq!(parse(IMPORT).unwrap().definitions()[0].limits, DefinitionLimits::default());
    let limits = "[commands.import.limits]\nmax_in_flight_per_tenant = 2\nmax_active_per_key = 1\nkey_mode = \"reject\"";
    let book = parse(&format!("{IMPORT}{limits}")).unwrap();
    let expected = DefinitionLimits {
        max_in_flight_per_tenant: Some(2),
        max_active_per_key: Some(1),
        key_mode: KeyMode::Reject,
        ..DefinitionLimits::default()
    };
    assert_eq!(book.definitions()[0].limits, expected);
}

#[test]
fn every_mistake_names_file_command_and_field() {
    let cases = [
        (IMPORT.replace("/usr/bin/import", "import"), "program"),
        (IMPORT.replace("timeout_seconds = 30", "timeout_secs = 30"), "timeout_secs"),
        (IMPORT.replace("timeout_seconds = 30", "timeout_seconds = 0"), "timeout_seconds"),
        (IMPORT.replace("--rows={{payload.rows}}", "--{{payload.rows}}"), "args[0]"),
        (IMPORT.replace("--rows={{payload.rows}}", "--rows={{payload.row}}"), "schema.properties.rows"),
        (IMPORT.replace(", optional = true", ""), "args[1]"),
        (IMPORT.replace("\"PATH\"", "\"DATABASE_URL\""), "env.inherit"),
        (IMPORT.replace("to = 100", "to = 101"), "stages"),
        (IMPORT.replace("type = \"integer\"", "type = \"number of rows\""), "schema"),
        (
            IMPORT.replace("jitter = \"none\"", "retryable_classes = [\"bad luck\"]"),
            "retry.retryable_classes",
        ),
        (IMPORT.replace("program = \"/usr/bin/import\"", ""), "program"),
        (format!("{IMPORT}[commands.import.limits]\nmax_in_flight = 0"), "limits.max_in_flight"),
        (format!("{IMPORT}[commands.import.limits]\nmax_flights = 1"), "max_flights"),
        (IMPORT.replace("timeout_seconds = 30", "memory = \"much\""), "memory"),
        (IMPORT.replace("timeout_seconds = 30", "processes = \"512MB\""), "processes"),
        (IMPORT.replace("timeout_seconds = 30", "file_size = 0"), "file_size"),
        (IMPORT.replace("timeout_seconds = 30", "user = \"nobody-of-this-name\""), "user"),
    ];
    for (text, field) in cases {
        let error = parse(&text).unwrap_err().to_string();
        let expected = format!("commands.toml: command “import”, {field}: ");
        assert!(error.starts_with(&expected), "{error} should start with {expected}");
    }
}

#[test]
fn what_a_command_may_use_comes_from_itself_or_the_defaults() {
    let used = |text: &str| parse(text).map(|book| book.get("import").unwrap().resources);
    assert_eq!(used(IMPORT).unwrap(), Limits { processes: Some(512), ..Limits::default() });
    let own = IMPORT.replace("timeout_seconds = 30", "memory = \"2GB\"\nprocesses = \"unlimited\"");
    let defaults = "[defaults]\nmemory = \"512MB\"\ncpu_seconds = 60\nprocesses = 8\n";
    let expected = Limits { memory: Some(2 << 30), cpu_seconds: Some(60), ..Limits::default() };
    assert_eq!(used(&format!("{defaults}{own}")).unwrap(), expected);
    let error = used(&format!("[defaults]\nmemory = \"-1\"\n{IMPORT}")).unwrap_err().to_string();
    assert!(error.starts_with("commands.toml: [defaults], memory: "), "{error}");
    assert!(parse("[defaults]\nmemry = 1").is_err(), "a misspelt limit is no limit");
}

#[test]
fn a_missing_file_is_named() {
    let error = CommandBook::load(Path::new("/nowhere/commands.toml")).unwrap_err().to_string();
    assert!(error.starts_with("/nowhere/commands.toml: cannot be read"), "{error}");
}

#[test]
fn without_a_schema_no_payload_is_taken() {
    let book = parse("[commands.tick]\nprogram = \"/bin/true\"").unwrap();
    assert_eq!(book.definitions()[0].arg_schema["additionalProperties"], false);
}

#[test]
fn the_shipped_book_is_valid() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../commands.toml");
    let book = CommandBook::load(&path).unwrap();
    assert!(book.keys().contains(&"demo-import".to_owned()));
}

/// The part of the shipped book that is commented out must not rot.
#[test]
fn the_shipped_examples_are_valid_once_uncommented() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../commands.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, examples) = text.split_once("# ---- examples ----\n").unwrap();
    let text: String =
        examples.lines().filter_map(|line| line.strip_prefix("#: ")).flat_map(|line| [line, "\n"]).collect();
    let keys = parse(&text).unwrap().keys();
    assert_eq!(
        keys,
        ["recompute-trained-tags", "recompute-zeroshot-tags", "sync-dropbox", "train-keyword-models"]
    );
}
