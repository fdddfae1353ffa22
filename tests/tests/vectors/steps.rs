//! Events step by step, and what must be seen after some of them.

use std::collections::BTreeSet;

use evenkeel_core::Cluster;

use evenkeel_core::cluster::{CursorId, Kind, Sealed};
use evenkeel_tests::feed::{self, KINDS};
use evenkeel_tests::mirror::{Mirror, pull};
use evenkeel_tests::setup::{Endpoints, Setup};
use serde_json::{Value, json};

use crate::Verdict;
use crate::bugs::{list, text};
use crate::view::{Seen, look, now, with_cluster};

/// What a check may ask that the node view answers by itself.
const ANSWERED: [&str; 5] = ["afterStep", "backends", "published", "listenerPresent", "listenerRecreated"];

/// Events that the view knows nothing of: what they do is asked of whoever reads or writes the API.
const SILENT: [&str; 5] = ["ERROR", "WATCH_HTTP", "BOOKMARK", "DISCONNECT", "RAW"];

pub(crate) fn run(input: &Value, expect: &Value) -> Verdict {
    let source = if input["source"] == "slices" { Endpoints::Slices } else { Endpoints::Pods };
    let setup = Setup { node: String::new(), endpoints: source, keep_pods: true, ..Setup::default() };
    let steps = list(&input["steps"]);
    let unknown = steps.iter().map(|step| text(&step["event"])).find(|event| {
        !["ADDED", "MODIFIED", "DELETED", "RELIST", "STORE"].contains(event) && !SILENT.contains(event)
    });
    if let Some(event) = unknown {
        return Verdict::Skipped(format!("event {event}: nothing keeps a state or writes objects yet"));
    }
    let slices = steps.iter().any(|step| step["object"]["kind"] == "EndpointSlice");
    if source == Endpoints::Pods && slices {
        return Verdict::Skipped(
            "Pods and slices of another writer together: nothing writes slices yet".to_owned(),
        );
    }
    with_cluster(&setup, |cluster| Story::begin(cluster, steps).tell(steps, expect))
}

struct Story<'s, 'm> {
    cluster: &'s mut Cluster<'m>,
    cursor: CursorId,
    mirror: Mirror,
    /// Something was published at least once.
    published: bool,
    /// A VIP went at some step.
    vip_went: bool,
}

impl<'s, 'm> Story<'s, 'm> {
    /// All lists count as complete, but those of which a `STORE` event says something else.
    fn begin(cluster: &'s mut Cluster<'m>, steps: &[Value]) -> Self {
        for kind in KINDS {
            cluster.relist_begin(kind);
            let stored =
                steps.iter().any(|step| step["event"] == "STORE" && kind_of(&step["kind"]) == Some(kind));
            if !stored {
                cluster.relist_end(kind);
            }
        }
        let cursor = cluster.cursor_open().expect("room for a cursor");
        Self { cluster, cursor, mirror: Mirror::default(), published: false, vip_went: false }
    }

    fn tell(mut self, steps: &[Value], expect: &Value) -> Verdict {
        let mut unanswered = BTreeSet::new();
        for (index, step) in steps.iter().enumerate() {
            if let Err(why) = self.step(step) {
                return Verdict::failed(&format!("step {}", index + 1), why);
            }
            for check in list(&expect["checks"]).iter().filter(|check| check["afterStep"] == index + 1) {
                let keys = check.as_object().into_iter().flat_map(|check| check.keys());
                unanswered.extend(keys.filter(|key| !ANSWERED.contains(&key.as_str())).cloned());
                match self.check(check) {
                    Verdict::Ok => {}
                    other => return other,
                }
            }
        }
        if unanswered.is_empty() {
            return Verdict::Ok;
        }
        let keys = unanswered.into_iter().collect::<Vec<_>>().join(", ");
        Verdict::Skipped(format!("asks for {keys}, which nothing answers yet; the view agrees"))
    }

    fn step(&mut self, step: &Value) -> Result<(), String> {
        let refused = |why: feed::Refused| why.to_string();
        match text(&step["event"]) {
            "ADDED" | "MODIFIED" => drop(feed::apply(self.cluster, &step["object"]).map_err(refused)?),
            "DELETED" => drop(feed::delete(self.cluster, &step["object"]).map_err(refused)?),
            event @ ("RELIST" | "STORE") => {
                let kind = kind_of(&step["kind"]).ok_or("a kind that is not known")?;
                if event == "RELIST" {
                    self.cluster.relist_begin(kind);
                }
                for item in list(&step["items"]) {
                    let item = feed::of_kind(text(&step["kind"]), item);
                    feed::apply(self.cluster, &item).map_err(refused)?;
                }
                if event == "RELIST" || step["synced"] == true {
                    self.cluster.relist_end(kind);
                }
            }
            _ => {}
        }
        self.published |= self.cluster.seal(now()) != Sealed::Waiting;
        let lines = pull(self.cluster, self.cursor, &mut self.mirror).map_err(|why| format!("{why:?}"))?;
        self.vip_went |= lines.iter().any(|line| line.starts_with("gone vip "));
        let generation = self.cluster.generation();
        self.cluster.ack(self.cursor, generation, now(), |_| ()).map_err(|why| why.to_string())
    }

    fn check(&mut self, expect: &Value) -> Verdict {
        let seen = match look(self.cluster, Vec::new()) {
            Ok(seen) => seen,
            Err(why) => return Verdict::failed("a view", why),
        };
        if self.mirror.lines() != seen.mirror.lines() {
            return Verdict::failed(&seen.mirror.lines().join("; "), self.mirror.lines().join("; "));
        }
        let mut answer = json!({
            "published": self.published,
            "listenerPresent": seen.mirror.vips().count() > 0,
            "listenerRecreated": self.vip_went,
            "backends": {},
        });
        for (service, families) in expect["backends"].as_object().into_iter().flatten() {
            for family in families.as_object().into_iter().flat_map(|families| families.keys()) {
                answer["backends"][service][family] = seen.backends(service, family);
            }
        }
        let mut asked = expect.clone();
        asked.as_object_mut().expect("a check").retain(|key, _| ANSWERED[1..].contains(&key.as_str()));
        // What stays although nobody manages it any more is asked of whoever wrote it.
        if expect["managed"].is_null() {
            for (service, written) in expect["endpoints"].as_object().into_iter().flatten() {
                if let Some(why) = disagrees(&seen, service, written) {
                    return why;
                }
            }
        }
        Verdict::compare(&asked, &answer)
    }
}

fn kind_of(name: &Value) -> Option<Kind> {
    Some(match text(name) {
        "Service" => Kind::Service,
        "EndpointSlice" => Kind::Slice,
        "Pod" => Kind::Pod,
        "Node" => Kind::Node,
        _ => return None,
    })
}

/// Compares the view of a Service with what is expected of it, here or in the objects that would be written.
pub(crate) fn check(seen: &Seen, service: &str, expect: &Value) -> Verdict {
    let mut only_backends = true;
    for (key, wanted) in expect.as_object().into_iter().flatten() {
        if key != "backends" {
            only_backends = false;
            continue;
        }
        let by_family = wanted.get("IPv4").is_some() || wanted.get("IPv6").is_some();
        let verdict = if by_family {
            let answer =
                json!({"IPv4": seen.backends(service, "IPv4"), "IPv6": seen.backends(service, "IPv6")});
            Verdict::compare(wanted, &answer)
        } else {
            let mut answer = seen.backends(service, "IPv4");
            for (port, of_v6) in seen.backends(service, "IPv6").as_object().into_iter().flatten() {
                let both = [list(&answer[port]), list(of_v6)].concat();
                answer[port] = both.into();
            }
            Verdict::compare(wanted, &answer)
        };
        if !matches!(verdict, Verdict::Ok) {
            return verdict;
        }
    }
    let written = expect.get("endpoints").map(|written| without(written, list(&expect["skippedPods"])));
    if let Some(why) = written.and_then(|written| disagrees(seen, service, &written)) {
        return why;
    }
    if only_backends { Verdict::Ok } else { Verdict::Skipped(String::new()) }
}

/// Endpoints without some Pods: those that slices leave out, since their Node is not known, and the view with them.
fn without(endpoints: &Value, pods: &[Value]) -> Value {
    let mut endpoints = endpoints.clone();
    for subset in endpoints["subsets"].as_array_mut().into_iter().flatten() {
        if let Some(addresses) = subset["addresses"].as_array_mut() {
            addresses.retain(|address| !pods.contains(&address["targetRef"]["name"]));
        }
    }
    endpoints
}

/// The ready addresses of Endpoints that would be written, against the backends of their family.
fn disagrees(seen: &Seen, service: &str, endpoints: &Value) -> Option<Verdict> {
    let mut wanted: BTreeSet<(String, String, u64)> = BTreeSet::new();
    for subset in list(&endpoints["subsets"]) {
        for address in list(&subset["addresses"]) {
            for port in list(&subset["ports"]) {
                let key = format!("{}/{}", text(&port["name"]), text(&port["protocol"]));
                wanted.insert((key, text(&address["ip"]).to_owned(), port["port"].as_u64().unwrap_or(0)));
            }
        }
    }
    // A headless Service has endpoints and no VIP.
    let served: Vec<_> = seen.ports.keys().filter(|port| port.owner() == service).collect();
    let Some(first) = served.first() else {
        let nothing = wanted.is_empty() || seen.headless.contains(service);
        return (!nothing)
            .then(|| Verdict::failed(&json!(Vec::from_iter(wanted)).to_string(), "nothing is served"));
    };
    // Endpoints carry one family: that of an address in them, else any.
    let v6 = wanted.iter().any(|(_, ip, _)| ip.contains(':'));
    let family = if wanted.is_empty() {
        first.family.as_str()
    } else if v6 {
        "IPv6"
    } else {
        "IPv4"
    };
    let mut found = BTreeSet::new();
    for (key, backends) in seen.backends(service, family).as_object().into_iter().flatten() {
        for backend in list(backends) {
            found.insert((
                key.clone(),
                text(&backend["ip"]).to_owned(),
                backend["port"].as_u64().unwrap_or(0),
            ));
        }
    }
    (found != wanted)
        .then(|| Verdict::failed(&json!(Vec::from_iter(wanted)).to_string(), json!(Vec::from_iter(found))))
}
