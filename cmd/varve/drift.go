package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

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
	raw, err := documentAt(ctx, s, store.Path{})
	if err != nil {
		return nil, err
	}
	group, err := metadata.ParseGroup(raw, metadata.Limits{})
	if err != nil {
		return nil, err
	}
	d := &drift{Consolidated: group.Consolidated != nil, New: []string{}, Changed: []string{}, Gone: []string{}}
	if most > 0 && !d.Consolidated {
		return d, nil
	}
	w := &nodeWalk{store: s, most: most}
	if err := w.below(ctx, store.Path{}); err != nil {
		return nil, err
	}
	there, err := metadata.NewConsolidated(w.all, metadata.Limits{})
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
	return n.Marshal(metadata.Limits{})
}

// nodeWalk collects the documents of nodes, whatever consolidated metadata says.
type nodeWalk struct {
	store   store.Store
	most    int // 0 is no bound
	stopped bool
	paths   []string
	raw     [][]byte
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
		raw, err := documentAt(ctx, w.store, p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		w.paths, w.raw = append(w.paths, p.String()), append(w.raw, raw)
		if n, _ := metadata.Parse(raw, metadata.Limits{}); isGroupDocument(n) {
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

// documentAt returns the document of the node at a path.
func documentAt(ctx context.Context, s store.Store, p store.Path) ([]byte, error) {
	raw, _, err := s.Get(ctx, p.Key("zarr.json"), store.Request{Limit: 64 << 20}, nil)
	return raw, err
}

// isGroupDocument reports whether a document is a group's.
func isGroupDocument(n metadata.Node) bool {
	g, ok := n.(*metadata.Group)
	return ok && g != nil
}
