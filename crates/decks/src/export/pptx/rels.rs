//! Relationships: how one part of a package names another, or an address outside.

use super::xml::Xml;

const NAMESPACE: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
pub const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

#[derive(Default)]
pub struct Rels {
    all: Vec<Rel>,
}

struct Rel {
    kind: String,
    target: String,
    is_outside: bool,
}

impl Rels {
    /// Another part of the package; `kind` is the last word of the relationship's type.
    pub fn part(&mut self, kind: &str, target: impl Into<String>) -> String {
        self.id_of(Rel { kind: format!("{OFFICE}/{kind}"), target: target.into(), is_outside: false })
    }

    /// A kind that is not of the office family.
    pub fn other(&mut self, kind: &str, target: &str) -> String {
        self.id_of(Rel { kind: kind.to_owned(), target: target.to_owned(), is_outside: false })
    }

    pub fn link(&mut self, target: &str) -> String {
        let kind = format!("{OFFICE}/hyperlink");
        self.id_of(Rel { kind, target: target.to_owned(), is_outside: true })
    }

    fn id_of(&mut self, rel: Rel) -> String {
        let known =
            self.all.iter().position(|other| (&other.kind, &other.target) == (&rel.kind, &rel.target));
        let at = known.unwrap_or_else(|| {
            self.all.push(rel);
            self.all.len() - 1
        });
        format!("rId{}", at + 1)
    }

    pub fn xml(&self) -> String {
        Xml::part("Relationships", &[("xmlns", NAMESPACE)], |xml| {
            for (index, rel) in self.all.iter().enumerate() {
                let id = format!("rId{}", index + 1);
                let mut attributes = vec![("Id", id.as_str()), ("Type", &rel.kind), ("Target", &rel.target)];
                if rel.is_outside {
                    attributes.push(("TargetMode", "External"));
                }
                xml.empty("Relationship", &attributes);
            }
        })
    }
}
