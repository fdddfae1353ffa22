// oracle answers what upstream's own endpoint code does: the Endpoints,
// EndpointSlice and mirroring controllers and kube-proxy's trackers, taken as
// ordinary modules. Unexported functions are reached through links.go.
package main

import (
	"flag"
	"fmt"
	"os"

	"k8s.io/klog/v2"
)

var commands = []struct {
	name, use string
	run       func(args []string)
}{
	{"vectors", "compare upstream with the expectations of vector files", cmdVectors},
	{"fill", "write upstream's answers into a vector file without them", cmdFill},
	{"gen", "print random clusters", cmdGen},
	{"compute", "answer for the one cluster on standard input", cmdCompute},
	{"serve", "answer for each cluster document on standard input", cmdServe},
	{"bench-gen", "write the benchmarks' input files", cmdBenchGen},
}

func main() {
	quiet()
	if len(os.Args) > 1 {
		for _, c := range commands {
			if c.name == os.Args[1] {
				c.run(os.Args[2:])
				return
			}
		}
	}
	fmt.Fprintln(os.Stderr, "usage: oracle COMMAND [FLAGS]; oracle COMMAND -h lists the flags")
	for _, c := range commands {
		fmt.Fprintf(os.Stderr, "  %-10s %s\n", c.name, c.use)
	}
	os.Exit(2)
}

// discard is the logger handed to upstream.
var discard = klog.Logger{}

// quiet keeps upstream's logging out of answers and measurements.
func quiet() {
	fs := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(fs)
	fs.Set("logtostderr", "false")
	fs.Set("stderrthreshold", "10")
	klog.SetLogger(klog.Logger{})
}
