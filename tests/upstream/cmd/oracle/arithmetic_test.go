package main

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/endpointslice/topologycache"
)

// Upstream computes with float64. These tests pin where that differs from
// integers, because whoever computes with integers must know.

// minimum is ceil(5n/6z): the fewest endpoints a zone may get.
func minimum(endpoints, zones int) int { return (5*endpoints + 6*zones - 1) / (6 * zones) }

func TestZoneAllocationsAgainstIntegers(t *testing.T) {
	for zones := 2; zones <= 6; zones++ {
		tc := topologycache.NewTopologyCache()
		var nodes []*v1.Node
		for i := range zones {
			nodes = append(nodes, &v1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i), Labels: map[string]string{v1.LabelTopologyZone: fmt.Sprint("z", i)}},
				Status: v1.NodeStatus{
					Conditions:  []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
					Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("4")},
				},
			})
		}
		tc.SetNodes(discard, nodes)
		var refusedByRounding, minimumByRounding []int
		for n := 1; n <= 120; n++ {
			refused := n < zones || zones*minimum(n, zones) > n
			a, event := getAllocations(tc, n)
			switch {
			case (event != nil) != refused:
				refusedByRounding = append(refusedByRounding, n)
			case event == nil && a["z0"].minimum != minimum(n, zones):
				minimumByRounding = append(minimumByRounding, n)
			}
		}
		var wantRefused, wantMinimum []int
		if zones == 5 {
			wantRefused = []int{6, 12, 24}
			wantMinimum = []int{42, 48, 54, 66, 78, 84, 96, 102, 108}
		}
		if !slices.Equal(refusedByRounding, wantRefused) || !slices.Equal(minimumByRounding, wantMinimum) {
			t.Errorf("%d zones: refused %v, minimum %v", zones, refusedByRounding, minimumByRounding)
		}
	}
}

// addresses makes one subset of each size, ready or not ready, and after them
// one of `ready` ready addresses.
func addresses(sizes []int, areReady bool, ready int) *v1.Endpoints {
	e := &v1.Endpoints{}
	for _, n := range sizes {
		s := v1.EndpointSubset{}
		if areReady {
			s.Addresses = make([]v1.EndpointAddress, n)
		} else {
			s.NotReadyAddresses = make([]v1.EndpointAddress, n)
		}
		e.Subsets = append(e.Subsets, s)
	}
	if ready > 0 {
		e.Subsets = append(e.Subsets, v1.EndpointSubset{Addresses: make([]v1.EndpointAddress, ready)})
	}
	return e
}

func TestTruncationOfReadyIsExact(t *testing.T) {
	for all := 1001; all <= 2000; all += 3 {
		for a := 1; a < all; a += 1 + all/50 {
			e := addresses([]int{a, all - a}, true, 0)
			epTruncate(e)
			if got, want := len(e.Subsets[0].Addresses), min(1000, (a*1000+all-1)/all); got != want {
				t.Fatalf("%d of %d: %d, integers say %d", a, all, got, want)
			}
		}
	}
}

func TestTruncationOfNotReadyRounds(t *testing.T) {
	// 14 of 50 for 25 places is 7 exactly; upstream keeps 8.
	for _, c := range []struct{ places, all, n, want int }{{25, 50, 14, 8}, {660, 924, 161, 116}} {
		e := addresses([]int{c.n, c.all - c.n}, false, 1000-c.places)
		epTruncate(e)
		if got := len(e.Subsets[0].NotReadyAddresses); got != c.want {
			t.Errorf("%d of %d for %d places: %d, want %d", c.n, c.all, c.places, got, c.want)
		}
	}
}
