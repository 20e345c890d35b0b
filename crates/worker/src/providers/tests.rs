use super::*;
use leasehold_types::unit::UnitKind;

fn parse(text: &str) -> Result<ProviderBook, ProvidersError> {
    ProviderBook::parse(text, Path::new("providers.toml"), Path::new("/bin/leasehold"))
}

fn error(settings: &str) -> String {
    match parse(&format!("[providers.p]\n{settings}")) {
        Ok(_) => panic!("accepted: {settings}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_sample_file_can_be_read_and_knows_two_local_ones() {
    let sample = include_str!("../../../../providers.toml");
    let book = parse(sample).unwrap();
    let local: Vec<_> = book.specs().map(|spec| (spec.name.as_str(), spec.kind, spec.is_local)).collect();
    assert_eq!(local, [("local-llm", UnitKind::Llm, true), ("local-ocr", UnitKind::Ocr, true)]);
}

#[test]
fn what_the_sample_shows_as_a_comment_works_too() {
    let sample = include_str!("../../../../providers.toml");
    let example = sample.split("# ---8<---\n").nth(1).expect("the sample has an example");
    let example: String =
        example.lines().map(|line| format!("{}\n", line.trim_start_matches("# "))).collect();
    let book = parse(&example).unwrap();
    assert_eq!(book.names(), ["chat", "scanner"]);
    assert!(book.specs().all(|spec| !spec.is_local));
}

#[test]
fn the_documents_example_works() {
    let document = include_str!("../../../../docs/providers.md");
    let (_, example) = document.split_once("```toml\n").expect("the document has an example");
    let (example, _) = example.split_once("```").expect("the example ends");
    assert_eq!(parse(example).unwrap().names(), ["chat", "scanner"]);
}

#[test]
fn every_mistake_names_its_setting() {
    for (settings, says) in [
        ("engine = \"local\"", "type"),
        ("type = \"llm\"", "engine"),
        ("type = \"fax\"\nengine = \"local\"", "type: “fax” is not one of llm, ocr"),
        ("type = \"llm\"\nengine = \"magic\"", "engine"),
        ("type = \"ocr\"\nengine = \"openai\"", "engine"),
        ("type = \"llm\"\nengine = \"local\"\nrequests_per_second = 0.0", "requests_per_second"),
        ("type = \"llm\"\nengine = \"local\"\nrequests_per_second = nan", "requests_per_second"),
        ("type = \"llm\"\nengine = \"local\"\nrequests_per_second = -1.0", "requests_per_second"),
        ("type = \"llm\"\nengine = \"local\"\nmax_concurrency = 0", "max_concurrency"),
        ("type = \"llm\"\nengine = \"local\"\nretry_delay_seconds = -1.0", "retry_delay_seconds"),
        ("type = \"llm\"\nengine = \"local\"\ntimeout_seconds = 0", "timeout_seconds"),
        ("type = \"llm\"\nengine = \"local\"\nmodel = \"x\"", "model: belongs to engine \"openai\""),
        ("type = \"llm\"\nengine = \"local\"\nspeed = 1", "speed"),
        ("type = \"llm\"\nengine = \"openai\"\nmodel = \"m\"", "base_url: is missing"),
        ("type = \"llm\"\nengine = \"openai\"\nbase_url = \"ftp://x\"\nmodel = \"m\"", "base_url"),
        ("type = \"llm\"\nengine = \"openai\"\nbase_url = \"http://x\"", "model: is missing"),
        ("type = \"ocr\"\nengine = \"tesseract\"\nprogram = \"tesseract\"", "program"),
        ("type = \"ocr\"\nengine = \"tesseract\"\nlanguages = \"--help\"", "languages"),
        ("type = \"ocr\"\nengine = \"tesseract\"\nfolder = \"scans\"", "folder"),
    ] {
        let error = error(settings);
        assert!(error.contains(says) && error.contains("provider “p”"), "{settings}: {error}");
    }
}
