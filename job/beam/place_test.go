// SPDX-License-Identifier: Apache-2.0

package beam

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
)

// scheme is that of locations in memory, such as test://name/a.zarr. They have the powers
// of an object store.
const scheme = "test"

// places are the stores of these locations.
var places sync.Map

func init() {
	store.Register(scheme, func(_ context.Context, location string, _ store.Access) (store.Store, store.Path, error) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(location, scheme+"://"), "/")
		p, known := places.Load(name)
		if !known {
			return nil, store.Path{}, fs.ErrNotExist
		}
		at, err := store.ParsePath(strings.Trim(rest, "/"))
		return p.(*place).store, at, err
	})
}

// place is an object store in memory, which counts requests, and fails some.
type place struct {
	at     string
	memory memtest.Store
	store  store.Store

	mu       sync.Mutex
	requests map[string]int
	fail     func(op stepping.Op) error // may be nil
	lose     func(op stepping.Op) error // the answers of requests; may be nil
}

func newPlace(t testing.TB) *place { return namedPlace(t, "") }

// namedPlace returns another place of a test.
func namedPlace(t testing.TB, suffix string) *place {
	name := strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-")) + suffix
	p := &place{at: scheme + "://" + name, memory: memtest.New(), requests: map[string]int{}}
	p.store = stepping.Conditional(p.memory, stepping.Hooks{Before: p.before, After: p.after})
	places.Store(name, p)
	t.Cleanup(func() { places.Delete(name) })
	return p
}

func (p *place) before(_ context.Context, op stepping.Op) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests[op.Name]++
	if p.fail != nil {
		return p.fail(op)
	}
	return nil
}

func (p *place) after(op stepping.Op, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil && p.lose != nil {
		return p.lose(op)
	}
	return err
}

// count returns the number of requests since the last call.
func (p *place) count() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.requests {
		n += x
	}
	clear(p.requests)
	return n
}

// failing makes requests fail; nil ends that.
func (p *place) failing(f func(op stepping.Op) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = f
}

// values returns what is stored below a node, without what Varve keeps for itself.
func (p *place) values(t testing.TB, node string) map[string]string {
	t.Helper()
	at, err := store.ParsePath(node)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for e, err := range store.List(t.Context(), p.memory, at, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Dir || strings.HasPrefix(e.Name, "__varve") {
			continue
		}
		value, _, err := p.memory.Get(t.Context(), at.MustKey(e.Name), store.Request{Limit: 1 << 30}, nil)
		if err != nil {
			t.Fatal(err)
		}
		// White space at the end of a document has the IDs of the writes that led to it.
		if strings.HasSuffix(e.Name, "zarr.json") {
			value = bytes.TrimRight(value, " \t\n")
		}
		all[e.Name] = string(value)
	}
	return all
}

// array makes an array of n rows and columns, with a chunk for each row.
func (p *place) array(t testing.TB, name string, n int64) *zarr.Array {
	t.Helper()
	a, err := zarr.CreateArray(t.Context(), p.at+"/"+name, zarr.Spec{
		Shape: []int64{n, n}, Type: dtype.Uint32, Chunks: []grid.Cut{grid.Edges(ones(n)...), grid.Every(n)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	elements := make([]uint32, n*n)
	for i := range elements {
		elements[i] = uint32(i * i)
	}
	if err := zarr.Write(t.Context(), a, nil, elements); err != nil {
		t.Fatal(err)
	}
	return a
}

func ones(n int64) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = 1
	}
	return list
}

// wanted is a rechunk of one array.
type wanted struct {
	node    string
	request rechunk.Request
	memory  int64
}

// plan stores a plan of rechunks, and returns its location.
func (p *place) plan(t testing.TB, all ...wanted) (location string) {
	t.Helper()
	var works []*job.Work
	for _, x := range all {
		works = append(works, p.work(t, x))
	}
	return p.put(t, map[string]any{"arrays": works})
}

// put stores a plan.
func (p *place) put(t testing.TB, plan map[string]any) (location string) {
	t.Helper()
	plan = maps.Clone(plan)
	plan["varve_plan"] = job.Version
	raw, err := json.Marshal(plan)
	if err == nil {
		location = p.at + "/p.json"
		err = job.WriteFile(t.Context(), location, raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	return location
}

func (p *place) work(t testing.TB, x wanted) *job.Work {
	t.Helper()
	w := &job.Work{Node: p.at + "/" + x.node, Memory: x.memory, Changed: true}
	a, err := zarr.OpenArray(t.Context(), w.Node, nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := rechunk.NewPlan(t.Context(), a, x.request, &rechunk.Options{Memory: x.memory})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range plan.Stages {
		w.Stages = append(w.Stages, job.Stage{Name: s.Name, Tasks: s.Tasks})
	}
	w.Stages = append(w.Stages, job.Stage{Name: "publish", Tasks: 1})
	w.Operation, w.Fingerprint, w.Source = plan.Operation, plan.Fingerprint, plan.State
	if w.Request, err = json.Marshal(x.request); err != nil {
		t.Fatal(err)
	}
	return w
}

// alone executes a rechunk in this process.
func (p *place) alone(t testing.TB, x wanted) {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), p.at+"/"+x.node, &zarr.Options{Write: true})
	if err == nil {
		_, err = rechunk.Do(t.Context(), a, x.request, &rechunk.Options{Memory: x.memory})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// same checks that two nodes have the same values.
func (p *place) same(t testing.TB, a, b string) {
	t.Helper()
	x, y := p.values(t, a), p.values(t, b)
	if len(x) < 3 {
		t.Errorf("%s has %d values", a, len(x))
	}
	if !maps.Equal(x, y) {
		t.Errorf("%s has %d values, %s has %d; they differ", a, len(x), b, len(y))
	}
}
