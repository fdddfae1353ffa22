package main

import (
	"context"
	"fmt"
	"sort"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/controller/endpoint"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
)

// TestRunFlow runs both controllers the ordinary way (Run, started informers,
// client-go's fake clientset) and compares the final objects with what the
// direct calls of compute give for the same cluster.
func TestRunFlow(t *testing.T) {
	same, services := 0, 0
	end := uint64(900016)
	if testing.Short() {
		end = 900004
	}
	for seed := uint64(900000); seed < end; seed++ {
		ex := seed%2 == 1
		g := &engine{}
		mk := func() *cluster {
			return decoded(t, generate(genOpts{seed: seed, services: 10, pods: 40, noAuto: true, existing: ex}, g))
		}
		want := g.compute(mk(), false)
		c := mk()
		var objs []runtime.Object
		for _, o := range c.Nodes {
			objs = append(objs, o)
		}
		for _, o := range c.Services {
			objs = append(objs, o)
		}
		for _, o := range c.Pods {
			objs = append(objs, o)
		}
		for _, o := range c.Slices {
			objs = append(objs, o)
		}
		for _, o := range c.Endpoints {
			objs = append(objs, o)
		}
		cl := fake.NewSimpleClientset(objs...)
		n := 0
		cl.PrependReactor("create", "endpointslices", func(a k8stesting.Action) (bool, runtime.Object, error) {
			s := a.(k8stesting.CreateAction).GetObject().(*discovery.EndpointSlice)
			n++
			if s.Name == "" {
				s.Name = fmt.Sprintf("%sn%05d", s.GenerateName, n)
			}
			s.UID, s.Generation = types.UID("u-"+s.Name), 1
			return false, s, nil
		})
		cl.PrependReactor("update", "endpointslices", func(a k8stesting.Action) (bool, runtime.Object, error) {
			s := a.(k8stesting.UpdateAction).GetObject().(*discovery.EndpointSlice)
			s.Generation++
			if s.UID == "" {
				s.UID = types.UID("u-" + s.Name)
			}
			return false, s, nil
		})
		rv := 5000
		bump := func(o metav1.Object) { rv++; o.SetResourceVersion(fmt.Sprint(rv)) }
		for _, verb := range []string{"create", "update"} {
			cl.PrependReactor(verb, "endpoints", func(a k8stesting.Action) (bool, runtime.Object, error) {
				bump(a.(k8stesting.CreateAction).GetObject().(*v1.Endpoints))
				return false, nil, nil
			})
		}
		ctx, cancel := context.WithCancel(context.Background())
		f := informers.NewSharedInformerFactory(cl, 0)
		co, di := f.Core().V1(), f.Discovery().V1()
		epc := endpoint.NewEndpointController(ctx, co.Pods(), co.Services(), co.Endpoints(), cl, 0)
		esc := endpointslice.NewController(ctx, co.Pods(), co.Services(), co.Nodes(), di.EndpointSlices(), c.Max, cl, 0)
		f.Start(ctx.Done())
		f.WaitForCacheSync(ctx.Done())
		go epc.Run(ctx, 2)
		go esc.Run(ctx, 2)
		waitUntilQuiet(t, func() int { return len(cl.Actions()) })
		// compare
		svcs := append([]*v1.Service{}, c.Services...)
		sort.Slice(svcs, func(i, j int) bool {
			return svcs[i].Namespace+"/"+svcs[i].Name < svcs[j].Namespace+"/"+svcs[j].Name
		})
		bySvc := map[string][]*discovery.EndpointSlice{}
		l, _ := cl.DiscoveryV1().EndpointSlices("").List(ctx, metav1.ListOptions{})
		for i := range l.Items {
			s := &l.Items[i]
			k := s.Namespace + "/" + s.Labels[discovery.LabelServiceName]
			bySvc[k] = append(bySvc[k], s)
		}
		for i, s := range svcs {
			services++
			so := svcSlices{Groups: []groupOut{}}
			canonSlices(&so, bySvc[s.Namespace+"/"+s.Name])
			strip := func(gs []groupOut) string {
				for k := range gs {
					gs[k].Triggers = nil
				}
				return js(gs)
			}
			ok := true
			if a, b := strip(so.Groups), strip(want.Slices[i].Groups); a != b {
				ok = false
				t.Errorf("seed %d %s/%s slices\n run     %s\n compute %s", seed, s.Namespace, s.Name, a, b)
			}
			for _, w := range want.Endpoints {
				if w.Namespace != s.Namespace || w.Name != s.Name {
					continue
				}
				e, err := cl.CoreV1().Endpoints(s.Namespace).Get(ctx, s.Name, metav1.GetOptions{})
				var subs []v1.EndpointSubset
				var labels map[string]string
				if err == nil {
					labels = e.Labels
					for _, x := range e.Subsets {
						sortPorts(x.Ports)
						subs = append(subs, x)
					}
					sortJS(subs)
				}
				if len(subs) == 0 {
					subs = nil
				}
				if len(w.Subsets) == 0 {
					w.Subsets = nil
				}
				if js(subs) != js(w.Subsets) || js(labels) != js(w.Labels) {
					ok = false
					t.Errorf("seed %d %s/%s endpoints\n run     %s %s\n compute %s %s", seed, s.Namespace, s.Name, js(subs), js(labels), js(w.Subsets), js(w.Labels))
				}
			}
			if ok {
				same++
			}
		}
		cancel()
	}
	t.Logf("%d of %d services equal", same, services)
}

// waitUntilQuiet waits until the controllers have written nothing for a second.
func waitUntilQuiet(t *testing.T, writes func() int) {
	t.Helper()
	for last, quiet, n := writes(), 0, 0; quiet < 10; n++ {
		if n > 600 {
			t.Fatal("the controllers never stop writing")
		}
		time.Sleep(100 * time.Millisecond)
		if now := writes(); now == last {
			quiet++
		} else {
			last, quiet = now, 0
		}
	}
}
