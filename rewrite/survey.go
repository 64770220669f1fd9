// SPDX-License-Identifier: Apache-2.0

package rewrite

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
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// documentNames are the names of documents in both formats, in the order in which they
// are written. Only the last three make a node.
var documentNames = []string{".zattrs", ".zmetadata", ".zarray", ".zgroup", "zarr.json"}

// document is a document of a node, or of one below it.
type document struct {
	rel    string // below the copied node
	rank   int    // in documentNames
	kind   string // of node
	digest [sha256.Size]byte
}

// split splits a key into the directory, with a slash at its end, and the name.
func split(rel string) (dir, name string) {
	i := strings.LastIndexByte(rel, '/') + 1
	return rel[:i], rel[i:]
}

// kept returns the rest of a key after a directory that Varve reserves, if the key has
// one.
func kept(rel string) (string, bool) {
	if what, ok := strings.CutPrefix(rel, own.Dir+"/"); ok {
		return what, true
	}
	_, what, ok := strings.Cut(rel, "/"+own.Dir+"/")
	return what, ok
}

// isData reports whether a value is copied with the chunks. Documents are not, nor are
// the records of unfinished changes.
func isData(rel string) bool {
	if what, ok := kept(rel); ok {
		return strings.HasPrefix(what, "aside/") // set aside by a trim; the next writer of the copy moves them
	}
	_, name := split(rel)
	return !slices.Contains(documentNames, name)
}

// survey runs step 1 of the protocol.
func (c *copier) survey(ctx context.Context) error {
	for rel, err := range c.names(ctx) {
		if err == nil {
			err = c.checkName(rel)
		}
		if err == nil {
			err = c.note(ctx, rel)
		}
		if err != nil {
			return err
		}
	}
	slices.SortFunc(c.documents, func(a, b document) int {
		// Deepest nodes first, and in a node the document that makes it last. A
		// crash while they are written then leaves no group that lacks members.
		return cmp.Or(strings.Count(b.rel, "/")-strings.Count(a.rel, "/"), a.rank-b.rank, strings.Compare(a.rel, b.rel))
	})
	c.tally()
	top := func(names ...string) bool {
		return slices.ContainsFunc(c.documents, func(d document) bool { return slices.Contains(names, d.rel) })
	}
	if c.old = !top("zarr.json"); c.old && !top(".zarray", ".zgroup") {
		return fault.NotFound("no Zarr node here")
	}
	return nil
}

// checkName returns an error if the destination cannot hold a value because of its name.
// Records of Varve are not copied.
func (c *copier) checkName(rel string) error {
	if _, isOwn := kept(rel); isOwn {
		return nil
	}
	key, err := c.goal.Key(rel)
	if err == nil {
		err = store.CheckKey(c.to, key)
	}
	if err != nil {
		return fmt.Errorf("the destination cannot hold %.200q, and nothing was copied: %w", rel, err)
	}
	return nil
}

// note records a value if it is a document, and refuses a node with an unfinished change.
func (c *copier) note(ctx context.Context, rel string) error {
	if what, isOwn := kept(rel); isOwn {
		// Locks, notes and aborted journals belong to the source only.
		if what != own.Pending {
			return nil
		}
		p, err := c.at.Join(strings.TrimSuffix(strings.TrimSuffix(rel, own.Dir+"/"+what), "/"))
		if err != nil {
			return err
		}
		// The transaction may be half published: some of its nodes may still have
		// their old documents.
		return settled(ctx, c.from, p)
	}
	_, name := split(rel)
	rank := slices.Index(documentNames, name)
	if rank < 0 {
		return nil
	}
	raw, err := c.document(ctx, c.from, c.at.MustKey(rel))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a concurrent writer deleted it, or a possible key does not exist
	}
	if err != nil {
		return err
	}
	d := document{rel, rank, kindOf(name, raw), sha256.Sum256(raw)}
	c.documents = append(c.documents, d)
	if d.kind == "array" {
		c.layouts.add(rel, raw)
	}
	c.report.Bytes += int64(len(raw))
	return nil
}

// kindOf returns the kind of node that a document makes: "array", "group" or "".
func kindOf(name string, raw []byte) string {
	switch name {
	case ".zarray":
		return "array"
	case ".zgroup":
		return "group"
	case "zarr.json":
		return metadata.NodeType(raw)
	}
	return ""
}

// tally counts the nodes. If a node has documents of both formats, that of format 3
// counts.
func (c *copier) tally() {
	kinds, current := map[string]string{}, map[string]bool{}
	for _, d := range c.documents { // zarr.json is the last one of each node
		if dir, name := split(d.rel); d.kind != "" {
			kinds[dir], current[dir] = d.kind, name == metadata.V3Node
		}
	}
	for dir, kind := range kinds {
		name := c.goal.Name()
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

// document reads a document.
func (c *copier) document(ctx context.Context, s store.Store, key store.Key) ([]byte, error) {
	limit := c.Limits.Document
	if limit <= 0 {
		limit = 64 << 20
	}
	raw, _, err := s.Get(ctx, key, store.Request{Limit: limit}, nil)
	if errors.Is(err, store.ErrTooLarge) {
		err = fmt.Errorf("%w: %w (Limits.Document)", zarr.ErrLimit, err)
	}
	return raw, err
}

// settled refuses a node that belongs to an unfinished transaction, because its documents
// may not match. Call it after reading the document: the pointer stays until all
// documents are written. It is found by its key, so the store need not be listed.
func settled(ctx context.Context, s store.Store, p store.Path) error {
	err := publish.CheckPending(ctx, publish.Node{Store: s, Path: p, Document: metadata.V3Node}, store.Key{})
	if errors.Is(err, publish.ErrPending) {
		err = fmt.Errorf("%q: %w; the next change of the node, or opening it with Options.Finish, finishes it", "/"+p.String(), err)
	}
	return err
}

// names yields the keys below the node, relative to it. In a store that cannot be listed,
// it yields the possible keys: documents and chunks of the node and its known members.
func (c *copier) names(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for e, err := range store.List(ctx, c.from, c.at, true) {
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
	o := c.Options.Options
	o.Write = false
	n, err := c.src.Root().At(c.at.String()).Open(ctx, &o) // not with the options of c.src, which may write
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
			if n, err = c.src.Root().At(n.Path()).OpenArray(ctx, &o); err != nil {
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
	for _, name := range append(slices.Clip(documentNames), own.Dir+"/"+own.Pending) {
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
	for name, err := range asides(ctx, a) {
		if !yield(dir+name, err) || err != nil {
			return false
		}
	}
	for chunk := range a.Chunks() {
		key, err := store.ParseKey(chunk.Key)
		if !yield(c.at.Rel(key), err) || err != nil {
			return false
		}
	}
	return true
}

// count counts the values that would be copied, and their bytes.
func (c *copier) count(ctx context.Context) error {
	return c.each(ctx, func(ctx context.Context, rel string) (int64, error) {
		info, err := store.Stat(ctx, c.from, c.at.MustKey(rel))
		return info.Size, err
	})
}
