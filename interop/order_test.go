// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/codecs/sharding"
	"varve.dev/zarr/store"
)

// orders are the orders of inner chunks that both implementations can store.
var orders = []struct {
	name  string // in zarr-python
	order codec.Order
}{{"morton", codec.Morton}, {"lexicographic", codec.C}, {"colexicographic", codec.Fortran}}

// TestOrder lets both implementations write the same elements in each order, whole and
// then in parts, with deterministic codecs. The stored bytes must be equal.
func TestOrder(t *testing.T) {
	t.Parallel()
	p, seed := startPython(t), seed(t)
	for i := range max(60, cases()/2) {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, uint64(i)<<24))
			p.randomPipeline(t, r)
			s, o := shardedSpec(r, true), orders[i%len(orders)]
			if s.Order = o.name; o.order == codec.Morton && r.IntN(2) == 0 {
				s.Order = "" // zarr-python's default
			}
			w := &twins{s, p, filepath.Join(t.TempDir(), "ours.zarr"), filepath.Join(t.TempDir(), "theirs.zarr"), zarr.Options{
				Write: true, Durability: store.Flush, Shards: zarr.Shards{Order: o.order},
			}}
			varve{}.create(t, w.varve, s)
			p.create(t, w.peer, s)
			whole := region{}
			for _, n := range s.Shape {
				whole = append(whole, [3]int64{0, n, 1})
			}
			w.write(t, whole, randomBlock(r, s, s.Shape).data)
			for range 4 {
				at := randomRegion(r, s.Shape)
				w.write(t, at, randomBlock(r, s, at.shape()).data)
			}
			w.disorder(t, r)
			w.write(t, whole, bytes.Repeat(s.Fill, int(product(s.Shape))))
			if left := stored(t, w.peer); len(left) > 0 {
				t.Errorf("arrays that hold only the fill value store %v", slices.Collect(maps.Keys(left)))
			}
		})
	}
}

// twins are two equal arrays, one of each implementation.
type twins struct {
	spec
	p           *python
	varve, peer string
	options     zarr.Options
}

// write writes a region of both arrays and compares the stored bytes.
func (w *twins) write(t *testing.T, at region, data []byte) {
	t.Helper()
	changeBy(t, w.varve, &w.options, func(a *zarr.Array) error { return a.WriteBytes(t.Context(), at.basic(), data) })
	w.p.writePart(t, w.peer, at, data)
	w.compare(t, at)
}

// disorder lets Varve append inner chunks to shards. After compacting they equal those
// of zarr-python again.
func (w *twins) disorder(t *testing.T, r *rand.Rand) {
	t.Helper()
	if w.inner(w.Shape) == nil || w.isNested() {
		return
	}
	opt := w.options
	opt.Shards.Strategy = codec.Append
	for range 3 {
		at := randomRegion(r, w.Shape)
		data := randomBlock(r, w.spec, at.shape()).data
		changeBy(t, w.varve, &opt, func(a *zarr.Array) error { return a.WriteBytes(t.Context(), at.basic(), data) })
		w.p.writePart(t, w.peer, at, data)
	}
	changeBy(t, w.varve, &opt, func(a *zarr.Array) error {
		report, err := a.CompactShards(t.Context(), nil)
		t.Logf("compacted: %+v", report)
		return err
	})
	w.compare(t, "compacting")
}

// isNested reports whether inner chunks are shards themselves.
func (s spec) isNested() bool {
	inner := s.Serializer.Configuration["codecs"].([]codecJSON)
	return slices.ContainsFunc(inner, func(c codecJSON) bool { return c.Name == sharding.Name })
}

// compare compares the stored bytes.
func (w *twins) compare(t *testing.T, at any) {
	t.Helper()
	ours, theirs := stored(t, w.varve), stored(t, w.peer)
	if !slices.Equal(slices.Sorted(maps.Keys(ours)), slices.Sorted(maps.Keys(theirs))) {
		t.Fatalf("after %v varve stores %v, zarr-python %v", at, slices.Sorted(maps.Keys(ours)), slices.Sorted(maps.Keys(theirs)))
	}
	for key, shard := range sorted(theirs) {
		if !bytes.Equal(ours[key], shard) {
			t.Fatalf("after %v varve and zarr-python store different bytes in %s:\n%x\n%x", at, key, ours[key], shard)
		}
	}
}

// stored returns the chunks in a directory by key.
func stored(t *testing.T, path string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	dir := os.DirFS(path)
	check(t, fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == "zarr.json" {
			return err
		}
		all[name], err = fs.ReadFile(dir, name)
		return err
	}))
	return all
}
