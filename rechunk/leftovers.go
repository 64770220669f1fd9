// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// leftover is an object of a rechunk: a record of staged chunks, or scratch.
type leftover struct {
	kind string
	id   string // of its claim
	name string // relative to the array
	size int64  // bytes, or -1 if the listing does not know it
}

// leftovers lists the objects of all rechunks of an array. Those of the claim are in
// use. The others are left by a crash, between the end of a claim and their deletion.
func leftovers(ctx context.Context, at lineage.Array) ([]leftover, error) {
	var found []leftover
	for _, of := range []struct{ kind, dir string }{{"records", recordsDir}, {"scratch", scratchDir}} {
		dir := at.Path.MustKey(of.dir + "-").Dir()
		for e, err := range store.List(ctx, at.Store, dir, store.Deep) {
			if err != nil {
				return nil, err
			}
			// What has another name is not ours.
			if id, _, below := strings.Cut(e.Name, "/"); below && lineage.IsID(id) {
				found = append(found, leftover{of.kind, id, of.dir + e.Name, e.Size})
			}
		}
	}
	return found, nil
}

// keptValues counts the values that stay although they were to be deleted. It is safe for
// concurrent use.
type keptValues struct {
	mu      sync.Mutex
	n       int // that another program has written
	example store.Key
	refused bool // the store has turned out not to delete on conditions
}

func (s *keptValues) add(key store.Key, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(cause, store.ErrUnsupported) {
		s.refused = true
		return
	}
	s.n, s.example = s.n+1, key
}

func (s *keptValues) notes() []string {
	if s.n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of these values stay, such as %s: another program has written them meanwhile; run vacuum again", s.n, s.example)}
}

// Kinds of what a vacuum finds.
const (
	kindSuperseded  = "superseded"
	kindStaged      = "staged"
	kindUnexplained = "unexplained"
	kindBeyond      = "beyond"
)

// values are stored values with one key encoding.
type values struct {
	kind    string
	example string
	first   []string
	keys    []store.Key
	bytes   int64
}

// mostFirst bounds [VacuumItem.First].
const mostFirst = 10

// addFirst keeps the name of a value if it is one of the first in the order of names.
func (n *values) addFirst(name string) {
	at, _ := slices.BinarySearch(n.first, name)
	if at < mostFirst {
		n.first = slices.Insert(n.first, at, name)
		n.first = n.first[:min(mostFirst, len(n.first))]
	}
}

// survey returns the values beside the document that look like chunks, by key encoding,
// except for the chunks of the present grid. Those of the present encoding are beyond the
// extent.
func survey(ctx context.Context, at lineage.Array, old *snapshot.Array) (map[metadata.KeyEncoding]*values, error) {
	found := map[metadata.KeyEncoding]*values{}
	rank, chunks := old.Grid.Rank(), old.Grid.Chunks()
	for e, err := range store.List(ctx, at.Store, at.Path, store.Deep) {
		if err != nil {
			return nil, err
		}
		k, index, ok := parseKey(e.Name, rank, old.Engine.Keys)
		if !ok {
			continue
		}
		kind := kindSuperseded
		// A chunk beyond the extent is left by a shrink that crashed after it had
		// published.
		if sameKeys(k, old.Engine.Keys, rank) {
			within := true
			for i, k := range index {
				within = within && k < chunks[i]
			}
			if within {
				continue
			}
			kind = kindBeyond
		}
		n := found[k]
		if n == nil {
			n = &values{kind: kind, example: e.Name}
			found[k] = n
		}
		n.keys = append(n.keys, at.Path.MustKey(e.Name))
		n.addFirst(e.Name)
		// Some listings have no sizes.
		size := e.Size
		if size < 0 {
			info, err := store.Stat(ctx, at.Store, at.Path.MustKey(e.Name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			size = info.Size
		}
		n.bytes += size
	}
	return found, nil
}

// containKeys reports whether values have the keys of an encoding, perhaps under
// another name.
func containKeys(found map[metadata.KeyEncoding]*values, k metadata.KeyEncoding, rank int) bool {
	for of := range found {
		if sameKeys(of, k, rank) {
			return true
		}
	}
	return false
}
