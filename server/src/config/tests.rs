use super::*;

fn sources(flags: &[(&'static str, &str)], env: &[(&str, &str)], file: &[(&str, &str)]) -> Sources {
    let owned = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    Sources {
        flags: flags.iter().map(|(k, v)| (*k, (*v).to_owned())).collect(),
        env: owned(env),
        file: owned(file),
    }
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let file = [("JOBS_MAX_CONCURRENCY", "1"), ("JOBS_LEASE_SECONDS", "30")];
    let env = [("JOBS_MAX_CONCURRENCY", "2"), ("DATABASE_URL", "sqlite:b.db")];
    let config = Config::from_sources(&sources(&[("JOBS_MAX_CONCURRENCY", "3")], &env, &file)).unwrap();
    assert_eq!(config.concurrency, 3);
    assert_eq!(config.engine.lease, Duration::from_secs(30));
    assert_eq!(config.db_url, "sqlite:b.db");
    assert!(config.warnings.is_empty());
}

#[test]
fn a_worker_is_bound_to_queues_and_domains() {
    let of = |env: &[(&str, &str)]| Config::from_sources(&sources(&[], env, &[])).map(|config| config.served);
    assert_eq!(of(&[]).unwrap(), Served::default());
    let served = of(&[("JOBS_WORKER_QUEUES", "high, decks/low"), ("JOBS_WORKER_DOMAINS", "decks")]).unwrap();
    assert_eq!(
        (served.queues, served.domains),
        (vec!["high".into(), "decks/low".into()], vec!["decks".into()])
    );
    for wrong in [" , ", "/high", "decks/"] {
        assert!(of(&[("JOBS_WORKER_QUEUES", wrong)]).is_err(), "{wrong:?}");
    }
}

#[test]
fn the_database_is_found_under_both_names() {
    let url = |flags: &[(&'static str, &str)], env: &[(&str, &str)], file: &[(&str, &str)]| {
        sources(flags, env, file).database()
    };
    let file = [("JOBS_DB_URL", "sqlite:file.db")];
    assert_eq!(url(&[], &[], &[]), "sqlite:data/leasehold.db");
    assert_eq!(url(&[], &[], &file), "sqlite:file.db");
    assert_eq!(url(&[], &[("DATABASE_URL", "d"), ("JOBS_DB_URL", "j")], &file), "j");
    assert_eq!(url(&[("JOBS_DB_URL", "f")], &[("JOBS_DB_URL", "j")], &file), "f");
}

#[test]
fn unknown_names_are_warned_about_and_wrong_values_refused() {
    let config = Config::from_sources(&sources(&[], &[("JOBS_LEASE_SECOND", "5")], &[])).unwrap();
    assert!(config.warnings[0].contains("JOBS_LEASE_SECOND"));
    for (name, value) in [
        ("JOBS_LEASE_SECONDS", "soon"),
        ("JOBS_LEASE_SECONDS", "0"),
        ("JOBS_LOG_JSON", "maybe"),
        ("JOBS_ATTACHMENT_URL_TTL_SECONDS", "299"),
        ("JOBS_TEST_NOW_EPOCH", "yesterday"),
        ("JOBS_SECRET_REJECT", "tru"),
        ("JOBS_SECRET_PATTERNS", " ; "),
        ("JOBS_ALLOWED_JOB_TYPES_DECKS", ","),
        ("JOBS_ENCRYPT", "true"),
        ("JOBS_RBAC_FORCE", "true"),
    ] {
        assert!(Config::from_sources(&sources(&[], &[(name, value)], &[])).is_err(), "{name}={value}");
    }
}

#[test]
fn quotas_are_read_from_the_whole_family() {
    let env = [
        ("JOBS_QUOTA_MAX_QUEUED", "10"),
        ("JOBS_QUOTA_MAX_QUEUED_DECKS_USER_A_7", "2"),
        ("JOBS_QUOTA_SUBMITS_PER_MIN_DECKS", ""),
    ];
    let file = [("JOBS_QUOTA_MAX_QUEUED", "5"), ("JOBS_QUEUE_HIGH_WATERMARK", "1000")];
    let config = Config::from_sources(&sources(&[], &env, &file)).unwrap();
    let max = |domain, owner| config.engine.quotas.ceiling(Quota::Queued, domain, owner).map(|c| c.max);
    assert_eq!((max("decks", Some("a-7")), max("decks", None)), (Some(2), Some(10)));
    assert!(!config.engine.quotas.limits(Quota::SubmitsPerMinute), "an empty value is none");
    assert_eq!(config.engine.high_watermark, 1_000);
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    for (name, value) in [("JOBS_QUOTA_MAX_QUEUED_DECKS", "many"), ("JOBS_QUOTA_MAX_INFLIGHT", "-1")] {
        let problem = Config::from_sources(&sources(&[], &[(name, value)], &[])).unwrap_err();
        assert!(problem.detail.contains(name), "{problem}");
    }
}

#[test]
fn a_name_that_would_never_be_looked_up_is_warned_about() {
    let env = [("JOBS_QUOTA_MAX_QUEUED_decks", "1")];
    let config = Config::from_sources(&sources(&[], &env, &[])).unwrap();
    assert!(config.warnings[0].contains("JOBS_QUOTA_MAX_QUEUED_decks"));
    assert!(!config.engine.quotas.limits(Quota::Queued));
}

#[test]
fn allow_lists_are_read_for_everywhere_and_for_domains() {
    let env = [("JOBS_ALLOWED_QUEUES", "bulk, slow"), ("JOBS_ALLOWED_JOB_TYPES_DECKS", "convert")];
    let engine = Config::from_sources(&sources(&[], &env, &[])).unwrap().engine;
    assert!(engine.allowed_queues.names("decks", "slow") && !engine.allowed_queues.names("decks", "gpu"));
    assert!(engine.allowed_job_types.names("decks", "convert") && !engine.allowed_job_types.is_set("books"));
}

#[test]
fn refusing_secrets_wins_over_blotting_them_out() {
    let with = |env: &[(&str, &str)]| Config::from_sources(&sources(&[], env, &[])).map(|c| c.engine.secrets);
    let payload = || serde_json::json!({"pin": "1234"});
    let both =
        [("JOBS_SECRET_REJECT", "true"), ("JOBS_SECRET_REDACT", "true"), ("JOBS_SECRET_DENY_KEYS", "pin")];
    assert!(with(&both).unwrap().apply("payload", &mut payload()).is_err());
    let mut kept = payload();
    with(&both[1..]).unwrap().apply("payload", &mut kept).unwrap();
    assert_eq!(kept, serde_json::json!({"pin": "***REDACTED***"}));
    let problem = with(&[("JOBS_SECRET_PATTERNS", "fine;(unclosed")]).unwrap_err();
    assert!(problem.detail.contains("(unclosed"), "a pattern that cannot be used stops the start");
}

#[test]
fn the_renewal_has_two_names() {
    let every =
        |env: &[(&str, &str)]| Config::from_sources(&sources(&[], env, &[])).unwrap().renewal.every.as_secs();
    assert_eq!(every(&[]), 30);
    assert_eq!(every(&[("JOBS_HEARTBEAT_SECONDS", "7")]), 7);
    assert_eq!(every(&[("JOBS_HEARTBEAT_SECONDS", "7"), ("JOBS_LEASE_RENEW_SECONDS", "9")]), 9);
}
