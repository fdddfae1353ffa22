package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// benchCluster is the closed-form benchmark input (no random numbers):
// 100 nodes node-k, zone "zone-" + "abc"[k%3];
// S services svc-i in namespace ns-(i mod namespaces), selector app=app-i;
// P pods per service; pod g = i*P+j has the label app=app-i, the service's
// namespace, node node-(g mod 100) and the address 10.(64+g/65536).(g/256%256).(g%256).
func benchCluster(services, podsPer, namespaces int) *cluster {
	c := &cluster{NodeName: "node-0", Max: 100}
	for k := 0; k < 100; k++ {
		c.Nodes = append(c.Nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", k), UID: types.UID(uid(1, k)), Labels: map[string]string{"kubernetes.io/hostname": fmt.Sprintf("node-%d", k), v1.LabelTopologyZone: "zone-" + string("abc"[k%3])}},
			Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, LastTransitionTime: at(0)}}}})
	}
	for i := 0; i < services; i++ {
		ns := fmt.Sprintf("ns-%d", i%namespaces)
		ip := fmt.Sprintf("10.%d.%d.%d", 96+i/65536, i/256%256, i%256)
		app := fmt.Sprintf("app-%d", i)
		c.Services = append(c.Services, &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("svc-%d", i), Namespace: ns, UID: types.UID(uid(2, i)), ResourceVersion: fmt.Sprint(1000 + i), CreationTimestamp: at(0), Labels: map[string]string{"app": app}},
			Spec: v1.ServiceSpec{Type: v1.ServiceTypeClusterIP, ClusterIP: ip, ClusterIPs: []string{ip}, IPFamilies: []v1.IPFamily{v1.IPv4Protocol}, IPFamilyPolicy: ptr(v1.IPFamilyPolicySingleStack), InternalTrafficPolicy: ptr(v1.ServiceInternalTrafficPolicyCluster), SessionAffinity: v1.ServiceAffinityNone,
				Selector: map[string]string{"app": app}, Ports: []v1.ServicePort{{Name: "http", Port: 80, Protocol: v1.ProtocolTCP, TargetPort: intstr.FromInt32(8080)}}}})
		for j := 0; j < podsPer; j++ {
			g := i*podsPer + j
			pip := fmt.Sprintf("10.%d.%d.%d", 64+g/65536, g/256%256, g%256)
			c.Pods = append(c.Pods, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%010x-%05x", app, i, g), Namespace: ns, UID: types.UID(uid(3, g)), ResourceVersion: fmt.Sprint(100000 + g), CreationTimestamp: at(1), Labels: map[string]string{"app": app, "pod-template-hash": fmt.Sprintf("%010x", i)}},
				Spec:   v1.PodSpec{NodeName: fmt.Sprintf("node-%d", g%100), Containers: []v1.Container{{Name: "main", Image: "example.com/app:1", Ports: []v1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: v1.ProtocolTCP}}}}, RestartPolicy: v1.RestartPolicyAlways},
				Status: v1.PodStatus{Phase: v1.PodRunning, PodIP: pip, PodIPs: []v1.PodIP{{IP: pip}}, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: at(2)}}}})
		}
	}
	return c
}

func uid(kind, n int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", kind, n) }

// benchSlices gives the slices the EndpointSlice controller would hold for the
// cluster: per service its pods in order, 100 per slice, named svc-i-sliceN.
func benchSlices(c *cluster) []*discovery.EndpointSlice {
	var out []*discovery.EndpointSlice
	pods := map[string][]*v1.Pod{}
	for _, p := range c.Pods {
		pods[p.Labels["app"]] = append(pods[p.Labels["app"]], p)
	}
	zone := map[string]*v1.Node{}
	for _, n := range c.Nodes {
		zone[n.Name] = n
	}
	for i, s := range c.Services {
		l := pods[s.Spec.Selector["app"]]
		for k := 0; k*100 < len(l); k++ {
			sl := &discovery.EndpointSlice{AddressType: discovery.AddressTypeIPv4, ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-slice%d", s.Name, k), Namespace: s.Namespace, UID: types.UID(uid(4, i*1000+k)), ResourceVersion: fmt.Sprint(500000 + i), Generation: 1, CreationTimestamp: at(3),
				Labels:          map[string]string{"app": s.Labels["app"], discovery.LabelServiceName: s.Name, discovery.LabelManagedBy: "endpointslice-controller.k8s.io"},
				Annotations:     map[string]string{v1.EndpointsLastChangeTriggerTime: "2024-05-01T10:00:00Z"},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: s.Name, UID: s.UID, Controller: ptr(true), BlockOwnerDeletion: ptr(true)}}},
				Ports: []discovery.EndpointPort{{Name: ptr("http"), Port: ptr(int32(8080)), Protocol: ptr(v1.ProtocolTCP)}}}
			for _, p := range l[k*100 : min(len(l), k*100+100)] {
				sl.Endpoints = append(sl.Endpoints, podToEndpoint(p, zone[p.Spec.NodeName], s, discovery.AddressTypeIPv4))
			}
			out = append(out, sl)
		}
	}
	return out
}

// benchCase is one benchmark input; its name is also that of its files.
type benchCase struct {
	name                   string
	services, podsPer, nss int
}

var benchCases = []benchCase{
	{"svc1-pods5000", 1, 5000, 1},
	{"svc1-pods1000", 1, 1000, 1},
	{"svc100-pods5-ns50", 100, 5, 50},
	{"svc1000-pods5-ns50", 1000, 5, 50},
	{"svc1000-pods5-ns1", 1000, 5, 1},
	{"svc10000-pods5-ns50", 10000, 5, 50},
	{"svc44000-pods2-ns50", 44000, 2, 50},
}

func benchCaseNamed(name string) (benchCase, bool) {
	for _, b := range benchCases {
		if b.name == name {
			return b, true
		}
	}
	return benchCase{}, false
}

// write leaves two files of one object a line: NAME.objects.ndjson has nodes,
// services and pods, NAME.slices.ndjson the slices.
func (b benchCase) write(dir string) error {
	c := benchCluster(b.services, b.podsPer, b.nss)
	slices := &cluster{Slices: benchSlices(c)}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, part := range map[string]*cluster{"objects": c, "slices": slices} {
		if err := writeObjects(filepath.Join(dir, b.name+"."+name+".ndjson"), part); err != nil {
			return err
		}
	}
	return nil
}

// writeObjects writes beside the file and renames, so that a file that exists
// is complete.
func writeObjects(path string, c *cluster) error {
	f, err := os.Create(path + ".part")
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, o := range c.objects() {
		if err := enc.Encode(o); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

func cmdBenchGen(args []string) {
	fs := flag.NewFlagSet("bench-gen", flag.ExitOnError)
	missing := fs.Bool("missing", false, "leave the files that exist as they are")
	fs.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: oracle bench-gen [--missing] DIR [CASE...]")
		for _, b := range benchCases {
			fmt.Fprintln(os.Stderr, "  "+b.name)
		}
	}
	fs.Parse(args)
	if fs.NArg() == 0 {
		fs.Usage()
		os.Exit(2)
	}
	cases := benchCases
	if fs.NArg() > 1 {
		cases = nil
		for _, name := range fs.Args()[1:] {
			b, ok := benchCaseNamed(name)
			if !ok {
				fmt.Fprintf(os.Stderr, "oracle: no case %q\n", name)
				os.Exit(2)
			}
			cases = append(cases, b)
		}
	}
	dir := fs.Arg(0)
	for _, b := range cases {
		if *missing && exists(filepath.Join(dir, b.name+".objects.ndjson")) && exists(filepath.Join(dir, b.name+".slices.ndjson")) {
			continue
		}
		if err := b.write(dir); err != nil {
			fmt.Fprintln(os.Stderr, "oracle:", err)
			os.Exit(1)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
