package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	endpointslicerec "k8s.io/endpointslice"
	endpointsliceutil "k8s.io/endpointslice/util"
	"k8s.io/kubernetes/pkg/proxy"
)

// benchDir is where the input files are; both sides of a comparison read the
// same ones. Without it a case is written to a folder of this process first.
var benchDir = flag.String("bench-dir", os.Getenv("EVENKEEL_BENCH_DIR"), "folder written by `oracle bench-gen`")

func TestMain(m *testing.M) {
	flag.Parse()
	quiet()
	given := *benchDir != ""
	if !given {
		dir, err := os.MkdirTemp("", "evenkeel-bench-")
		if err != nil {
			panic(err)
		}
		*benchDir = dir
	}
	code := m.Run()
	if !given {
		os.RemoveAll(*benchDir)
	}
	os.Exit(code)
}

type parts int

const (
	withPods parts = 1 << iota
	withSlices
)

// load decodes a case. kube-proxy never sees pods, so its benchmarks go without.
func load(tb testing.TB, name string, p parts) *cluster {
	tb.Helper()
	objects := filepath.Join(*benchDir, name+".objects.ndjson")
	if b, ok := benchCaseNamed(name); ok && !exists(objects) {
		if err := b.write(*benchDir); err != nil {
			tb.Fatal(err)
		}
	}
	c := &cluster{NodeName: "node-0", Max: 100}
	files := []string{objects}
	if p&withSlices != 0 {
		files = append(files, filepath.Join(*benchDir, name+".slices.ndjson"))
	}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			tb.Fatal(err)
		}
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 64<<20)
		for sc.Scan() {
			if p&withPods == 0 && bytes.HasPrefix(sc.Bytes(), []byte(`{"kind":"Pod"`)) {
				continue
			}
			if err := c.addRaw(sc.Bytes()); err != nil {
				tb.Fatal(err)
			}
		}
		if err := sc.Err(); err != nil {
			tb.Fatal(err)
		}
		f.Close()
	}
	return c
}

// cpuNs is the CPU time of the process (all threads, garbage collector included).
func cpuNs() int64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

func startCPU(b *testing.B) func() {
	b.ReportAllocs()
	runtime.GC()
	c := cpuNs()
	return func() { b.ReportMetric(float64(cpuNs()-c)/float64(b.N), "cpu-ns/op") }
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var ms runtime.MemStats
	runtime.ReadMemStats(&ms)
	return ms.HeapAlloc
}

func newRec(c *cluster) (*endpointslicerec.Reconciler, *recClient, *endpointsliceutil.EndpointSliceTracker) {
	ix := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	addAll(ix, c.Nodes)
	cl := &recClient{}
	tr := endpointsliceutil.NewEndpointSliceTracker()
	return endpointslicerec.NewReconciler(cl, corelisters.NewNodeLister(ix), 100, tr, nil, record.NewFakeRecorder(10), "endpointslice-controller.k8s.io"), cl, tr
}

// (a1) one Reconcile call, 5,000 ready pods, no slice exists: 50 creates.
func BenchmarkSliceReconcileNew5000(b *testing.B) {
	c := load(b, "svc1-pods5000", withPods)
	rec, cl, tr := newRec(c)
	defer startCPU(b)()
	for b.Loop() {
		if err := rec.Reconcile(discard, c.Services[0], c.Pods, nil, time.Time{}); err != nil {
			b.Fatal(err)
		}
		if n := len(cl.take()); n != 50 {
			b.Fatal(n)
		}
		tr.DeleteService(c.Services[0].Namespace, c.Services[0].Name)
	}
}

// (a2) one Reconcile call, 5,000 pods, 50 correct slices, one pod became not ready: 1 update.
func BenchmarkSliceReconcileOneOf5000(b *testing.B) {
	c := load(b, "svc1-pods5000", withPods|withSlices)
	rec, cl, tr := newRec(c)
	p := c.Pods[2500].DeepCopy()
	p.Status.Conditions[0].Status = v1.ConditionFalse
	c.Pods[2500] = p
	defer startCPU(b)()
	for b.Loop() {
		if err := rec.Reconcile(discard, c.Services[0], c.Pods, append([]*discovery.EndpointSlice{}, c.Slices...), time.Time{}); err != nil {
			b.Fatal(err)
		}
		if n := len(cl.take()); n != 1 {
			b.Fatal(n)
		}
		tr.DeleteService(c.Services[0].Namespace, c.Services[0].Name)
	}
}

// (a3) EndpointSlice controller syncService for each of 1,000 services with 5
// pods, pod selection by the lister included. new: 1,000 creates. noop: nothing.
func benchSliceSync(b *testing.B, name string, existing bool, want int) {
	p := withPods
	if existing {
		p |= withSlices
	}
	c := load(b, name, p)
	e := newEnv(100, 1000, 0)
	defer e.close()
	replace(e.svcs, c.Services)
	replace(e.pods, c.Pods)
	replace(e.nodes, c.Nodes)
	replace(e.slices, c.Slices)
	keys := make([]string, len(c.Services))
	for i, s := range c.Services {
		keys[i] = s.Namespace + "/" + s.Name
	}
	tr := field(e.essc, "endpointSliceTracker").Interface().(*endpointsliceutil.EndpointSliceTracker)
	defer startCPU(b)()
	for b.Loop() {
		for _, k := range keys {
			if err := essSyncService(e.essc, discard, k); err != nil {
				b.Fatal(err)
			}
		}
		if n := len(e.client.take()); n != want {
			b.Fatal(n)
		}
		for _, s := range c.Services {
			tr.DeleteService(s.Namespace, s.Name)
		}
	}
}

func BenchmarkSliceSync1000x5New(b *testing.B)  { benchSliceSync(b, "svc1000-pods5-ns50", false, 1000) }
func BenchmarkSliceSync1000x5Noop(b *testing.B) { benchSliceSync(b, "svc1000-pods5-ns50", true, 0) }
func BenchmarkSliceSync1000x5NewOneNS(b *testing.B) {
	benchSliceSync(b, "svc1000-pods5-ns1", false, 1000)
}
func BenchmarkSliceSync1x5000New(b *testing.B)  { benchSliceSync(b, "svc1-pods5000", false, 50) }
func BenchmarkSliceSync1x5000Noop(b *testing.B) { benchSliceSync(b, "svc1-pods5000", true, 0) }

// (b) Endpoints controller syncService. mode: "new" (no Endpoints), "one" (Endpoints
// as the controller wrote them, then one pod became not ready), "noop".
func benchEndpointsSync(b *testing.B, name, mode string, want int) {
	c := load(b, name, withPods)
	e := newEnv(100, 1000, 0)
	defer e.close()
	replace(e.svcs, c.Services)
	replace(e.pods, c.Pods)
	ctx := context.Background()
	keys := make([]string, len(c.Services))
	for i, s := range c.Services {
		keys[i] = s.Namespace + "/" + s.Name
	}
	if mode != "new" {
		for i, k := range keys {
			if err := epSyncService(e.epc, ctx, k); err != nil {
				b.Fatal(err)
			}
			x := e.client.take()[0].ep
			x.Namespace, x.ResourceVersion, x.UID = c.Services[i].Namespace, "5", "u"
			e.eps.Add(x)
		}
		if mode == "one" {
			p := c.Pods[len(c.Pods)/2].DeepCopy()
			p.Status.Conditions[0].Status = v1.ConditionFalse
			e.pods.Update(p)
		}
	}
	st := field(e.epc, "staleEndpointsTracker").UnsafePointer()
	defer startCPU(b)()
	for b.Loop() {
		for _, k := range keys {
			if err := epSyncService(e.epc, ctx, k); err != nil {
				b.Fatal(err)
			}
		}
		if n := len(e.client.take()); n != want {
			b.Fatal(n)
		}
		for _, s := range c.Services {
			staleDelete(st, s.Namespace, s.Name)
		}
	}
}

func BenchmarkEndpointsSync1x5000New(b *testing.B) { benchEndpointsSync(b, "svc1-pods5000", "new", 1) }
func BenchmarkEndpointsSync1x5000One(b *testing.B) { benchEndpointsSync(b, "svc1-pods5000", "one", 1) }
func BenchmarkEndpointsSync1x1000New(b *testing.B) { benchEndpointsSync(b, "svc1-pods1000", "new", 1) }
func BenchmarkEndpointsSync1x1000One(b *testing.B) { benchEndpointsSync(b, "svc1-pods1000", "one", 1) }
func BenchmarkEndpointsSync1x1000Noop(b *testing.B) {
	benchEndpointsSync(b, "svc1-pods1000", "noop", 0)
}
func BenchmarkEndpointsSync1000x5New(b *testing.B) {
	benchEndpointsSync(b, "svc1000-pods5-ns50", "new", 1000)
}
func BenchmarkEndpointsSync1000x5Noop(b *testing.B) {
	benchEndpointsSync(b, "svc1000-pods5-ns50", "noop", 0)
}
func BenchmarkEndpointsSync1000x5NewOneNS(b *testing.B) {
	benchEndpointsSync(b, "svc1000-pods5-ns1", "new", 1000)
}

type pstate struct {
	sct *proxy.ServiceChangeTracker
	ect *proxy.EndpointsChangeTracker
	sm  proxy.ServicePortMap
	em  proxy.EndpointsMap
}

func buildProxy(c *cluster) *pstate {
	p := &pstate{proxy.NewServiceChangeTracker(v1.IPv4Protocol, nil, nil), proxy.NewEndpointsChangeTracker(v1.IPv4Protocol, "node-0", nil, nil), proxy.ServicePortMap{}, proxy.EndpointsMap{}}
	for _, s := range c.Services {
		p.sct.Update(nil, s)
	}
	for _, s := range c.Slices {
		p.ect.EndpointSliceUpdate(s, false)
	}
	p.sm.Update(p.sct)
	p.em.Update(p.ect)
	return p
}

func (p *pstate) categorizeAll(topo map[string]string) (n int) {
	for spn, sp := range p.sm {
		cl, _, _, _ := proxy.CategorizeEndpoints(p.em[spn], sp, "node-0", topo)
		n += len(cl)
	}
	return
}

var topo0 = map[string]string{"kubernetes.io/hostname": "node-0", v1.LabelTopologyZone: "zone-a"}

// (c1) full build: all services and slices into new trackers, both Update calls,
// CategorizeEndpoints for every service port. Beside time it reports the heap
// that is kept per endpoint: the decoded objects (objects-B/endpoint) and the
// trackers and maps on top of them (trackers-B/endpoint).
func benchProxyFull(b *testing.B, name string, eps int) {
	h0 := heap()
	c := load(b, name, withSlices)
	c.Nodes = nil
	h1 := heap()
	p := buildProxy(c)
	h2 := heap()
	runtime.KeepAlive(p)
	p = nil
	defer func() { // the loop forgets what was reported before it
		b.ReportMetric(float64(h1-h0)/float64(eps), "objects-B/endpoint")
		b.ReportMetric(float64(h2-h1)/float64(eps), "trackers-B/endpoint")
	}()
	defer startCPU(b)()
	for b.Loop() {
		if n := buildProxy(c).categorizeAll(topo0); n != eps {
			b.Fatal(n)
		}
	}
}

// (c2) one slice changes (ready flips for one endpoint): EndpointSliceUpdate,
// EndpointsMap.Update, then CategorizeEndpoints for that service (or for all).
func benchProxyOne(b *testing.B, name string, all bool) {
	c := load(b, name, withSlices)
	p := buildProxy(c)
	i := len(c.Slices) / 2
	alt := c.Slices[i].DeepCopy()
	alt.Endpoints[0].Conditions.Ready = ptr(false)
	alt.Generation++
	spn := proxy.ServicePortName{NamespacedName: types.NamespacedName{Namespace: alt.Namespace, Name: alt.Labels[discovery.LabelServiceName]}, Port: "http", Protocol: v1.ProtocolTCP}
	two := [2]*discovery.EndpointSlice{alt, c.Slices[i]}
	k := 0
	defer startCPU(b)()
	for b.Loop() {
		if !p.ect.EndpointSliceUpdate(two[k&1], false) {
			b.Fatal("no change")
		}
		k++
		r := p.em.Update(p.ect)
		if len(r.UpdatedServices) != 1 {
			b.Fatal("services")
		}
		if all {
			p.categorizeAll(topo0)
		} else if cl, _, _, _ := proxy.CategorizeEndpoints(p.em[spn], p.sm[spn], "node-0", topo0); len(cl) == 0 {
			b.Fatal("none")
		}
	}
}

func BenchmarkProxyFull100x5(b *testing.B)     { benchProxyFull(b, "svc100-pods5-ns50", 500) }
func BenchmarkProxyFull1000x5(b *testing.B)    { benchProxyFull(b, "svc1000-pods5-ns50", 5000) }
func BenchmarkProxyFull10000x5(b *testing.B)   { benchProxyFull(b, "svc10000-pods5-ns50", 50000) }
func BenchmarkProxyFull44000x2(b *testing.B)   { benchProxyFull(b, "svc44000-pods2-ns50", 88000) }
func BenchmarkProxyFull1x5000(b *testing.B)    { benchProxyFull(b, "svc1-pods5000", 5000) }
func BenchmarkProxyOne100x5(b *testing.B)      { benchProxyOne(b, "svc100-pods5-ns50", false) }
func BenchmarkProxyOne1000x5(b *testing.B)     { benchProxyOne(b, "svc1000-pods5-ns50", false) }
func BenchmarkProxyOne10000x5(b *testing.B)    { benchProxyOne(b, "svc10000-pods5-ns50", false) }
func BenchmarkProxyOne44000x2(b *testing.B)    { benchProxyOne(b, "svc44000-pods2-ns50", false) }
func BenchmarkProxyOne1x5000(b *testing.B)     { benchProxyOne(b, "svc1-pods5000", false) }
func BenchmarkProxyOneAll100x5(b *testing.B)   { benchProxyOne(b, "svc100-pods5-ns50", true) }
func BenchmarkProxyOneAll1000x5(b *testing.B)  { benchProxyOne(b, "svc1000-pods5-ns50", true) }
func BenchmarkProxyOneAll10000x5(b *testing.B) { benchProxyOne(b, "svc10000-pods5-ns50", true) }
func BenchmarkProxyOneAll44000x2(b *testing.B) { benchProxyOne(b, "svc44000-pods2-ns50", true) }

// TestHeapPods says what the pods cost that a controller's informer keeps.
func TestHeapPods(t *testing.T) {
	if testing.Short() {
		t.Skip("a measurement, not a check")
	}
	h0 := heap()
	c := load(t, "svc10000-pods5-ns50", withPods)
	h1 := heap()
	pods := len(c.Pods)
	c.Pods = nil
	h2 := heap()
	runtime.KeepAlive(c)
	fmt.Printf("HEAP pods: %.0f B each; nodes and services %d B\n", float64(h1-h2)/float64(pods), int64(h2)-int64(h0))
}

// Heap of the controllers' own state after one full sync of 1,000x5 (trackers, metrics caches), per endpoint.
func TestHeapControllers(t *testing.T) {
	if testing.Short() {
		t.Skip("a measurement, not a check")
	}
	c := load(t, "svc1000-pods5-ns50", withPods)
	e := newEnv(100, 1000, 0)
	defer e.close()
	replace(e.svcs, c.Services)
	replace(e.nodes, c.Nodes)
	h0 := heap()
	replace(e.pods, c.Pods)
	h1 := heap()
	for _, s := range c.Services {
		if err := epSyncService(e.epc, context.Background(), s.Namespace+"/"+s.Name); err != nil {
			t.Fatal(err)
		}
	}
	acts := e.client.take()
	var eps []*v1.Endpoints
	for _, a := range acts {
		eps = append(eps, a.ep)
	}
	acts = nil
	h3 := heap()
	runtime.KeepAlive(eps)
	eps = nil
	h4 := heap()
	for _, s := range c.Services {
		if err := essSyncService(e.essc, discard, s.Namespace+"/"+s.Name); err != nil {
			t.Fatal(err)
		}
	}
	sl := e.client.take()
	h5 := heap()
	runtime.KeepAlive(sl)
	sl = nil
	h6 := heap()
	runtime.KeepAlive(eps)
	fmt.Printf("HEAP controllers 1000x5: informer index of pods %.0f B/pod; Endpoints objects %.0f B/endpoint; Endpoints controller state %.0f B/endpoint; slice objects %.0f B/endpoint; slice controller state %.0f B/endpoint\n",
		float64(h1-h0)/5000, float64(h3-h4)/5000, float64(h4)/5000-float64(h1)/5000, float64(h5-h6)/5000, float64(h6)/5000-float64(h4)/5000)
}
