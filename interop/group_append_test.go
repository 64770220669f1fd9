// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"varve.dev/zarr"
)

// TestGroupAppend lets Varve append to all arrays of a group with consolidated metadata
// of either implementation, or change single arrays. zarr-python then reads the group
// through the consolidated metadata alone.
func TestGroupAppend(t *testing.T) {
	t.Parallel()
	p, seed := startPython(t), seed(t)
	for i := range cases() / 30 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, uint64(i)<<16))
			f := randomFamily(t, r, p)
			if r.IntN(2) == 0 {
				f.consolidate(t)
			} else {
				p.ask(t, request{Op: "consolidate", Path: f.path}, nil)
			}
			for range 5 {
				f.step(t)
				f.compare(t)
			}
			f.compareConsolidated(t)
		})
	}
}

// family is a group whose arrays grow together.
type family struct {
	p      *python
	r      *rand.Rand
	path   string
	arrays map[string]*groupArray // by path in the group
}

// groupArray is an array of a family.
type groupArray struct {
	history
	axis int // the axis along which all arrays grow
}

// randomFamily lets both implementations create the nodes of a group in turns.
func randomFamily(t *testing.T, r *rand.Rand, p *python) *family {
	f := &family{p, r, filepath.Join(t.TempDir(), "g.zarr"), map[string]*groupArray{}}
	turn := func() implementation { return pick[implementation](r, p, varve{}) }
	turn().createGroup(t, f.path, randomAttributes(r))
	turn().createGroup(t, filepath.Join(f.path, "low"), randomAttributes(r))
	for _, name := range []string{"time", "t2m", "u10", "low/cover"} {
		s := randomSpec(r)
		for len(s.Shape) == 0 || slices.Contains(s.Shape, 0) || name == "time" && len(s.Shape) > 1 {
			s = randomSpec(r)
		}
		for i, c := range s.Chunks {
			if c.edges != nil {
				s.Chunks[i].edges = c.sizes(s.Shape[i]) // no edge beyond the extent, as zarr-python demands
			}
		}
		for i, dimension := range s.Names {
			if dimension != nil { // arrays that share a dimension must have equal lengths
				s.Names[i] = new(*dimension + " of " + name)
			}
		}
		path := filepath.Join(f.path, name)
		h := history{p: p, r: r, spec: s, path: path, want: randomBlock(r, s, s.Shape), done: map[string]int{}, exclusive: true}
		turn().create(t, path, s)
		turn().write(t, path, h.want.data)
		f.arrays[name] = &groupArray{h, r.IntN(len(s.Shape))}
	}
	return f
}

func (f *family) change(t *testing.T, do func(*zarr.Group) error) {
	t.Helper()
	g, err := zarr.OpenGroup(t.Context(), f.path, &zarr.Options{Write: true})
	check(t, err)
	check(t, do(g))
	check(t, g.Close())
}

func (f *family) consolidate(t *testing.T) {
	t.Helper()
	f.change(t, func(g *zarr.Group) error { return g.Consolidate(t.Context()) })
}

// step grows all arrays in one transaction, or changes one of them in any way.
func (f *family) step(t *testing.T) {
	if f.r.IntN(2) == 0 {
		f.grow(t)
		return
	}
	name := pick(f.r, slices.Sorted(maps.Keys(f.arrays))...)
	t.Log(name)
	f.arrays[name].step(t)
}

// grow appends the same number of planes to every array that accepts them. The first
// time, it may expect another shape of one array: then nothing grows.
func (f *family) grow(t *testing.T) {
	n := 1 + f.r.Int64N(5)
	var all []zarr.Addition
	next := map[string]func(){}
	for name, a := range sorted(f.arrays) {
		from, more := a.want.shape[a.axis], a.more(a.axis, n)
		if len(more.data) == 0 {
			continue
		}
		growth, after := randomGrowth(f.r, a.spec.Chunks[a.axis], from, from+n, 1)
		t.Logf("%s grows from %v by %v", name, a.want.shape, growth)
		all = append(all, zarr.Addition{Path: name, Axis: a.axis, Data: more.data, Options: &zarr.AppendOptions{Grow: growth}})
		next[name] = func() {
			a.spec.Chunks[a.axis], a.want = after, a.want.appended(a.axis, more, a.spec.Fill)
		}
	}
	f.r.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	if len(all) > 0 && f.r.IntN(3) == 0 {
		last := all[len(all)-1].Options
		last.Expect = []int64{}
		f.change(t, func(g *zarr.Group) error {
			if err := g.Append(t.Context(), all...); !errors.Is(err, zarr.ErrConflict) {
				t.Errorf("appending to another array than expected: %v", err)
			}
			return nil
		})
		f.compare(t)
		last.Expect = nil
	}
	f.change(t, func(g *zarr.Group) error { return g.Append(t.Context(), all...) })
	for _, grown := range next {
		grown()
	}
}

// compare lets zarr-python read every array through the consolidated metadata and
// without it, and Varve as usual.
func (f *family) compare(t *testing.T) {
	t.Helper()
	for name, a := range sorted(f.arrays) {
		want, path := a.spec.state(a.want), filepath.Join(f.path, name)
		compare(t, f.p, f.p.readMember(t, f.path, name), want)
		compare(t, f.p, f.p.read(t, path), want)
		compare(t, varve{}, varve{}.read(t, path), want)
	}
}

// compareConsolidated compares the consolidated metadata of both implementations with
// the documents.
func (f *family) compareConsolidated(t *testing.T) {
	t.Helper()
	f.consolidate(t)
	stored := f.stored(t)
	if len(stored) != len(f.arrays)+1 {
		t.Errorf("varve consolidates %d of %d nodes", len(stored), len(f.arrays)+1)
	}
	for path, document := range stored {
		raw, err := os.ReadFile(filepath.Join(f.path, path, "zarr.json"))
		check(t, err)
		var own any
		if decode(t, raw, &own); !reflect.DeepEqual(document, own) {
			t.Errorf("varve consolidates %s as %v, its document is %v", path, document, own)
		}
	}
	var found, through tree
	f.p.ask(t, request{Op: "members", Path: f.path}, &found)
	f.p.ask(t, request{Op: "members", Path: f.path, Consolidated: true}, &through)
	if !reflect.DeepEqual(found, through) {
		t.Errorf("zarr-python finds %v, and %v by the consolidated metadata", found, through)
	}
	var ours, theirs map[string]any
	f.p.ask(t, request{Op: "consolidated", Path: f.path}, &ours)
	f.p.ask(t, request{Op: "consolidate", Path: f.path}, nil)
	f.p.ask(t, request{Op: "consolidated", Path: f.path}, &theirs)
	if !reflect.DeepEqual(ours, theirs) {
		t.Errorf("varve consolidates\n%v\nzarr-python\n%v", ours, theirs)
	}
}

// stored returns the documents in the consolidated metadata of the group, by path.
func (f *family) stored(t *testing.T) map[string]any {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(f.path, "zarr.json"))
	check(t, err)
	var document struct {
		Consolidated struct {
			Metadata       map[string]any
			Kind           string
			MustUnderstand *bool `json:"must_understand"`
		} `json:"consolidated_metadata"`
	}
	decode(t, raw, &document)
	if c := document.Consolidated; c.Kind != "inline" || c.MustUnderstand == nil || *c.MustUnderstand {
		t.Errorf("the start of the consolidated metadata differs from that of zarr-python: %s", raw)
	}
	return document.Consolidated.Metadata
}

// sorted yields the entries of a map in the order of the keys.
func sorted[V any](m map[string]V) func(func(string, V) bool) {
	return func(yield func(string, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}
