package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// rng is SplitMix64; n(k) = next() mod k; p(pct) = n(100) < pct.
type rng uint64

func (r *rng) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}
func (r *rng) n(k int) int         { return int(r.next() % uint64(k)) }
func (r *rng) p(pct int) bool      { return r.n(100) < pct }
func pick[T any](r *rng, l ...T) T { return l[r.n(len(l))] }

// w picks an index with the given weights.
func (r *rng) w(weights ...int) int {
	t := 0
	for _, x := range weights {
		t += x
	}
	k := r.n(t)
	for i, x := range weights {
		if k < x {
			return i
		}
		k -= x
	}
	panic("w")
}

var epoch = time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC)

func at(sec int) metav1.Time { return metav1.Time{Time: epoch.Add(time.Duration(sec) * time.Second)} }

func ptr[T any](x T) *T { return &x }

type genOpts struct {
	seed                     uint64
	services, pods, nodes    int
	existing, shared, noAuto bool
	odd, vips, allNodes      bool
}

func generate(o genOpts, g *engine) *cluster {
	r := rng(o.seed)
	c := &cluster{AllNodes: o.allNodes}
	nn := o.nodes
	if nn == 0 {
		nn = 1 + r.n(6)
	}
	zones := 1 + r.n(4)
	nsN := 1 + r.n(3)
	apps := 1 + r.n(4)
	c.Max = pick(&r, int32(1), 2, 3, 5, 10, 100, 100, 100)
	zoneless := r.p(15) // some clusters have nodes without zone, most have none
	for i := 0; i < nn; i++ {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i), UID: types.UID(fmt.Sprintf("node-uid-%d", i)), Labels: map[string]string{"kubernetes.io/hostname": fmt.Sprintf("node-%d", i)}}}
		if !(zoneless && r.p(30)) {
			n.Labels[v1.LabelTopologyZone] = fmt.Sprintf("zone-%c", 'a'+r.n(zones))
		}
		if r.p(5) {
			n.Labels["node-role.kubernetes.io/control-plane"] = ""
		}
		st := v1.ConditionTrue
		if r.p(8) {
			st = pick(&r, v1.ConditionFalse, v1.ConditionUnknown)
		}
		n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: st, LastHeartbeatTime: at(0), LastTransitionTime: at(0)}}
		if !r.p(2) {
			n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse(pick(&r, "2", "4", "3500m", "8"))}
		}
		c.Nodes = append(c.Nodes, n)
	}
	c.NodeName = fmt.Sprintf("node-%d", r.n(nn))
	if r.p(3) {
		c.NodeName = "node-unknown"
	}
	portNames := []string{"http", "https", "dns", "metrics"}
	protos := []v1.Protocol{v1.ProtocolTCP, v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP}
	nodePort := int32(30000)
	for i := 0; i < o.services; i++ {
		s := &v1.Service{}
		s.Name = fmt.Sprintf("svc-%d", i)
		s.Namespace = fmt.Sprintf("ns-%d", r.n(nsN))
		s.UID = types.UID(fmt.Sprintf("svc-uid-%d", i))
		s.ResourceVersion = fmt.Sprint(100 + i)
		s.CreationTimestamp = at(r.n(100))
		if r.p(40) {
			s.Labels = map[string]string{"team": pick(&r, "red", "blue")}
			if r.p(8) {
				s.Labels[pick(&r, v1.IsHeadlessService, discovery.LabelManagedBy, "endpoints.kubernetes.io/managed-by", labelProxyName)] = "x"
			}
		}
		if r.p(3) {
			s.DeletionTimestamp = ptr(at(200))
			s.Finalizers = []string{"example.com/f"}
		}
		typ := r.w(45, 12, 14, 7, 22) // ClusterIP NodePort LoadBalancer ExternalName headless
		s.Spec.Type = []v1.ServiceType{v1.ServiceTypeClusterIP, v1.ServiceTypeNodePort, v1.ServiceTypeLoadBalancer, v1.ServiceTypeExternalName, v1.ServiceTypeClusterIP}[typ]
		fam := r.w(50, 12, 25, 13)
		if typ != 3 {
			s.Spec.IPFamilies = [][]v1.IPFamily{{v1.IPv4Protocol}, {v1.IPv6Protocol}, {v1.IPv4Protocol, v1.IPv6Protocol}, {v1.IPv6Protocol, v1.IPv4Protocol}}[fam]
			s.Spec.IPFamilyPolicy = ptr(v1.IPFamilyPolicySingleStack)
			if fam > 1 {
				s.Spec.IPFamilyPolicy = ptr(v1.IPFamilyPolicyRequireDualStack)
			}
			if typ == 4 {
				s.Spec.ClusterIP = "None"
				s.Spec.ClusterIPs = []string{"None"}
			} else {
				for _, f := range s.Spec.IPFamilies {
					if f == v1.IPv4Protocol {
						s.Spec.ClusterIPs = append(s.Spec.ClusterIPs, fmt.Sprintf("10.96.%d.%d", i/250, i%250+1))
					} else {
						s.Spec.ClusterIPs = append(s.Spec.ClusterIPs, fmt.Sprintf("2001:db8:96::%x", i+1))
					}
				}
				s.Spec.ClusterIP = s.Spec.ClusterIPs[0]
			}
		} else {
			s.Spec.ExternalName = "example.com"
		}
		switch r.w(60, 22, 8, 10) {
		case 0:
			s.Spec.Selector = map[string]string{"app": fmt.Sprintf("a%d", r.n(apps))}
		case 1:
			s.Spec.Selector = map[string]string{"app": fmt.Sprintf("a%d", r.n(apps)), "tier": pick(&r, "x", "y")}
		case 2:
			s.Spec.Selector = map[string]string{"tier": pick(&r, "x", "y")}
		}
		np := r.w(8, 55, 25, 12)
		if np == 0 && typ != 4 && typ != 3 {
			np = 1
		}
		for j := 0; j < np; j++ {
			p := v1.ServicePort{Port: int32(80 + j), Protocol: protos[r.n(len(protos))]}
			if np > 1 || r.p(60) {
				p.Name = fmt.Sprintf("p%d", j)
			}
			if r.p(45) {
				p.TargetPort = intstr.FromString(portNames[r.n(len(portNames))])
			} else {
				p.TargetPort = intstr.FromInt32(int32(8080 + r.n(3)))
			}
			if r.p(20) {
				p.AppProtocol = ptr(pick(&r, "http", "kubernetes.io/h2c"))
			}
			if typ == 1 || typ == 2 {
				p.NodePort = nodePort
				nodePort++
			}
			s.Spec.Ports = append(s.Spec.Ports, p)
		}
		s.Spec.SessionAffinity = v1.ServiceAffinityNone
		if typ != 3 && r.p(12) {
			s.Spec.SessionAffinity = v1.ServiceAffinityClientIP
			s.Spec.SessionAffinityConfig = &v1.SessionAffinityConfig{ClientIP: &v1.ClientIPConfig{TimeoutSeconds: ptr(int32(10800))}}
		}
		s.Spec.PublishNotReadyAddresses = r.p(15)
		if typ != 3 {
			s.Spec.InternalTrafficPolicy = ptr(v1.ServiceInternalTrafficPolicyCluster)
			if r.p(22) {
				s.Spec.InternalTrafficPolicy = ptr(v1.ServiceInternalTrafficPolicyLocal)
			}
		}
		if typ == 1 || typ == 2 {
			s.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyCluster
			if r.p(45) {
				s.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal
				if typ == 2 {
					s.Spec.HealthCheckNodePort = nodePort
					nodePort++
				}
			}
		}
		if typ == 2 && r.p(80) {
			s.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: fmt.Sprintf("10.200.0.%d", i%250+1)}}
		}
		if typ != 3 && typ != 4 && r.p(10) {
			s.Spec.ExternalIPs = []string{fmt.Sprintf("10.201.0.%d", i%250+1)}
			s.Spec.ExternalTrafficPolicy = pick(&r, v1.ServiceExternalTrafficPolicyCluster, v1.ServiceExternalTrafficPolicyLocal)
			if typ == 2 && s.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal && s.Spec.HealthCheckNodePort == 0 {
				s.Spec.HealthCheckNodePort = nodePort
				nodePort++
			}
			if s.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyCluster {
				s.Spec.HealthCheckNodePort = 0
			}
		}
		if typ != 3 && r.p(35) {
			s.Spec.TrafficDistribution = ptr(pick(&r, "PreferClose", "PreferSameZone", "PreferSameNode"))
		}
		if r.p(10) && !o.noAuto {
			k := pick(&r, "service.kubernetes.io/topology-mode", "service.kubernetes.io/topology-aware-hints")
			s.Annotations = map[string]string{k: pick(&r, "Auto", "auto", "Disabled")}
		}
		c.Services = append(c.Services, s)
	}
	for i := 0; i < o.pods; i++ {
		c.Pods = append(c.Pods, genPod(&r, i, o, nn, nsN, apps, portNames, protos))
	}
	if o.shared && len(c.Pods) > 1 {
		for k := 0; k < 1+len(c.Pods)/20; k++ {
			a, b := c.Pods[r.n(len(c.Pods))], c.Pods[r.n(len(c.Pods))]
			b.Status.PodIP, b.Status.PodIPs = a.Status.PodIP, a.Status.PodIPs
		}
	}
	// hand-made slices for some services without selector
	for i, s := range c.Services {
		if s.Spec.Selector != nil || s.Spec.Type == v1.ServiceTypeExternalName || !r.p(60) {
			continue
		}
		for _, f := range s.Spec.IPFamilies {
			sl := &discovery.EndpointSlice{AddressType: discovery.AddressType(f)}
			sl.Name, sl.Namespace = fmt.Sprintf("manual-%d-%s", i, map[bool]string{true: "v4", false: "v6"}[f == v1.IPv4Protocol]), s.Namespace
			sl.UID, sl.ResourceVersion, sl.Generation = types.UID("uid-"+sl.Name), "1", 1
			sl.Labels = map[string]string{discovery.LabelServiceName: s.Name}
			if r.p(60) {
				sl.Labels[discovery.LabelManagedBy] = "staff"
			}
			if s.Spec.ClusterIP == "None" {
				sl.Labels[v1.IsHeadlessService] = ""
			}
			for _, p := range s.Spec.Ports {
				if r.p(90) {
					sl.Ports = append(sl.Ports, discovery.EndpointPort{Name: ptr(p.Name), Port: ptr(int32(9000 + r.n(3))), Protocol: ptr(p.Protocol)})
				}
			}
			hintMode := r.n(4) // none, zones, nodes, mixed
			for k := 0; k < r.n(6); k++ {
				ip := fmt.Sprintf("10.50.%d.%d", i%250, k+1)
				if f == v1.IPv6Protocol {
					ip = fmt.Sprintf("2001:db8:50:%x::%x", i+1, k+1)
				}
				ep := discovery.Endpoint{Addresses: []string{ip}}
				tri := func() *bool {
					switch r.w(30, 45, 25) {
					case 1:
						return ptr(true)
					case 2:
						return ptr(false)
					}
					return nil
				}
				ep.Conditions = discovery.EndpointConditions{Ready: tri(), Serving: tri(), Terminating: tri()}
				if r.p(70) {
					ep.NodeName = ptr(fmt.Sprintf("node-%d", r.n(nn)))
				}
				if r.p(60) {
					ep.Zone = ptr(fmt.Sprintf("zone-%c", 'a'+r.n(zones)))
				}
				if hintMode == 1 || (hintMode == 3 && r.p(50)) {
					ep.Hints = &discovery.EndpointHints{ForZones: []discovery.ForZone{{Name: fmt.Sprintf("zone-%c", 'a'+r.n(zones))}}}
				}
				if hintMode == 2 || (hintMode == 3 && r.p(50)) {
					if ep.Hints == nil {
						ep.Hints = &discovery.EndpointHints{}
					}
					ep.Hints.ForNodes = []discovery.ForNode{{Name: fmt.Sprintf("node-%d", r.n(nn))}}
				}
				sl.Endpoints = append(sl.Endpoints, ep)
			}
			if sl.Endpoints == nil {
				sl.Endpoints = []discovery.Endpoint{}
			}
			c.Slices = append(c.Slices, sl)
		}
	}
	if o.existing {
		evolve(&r, c, o, g, nn, nsN, apps, portNames, protos)
	}
	if o.vips {
		moreVIPs(c, o.seed)
	}
	return c
}

func genPod(r *rng, i int, o genOpts, nn, nsN, apps int, portNames []string, protos []v1.Protocol) *v1.Pod {
	p := &v1.Pod{}
	p.Name = fmt.Sprintf("pod-%d", i)
	p.Namespace = fmt.Sprintf("ns-%d", r.n(nsN))
	p.UID = types.UID(fmt.Sprintf("pod-uid-%d", i))
	p.ResourceVersion = fmt.Sprint(10000 + i)
	p.CreationTimestamp = at(r.n(100))
	if !r.p(4) {
		p.Labels = map[string]string{"app": fmt.Sprintf("a%d", r.n(apps))}
		if r.p(60) {
			p.Labels["tier"] = pick(r, "x", "y")
		}
	}
	switch r.w(94, 3, 3) {
	case 0:
		p.Spec.NodeName = fmt.Sprintf("node-%d", r.n(nn))
	case 1:
		p.Spec.NodeName = "node-missing"
	}
	for k := 0; k <= r.n(2); k++ {
		ct := v1.Container{Name: fmt.Sprintf("c%d", k)}
		for j := 0; j < r.n(4); j++ {
			cp := v1.ContainerPort{ContainerPort: int32(8080 + r.n(4)), Protocol: protos[r.n(len(protos))]}
			if r.p(80) {
				cp.Name = portNames[r.n(len(portNames))]
			}
			ct.Ports = append(ct.Ports, cp)
		}
		p.Spec.Containers = append(p.Spec.Containers, ct)
	}
	if r.p(20) {
		ct := v1.Container{Name: "init0", Ports: []v1.ContainerPort{{Name: portNames[r.n(len(portNames))], ContainerPort: 7000, Protocol: protos[r.n(len(protos))]}}}
		if r.p(60) {
			ct.RestartPolicy = ptr(v1.ContainerRestartPolicyAlways)
		}
		p.Spec.InitContainers = []v1.Container{ct}
	}
	if r.p(20) {
		p.Spec.Hostname = fmt.Sprintf("host-%d", i)
		if r.p(75) {
			p.Spec.Subdomain = fmt.Sprintf("svc-%d", r.n(o.services+1))
		}
	}
	p.Spec.RestartPolicy = pick(r, v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever)
	p.Status.Phase = []v1.PodPhase{v1.PodRunning, v1.PodPending, v1.PodSucceeded, v1.PodFailed, v1.PodUnknown}[r.w(80, 8, 4, 5, 3)]
	switch r.w(66, 22, 4, 8) {
	case 0:
		p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: at(100 + r.n(100))}}
	case 1:
		p.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue}, {Type: v1.PodReady, Status: v1.ConditionFalse, LastTransitionTime: at(100 + r.n(100))}}
	case 2:
		p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionUnknown}}
	}
	if r.p(12) {
		p.DeletionTimestamp = ptr(at(300))
		p.DeletionGracePeriodSeconds = ptr(int64(30))
	}
	v4 := fmt.Sprintf("10.%d.%d.%d", 1+i/62500, i/250%250, i%250+1)
	v6 := fmt.Sprintf("2001:db8:1::%x", i+1)
	if o.odd && r.p(10) { // irregular spellings that old API servers accepted
		v4 = fmt.Sprintf("10.%03d.%d.%d", 1+i/62500, i/250%250, i%250+1)
		v6 = fmt.Sprintf("2001:DB8:1:0:0:0:0:%04X", i+1)
	}
	var ips []string
	switch r.w(52, 12, 20, 9, 4, 3) {
	case 0:
		ips = []string{v4}
	case 1:
		ips = []string{v6}
	case 2:
		ips = []string{v4, v6}
	case 3:
		ips = []string{v6, v4}
	case 4: // no address yet
	case 5: // podIP without podIPs
		p.Status.PodIP = v4
	}
	if p.Spec.NodeName == "" && !o.odd { // an unscheduled pod has no address
		ips = nil
		p.Status.PodIP = ""
	}
	for _, x := range ips {
		p.Status.PodIPs = append(p.Status.PodIPs, v1.PodIP{IP: x})
	}
	if len(ips) > 0 {
		p.Status.PodIP = ips[0]
	}
	return p
}

// evolve runs upstream once on the cluster, keeps the objects it wrote as the
// existing state and then changes pods and services.
func evolve(r *rng, c *cluster, o genOpts, g *engine, nn, nsN, apps int, portNames []string, protos []v1.Protocol) {
	before := &cluster{NodeName: c.NodeName, Max: c.Max, Services: c.Services, Pods: c.Pods, Nodes: c.Nodes, Slices: c.Slices}
	_, slices, eps := g.run(before, false)
	// canonical redistribution, because upstream's placement follows map order
	groups := map[string][]*discovery.EndpointSlice{}
	var names []string
	for _, s := range slices {
		s = s.DeepCopy()
		if s.Labels[discovery.LabelManagedBy] != "endpointslice-controller.k8s.io" {
			continue
		}
		k := s.Namespace + "/" + s.Labels[discovery.LabelServiceName] + "/" + string(s.AddressType) + "/" + js(sortAny(generic(s.Ports)))
		if groups[k] == nil {
			names = append(names, k)
		}
		groups[k] = append(groups[k], s)
	}
	auto := map[string]bool{}
	for _, s := range c.Services {
		auto[s.Namespace+"/"+s.Name] = hintsEnabled(s.Annotations)
	}
	sort.Strings(names)
	n := 0
	for _, k := range names {
		l := groups[k]
		var all []discovery.Endpoint
		var lens []int
		for _, s := range l {
			all = append(all, s.Endpoints...)
			lens = append(lens, len(s.Endpoints))
		}
		if auto[l[0].Namespace+"/"+l[0].Labels[discovery.LabelServiceName]] {
			for i := range all { // hints followed map order; start without
				all[i].Hints = nil
			}
		}
		sort.Slice(all, func(i, j int) bool { return js(all[i]) < js(all[j]) })
		sort.Sort(sort.Reverse(sort.IntSlice(lens)))
		for i, s := range l {
			n++
			s.Name = fmt.Sprintf("%s-e%05d", s.Labels[discovery.LabelServiceName], n)
			s.GenerateName = ""
			s.UID, s.ResourceVersion, s.Generation = types.UID("uid-"+s.Name), fmt.Sprint(500+n), 1
			s.Endpoints = append([]discovery.Endpoint{}, all[:lens[i]]...)
			all = all[lens[i]:]
			if r.p(4) && len(s.Labels) > 2 {
				delete(s.Labels, "team") // somebody edited the labels
			}
			c.Slices = append(c.Slices, s)
		}
	}
	var ks []string
	for k := range eps {
		ks = append(ks, k)
	}
	sort.Strings(ks)
	for i, k := range ks {
		x := eps[k].DeepCopy()
		x.ResourceVersion, x.UID = fmt.Sprint(900+i), types.UID("ep-uid-"+k)
		x.Namespace = func() string {
			for _, s := range c.Services {
				if s.Namespace+"/"+s.Name == k {
					return s.Namespace
				}
			}
			return x.Namespace
		}()
		if r.p(5) {
			x.Annotations["example.com/foreign"] = "1"
		}
		if r.p(3) {
			x.Labels["foreign"] = "1"
		}
		c.Endpoints = append(c.Endpoints, x)
	}
	// change the world
	var pods []*v1.Pod
	for i, p := range c.Pods {
		p = p.DeepCopy()
		switch r.w(70, 8, 8, 4, 4, 3, 3) {
		case 1: // flip readiness
			for k := range p.Status.Conditions {
				cd := &p.Status.Conditions[k]
				if cd.Type == v1.PodReady {
					if cd.Status == v1.ConditionTrue {
						cd.Status = v1.ConditionFalse
					} else {
						cd.Status = v1.ConditionTrue
					}
					cd.LastTransitionTime = at(400 + r.n(50))
				}
			}
		case 2: // gone
			continue
		case 3:
			p.DeletionTimestamp = ptr(at(410))
		case 4:
			p.Status.Phase = pick(r, v1.PodSucceeded, v1.PodFailed)
		case 5: // moved to other labels
			if p.Labels != nil {
				p.Labels["app"] = fmt.Sprintf("a%d", r.n(apps))
			}
		case 6: // replaced under a new name
			p = genPod(r, o.pods+i, o, nn, nsN, apps, portNames, protos)
		}
		pods = append(pods, p)
	}
	for k := 0; k < r.n(1+o.pods/5); k++ {
		pods = append(pods, genPod(r, 2*o.pods+k, o, nn, nsN, apps, portNames, protos))
	}
	c.Pods = pods
	var svcs []*v1.Service
	for i, s := range c.Services {
		s = s.DeepCopy()
		switch r.w(76, 6, 5, 3, 3, 3, 4) {
		case 6: // dual stack added or removed
			if len(s.Spec.IPFamilies) == 2 {
				s.Spec.IPFamilies = s.Spec.IPFamilies[:1]
				s.Spec.ClusterIPs = s.Spec.ClusterIPs[:1]
				s.Spec.IPFamilyPolicy = ptr(v1.IPFamilyPolicySingleStack)
			} else if len(s.Spec.IPFamilies) == 1 {
				s.Spec.IPFamilyPolicy = ptr(v1.IPFamilyPolicyRequireDualStack)
				v4 := s.Spec.IPFamilies[0] == v1.IPv4Protocol
				s.Spec.IPFamilies = append(s.Spec.IPFamilies, map[bool]v1.IPFamily{true: v1.IPv6Protocol, false: v1.IPv4Protocol}[v4])
				if s.Spec.ClusterIP != "None" {
					s.Spec.ClusterIPs = append(s.Spec.ClusterIPs, map[bool]string{true: fmt.Sprintf("2001:db8:97::%x", i+1), false: fmt.Sprintf("10.97.%d.%d", i/250, i%250+1)}[v4])
				}
			}
		case 1:
			if s.Labels == nil {
				s.Labels = map[string]string{}
			}
			s.Labels["team"] = pick(r, "red", "green")
		case 2:
			for k := range s.Spec.Ports {
				if s.Spec.Ports[k].TargetPort.Type == intstr.Int {
					s.Spec.Ports[k].TargetPort.IntVal++
				}
			}
		case 3:
			if s.Spec.Type != v1.ServiceTypeExternalName {
				s.Spec.TrafficDistribution = pick(r, nil, ptr("PreferClose"), ptr("PreferSameNode"))
			}
		case 4:
			s.Spec.PublishNotReadyAddresses = !s.Spec.PublishNotReadyAddresses
		case 5:
			if r.p(50) {
				continue // deleted
			}
			s.UID += "-re" // deleted and created again
		}
		svcs = append(svcs, s)
	}
	c.Services = svcs
}

// moreVIPs varies what is programmed beside the cluster IP. It draws from a
// generator of its own, so that a seed gives the same cluster otherwise.
func moreVIPs(c *cluster, seed uint64) {
	r := rng(seed ^ 0xa24baed4963ee407)
	// Validation lets spaces around a range pass; a zero prefix allows everybody.
	ranges := []string{"192.0.2.0/24", "198.51.100.128/25", " 203.0.113.0/24", "192.0.2.7/32", "0.0.0.0/0", "2001:db8:100::/40", "2001:db8:100::1/128 ", "::/0"}
	for i, s := range c.Services {
		if s.Spec.Type == v1.ServiceTypeExternalName || s.Spec.ClusterIP == v1.ClusterIPNone {
			continue
		}
		if s.Spec.SessionAffinityConfig != nil && r.p(60) {
			s.Spec.SessionAffinityConfig.ClientIP.TimeoutSeconds = ptr(pick(&r, int32(1), 60, 86400))
		}
		if r.p(15) {
			s.Spec.ExternalIPs = append(s.Spec.ExternalIPs, pick(&r, fmt.Sprintf("2001:db8:201::%x", i+1), fmt.Sprintf("10.202.0.%d", i%250+1)))
			if s.Spec.ExternalTrafficPolicy == "" {
				s.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyCluster
			}
		}
		if s.Spec.Type != v1.ServiceTypeLoadBalancer {
			continue
		}
		if r.p(50) {
			for k := 0; k <= r.n(3); k++ {
				s.Spec.LoadBalancerSourceRanges = append(s.Spec.LoadBalancerSourceRanges, ranges[r.n(len(ranges))])
			}
		}
		ingress := &s.Status.LoadBalancer.Ingress
		if r.p(40) {
			*ingress = append(*ingress, v1.LoadBalancerIngress{IP: fmt.Sprintf("2001:db8:200::%x", i+1)})
		}
		for k := range *ingress {
			switch r.w(60, 20, 20) {
			case 1:
				(*ingress)[k].IPMode = ptr(v1.LoadBalancerIPModeVIP)
			case 2:
				(*ingress)[k].IPMode = ptr(v1.LoadBalancerIPModeProxy)
			}
		}
		if r.p(10) {
			*ingress = append(*ingress, v1.LoadBalancerIngress{Hostname: "lb.example.com"})
		}
	}
}

func cmdGen(args []string) {
	fs := flag.NewFlagSet("gen", flag.ExitOnError)
	seed := fs.Uint64("seed", 1, "first seed")
	count := fs.Int("count", 1, "clusters, seeds seed..seed+count-1")
	svc := fs.Int("services", 0, "0: 1..12, from the seed")
	pods := fs.Int("pods", 0, "0: 0..60, from the seed")
	nodes := fs.Int("nodes", 0, "0: 1..6, from the seed")
	doc := fs.Bool("doc", false, "one document per line (for serve); default: one object per line (for compute)")
	ex := fs.Bool("existing", false, "start from what upstream wrote earlier, then change pods and services")
	shared := fs.Bool("shared-ips", false, "some pods share addresses (the kube-proxy view is then not unique)")
	odd := fs.Bool("odd-ips", false, "irregular address spellings")
	noAuto := fs.Bool("no-auto", false, "no topology-mode Auto")
	vips := fs.Bool("vips", false, "more of what is programmed: source ranges, ingress modes, second families, affinity timeouts")
	allNodes := fs.Bool("all-nodes", false, "ask for kube-proxy's view on every node")
	fs.Parse(args)
	enc := json.NewEncoder(os.Stdout)
	enc.SetEscapeHTML(false)
	g := &engine{}
	for i := 0; i < *count; i++ {
		o := genOpts{seed: *seed + uint64(i), services: *svc, pods: *pods, nodes: *nodes, existing: *ex, shared: *shared, odd: *odd, noAuto: *noAuto, vips: *vips, allNodes: *allNodes}
		rr := rng(o.seed ^ 0x5bd1e995)
		if o.services == 0 {
			o.services = 1 + rr.n(12)
		}
		if o.pods == 0 {
			o.pods = rr.n(61)
		}
		c := generate(o, g)
		objs := c.objects()
		if *doc {
			w := wire{NodeName: c.NodeName, AllNodes: c.AllNodes, Max: c.Max}
			for _, x := range objs {
				b, _ := json.Marshal(x)
				w.Items = append(w.Items, b)
			}
			enc.Encode(w)
			continue
		}
		enc.Encode(map[string]any{"kind": "OracleParameters", "nodeName": c.NodeName, "allNodes": c.AllNodes, "maxEndpointsPerSlice": c.Max})
		for _, x := range objs {
			enc.Encode(x)
		}
	}
}
