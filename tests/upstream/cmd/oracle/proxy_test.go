package main

import (
	"encoding/json"
	"testing"
)

// decoded is the cluster as it would arrive: through JSON.
func decoded(t *testing.T, c *cluster) *cluster {
	t.Helper()
	d := &cluster{NodeName: c.NodeName, AllNodes: c.AllNodes, Max: c.Max}
	for _, o := range c.objects() {
		if err := d.addRaw([]byte(js(o))); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func TestAllNodesHoldsTheViewOfOne(t *testing.T) {
	g := &engine{}
	for seed := uint64(700000); seed < 700100; seed++ {
		o := genOpts{seed: seed, services: 8, pods: 30, noAuto: true, vips: true}
		one := g.compute(decoded(t, generate(o, g)), false)
		o.allNodes = true
		all := g.compute(decoded(t, generate(o, g)), false)
		found := false
		for i, p := range all.Proxies {
			if i > 0 && all.Proxies[i-1].NodeName >= p.NodeName {
				t.Errorf("seed %d: nodes out of order", seed)
			}
			if p.NodeName == one.Proxy.NodeName {
				found = true
				if js(p) != js(one.Proxy) {
					t.Errorf("seed %d: %s\n%s", seed, js(p), js(one.Proxy))
				}
			}
		}
		if !found || all.Proxy != nil || one.Proxies != nil {
			t.Errorf("seed %d: proxy and proxies are not either-or", seed)
		}
	}
}

func TestPortSaysWhatIsProgrammed(t *testing.T) {
	c, err := parseDoc([]byte(`{"nodeName":"node-a","items":[
		{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a"}},
		{"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"prod"},"spec":{
			"type":"LoadBalancer","clusterIP":"10.96.0.1","clusterIPs":["10.96.0.1"],"ipFamilies":["IPv4"],
			"externalIPs":["198.51.100.9"],"externalTrafficPolicy":"Local","healthCheckNodePort":30001,
			"loadBalancerSourceRanges":[" 203.0.113.0/24","2001:db8::/32"],
			"sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":60}},
			"ports":[{"port":80,"protocol":"TCP","nodePort":30002}]},
			"status":{"loadBalancer":{"ingress":[{"ip":"198.51.100.1"},{"ip":"198.51.100.2","ipMode":"Proxy"}]}}},
		{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"web-1","namespace":"prod","labels":{"kubernetes.io/service-name":"web"}},
			"addressType":"IPv4","ports":[{"name":"","port":8080,"protocol":"TCP"}],
			"endpoints":[{"addresses":["192.0.2.1"],"nodeName":"node-a"},{"addresses":["192.0.2.2"],"nodeName":"node-b"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	got := js(proxyView(c, c.Slices))
	want := `{"nodeName":"node-a","zone":"","IPv4":[{"namespace":"prod","name":"web","port":"","protocol":"TCP","clusterIP":"10.96.0.1","portNumber":80,"nodePort":30002,
		"usesCluster":true,"usesLocal":true,"hasAnyEndpoints":true,"cluster":["192.0.2.1:8080","192.0.2.2:8080"],"local":["192.0.2.1:8080"],"allReachable":["192.0.2.1:8080","192.0.2.2:8080"],
		"externalIPs":["198.51.100.9"],"loadBalancerVIPs":["198.51.100.1"],"loadBalancerSourceRanges":["203.0.113.0/24"],"healthCheckNodePort":30001,
		"sessionAffinity":"ClientIP","stickyMaxAgeSeconds":60,"internalPolicyLocal":false,"externalPolicyLocal":true,"externallyAccessible":true}],"IPv6":[],
		"health":{"IPv4":[{"namespace":"prod","name":"web","healthCheckNodePort":30001,"localReadyEndpoints":1}],"IPv6":[]}}`
	var w any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	var g any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatal(err)
	}
	if js(g) != js(w) {
		t.Errorf("got  %s\nwant %s", js(g), js(w))
	}
}
