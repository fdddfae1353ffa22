//! Which VIPs a node must serve, which backends stand behind each, with which weight, and what has just changed.
//!
//! ```text
//! objects ──apply──▶ Cluster's tables ──seal──▶ plan ──▶ Change ──pull──▶ a consumer
//!  (object)          (table, text)              (pure: usable, topology, weight)   ◀──ack──
//! ```
//! Nothing flows back except the acknowledgement. There is no I/O here, no clock, no allocation, no global state and
//! no panic; all memory is lent by the caller, and its size is known before anything exists.
#![cfg_attr(
    feature = "std",
    doc = "
```
use evenkeel_core::{Cluster, Kind, Sealed, change::Change, limits::{Config, Limits}, object::*};
use evenkeel_core::{address::Address, storage::HeapStorage, time::Timestamp};

let limits = Limits::default();
let mut memory = HeapStorage::new(&limits);
let config = Config { node: \"node-a\", ..Config::default() };
let mut cluster = Cluster::new(memory.lend(), limits.hash_seed, &config)?;
let consumer = cluster.cursor_open()?;

cluster.relist_begin(Kind::Service);
cluster.apply_service(&Service {
    namespace: \"shop\",
    name: \"web\",
    cluster_ips: &[Address::v4([10, 96, 0, 10])],
    ports: &[ServicePort { port: 80, ..ServicePort::default() }],
    ..Service::default()
})?;
cluster.relist_end(Kind::Service);
cluster.relist_begin(Kind::Slice);
cluster.relist_end(Kind::Slice);

assert_eq!(cluster.seal(Timestamp::NONE), Sealed::Generation(1));
let Some(Change::Vip(vip)) = cluster.next(consumer)? else { panic!() };
assert_eq!((vip.address.to_string().as_str(), vip.number, vip.state.text()), (\"10.96.0.10\", 80, \"reject\"));
while cluster.next(consumer)?.is_some() {}
cluster.ack(consumer, 1, Timestamp::NONE, |_| {})?;
# Ok::<(), evenkeel_core::error::Error>(())
```
"
)]
#![cfg_attr(not(any(test, feature = "std")), no_std)]
#![cfg_attr(
    test,
    allow(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::arithmetic_side_effects,
        clippy::std_instead_of_core,
        clippy::cast_possible_truncation,
        clippy::cast_lossless,
        reason = "a test may stop"
    )
)]

pub mod address;
pub mod bounds;
pub mod change;
pub mod cluster;
pub mod endpoints;
pub mod error;
pub mod limits;
pub mod name;
pub mod object;
pub mod plan;
pub mod port;
pub mod reason;
pub mod snapshot;
pub mod storage;
pub mod table;
pub mod text;
pub mod time;
pub mod topology;
pub mod trigger;
pub mod usable;
pub mod weight;

pub use cluster::{Applied, Cluster, Counters, CursorId, Kind, Sample, Sealed};
