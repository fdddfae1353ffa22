//! What people and programs are shown.

pub mod explain;
pub mod json;
pub mod list;
pub mod table;
