// validate reads cluster documents, one a line, as `oracle gen --doc` prints
// them, and runs upstream's API defaulting, conversion and validation on their
// Services, EndpointSlices and Endpoints: a random cluster that no API server
// would hold proves nothing. Ends non-zero when there is an error.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"

	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/discovery"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	dval "k8s.io/kubernetes/pkg/apis/discovery/validation"
)

func internal(in, out runtime.Object) {
	legacyscheme.Scheme.Default(in)
	if err := legacyscheme.Scheme.Convert(in, out, nil); err != nil {
		panic(err)
	}
}

func main() {
	rd := bufio.NewReaderSize(os.Stdin, 1<<20)
	re := regexp.MustCompile(`\[\d+\]`)
	kinds := map[string]int{}
	bad := map[string]int{}
	sample := map[string]string{}
	for {
		line, err := rd.ReadBytes('\n')
		if len(line) > 1 {
			var d struct{ Items []json.RawMessage }
			if err := json.Unmarshal(line, &d); err != nil {
				panic(err)
			}
			for _, raw := range d.Items {
				var k struct{ Kind string }
				json.Unmarshal(raw, &k)
				var errs field.ErrorList
				switch k.Kind {
				case "Service":
					var a v1.Service
					var b core.Service
					must(json.Unmarshal(raw, &a))
					internal(&a, &b)
					errs = validation.ValidateServiceCreate(&b)
				case "EndpointSlice":
					var a discoveryv1.EndpointSlice
					var b discovery.EndpointSlice
					must(json.Unmarshal(raw, &a))
					internal(&a, &b)
					errs = dval.ValidateEndpointSlice(&b, nil)
				case "Endpoints":
					var a v1.Endpoints
					var b core.Endpoints
					must(json.Unmarshal(raw, &a))
					internal(&a, &b)
					errs = validation.ValidateEndpointsCreate(&b)
				default:
					continue
				}
				kinds[k.Kind]++
				for _, e := range errs {
					x := k.Kind + " " + re.ReplaceAllString(e.Field, "[]") + ": " + string(e.Type)
					bad[x]++
					sample[x] = e.Error() + " in " + string(raw)
				}
			}
		}
		if err == io.EOF {
			break
		}
	}
	fmt.Println(kinds)
	for k, n := range bad {
		fmt.Println(n, k)
		fmt.Printf("   %.600s\n", sample[k])
	}
	if len(bad) > 0 || len(kinds) == 0 {
		os.Exit(1)
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
