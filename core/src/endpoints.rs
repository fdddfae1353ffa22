//! The endpoint that a Pod is of a Service, as the endpoint controllers see it.
//!
//! Each function is one question. They know the Service, one of its ports and one Pod; which Pods to ask about
//! is [`selects`], and what stands in which object is for others to decide.

use crate::address::{Address, Family};
use crate::object::{Conditions, Label, Pod, Service, ServicePort, TargetPort};
use crate::reason::Reason;

/// A selector chooses what carries all of its pairs; an empty one chooses nothing.
///
/// That is the rule for Services, unlike for selectors elsewhere in the API: a Service without selector has
/// endpoints that somebody else writes.
#[must_use]
pub fn selects(selector: &[Label<'_>], labels: &[Label<'_>]) -> bool {
    !selector.is_empty() && selector.iter().all(|pair| labels.contains(pair))
}

/// Whether the Pod counts at all. Endpoints want a terminating one only if the Service publishes what is not
/// ready; EndpointSlices always want it.
#[must_use]
pub const fn included(pod: &Pod<'_>, include_terminating: bool) -> bool {
    !pod.terminal && pod.has_ip && (include_terminating || !pod.terminating)
}

/// The three conditions of its endpoint. Under `publishNotReadyAddresses` everything is ready, draining Pods too.
#[must_use]
pub const fn conditions(pod: &Pod<'_>, publish_not_ready: bool) -> Conditions {
    Conditions {
        ready: publish_not_ready || (pod.ready && !pod.terminating),
        serving: pod.ready,
        terminating: pod.terminating,
    }
}

/// The port on which this Pod serves this port of the Service: the number itself, whether a container declares
/// it or not, or that of the first container port with this name and the same protocol.
#[must_use]
pub fn find_port(pod: &Pod<'_>, port: &ServicePort<'_>) -> Option<u16> {
    match port.target {
        TargetPort::Number(number) => Some(number),
        TargetPort::Name(name) => pod
            .ports
            .iter()
            .find(|found| found.name == name && found.protocol == port.protocol)
            .map(|found| found.port),
    }
}

/// The name that DNS has for this Pod under this Service, if the Pod asks for one there.
#[must_use]
pub fn hostname<'a>(pod: &Pod<'a>, service: &Service<'_>) -> Option<&'a str> {
    let asks_for_it =
        !pod.hostname.is_empty() && pod.subdomain == service.name && pod.namespace == service.namespace;
    asks_for_it.then_some(pod.hostname)
}

/// The addresses of the family, in the Pod's order; an EndpointSlice lists them all.
pub fn addresses<'a>(pod: &Pod<'a>, family: Family) -> impl Iterator<Item = Address> + use<'a> {
    pod.addresses.iter().copied().filter(move |address| address.family() == family)
}

/// The first address of the family: the one to send to.
#[must_use]
pub fn address(pod: &Pod<'_>, family: Family) -> Option<Address> {
    addresses(pod, family).next()
}

/// The families in which a Service has endpoints: those it states, else that of its cluster IP, else both.
#[must_use]
pub fn address_types(service: &Service<'_>) -> [Option<Family>; 2] {
    match (service.families, service.cluster_ips) {
        ([first, second, ..], _) => [Some(*first), Some(*second)],
        ([first], _) => [Some(*first), None],
        ([], [address, ..]) => [Some(address.family()), None],
        ([], []) => [Some(Family::V4), Some(Family::V6)],
    }
}

/// Why the Pod is no endpoint of this port in this family; `None` if it is one, ready or not.
///
/// A Pod whose Node has not been seen waits, since its zone cannot be told; `publishNotReadyAddresses` does not wait.
#[must_use]
pub fn left_out(
    pod: &Pod<'_>,
    service: &Service<'_>,
    port: &ServicePort<'_>,
    family: Family,
    node_known: bool,
) -> Option<Reason> {
    if pod.terminal {
        Some(Reason::PodTerminal)
    } else if !pod.has_ip || address(pod, family).is_none() {
        Some(Reason::PodNoAddress)
    } else if !node_known && !service.publish_not_ready {
        Some(Reason::NodeUnknown)
    } else if find_port(pod, port).is_none() {
        Some(Reason::PodNoPort)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::ContainerPort;
    use crate::port::Protocol;

    const V4: Address = Address::v4([192, 0, 2, 7]);
    const V4_SECOND: Address = Address::v4([192, 0, 2, 8]);
    const V6: Address = Address::v6([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]);

    fn pod() -> Pod<'static> {
        Pod {
            namespace: "shop",
            name: "web-1",
            node: "node-a",
            ready: true,
            has_ip: true,
            addresses: &[V6, V4, V4_SECOND],
            ..Pod::default()
        }
    }

    fn service() -> Service<'static> {
        Service { namespace: "shop", name: "web", ..Service::default() }
    }

    const fn label<'a>(key: &'a str, value: &'a str) -> Label<'a> {
        Label { key, value }
    }

    #[test]
    fn a_selector_wants_all_of_its_pairs_and_an_empty_one_wants_nothing() {
        let labels = [label("app", "web"), label("tier", "front"), label("app.kubernetes.io/part-of", "")];
        assert!(selects(&[label("app", "web")], &labels));
        assert!(selects(&[label("tier", "front"), label("app", "web")], &labels));
        assert!(selects(&[label("app.kubernetes.io/part-of", "")], &labels));
        assert!(!selects(&[label("app", "Web")], &labels));
        assert!(!selects(&[label("app", "web"), label("tier", "back")], &labels));
        assert!(!selects(&[label("app", "")], &labels));
        assert!(!selects(&[], &labels));
        assert!(!selects(&[label("app", "web")], &[]));
    }

    #[test]
    fn a_pod_counts_if_it_lives_and_has_an_address() {
        let both = |pod: Pod<'_>| (included(&pod, false), included(&pod, true));
        assert_eq!(both(pod()), (true, true));
        assert_eq!(both(Pod { ready: false, ..pod() }), (true, true));
        assert_eq!(both(Pod { terminating: true, ..pod() }), (false, true));
        assert_eq!(both(Pod { terminal: true, ..pod() }), (false, false));
        assert_eq!(both(Pod { has_ip: false, addresses: &[], ..pod() }), (false, false));
        assert_eq!(both(Pod { addresses: &[], ..pod() }), (true, true));
    }

    #[test]
    fn a_terminating_pod_may_serve_but_is_not_ready() {
        let of = |ready, terminating, publish_not_ready| {
            let Conditions { ready, serving, terminating } =
                conditions(&Pod { ready, terminating, ..pod() }, publish_not_ready);
            [ready, serving, terminating].map(u8::from)
        };
        assert_eq!(of(true, false, false), [1, 1, 0]);
        assert_eq!(of(false, false, false), [0, 0, 0]);
        assert_eq!(of(true, true, false), [0, 1, 1]);
        assert_eq!(of(false, true, false), [0, 0, 1]);
        assert_eq!(of(false, false, true), [1, 0, 0]);
        assert_eq!(of(false, true, true), [1, 0, 1]);
    }

    #[test]
    fn a_named_port_is_the_first_of_its_name_and_protocol() {
        let ports = [
            ContainerPort { name: "dns", protocol: Protocol::Tcp, port: 5353 },
            ContainerPort { name: "dns", protocol: Protocol::Udp, port: 53 },
            ContainerPort { name: "dns", protocol: Protocol::Udp, port: 54 },
        ];
        let pod = Pod { ports: &ports, ..pod() };
        let find = |protocol, target| {
            find_port(
                &pod,
                &ServicePort {
                    name: "dns-of-service",
                    protocol,
                    port: 1053,
                    target,
                    ..ServicePort::default()
                },
            )
        };
        assert_eq!(find(Protocol::Udp, TargetPort::Name("dns")), Some(53));
        assert_eq!(find(Protocol::Tcp, TargetPort::Name("dns")), Some(5353));
        assert_eq!(find(Protocol::Sctp, TargetPort::Name("dns")), None);
        assert_eq!(find(Protocol::Udp, TargetPort::Name("http")), None);
        assert_eq!(find(Protocol::Sctp, TargetPort::Number(9)), Some(9));
    }

    #[test]
    fn a_hostname_needs_the_service_as_subdomain_in_the_same_namespace() {
        let named = Pod { hostname: "web-0", subdomain: "web", ..pod() };
        assert_eq!(hostname(&named, &service()), Some("web-0"));
        assert_eq!(hostname(&Pod { hostname: "", ..named }, &service()), None);
        assert_eq!(hostname(&Pod { subdomain: "", ..named }, &service()), None);
        assert_eq!(hostname(&Pod { subdomain: "db", ..named }, &service()), None);
        assert_eq!(hostname(&Pod { namespace: "other", ..named }, &service()), None);
    }

    #[test]
    fn the_address_is_the_first_of_the_family() {
        assert_eq!(address(&pod(), Family::V4), Some(V4));
        assert_eq!(address(&pod(), Family::V6), Some(V6));
        assert_eq!(address(&Pod { addresses: &[V4], ..pod() }, Family::V6), None);
        assert!(addresses(&pod(), Family::V4).eq([V4, V4_SECOND]));
    }

    #[test]
    fn a_headless_service_without_families_has_both() {
        let of = |families, cluster_ips| address_types(&Service { families, cluster_ips, ..service() });
        assert_eq!(of(&[Family::V6, Family::V4], &[]), [Some(Family::V6), Some(Family::V4)]);
        assert_eq!(of(&[Family::V6], &[V4]), [Some(Family::V6), None]);
        assert_eq!(of(&[], &[V6]), [Some(Family::V6), None]);
        assert_eq!(of(&[], &[]), [Some(Family::V4), Some(Family::V6)]);
    }

    #[test]
    fn a_pod_that_is_left_out_says_why() {
        let named = ServicePort { target: TargetPort::Name("http"), ..ServicePort::default() };
        let number = ServicePort { target: TargetPort::Number(8080), ..ServicePort::default() };
        let why = |pod: Pod<'_>, port, node_known| left_out(&pod, &service(), port, Family::V4, node_known);
        assert_eq!(why(pod(), &number, true), None);
        assert_eq!(why(Pod { ready: false, terminating: true, ..pod() }, &number, true), None);
        assert_eq!(why(Pod { terminal: true, ..pod() }, &number, true), Some(Reason::PodTerminal));
        assert_eq!(
            why(Pod { has_ip: false, addresses: &[], ..pod() }, &number, true),
            Some(Reason::PodNoAddress)
        );
        assert_eq!(why(Pod { addresses: &[V6], ..pod() }, &number, true), Some(Reason::PodNoAddress));
        assert_eq!(why(pod(), &number, false), Some(Reason::NodeUnknown));
        assert_eq!(why(pod(), &named, true), Some(Reason::PodNoPort));
        let eager = Service { publish_not_ready: true, ..service() };
        assert_eq!(left_out(&pod(), &eager, &number, Family::V4, false), None);
    }
}
