// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/store"
)

func key(i int) store.Key { return store.MustKey(fmt.Sprintf("a/c/%d", i)) }

// indexOfVersion returns an index of n inner chunks, of a version.
func indexOfVersion(n int, version string) *index {
	x := &index{entries: make([]uint64, 2*n)}
	if version != "" {
		x.info.Version = store.MakeVersion(version)
	}
	return x
}

// TestCache runs random histories against a list of what was used last.
func TestCache(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.Int64Range(1, 3000).Draw(t, "most")
		c := newCache(most)
		type entry struct {
			key int
			x   *index
		}
		var model []entry // the last used first
		find := func(k int) int {
			for i, e := range model {
				if e.key == k {
					return i
				}
			}
			return -1
		}
		remove := func(k int) {
			if i := find(k); i >= 0 {
				model = append(model[:i:i], model[i+1:]...)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"get": func(t *rapid.T) {
				k := rapid.IntRange(0, 6).Draw(t, "key")
				got, i := c.get(key(k)), find(k)
				if i < 0 {
					if got != nil {
						t.Fatalf("key %d is kept, and should not be", k)
					}
					return
				}
				if got != model[i].x {
					t.Fatalf("key %d has another index", k)
				}
				e := model[i]
				remove(k)
				model = append([]entry{e}, model...)
			},
			"put": func(t *rapid.T) {
				k := rapid.IntRange(0, 6).Draw(t, "key")
				x := indexOfVersion(rapid.IntRange(0, 60).Draw(t, "n"), rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "version"))
				c.put(key(k), x)
				if x.info.Version.IsZero() || x.weight() > most {
					return
				}
				remove(k)
				model = append([]entry{{k, x}}, model...)
				used := int64(0)
				for i, e := range model {
					if used += e.x.weight(); used > most {
						model = model[:i:i]
						break
					}
				}
			},
			"drop": func(t *rapid.T) {
				k := rapid.IntRange(0, 6).Draw(t, "key")
				c.drop(key(k))
				remove(k)
			},
			"": func(t *rapid.T) {
				used := int64(0)
				for _, e := range model {
					used += e.x.weight()
				}
				if c.used != used || used > most || c.turns.Len() != len(model) || len(c.byKey) != len(model) {
					t.Fatalf("%d bytes in %d indexes are kept, want %d in %d", c.used, c.turns.Len(), used, len(model))
				}
			},
		})
	})
}

// TestCacheOff keeps nothing where nothing is wanted.
func TestCacheOff(t *testing.T) {
	c := newCache(-1)
	c.put(key(0), indexOfVersion(0, "1"))
	if c.get(key(0)) != nil {
		t.Error("an index is kept")
	}
}

// TestCacheTogether uses a cache from several goroutines at once.
func TestCacheTogether(t *testing.T) {
	c := newCache(2000)
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := range 500 {
				switch k := key((i + g) % 7); i % 3 {
				case 0:
					c.put(k, indexOfVersion(i%50, "1"))
				case 1:
					c.get(k)
				default:
					c.drop(k)
				}
			}
		})
	}
	group.Wait()
	if c.used > c.most {
		t.Errorf("%d bytes are kept, at most %d are allowed", c.used, c.most)
	}
}
