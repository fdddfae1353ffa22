package main

// kube-proxy's view of a cluster: the same informer filters as
// cmd/kube-proxy/app/server.go, then the change trackers, then
// CategorizeEndpoints.

import (
	"fmt"
	"net"
	"sort"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/kubernetes/pkg/proxy"
)

const labelProxyName = "service.kubernetes.io/service-proxy-name"

// portView is one service port on one node. The first part is what traffic
// policies and hints leave; the second is what is programmed for the port
// whatever its endpoints (upstream's ServicePort interface).
type portView struct {
	Namespace  string      `json:"namespace"`
	Name       string      `json:"name"`
	Port       string      `json:"port"`
	Protocol   v1.Protocol `json:"protocol"`
	ClusterIP  string      `json:"clusterIP"`
	PortNumber int         `json:"portNumber"`
	NodePort   int         `json:"nodePort"`
	UsesClust  bool        `json:"usesCluster"`
	UsesLocal  bool        `json:"usesLocal"`
	HasAny     bool        `json:"hasAnyEndpoints"`
	Cluster    []string    `json:"cluster"` // null: never uses Cluster policy
	Local      []string    `json:"local"`
	All        []string    `json:"allReachable"`
	AutoHints  bool        `json:"autoHints,omitempty"` // follows Go map order; compare only against rawEndpointSlices

	ExternalIPs          []string           `json:"externalIPs"`
	LoadBalancerVIPs     []string           `json:"loadBalancerVIPs"`
	SourceRanges         []string           `json:"loadBalancerSourceRanges"`
	HealthCheckNodePort  int                `json:"healthCheckNodePort"`
	SessionAffinity      v1.ServiceAffinity `json:"sessionAffinity"`
	StickyMaxAgeSeconds  int                `json:"stickyMaxAgeSeconds"`
	InternalPolicyLocal  bool               `json:"internalPolicyLocal"`
	ExternalPolicyLocal  bool               `json:"externalPolicyLocal"`
	ExternallyAccessible bool               `json:"externallyAccessible"`
}

// healthView is what the health-check node port of a Service answers with.
type healthView struct {
	Namespace           string `json:"namespace"`
	Name                string `json:"name"`
	HealthCheckNodePort int    `json:"healthCheckNodePort"`
	LocalReadyEndpoints int    `json:"localReadyEndpoints"`
}

type byFamily[T any] struct {
	IPv4 []T `json:"IPv4"`
	IPv6 []T `json:"IPv6"`
}

type proxyOut struct {
	NodeName string               `json:"nodeName"`
	Zone     string               `json:"zone"`
	IPv4     []portView           `json:"IPv4"`
	IPv6     []portView           `json:"IPv6"`
	Health   byFamily[healthView] `json:"health"`
}

// proxyInput is the part of a cluster that is the same for all its nodes.
type proxyInput struct {
	labels   map[string]map[string]string // of each node
	slices   []*discovery.EndpointSlice   // those kube-proxy watches
	services map[v1.IPFamily]proxy.ServicePortMap
	auto     map[string]bool // Services with topology-mode Auto
}

func newProxyInput(c *cluster, slices []*discovery.EndpointSlice) *proxyInput {
	in := &proxyInput{labels: map[string]map[string]string{}, services: map[v1.IPFamily]proxy.ServicePortMap{}, auto: map[string]bool{}}
	for _, n := range c.Nodes {
		in.labels[n.Name] = n.Labels
	}
	for _, s := range c.Services {
		in.auto[s.Namespace+"/"+s.Name] = hintsEnabled(s.Annotations)
	}
	for _, s := range slices {
		_, other := s.Labels[labelProxyName]
		_, headless := s.Labels[v1.IsHeadlessService]
		if !other && !headless {
			in.slices = append(in.slices, s)
		}
	}
	for _, fam := range []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} {
		tracker := proxy.NewServiceChangeTracker(fam, nil, nil)
		for _, s := range c.Services {
			if _, other := s.Labels[labelProxyName]; !other {
				tracker.Update(nil, s)
			}
		}
		in.services[fam] = proxy.ServicePortMap{}
		in.services[fam].Update(tracker)
	}
	return in
}

// proxyView is kube-proxy's view on the cluster's own node.
func proxyView(c *cluster, slices []*discovery.EndpointSlice) proxyOut {
	return newProxyInput(c, slices).on(c.NodeName)
}

// proxyViews is kube-proxy's view on every node, by name; the cluster's own
// node is among them even when no Node object has its name.
func proxyViews(c *cluster, slices []*discovery.EndpointSlice) []proxyOut {
	in := newProxyInput(c, slices)
	names := map[string]bool{}
	for n := range in.labels {
		names[n] = true
	}
	if c.NodeName != "" {
		names[c.NodeName] = true
	}
	out := []proxyOut{}
	for n := range names {
		out = append(out, in.on(n))
	}
	sort.Slice(out, func(i, j int) bool { return out[i].NodeName < out[j].NodeName })
	return out
}

func (in *proxyInput) on(node string) proxyOut {
	out := proxyOut{NodeName: node, Zone: in.labels[node][v1.LabelTopologyZone]}
	out.IPv4, out.Health.IPv4 = in.family(v1.IPv4Protocol, node)
	out.IPv6, out.Health.IPv6 = in.family(v1.IPv6Protocol, node)
	return out
}

func (in *proxyInput) family(fam v1.IPFamily, node string) ([]portView, []healthView) {
	sm, em := in.services[fam], proxy.EndpointsMap{}
	tracker := proxy.NewEndpointsChangeTracker(fam, node, nil, nil)
	for _, s := range in.slices {
		tracker.EndpointSliceUpdate(s, false)
	}
	em.Update(tracker)
	ports := []portView{}
	for spn, sp := range sm {
		cl, lo, all, any := proxy.CategorizeEndpoints(em[spn], sp, node, in.labels[node])
		ports = append(ports, portView{
			Namespace: spn.Namespace, Name: spn.Name, Port: spn.Port, Protocol: spn.Protocol,
			ClusterIP: sp.ClusterIP().String(), PortNumber: sp.Port(), NodePort: sp.NodePort(),
			UsesClust: sp.UsesClusterEndpoints(), UsesLocal: sp.UsesLocalEndpoints(), HasAny: any,
			Cluster: endpointTexts(cl, sp.UsesClusterEndpoints()), Local: endpointTexts(lo, sp.UsesLocalEndpoints()), All: endpointTexts(all, true),
			AutoHints:   in.auto[spn.Namespace+"/"+spn.Name],
			ExternalIPs: texts(sp.ExternalIPs(), net.IP.String), LoadBalancerVIPs: texts(sp.LoadBalancerVIPs(), net.IP.String),
			SourceRanges: texts(sp.LoadBalancerSourceRanges(), (*net.IPNet).String), HealthCheckNodePort: sp.HealthCheckNodePort(),
			SessionAffinity: sp.SessionAffinityType(), StickyMaxAgeSeconds: sp.StickyMaxAgeSeconds(),
			InternalPolicyLocal: sp.InternalPolicyLocal(), ExternalPolicyLocal: sp.ExternalPolicyLocal(), ExternallyAccessible: sp.ExternallyAccessible(),
		})
	}
	key := func(p *portView) string {
		return fmt.Sprintf("%s/%s:%s/%s", p.Namespace, p.Name, p.Port, p.Protocol)
	}
	sort.Slice(ports, func(i, j int) bool { return key(&ports[i]) < key(&ports[j]) })

	health := []healthView{}
	ready := em.LocalReadyEndpoints()
	for name, port := range sm.HealthCheckNodePorts() {
		health = append(health, healthView{name.Namespace, name.Name, int(port), ready[name]})
	}
	sort.Slice(health, func(i, j int) bool {
		return health[i].Namespace+"/"+health[i].Name < health[j].Namespace+"/"+health[j].Name
	})
	return ports, health
}

// endpointTexts sorts endpoints as text. Upstream mixes nil and empty; here
// null means "this policy is never used".
func endpointTexts(l []proxy.Endpoint, used bool) []string {
	if !used && l == nil {
		return nil
	}
	return texts(l, proxy.Endpoint.String)
}

func texts[T any](l []T, text func(T) string) []string {
	r := make([]string, 0, len(l))
	for _, x := range l {
		r = append(r, text(x))
	}
	sort.Strings(r)
	return r
}
