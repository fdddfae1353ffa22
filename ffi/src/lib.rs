//! The node view over a C ABI.
#![no_std]
#![allow(non_camel_case_types, reason = "types are named as C knows them")]
#![allow(clippy::missing_safety_doc, reason = "the contract page states what every function is promised")]

mod borrow;
mod memory;

pub mod change;
pub mod cluster;
pub mod limits;
pub mod object;
pub mod query;
pub mod snapshot;
pub mod status;
pub mod value;
pub mod version;

#[cfg(feature = "panic-handler")]
mod panic_handler;
