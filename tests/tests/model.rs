//! Random stories against a simple program that computes everything anew.
//!
//! `EVENKEEL_MODEL_CASES` tells how many stories (the default takes some seconds); `EVENKEEL_MODEL_SEED` where
//! to begin: story number n of a run has the seed of the run and n, and is repeated by giving it as the seed
//! with one case. What fails is printed as short as it gets, as a scenario; `EVENKEEL_MODEL_FAILURES` is how many
//! to look for before the test stops.

#[path = "model/invent.rs"]
mod invent;
#[path = "model/naive.rs"]
mod naive;
#[path = "model/shrink.rs"]
mod shrink;
#[path = "model/story.rs"]
mod story;

use evenkeel_core::Cluster;
use evenkeel_core::limits::Limits;
use evenkeel_core::storage::HeapStorage;
use evenkeel_core::time::Timestamp;
use evenkeel_tests::feed;
use evenkeel_tests::mirror::{Mirror, pull};
use evenkeel_tests::random::Random;
use serde_json::Value;

use crate::story::{Story, key};

/// The seed of a run that is not told another.
const SEED: u64 = 20_240_301;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Room for everything that a story can hold, and not much more: it is made anew for each.
fn room() -> Limits {
    Limits {
        endpoints_max: 600,
        text_bytes_max: 32_768,
        texts_max: 512,
        pod_ports_max: 64,
        labels_max: 64,
        selectors_max: 128,
        pods_max: 16,
        services_max: 16,
        ports_max: 64,
        slices_max: 32,
        vips_max: 128,
        nodes_max: 16,
        places_max: 64,
        triggers_max: 64,
        cursors_max: 4,
        ..Limits::default()
    }
}

/// Tells a story for each seed; the test stops with the shortest form of those that fail.
fn check(what: &str, default: u64, story: impl Fn(&mut Random) -> Story) {
    let (seed, cases) = (number("EVENKEEL_MODEL_SEED", SEED), number("EVENKEEL_MODEL_CASES", default));
    println!("{what}: seeds {seed} to {}", seed + cases.saturating_sub(1));
    let mut failures = Vec::new();
    for seed in seed..seed + cases {
        let story = story(&mut Random::new(seed));
        if shrink::failure(&story).is_some() {
            let shortest = shrink::shrink(story);
            let why = shrink::failure(&shortest).unwrap_or_default();
            failures.push(format!("{what}, seed {seed}\n{}{why}\n", shrink::print(&shortest)));
            if failures.len() as u64 >= number("EVENKEEL_MODEL_FAILURES", 1) {
                break;
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_random_story_ends_as_the_simple_program_says() {
    check("random stories", 3_000, |random| {
        let setup = invent::setup(random);
        let count = 5 + random.below(60);
        let ops = invent::operations(random, &setup, count);
        Story { setup, limits: room(), tight: false, ops }
    });
}

#[test]
fn a_story_in_little_memory_refuses_and_forgets_nothing() {
    check("stories in little memory", 1_500, |random| {
        let setup = invent::setup(random);
        let mut limits = room();
        for (limit, most) in [
            (&mut limits.services_max, 5),
            (&mut limits.ports_max, 8),
            (&mut limits.slices_max, 4),
            (&mut limits.endpoints_max, 30),
            (&mut limits.vips_max, 10),
            (&mut limits.pods_max, 6),
            (&mut limits.pod_ports_max, 8),
            (&mut limits.labels_max, 12),
            (&mut limits.selectors_max, 10),
            (&mut limits.nodes_max, 5),
            (&mut limits.places_max, 10),
            (&mut limits.triggers_max, 4),
            (&mut limits.texts_max, 60),
            (&mut limits.text_bytes_max, 2_500),
        ] {
            if random.percent(30) {
                *limit = 1 + u32::try_from(random.below(most)).unwrap_or(0);
            }
        }
        let count = 5 + random.below(60);
        let ops = invent::operations(random, &setup, count);
        Story { setup, limits, tight: true, ops }
    });
}

#[test]
fn the_order_of_arrival_cannot_be_seen() {
    let (seed, cases) = (number("EVENKEEL_MODEL_SEED", SEED), number("EVENKEEL_MODEL_CASES", 1_000));
    println!("orders of arrival: seeds {seed} to {}", seed + cases.saturating_sub(1));
    for seed in seed..seed + cases {
        let random = &mut Random::new(seed);
        let setup = invent::setup(random);
        let mut objects = invent::objects(random, &setup, 24);
        // Only the newest version of each counts, whenever it comes.
        let mut newest: Vec<Value> = Vec::new();
        for object in objects.drain(..).rev() {
            if !newest.iter().any(|one| key(one) == key(&object)) {
                newest.push(object);
            }
        }
        let mut first: Option<Vec<String>> = None;
        for _ in 0..4 {
            random.shuffle(&mut newest);
            let limits = Limits { hash_seed: random.next(), ..room() };
            let mut memory = HeapStorage::new(&limits);
            let lines = setup.with_config(|config| {
                let mut cluster = Cluster::new(memory.lend(), limits.hash_seed, config).expect("a cluster");
                feed::list(&mut cluster, &newest).expect("objects that are taken");
                cluster.seal(Timestamp::NONE);
                let cursor = cluster.cursor_open().expect("a cursor");
                pull(&mut cluster, cursor, &mut Mirror::default()).expect("all changes")
            });
            let expected = first.get_or_insert_with(|| lines.clone());
            assert!(*expected == lines, "seed {seed}: {expected:#?}\nand in another order {lines:#?}");
        }
    }
}
