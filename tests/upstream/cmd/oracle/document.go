package main

import (
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// cluster is one test document. On the wire it is
// {"nodeName": "...", "allNodes": false, "maxEndpointsPerSlice": N,
// "items": [ objects with apiVersion and kind ]}.
type cluster struct {
	NodeName  string
	AllNodes  bool // answer with kube-proxy's view on every node, not only on NodeName
	Max       int32
	Services  []*v1.Service
	Pods      []*v1.Pod
	Nodes     []*v1.Node
	Slices    []*discovery.EndpointSlice
	Endpoints []*v1.Endpoints
}

type wire struct {
	NodeName string            `json:"nodeName,omitempty"`
	AllNodes bool              `json:"allNodes,omitempty"`
	Max      int32             `json:"maxEndpointsPerSlice,omitempty"`
	Items    []json.RawMessage `json:"items"`
}

func (c *cluster) addRaw(raw []byte) error {
	var k struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(raw, &k); err != nil {
		return err
	}
	var err error
	switch k.Kind {
	case "Service":
		err = addObj(raw, &c.Services)
	case "Pod":
		err = addObj(raw, &c.Pods)
	case "Node":
		err = addObj(raw, &c.Nodes)
	case "EndpointSlice":
		err = addObj(raw, &c.Slices)
	case "Endpoints":
		err = addObj(raw, &c.Endpoints)
	case "OracleParameters": // NDJSON form of the document's own fields
		var w wire
		err = json.Unmarshal(raw, &w)
		c.NodeName, c.AllNodes, c.Max = w.NodeName, w.AllNodes, w.Max
	default:
		err = fmt.Errorf("unknown kind %q", k.Kind)
	}
	return err
}

func addObj[T any](raw []byte, l *[]*T) error {
	o := new(T)
	if err := json.Unmarshal(raw, o); err != nil {
		return err
	}
	// Objects in an informer cache carry no apiVersion and kind; upstream's
	// placeholder comparison depends on that.
	any(o).(interface{ GetObjectKind() schema.ObjectKind }).GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	*l = append(*l, o)
	return nil
}

func (c *cluster) objects() []any {
	var out []any
	for _, o := range c.Nodes {
		o.APIVersion, o.Kind = "v1", "Node"
		out = append(out, o)
	}
	for _, o := range c.Services {
		o.APIVersion, o.Kind = "v1", "Service"
		out = append(out, o)
	}
	for _, o := range c.Pods {
		o.APIVersion, o.Kind = "v1", "Pod"
		out = append(out, o)
	}
	for _, o := range c.Slices {
		o.APIVersion, o.Kind = "discovery.k8s.io/v1", "EndpointSlice"
		out = append(out, o)
	}
	for _, o := range c.Endpoints {
		o.APIVersion, o.Kind = "v1", "Endpoints"
		out = append(out, o)
	}
	return out
}

func parseDoc(line []byte) (*cluster, error) {
	var w wire
	if err := json.Unmarshal(line, &w); err != nil {
		return nil, err
	}
	c := &cluster{NodeName: w.NodeName, AllNodes: w.AllNodes, Max: w.Max}
	for _, i := range w.Items {
		if err := c.addRaw(i); err != nil {
			return nil, err
		}
	}
	return c, nil
}
