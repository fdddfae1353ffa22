package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
)

type vector struct {
	Name      string         `json:"name"`
	Kind      string         `json:"kind"`
	Why       string         `json:"why"`
	Quirk     bool           `json:"quirk"`
	Legacy    bool           `json:"legacy"`
	Tolerance float64        `json:"tolerance"`
	Input     map[string]any `json:"input"`
	Expect    map[string]any `json:"expect"`
}

var reIP4 = regexp.MustCompile(`\{ip4:([0-9.]+)\}`)

func subst(x any, i int) any {
	switch t := x.(type) {
	case string:
		t = strings.ReplaceAll(t, "{i}", strconv.Itoa(i))
		return reIP4.ReplaceAllStringFunc(t, func(m string) string {
			a := netip.MustParseAddr(reIP4.FindStringSubmatch(m)[1]).As4()
			n := uint32(a[0])<<24 | uint32(a[1])<<16 | uint32(a[2])<<8 | uint32(a[3])
			n += uint32(i)
			return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}).String()
		})
	case []any:
		r := make([]any, len(t))
		for k := range t {
			r[k] = subst(t[k], i)
		}
		return r
	case map[string]any:
		r := map[string]any{}
		for k, v := range t {
			r[subst(k, i).(string)] = subst(v, i)
		}
		return r
	}
	return x
}

func expand(x any) any {
	switch t := x.(type) {
	case []any:
		r := make([]any, len(t))
		for k := range t {
			r[k] = expand(t[k])
		}
		return r
	case map[string]any:
		r := map[string]any{}
		gen := map[string][]any{}
		for k, v := range t {
			l, isList := v.([]any)
			if strings.HasSuffix(k, "From") && isList && isGen(l) {
				key := strings.TrimSuffix(k, "From")
				var out []any
				for _, g := range l {
					m := g.(map[string]any)
					num := func(k string, d int) int {
						if v, ok := m[k]; ok {
							f, _ := v.(json.Number).Int64()
							return int(f)
						}
						return d
					}
					first, count, step := num("first", 0), num("count", 0), num("step", 1)
					for j := 0; j < count; j++ {
						out = append(out, expand(subst(m["template"], first+j*step)))
					}
				}
				gen[key] = out
				continue
			}
			r[k] = expand(v)
		}
		for k, out := range gen {
			base, _ := r[k].([]any)
			r[k] = append(append([]any{}, base...), out...)
		}
		return r
	}
	return x
}

func isGen(l []any) bool {
	for _, g := range l {
		m, ok := g.(map[string]any)
		if !ok {
			return false
		}
		if _, ok := m["template"]; !ok {
			return false
		}
	}
	return len(l) > 0
}

var orderFree = map[string]bool{"subsets": true, "ports": true, "slices": true, "endpoints": true, "create": true, "update": true, "unchanged": true}

type result struct {
	file, name, kind, status string // agrees, DISAGREES, unreachable, invalid
	got, want                string
	notes                    string
}

// runner returns upstream's answer in the shape of expect.
type runner func(v *vector) any

func cmdVectors(args []string) {
	fs := flag.NewFlagSet("vectors", flag.ExitOnError)
	dir := fs.String("dir", "../vectors/k8s", "folder of vector files")
	only := fs.String("only", "", "substring of kind, name or file")
	without := fs.String("without", "", "kind to leave out; batching measures time and needs an idle machine")
	mutate := fs.Bool("mutate", false, "alter each leaf of each expectation (up to 40 per vector) and report alterations that are accepted")
	reps := fs.Int("reps", 20, "repetitions of each vector (map order)")
	out := fs.String("out", "", "write JSON results here")
	fs.Parse(args)
	files, _ := filepath.Glob(*dir + "/*.json")
	sort.Strings(files)
	var all []result
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			panic(err)
		}
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		var doc struct{ Vectors []*vector }
		if err := d.Decode(&doc); err != nil {
			panic(f + err.Error())
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		for _, v := range doc.Vectors {
			if *without != "" && v.Kind == *without {
				continue
			}
			if *only != "" && !strings.Contains(v.Kind+" "+v.Name+" "+filepath.Base(f), *only) {
				continue
			}
			if v.Kind == "batching" && !*mutate {
				wg.Add(1)
				go func() {
					defer wg.Done()
					r := runOne(v, 1)
					r.file = filepath.Base(f)
					mu.Lock()
					all = append(all, r)
					mu.Unlock()
				}()
				continue
			}
			if *mutate {
				mutateOne(v)
				continue
			}
			n := *reps
			if v.Kind == "endpoints-sync" || v.Kind == "truncate-subsets" {
				n = 2
			}
			r := runOne(v, n)
			r.file = filepath.Base(f)
			all = append(all, r)
		}
		wg.Wait()
	}
	if *mutate {
		fmt.Printf("%d mutations tried, %d accepted\n", mutTried, mutKept)
		return
	}
	count := map[string]map[string]int{}
	for _, r := range all {
		if count[r.file] == nil {
			count[r.file] = map[string]int{}
		}
		count[r.file][r.status]++
		if r.status != "agrees" {
			fmt.Printf("%s %s [%s] %s\n  want %s\n  got  %s\n  %s\n", r.status, r.name, r.kind, r.file, r.want, r.got, r.notes)
		}
	}
	tot := map[string]int{}
	for _, f := range files {
		c := count[filepath.Base(f)]
		if c == nil {
			continue
		}
		fmt.Printf("%-28s agrees %3d disagrees %3d unreachable %3d invalid %3d unstable %3d\n", filepath.Base(f), c["agrees"], c["DISAGREES"], c["unreachable"], c["invalid"], c["UNSTABLE"])
		for k, n := range c {
			tot[k] += n
		}
	}
	failed := len(all) - tot["agrees"]
	fmt.Printf("%d passed, %d failed\n", tot["agrees"], failed)
	if *out != "" {
		var rows []map[string]string
		for _, r := range all {
			rows = append(rows, map[string]string{"file": r.file, "name": r.name, "kind": r.kind, "status": r.status, "got": r.got, "want": r.want, "notes": r.notes})
		}
		b, _ := json.MarshalIndent(rows, "", " ")
		os.WriteFile(*out, b, 0o644)
	}
	if failed > 0 || len(all) == 0 {
		os.Exit(1)
	}
}

func runOne(v *vector, reps int) (res result) {
	res = result{name: v.Name, kind: v.Kind}
	defer func() {
		if p := recover(); p != nil {
			res.status, res.notes = "invalid", fmt.Sprint("panic: ", p)
		}
	}()
	rn, ok := runners[v.Kind]
	if !ok {
		res.status = "unreachable"
		return
	}
	v.Input = expand(v.Input).(map[string]any)
	v.Expect = expand(v.Expect).(map[string]any)
	distinct := map[string]bool{}
	ok2 := true
	for i := 0; i < reps; i++ {
		got := rn(v)
		var msg, g string
		if c, isC := got.(checked); isC {
			g, msg = c.got, c.diff
			res.want = js(v.Expect)
		} else {
			a := canonFor(v, got)
			w := canonFor(v, v.Expect)
			g = js(a)
			res.want = js(w)
			if !eqTol(a, w, v.Tolerance) {
				msg = "differs"
			}
		}
		distinct[g] = true
		if msg != "" {
			ok2 = false
			res.notes = msg
			res.got = g
		} else if res.got == "" {
			res.got = g
		}
	}
	switch {
	case ok2:
		res.status = "agrees"
		if len(distinct) > 1 {
			res.notes = fmt.Sprintf("%d distinct outputs, all accepted", len(distinct))
		}
	case len(distinct) > 1:
		res.status = "UNSTABLE"
		res.notes += fmt.Sprintf(" (%d distinct outputs in %d runs)", len(distinct), reps)
	default:
		res.status = "DISAGREES"
	}
	return
}

type checked struct{ got, diff string }

func canonFor(v *vector, x any) any {
	g := generic(x)
	keep := v.Kind == "slice-hints-valid"
	n := norm(g, keep)
	n = sortKeys(n, orderFree)
	return n
}

var mutTried, mutKept int

// leaves lists setters for every leaf of x.
func leaves(x any, path string, set func(any), out *[]func() (string, func())) {
	add := func(nv any) {
		old := x
		*out = append(*out, func() (string, func()) { set(nv); return path, func() { set(old) } })
	}
	switch t := x.(type) {
	case map[string]any:
		for k, v := range t {
			leaves(v, path+"."+k, func(n any) { t[k] = n }, out)
		}
		if len(t) == 0 {
			add(map[string]any{"zz": json.Number("7")})
		}
	case []any:
		for i, v := range t {
			leaves(v, fmt.Sprintf("%s[%d]", path, i), func(n any) { t[i] = n }, out)
		}
		if len(t) == 0 {
			add([]any{"zz"})
		}
	case string:
		add(t + "x")
	case bool:
		add(!t)
	case json.Number:
		f, _ := t.Float64()
		add(json.Number(fmt.Sprint(f + 1)))
	case nil:
		add(json.Number("77"))
	}
}

func mutateOne(v *vector) {
	if v.Kind == "batching" {
		return
	}
	v.Input = expand(v.Input).(map[string]any)
	v.Expect = expand(v.Expect).(map[string]any)
	var l []func() (string, func())
	leaves(v.Expect, "", func(any) {}, &l)
	step := 1 + len(l)/40
	for i := 0; i < len(l); i += step {
		p, undo := l[i]()
		mutTried++
		r := runOne(v, 1)
		if r.status == "agrees" {
			mutKept++
			fmt.Printf("mutation accepted: %s %s\n", v.Name, p)
		}
		undo()
	}
}

// cmdFill reads a vector file whose vectors lack "expect" and prints it with
// upstream's answers filled in.
func cmdFill(args []string) {
	d := json.NewDecoder(os.Stdin)
	d.UseNumber()
	var doc map[string]any
	if err := d.Decode(&doc); err != nil {
		panic(err)
	}
	for _, x := range doc["vectors"].([]any) {
		o := x.(map[string]any)
		b, _ := json.Marshal(o)
		dd := json.NewDecoder(bytes.NewReader(b))
		dd.UseNumber()
		var v vector
		if err := dd.Decode(&v); err != nil {
			panic(err)
		}
		v.Input = expand(v.Input).(map[string]any)
		v.Expect = map[string]any{"endpoints": nil}
		if v.Kind == "slice-reconcile" {
			v.Expect = map[string]any{"metrics": nil, "hintsByZone": nil, "hintsByNode": nil, "crossZone": nil}
		}
		r := runners[v.Kind](&v)
		if c, ok := r.(checked); ok {
			var g map[string]any
			json.Unmarshal([]byte(c.got), &g)
			for _, k := range []string{"hintsByZone", "hintsByNode"} {
				if g[k] == nil {
					g[k] = map[string]any{}
				}
			}
			if g["lengths"] == nil {
				g["lengths"] = []any{}
			}
			sl := sortAny(lastSlices).([]any)
			for _, s := range sl {
				sm := s.(map[string]any)
				delete(sm, "ownerReferences")
				delete(sm, "annotations")
				for _, k := range []string{"name", "generateName"} {
					if sm[k] == "" {
						delete(sm, k)
					}
				}
				for _, k := range []string{"ports", "endpoints"} {
					if sm[k] == nil {
						sm[k] = []any{}
					}
				}
			}
			g["slices"] = sl
			o["expect"] = g
			continue
		}
		o["expect"] = generic(r)
		if e, ok := o["expect"].(map[string]any); ok && v.Kind == "endpoints-sync" && e["endpoints"] == nil {
			delete(e, "endpoints")
		}
	}
	enc := json.NewEncoder(os.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	enc.Encode(doc)
}
