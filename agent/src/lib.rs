//! The agent: Kubernetes objects from files or recordings in, the node view of `evenkeel-core` out.
//!
//! ```text
//! files · recording ──source──▶ Event ──decode──▶ core::object ──engine──▶ Cluster ──▶ output
//! ```
//! [`decode`] and [`output`] are pure; [`source`] reads; [`engine`] owns the cluster; [`run`] wires them.

#![forbid(unsafe_code)]

pub mod args;
pub mod decode;
pub mod engine;
pub mod output;
pub mod run;
pub mod source;
pub mod view;
