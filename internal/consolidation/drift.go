// SPDX-License-Identifier: Apache-2.0

// Package consolidation compares the consolidated metadata of groups with the documents
// of the nodes below them.
//
// A change by this library keeps the copies in consolidated metadata up to date. A
// program that does not know them leaves them stale: then readers of the copies do not
// see a node, or see it as it was. [Stale] finds that out, [zarr.Group.Consolidate]
// repairs it, and [Members] walks over the nodes that are really there.
package consolidation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/attributes"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Drift is the difference between the consolidated metadata of a group and the documents
// of the nodes below it. Paths are relative to the group and sorted, those of new and
// changed nodes within each directory.
type Drift struct {
	Consolidated bool     `json:"consolidated"` // the group has consolidated metadata
	Nodes        int      `json:"nodes"`        // below the group
	New          []string `json:"new"`          // not in the metadata
	Changed      []string `json:"changed"`
	Gone         []string `json:"gone"` // only in the metadata
}

// IsNone reports whether there is no difference.
func (d *Drift) IsNone() bool { return len(d.New)+len(d.Changed)+len(d.Gone) == 0 }

// String summarizes the differences: 1 new, 2 changed, 0 gone.
func (d *Drift) String() string {
	if d.IsNone() {
		return "no node differs"
	}
	count := func(paths []string) string { return quantity.Number(int64(len(paths))) }
	return fmt.Sprintf("%s new, %s changed, %s gone", count(d.New), count(d.Changed), count(d.Gone))
}

// Message says that the consolidated metadata is stale, and what to do.
func (d *Drift) Message() string {
	return "consolidated metadata is older than the nodes (" + d.String() + "): " + remedy.Consolidate + " updates it"
}

// Options are the options of [Compare] and [Stale]. A nil *Options is the zero value.
type Options struct {
	// Shallow compares only the nodes directly below the group.
	Shallow bool
	// Most bounds the nodes that are compared; 0 is no bound. If there are more, no node
	// counts as gone.
	Most int
	// Tolerant leaves out nodes whose documents are damaged, in place of an error.
	Tolerant bool
	// Early has nodes that are read already, or are being read; it may be nil.
	Early *Early
	// Found, if not nil, is called for each node that is there.
	Found func()
}

// Compare compares the consolidated metadata of the group at a location, whose document
// is group, with all nodes below it. Without consolidated metadata all nodes are new. If
// the store cannot list, the error wraps [zarr.ErrUnsupported]. If there are names that
// cannot be used, a [store.UnusableError] comes together with the result, and so it does
// from [Stale].
func Compare(ctx context.Context, at *zarr.Location, group *metadata.Group, opt *Options) (*Drift, error) {
	if opt == nil {
		opt = &Options{}
	}
	recorded := group.Consolidated
	if recorded == nil {
		recorded = new(metadata.Consolidated)
	}
	p, err := store.ParsePath(at.Path())
	if err != nil {
		return nil, err
	}
	w := &walk{Options: *opt, hierarchy: at.Root(), format: group.Format(), records: map[string][]byte{}}
	if w.Early == nil {
		w.Early = ReadEarly(ctx, at, recorded, !w.Shallow)
		defer w.Early.End()
	}
	if err := w.below(ctx, p, ""); err != nil {
		return nil, err
	}
	d := &Drift{Consolidated: group.Consolidated != nil, Nodes: len(w.paths), New: []string{}, Changed: []string{}, Gone: []string{}}
	d.compare(recorded, w)
	return d, w.unusable
}

// Stale compares the consolidated metadata of the group at a location with the nodes
// below it. group is the document of the group, or nil if it is not known. Stale returns
// nil if they agree, if there is no consolidated metadata, or if the store cannot list.
// Damaged nodes are not compared; opening them reports the damage.
func Stale(ctx context.Context, at *zarr.Location, group *metadata.Group, opt *Options) (*Drift, error) {
	if group == nil {
		n, err := at.Metadata(ctx, nil)
		var ok bool
		if group, ok = n.(*metadata.Group); err != nil || !ok {
			return nil, nil // opening the members reports the error
		}
	}
	if group.Consolidated == nil {
		return nil, nil
	}
	o := Options{Tolerant: true}
	if opt != nil {
		o = *opt
		o.Tolerant = true
	}
	d, err := Compare(ctx, at, group, &o)
	switch {
	case errors.Is(err, store.ErrUnsupported), errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil && !errors.Is(err, store.ErrUnusable):
		return nil, fmt.Errorf("consolidated metadata could not be compared with the nodes: %w", err)
	case d.IsNone():
		return nil, err
	}
	return d, err
}

// Agrees reports whether consolidated metadata has a copy of a node at a path, relative
// to its group, that means what the record of the node does. A damaged copy does not
// agree.
func Agrees(recorded *metadata.Consolidated, path string, record []byte) bool {
	was, err := canonical(recorded, path)
	return err == nil && alike(was, record)
}

// compare fills the lists. It only reports nodes as gone if all nodes are known.
func (d *Drift) compare(recorded *metadata.Consolidated, there *walk) {
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
func (d *Drift) addGone(recorded *metadata.Consolidated, there *walk) {
	isGone := func(path string) bool {
		return there.records[path] == nil && !there.stopped && (!there.Shallow || !strings.Contains(path, "/"))
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
	record, err := metadata.Record(n, metadata.Limits{})
	if !errors.Is(err, metadata.ErrUnsupported) {
		return record, err
	}
	record, err = stored()
	return attributes.Compact(record), err
}

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
