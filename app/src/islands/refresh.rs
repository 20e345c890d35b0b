//! Keeps a page true while it is open.
//!
//! The server renders every part of a page; the parts that can change carry `data-live` and an id. When an event
//! says that something moved, this island reads the page again and morphs those parts into what the server says
//! now. So the browser never needs to know what a job looks like, and what is on screen is what a reload would show.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

/// What counts as a new row of a list.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct News {
    /// The highest number on the page.
    pub newest: i64,
    /// Empty = any state.
    pub statuses: Vec<String>,
    pub job_type: Option<String>,
    pub queue: Option<String>,
    pub domain: Option<String>,
}

/// The few words of an event that this island understands.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
pub struct Ping {
    pub id: i64,
    pub number: i64,
    pub kind: String,
    pub status: String,
    pub domain: String,
    pub queue: String,
    pub job_type: String,
}

impl News {
    /// A job that a reload would show above what is on the page.
    pub fn announces(&self, ping: &Ping) -> bool {
        let same = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|w| w == is);
        ping.number > self.newest
            && (self.statuses.is_empty() || self.statuses.contains(&ping.status))
            && same(&self.job_type, &ping.job_type)
            && same(&self.queue, &ping.queue)
            && same(&self.domain, &ping.domain)
    }
}

#[island]
pub fn Refresh(
    slug: String,
    /// The newest event the page already contains.
    cursor: i64,
    /// Only this job's events matter.
    job: Option<i64>,
    /// Where to read the page again; none = its own address.
    url: Option<String>,
    /// Milliseconds between two readings, at least.
    pause: u32,
    /// New rows are announced, never pushed in above what is read.
    news: Option<News>,
) -> impl IntoView {
    #[cfg(feature = "hydrate")]
    browser::start(&slug, cursor, job, url, pause, news);
    #[cfg(not(feature = "hydrate"))]
    let _ = (slug, cursor, job, url, pause, news);
}

#[cfg(feature = "hydrate")]
mod browser {
    use super::News;
    use crate::islands::{
        clock,
        live::{self, Heard, again::Again},
        morph,
    };
    use leptos::prelude::*;
    use std::{cell::RefCell, collections::BTreeSet, time::Duration};
    use wasm_bindgen::JsCast;
    use wasm_bindgen_futures::JsFuture;
    use web_sys::{Document, DomParser, Response, SupportedType};

    pub fn start(
        slug: &str,
        cursor: i64,
        job: Option<i64>,
        url: Option<String>,
        pause: u32,
        news: Option<News>,
    ) {
        morph::scroll_logs_to_end();
        let read = Again::new(Duration::from_millis(pause.into()), move || {
            let url = url.clone();
            async move {
                // On failure the page stays as it is; the live light says how old that is.
                if let Some(fresh) = fetch(url).await {
                    morph::live_parts(&fresh);
                    clock::show_all();
                }
            }
        });
        let announced = RefCell::new(BTreeSet::new());
        live::listen(slug, cursor, move |heard| {
            if let (Heard::Event(ping), Some(news)) = (heard, &news) {
                announce(news, ping, &mut announced.borrow_mut());
            }
            let ours = match heard {
                Heard::Resync => true,
                Heard::Event(ping) => match job {
                    Some(number) => ping.number == number,
                    // Log lines and files are only on the job's own page.
                    None => !matches!(ping.kind.as_str(), "job.log" | "job.attachment"),
                },
            };
            if ours {
                read.soon();
            }
        });
    }

    /// The page as the server renders it now. A session that has ended leads elsewhere: then go there.
    async fn fetch(url: Option<String>) -> Option<Document> {
        let url = url.or_else(|| location().href().ok())?;
        let response = JsFuture::from(window().fetch_with_str(&url)).await.ok()?;
        let response: Response = response.dyn_into().ok()?;
        if response.redirected() {
            let _ = location().reload();
            return None;
        }
        if !response.ok() {
            return None;
        }
        let text = JsFuture::from(response.text().ok()?).await.ok()?.as_string()?;
        DomParser::new().ok()?.parse_from_string(body_of(&text)?, SupportedType::TextHtml).ok()
    }

    /// Without the head: its inline style carries a nonce that is not this page's, and live parts are not there.
    fn body_of(page: &str) -> Option<&str> {
        page.get(page.find("<main")?..page.rfind("</main>")?)
    }

    fn announce(news: &News, ping: &super::Ping, announced: &mut BTreeSet<i64>) {
        if news.announces(ping) {
            announced.insert(ping.number);
        } else {
            announced.remove(&ping.number);
        }
        let Some(link) = document().get_element_by_id("new-jobs") else { return };
        let count = announced.len();
        let text = if count == 1 { "1 new job".to_owned() } else { format!("{count} new jobs") };
        link.set_text_content(Some(&text));
        let _ = if count == 0 { link.set_attribute("hidden", "") } else { link.remove_attribute("hidden") };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ping(number: i64, status: &str) -> Ping {
        Ping {
            number,
            status: status.into(),
            queue: "default".into(),
            job_type: "import".into(),
            ..Ping::default()
        }
    }

    #[test]
    fn only_newer_jobs_that_match_the_filter_are_announced() {
        let all = News { newest: 7, ..News::default() };
        assert!(all.announces(&ping(8, "queued")));
        assert!(!all.announces(&ping(7, "queued")), "rows on the page change in place");
        let failed = News { statuses: vec!["failed".into()], ..all.clone() };
        assert!(!failed.announces(&ping(8, "queued")));
        assert!(failed.announces(&ping(8, "failed")));
        let other = News { job_type: Some("export".into()), ..all };
        assert!(!other.announces(&ping(8, "queued")));
    }
}
