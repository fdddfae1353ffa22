package main

import (
	"context"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/controller/endpoint"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/endpointslicemirroring"
)

// env holds the three upstream controllers over never-started informers whose
// stores are filled directly (the way upstream's own unit tests do it).
type env struct {
	ctx    context.Context
	cancel context.CancelFunc
	client *recClient
	epc    *endpoint.Controller
	essc   *endpointslice.Controller
	mirc   *endpointslicemirroring.Controller

	svcs, pods, nodes, eps, slices cache.Indexer
}

func newEnv(maxPerSlice, maxPerSubset int32, batch time.Duration) *env {
	ctx, cancel := context.WithCancel(context.Background())
	c := &recClient{}
	f := informers.NewSharedInformerFactory(c, 0)
	e := &env{ctx: ctx, cancel: cancel, client: c}
	co, di := f.Core().V1(), f.Discovery().V1()
	e.epc = endpoint.NewEndpointController(ctx, co.Pods(), co.Services(), co.Endpoints(), c, batch)
	e.essc = endpointslice.NewController(ctx, co.Pods(), co.Services(), co.Nodes(), di.EndpointSlices(), maxPerSlice, c, batch)
	e.mirc = endpointslicemirroring.NewController(ctx, co.Endpoints(), di.EndpointSlices(), co.Services(), maxPerSubset, c, batch)
	e.svcs = co.Services().Informer().GetIndexer()
	e.pods = co.Pods().Informer().GetIndexer()
	e.nodes = co.Nodes().Informer().GetIndexer()
	e.eps = co.Endpoints().Informer().GetIndexer()
	e.slices = di.EndpointSlices().Informer().GetIndexer()
	return e
}

func (e *env) close() {
	e.cancel()
	for _, c := range []interface{}{e.epc, e.essc, e.mirc} {
		for _, n := range []string{"queue", "podQueue", "serviceQueue", "topologyQueue"} {
			if q, ok := fieldOpt(c, n); ok {
				q.(interface{ ShutDown() }).ShutDown()
			}
		}
		b, _ := fieldOpt(c, "eventBroadcaster")
		b.(interface{ Shutdown() }).Shutdown()
	}
}

func addAll[T any](ix cache.Indexer, objs []*T) {
	for _, o := range objs {
		if err := ix.Add(o); err != nil {
			panic(err)
		}
	}
}
