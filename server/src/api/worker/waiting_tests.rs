use super::*;
use leasehold_queue::{Actor, Permission, Reach, domains::DomainReach};
use std::sync::Arc;
use uuid::Uuid;

const LIMITS: RemoteLimits = RemoteLimits { workers_per_key: 10, waiting_per_key: 3, waiting: 5 };

fn claim(kind: &str) -> RemoteClaim {
    RemoteClaim {
        worker: WorkerId("w".into()),
        kinds: vec![("media".into(), kind.into())],
        queues: vec![],
        limit: 1,
        lease: Duration::from_secs(30),
    }
}

fn worker(tenant: Option<TenantId>, domains: Option<&[&str]>) -> Scope {
    let reach = tenant.map_or(Reach::All, Reach::Tenant);
    let confined = domains.map(|names| {
        let allowed = names.iter().map(|name| (*name).to_owned()).collect();
        Arc::new(DomainReach { allowed, filter_required: false })
    });
    Scope { domains: confined, ..Scope::new(reach, Actor::System("test"), Permission::Work) }
}

struct House {
    room: WaitingClaims,
    tenant: TenantId,
    now: Instant,
}

impl House {
    fn new() -> Self {
        Self { room: WaitingClaims::default(), tenant: TenantId(Uuid::now_v7()), now: Instant::now() }
    }

    fn group(&self, kind: &str) -> Group {
        Group::of(&worker(Some(self.tenant), None), &claim(kind))
    }

    /// The receiver must be kept: without it the caller counts as gone.
    fn enter(
        &mut self,
        kind: &str,
        key: KeyId,
        patience: u64,
    ) -> Result<(Seat, oneshot::Receiver<Reply>), Problem> {
        let (reply, answered) = oneshot::channel();
        let until = self.now + Duration::from_secs(patience);
        let scope = worker(Some(self.tenant), None);
        let waiter = Waiter { scope, claim: claim(kind), key: Some(key), until, reply };
        let group = self.group(kind);
        self.room.enter(group, waiter, &LIMITS, self.now).map(|seat| (seat, answered))
    }

    fn round(&mut self) -> Vec<Group> {
        self.room.begin_round(self.now).0
    }

    fn lane(&self, tenant: TenantId, job_type: &str) -> Wake {
        let (domain, queue, job_type) = ("media".into(), "default".into(), job_type.into());
        Wake::JobsIn([LaneName { tenant, domain, queue, job_type }].into())
    }
}

fn key() -> KeyId {
    KeyId(Uuid::now_v7())
}

#[tokio::test]
async fn only_who_can_run_it_is_looked_after() {
    let mut house = House::new();
    let _resize = house.enter("resize", key(), 20).unwrap();
    let _scan = house.enter("scan", key(), 20).unwrap();
    assert_eq!(
        house.round(),
        [house.group("resize"), house.group("scan")],
        "at first everybody, the oldest first"
    );
    assert!(house.round().is_empty(), "nothing new since");
    house.room.hear(&house.lane(TenantId(Uuid::now_v7()), "resize"));
    assert!(house.round().is_empty(), "another tenant's job concerns nobody here");
    house.room.hear(&house.lane(house.tenant, "scan"));
    assert_eq!(house.round(), [house.group("scan")]);
    for quiet in [Wake::Events, Wake::Cancel] {
        house.room.hear(&quiet);
        assert!(house.round().is_empty(), "{quiet:?}");
    }
    house.room.hear(&Wake::Jobs);
    assert_eq!(house.round().len(), 2, "somewhere may be anywhere");
    house.now += LOOK_EVERY;
    assert_eq!(house.round().len(), 2, "a wake-up may be lost");
}

#[test]
fn claims_of_differently_confined_keys_are_kept_apart() {
    let any = RemoteClaim { kinds: vec![], ..claim("resize") };
    let group = |domains: Option<&[&str]>| Group::of(&worker(None, domains), &any);
    assert_eq!(group(Some(&["media", "decks"])), group(Some(&["decks", "media"])));
    assert_ne!(group(Some(&["media"])), group(None));
    let (tenant, queue, job_type) = (TenantId(Uuid::now_v7()), "default".into(), "resize".into());
    let lane = LaneName { tenant, domain: "media".into(), queue, job_type };
    assert!(group(None).can_run(&lane) && group(Some(&["media"])).can_run(&lane));
    assert!(!group(Some(&["decks"])).can_run(&lane));
}

#[tokio::test]
async fn a_crowd_of_equals_is_one_look() {
    let mut house = House::new();
    let crowd: Vec<_> = (0..3).map(|_| house.enter("resize", key(), 20).unwrap()).collect();
    assert_eq!(house.round().len(), 1);
    let _late = house.enter("resize", key(), 20).unwrap();
    assert!(house.round().is_empty(), "a newcomer joins a group that has just been looked after");
    let _hasty = house.enter("resize", key(), 0).unwrap();
    assert_eq!(house.round().len(), 1, "who does not wait is looked after at once");
    let (oldest, ..) = house.room.oldest(&house.group("resize")).unwrap();
    assert_eq!(oldest, crowd[0].0);
    drop(crowd);
    let (next, ..) = house.room.oldest(&house.group("resize")).unwrap();
    assert_eq!(next.number, 4, "callers that have hung up are passed over");
}

#[tokio::test]
async fn many_groups_ask_the_database_no_more_than_a_few() {
    let mut house = House::new();
    let many = RemoteLimits { waiting: 1_000, ..LIMITS };
    let mut kept = Vec::new();
    for n in 0..200 {
        let (reply, answered) = oneshot::channel();
        let claim = claim(&n.to_string());
        let (scope, until) = (worker(None, None), house.now + LOOK_EVERY * 60);
        let group = Group::of(&scope, &claim);
        let waiter = Waiter { scope, claim, key: None, until, reply };
        house.room.enter(group, waiter, &many, house.now).unwrap();
        kept.push(answered);
    }
    assert_eq!(house.round().len(), 200);
    house.now += LOOK_EVERY * 9;
    assert!(house.round().is_empty());
    house.now += LOOK_EVERY;
    assert_eq!(house.round().len(), 200);
}

#[tokio::test]
async fn a_key_and_a_process_keep_only_so_many_waiting() {
    let mut house = House::new();
    let (ours, theirs) = (key(), key());
    let mut seats: Vec<_> = (0..3).map(|_| house.enter("resize", ours, 20).unwrap()).collect();
    let refused = house.enter("scan", ours, 20).err().unwrap();
    assert_eq!((refused.code, refused.retry_after_seconds), (ProblemCode::QuotaExceeded, Some(TRY_AGAIN)));
    let _others: Vec<_> = (0..2).map(|_| house.enter("resize", theirs, 20).unwrap()).collect();
    let refused = house.enter("resize", theirs, 20).err().unwrap();
    assert!(refused.detail.contains("this server"), "{refused}");
    let (seat, _) = seats.remove(0);
    assert!(house.room.leave(&seat).is_some());
    assert!(house.room.leave(&seat).is_none(), "nobody leaves twice");
    assert!(house.enter("resize", ours, 20).is_ok());
}

#[tokio::test]
async fn patience_ends_only_after_a_look() {
    let mut house = House::new();
    let _first = house.enter("resize", key(), 20).unwrap();
    house.round();
    let _short = house.enter("resize", key(), 1).unwrap();
    assert!(house.room.take_impatient(house.now + LOOK_EVERY).is_empty(), "nobody has looked for it yet");
    house.now += Duration::from_secs(1);
    assert_eq!(house.round().len(), 1);
    assert_eq!(house.room.take_impatient(house.now).len(), 1);
    assert!(!house.room.is_empty());
    let (_, keys) = house.room.begin_round(house.now + LOOK_EVERY);
    assert_eq!(keys.len(), 1, "who waits longer is asked for its key again");
}
