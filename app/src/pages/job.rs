//! One job, with everything known about it.

use super::{asked, page, param};
use crate::{
    components::layout::{Frame, Here, Layout},
    islands::refresh::Refresh,
    jobs::detail::{JobParts, OpenForm},
    ssr::{self, Flash},
};
use leasehold_types::{JobRef, JobStatus, Problem};
use leptos::prelude::*;

#[component]
pub fn JobPage() -> impl IntoView {
    let (slug, number, wanted) = (param("slug"), param("number"), asked("do"));
    page(
        async move {
            let (visit, frame) = Frame::inside(&slug).await?;
            let number = number.parse().map_err(|_| Problem::not_found("This job"))?;
            let job = ssr::read_job(&visit, number).await?;
            let diagnosis = ssr::why_it_waits(&visit, &job).await?;
            let files = ssr::files_of(&visit, &job).await?;
            let units = ssr::door().engine.units(&visit.scope, JobRef::Number(number)).await?;
            Ok((frame, job, diagnosis, files, units))
        },
        move |(frame, detail, diagnosis, files, units)| {
            let title = format!("#{} {}", detail.row.number, detail.row.job_type);
            let (slug, may_operate) = (frame.slug(), frame.may_operate);
            let form = open_form(&frame.flash, &wanted);
            let settled = !matches!(detail.row.status, JobStatus::Queued | JobStatus::Processing);
            let (live, cursor, number) = (slug.clone(), detail.cursor, detail.row.number);
            view! {
                <Layout frame here=Here::Jobs title settled>
                    <div id="job" class="live-part" data-live="">
                        <JobParts slug detail diagnosis files units may_operate form />
                    </div>
                    <Refresh slug=live cursor job=Some(number) url=None pause=200 news=None />
                </Layout>
            }
            .into_any()
        },
    )
}

/// The form that came back with a problem, or the one a link asked for.
fn open_form(flash: &Flash, wanted: &str) -> OpenForm {
    let came_back = flash.value("form");
    OpenForm {
        name: if came_back.is_empty() { wanted.to_owned() } else { came_back },
        reason: flash.value("reason"),
        error: flash.error("reason"),
    }
}
