package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	cbm "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	endpointslicerec "k8s.io/endpointslice"
	"k8s.io/endpointslice/metrics"
	"k8s.io/endpointslice/topologycache"
	"k8s.io/endpointslice/trafficdist"
	endpointsliceutil "k8s.io/endpointslice/util"
	endpointsv1 "k8s.io/kubernetes/pkg/api/v1/endpoints"
	mirrormetrics "k8s.io/kubernetes/pkg/controller/endpointslicemirroring/metrics"
)

type m = map[string]any

var metricsMu sync.Mutex

var runners = map[string]runner{
	"endpoints-sync": runEndpointsSync,
	"address-types": func(v *vector) any {
		s := getAddressTypes(discard, conv[v1.Service](v.Input["service"]))
		l := []string{}
		for t := range s {
			l = append(l, string(t))
		}
		sort.Strings(l)
		return m{"addressTypes": l}
	},
	"truncate-subsets": func(v *vector) any {
		ready, nr := *conv[[]int](v.Input["ready"]), *conv[[]int](v.Input["notReady"])
		e := &v1.Endpoints{}
		n := max(len(ready), len(nr))
		mk := func(k int) []v1.EndpointAddress {
			return make([]v1.EndpointAddress, k)
		}
		for i := 0; i < n; i++ {
			var s v1.EndpointSubset
			if i < len(ready) {
				s.Addresses = mk(ready[i])
			}
			if i < len(nr) {
				s.NotReadyAddresses = mk(nr[i])
			}
			e.Subsets = append(e.Subsets, s)
		}
		t := epTruncate(e)
		r, q := []int{}, []int{}
		for _, s := range e.Subsets {
			r = append(r, len(s.Addresses))
			q = append(q, len(s.NotReadyAddresses))
		}
		return m{"truncated": t, "ready": r, "notReady": q}
	},
	"repack-subsets": func(v *vector) any {
		e := conv[struct {
			Subsets []v1.EndpointSubset `json:"subsets"`
		}](v.Input)
		return m{"subsets": endpointsv1.RepackSubsets(e.Subsets)}
	},
	"find-port": func(v *vector) any {
		p, err := endpointslicerec.FindPort(conv[v1.Pod](v.Input["pod"]), conv[v1.ServicePort](v.Input["servicePort"]))
		if err != nil {
			return m{"port": nil}
		}
		return m{"port": p}
	},
	"endpoint-ports": func(v *vector) any {
		return m{"ports": getEndpointPorts(discard, conv[v1.Service](v.Input["service"]), conv[v1.Pod](v.Input["pod"]))}
	},
	"pod-inclusion": func(v *vector) any {
		return m{"included": endpointsliceutil.ShouldPodBeInEndpoints(conv[v1.Pod](v.Input["pod"]), v.Input["includeTerminating"].(bool))}
	},
	"hostname": func(v *vector) any {
		return m{"setHostname": endpointsliceutil.ShouldSetHostname(conv[v1.Pod](v.Input["pod"]), conv[v1.Service](v.Input["service"]))}
	},
	"stale-endpoints": func(v *vector) any {
		t := newStaleTracker()
		var out []any
		for _, s := range v.Input["steps"].([]any) {
			st := s.(map[string]any)
			str := func(k string) string { r, _ := st[k].(string); return r }
			e := &v1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: str("namespace"), Name: str("name"), ResourceVersion: str("resourceVersion")}}
			switch str("op") {
			case "isStale":
				out = append(out, staleIs(t, e))
			case "markStale":
				staleMark(t, e)
				out = append(out, nil)
			case "delete":
				staleDelete(t, e.Namespace, e.Name)
				out = append(out, nil)
			default:
				panic("op " + str("op"))
			}
		}
		return m{"results": out}
	},
	"pod-event": func(v *vector) any {
		ix := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		addAll(ix, convList[v1.Service](v.Input["services"]))
		o, n := conv[v1.Pod](v.Input["oldPod"]), conv[v1.Pod](v.Input["newPod"])
		var oi, ni any
		if o != nil {
			oi = o
		}
		if n != nil {
			ni = n
		}
		key := endpointsliceutil.GetPodUpdateProjectionKey(oi, ni)
		s, err := endpointsliceutil.GetServicesToUpdate(corelisters.NewServiceLister(ix), key)
		if err != nil {
			panic(err)
		}
		var pc, mc any
		if o != nil && n != nil && o.ResourceVersion != n.ResourceVersion {
			pc, mc = podEndpointsChanged(o, n)
		}
		return m{"podChanged": pc, "membershipChanged": mc, "enqueue": sets.List(s)}
	},
	"batching": runBatching,
	"backoff":  runBackoff,
	"leftover": func(v *vector) any {
		e := newEnv(100, 1000, 0)
		defer e.close()
		addAll(e.eps, convList[v1.Endpoints](v.Input["endpoints"]))
		epLeftover(e.epc)
		q := field(e.epc, "queue").Interface().(workqueue.TypedRateLimitingInterface[string])
		keys := []string{}
		for q.Len() > 0 {
			k, _ := q.Get()
			q.Done(k)
			keys = append(keys, k)
		}
		sort.Strings(keys)
		return m{"enqueue": keys}
	},
	"trigger-time": func(v *vector) any {
		t := endpointsliceutil.NewTriggerTimeTracker()
		var out []any
		for _, s := range v.Input["steps"].([]any) {
			st := s.(map[string]any)
			switch st["op"] {
			case "sync":
				svc := conv[v1.Service](st["service"])
				r := t.ComputeEndpointLastChangeTriggerTime(svc.Namespace, svc, convList[v1.Pod](st["pods"]))
				if r.IsZero() {
					out = append(out, nil)
				} else {
					out = append(out, r.UTC().Format(time.RFC3339Nano))
				}
			case "delete":
				t.DeleteService(st["namespace"].(string), st["name"].(string))
				out = append(out, nil)
			default:
				panic("op")
			}
		}
		return m{"results": out}
	},
	"pod-endpoint": func(v *vector) any {
		return m{"endpoint": podToEndpoint(conv[v1.Pod](v.Input["pod"]), conv[v1.Node](v.Input["node"]), conv[v1.Service](v.Input["service"]), discovery.AddressType(v.Input["addressType"].(string)))}
	},
	"endpoint-equal": func(v *vector) any {
		return m{"equal": endpointsliceutil.EndpointsEqualBeyondHash(conv[discovery.Endpoint](v.Input["a"]), conv[discovery.Endpoint](v.Input["b"]))}
	},
	"slice-labels": func(v *vector) any {
		l, c := setEndpointSliceLabels(discard, conv[discovery.EndpointSlice](v.Input["slice"]), conv[v1.Service](v.Input["service"]), "endpointslice-controller.k8s.io")
		return m{"labels": l, "changed": c}
	},
	"hints-enabled": func(v *vector) any {
		return m{"enabled": hintsEnabled(*conv[map[string]string](v.Input["annotations"]))}
	},
	"slice-reconcile": runSliceReconcile,
	"slice-tracker": func(v *vector) any {
		t := endpointsliceutil.NewEndpointSliceTracker()
		var out []any
		for _, s := range v.Input["steps"].([]any) {
			st := s.(map[string]any)
			sl := conv[discovery.EndpointSlice](st["slice"])
			switch st["op"] {
			case "update":
				t.Update(sl)
				out = append(out, nil)
			case "expectDeletion":
				t.ExpectDeletion(sl)
				out = append(out, nil)
			case "has":
				out = append(out, t.Has(sl))
			case "shouldSync":
				out = append(out, t.ShouldSync(sl))
			case "handleDeletion":
				out = append(out, t.HandleDeletion(sl))
			case "deleteService":
				t.DeleteService(st["namespace"].(string), st["name"].(string))
				out = append(out, nil)
			case "staleSlices":
				out = append(out, t.StaleSlices(conv[v1.Service](st["service"]), convList[discovery.EndpointSlice](st["slices"])))
			default:
				panic("op")
			}
		}
		return m{"results": out}
	},
	"mirror": runMirror,
	"node-view": func(v *vector) any {
		c := &cluster{NodeName: v.Input["nodeName"].(string), Services: convList[v1.Service](v.Input["services"]), Nodes: convList[v1.Node](v.Input["nodes"])}
		p := proxyView(c, convList[discovery.EndpointSlice](v.Input["slices"]))
		out := m{}
		for f, l := range map[string][]portView{"IPv4": p.IPv4, "IPv6": p.IPv6} {
			x := []any{}
			for _, q := range l {
				e := m{"service": q.Namespace + "/" + q.Name, "port": q.Port, "protocol": q.Protocol, "hasAnyEndpoints": q.HasAny, "usesCluster": q.UsesClust, "usesLocal": q.UsesLocal, "reachable": q.All}
				if q.UsesClust {
					e["cluster"] = q.Cluster
				}
				if q.UsesLocal {
					e["local"] = q.Local
				}
				x = append(x, e)
			}
			out[f] = x
		}
		return out
	},
	"zone-cpu": func(v *vector) any {
		tc := topologycache.NewTopologyCache()
		tc.SetNodes(discard, convList[v1.Node](v.Input["nodes"]))
		r := *field(tc, "cpuRatiosByZone").Addr().Interface().(*map[string]float64)
		if r == nil {
			return m{"ratios": nil}
		}
		return m{"ratios": r}
	},
	"zone-allocations": func(v *vector) any {
		tc := tcWithRatios(v.Input["ratios"])
		n, _ := v.Input["readyEndpoints"].(json.Number).Int64()
		a, ev := getAllocations(tc, int(n))
		var am, reason any
		if a != nil {
			x := m{}
			for z, al := range a {
				x[z] = m{"minimum": al.minimum, "maximum": al.maximum, "desired": al.desired}
			}
			am = x
		}
		if ev != nil {
			reason = causeOf(ev.Message)
		}
		return m{"allocations": am, "reason": reason}
	},
	"giving-receiving": func(v *vector) any {
		d := *conv[map[string]float64](v.Input["desired"])
		al := map[string]allocation{}
		for z, f := range d {
			al[z] = allocation{desired: f}
		}
		g, r := getGivingAndReceivingZones(al, *conv[map[string]int](v.Input["allocated"]))
		return m{"giving": g, "receiving": r}
	},
	"slice-hints-valid": func(v *vector) any {
		mx := *conv[map[string]int](v.Input["maximum"])
		al := map[string]allocation{}
		for z, n := range mx {
			al[z] = allocation{maximum: n}
		}
		h := getHintsByZone(conv[discovery.EndpointSlice](v.Input["slice"]), topologycache.EndpointZoneInfo(*conv[map[string]int](v.Input["allocated"])), al)
		if h == nil {
			return m{"hintsByZone": nil}
		}
		return m{"hintsByZone": h}
	},
	"add-hints": runAddHints,
	"zone-overload": func(v *vector) any {
		ezi := topologycache.EndpointZoneInfo(*conv[map[string]int](v.Input["endpointsByZone"]))
		tc := tcWithRatios(v.Input["ratios"])
		var ratios map[string]float64
		if v.Input["ratios"] != nil {
			ratios = *conv[map[string]float64](v.Input["ratios"])
		}
		a := serviceOverloaded(ezi, ratios)
		tc.SetHints("ns/x", discovery.AddressTypeIPv4, ezi)
		b := len(tc.GetOverloadedServices()) > 0
		if a != b {
			panic("two upstream paths differ")
		}
		return m{"overloaded": a}
	},
	"traffic-distribution": func(v *vector) any {
		var td *string
		if s, ok := v.Input["trafficDistribution"].(string); ok {
			td = &s
		}
		l := func(k string) []*discovery.EndpointSlice { return convList[discovery.EndpointSlice](v.Input[k]) }
		c, u, n := trafficdist.ReconcileHints(td, l("create"), l("update"), l("unchanged"))
		return m{"create": stripMeta(c), "update": stripMeta(u), "unchanged": stripMeta(n)}
	},
}

// stripMeta removes the nil "ports"/empty metadata noise that JSON encoding adds.
func stripMeta(l []*discovery.EndpointSlice) any {
	return generic(l)
}

var causes = map[string]string{
	"NoZoneSpecified": topologycache.NoZoneSpecified, "NoAllocatedHintsForZones": topologycache.NoAllocatedHintsForZones,
	"TopologyAwareHintsEnabled": topologycache.TopologyAwareHintsEnabled, "TopologyAwareHintsDisabled": topologycache.TopologyAwareHintsDisabled,
	"InsufficientNodeInfo": topologycache.InsufficientNodeInfo, "NodesReadyInOneZoneOnly": topologycache.NodesReadyInOneZoneOnly,
	"InsufficientNumberOfEndpoints": topologycache.InsufficientNumberOfEndpoints, "MinAllocationExceedsOverloadThreshold": topologycache.MinAllocationExceedsOverloadThreshold,
}

func causeOf(msg string) string {
	for n, t := range causes {
		if strings.HasPrefix(msg, t) {
			return n
		}
	}
	return "?" + msg
}

func tcWithRatios(r any) *topologycache.TopologyCache {
	tc := topologycache.NewTopologyCache()
	p := field(tc, "cpuRatiosByZone").Addr().Interface().(*map[string]float64)
	if r == nil {
		*p = nil
	} else {
		*p = *conv[map[string]float64](r)
	}
	return tc
}

func runAddHints(v *vector) any {
	tc := tcWithRatios(v.Input["ratios"])
	l := func(k string) []*discovery.EndpointSlice { return convList[discovery.EndpointSlice](v.Input[k]) }
	si := &topologycache.SliceInfo{ServiceKey: "ns/svc", AddressType: discovery.AddressTypeIPv4, ToCreate: l("create"), ToUpdate: l("update"), Unchanged: l("unchanged")}
	c, u, evs := tc.AddHints(discard, si)
	var eo []any
	for _, e := range evs {
		eo = append(eo, m{"type": e.EventType, "reason": e.Reason, "cause": causeOf(e.Message)})
	}
	h := *field(tc, "endpointsByService").Addr().Interface().(*map[string]map[discovery.AddressType]topologycache.EndpointZoneInfo)
	return m{"create": c, "update": u, "events": eo, "hintsByZone": h["ns/svc"][discovery.AddressTypeIPv4]}
}

func runEndpointsSync(v *vector) any {
	e := newEnv(100, 1000, 0)
	defer e.close()
	svc := conv[v1.Service](v.Input["service"])
	pods := convList[v1.Pod](v.Input["pods"])
	addAll(e.pods, pods)
	var key string
	if svc != nil {
		key = svc.Namespace + "/" + svc.Name
	} else {
		key = v.Input["key"].(string)
	}
	if tt, ok := v.Input["triggerTime"]; ok && svc != nil {
		// prime the upstream tracker so that its next answer is tt
		tr := field(e.epc, "triggerTimeTracker").Interface().(*endpointsliceutil.TriggerTimeTracker)
		sel := []*v1.Pod{}
		for _, p := range pods {
			if p.Namespace == svc.Namespace && matches(svc.Spec.Selector, p.Labels) {
				sel = append(sel, p)
			}
		}
		if tt == nil {
			tr.ComputeEndpointLastChangeTriggerTime(svc.Namespace, svc, sel)
		} else {
			zero := svc.DeepCopy()
			zero.CreationTimestamp = metav1.Time{}
			tr.ComputeEndpointLastChangeTriggerTime(svc.Namespace, zero, sel)
			t, err := time.Parse(time.RFC3339Nano, tt.(string))
			if err != nil {
				panic(err)
			}
			svc.CreationTimestamp = metav1.Time{Time: t}
		}
	}
	if svc != nil {
		addAll(e.svcs, []*v1.Service{svc})
	}
	if ex := conv[v1.Endpoints](v.Input["existing"]); ex != nil {
		addAll(e.eps, []*v1.Endpoints{ex})
	}
	if rv, ok := v.Input["staleResourceVersion"].(string); ok {
		ns, name, _ := cache.SplitMetaNamespaceKey(key)
		staleMark(field(e.epc, "staleEndpointsTracker").UnsafePointer(), &v1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, ResourceVersion: rv}})
	}
	err := epSyncService(e.epc, context.Background(), key)
	acts := e.client.take()
	r := m{}
	switch {
	case err != nil && len(acts) == 0:
		r["action"] = "error"
		r["retry"] = true
	case err != nil:
		panic(err)
	case len(acts) == 0:
		r["action"] = "none"
	case len(acts) == 1:
		a := acts[0]
		r["action"] = a.verb
		if a.ep != nil {
			if _, ok := v.Expect["counts"]; ok {
				nr, nn := 0, 0
				for _, s := range a.ep.Subsets {
					nr += len(s.Addresses)
					nn += len(s.NotReadyAddresses)
				}
				r["counts"] = m{"ready": nr, "notReady": nn}
				if oc, ok := a.ep.Annotations[v1.EndpointsOverCapacity]; ok {
					r["overCapacity"] = oc
				}
			}
			if _, ok := v.Expect["endpoints"]; ok {
				r["endpoints"] = m{"metadata": m{"name": a.ep.Name, "labels": a.ep.Labels, "annotations": a.ep.Annotations}, "subsets": a.ep.Subsets}
			}
		}
	default:
		panic("more than one write")
	}
	if _, ok := v.Expect["retry"]; !ok {
		delete(r, "retry")
	}
	return r
}

func matches(sel, lab map[string]string) bool {
	if sel == nil {
		return false
	}
	for k, x := range sel {
		if y, ok := lab[k]; !ok || x != y {
			return false
		}
	}
	return true
}

func histSum(o any) float64 {
	f, err := testutil.GetHistogramMetricValue(o.(cbm.ObserverMetric))
	if err != nil {
		panic(err)
	}
	return f
}

func runSliceReconcile(v *vector) any {
	metricsMu.Lock()
	defer metricsMu.Unlock()
	metrics.RegisterMetrics()
	opt := struct {
		Max  int32 `json:"maxEndpointsPerSlice"`
		Topo bool  `json:"topologyAware"`
		Pref *bool `json:"preferSame"`
	}{Max: 100}
	if o := v.Input["options"]; o != nil {
		b, _ := json.Marshal(o)
		if err := json.Unmarshal(b, &opt); err != nil {
			panic(err)
		}
	}
	pref := opt.Pref == nil || *opt.Pref
	nodes := convList[v1.Node](v.Input["nodes"])
	ix := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	addAll(ix, nodes)
	var tc *topologycache.TopologyCache
	if opt.Topo {
		tc = topologycache.NewTopologyCache()
		tc.SetNodes(discard, nodes)
	}
	client := &recClient{}
	rec := endpointslicerec.NewReconciler(client, corelisters.NewNodeLister(ix), opt.Max, endpointsliceutil.NewEndpointSliceTracker(), tc, record.NewFakeRecorder(100), "endpointslice-controller.k8s.io", endpointslicerec.WithPreferSameTrafficDistributionEnabled(pref))
	svc := conv[v1.Service](v.Input["service"])
	existing := convList[discovery.EndpointSlice](v.Input["existing"])
	state := map[string]*discovery.EndpointSlice{}
	for _, s := range existing {
		if s.Name == "" {
			panic("existing slice without name")
		}
		state[s.Name] = s
	}
	a0, r0 := histSum(metrics.EndpointsAddedPerSync.WithLabelValues()), histSum(metrics.EndpointsRemovedPerSync.WithLabelValues())
	err := rec.Reconcile(discard, svc, convList[v1.Pod](v.Input["pods"]), append([]*discovery.EndpointSlice{}, existing...), time.Time{})
	a1, r1 := histSum(metrics.EndpointsAddedPerSync.WithLabelValues()), histSum(metrics.EndpointsRemovedPerSync.WithLabelValues())
	acts := map[string]int{"create": 0, "update": 0, "delete": 0}
	for i, a := range client.take() {
		acts[a.verb]++
		switch a.verb {
		case "create":
			state[fmt.Sprintf("new-%d", i)] = a.slice
		case "update":
			if state[a.name] == nil {
				panic("update of unknown slice")
			}
			state[a.name] = a.slice
		case "delete":
			delete(state, a.name)
		}
	}
	r := m{"actions": acts, "error": err != nil}
	var lens []int
	ready, cross := 0, 0
	hz, hn := map[string]int{}, map[string]int{}
	var portNums []int
	var slices []any
	for _, s := range state {
		lens = append(lens, len(s.Endpoints))
		for _, p := range s.Ports {
			if p.Port != nil {
				portNums = append(portNums, int(*p.Port))
			}
		}
		for _, ep := range s.Endpoints {
			if ep.Conditions.Ready != nil && *ep.Conditions.Ready {
				ready++
			}
			if ep.Hints != nil {
				for _, z := range ep.Hints.ForZones {
					hz[z.Name]++
					if ep.Zone == nil || *ep.Zone != z.Name {
						cross++
					}
				}
				for _, n := range ep.Hints.ForNodes {
					hn[n.Name]++
				}
			}
		}
		g := sortKeys(norm(generic(m{"name": s.Name, "generateName": s.GenerateName, "labels": s.Labels, "annotations": s.Annotations, "ownerReferences": s.OwnerReferences, "addressType": s.AddressType, "ports": s.Ports, "endpoints": s.Endpoints, "length": len(s.Endpoints)}), false), orderFree)
		slices = append(slices, g)
	}
	sort.Ints(lens)
	sort.Ints(portNums)
	r["lengths"] = lens
	ex := v.Expect
	has := func(k string) bool { _, ok := ex[k]; return ok }
	if has("metrics") {
		r["metrics"] = m{"added": a1 - a0, "removed": r1 - r0}
	}
	if has("readyEndpoints") {
		r["readyEndpoints"] = ready
	}
	if has("portNumbers") {
		r["portNumbers"] = portNums
	}
	if has("hintsByZone") {
		r["hintsByZone"] = hz
	}
	if has("hintsByNode") {
		r["hintsByNode"] = hn
	}
	if has("crossZone") {
		r["crossZone"] = cross
	}
	for _, k := range [][2]string{{"allPorts", "ports"}, {"allLabels", "labels"}} {
		if has(k[0]) {
			set := map[string]any{}
			for _, s := range slices {
				x := s.(map[string]any)[k[1]]
				set[js(x)] = x
			}
			if len(set) == 1 {
				for _, x := range set {
					r[k[0]] = x
				}
			} else {
				r[k[0]] = fmt.Sprint("not uniform: ", set)
			}
		}
	}
	lastSlices = slices
	// compare here because "slices" is a pattern match
	w := norm(generic(ex), false).(map[string]any)
	g := norm(generic(r), false).(map[string]any)
	w = sortKeys(w, orderFree).(map[string]any)
	g = sortKeys(g, orderFree).(map[string]any)
	var diff []string
	for k := range ex {
		if k == "slices" {
			continue
		}
		a, b := g[k], w[k]
		if k == "allPorts" {
			a, b = sortAny(a), sortAny(b)
		}
		if !eqTol(a, b, 0) {
			diff = append(diff, fmt.Sprintf("%s: upstream %s vector %s", k, js(a), js(b)))
		}
	}
	if l, ok := ex["slices"].([]any); ok {
		for _, p := range l {
			pat := sortKeys(generic(p), orderFree).(map[string]any)
			if !anyMatch(pat, slices) {
				diff = append(diff, fmt.Sprintf("no slice matches %s; have %s", js(pat), js(slices)))
			}
		}
	}
	return checked{js(g), strings.Join(diff, "; ")}
}

var lastSlices []any

func anyMatch(pat map[string]any, slices []any) bool {
next:
	for _, s := range slices {
		sm := s.(map[string]any)
		for k, want := range pat {
			w := sortKeys(norm(m{"x": want}, false), map[string]bool{"x": k == "ports" || k == "endpoints", "endpoints": true, "ports": true}).(map[string]any)["x"]
			g := sortKeys(norm(m{"x": sm[k]}, false), map[string]bool{"x": k == "ports" || k == "endpoints", "endpoints": true, "ports": true}).(map[string]any)["x"]
			if !eqTol(w, g, 0) {
				continue next
			}
		}
		return true
	}
	return false
}

func runMirror(v *vector) any {
	metricsMu.Lock()
	defer metricsMu.Unlock()
	n, _ := v.Input["maxEndpointsPerSubset"].(json.Number).Int64()
	e := newEnv(100, int32(n), 0)
	defer e.close()
	ep := conv[v1.Endpoints](v.Input["endpoints"])
	addAll(e.eps, []*v1.Endpoints{ep})
	if s := conv[v1.Service](v.Input["service"]); s != nil {
		addAll(e.svcs, []*v1.Service{s})
	}
	addAll(e.slices, convList[discovery.EndpointSlice](v.Input["existing"]))
	fr := record.NewFakeRecorder(100)
	rec := field(e.mirc, "reconciler")
	setField(rec.Interface(), "eventRecorder", reflect.ValueOf(fr))
	s0 := histSum(mirrormetrics.AddressesSkippedPerSync.WithLabelValues())
	if err := mirrorSync(e.mirc, context.Background(), ep.Namespace+"/"+ep.Name); err != nil {
		panic(err)
	}
	s1 := histSum(mirrormetrics.AddressesSkippedPerSync.WithLabelValues())
	close(fr.Events)
	evs := []string{}
	for x := range fr.Events {
		evs = append(evs, strings.Fields(x)[1])
	}
	out := []any{}
	acts := map[string]int{"create": 0, "update": 0, "delete": 0}
	for _, a := range e.client.take() {
		acts[a.verb]++
		if a.slice == nil {
			continue
		}
		out = append(out, m{"addressType": a.slice.AddressType, "labels": a.slice.Labels, "annotations": a.slice.Annotations, "ports": a.slice.Ports, "endpoints": a.slice.Endpoints})
	}
	r := m{"slices": out, "skipped": s1 - s0, "events": evs}
	if _, ok := v.Input["existing"]; ok {
		r["actions"] = acts
	}
	return r
}

func setField(obj any, name string, val reflect.Value) {
	field(obj, name).Set(val)
}

func runBatching(v *vector) any {
	in := conv[struct {
		BatchPeriodMs int   `json:"batchPeriodMs"`
		EventsAtMs    []int `json:"eventsAtMs"`
	}](v.Input)
	e := newEnv(100, 1000, time.Duration(in.BatchPeriodMs)*time.Millisecond)
	defer e.close()
	svc := &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "n"}, Spec: v1.ServiceSpec{Selector: map[string]string{"a": "b"}, ClusterIP: "10.0.0.1", IPFamilies: []v1.IPFamily{v1.IPv4Protocol}, Ports: []v1.ServicePort{{Port: 80, Protocol: "TCP"}}}}
	svc.Spec.Ports[0].TargetPort.IntVal = 80
	addAll(e.svcs, []*v1.Service{svc})
	addAll(e.eps, []*v1.Endpoints{{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "n", ResourceVersion: "1"}}})
	mk := func(i int, rv string, ready v1.ConditionStatus) *v1.Pod {
		ip := fmt.Sprintf("10.1.0.%d", i+1)
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%d", i), Namespace: "n", UID: types.UID(fmt.Sprint(i)), ResourceVersion: rv, Labels: map[string]string{"a": "b"}},
			Status: v1.PodStatus{Phase: v1.PodRunning, PodIP: ip, PodIPs: []v1.PodIP{{IP: ip}}, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: ready}}}}
	}
	mode := "add"
	for _, k := range []string{"update", "delete"} {
		if strings.Contains(v.Name, k) {
			mode = k
		}
	}
	if mode != "add" {
		for i := range in.EventsAtMs {
			addAll(e.pods, []*v1.Pod{mk(i, "1", v1.ConditionTrue)})
		}
	}
	e.client.onEP = func(x *v1.Endpoints) { e.eps.Update(x) }
	ctx := context.Background()
	go func() {
		for epNextPod(e.epc, ctx) {
		}
	}()
	go func() {
		for epNext(e.epc, ctx) {
		}
	}()
	t0 := time.Now()
	for i, at := range in.EventsAtMs {
		time.Sleep(time.Until(t0.Add(time.Duration(at) * time.Millisecond)))
		old := mk(i, "1", v1.ConditionTrue)
		switch mode {
		case "add":
			addAll(e.pods, []*v1.Pod{old})
			epOnPodUpdate(e.epc, nil, old)
		case "update":
			n := mk(i, "2", v1.ConditionFalse)
			e.pods.Update(n)
			epOnPodUpdate(e.epc, old, n)
		case "delete":
			e.pods.Delete(old)
			epOnPodUpdate(e.epc, old, nil)
		}
	}
	last := in.EventsAtMs[len(in.EventsAtMs)-1] + in.BatchPeriodMs + 400
	time.Sleep(time.Until(t0.Add(time.Duration(last) * time.Millisecond)))
	var got []int
	for _, a := range e.client.take() {
		got = append(got, int(a.at.Sub(t0).Milliseconds()))
	}
	want := *conv[[]int](v.Expect["syncsAtMs"])
	diff := ""
	if len(got) != len(want) {
		diff = "number of syncs"
	} else {
		for i := range got {
			if d := got[i] - want[i]; d < -2 || d > 60 {
				diff = "times"
			}
		}
	}
	return checked{fmt.Sprint(mode, " syncs at ms ", got), diff}
}

type errFail struct{}

func (errFail) Error() string { return "fail" }

func runBackoff(v *vector) any {
	in := conv[struct {
		BaseMs      int      `json:"baseMs"`
		MaxMs       int      `json:"maxMs"`
		MaxRetries  int      `json:"maxRetries"`
		Consecutive int      `json:"consecutiveFailures"`
		Outcomes    []string `json:"outcomes"`
	}](v.Input)
	outs := in.Outcomes
	for i := 0; i < in.Consecutive; i++ {
		outs = append(outs, "fail")
	}
	// The Endpoints controller's own handleErr over a queue whose limiter is
	// upstream's exponential limiter with the vector's base and cap; the limiter
	// is wrapped only to note the delays it hands out.
	lim := &noteLimiter{TypedRateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Duration(in.BaseMs)*time.Millisecond, time.Duration(in.MaxMs)*time.Millisecond)}
	e := newEnv(100, 1000, 0)
	defer e.close()
	var q workqueue.TypedRateLimitingInterface[string] = workqueue.NewTypedRateLimitingQueue[string](lim)
	old := field(e.epc, "queue").Interface().(workqueue.TypedRateLimitingInterface[string])
	old.ShutDown()
	field(e.epc, "queue").Set(reflect.ValueOf(q))
	dropped := false
	for _, o := range outs {
		var err error
		if o == "fail" {
			err = errFail{}
		}
		n := len(lim.delays)
		epHandleErr(e.epc, discard, err, "n/s")
		if err != nil && len(lim.delays) == n {
			dropped = true
		}
	}
	return m{"delaysMs": lim.delays, "dropped": dropped}
}

type noteLimiter struct {
	workqueue.TypedRateLimiter[string]
	delays []int64
}

func (l *noteLimiter) When(k string) time.Duration {
	d := l.TypedRateLimiter.When(k)
	l.delays = append(l.delays, d.Milliseconds())
	return d
}
