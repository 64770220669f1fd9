package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// drift is how the consolidated metadata of a group differs from the documents of the nodes below it. Paths are relative to
// the group.
type drift struct {
	Consolidated bool     `json:"consolidated"` // there is such metadata
	Nodes        int      `json:"nodes"`        // below the group
	New          []string `json:"new"`          // not in the metadata
	Changed      []string `json:"changed"`
	Gone         []string `json:"gone"` // only in the metadata
}

func (d *drift) isNone() bool { return len(d.New)+len(d.Changed)+len(d.Gone) == 0 }

// text says in short what differs.
func (d *drift) text() string {
	if d.isNone() {
		return "no node differs"
	}
	return fmt.Sprintf("%s new, %s changed, %s gone", count(int64(len(d.New))), count(int64(len(d.Changed))), count(int64(len(d.Gone))))
}

// findDrift compares the consolidated metadata of the group at a location with the nodes below it: all of them where most is 0,
// also if there is no such metadata; else as many as most says, and none if there is no such metadata.
func findDrift(ctx context.Context, location string, most int) (*drift, error) {
	s, err := openNodeStore(ctx, location)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	n, err := zarr.On(s).Metadata(ctx, "", nil)
	if err != nil {
		return nil, err
	}
	group, ok := n.(*metadata.Group)
	if !ok {
		return nil, badUsage("%s is an array, not a group", location)
	}
	d := &drift{Consolidated: group.Consolidated != nil, New: []string{}, Changed: []string{}, Gone: []string{}}
	if most > 0 && !d.Consolidated {
		return d, nil
	}
	w := &nodeWalk{store: s, most: most, format: group.Format()}
	if err := w.below(ctx, store.Path{}); err != nil {
		return nil, err
	}
	there, err := w.consolidated()
	if err != nil {
		return nil, err
	}
	d.Nodes = there.Len()
	recorded := group.Consolidated
	if recorded == nil {
		recorded = new(metadata.Consolidated)
	}
	return d, d.compare(recorded, there, !w.stopped)
}

// compare fills the lists. Only where all nodes are known is there anything to be missed.
func (d *drift) compare(recorded, there *metadata.Consolidated, all bool) error {
	for path := range there.Nodes() {
		is, err := canonical(there, path)
		if err != nil {
			return err
		}
		was, err := canonical(recorded, path)
		switch {
		case err == nil && was == nil:
			d.New = append(d.New, path)
		case err != nil || !bytes.Equal(is, was): // what is damaged differs
			d.Changed = append(d.Changed, path)
		}
	}
	for path := range recorded.Nodes() {
		if n, err := there.Entry(path, metadata.Limits{}); all && n == nil && err == nil {
			d.Gone = append(d.Gone, path)
		}
	}
	return nil
}

// canonical returns the document at path as it would be written, nil where there is none. One that asks for more than is known
// here is compared as it is spelled.
func canonical(c *metadata.Consolidated, path string) ([]byte, error) {
	n, err := c.Entry(path, metadata.Limits{})
	if n == nil || err != nil && !errors.Is(err, metadata.ErrUnsupported) {
		return nil, err
	}
	return n.Record(metadata.Limits{})
}

// nodeWalk collects the documents of nodes, whatever consolidated metadata says.
type nodeWalk struct {
	store   store.Store
	most    int // 0 is no bound
	format  int // of the nodes
	stopped bool
	paths   []string
	raw     [][]byte
}

// consolidated returns what consolidated metadata of the nodes would be.
func (w *nodeWalk) consolidated() (*metadata.Consolidated, error) {
	if w.format == 2 {
		return metadata.NewConsolidatedV2(nil, w.all, metadata.Limits{})
	}
	return metadata.NewConsolidated(w.all, metadata.Limits{})
}

// all yields the documents by their paths.
func (w *nodeWalk) all(yield func(string, []byte) bool) {
	for i, path := range w.paths {
		if !yield(path, w.raw[i]) {
			return
		}
	}
}

// below collects what lies below a directory.
func (w *nodeWalk) below(ctx context.Context, dir store.Path) error {
	names, err := folders(ctx, w.store, dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if w.stopped = w.stopped || w.most > 0 && len(w.paths) == w.most; w.stopped {
			return nil
		}
		p, err := dir.Join(name)
		if err != nil {
			continue // no legal name of a node
		}
		raw, n, err := documentAt(ctx, w.store, p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if n != nil && n.Format() != w.format {
			continue
		}
		w.paths, w.raw = append(w.paths, p.String()), append(w.raw, raw)
		if isGroupDocument(n) {
			if err := w.below(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// folders returns the names of the directories in a directory, in order.
func folders(ctx context.Context, s store.Store, dir store.Path) ([]string, error) {
	var names []string
	for e, err := range store.List(ctx, s, dir, false) {
		if err != nil {
			return nil, err
		}
		if e.Dir {
			names = append(names, e.Name)
		}
	}
	slices.SortFunc(names, strings.Compare)
	return names, nil
}

// documentAt returns the document of the node at a path, or the record of its documents in format 2, and the node as far as it
// can be read.
func documentAt(ctx context.Context, s store.Store, p store.Path) ([]byte, metadata.Node, error) {
	raw, _, err := s.Get(ctx, p.Key(metadata.V3Node), store.Request{Limit: 64 << 20}, nil)
	if err == nil {
		n, _ := metadata.Parse(raw, metadata.Limits{})
		return raw, n, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	n, err := zarr.On(s).Metadata(ctx, p.String(), nil)
	if n == nil {
		return nil, nil, err
	}
	raw, err = n.Record(metadata.Limits{})
	return raw, n, err
}

// isGroupDocument reports whether a document is a group's.
func isGroupDocument(n metadata.Node) bool {
	g, ok := n.(*metadata.Group)
	return ok && g != nil
}
