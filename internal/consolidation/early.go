// SPDX-License-Identifier: Apache-2.0

package consolidation

import (
	"context"
	"strings"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Early has the metadata of nodes that consolidated metadata names. It is read while the
// nodes are listed: in a far store, one round trip less.
type Early struct {
	nodes  map[store.Path]func() (metadata.Node, error)
	all    sync.WaitGroup
	cancel context.CancelFunc
}

// mostEarly bounds the nodes that are read before they are listed.
const mostEarly = 1000

// ReadEarly begins to read the nodes below the group at a location that its consolidated
// metadata names, only those directly below it if deep is false. The caller calls
// [Early.End].
func ReadEarly(ctx context.Context, at *zarr.Location, recorded *metadata.Consolidated, deep bool) *Early {
	ctx, cancel := context.WithCancel(ctx)
	e := &Early{nodes: map[store.Path]func() (metadata.Node, error){}, cancel: cancel}
	hierarchy := at.Root()
	above, err := store.ParsePath(at.Path())
	if _, lists := store.As[store.Lister](hierarchy.Store()); err != nil || !lists {
		return e
	}
	for name := range recorded.Nodes() {
		p, err := above.Join(name)
		if err != nil || !deep && strings.Contains(name, "/") {
			continue
		}
		if len(e.nodes) == mostEarly {
			break
		}
		e.nodes[p] = sync.OnceValues(func() (metadata.Node, error) { return hierarchy.At(p.String()).Metadata(ctx, nil) })
	}
	for _, read := range e.nodes {
		e.all.Go(func() { _, _ = read() }) // who uses the node gets the error
	}
	return e
}

// End cancels what is in flight, and waits for it.
func (e *Early) End() {
	e.cancel()
	e.all.Wait()
}
