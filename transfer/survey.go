// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"sort"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/store"
)

// document is a document of a node, or of one below it.
type document struct {
	rel    string // below the copied node
	rank   int    // in copying.DocumentNames
	kind   string // of node
	digest [sha256.Size]byte
}

// survey runs step 1 of the protocol.
func (c *copier) survey(ctx context.Context) error {
	for rel, err := range c.names(ctx) {
		if err == nil {
			err = c.pair.CheckName(rel)
		}
		if err == nil {
			err = c.note(ctx, rel)
		}
		if err != nil {
			return err
		}
	}
	sort.Slice(c.documents, func(i, j int) bool {
		a, b := c.documents[i], c.documents[j]
		// Deepest nodes first, and in a node the document that makes it last. A
		// crash while they are written then leaves no group that lacks members.
		return cmp.Or(strings.Count(b.rel, "/")-strings.Count(a.rel, "/"), a.rank-b.rank, strings.Compare(a.rel, b.rel)) < 0
	})
	c.tally()
	top := func(names ...string) bool {
		return slices.ContainsFunc(c.documents, func(d document) bool { return slices.Contains(names, d.rel) })
	}
	switch {
	case top(nodename.V3Node):
		c.pair.Format = 3
	case top(nodename.V2Array, nodename.V2Group):
		c.pair.Format = 2
	default:
		return fault.NotFound("no Zarr node here")
	}
	return nil
}

// note records a value if it is a document, and refuses a node with an unfinished change.
func (c *copier) note(ctx context.Context, rel string) error {
	if what, isOwn := copying.Record(rel); isOwn {
		// Locks, notes and aborted journals belong to the source only.
		if what != own.Pending {
			return nil
		}
		p, err := c.pair.Source.Path.Join(strings.TrimSuffix(strings.TrimSuffix(rel, own.Dir+"/"+what), "/"))
		if err != nil {
			return err
		}
		// The transaction may be half published: some of its nodes may still have
		// their old documents.
		return copying.CheckSettled(ctx, c.pair.Source.Store, p)
	}
	_, name := path.Split(rel)
	rank := slices.Index(copying.DocumentNames, name)
	if rank < 0 {
		return nil
	}
	raw, err := c.readDocument(ctx, rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a concurrent writer deleted it, or a possible key does not exist
	}
	if err != nil {
		return err
	}
	d := document{rel, rank, copying.KindOf(name, raw), sha256.Sum256(raw)}
	c.documents = append(c.documents, d)
	if d.kind == "array" {
		c.layouts.add(rel, raw)
	}
	c.report.Bytes += int64(len(raw))
	return nil
}

// readDocument reads a document of the source.
func (c *copier) readDocument(ctx context.Context, rel string) ([]byte, error) {
	return copying.ReadDocument(ctx, c.pair.Source.Store, c.pair.Source.Path.MustKey(rel), c.pair.Limits)
}

// tally counts the nodes. If a node has documents of both formats, that of format 3
// counts.
func (c *copier) tally() {
	kinds, current := map[string]string{}, map[string]bool{}
	for _, d := range c.documents { // zarr.json is the last one of each node
		if dir, name := path.Split(d.rel); d.kind != "" {
			kinds[dir], current[dir] = d.kind, name == nodename.V3Node
		}
	}
	for dir, kind := range kinds {
		name := c.pair.Target.Path.Name()
		if dir != "" {
			name = path.Base(dir)
		}
		if current[dir] && own.Reserved(name) {
			c.report.Reserved++
		}
		switch kind {
		case "array":
			c.report.Arrays++
		case "group":
			c.report.Groups++
		}
	}
}

// directories yields the directories of nodes, relative to the copied one.
func (c *copier) directories() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, d := range c.documents {
			dir, _ := path.Split(d.rel)
			if !yield(strings.TrimSuffix(dir, "/")) {
				return
			}
		}
	}
}

// names yields the keys below the node, relative to it. In a store that cannot be listed,
// it yields the possible keys: documents and chunks of the node and its known members.
func (c *copier) names(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for e, err := range store.List(ctx, c.pair.Source.Store, c.pair.Source.Path, store.Deep) {
			if errors.Is(err, store.ErrUnsupported) {
				c.known(ctx, yield)
				return
			}
			if !yield(e.Name, err) || err != nil {
				return
			}
		}
	}
}

// known yields the keys that the metadata implies.
func (c *copier) known(ctx context.Context, yield func(string, error) bool) {
	o := c.pair.Reading()
	n, err := c.pair.Source.Location.Root().At(c.pair.Source.Path.String()).Open(ctx, o) // not with the options of c.pair.Source.Location, which may write
	if err != nil {
		yield("", err)
		return
	}
	if !c.knownOf(ctx, n, "", yield) {
		return
	}
	g, isGroup := n.(*zarr.Group)
	if !isGroup {
		return
	}
	for m, err := range g.Members(ctx, true) {
		if err == nil {
			err = m.Err
		}
		if err != nil {
			yield("", err)
			return
		}
		n := m.Node
		if _, isArray := n.(*zarr.Array); isArray {
			// Consolidated metadata may be stale, so read the document itself.
			if n, err = c.pair.Source.Location.Root().At(n.Path()).OpenArray(ctx, o); err != nil {
				yield("", err)
				return
			}
		}
		if !c.knownOf(ctx, n, m.Path+"/", yield) {
			return
		}
	}
}

// knownOf yields the keys of one node.
func (c *copier) knownOf(ctx context.Context, n zarr.Node, dir string, yield func(string, error) bool) bool {
	for _, name := range append(slices.Clip(copying.DocumentNames), own.Dir+"/"+own.Pending) {
		if !yield(dir+name, nil) {
			return false
		}
	}
	a, isArray := n.(*zarr.Array)
	if !isArray {
		return true
	}
	// Each possible chunk costs a request.
	if err := engine.Visitable(grid.BoxOf(a.Grid().Chunks())); err != nil {
		yield("", fmt.Errorf("%q: %w", "/"+a.Path(), err))
		return false
	}
	for name, err := range copying.Asides(ctx, a) {
		if !yield(dir+name, err) || err != nil {
			return false
		}
	}
	for chunk := range a.Chunks() {
		key, err := store.ParseKey(chunk.Key)
		if !yield(c.pair.Source.Path.Rel(key), err) || err != nil {
			return false
		}
	}
	return true
}

// layouts has the layouts of arrays by their directories. There are two of an array that
// has documents of both formats.
type layouts map[string][]copying.Layout

// add adds the layout of an array with a document. In format 2, attributes do not change
// the keys of chunks.
func (l *layouts) add(rel string, raw []byte) {
	dir, name := path.Split(rel)
	one := copying.LayoutOf(name, raw, nil).WithoutDocument()
	if *l == nil {
		*l = layouts{}
	}
	(*l)[dir] = append((*l)[dir], one)
}

// superseded reports whether a key is that of a chunk of a grid that an array above it
// does not have, such as one that a rechunk has replaced. Where arrays lie in arrays,
// it is not if any of them has the chunk. Files of other programs are none.
func (l layouts) superseded(rel string) bool {
	found := false
	for dir := range directories(rel) {
		for _, one := range l[dir] {
			rest := rel[len(dir):]
			if one.Contains(rest) {
				return false
			}
			found = found || one.HasShape(rest)
		}
	}
	return found
}

// directories yields the directories above a key, each with a slash at its end. That of
// the root is "".
func directories(rel string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for end := 0; ; {
			if !yield(rel[:end]) {
				return
			}
			i := strings.IndexByte(rel[end:], '/')
			if i < 0 {
				return
			}
			end += i + 1
		}
	}
}
