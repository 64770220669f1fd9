// SPDX-License-Identifier: Apache-2.0

package consolidation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// walk collects the records of nodes of one format from their own documents.
type walk struct {
	Options
	hierarchy *zarr.Location
	format    int
	stopped   bool
	unusable  error    // of the listings; see [store.UnusableError]
	paths     []string // relative to the start of the walk
	records   map[string][]byte
}

// below collects the nodes below a directory. relative is the path of the directory from
// the start of the walk.
func (w *walk) below(ctx context.Context, dir store.Path, relative string) error {
	names, err := tree.Directories(ctx, w.hierarchy.Store(), dir)
	if errors.Is(err, store.ErrUnusable) {
		w.unusable, err = errors.Join(w.unusable, err), nil
	}
	if err != nil {
		return err
	}
	nodes := w.nodes(ctx, dir, names)
	for i, name := range names {
		if w.stopped = w.stopped || w.Most > 0 && len(w.paths) == w.Most; w.stopped {
			return nil
		}
		p, err := dir.Join(name)
		if err != nil {
			continue // Varve's own directory
		}
		node, err := nodes(i)
		// A folder without a document, such as one with the chunks of an array.
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if node == nil || err != nil && !errors.Is(err, metadata.ErrUnsupported) {
			if w.Tolerant && undecodable(err) {
				// An empty record means that the node exists, so it is not gone, and is
				// not compared.
				w.records[strings.TrimPrefix(relative+"/"+name, "/")] = []byte{}
				continue
			}
			return err
		}
		if node.Format() != w.format {
			continue // a node of the other format
		}
		path := strings.TrimPrefix(relative+"/"+name, "/")
		record, err := spelled(node, func() ([]byte, error) { return w.stored(ctx, p, node) })
		if w.Tolerant && undecodable(err) {
			w.records[path] = []byte{}
			continue
		}
		if err != nil {
			return fmt.Errorf("%q: %w", "/"+path, err)
		}
		w.paths, w.records[path] = append(w.paths, path), record
		if w.Found != nil {
			w.Found()
		}
		if _, isGroup := node.(*metadata.Group); isGroup && !w.Shallow {
			if err := w.below(ctx, p, path); err != nil {
				return err
			}
		}
	}
	return nil
}

// readAtOnce is the number of documents that are read at once.
const readAtOnce = 32

// nodes returns a function that returns the metadata of the nodes with the given names,
// in their order. It reads several at a time.
func (w *walk) nodes(ctx context.Context, dir store.Path, names []string) func(i int) (metadata.Node, error) {
	type read struct {
		node metadata.Node
		err  error
	}
	var batch []read
	begin := 0
	return func(i int) (metadata.Node, error) {
		if i < begin+len(batch) {
			return batch[i-begin].node, batch[i-begin].err
		}
		begin = i
		batch = make([]read, min(readAtOnce, len(names)-i))
		var all sync.WaitGroup
		for k := range batch {
			all.Go(func() {
				p, err := dir.Join(names[i+k])
				if err != nil {
					return // Varve's own directory
				}
				read, early := w.Early.nodes[p]
				if !early {
					read = func() (metadata.Node, error) { return w.hierarchy.At(p.String()).Metadata(ctx, nil) }
				}
				batch[k].node, batch[k].err = read()
			})
		}
		all.Wait()
		return batch[0].node, batch[0].err
	}
}

// stored returns the record of a node with the stored spelling of its documents.
func (w *walk) stored(ctx context.Context, p store.Path, n metadata.Node) ([]byte, error) {
	document, err := w.document(ctx, p, n.Document())
	if err != nil || n.Format() == 3 {
		return document, err
	}
	attributes, err := w.document(ctx, p, nodename.V2Attributes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return metadata.RecordV2(n.Document(), document, attributes, metadata.Limits{})
}

func (w *walk) document(ctx context.Context, p store.Path, name string) ([]byte, error) {
	document, _, err := w.hierarchy.Store().Get(ctx, p.MustKey(name), store.Request{Limit: mostDocument}, nil)
	return document, err
}

// mostDocument bounds the documents that are compared in their stored spelling, in bytes.
// It is the limit for opening a node.
const mostDocument = 64 << 20

// undecodable reports whether an error means that there is a node which this program
// cannot interpret.
func undecodable(err error) bool {
	return errors.Is(err, zarr.ErrUnsupported) || errors.Is(err, zarr.ErrInvalidMetadata)
}

// ErrGone is the error of a member that is in the consolidated metadata but not in the
// store.
var ErrGone = errors.New("only in the consolidated metadata: the node does not exist any more")

// Members yields the members of a group that exist in the store. Then it yields what
// only stale consolidated metadata has: errors of damaged entries, and members with the
// error ErrGone. If stale is nil, it yields [zarr.Group.Members].
func Members(ctx context.Context, g *zarr.Group, stale *Drift, deep bool) iter.Seq2[zarr.Member, error] {
	if stale == nil {
		return g.Members(ctx, deep)
	}
	return func(yield func(zarr.Member, error) bool) {
		for m, err := range g.Unconsolidated().Members(ctx, deep) {
			if !yield(m, err) {
				return
			}
		}
		// This walk follows the consolidated metadata. Skip what the first walk has
		// yielded.
		for m, err := range g.Members(ctx, deep) {
			_, missing := slices.BinarySearch(stale.Gone, m.Path) // Gone is sorted
			if err == nil && !missing {
				continue
			}
			if err == nil {
				m.Node, m.Err = nil, ErrGone
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// AsStored returns the group without its consolidated metadata if that is stale.
func AsStored(g *zarr.Group, stale *Drift) *zarr.Group {
	if stale == nil {
		return g
	}
	return g.Unconsolidated()
}
