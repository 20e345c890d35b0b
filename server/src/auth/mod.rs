//! Who is asking: passwords, sessions, the setup link, and the checks in front of every page.

pub mod api_key;
mod argon;
mod gate;
pub mod middleware;
pub mod new_secrets;
mod once;
pub mod origin;
pub mod password;
pub mod session_cookie;
pub mod session_store;
pub mod setup;
pub mod stream_reader;
pub mod stream_token;

pub use gate::PasswordGate;
