//! Every way out.

use super::{common::program::hear, sending::Sender};
use serde_json::Value;

/// What can be seen, by the name of where it is seen.
pub struct Places {
    pub all: Vec<(&'static str, String)>,
}

impl Places {
    pub fn read(sender: &Sender, jobs: &[i64]) -> Self {
        let mut all = vec![
            ("database", String::from_utf8_lossy(&sender.house.database_content()).into_owned()),
            ("figures", sender.server.get("/metrics", &[]).body),
            ("event stream", stream(sender)),
        ];
        assert!(all[1].1.contains("jobs_created_total"), "{}", all[1].1);
        all.extend(pages(sender, jobs));
        all.extend(api(sender, jobs));
        all.extend(command_line(sender, jobs));
        // Last: everything above has been logged.
        all.push(("log", sender.house.log()));
        Self { all }
    }

    pub fn names(&self) -> Vec<(&'static str, usize)> {
        self.all.iter().map(|(name, text)| (*name, text.len())).collect()
    }

    pub fn with(&self, text: &str) -> Vec<&'static str> {
        self.all.iter().filter(|(_, seen)| seen.contains(text)).map(|(name, _)| *name).collect()
    }
}

fn pages(sender: &Sender, jobs: &[i64]) -> Vec<(&'static str, String)> {
    let cookie = sender.server.sign_in("ann@example.org");
    let page = |path: &str| {
        let answer = sender.server.get(path, &[("cookie", &cookie), ("accept", "text/html")]);
        assert_eq!(answer.status, 200, "{path}");
        answer.body
    };
    vec![
        ("pages of jobs", jobs.iter().map(|number| page(&format!("/t/acme/jobs/{number}"))).collect()),
        ("page of all jobs", page("/t/acme/jobs")),
        ("overview", page("/t/acme")),
        ("workers", page("/admin/workers")),
        ("audit log", page("/admin/audit")),
    ]
}

fn api(sender: &Sender, jobs: &[i64]) -> Vec<(&'static str, String)> {
    let body = |path: String| {
        let answer = sender.server.get(&format!("/api/v1{path}"), &[("x-api-key", &sender.key)]);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.body
    };
    let each =
        |what: &str| jobs.iter().map(|number| body(format!("/jobs/{number}{what}"))).collect::<String>();
    let triggers = body("/jobs/triggers?limit=1000".into());
    let listed: Value = serde_json::from_str(&triggers).unwrap();
    let firings = listed["triggers"].as_array().into_iter().flatten().take(3);
    let firings = firings.map(|trigger| body(format!("/jobs/triggers/{}", trigger["id"].as_str().unwrap())));
    vec![
        ("jobs", each("")),
        ("logs", each("/logs?limit=1000")),
        ("files", each("/attachments")),
        ("list of jobs", body("/jobs?limit=200".into())),
        ("events", body("/jobs/events?limit=1000".into())),
        ("firings", firings.collect()),
        ("triggers", triggers),
    ]
}

fn command_line(sender: &Sender, jobs: &[i64]) -> Vec<(&'static str, String)> {
    let said = |args: &[&str]| {
        let mut command = sender.house.command(args);
        command.env("LEASEHOLD_API_KEY", &sender.key);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    let url = format!("http://{}", sender.server.addr);
    let number = jobs[1].to_string();
    vec![
        ("jobs list", said(&["jobs", "list", "--limit", "200", "--url", &url])),
        ("jobs show", said(&["jobs", "show", &number, "--url", &url])),
        ("audit list", said(&["audit", "list", "--limit", "1000"])),
    ]
}

/// Everything that has happened so far.
fn stream(sender: &Sender) -> String {
    let (_, newest) = sender.get("/jobs/events?limit=1000");
    let last = newest["next_after_id"].as_i64().unwrap();
    let mut ear = hear(&sender.server, &sender.key, "/jobs/events/stream?after_id=0", &[]);
    let mut told = String::new();
    while let Some(event) = ear.next() {
        told += &format!("{} {}\n", event.event, event.data);
        if event.id.is_some_and(|id| id >= last) {
            break;
        }
    }
    told
}
