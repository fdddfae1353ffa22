package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"sort"

	sigsjson "sigs.k8s.io/json"
)

// conv strictly decodes a generic value into a Kubernetes type.
func conv[T any](x any) *T {
	if x == nil {
		return nil
	}
	b, err := json.Marshal(x)
	if err != nil {
		panic(err)
	}
	var t T
	strict, err := sigsjson.UnmarshalStrict(b, &t)
	if err != nil {
		panic(fmt.Sprintf("decode: %v in %.200s", err, b))
	}
	if len(strict) > 0 {
		panic(fmt.Sprintf("vector is not valid Kubernetes JSON: %v", strict))
	}
	return &t
}

func convList[T any](x any) []*T {
	l, _ := x.([]any)
	r := make([]*T, 0, len(l))
	for _, i := range l {
		r = append(r, conv[T](i))
	}
	return r
}

// gen turns any Go value into generic JSON (numbers as json.Number).
func generic(x any) any {
	b, err := json.Marshal(x)
	if err != nil {
		panic(err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var r any
	if err := d.Decode(&r); err != nil {
		panic(err)
	}
	return r
}

// norm drops null, empty list and empty map values of maps, and makes numbers float64.
func norm(x any, keepEmptyMap bool) any {
	switch t := x.(type) {
	case json.Number:
		f, _ := t.Float64()
		return f
	case []any:
		r := make([]any, len(t))
		for k := range t {
			r[k] = norm(t[k], keepEmptyMap)
		}
		return r
	case map[string]any:
		r := map[string]any{}
		for k, v := range t {
			v = norm(v, keepEmptyMap)
			if v == nil {
				continue
			}
			if l, ok := v.([]any); ok && len(l) == 0 {
				continue
			}
			if m, ok := v.(map[string]any); ok && len(m) == 0 && !keepEmptyMap {
				continue
			}
			r[k] = v
		}
		return r
	}
	return x
}

func js(x any) string { b, _ := json.Marshal(x); return string(b) }

func sortAny(l any) any {
	a, ok := l.([]any)
	if !ok {
		return l
	}
	a = append([]any{}, a...)
	sort.Slice(a, func(i, j int) bool { return js(a[i]) < js(a[j]) })
	return a
}

// sortKeys sorts as multisets all lists found under the named keys, bottom up.
func sortKeys(x any, keys map[string]bool) any {
	switch t := x.(type) {
	case []any:
		r := make([]any, len(t))
		for k := range t {
			r[k] = sortKeys(t[k], keys)
		}
		return r
	case map[string]any:
		r := map[string]any{}
		for k, v := range t {
			v = sortKeys(v, keys)
			if keys[k] {
				v = sortAny(v)
			}
			r[k] = v
		}
		return r
	}
	return x
}

func eqTol(a, b any, tol float64) bool {
	switch t := a.(type) {
	case float64:
		u, ok := b.(float64)
		return ok && (t == u || math.Abs(t-u) <= tol)
	case []any:
		u, ok := b.([]any)
		if !ok || len(t) != len(u) {
			return false
		}
		for i := range t {
			if !eqTol(t[i], u[i], tol) {
				return false
			}
		}
		return true
	case map[string]any:
		u, ok := b.(map[string]any)
		if !ok || len(t) != len(u) {
			return false
		}
		for k := range t {
			v, ok := u[k]
			if !ok || !eqTol(t[k], v, tol) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

// sortJS sorts by the JSON text of the elements.
func sortJS[T any](l []T) {
	if len(l) < 2 {
		return
	}
	type kv struct {
		k string
		v T
	}
	x := make([]kv, len(l))
	for i := range l {
		x[i] = kv{js(l[i]), l[i]}
	}
	sort.SliceStable(x, func(i, j int) bool { return x[i].k < x[j].k })
	for i := range l {
		l[i] = x[i].v
	}
}
