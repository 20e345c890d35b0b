//! `leasehold routes`: every address this binary answers at. The tests hold each of them to the roles that may use it.

use super::Out;
use crate::router;
use clap::Args;
use leasehold_app::pages::App;
use leptos::server_fn::axum::server_fn_paths;
use leptos_axum::generate_route_list;
use serde_json::json;

#[derive(Args)]
pub struct Routes;

impl Routes {
    pub fn run(self, out: Out) {
        let mut pages: Vec<_> = generate_route_list(App).iter().map(|page| page.path().to_owned()).collect();
        let mut functions: Vec<_> = server_fn_paths().map(|(path, _)| path.to_owned()).collect();
        pages.sort();
        functions.sort();
        let text = [pages.join("\n"), functions.join("\n"), router::FIXED.join("\n")].join("\n");
        let api = "described at /api/openapi.json";
        out.say(&text, &json!({"pages": pages, "functions": functions, "fixed": router::FIXED, "api": api}));
    }
}
