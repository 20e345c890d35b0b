use super::*;

const NOW: Timestamp = Timestamp::from_secs(1_000);

fn provider(name: &str, rate: f64, max_concurrency: i32) -> ProviderState {
    let spec = ProviderSpec {
        name: name.into(),
        kind: UnitKind::Llm,
        is_local: false,
        requests_per_second: rate,
        max_concurrency,
        max_retries: 2,
        retry_delay: Duration::from_secs(1),
    };
    ProviderState {
        spec,
        is_active: true,
        running: 0,
        next_free_at: None,
        waiting: Vec::new(),
        changed: false,
    }
}

fn ask(wanted: &str, providers: &mut [ProviderState]) -> Given {
    ask_as(1, NOW, wanted, providers)
}

fn ask_as(job: i64, now: Timestamp, wanted: &str, providers: &mut [ProviderState]) -> Given {
    let callable: Vec<String> = providers.iter().map(|p| p.spec.name.clone()).collect();
    let moment = Moment { job, now, lead: Duration::ZERO, callable: &callable };
    give(&Wish { kind: UnitKind::Llm, provider: wanted.into() }, providers, &moment)
}

fn turn(given: Given) -> (String, i64) {
    match given {
        Given::Turn(turn) => (turn.provider, turn.start_at.millis() - NOW.millis()),
        other => panic!("no turn: {other:?}"),
    }
}

fn refused(given: Given) -> String {
    match given {
        Given::Refused(error) => error.code,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn tokens_follow_each_other_up_to_the_horizon() {
    let mut p = [provider("a", 5.0, 100)];
    let starts: Vec<_> = (0..3).map(|_| turn(ask("a", &mut p)).1).collect();
    assert_eq!(starts, [0, 200, 400]);
    // The next token is at 600; it may be asked for when it is half a second away.
    assert_eq!(ask("a", &mut p), Given::Wait(NOW.plus(Duration::from_millis(100))));
    assert_eq!(p[0].running, 3);
}

#[test]
fn without_a_permit_no_token_is_taken() {
    let mut p = [provider("a", 5.0, 1)];
    turn(ask("a", &mut p));
    let before = p[0].next_free_at;
    assert!(matches!(ask("a", &mut p), Given::Wait(at) if at > NOW));
    assert_eq!(p[0].next_free_at, before);
}

#[test]
fn anybody_means_the_least_loaded() {
    let mut p = [provider("a", 1_000.0, 4), provider("b", 1_000.0, 2)];
    let names: Vec<_> = (0..6).map(|_| turn(ask("", &mut p)).0).collect();
    // Equally loaded: whose token comes first.
    assert_eq!(names, ["a", "b", "a", "b", "a", "a"]);
}

#[test]
fn who_has_no_token_does_not_hold_up_who_has_one() {
    let mut p = [provider("a", 0.5, 9), provider("b", 0.5, 9)];
    assert_eq!(turn(ask("", &mut p)).0, "a");
    assert_eq!(turn(ask("", &mut p)).0, "b");
    assert_eq!(ask("", &mut p), Given::Wait(NOW.plus(Duration::from_millis(1_500))));
}

#[test]
fn nobody_waits_for_a_provider_that_does_not_exist() {
    let mut p = [provider("a", 5.0, 1)];
    assert_eq!(refused(ask("ghost", &mut p)), "unknown_provider");
    assert_eq!(refused(ask("", &mut [])), "unknown_provider");
    let moment = Moment { job: 1, now: NOW, lead: Duration::ZERO, callable: &[] };
    let wish = Wish { kind: UnitKind::Ocr, provider: "a".into() };
    assert_eq!(refused(give(&wish, &mut p, &moment)), "unknown_provider", "of another kind");
}

#[test]
fn a_provider_of_another_worker_is_not_unknown() {
    let mut p = [provider("a", 5.0, 1), provider("b", 5.0, 1)];
    let moment = Moment { job: 1, now: NOW, lead: Duration::ZERO, callable: &["b".to_owned()] };
    let through = |name: &str| Wish { kind: UnitKind::Llm, provider: name.into() };
    assert_eq!(refused(give(&through("a"), &mut p, &moment)), ELSEWHERE);
    assert_eq!(turn(give(&through(""), &mut p, &moment)).0, "b", "anybody means anybody here");
    let nobody = Moment { callable: &[], ..moment };
    assert_eq!(refused(give(&through(""), &mut p, &nobody)), ELSEWHERE);
    p.iter_mut().for_each(|p| p.is_active = false);
    assert_eq!(
        refused(give(&through("a"), &mut p, &nobody)),
        "unknown_provider",
        "nobody runs it there either"
    );
}

#[test]
fn a_provider_that_is_off_gets_nothing() {
    let mut p = [provider("a", 5.0, 1)];
    p[0].is_active = false;
    assert_eq!(refused(ask("a", &mut p)), "provider_inactive");
    assert_eq!(refused(ask("", &mut p)), "provider_inactive");
}

#[test]
fn jobs_take_turns_although_one_asks_all_the_time() {
    let mut p = [provider("a", 1.0, 9)];
    let mut served = Vec::new();
    let mut patient_asks_at = NOW;
    for step in 0..80 {
        let now = NOW.plus(Duration::from_millis(step * 50));
        if matches!(ask_as(1, now, "a", &mut p), Given::Turn(_)) {
            served.push("eager");
        }
        // This one sleeps for exactly as long as it was told.
        if now >= patient_asks_at {
            match ask_as(2, now, "a", &mut p) {
                Given::Turn(_) => served.push("patient"),
                Given::Wait(until) => patient_asks_at = until,
                other @ Given::Refused(_) => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(served, ["eager", "patient", "eager", "patient", "eager"]);
}

#[test]
fn a_turn_that_is_not_taken_goes_to_others() {
    let mut p = [provider("a", 1.0, 9)];
    turn(ask_as(1, NOW, "a", &mut p));
    let Given::Wait(asks_at) = ask_as(2, NOW, "a", &mut p) else { panic!("no token is there") };
    assert!(matches!(ask_as(1, asks_at, "a", &mut p), Given::Wait(until) if until == asks_at.plus(LATE_BY)));
    assert!(matches!(ask_as(1, asks_at.plus(LATE_BY), "a", &mut p), Given::Turn(_)));
}
