// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"varve.dev/zarr/icechunk/internal/format"
)

// TestStagedChunks sets and forgets references at random. They are those of a model, in
// the order in which they were set, whatever names share a slot. What was found before
// stays as it was.
func TestStagedChunks(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 1))
	text := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.IntN(256))
		}
		return b
	}
	reference := func() (ref format.ChunkRef) {
		ref = format.ChunkRef{Payload: format.Payload(random.IntN(4)), Offset: random.Uint64() >> random.IntN(64), Length: random.Uint64() >> random.IntN(64)}
		switch ref.Payload {
		case format.Inline:
			ref.Data = text(random.IntN(3000))
		case format.Native:
			ref.ID = ID(text(12))
		case format.Virtual:
			ref.Location, ref.ETag, ref.Modified = text(random.IntN(50)), text(random.IntN(20)), random.Uint32()
		}
		if random.IntN(4) == 0 {
			ref.Extra = text(random.IntN(3))
		}
		return ref
	}
	same := func(a, b format.ChunkRef) bool {
		return a.ID == b.ID && isSame(a, b) && (a.Extra == nil) == (b.Extra == nil) && slices.Equal(a.Extra, b.Extra)
	}
	type held struct{ found, want format.ChunkRef }
	for _, slots := range []uint64{1, 7, math.MaxUint64} {
		c, model, order := newStagedChunks(), map[string]format.ChunkRef{}, []string(nil)
		hash, before := c.hash, []held(nil)
		c.hash = func(name string) uint64 { return hash(name)%slots - 3 } // slots go around, too
		for range 3000 {
			name := "c/" + strconv.Itoa(random.IntN(100))
			if i := slices.Index(order, name); i >= 0 {
				order = slices.Delete(order, i, i+1)
			}
			if random.IntN(3) == 0 {
				c.forget(name)
				delete(model, name)
			} else {
				ref := reference()
				c.set(name, ref)
				model[name] = ref
				order = append(order, name)
			}
			name = "c/" + strconv.Itoa(random.IntN(100))
			ref, ok := c.find(name)
			if want, is := model[name]; ok != is || !same(ref, want) || c.len() != len(model) {
				t.Fatalf("%s: %v, %v of %d, want %v", name, ref, ok, c.len(), want)
			}
			if ok && len(before) < 200 {
				before = append(before, held{ref, ref.Clone()})
			}
		}
		var names []string
		for name, at := range c.all() {
			names = append(names, string(name))
			if !same(c.reference(at), model[string(name)]) {
				t.Fatalf("%s: %v, want %v", name, c.reference(at), model[string(name)])
			}
		}
		if !slices.Equal(names, order) {
			t.Fatalf("%v, want %v", names, order)
		}
		if c.dead > c.count+fewDead+1 {
			t.Errorf("%d records of %d do not hold", c.dead, c.count)
		}
		for _, h := range before {
			if !same(h.found, h.want) {
				t.Fatalf("%v has become %v", h.want, h.found)
			}
		}
	}
	var none *stagedChunks
	if _, ok := none.find("c/0"); ok || none.len() != 0 {
		t.Error("nothing has chunks")
	}
	for range none.all() {
		t.Error("nothing yields chunks")
	}
}
