//! A program that calls everything that core offers, with input that the compiler cannot foresee. Its panic
//! handler calls a function that nobody defines: it links only if nothing can panic.

#![no_std]

mod input;
mod memory;
mod objects;
mod walk;

use evenkeel_core::Cluster;
use evenkeel_core::cluster::{CursorId, Kind};
use evenkeel_core::limits::{Backends, Config, Source};

use input::Input;
use memory::Storage;
use walk::Sum;

unsafe extern "C" {
    safe fn evenkeel_core_can_panic() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    evenkeel_core_can_panic()
}

/// Twice the memory, since a cluster may move.
static mut MEMORY: [Storage; 2] = [Storage::EMPTY; 2];

/// Reads the bytes as a story of verbs and gives a number that depends on all that came out.
///
/// # Safety
/// `bytes` points to `length` readable bytes, and the call is not made twice at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prove(bytes: *const u8, length: usize) -> u64 {
    // SAFETY: the caller promises the bytes.
    let bytes = unsafe { core::slice::from_raw_parts(bytes, length) };
    let memory = &raw mut MEMORY;
    // SAFETY: the caller promises that nobody else is here.
    let [first, second] = unsafe { &mut *memory };
    let mut input = Input::new(bytes);
    let mut sum = Sum::default();
    objects::read_texts(&mut input, &mut sum);
    objects::ask_rules(&mut input, &mut sum);
    while !input.is_empty() {
        // Each story has a cluster of its own, in memory that is as new.
        first.clear();
        second.clear();
        story(first, second, &mut input, &mut sum);
    }
    #[cfg(feature = "deliberate")]
    sum.add(u64::from(bytes[length / 2]));
    sum.get()
}

fn story(first: &mut Storage, second: &mut Storage, input: &mut Input<'_>, sum: &mut Sum) {
    let node = input.name();
    let proxy_name = if input.flag() { input.name() } else { "" };
    let addresses = [input.address(), input.address()];
    let config = Config {
        node,
        source: match input.below(3) {
            0 => Source::Slices,
            1 => Source::Pods,
            _ => Source::Overlay,
        },
        backends: if input.flag() { Backends::Endpoints } else { Backends::Nodes },
        weight_range: input.number(),
        service_proxy_name: proxy_name,
        node_port_addresses: addresses.get(..usize::from(input.below(3))).unwrap_or(&[]),
        keep_pods: input.flag(),
        started: input.time(),
        ..Config::default()
    };
    let Ok(mut cluster) = Cluster::new(first.lend(), input.wide(), &config) else { return };
    let mut cursors: [Option<CursorId>; 3] = [None; 3];
    for _ in 0..input.byte() {
        step(&mut cluster, &mut cursors, input, sum);
    }
    let Ok(mut cluster) = cluster.move_to(second.lend()) else { return };
    for _ in 0..input.byte() {
        step(&mut cluster, &mut cursors, input, sum);
    }
}

fn kind(input: &mut Input<'_>) -> Kind {
    match input.below(4) {
        0 => Kind::Service,
        1 => Kind::Slice,
        2 => Kind::Pod,
        _ => Kind::Node,
    }
}

fn step(
    cluster: &mut Cluster<'_>,
    cursors: &mut [Option<CursorId>; 3],
    input: &mut Input<'_>,
    sum: &mut Sum,
) {
    match input.below(22) {
        0..4 => objects::apply_service(cluster, input, sum),
        4..7 => objects::apply_slice(cluster, input, sum),
        7..10 => objects::apply_pod(cluster, input, sum),
        10 => objects::apply_node(cluster, input, sum),
        11 => {
            let (namespace, name) = (input.name(), input.name());
            let was_there = match kind(input) {
                Kind::Service => cluster.delete_service(namespace, name),
                Kind::Slice => cluster.delete_slice(namespace, name),
                Kind::Pod => cluster.delete_pod(namespace, name),
                Kind::Node => cluster.delete_node(name),
            };
            sum.add(u64::from(was_there));
        }
        12 => cluster.relist_begin(kind(input)),
        13 => sum.add(u64::from(cluster.relist_end(kind(input)))),
        14 => sum.add(u64::from(cluster.mark_stale(kind(input), input.name(), input.name()))),
        15 => {
            sum.sealed(cluster.seal(input.time()));
        }
        16 => {
            let Some(slot) = cursors.get_mut(usize::from(input.below(3))) else { return };
            match slot.take() {
                Some(cursor) if input.flag() => cluster.cursor_close(cursor),
                Some(cursor) => {
                    sum.add(u64::from(cluster.cursor_resync(cursor).is_ok()));
                    *slot = Some(cursor);
                }
                None => *slot = cluster.cursor_open().ok(),
            }
        }
        17..19 => {
            let cursor = cursors.get(usize::from(input.below(3))).copied().flatten();
            let Some(cursor) = cursor else { return };
            let mut left = input.byte();
            while let Ok(Some(change)) = cluster.next(cursor) {
                sum.change(&change);
                left = left.saturating_sub(1);
                if left == 0 {
                    return;
                }
            }
            let generation = if input.flag() { cluster.generation() } else { input.wide() };
            let acknowledged = cluster.ack(cursor, generation, input.time(), |sample| sum.sample(&sample));
            sum.add(u64::from(acknowledged.is_ok()));
        }
        19..21 => walk::image(cluster, input, sum),
        _ => walk::explain(cluster, input, sum),
    }
}
