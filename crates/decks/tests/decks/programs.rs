//! The artifacts, opened by the programs people open them with.
//!
//! A program that is missing is a failure: `make test` installs them, and a skipped check would look like a passed one.

use std::path::Path;
use std::process::Command;

use crate::support::{SAMPLE, deck, exported};
use leasehold_decks::export::ExportFormat;
use leasehold_decks::model::Deck;

/// Words of each slide of the sample, which must be found on that very page.
const EXPECTED: [&[&str]; 13] = [
    &["Harbour lights", "knows by morning", "Ann Okafor"],
    &["Why we count", "eleven kilometres", "41 days in winter", "survey of last spring"],
    &["What a lamp tells us", "milliamps", "4.", "The office compares it"],
    &["Before and after", "A person with a torch", "A reading every hour"],
    &["A reading", "struct Reading {", "self.milliamps < 20", "rust"],
    &["What it costs", "Sensor with battery", "17,360 €", "a third less"],
    &["What the crew says", "before we cast off", "— Mirko, crew of the Anna"],
    &["Where the masts stand", "Map of the quay with twelve masts", "images/masts.png"],
    &["What we learnt", "Batteries do not like the cold"],
    &["What we learnt (2)", "Winter will tell"],
    &["Thank you.", "ann@example.org"],
    &["Appendix"],
    &["Measuring by hand", "handset --lamp 0417 --send", "Write it down as well."],
];

fn export(deck: &Deck, format: ExportFormat, folder: &Path) -> String {
    let file = folder.join(format!("deck.{}", format.extension()));
    std::fs::write(&file, exported(deck, format).bytes).unwrap();
    file.to_str().unwrap().to_owned()
}

/// What a program says; that it is missing or fails is a failed test with its reason.
fn said_by(program: &str, package: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap_or_else(|error| {
        panic!("{program} cannot be started ({error}); it is in the Debian package {package}, which `make test` installs")
    });
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {}\n{errors}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The presentation as LibreOffice prints it.
fn printed(pptx: &str, folder: &Path) -> String {
    // Its own profile: two runs sharing one would wait for each other.
    let profile = format!("-env:UserInstallation=file://{}", folder.join("profile").display());
    let printed = folder.join("printed");
    let arguments =
        [profile.as_str(), "--headless", "--convert-to", "pdf", "--outdir", printed.to_str().unwrap(), pptx];
    let said = said_by("soffice", "libreoffice-impress", &arguments);
    let file = printed.join("deck.pdf");
    assert!(file.is_file(), "soffice made no PDF of the presentation: {said}");
    file.to_str().unwrap().to_owned()
}

fn pages(pdf: &str) -> Vec<String> {
    let text = said_by("pdftotext", "poppler-utils", &["-layout", "-enc", "UTF-8", pdf, "-"]);
    let mut pages: Vec<String> = text.split('\u{c}').map(one_line).collect();
    assert_eq!(pages.pop().as_deref(), Some(""), "pdftotext ends each page with a form feed");
    pages
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn assert_pages(pdf: &str) {
    let pages = pages(pdf);
    assert_eq!(pages.len(), EXPECTED.len(), "pages of {pdf}: {pages:#?}");
    for (index, (page, words)) in pages.iter().zip(EXPECTED).enumerate() {
        for expected in words {
            assert!(page.contains(expected), "page {} of {pdf} lacks {expected:?}: {page}", index + 1);
        }
    }
}

#[test]
fn libreoffice_opens_the_presentation_with_every_slide_and_its_text() {
    let folder = tempfile::tempdir().unwrap();
    let pptx = export(&deck(SAMPLE), ExportFormat::Pptx, folder.path());
    assert_pages(&printed(&pptx, folder.path()));
}

#[test]
fn poppler_reads_the_pdf_with_every_page_its_text_and_its_links() {
    let folder = tempfile::tempdir().unwrap();
    let pdf = export(&deck(SAMPLE), ExportFormat::Pdf, folder.path());
    assert_pages(&pdf);
    let info = said_by("pdfinfo", "poppler-utils", &[&pdf]);
    for expected in ["Harbour lights", "Ann Okafor", "960 x 540 pts"] {
        assert!(info.contains(expected), "pdfinfo lacks {expected:?}: {info}");
    }
    let links = said_by("pdfinfo", "poppler-utils", &["-url", &pdf]);
    for expected in ["https://example.org/survey?year=2025&kind=lamps", "mailto:ann@example.org"] {
        assert!(links.contains(expected), "the links lack {expected:?}: {links}");
    }
}

#[test]
fn text_that_looks_like_markup_arrives_as_text_in_both() {
    // Whole words: Poppler takes single letters with spaces between them for one spaced-out word.
    let markdown = "# Ants & bees <C>\n\n## `</a:t>` and \"quotes\"\n\n- ants < bees \\<b\\> &amp; 'wasps'\n\n\
                    | <i>head</i> | left\\|right |\n|--|--|\n| \\]\\]> | &copy; |\n";
    let folder = tempfile::tempdir().unwrap();
    let deck = deck(markdown);
    let pptx = export(&deck, ExportFormat::Pptx, folder.path());
    let pdf = export(&deck, ExportFormat::Pdf, folder.path());
    for file in [printed(&pptx, folder.path()), pdf] {
        let pages = pages(&file);
        assert_eq!(pages.len(), 2, "{file}");
        assert!(pages[0].contains("Ants & bees"), "{file}: {}", pages[0]);
        for expected in ["</a:t> and \"quotes\"", "ants < bees <b> & 'wasps'", "left|right", "]]>", "©"] {
            assert!(pages[1].contains(expected), "{file} lacks {expected:?}: {}", pages[1]);
        }
    }
}

#[test]
fn letters_outside_the_pdfs_fonts_are_spelled_and_stay_themselves_in_the_presentation() {
    let folder = tempfile::tempdir().unwrap();
    let deck = deck("## Łódź → Москва\n\n- ≤ 5 €\n");
    let pdf = export(&deck, ExportFormat::Pdf, folder.path());
    assert!(pages(&pdf)[0].contains("Lódz -> Moskva"), "{:?}", pages(&pdf));
    assert!(pages(&pdf)[0].contains("<= 5 €"), "{:?}", pages(&pdf));
    let info = said_by("pdfinfo", "poppler-utils", &["-enc", "UTF-8", &pdf]);
    assert!(info.contains("Łódź → Москва"), "the title is metadata, and needs no font: {info}");
    let pptx = export(&deck, ExportFormat::Pptx, folder.path());
    let printed = pages(&printed(&pptx, folder.path()));
    assert!(printed[0].contains("Łódź → Москва"), "{printed:?}");
}
