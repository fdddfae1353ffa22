//! What the tests share. Each of them holds the other packages to their word from another side:
//!
//! | test | what it asks |
//! |---|---|
//! | `vectors` | do cases from elsewhere, upstream's own among them, come out as they say? |
//! | `scenarios` | does a story of objects and changes go the same way through every door? |
//! | `model` | does a random story agree with a simple program that knows no tables? |
//! | `tidy` | is the repository in the order that it promises? |
//!
//! Objects are always Kubernetes' own JSON, read by the agent's decoder, so that no test knows a second way in.

pub mod explain;
pub mod feed;
pub mod markdown;
pub mod mirror;
pub mod random;
pub mod row;
pub mod scenario;
pub mod setup;
pub mod vector;
