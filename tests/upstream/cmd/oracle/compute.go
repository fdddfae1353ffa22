package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"sort"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/endpointslice/topologycache"
	endpointsliceutil "k8s.io/endpointslice/util"
)

// engine keeps the upstream controllers alive between clusters.
type engine struct {
	byMax map[int32]*env
}

func (g *engine) env(max int32) *env {
	if max <= 0 {
		max = 100
	}
	if g.byMax == nil {
		g.byMax = map[int32]*env{}
	}
	if g.byMax[max] == nil {
		g.byMax[max] = newEnv(max, 1000, 0)
	}
	return g.byMax[max]
}

func replace[T any](ix cache.Indexer, l []*T) {
	x := make([]interface{}, len(l))
	for i := range l {
		x[i] = l[i]
	}
	if err := ix.Replace(x, "1"); err != nil {
		panic(err)
	}
}

type epOut struct {
	Namespace   string              `json:"namespace"`
	Name        string              `json:"name"`
	Action      string              `json:"action"`
	Labels      map[string]string   `json:"labels,omitempty"`
	Annotations map[string]string   `json:"annotations,omitempty"`
	Subsets     []v1.EndpointSubset `json:"subsets,omitempty"`
}

type groupOut struct {
	AddressType discovery.AddressType    `json:"addressType"`
	Ports       []discovery.EndpointPort `json:"ports"`
	Labels      []map[string]string      `json:"labels"`  // distinct label maps of the slices
	Lengths     []int                    `json:"lengths"` // sorted endpoint counts of the slices
	Triggers    []string                 `json:"triggerTimes,omitempty"`
	Endpoints   []discovery.Endpoint     `json:"endpoints"` // union over the slices, sorted
}

type svcSlices struct {
	Namespace string           `json:"namespace"`
	Name      string           `json:"name"`
	Error     bool             `json:"error"`
	Actions   map[string]int   `json:"actions"`
	AutoHints bool             `json:"autoHints,omitempty"` // hints follow Go map order: endpoints are shown without hints
	Zones     []map[string]int `json:"hintsByZone,omitempty"`
	Groups    []groupOut       `json:"groups"`
}

type answer struct {
	Endpoints []epOut                    `json:"endpoints"`
	Slices    []svcSlices                `json:"endpointSlices"`
	Raw       []*discovery.EndpointSlice `json:"rawEndpointSlices,omitempty"`
	Proxy     *proxyOut                  `json:"proxy,omitempty"`   // without allNodes
	Proxies   []proxyOut                 `json:"proxies,omitempty"` // with allNodes
	Error     string                     `json:"error,omitempty"`
}

func sortPorts(p []v1.EndpointPort) { sortJS(p) }

func (g *engine) compute(c *cluster, raw bool) *answer {
	ans, _, _ := g.run(c, raw)
	return ans
}

func (g *engine) run(c *cluster, raw bool) (*answer, []*discovery.EndpointSlice, map[string]*v1.Endpoints) {
	e := g.env(c.Max)
	e.client.take()
	e.client.n = 0
	replace(e.svcs, c.Services)
	replace(e.pods, c.Pods)
	replace(e.nodes, c.Nodes)
	replace(e.eps, c.Endpoints)
	replace(e.slices, c.Slices)
	tc := field(e.essc, "topologyCache").Interface().(*topologycache.TopologyCache)
	tc.SetNodes(discard, c.Nodes)
	ctx := context.Background()
	ans := &answer{Endpoints: []epOut{}, Slices: []svcSlices{}}
	keys := map[string]bool{}
	for _, s := range c.Services {
		keys[s.Namespace+"/"+s.Name] = true
	}
	epState := map[string]*v1.Endpoints{}
	for _, x := range c.Endpoints {
		k := x.Namespace + "/" + x.Name
		epState[k] = x
		if _, leader := x.Annotations["control-plane.alpha.kubernetes.io/leader"]; !leader {
			keys[k] = true
		}
	}
	var order []string
	for k := range keys {
		order = append(order, k)
	}
	sort.Strings(order)
	for _, k := range order {
		err := epSyncService(e.epc, ctx, k)
		ns, name, _ := cache.SplitMetaNamespaceKey(k)
		o := epOut{Namespace: ns, Name: name, Action: "none"}
		for _, a := range e.client.take() {
			o.Action = a.verb
			if a.verb == "delete" {
				if epState[k] == nil {
					o.Action = "none" // DELETE of something that does not exist
				}
				delete(epState, k)
			} else {
				epState[k] = a.ep
			}
		}
		if err != nil {
			o.Action = "error"
		}
		if s := epState[k]; s != nil {
			o.Labels, o.Annotations, o.Subsets = s.Labels, s.Annotations, append([]v1.EndpointSubset{}, s.Subsets...)
			for i := range o.Subsets {
				o.Subsets[i].Ports = append([]v1.EndpointPort{}, o.Subsets[i].Ports...)
				sortPorts(o.Subsets[i].Ports)
			}
			sortJS(o.Subsets)
		}
		ans.Endpoints = append(ans.Endpoints, o)
	}

	state := map[string]*discovery.EndpointSlice{}
	for _, s := range c.Slices {
		state[s.Namespace+"/"+s.Name] = s
	}
	created := 0
	svcs := append([]*v1.Service{}, c.Services...)
	sort.Slice(svcs, func(i, j int) bool {
		return svcs[i].Namespace+"/"+svcs[i].Name < svcs[j].Namespace+"/"+svcs[j].Name
	})
	for _, s := range svcs {
		k := s.Namespace + "/" + s.Name
		err := essSyncService(e.essc, discard, k)
		so := svcSlices{Namespace: s.Namespace, Name: s.Name, Error: err != nil, Actions: map[string]int{"create": 0, "update": 0, "delete": 0}, Groups: []groupOut{}}
		for _, a := range e.client.take() {
			so.Actions[a.verb]++
			switch a.verb {
			case "create":
				created++
				x := a.slice
				x.Name = fmt.Sprintf("%s%05d", x.GenerateName, created)
				x.UID = types.UID("new-" + x.Name)
				state[x.Namespace+"/"+x.Name] = x
			case "update":
				state[a.ns+"/"+a.name] = a.slice
			case "delete":
				delete(state, a.ns+"/"+a.name)
			}
		}
		so.AutoHints = hintsEnabled(s.Annotations)
		ans.Slices = append(ans.Slices, so)
	}
	// canonical slices by service
	bySvc := map[string][]*discovery.EndpointSlice{}
	var rawList []*discovery.EndpointSlice
	for _, s := range state {
		rawList = append(rawList, s)
		k := s.Namespace + "/" + s.Labels[discovery.LabelServiceName]
		bySvc[k] = append(bySvc[k], s)
	}
	sort.Slice(rawList, func(i, j int) bool {
		return rawList[i].Namespace+"/"+rawList[i].Name < rawList[j].Namespace+"/"+rawList[j].Name
	})
	for i := range ans.Slices {
		so := &ans.Slices[i]
		canonSlices(so, bySvc[so.Namespace+"/"+so.Name])
	}
	if c.AllNodes {
		ans.Proxies = proxyViews(c, rawList)
	} else {
		view := proxyView(c, rawList)
		ans.Proxy = &view
	}
	if raw {
		ans.Raw = rawList
	}
	// Let upstream forget this cluster: services vanish, controllers clean up.
	replace(e.svcs, []*v1.Service{})
	for _, s := range svcs {
		k := s.Namespace + "/" + s.Name
		if err := epSyncService(e.epc, ctx, k); err != nil {
			panic(err)
		}
		if err := essSyncService(e.essc, discard, k); err != nil {
			panic(err)
		}
		tc.RemoveHints(k, discovery.AddressTypeIPv4)
		tc.RemoveHints(k, discovery.AddressTypeIPv6)
	}
	e.client.take()
	if n := len(field(e.essc, "triggerTimeTracker").Interface().(*endpointsliceutil.TriggerTimeTracker).ServiceStates); n != 0 {
		panic("state left behind")
	}
	return ans, rawList, epState
}

func canonSlices(so *svcSlices, list []*discovery.EndpointSlice) {
	groups := map[string]*groupOut{}
	zones := map[string]int{}
	for _, s := range list {
		ports := append([]discovery.EndpointPort{}, s.Ports...)
		sortJS(ports)
		key := string(s.AddressType) + js(ports)
		g := groups[key]
		if g == nil {
			g = &groupOut{AddressType: s.AddressType, Ports: ports, Endpoints: []discovery.Endpoint{}}
			groups[key] = g
		}
		g.Lengths = append(g.Lengths, len(s.Endpoints))
		if t := s.Annotations[v1.EndpointsLastChangeTriggerTime]; t != "" {
			g.Triggers = append(g.Triggers, t)
		}
		found := false
		for _, l := range g.Labels {
			if js(l) == js(s.Labels) {
				found = true
			}
		}
		if !found {
			g.Labels = append(g.Labels, s.Labels)
		}
		for _, ep := range s.Endpoints {
			if so.AutoHints {
				if ep.Hints != nil {
					for _, z := range ep.Hints.ForZones {
						zones[z.Name]++
					}
				}
				ep.Hints = nil
			}
			g.Endpoints = append(g.Endpoints, ep)
		}
	}
	if so.AutoHints {
		so.Zones = append(so.Zones, zones)
	}
	var ks []string
	for k := range groups {
		ks = append(ks, k)
	}
	sort.Strings(ks)
	for _, k := range ks {
		g := groups[k]
		sort.Ints(g.Lengths)
		sort.Strings(g.Triggers)
		sortJS(g.Labels)
		sortJS(g.Endpoints)
		so.Groups = append(so.Groups, *g)
	}
}

func cmdCompute(args []string) {
	fs := flag.NewFlagSet("compute", flag.ExitOnError)
	node := fs.String("node", "", "node name for the kube-proxy view (overrides the input)")
	mx := fs.Int("max", 0, "max endpoints per slice (overrides the input; default 100)")
	all := fs.Bool("all-nodes", false, "kube-proxy's view on every node")
	raw := fs.Bool("raw", false, "also print the EndpointSlices exactly as upstream wrote them")
	indent := fs.Bool("indent", false, "indent the answer")
	fs.Parse(args)
	c := &cluster{}
	rd := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := rd.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if e := c.addRaw(line); e != nil {
				fmt.Fprintln(os.Stderr, "oracle:", e)
				os.Exit(1)
			}
		}
		if err == io.EOF {
			break
		}
	}
	if *node != "" {
		c.NodeName = *node
	}
	c.AllNodes = c.AllNodes || *all
	if *mx != 0 {
		c.Max = int32(*mx)
	}
	g := &engine{}
	enc := json.NewEncoder(os.Stdout)
	enc.SetEscapeHTML(false)
	if *indent {
		enc.SetIndent("", " ")
	}
	enc.Encode(g.compute(c, *raw))
}

func cmdServe(args []string) {
	fs := flag.NewFlagSet("serve", flag.ExitOnError)
	raw := fs.Bool("raw", false, "also print the EndpointSlices exactly as upstream wrote them")
	stat := fs.Bool("stat", false, "print clusters/second on stderr at the end")
	fs.Parse(args)
	g := &engine{}
	rd := bufio.NewReaderSize(os.Stdin, 1<<20)
	w := bufio.NewWriterSize(os.Stdout, 1<<20)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	n := 0
	t0 := time.Now()
	var inner time.Duration
	for {
		line, err := rd.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			ans := func() (a *answer) {
				defer func() {
					if p := recover(); p != nil {
						a = &answer{Error: fmt.Sprint("panic: ", p)}
						g.byMax = nil
					}
				}()
				c, err := parseDoc(line)
				if err != nil {
					return &answer{Error: err.Error()}
				}
				t := time.Now()
				a = g.compute(c, *raw)
				inner += time.Since(t)
				return a
			}()
			enc.Encode(ans)
			n++
			if rd.Buffered() == 0 {
				w.Flush()
			}
		}
		if err == io.EOF {
			break
		}
	}
	w.Flush()
	if *stat {
		d := time.Since(t0)
		fmt.Fprintf(os.Stderr, "%d clusters in %.2f s: %.0f clusters/s (%.0f/s without JSON)\n", n, d.Seconds(), float64(n)/d.Seconds(), float64(n)/inner.Seconds())
	}
}
