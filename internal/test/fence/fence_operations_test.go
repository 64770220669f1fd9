// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
)

// fencedCases are calls on the array "a" of a store without locks, and the requests that
// they may make.
var fencedCases = []struct {
	name string
	spec zarr.Spec
	left string // key of a chunk that a crashed program left
	run  func(ctx context.Context, a *zarr.Array) error
	ops  string
}{
	{"append to edges", fixture.Lattice(), "", fixture.AppendRows(8), "2 Get document, 1 Get journal, 2 PutIf chunk, 1 PutIf document"},
	{"append behind full chunks", fixture.Every(8, 4), "", fixture.AppendRows(12), "2 Get document, 1 Get journal, 3 PutIf chunk, 1 PutIf document"},
	{"append over what was left", fixture.Every(8, 4), "a/c/2", fixture.AppendRows(8), "2 Get document, 1 Get journal, 3 PutIf chunk, 2 PutIf document, 1 Stat chunk"},
	{"append behind a part of a chunk", fixture.Every(6, 4), "", fixture.AppendRows(4), "1 Get chunk, 2 Get document, 1 Get journal, 2 PutIf chunk, 2 PutIf document"},
	{"grow", fixture.Every(8, 4), "", fixture.ResizeTo(16), "2 Get document, 1 Get journal, 2 PutIf chunk, 1 PutIf document"},
	{"shrink", fixture.Every(8, 4), "", fixture.ResizeTo(4), "1 DeleteIf chunk, 2 Get document, 1 Get journal, 2 PutIf document, 1 Stat chunk"},
}

// TestFencedOperations counts the requests of calls on a store without locks. An append
// to listed edges puts its chunks and the document, and gets the document and the
// journal. The second document is that of the group, which might have consolidated
// metadata.
func TestFencedOperations(t *testing.T) {
	for _, tt := range fencedCases {
		t.Run(tt.name, func(t *testing.T) {
			ctx, counts := t.Context(), map[string]int{}
			var mu sync.Mutex
			s := stepping.Conditional(memtest.New(), stepping.Hooks{After: func(op stepping.Op, err error) error {
				mu.Lock()
				defer mu.Unlock()
				counts[op.Name+" "+kindOf(op.Key)]++
				return err
			}})
			a, err := zarr.At(s, "a").CreateArray(ctx, tt.spec, &zarr.CreateOptions{Options: zarr.Options{Concurrency: 1}})
			if err == nil {
				err = fixture.WritePart(nil, int32(fixture.Count(tt.spec.Shape)))(ctx, a)
			}
			if err == nil && tt.left != "" {
				_, err = s.Write(ctx, store.Put(store.MustKey(tt.left), []byte("left")), store.Flush)
			}
			if err != nil {
				t.Fatal(err)
			}
			clear(counts)
			if err := tt.run(ctx, a); err != nil {
				t.Fatal(err)
			}
			var words []string
			for _, op := range slices.Sorted(maps.Keys(counts)) {
				words = append(words, fmt.Sprintf("%d %s", counts[op], op))
			}
			if got := strings.Join(words, ", "); got != tt.ops {
				t.Errorf("%s\nwant %s", got, tt.ops)
			}
		})
	}
}

// kindOf returns the kind of object that a key names.
func kindOf(key store.Key) string {
	switch {
	case key.Base() == "zarr.json":
		return "document"
	case strings.Contains(key.String(), "__varve"):
		return "journal"
	}
	return "chunk"
}
