//! Where Kubernetes' words end and load balancers' words begin: a Service port and what was decided of its
//! endpoints, in; VIPs and backends, out.

use crate::change::{BackendState, VipKind, VipState};
use crate::object::TrafficPolicy;
use crate::usable::{Facts, From, Needs, Usable};

/// What a Service says of one of its ports, as far as serving it depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policies {
    /// It has VIPs here.
    pub served: bool,
    /// For cluster IPs.
    pub internal: TrafficPolicy,
    /// For external IPs, load balancers and node ports.
    pub external: TrafficPolicy,
    /// There is a way in from outside.
    pub reachable: bool,
    /// Every backend gets weight 0.
    pub maintenance: bool,
}

impl Policies {
    /// Which sets are needed. An external Local policy needs the Cluster set too: what comes from this node itself
    /// goes there (`kube-proxy topology`).
    #[must_use]
    pub fn needs(&self) -> Needs {
        Needs {
            cluster: self.served && (self.internal == TrafficPolicy::Cluster || self.reachable),
            local: self.served
                && (self.internal == TrafficPolicy::Local
                    || (self.external == TrafficPolicy::Local && self.reachable)),
        }
    }

    /// The policy of a VIP of this kind.
    #[must_use]
    pub const fn of(&self, kind: VipKind) -> TrafficPolicy {
        match kind {
            VipKind::ClusterIp => self.internal,
            VipKind::ExternalIp | VipKind::LoadBalancer | VipKind::NodePort => self.external,
        }
    }

    pub(crate) fn bits(&self) -> u16 {
        u16::from(self.maintenance) << 8
            | u16::from(self.needs().cluster) << 9
            | u16::from(self.needs().local) << 10
    }
}

/// What to do with a flow to a VIP under this policy.
#[must_use]
pub fn vip_state(usable: Usable, policy: TrafficPolicy) -> VipState {
    let set = match policy {
        TrafficPolicy::Cluster => usable.cluster,
        TrafficPolicy::Local => usable.local,
    };
    if !usable.any {
        VipState::Reject
    } else if set == From::Nothing {
        VipState::Drop
    } else {
        VipState::Serve
    }
}

/// How an endpoint stands behind the VIPs of its port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// In the Cluster set.
    pub in_cluster: bool,
    /// In the Local set.
    pub in_local: bool,
    /// In no set, and still shown: it keeps its flows.
    pub lingers: bool,
    /// It takes new flows although it is terminating.
    pub terminating: bool,
}

impl Place {
    /// The place of one endpoint.
    #[must_use]
    pub const fn of(usable: Usable, needs: Needs, facts: Facts) -> Self {
        let (in_cluster, in_local) = (usable.in_cluster(facts), usable.in_local(facts));
        Self {
            in_cluster,
            in_local,
            lingers: usable.lingers(facts, needs),
            terminating: (in_cluster || in_local) && !facts.has(Facts::READY),
        }
    }
}

/// Whether a backend takes new flows.
#[must_use]
pub const fn backend_state(terminating: bool, lingers: bool, weight: u16) -> BackendState {
    if lingers || weight == 0 {
        BackendState::Draining
    } else if terminating {
        BackendState::Terminating
    } else {
        BackendState::Ready
    }
}
