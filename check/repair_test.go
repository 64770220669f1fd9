// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/check"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// TestRepairUnlisted fails each listing of a repair, one after the other. The error is
// that of the listing: nobody takes what was not looked at for sound.
func TestRepairUnlisted(t *testing.T) {
	ctx, failed := context.Background(), errors.New("no listing")
	for _, consolidated := range []bool{true, false} {
		for n, whole := 1, false; !whole; n++ {
			s, _ := pair(t)
			if !consolidated {
				s = memtest.New()
				fixture.Must(zarr.At(s, "").CreateGroup(ctx, nil, nil))
			}
			fixture.Must(zarr.At(s, "below").CreateGroup(ctx, nil, nil))
			listings := 0
			h := stepping.Conditional(s, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
				if op.Name != "List" {
					return nil
				}
				if listings++; listings == n {
					return failed
				}
				return nil
			}})
			_, err := check.Repair(ctx, zarr.At(h, ""), &check.RepairOptions{Shards: true})
			if whole = listings < n; whole != (err == nil) || !whole && !errors.Is(err, failed) {
				t.Errorf("consolidated %t, listing %d of %d: %v", consolidated, n, listings, err)
			}
			if whole && n < 3 {
				t.Errorf("consolidated %t: %d listings", consolidated, listings)
			}
		}
	}
}

// TestMisread reads a shuffle of elements of 0 bytes as netcdf-c does, inside of shards
// too. The check reports it, and the repair writes the size, which zarr-python needs.
func TestMisread(t *testing.T) {
	ctx := context.Background()
	const (
		head    = `"zarr_format":3,"node_type":"array","shape":[4],"data_type":"int16","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4]}},"chunk_key_encoding":{"name":"default"},"fill_value":0,"attributes":{}`
		shuffle = `{"name":"bytes","configuration":{"endian":"little"}},{"name":"numcodecs.shuffle","configuration":{"elementsize":0}}`
		shards  = `{"name":"sharding_indexed","configuration":{"chunk_shape":[4],"codecs":[` + shuffle + `],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}}`
	)
	for name, c := range map[string]struct{ key, doc, chunk, value string }{
		"format 2": {".zarray", `{"zarr_format":2,"shape":[4],"chunks":[4],"dtype":"<i2","fill_value":0,"order":"C","compressor":null,"filters":[{"id":"shuffle","elementsize":0}]}`, "0", ""},
		"format 3": {"zarr.json", "{" + head + `,"codecs":[` + shuffle + "]}", "c/0", ""},
		"shards":   {"zarr.json", "{" + head + `,"codecs":[` + shards + "]}", "c/0", "\x00\x00\x00\x00\x00\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00"},
		"a text":   {"zarr.json", "{" + head + `,"codecs":[` + strings.Replace(shuffle, ":0", `:"00"`, 1) + "]}", "c/0", ""},
		"a text 2": {".zarray", `{"zarr_format":2,"shape":[4],"chunks":[4],"dtype":"<i2","fill_value":0,"order":"C","compressor":null,"filters":[{"id":"shuffle","elementsize":"00"}]}`, "0", ""},
		"filtered": {".zarray", `{"zarr_format":2,"shape":[4],"chunks":[4],"dtype":"<i4","fill_value":0,"order":"C","compressor":null,
			"filters":[{"id":"astype","encode_dtype":"<i2","decode_dtype":"<i4"},{"id":"shuffle","elementsize":0}]}`, "0", ""},
	} {
		s := memtest.New()
		group := `{"zarr_format":3,"node_type":"group","attributes":{}}`
		for key, value := range map[string]string{"zarr.json": group, "a/" + c.key: c.doc, "a/" + c.chunk: "\xf7\x06\xfb\x1f\xff\x00\xff\x00" + c.value} {
			if c.key == ".zarray" && key == "zarr.json" {
				key, value = ".zgroup", `{"zarr_format":2}`
			}
			fixture.Must(s.Write(ctx, store.Put(store.MustKey(key), []byte(value)), store.Flush))
		}
		misread := func() (n int) {
			g, err := zarr.At(s, "").OpenGroup(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			a, err := g.At("a").OpenArray(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := zarr.ReadAs[int16](ctx, a, nil); err != nil || !slices.Equal(got.Data, []int16{-9, 6, -5, 31}) {
				t.Errorf("%s: %v, %v", name, got, err)
			}
			report, err := check.Run(ctx, g, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range report.Findings {
				if f.Kind != "misread" || f.Path != "a" || !strings.Contains(f.Message, "zarr-python") {
					t.Errorf("%s: %+v", name, f)
				}
			}
			return len(report.Findings)
		}
		if n := misread(); n != 1 {
			t.Errorf("%s: %d findings", name, n)
		}
		for _, want := range []int{1, 0} {
			if done, err := check.Repair(ctx, zarr.At(s, ""), nil); err != nil || len(done) != want {
				t.Errorf("%s: %+v, %v", name, done, err)
			}
		}
		if n := misread(); n != 0 {
			t.Errorf("%s: %d findings after the repair", name, n)
		}
		doc, _, err := s.Get(ctx, store.MustKey("a/"+c.key), store.Request{Limit: 1 << 20}, nil)
		if err != nil || !strings.Contains(strings.Join(strings.Fields(string(doc)), ""), `"elementsize":2`) {
			t.Errorf("%s: %s, %v", name, doc, err)
		}
	}
}

// TestRepairUnlistable restores the index of a shard in a store that cannot list, and has
// consolidated metadata.
func TestRepairUnlistable(t *testing.T) {
	ctx, s := context.Background(), sharded(t)
	g := fixture.Must(zarr.At(s, "").OpenGroup(ctx, &zarr.Options{Write: true}))
	if err := g.Consolidate(ctx); err != nil {
		t.Fatal(err)
	}
	before := value(t, s, "fixed/c/1")
	spoil(t, s, "fixed/c/1", func(b []byte) []byte {
		b[len(b)-20] ^= 1
		return b
	})
	h := stepping.Conditional(s, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		if op.Name == "List" {
			return store.ErrUnsupported
		}
		return nil
	}})
	done, err := check.Repair(ctx, zarr.At(h, ""), &check.RepairOptions{Shards: true})
	if err != nil || len(done) != 1 || done[0].Err != nil || !bytes.Equal(value(t, s, "fixed/c/1"), before) {
		t.Errorf("%+v, %v", done, err)
	}
}

// dying is a store whose writer dies after some writes.
type dying struct {
	memtest.Store
	left int
}

var errDead = errors.New("the writer is dead")

func (d *dying) dies() bool { d.left--; return d.left < 0 }

func (d *dying) Write(ctx context.Context, c store.Change, how store.Durability) (store.Written, error) {
	if (c.Op == store.OpPut || c.Op == store.OpPutIf || c.Op == store.OpDelete) && d.dies() {
		return store.Written{}, errDead
	}
	return d.Store.Write(ctx, c, how)
}

// elements returns the elements of x and y that can be read, chunk by chunk.
func elements(s store.Store) map[string][]int16 {
	ctx, found := context.Background(), map[string][]int16{}
	for _, name := range []string{"x", "y"} {
		a, err := zarr.At(s, name).OpenArray(ctx, nil)
		if err != nil {
			continue
		}
		for from := int64(0); from < a.Shape()[0]; from += 2 {
			to := min(from+2, a.Shape()[0])
			if b, err := zarr.Read[int16](ctx, a, selection.Box{{from, to}}); err == nil {
				found[fmt.Sprint(name, from)] = b.Data
			}
		}
	}
	return found
}

// TestRepairAtRandom damages a consolidated group whose last append was interrupted:
// documents, consolidated metadata, journals and chunks. What could be read before a
// repair can be read afterwards, and is the same.
func TestRepairAtRandom(t *testing.T) {
	n, ctx, repaired := 300, context.Background(), 0
	if fixture.Long() {
		n = 3000
	}
	for i := range n {
		r := rand.New(rand.NewPCG(uint64(i), 5))
		s, _ := pair(t)
		d := &dying{s, r.IntN(14)}
		if g, err := zarr.At(d, "").OpenGroup(ctx, &zarr.Options{Write: true}); err == nil {
			add := []int16{1, 2, 3}
			_ = g.Append(ctx, zarr.Add("x", 0, add, nil), zarr.Add("y", 0, add, nil)) // the writer may die
		}
		var keys []string
		for e, err := range s.List(ctx, store.Path{}, store.Deep) {
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, e.Name)
		}
		slices.Sort(keys)
		for range r.IntN(3) {
			spoilAtRandom(t, r, s, keys[r.IntN(len(keys))])
		}
		before := elements(s)
		journals := len(pointers(t, s))
		if _, err := check.Repair(ctx, zarr.At(s, ""), &check.RepairOptions{Shards: true}); err == nil {
			repaired += journals - len(pointers(t, s))
		}
		after := elements(s)
		for where, v := range before {
			if is := after[where]; !slices.Equal(is, v) && (len(is) < len(v) || !slices.Equal(is[:len(v)], v)) {
				t.Errorf("group %d: %s was %d, and is %d", i, where, v, is)
			}
		}
	}
	if repaired < n/10 {
		t.Errorf("%d pointers to journals of %d groups are gone", repaired, n)
	}
}

// TestRepairTells interrupts an append to two arrays after each of its writes. What a
// repair finishes or undoes is in its report, for each array, and nothing else is.
func TestRepairTells(t *testing.T) {
	ctx, told := context.Background(), map[string]int{}
	for n := range 20 {
		s, _ := pair(t)
		g, err := zarr.At(&dying{s, n}, "").OpenGroup(ctx, &zarr.Options{Write: true})
		if err == nil {
			add := []int16{1, 2, 3}
			_ = g.Append(ctx, zarr.Add("x", 0, add, nil), zarr.Add("y", 0, add, nil)) // the writer may die
		}
		before := pointers(t, s)
		done, err := check.Repair(ctx, zarr.At(s, ""), nil)
		if err != nil {
			t.Fatal(err)
		}
		after, finished := pointers(t, s), 0
		for _, r := range done {
			if strings.Contains(r.Message, "a change of several arrays") {
				finished++
				told[r.Message]++
				if r.Err != nil || !slices.Contains(before, r.Path+"/__varve/pending.json") {
					t.Errorf("after %d writes: %+v", n, r)
				}
			}
		}
		if finished != len(before)-len(after) {
			t.Errorf("after %d writes: %+v, of %d arrays, %d of them as before", n, done, len(before), len(after))
		}
	}
	if len(told) != 2 {
		t.Errorf("%v", told)
	}
}

// pointers returns the keys of pointers to journals.
func pointers(t *testing.T, s store.Store) (keys []string) {
	t.Helper()
	for e, err := range store.List(context.Background(), s, store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(e.Name, "/pending.json") {
			keys = append(keys, e.Name)
		}
	}
	return keys
}

// spoilAtRandom flips bits of a value, cuts its end off, or deletes it.
func spoilAtRandom(t *testing.T, r *rand.Rand, s memtest.Store, key string) {
	t.Helper()
	if there, err := store.Exists(context.Background(), s, store.MustKey(key)); !there || err != nil {
		return
	}
	how := r.IntN(4)
	spoil(t, s, key, func(b []byte) []byte {
		switch {
		case how == 0:
			return nil
		case len(b) == 0:
			return b
		case how == 1:
			return b[:r.IntN(len(b))]
		}
		for range 1 + r.IntN(3) {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
		return b
	})
}
