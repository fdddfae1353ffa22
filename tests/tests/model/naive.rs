//! The node view, computed anew each time from whole objects: plain collections, no tables, no state.
//!
//! Written from the rules (`kube-proxy` topology, the endpoint controllers, the annotations), and not from
//! core: where both are wrong in the same way, the mistake was made twice.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use evenkeel_tests::row::{BackendRow, Port, Socket, VipRow};
use evenkeel_tests::setup::{Endpoints, Kind, Setup};
use serde_json::Value;

/// Objects by kind, namespace and name.
pub(crate) type Held = BTreeMap<(String, String, String), Value>;

/// What a dataplane must hold, as lines in a mirror's order.
pub(crate) fn view(held: &Held, setup: &Setup) -> Vec<String> {
    let world = World { held, setup };
    let mut lines: BTreeMap<Port, (Vec<VipRow>, Vec<BackendRow>)> = BTreeMap::new();
    let taken = world.claims();
    for service in world.of_kind("Service").filter(|service| world.is_served(service)) {
        for port in world.ports(service) {
            let sets = world.sets(&port);
            let backends = if setup.backends == Kind::Nodes {
                world.nodes(&port, &sets)
            } else {
                world.backends(&port, &sets)
            };
            let vips = world.vips(&port).into_iter().filter(|vip| {
                taken.get(&(vip.at, port.name.protocol.clone())).is_some_and(|(_, owner)| *owner == port.name)
            });
            let vips: Vec<_> =
                vips.map(|vip| VipRow { state: sets.state(&vip.policy).to_owned(), ..vip }).collect();
            lines.insert(port.name.clone(), (vips, backends));
        }
    }
    let mut all = Vec::new();
    for (vips, backends) in lines.values_mut() {
        vips.sort_by_key(|vip| vip.at);
        // One address stands for one VIP, whatever names it twice: cluster IP, external IP, load balancer, node port.
        vips.dedup_by_key(|vip| vip.at);
        backends.sort_by_key(|backend| backend.at);
        all.extend(vips.iter().map(ToString::to_string));
        all.extend(backends.iter().map(ToString::to_string));
    }
    all
}

/// Of each UDP port that is served, the endpoints that serve: flows to them are not to be cut.
pub(crate) fn serving(held: &Held, setup: &Setup) -> BTreeMap<Port, BTreeSet<Socket>> {
    let world = World { held, setup };
    let mut serving: BTreeMap<Port, BTreeSet<Socket>> = BTreeMap::new();
    for service in world.of_kind("Service").filter(|service| world.is_served(service)) {
        for port in world.ports(service).into_iter().filter(|port| port.name.protocol == "UDP") {
            let endpoints = world.endpoints(&port).into_iter().filter(|one| one.serving);
            serving.entry(port.name).or_default().extend(endpoints.map(|one| one.at));
        }
    }
    serving
}

struct World<'w> {
    held: &'w Held,
    setup: &'w Setup,
}

/// A port of a Service in one family.
struct ServicePort<'w> {
    service: &'w Value,
    name: Port,
    number: u16,
    body: &'w Value,
}

/// An endpoint, after duplicates are merged.
#[derive(Clone, Debug)]
struct Endpoint {
    at: Socket,
    ready: bool,
    serving: bool,
    terminating: bool,
    local: bool,
    node: String,
    zone: String,
    pod: (String, String),
    zone_hints: Vec<String>,
    node_hints: Vec<String>,
    /// Product of the factors of node, slice and Pod.
    weight: u64,
    /// Trigger time and where it stands, for the choice between duplicates.
    written: String,
    place: String,
}

impl Endpoint {
    fn is_draining(&self) -> bool {
        self.serving && self.terminating
    }
}

/// The two sets of a port.
struct Sets {
    endpoints: Vec<Endpoint>,
    cluster: Vec<usize>,
    local: Vec<usize>,
    uses_cluster: bool,
    uses_local: bool,
    any: bool,
}

impl Sets {
    fn state(&self, policy: &str) -> &'static str {
        let set = if policy == "Local" { &self.local } else { &self.cluster };
        match (self.any, set.is_empty()) {
            (false, _) => "reject",
            (true, true) => "drop",
            (true, false) => "serve",
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn number(value: &Value) -> u16 {
    value.as_u64().and_then(|number| u16::try_from(number).ok()).unwrap_or(0)
}

fn family(address: &IpAddr) -> &'static str {
    if address.is_ipv4() { "IPv4" } else { "IPv6" }
}

fn addresses(texts: &Value) -> Vec<IpAddr> {
    list(texts).iter().filter_map(|address| text(address).parse().ok()).collect()
}

fn annotation<'o>(object: &'o Value, key: &str) -> &'o str {
    text(&object["metadata"]["annotations"][key])
}

/// The factor of a Node or a Pod in hundredths; a slice has a weight alone.
fn factor(object: &Value) -> u64 {
    if annotation(object, "evenkeel.dev/maintenance") == "true" {
        return 0;
    }
    weight(object)
}

fn weight(object: &Value) -> u64 {
    let ours = annotation(object, "evenkeel.dev/weight").parse::<u16>();
    let of_slice = |_| annotation(object, "service.cilium.io/weight").parse::<u16>();
    ours.or_else(of_slice).map_or(100, u64::from)
}

impl<'w> World<'w> {
    fn of_kind(&self, kind: &str) -> impl Iterator<Item = &'w Value> + use<'w> {
        let first = (kind.to_owned(), String::new(), String::new());
        let kind = kind.to_owned();
        self.held.range(first..).take_while(move |((of, _, _), _)| *of == kind).map(|(_, object)| object)
    }

    fn is_ours(&self, object: &Value) -> bool {
        let label = &object["metadata"]["labels"]["service.kubernetes.io/service-proxy-name"];
        if self.setup.service_proxy_name.is_empty() {
            label.is_null()
        } else {
            *label == *self.setup.service_proxy_name
        }
    }

    fn is_served(&self, service: &Value) -> bool {
        let spec = &service["spec"];
        self.is_ours(service) && spec["type"] != "ExternalName" && !Self::cluster_ips(service).is_empty()
    }

    fn cluster_ips(service: &Value) -> Vec<IpAddr> {
        let spec = &service["spec"];
        let mut ips = addresses(&spec["clusterIPs"]);
        if ips.is_empty() {
            ips = text(&spec["clusterIP"]).parse().into_iter().collect();
        }
        let first = ips.first().map_or("", family).to_owned();
        let stated = list(&spec["ipFamilies"]);
        ips.retain(|ip| {
            if stated.is_empty() { family(ip) == first } else { stated.iter().any(|one| one == family(ip)) }
        });
        ips
    }

    fn ports(&self, service: &'w Value) -> Vec<ServicePort<'w>> {
        let wanted = |family: &str| {
            self.setup.families.is_empty() || self.setup.families.iter().any(|one| one == family)
        };
        let name = &service["metadata"];
        let mut ports = Vec::new();
        for address in Self::cluster_ips(service).iter().filter(|address| wanted(family(address))) {
            for body in list(&service["spec"]["ports"]) {
                let name = Port {
                    namespace: text(&name["namespace"]).to_owned(),
                    service: text(&name["name"]).to_owned(),
                    name: text(&body["name"]).to_owned(),
                    protocol: body["protocol"].as_str().unwrap_or("TCP").to_owned(),
                    family: family(address).to_owned(),
                };
                ports.push(ServicePort { service, name, number: number(&body["port"]), body });
            }
        }
        ports
    }

    /// Every VIP that a port asks for; who gets it is for [`World::claims`]. The state is not decided here.
    fn vips(&self, port: &ServicePort<'_>) -> Vec<VipRow> {
        let spec = &port.service["spec"];
        let external = spec["externalTrafficPolicy"].as_str().unwrap_or("Cluster");
        let internal = spec["internalTrafficPolicy"].as_str().unwrap_or("Cluster");
        let is_balanced = spec["type"] == "LoadBalancer" && external == "Local";
        let affinity = if spec["sessionAffinity"] == "ClientIP" {
            spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"].as_u64().unwrap_or(10_800)
        } else {
            0
        };
        let row = |address: IpAddr, at: u16, kind: &str| {
            let outside = kind != "ClusterIP";
            VipRow {
                port: port.name.clone(),
                at: Socket { address, number: at },
                kind: kind.to_owned(),
                policy: if outside { external } else { internal }.to_owned(),
                state: String::new(),
                affinity_seconds: u32::try_from(affinity).unwrap_or(0),
                health_check_node_port: if is_balanced { number(&spec["healthCheckNodePort"]) } else { 0 },
                masquerade: outside && external == "Cluster",
                short_circuit: outside && external == "Local",
                source_ranges: if kind == "LoadBalancer" {
                    ranges(spec, &port.name.family)
                } else {
                    Vec::new()
                },
            }
        };
        let own = |address: &IpAddr| family(address) == port.name.family;
        let mut vips = Vec::new();
        vips.extend(
            Self::cluster_ips(port.service)
                .into_iter()
                .filter(own)
                .map(|ip| row(ip, port.number, "ClusterIP")),
        );
        vips.extend(
            addresses(&spec["externalIPs"])
                .into_iter()
                .filter(own)
                .map(|ip| row(ip, port.number, "ExternalIP")),
        );
        for ingress in list(&port.service["status"]["loadBalancer"]["ingress"]) {
            let is_vip = ingress["ipMode"].is_null() || ingress["ipMode"] == "VIP";
            if let Some(ip) = text(&ingress["ip"]).parse().ok().filter(own).filter(|_| is_vip) {
                vips.push(row(ip, port.number, "LoadBalancer"));
            }
        }
        let node_port = number(&port.body["nodePort"]);
        if node_port != 0 {
            let chosen: Vec<IpAddr> =
                self.setup.node_port_addresses.iter().filter_map(|one| one.parse().ok()).collect();
            let any = if port.name.family == "IPv4" { "0.0.0.0" } else { "::" }.parse().into_iter().collect();
            let at: Vec<IpAddr> = if self.setup.node_port_addresses.is_empty() { any } else { chosen };
            vips.extend(at.into_iter().filter(own).map(|ip| row(ip, node_port, "NodePort")));
        }
        vips
    }

    /// Who has an address, port and protocol: the Service that is older, then the one whose name comes first.
    fn claims(&self) -> BTreeMap<(Socket, String), ((String, Port), Port)> {
        let mut claims: BTreeMap<(Socket, String), ((String, Port), Port)> = BTreeMap::new();
        for service in self.of_kind("Service").filter(|service| self.is_served(service)) {
            let created = text(&service["metadata"]["creationTimestamp"]).to_owned();
            for port in self.ports(service) {
                for vip in self.vips(&port) {
                    let claim = ((created.clone(), port.name.clone()), port.name.clone());
                    let key = (vip.at, port.name.protocol.clone());
                    let held = claims.entry(key).or_insert_with(|| claim.clone());
                    if claim.0 < held.0 {
                        *held = claim;
                    }
                }
            }
        }
        claims
    }

    fn node(&self, name: &str) -> Option<&'w Value> {
        self.held.get(&("Node".to_owned(), String::new(), name.to_owned()))
    }

    fn node_factor(&self, name: &str) -> u64 {
        self.node(name).map_or(100, factor)
    }

    fn endpoints(&self, port: &ServicePort<'_>) -> Vec<Endpoint> {
        let said = match self.setup.endpoints {
            Endpoints::Slices => self.slices_say(port),
            Endpoints::Pods => self.pods_say(port),
            Endpoints::Overlay => self.overlaid(port),
        };
        let mut by_socket: BTreeMap<Socket, Vec<Endpoint>> = BTreeMap::new();
        for endpoint in said {
            by_socket.entry(endpoint.at).or_default().push(endpoint);
        }
        let claim = |one: &Endpoint| {
            let better = (one.terminating, !one.ready, !one.serving, !one.local);
            (better, Reverse(one.written.clone()), one.place.clone())
        };
        by_socket.into_values().filter_map(|twins| twins.into_iter().min_by_key(claim)).collect()
    }

    fn slices(&self, port: &ServicePort<'_>) -> impl Iterator<Item = &'w Value> {
        let (namespace, service, family) =
            (port.name.namespace.clone(), port.name.service.clone(), port.name.family.clone());
        self.of_kind("EndpointSlice").filter(move |slice| {
            let meta = &slice["metadata"];
            meta["namespace"] == *namespace
                && meta["labels"]["kubernetes.io/service-name"] == *service
                && meta["labels"]["service.kubernetes.io/headless"].is_null()
                && slice["addressType"] == *family
        })
    }

    fn slices_say(&self, port: &ServicePort<'_>) -> Vec<Endpoint> {
        let mut said: Vec<Endpoint> = Vec::new();
        for slice in self.slices(port).filter(|slice| self.is_ours(slice)) {
            let first = said.len();
            let named = list(&slice["ports"]).iter().filter(|one| {
                one["name"] == *port.name.name
                    && one["protocol"].as_str().unwrap_or("TCP") == port.name.protocol
            });
            for of in named.map(|one| number(&one["port"])).filter(|number| *number != 0) {
                for endpoint in list(&slice["endpoints"]) {
                    let Ok(address) = text(&endpoint["addresses"][0]).parse::<IpAddr>() else { continue };
                    let condition =
                        |key: &str, absent: bool| endpoint["conditions"][key].as_bool().unwrap_or(absent);
                    let node = text(&endpoint["nodeName"]);
                    let hints = |key: &str| {
                        list(&endpoint["hints"][key])
                            .iter()
                            .map(|one| text(&one["name"]).to_owned())
                            .collect()
                    };
                    let of_pod = endpoint["targetRef"]["kind"] == "Pod";
                    let pod = |key: &str| {
                        if of_pod { text(&endpoint["targetRef"][key]).to_owned() } else { String::new() }
                    };
                    let endpoint = Endpoint {
                        at: Socket { address, number: of },
                        ready: condition("ready", true),
                        serving: condition("serving", true),
                        terminating: condition("terminating", false),
                        local: !node.is_empty() && node == self.setup.node,
                        node: node.to_owned(),
                        zone: text(&endpoint["zone"]).to_owned(),
                        pod: (pod("name"), pod("uid")),
                        zone_hints: hints("forZones"),
                        node_hints: hints("forNodes"),
                        weight: self.node_factor(node) * weight(slice) * 100,
                        written: annotation(slice, "endpoints.kubernetes.io/last-change-trigger-time")
                            .to_owned(),
                        place: text(&slice["metadata"]["name"]).to_owned(),
                    };
                    // Within one slice the order is upstream's: what comes later counts, unless it terminates.
                    match said.iter().skip(first).position(|one| one.at == endpoint.at) {
                        None => said.push(endpoint),
                        Some(_) if endpoint.terminating => {}
                        Some(twin) => said[first + twin] = endpoint,
                    }
                }
            }
        }
        said
    }

    fn pods_say(&self, port: &ServicePort<'_>) -> Vec<Endpoint> {
        let spec = &port.service["spec"];
        let selector = spec["selector"].as_object().cloned().unwrap_or_default();
        let publish = spec["publishNotReadyAddresses"] == true;
        let mut said = Vec::new();
        for pod in self.of_kind("Pod").filter(|pod| pod["metadata"]["namespace"] == *port.name.namespace) {
            let selected = !selector.is_empty()
                && selector.iter().all(|(key, value)| pod["metadata"]["labels"].get(key) == Some(value));
            let node = text(&pod["spec"]["nodeName"]);
            if !selected || is_over(pod) || (self.node(node).is_none() && !publish) {
                continue;
            }
            let (Some(address), Some(of)) = (address_of(pod, &port.name.family), target(pod, port)) else {
                continue;
            };
            let (ready, terminating) = (is_ready(pod), is_going(pod));
            said.push(Endpoint {
                at: Socket { address, number: of },
                ready: publish || (ready && !terminating),
                serving: ready,
                terminating,
                local: !node.is_empty() && node == self.setup.node,
                node: node.to_owned(),
                zone: self
                    .node(node)
                    .map_or("", |node| text(&node["metadata"]["labels"]["topology.kubernetes.io/zone"]))
                    .to_owned(),
                pod: (text(&pod["metadata"]["name"]).to_owned(), text(&pod["metadata"]["uid"]).to_owned()),
                zone_hints: Vec::new(),
                node_hints: Vec::new(),
                weight: self.node_factor(node) * 100 * factor(pod),
                written: String::new(),
                place: text(&pod["metadata"]["name"]).to_owned(),
            });
        }
        said
    }

    /// Slices, in which endpoints of this node are what their Pods say: found by uid, and gone without one.
    fn overlaid(&self, port: &ServicePort<'_>) -> Vec<Endpoint> {
        let publish = port.service["spec"]["publishNotReadyAddresses"] == true;
        let mut said = Vec::new();
        for mut endpoint in self.slices_say(port) {
            if !endpoint.local || endpoint.pod.1.is_empty() {
                said.push(endpoint);
                continue;
            }
            let pod = self.of_kind("Pod").find(|pod| {
                pod["metadata"]["uid"] == *endpoint.pod.1
                    && pod["metadata"]["namespace"] == *port.name.namespace
                    && pod["spec"]["nodeName"] == *self.setup.node
            });
            let Some(pod) = pod.filter(|pod| !is_over(pod)) else { continue };
            let Some(address) = address_of(pod, &port.name.family) else { continue };
            endpoint.at.address = address;
            (endpoint.serving, endpoint.terminating) = (is_ready(pod), is_going(pod));
            endpoint.ready = publish || (endpoint.serving && !endpoint.terminating);
            endpoint.weight = endpoint.weight / 100 * factor(pod);
            said.push(endpoint);
        }
        said
    }

    fn sets(&self, port: &ServicePort<'_>) -> Sets {
        let endpoints = self.endpoints(port);
        let spec = &port.service["spec"];
        let outside = self.vips(port).iter().any(|vip| vip.kind != "ClusterIP") || has_way_in(port);
        let uses_cluster = spec["internalTrafficPolicy"] != "Local" || outside;
        let uses_local =
            spec["internalTrafficPolicy"] == "Local" || (spec["externalTrafficPolicy"] == "Local" && outside);
        let all = |is: &dyn Fn(&Endpoint) -> bool| -> Vec<usize> {
            (0..endpoints.len()).filter(|at| is(&endpoints[*at])).collect()
        };
        let zone = self
            .node(&self.setup.node)
            .map_or("", |node| text(&node["metadata"]["labels"]["topology.kubernetes.io/zone"]));
        let near = near(&endpoints, &self.setup.node, zone);
        let mut cluster = Vec::new();
        if uses_cluster {
            cluster = all(&|one| one.ready && near(one));
            if cluster.is_empty() {
                cluster = all(&Endpoint::is_draining);
            }
        }
        let mut local = Vec::new();
        let mut any = !cluster.is_empty();
        if uses_local {
            any = endpoints.iter().any(|one| one.ready || one.is_draining());
            local = all(&|one| one.local && one.ready);
            if local.is_empty() {
                local = all(&|one| one.local && one.is_draining());
            }
        }
        Sets { cluster, local, uses_cluster, uses_local, any, endpoints }
    }

    fn backends(&self, port: &ServicePort<'_>, sets: &Sets) -> Vec<BackendRow> {
        let drained = annotation(port.service, "evenkeel.dev/maintenance") == "true";
        let plain = |at: &usize| if drained { 0 } else { rounded(sets.endpoints[*at].weight, 10_000) };
        let weights = |set: &[usize]| -> BTreeMap<usize, u16> {
            let weights = scaled(&set.iter().map(plain).collect::<Vec<_>>(), self.setup.weight_range);
            set.iter().copied().zip(weights).collect()
        };
        let (cluster, local) = (weights(&sets.cluster), weights(&sets.local));
        let mut backends = Vec::new();
        for (at, endpoint) in sets.endpoints.iter().enumerate() {
            let (cluster_weight, local_weight) = (cluster.get(&at).copied(), local.get(&at).copied());
            let is_member = cluster_weight.is_some() || local_weight.is_some();
            let lingers =
                endpoint.is_draining() && (sets.uses_cluster || (sets.uses_local && endpoint.local));
            if !is_member && !lingers {
                continue;
            }
            let takes_flows = cluster_weight.unwrap_or(0) > 0 || local_weight.unwrap_or(0) > 0;
            let state = match (takes_flows, endpoint.ready) {
                (false, _) => "draining",
                (true, true) => "ready",
                (true, false) => "terminating",
            };
            let keeps_pods = self.setup.keep_pods || self.setup.endpoints == Endpoints::Overlay;
            let (pod, pod_uid) = if keeps_pods { endpoint.pod.clone() } else { Default::default() };
            backends.push(BackendRow {
                port: port.name.clone(),
                at: endpoint.at,
                node: endpoint.node.clone(),
                zone: endpoint.zone.clone(),
                pod,
                pod_uid,
                cluster_weight,
                local_weight,
                state: state.to_owned(),
                local: endpoint.local,
            });
        }
        backends
    }

    /// Nodes that can take flows, each with the sum of what is usable on it.
    fn nodes(&self, port: &ServicePort<'_>, sets: &Sets) -> Vec<BackendRow> {
        let drained = annotation(port.service, "evenkeel.dev/maintenance") == "true";
        let mut rows = Vec::new();
        for node in self.of_kind("Node") {
            let cordoned = node["spec"]["unschedulable"] == true;
            let (name, is_able) = (text(&node["metadata"]["name"]), is_ready(node) && !cordoned);
            let own = |one: &Value| {
                text(&one["address"]).parse::<IpAddr>().ok().filter(|ip| family(ip) == port.name.family)
            };
            let address = list(&node["status"]["addresses"]).iter().find_map(own);
            let Some(address) = address.filter(|_| is_able) else { continue };
            // A node without usable endpoints is no backend.
            let sum = |set: &[usize]| -> Option<u64> {
                let on_it = set.iter().map(|at| &sets.endpoints[*at]).filter(|one| one.node == name);
                on_it
                    .map(|one| if drained { 0 } else { u64::from(rounded(one.weight, 10_000)) })
                    .reduce(|sum, weight| sum + weight)
            };
            rows.push((name, address, sum(&sets.cluster), sum(&sets.local)));
        }
        rows.sort_by_key(|(_, address, ..)| *address);
        // Hundredths until they are scaled, if they fit; whole without a range.
        let range = self.setup.weight_range;
        let mut sums = rows.iter().flat_map(|row| [row.2, row.3]).flatten();
        let fits = range > 0 && sums.all(|sum| u16::try_from(sum).is_ok());
        type Row<'n> = (&'n str, IpAddr, Option<u64>, Option<u64>);
        let weights = |which: fn(&Row<'_>) -> Option<u64>| {
            let weigh = |sum: u64| if fits { u16::try_from(sum).unwrap() } else { rounded(sum, 100) };
            let mut given =
                scaled(&rows.iter().filter_map(which).map(weigh).collect::<Vec<_>>(), range).into_iter();
            rows.iter().map(|row| which(row).and_then(|_| given.next())).collect::<Vec<_>>()
        };
        let (cluster, local) = (weights(|row| row.2), weights(|row| row.3));
        let mut backends = Vec::new();
        for (at, (name, address, ..)) in rows.iter().copied().enumerate() {
            let is_here = name == self.setup.node;
            let (cluster_weight, local_weight) = (cluster[at], local[at]);
            if cluster_weight.is_none() && local_weight.is_none() {
                continue;
            }
            let takes_flows = cluster_weight.unwrap_or(0) > 0 || local_weight.unwrap_or(0) > 0;
            backends.push(BackendRow {
                port: port.name.clone(),
                at: Socket { address, number: port.number },
                node: name.to_owned(),
                zone: text(&self.node(name).unwrap_or(&Value::Null)["metadata"]["labels"]["topology.kubernetes.io/zone"]).to_owned(),
                pod: String::new(),
                pod_uid: String::new(),
                cluster_weight,
                local_weight,
                state: if takes_flows { "ready" } else { "draining" }.to_owned(),
                local: is_here,
            });
        }
        backends
    }
}

/// A way in from outside that this node may not serve itself: a node port without an address of the family here.
fn has_way_in(port: &ServicePort<'_>) -> bool {
    number(&port.body["nodePort"]) != 0
}

/// Phase Failed or Succeeded.
fn is_over(pod: &Value) -> bool {
    pod["status"]["phase"] == "Failed" || pod["status"]["phase"] == "Succeeded"
}

fn is_going(pod: &Value) -> bool {
    !pod["metadata"]["deletionTimestamp"].is_null()
}

/// Condition Ready is True, of a Pod or a Node.
fn is_ready(object: &Value) -> bool {
    list(&object["status"]["conditions"]).iter().any(|one| one["type"] == "Ready" && one["status"] == "True")
}

fn address_of(pod: &Value, wanted: &str) -> Option<IpAddr> {
    list(&pod["status"]["podIPs"])
        .iter()
        .filter_map(|one| text(&one["ip"]).parse().ok())
        .find(|ip| family(ip) == wanted)
}

/// Where a Pod listens for a port of a Service.
fn target(pod: &Value, port: &ServicePort<'_>) -> Option<u16> {
    let target = &port.body["targetPort"];
    let Some(name) = target.as_str() else {
        return Some(if target.is_null() { port.number } else { number(target) });
    };
    let sidecars = list(&pod["spec"]["initContainers"]).iter().filter(|one| one["restartPolicy"] == "Always");
    let containers = list(&pod["spec"]["containers"]).iter().chain(sidecars);
    let mut ports = containers.flat_map(|container| list(&container["ports"]));
    let found = ports
        .find(|one| one["name"] == name && one["protocol"].as_str().unwrap_or("TCP") == port.name.protocol);
    found.map(|one| number(&one["containerPort"]))
}

/// Whether hints keep a ready endpoint within this node's reach.
fn near<'n>(endpoints: &[Endpoint], node: &'n str, zone: &'n str) -> impl Fn(&Endpoint) -> bool + use<'n> {
    let ready: Vec<_> = endpoints.iter().filter(|one| one.ready).collect();
    let for_node = |one: &Endpoint| one.node_hints.iter().any(|hint| hint == node);
    let for_zone = |one: &Endpoint| one.zone_hints.iter().any(|hint| hint == zone);
    let by_node = ready.iter().all(|one| !one.node_hints.is_empty()) && ready.iter().any(|one| for_node(one));
    let by_zone = ready.iter().all(|one| !one.zone_hints.is_empty()) && ready.iter().any(|one| for_zone(one));
    move |one| match (by_node, by_zone) {
        (true, _) => one.node_hints.iter().any(|hint| hint == node),
        (false, true) => one.zone_hints.iter().any(|hint| hint == zone),
        (false, false) => true,
    }
}

fn ranges(spec: &Value, wanted: &str) -> Vec<String> {
    let mut ranges: Vec<(IpAddr, u8)> = list(&spec["loadBalancerSourceRanges"])
        .iter()
        .filter_map(|range| text(range).trim().split_once('/'))
        .filter_map(|(address, length)| Some((address.parse().ok()?, length.parse().ok()?)))
        .filter(|(address, _)| family(address) == wanted)
        .collect();
    ranges.sort_unstable();
    ranges.dedup();
    ranges.into_iter().map(|(address, length)| format!("{address}/{length}")).collect()
}

/// To the nearest whole number, halves up; never from something to nothing.
fn rounded(value: u64, unit: u64) -> u16 {
    let nearest = (value + unit / 2) / unit;
    u16::try_from(nearest).unwrap_or(u16::MAX).max(u16::from(value > 0))
}

/// Weights with the sum `range`: a share below 1 is 1, the others share the rest, by largest remainder.
fn scaled(weights: &[u16], range: u16) -> Vec<u16> {
    let members: Vec<usize> = (0..weights.len()).filter(|at| weights[*at] > 0).collect();
    if range == 0 {
        return weights.to_vec();
    }
    let mut given = vec![0; weights.len()];
    if members.len() >= usize::from(range) {
        members.iter().for_each(|at| given[*at] = 1);
        return given;
    }
    let mut sharing = members.clone();
    let (rest, total) = loop {
        let rest = u64::from(range) - (members.len() - sharing.len()) as u64;
        let total: u64 = sharing.iter().map(|at| u64::from(weights[*at])).sum();
        let before = sharing.len();
        sharing.retain(|at| u64::from(weights[*at]) * rest >= total);
        if sharing.len() == before {
            break (rest, total);
        }
    };
    members.iter().for_each(|at| given[*at] = 1);
    let part = |at: usize| u64::from(weights[at]) * rest;
    for at in &sharing {
        given[*at] = u16::try_from(part(*at) / total).expect("a part of the range");
    }
    let left = rest - sharing.iter().map(|at| u64::from(given[*at])).sum::<u64>();
    sharing.sort_by_key(|at| (Reverse(part(*at) % total), *at));
    for at in sharing.iter().take(usize::try_from(left).expect("fewer than the range")) {
        given[*at] += 1;
    }
    given
}
