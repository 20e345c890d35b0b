//! One tenant at a glance.

use super::{page, param};
use crate::{
    components::{
        icon::{self, Icon},
        layout::{Frame, Here, Layout, PageHead},
        notice::Empty,
    },
    islands::refresh::Refresh,
    overview::OverviewParts,
    ssr,
};
use leptos::prelude::*;

#[component]
pub fn OverviewPage() -> impl IntoView {
    let slug = param("slug");
    page(
        async move {
            let (visit, frame) = Frame::inside(&slug).await?;
            let overview = ssr::door().engine.overview(&visit.scope, visit.tenant.id).await?;
            Ok((frame, overview))
        },
        |(frame, overview)| {
            let slug = frame.slug();
            let (live, cursor) = (slug.clone(), overview.cursor);
            let new_job = frame.may_operate.then(|| new_job_link(&slug));
            let first = overview.cards.is_empty().then(|| no_jobs_yet(&slug, frame.may_operate));
            view! {
                <Layout frame here=Here::Overview title="Overview">
                    <PageHead title="Overview" live=true>
                        {new_job}
                    </PageHead>
                    <div id="overview" data-live="">
                        {first}
                        <OverviewParts slug overview />
                    </div>
                    <Refresh slug=live cursor job=None url=None pause=700 news=None />
                </Layout>
            }
            .into_any()
        },
    )
}

pub fn new_job_link(slug: &str) -> impl IntoView + use<> {
    view! {
        <a class="button button-primary" href=format!("/t/{slug}/jobs/new")>
            <Icon d=icon::PLUS />
            "New job"
        </a>
    }
}

pub fn no_jobs_yet(slug: &str, may_operate: bool) -> impl IntoView + use<> {
    let next = if may_operate {
        view! {
            <p>"Create one and follow its progress and log live."</p>
            {new_job_link(slug)}
        }
        .into_any()
    } else {
        view! { <p>"Jobs that admins of this tenant create appear here."</p> }.into_any()
    };
    view! {
        <Empty icon=icon::INBOX title="No jobs yet">
            {next}
        </Empty>
    }
}
