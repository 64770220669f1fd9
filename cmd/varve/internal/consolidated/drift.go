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
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Drift is the difference between the consolidated metadata of a group and the
// documents of the nodes below it. Paths are relative to the group.
type Drift struct {
	Consolidated bool     `json:"consolidated"` // the group has consolidated metadata
	Nodes        int      `json:"nodes"`        // below the group
	New          []string `json:"new"`          // not in the metadata
	Changed      []string `json:"changed"`
	Gone         []string `json:"gone"` // only in the metadata
}

// IsNone reports whether there is no difference.
func (d *Drift) IsNone() bool { return len(d.New)+len(d.Changed)+len(d.Gone) == 0 }

// Text summarizes the differences.
func (d *Drift) Text() string {
	if d.IsNone() {
		return "no node differs"
	}
	return fmt.Sprintf("%s new, %s changed, %s gone", phrase.Count(int64(len(d.New))), phrase.Count(int64(len(d.Changed))), phrase.Count(int64(len(d.Gone))))
}

// FindDrift compares the consolidated metadata of the group at a location with all nodes
// below it. Without consolidated metadata, all nodes are new. It calls found for each
// node.
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
	recorded := group.Consolidated
	if recorded == nil {
		recorded = new(metadata.Consolidated)
	}
	p, err := store.ParsePath(path)
	if err != nil {
		return nil, err
	}
	if w.Early == nil {
		w.Early = ReadEarly(ctx, w.Hierarchy, path, recorded, w.Deep)
		defer w.Early.End()
	}
	if err := w.below(ctx, p, ""); err != nil {
		return nil, err
	}
	d := newDrift(group)
	d.Nodes = len(w.paths)
	d.compare(recorded, w)
	return d, nil
}

// compare fills the lists. It only reports nodes as gone if all nodes are known.
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
		case err != nil || !alike(there.records[path], was): // a damaged entry differs
			d.Changed = append(d.Changed, path)
		}
	}
	d.addGone(recorded, there)
	for path := range refused {
		if there.records[path] == nil { // the metadata must not list it, even if not all nodes are known
			d.Gone = append(d.Gone, path)
		}
	}
	slices.Sort(d.Gone)
}

// addGone adds the nodes that are only in the metadata. It counts them first: there may
// be very many, and a growing list would be in memory twice.
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

var errRefused = errors.New("an entry that cannot be a node of a tree")

// canonical returns the entry of consolidated metadata at path in the spelling of this
// program, or nil if there is none. It returns the stored spelling of a node with unknown
// extensions.
func canonical(c *metadata.Consolidated, path string) ([]byte, error) {
	n, err := c.Entry(path, metadata.Limits{})
	if n == nil || err != nil && !errors.Is(err, metadata.ErrUnsupported) {
		return nil, err
	}
	return spelled(n, func() ([]byte, error) { return c.Raw(path), nil })
}

// spelled returns the record of a node in the spelling of this program. A node with
// unknown extensions cannot be written again, so its record is the stored one without
// white space.
func spelled(n metadata.Node, stored func() ([]byte, error)) ([]byte, error) {
	record, err := n.Record(metadata.Limits{})
	if !errors.Is(err, metadata.ErrUnsupported) {
		return record, err
	}
	record, err = stored()
	return []byte(phrase.Compact(record)), err
}

// NodeWalk collects the records of nodes of one format from their own documents.
type NodeWalk struct {
	Hierarchy *zarr.Location
	Most      int    // bound of the nodes; 0 is none
	Deep      bool   // also nodes below groups
	Early     *Early // may be nil
	found     func() // called for each node; may be nil
	tolerant  bool   // skip nodes with damaged documents
	format    int
	stopped   bool
	paths     []string // relative to the start of the walk
	records   map[string][]byte
}

// below collects the nodes below a directory. relative is the path of the directory from
// the start of the walk.
func (w *NodeWalk) below(ctx context.Context, dir store.Path, relative string) error {
	names, err := Folders(ctx, w.Hierarchy.Store(), dir)
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
			continue // not a valid name of a node
		}
		node, err := nodes(i)
		// A folder without a document, such as one with the chunks of an array.
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if node == nil || err != nil && !errors.Is(err, metadata.ErrUnsupported) {
			if w.tolerant && Undecodable(err) {
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

// readAtOnce is the number of documents that are read at once.
const readAtOnce = 32

// nodes returns a function that returns the metadata of the nodes with the given names,
// in their order. It reads several at a time.
func (w *NodeWalk) nodes(ctx context.Context, dir store.Path, names []string) func(i int) (metadata.Node, error) {
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
					return // not a valid name of a node, so it is not asked for
				}
				read, early := w.Early.nodes[p]
				if !early {
					read = func() (metadata.Node, error) { return w.Hierarchy.At(p.String()).Metadata(ctx, nil) }
				}
				batch[k].node, batch[k].err = read()
			})
		}
		all.Wait()
		return batch[0].node, batch[0].err
	}
}

// stored returns the record of a node with the stored spelling of its documents.
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

// mostDocument bounds the documents that are compared in their stored spelling, in bytes.
// It is the limit for opening a node.
const mostDocument = 64 << 20

// StaleText reports that consolidated metadata is stale, and what to do.
func (d *Drift) StaleText() string {
	return "consolidated metadata is older than the nodes (" + d.Text() + "): varve consolidate updates it"
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

// Undecodable reports whether an error means that there is a node which this program
// cannot interpret.
func Undecodable(err error) bool {
	return errors.Is(err, zarr.ErrUnsupported) || errors.Is(err, zarr.ErrInvalidMetadata)
}
