// SPDX-License-Identifier: Apache-2.0

// Package consolidated compares the consolidated metadata of groups with the documents of
// their members.
package consolidated

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Drift is how the consolidated metadata of a group differs from the documents of the
// nodes below it. Paths are relative to the group.
type Drift struct {
	Consolidated bool     `json:"consolidated"` // there is such metadata
	Nodes        int      `json:"nodes"`        // below the group
	New          []string `json:"new"`          // not in the metadata
	Changed      []string `json:"changed"`
	Gone         []string `json:"gone"` // only in the metadata
}

// IsNone reports whether there is no difference.
func (d *Drift) IsNone() bool { return len(d.New)+len(d.Changed)+len(d.Gone) == 0 }

// Text says in short what differs.
func (d *Drift) Text() string {
	if d.IsNone() {
		return "no node differs"
	}
	return fmt.Sprintf("%s new, %s changed, %s gone", phrase.Count(int64(len(d.New))), phrase.Count(int64(len(d.Changed))), phrase.Count(int64(len(d.Gone))))
}

// FindDrift compares the consolidated metadata of the group at a location with all nodes
// below it, also if there is no such metadata. found is told of each of them.
func FindDrift(ctx context.Context, location string, found func()) (*Drift, error) {
	at, err := zarr.Locate(ctx, location, store.Read)
	if err != nil {
		return nil, err
	}
	defer node.Close(at)
	node, err := at.Metadata(ctx, nil)
	if err != nil {
		return nil, err
	}
	group, ok := node.(*metadata.Group)
	if !ok {
		return nil, failure.BadArgument("%s is an array; only groups have consolidated metadata", location)
	}
	return DriftOf(ctx, at.Path(), group, &NodeWalk{Hierarchy: at.Root(), Deep: true, found: found})
}

func newDrift(group *metadata.Group) *Drift {
	return &Drift{Consolidated: group.Consolidated != nil, New: []string{}, Changed: []string{}, Gone: []string{}}
}

// DriftOf compares the consolidated metadata of the group at a path with the nodes that a
// walk finds.
func DriftOf(ctx context.Context, path string, group *metadata.Group, w *NodeWalk) (*Drift, error) {
	w.format, w.records = group.Format(), map[string][]byte{}
	p, err := store.ParsePath(path)
	if err == nil {
		err = w.below(ctx, p, "")
	}
	if err != nil {
		return nil, err
	}
	d := newDrift(group)
	d.Nodes = len(w.paths)
	recorded := group.Consolidated
	if recorded == nil {
		recorded = new(metadata.Consolidated)
	}
	d.compare(recorded, w)
	return d, nil
}

// compare fills the lists. Only where all nodes are known is there anything to be missed.
func (d *Drift) compare(recorded *metadata.Consolidated, there *NodeWalk) {
	refused := map[string]bool{}
	for path := range recorded.Refused() {
		refused[path] = true
	}
	for _, path := range there.paths {
		was, err := canonical(recorded, path)
		if refused[path] {
			err = errRefused
		}
		switch {
		case err == nil && was == nil:
			d.New = append(d.New, path)
		case err != nil || !Alike(there.records[path], was): // what is damaged differs
			d.Changed = append(d.Changed, path)
		}
	}
	d.addGone(recorded, there)
	for path := range refused {
		if there.records[path] == nil { // however many nodes there are, it must not be in the metadata
			d.Gone = append(d.Gone, path)
		}
	}
	slices.Sort(d.Gone)
}

// addGone adds the nodes that are only in the metadata. These may be all of very many,
// and a list that grows is there twice: they are counted first.
func (d *Drift) addGone(recorded *metadata.Consolidated, there *NodeWalk) {
	isGone := func(path string) bool {
		return there.records[path] == nil && !there.stopped && (there.Deep || !strings.Contains(path, "/"))
	}
	n := 0
	for path := range recorded.Nodes() {
		if isGone(path) {
			n++
		}
	}
	d.Gone = slices.Grow(d.Gone, n)
	for path := range recorded.Nodes() { // in their order
		if isGone(path) {
			d.Gone = append(d.Gone, path)
		}
	}
}

var errRefused = errors.New("an entry that fits into no tree")

// canonical returns what consolidated metadata has at path as it would be written; nil
// where there is nothing. A node that asks for more than is known here is compared as it
// is spelled.
func canonical(c *metadata.Consolidated, path string) ([]byte, error) {
	n, err := c.Entry(path, metadata.Limits{})
	if n == nil || err != nil && !errors.Is(err, metadata.ErrUnsupported) {
		return nil, err
	}
	return spelled(n, func() ([]byte, error) { return c.Raw(path), nil })
}

// spelled returns the record of a node. One that asks for more than is known here cannot
// be written anew: it is compared as stored has it, but for white space.
func spelled(n metadata.Node, stored func() ([]byte, error)) ([]byte, error) {
	record, err := n.Record(metadata.Limits{})
	if !errors.Is(err, metadata.ErrUnsupported) {
		return record, err
	}
	record, err = stored()
	return []byte(phrase.Compact(record)), err
}

// NodeWalk collects the records of nodes of one format, whatever consolidated metadata
// says.
type NodeWalk struct {
	Hierarchy *zarr.Location
	Most      int    // 0 is no bound
	Deep      bool   // also nodes below groups
	found     func() // nil where nobody asks
	tolerant  bool   // nodes whose documents are damaged are passed over, and not compared
	format    int
	stopped   bool
	paths     []string // relative to where the walk begins
	records   map[string][]byte
}

// below collects what lies below a directory, whose own path is relative to where the
// walk begins.
func (w *NodeWalk) below(ctx context.Context, dir store.Path, relative string) error {
	names, err := Folders(ctx, w.Hierarchy.Store(), dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if w.stopped = w.stopped || w.Most > 0 && len(w.paths) == w.Most; w.stopped {
			return nil
		}
		p, err := dir.Join(name)
		if err != nil {
			continue // no legal name of a node
		}
		node, err := w.Hierarchy.At(p.String()).Metadata(ctx, nil)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if node == nil || err != nil && !errors.Is(err, metadata.ErrUnsupported) {
			if w.tolerant && Undecodable(err) {
				w.records[strings.TrimPrefix(relative+"/"+name, "/")] = []byte{}
				continue
			}
			return err
		}
		if node.Format() != w.format {
			continue // it is none of what this metadata is about
		}
		path := strings.TrimPrefix(relative+"/"+name, "/")
		record, err := spelled(node, func() ([]byte, error) { return w.stored(ctx, p, node) })
		if w.tolerant && Undecodable(err) {
			w.records[path] = []byte{}
			continue
		}
		if err != nil {
			return fmt.Errorf("%q: %w", "/"+path, err)
		}
		w.paths, w.records[path] = append(w.paths, path), record
		if w.found != nil {
			w.found()
		}
		if _, isGroup := node.(*metadata.Group); isGroup && w.Deep {
			if err := w.below(ctx, p, path); err != nil {
				return err
			}
		}
	}
	return nil
}

// stored returns the record of a node as its documents are.
func (w *NodeWalk) stored(ctx context.Context, p store.Path, n metadata.Node) ([]byte, error) {
	document, err := w.document(ctx, p, n.Document())
	if err != nil || n.Format() == 3 {
		return document, err
	}
	attributes, err := w.document(ctx, p, metadata.V2Attributes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return metadata.RecordV2(n.Document(), document, attributes, metadata.Limits{})
}

func (w *NodeWalk) document(ctx context.Context, p store.Path, name string) ([]byte, error) {
	document, _, err := w.Hierarchy.Store().Get(ctx, p.MustKey(name), store.Request{Limit: mostDocument}, nil)
	return document, err
}

// mostDocument is how many bytes a document has that is compared as it is stored: as many
// as one that can be opened.
const mostDocument = 64 << 20

// StaleText says that consolidated metadata is stale, and what to do about it.
func (d *Drift) StaleText() string {
	return "consolidated metadata is older than the nodes (" + d.Text() + "): varve consolidate makes it new"
}

// Folders returns the names of the directories in a directory, in order.
func Folders(ctx context.Context, s store.Store, dir store.Path) ([]string, error) {
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

// Undecodable reports whether a node is there that this program cannot make sense of.
func Undecodable(err error) bool {
	return errors.Is(err, zarr.ErrUnsupported) || errors.Is(err, zarr.ErrInvalidMetadata)
}
