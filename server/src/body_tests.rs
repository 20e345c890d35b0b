use super::*;
use futures::stream;
use http_body_util::BodyExt;
use std::convert::Infallible;

#[tokio::test]
async fn a_body_that_stops_coming_or_drips_is_cut_off() {
    let patience = Patience { idle: Duration::from_millis(200), whole: Duration::from_millis(600) };
    let never = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
    let drip = stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        Some((Ok::<_, Infallible>(Bytes::from_static(b"x")), ()))
    });
    for (body, at_least) in [(never, patience.idle), (Body::from_stream(drip), patience.whole)] {
        let (ledger, began) = (Arc::new(Ledger::default()), Instant::now());
        let cut_off = Bounded::new(body, 10_000, patience, ledger.clone()).collect();
        let read = tokio::time::timeout(Duration::from_secs(20), cut_off).await;
        assert!(read.expect("it ends").is_err());
        assert_eq!(ledger.cut(), Some(Cut::TooSlow));
        assert!(began.elapsed() >= at_least, "{:?}", began.elapsed());
    }
}

#[tokio::test]
async fn a_body_may_be_as_large_as_allowed_and_not_larger() {
    for (length, fits) in [(99, true), (100, true), (101, false)] {
        let ledger = Arc::new(Ledger::default());
        let body = Body::from(vec![b'x'; length]);
        let read = Bounded::new(body, 100, patience(100), ledger.clone()).collect().await;
        assert_eq!(read.is_ok(), fits, "{length}");
        assert_eq!(ledger.cut(), (!fits).then_some(Cut::TooLarge(100)));
    }
}

/// Nothing else in this process reads a body that is large.
#[tokio::test]
async fn only_so_many_large_bodies_are_read_at_a_time() {
    let patience = Patience { idle: Duration::from_millis(300), whole: Duration::from_secs(60) };
    let large =
        || Body::from_stream(stream::iter([(); 5].map(|()| Ok::<_, Infallible>(Bytes::from(vec![0; MIB])))));
    let read = |ledger: Arc<Ledger>| async move {
        let whole = Bounded::new(large(), 5 * MIB, patience, ledger).collect().await;
        whole.map(|body| body.to_bytes().len())
    };
    let mut held = Vec::new();
    for _ in 0..8 {
        let ledger = Arc::new(Ledger::default());
        assert_eq!(read(ledger.clone()).await.unwrap(), 5 * MIB);
        held.push(ledger);
    }
    let ninth = Arc::new(Ledger::default());
    assert!(read(ninth.clone()).await.is_err());
    assert_eq!(ninth.cut(), Some(Cut::Crowded));
    held.pop();
    assert!(read(Arc::default()).await.is_ok(), "the turn of one that was answered is free again");
}

#[test]
fn each_address_has_the_cap_it_needs() {
    let config =
        EngineConfig { max_json_bytes: 8 * MIB, max_attachment_bytes: 25 * MIB, ..EngineConfig::default() };
    let caps = Caps::of_engine(&config);
    assert!(caps.of("/api/v1/jobs") > 8 * MIB && caps.of("/api/v1/worker/jobs/1/complete") > 8 * MIB);
    assert!(caps.of("/api/v1/jobs/17/attachments") > 25 * MIB / 3 * 4);
    assert!(caps.of("/api/v1/jobs/bulk") >= 16 * MIB);
    assert!(caps.of("/do/enqueue") > 24 * MIB);
    for path in ["/do/sign_in", "/login", "/", "/apix", "/do/enqueue/"] {
        assert_eq!(caps.of(path), 2 * MIB, "{path}");
    }
    let small = EngineConfig { max_json_bytes: 10, max_attachment_bytes: 10, ..EngineConfig::default() };
    assert_eq!(Caps::of_engine(&small).of("/api/v1/jobs"), 2 * MIB);
}

#[test]
fn the_sentence_names_the_limit() {
    assert!(Cut::TooLarge(2 * MIB).problem().detail.contains("at most 2 MiB."));
    assert!(Cut::TooLarge(35 * MIB / 10).problem().detail.contains("at most 3.5 MiB."));
}
