//! VIPs and backends as a dataplane would keep them, each also as one line of text.
//!
//! ```text
//! vip     shop/web:http/TCP 192.0.2.200:80 ClusterIP Cluster serve
//! backend shop/web:http/TCP 198.51.100.1:8080 node=node-a cluster=100 ready
//! ```
//! What has its ordinary value is left out, so that a line shows what is particular. The same lines come
//! from every door, and scenarios are written in them.

use std::fmt::{self, Display};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use evenkeel_core::address::{Address, Family};
use evenkeel_core::change::{Backend, Change, PortName, Vip};
use evenkeel_core::object::TrafficPolicy;

/// A service port in one family.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "spelled as in the API")]
pub struct Port {
    pub namespace: String,
    pub service: String,
    pub name: String,
    pub protocol: String,
    pub family: String,
}

impl Port {
    /// From core's name of it.
    #[must_use]
    pub fn from_core(port: &PortName<'_>) -> Self {
        Self {
            namespace: port.service.namespace.to_owned(),
            service: port.service.name.to_owned(),
            name: port.name.to_owned(),
            protocol: port.protocol.text().to_owned(),
            family: port.family.text().to_owned(),
        }
    }

    /// `namespace/name` of its Service.
    #[must_use]
    pub fn owner(&self) -> String {
        format!("{}/{}", self.namespace, self.service)
    }

    /// The name under which vectors list backends: `http/TCP`, or `/TCP` for an unnamed port.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}/{}", self.name, self.protocol)
    }
}

impl Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.service)?;
        if !self.name.is_empty() {
            write!(f, ":{}", self.name)?;
        }
        write!(f, "/{}", self.protocol)
    }
}

/// An address and a port number, printed as one dials it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Socket {
    /// The address.
    pub address: IpAddr,
    /// The port.
    pub number: u16,
}

impl Socket {
    /// From core's two values.
    #[must_use]
    pub fn from_core(address: Address, number: u16) -> Self {
        Self { address: ip(address), number }
    }
}

impl Display for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        std::net::SocketAddr::new(self.address, self.number).fmt(f)
    }
}

/// An address as the standard library has it.
#[must_use]
pub fn ip(address: Address) -> IpAddr {
    let v6 = Ipv6Addr::from(address.octets());
    match address.family() {
        Family::V4 => IpAddr::V4(v6.to_ipv4_mapped().unwrap_or(Ipv4Addr::UNSPECIFIED)),
        Family::V6 => IpAddr::V6(v6),
    }
}

/// A VIP.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields of core's change of the same name")]
pub struct VipRow {
    pub port: Port,
    pub at: Socket,
    pub kind: String,
    pub policy: String,
    pub state: String,
    pub affinity_seconds: u32,
    pub health_check_node_port: u16,
    pub masquerade: bool,
    pub short_circuit: bool,
    pub source_ranges: Vec<String>,
}

impl VipRow {
    /// From core's change.
    #[must_use]
    pub fn from_core(vip: &Vip<'_>) -> Self {
        Self {
            port: Port::from_core(&vip.port()),
            at: Socket::from_core(vip.address, vip.number),
            kind: vip.kind.text().to_owned(),
            policy: policy(vip.policy).to_owned(),
            state: vip.state.text().to_owned(),
            affinity_seconds: vip.affinity_seconds,
            health_check_node_port: vip.health_check_node_port,
            masquerade: vip.masquerade,
            short_circuit: vip.short_circuit,
            source_ranges: vip.source_ranges.iter().map(|range| range.to_string()).collect(),
        }
    }
}

impl Display for VipRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "vip {} {} {} {} {}", self.port, self.at, self.kind, self.policy, self.state)?;
        if self.affinity_seconds != 0 {
            write!(f, " affinity={}", self.affinity_seconds)?;
        }
        if self.health_check_node_port != 0 {
            write!(f, " health={}", self.health_check_node_port)?;
        }
        if self.masquerade {
            f.write_str(" masquerade")?;
        }
        if self.short_circuit {
            f.write_str(" short-circuit")?;
        }
        if !self.source_ranges.is_empty() {
            write!(f, " from={}", self.source_ranges.join(","))?;
        }
        Ok(())
    }
}

/// A backend.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields of core's change of the same name")]
pub struct BackendRow {
    pub port: Port,
    pub at: Socket,
    pub node: String,
    pub zone: String,
    pub pod: String,
    pub pod_uid: String,
    pub cluster_weight: Option<u16>,
    pub local_weight: Option<u16>,
    pub state: String,
    pub local: bool,
}

impl BackendRow {
    /// From core's change.
    #[must_use]
    pub fn from_core(backend: &Backend<'_>) -> Self {
        Self {
            port: Port::from_core(&backend.port()),
            at: Socket::from_core(backend.address, backend.number),
            node: backend.node().to_owned(),
            zone: backend.zone().to_owned(),
            pod: backend.pod().name.to_owned(),
            pod_uid: backend.pod().uid.to_owned(),
            cluster_weight: backend.cluster_weight,
            local_weight: backend.local_weight,
            state: backend.state.text().to_owned(),
            local: backend.local,
        }
    }

    /// It gets new flows from one of the two sets, or would if its weight were not 0.
    #[must_use]
    pub const fn is_member(&self) -> bool {
        self.cluster_weight.is_some() || self.local_weight.is_some()
    }
}

impl Display for BackendRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "backend {} {}", self.port, self.at)?;
        for (name, value) in [("node", &self.node), ("zone", &self.zone), ("pod", &self.pod)] {
            if !value.is_empty() {
                write!(f, " {name}={value}")?;
            }
        }
        if !self.pod_uid.is_empty() {
            write!(f, "({})", self.pod_uid)?;
        }
        for (name, weight) in [("cluster", self.cluster_weight), ("local", self.local_weight)] {
            if let Some(weight) = weight {
                write!(f, " {name}={weight}")?;
            }
        }
        write!(f, " {}", self.state)?;
        if self.local {
            f.write_str(" here")?;
        }
        Ok(())
    }
}

/// A change as one line.
#[must_use]
pub fn line(change: &Change<'_>) -> String {
    match change {
        Change::Vip(vip) => VipRow::from_core(vip).to_string(),
        Change::Backend(backend) => BackendRow::from_core(backend).to_string(),
        Change::BackendGone(gone) => {
            let at = Socket::from_core(gone.address, gone.number);
            let flush = if gone.flush { " flush" } else { "" };
            format!("gone backend {} {at}{flush}", Port::from_core(&gone.port()))
        }
        Change::VipGone(gone) => {
            let at = Socket::from_core(gone.address, gone.number);
            format!("gone vip {} {at} {}", Port::from_core(&gone.port()), gone.kind.text())
        }
        Change::ServiceEnd(end) => format!("end {}/{}", end.service().namespace, end.service().name),
    }
}

/// A traffic policy as the API spells it.
#[must_use]
pub const fn policy(policy: TrafficPolicy) -> &'static str {
    match policy {
        TrafficPolicy::Cluster => "Cluster",
        TrafficPolicy::Local => "Local",
    }
}
