//! `use leasehold_queue::prelude::*;` where a store is held by its own type: all verbs can be called then. Whoever holds
//! a `dyn Store` needs none of it.

pub use crate::{
    Accounts as _, Administration as _, ApiKeys as _, Attachments as _, Audit as _, Auditing as _, Bulk as _,
    Callers as _, ClaimJobs as _, Counters as _, CreateJobs as _, Database as _, Definitions as _,
    Figures as _, FinishAttempts as _, JobLogs as _, JobQueries as _, ListQueries as _, Members as _,
    Outbox as _, OverviewQueries as _, PasswordLinks as _, Providers as _, ReclaimLeases as _, Remote as _,
    RenewLeases as _, Rights as _, SigningKeys as _, Steering as _, Store as _, Tenants as _, Throttle as _,
    TriggerChanges as _, Triggers as _, Units as _, Upkeep as _, Users as _, Workers as _,
    ports::{
        api_keys::ApiKeyQueries as _, definitions::DefinitionQueries as _, members::MemberQueries as _,
        password_links::PasswordLinkQueries as _, providers::ProviderQueries as _,
        sessions::SessionQueries as _, settings::SettingQueries as _, signing::SigningKeyQueries as _,
        steering::SteeringQueries as _, tenants::TenantQueries as _, throttle::AttemptQueries as _,
        users::UserQueries as _,
    },
};
