// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/masking"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/ome"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual/scan"
)

// openNode returns the arrays of a Zarr node as a part: the node itself, or those below
// it if it is a group. Each stored chunk is a source.
func openNode(w *walk) (*Part, error) {
	n, err := zarr.At(w.store, w.root.String()).Open(w.ctx, nil)
	if err != nil {
		return nil, err
	}
	p := &Part{Name: w.location, Format: fmt.Sprintf("Zarr format %d", n.Format()), Manifest: &Manifest{}}
	w.part = p
	switch n := n.(type) {
	case *zarr.Array:
		err = w.add("", n) // at the root, in place of a group
	case *zarr.Group:
		err = w.addGroup(n)
	}
	if err == nil {
		err = w.findStrangers()
	}
	if err != nil {
		return nil, err
	}
	p.Manifest.sort()
	p.readFrom(func(ctx context.Context, at string) (*zarr.Array, error) {
		path, err := w.root.Join(at)
		if err != nil {
			return nil, err
		}
		return zarr.At(w.store, path.String()).OpenArray(ctx, nil)
	})
	return p, nil
}

// walk collects the nodes of a part.
type walk struct {
	ctx      context.Context // of the one call
	store    store.Store
	root     store.Path
	location string
	scheme   string
	room     *room
	part     *Part
	images   ome.Images
	// strangers are the first values that no document describes, and more counts others.
	strangers []string
	more      int
	// rename returns a location of a source of the store as the manifest will have it, if
	// the store consists of references.
	rename func(location string) (string, error)
}

// addGroup adds a group and everything below it.
func (w *walk) addGroup(g *zarr.Group) error {
	w.part.Manifest.Groups = []Group{{"", g.Metadata().ToV3().WithConsolidated(nil)}}
	for m, err := range g.Members(w.ctx, true) {
		if err == nil {
			err = m.Err
		}
		if err != nil {
			w.part.Refused = append(w.part.Refused, Refusal{Path: m.Path, Err: err, Array: true})
			continue
		}
		if err := w.addMember(m); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) addMember(m zarr.Member) error {
	if err := checkPath(m.Path); err != nil {
		w.part.Refused = append(w.part.Refused, Refusal{Path: m.Path, Err: err, Array: true})
		return nil
	}
	switch n := m.Node.(type) {
	case *zarr.Group:
		w.part.Manifest.Groups = append(w.part.Manifest.Groups, Group{m.Path, n.Metadata().ToV3().WithConsolidated(nil)})
	case *zarr.Array:
		return w.add(m.Path, n)
	}
	return nil
}

// add adds an array, with a reference for each chunk that is stored.
func (w *walk) add(path string, n *zarr.Array) error {
	doc := n.Metadata()
	keys, err := metadata.ParseKeyEncoding(doc.ChunkKeyEncoding)
	if err != nil {
		return err
	}
	if doc, err = w.toV3(path, n); err != nil {
		return err
	}
	doc = doc.WithKeyEncoding(metadata.DefaultSlash)
	at, err := w.root.Join(path)
	if err != nil {
		return err
	}
	var v *view
	if w.rename != nil {
		v = referencesOf(w.store)
	}
	if err := w.checkMemory(v, at, n.Grid()); err != nil {
		return fmt.Errorf("%q: %w", path, err)
	}
	a, err := newArray(path, doc, n.Grid(), 0)
	if err != nil {
		return err
	}
	if v != nil {
		return w.addReferences(v, at, a, keys)
	}
	m, count, away := w.part.Manifest, a.Grid.Chunks(), w.checkLocation(path)
	var more otherChunks // chunks of other grids
	for e, err := range store.List(w.ctx, w.store, at, store.Deep|store.WithVersions) {
		if err != nil {
			return err
		}
		index, ok := keys.ParseKey(e.Name, len(count), nil)
		switch name := strings.TrimPrefix(path+"/"+e.Name, "/"); {
		case ok || nodename.IsDocument(e.Name):
		case tree.IsChunkKey(e.Name, len(count)):
			more.add(name)
		default:
			w.leaveOut(name)
		}
		if !ok || !below(index, count) {
			continue
		}
		if away != nil {
			w.part.Refused = append(w.part.Refused, Refusal{Path: path, Err: away, Array: true})
			return nil
		}
		info := store.Info{Size: e.Size, Version: e.Version, Modified: e.Modified, FileTime: e.FileTime}
		location := w.locate(strings.TrimPrefix(path+"/"+e.Name, "/"))
		// Each chunk is a value of its own, and so a source of its own.
		m.Sources = append(m.Sources, describe(location, info, w.scheme))
		a.refs.set(int(a.number(index)), reference{uint32(len(m.Sources)), 0, uint64(info.Size)})
	}
	m.Arrays = append(m.Arrays, a)
	w.leaveOutChunks(more)
	return nil
}

// locate returns the location of a value of the node. The query of a web server comes at
// its end. The options of an object store are those of the reader.
func (w *walk) locate(rel string) string {
	base, query := cutQuery(w.location, w.scheme)
	if base != "" { // it may begin with a slash
		rel = base + "/" + rel
	}
	if w.scheme == "http" || w.scheme == "https" {
		rel += query
	}
	return rel
}

// cutQuery divides a location before its query. A path of this machine has none.
func cutQuery(location, scheme string) (base, query string) {
	i := strings.IndexByte(location, '?')
	if scheme == "file" || i < 0 {
		return location, ""
	}
	return location[:i], location[i:]
}

// otherChunks are the chunks of an array that its document does not describe. Each
// rechunk leaves as many as the array had.
type otherChunks struct {
	first string // in the order of names
	n     int
}

func (o *otherChunks) add(name string) {
	if o.n++; o.n == 1 || name < o.first {
		o.first = name
	}
}

// leaveOutChunks names the first of the chunks, and counts the rest.
func (w *walk) leaveOutChunks(o otherChunks) {
	if o.n == 0 {
		return
	}
	text := "no document describes it"
	if o.n > 1 {
		text += ", nor " + quantity.Count(o.n-1, "more chunks") + " of this array"
	}
	w.part.Refused = append(w.part.Refused, Refusal{Path: o.first, Err: errors.New(text)})
}

// findStrangers names the values that belong to no node, such as files of other programs.
func (w *walk) findStrangers() error {
	if w.rename != nil {
		return nil // they consist of references
	}
	nodes := map[string]bool{}
	for _, a := range w.part.Manifest.Arrays {
		nodes[a.Path] = true
	}
	for _, r := range w.part.Refused { // arrays, and attributes of others
		nodes[r.Path] = true
	}
	for _, g := range w.part.Manifest.Groups {
		nodes[g.Path] = true
	}
	for _, g := range w.part.Manifest.Groups {
		if err := w.findIn(g.Path, nodes, false); err != nil {
			return err
		}
	}
	for i, name := range w.strangers {
		err, more := errors.New("no document describes it"), int64(0)
		if w.more > 0 && i == mostStrangers-1 {
			more = int64(w.more)
			err = fmt.Errorf("no document describes it, nor %s", quantity.Count(w.more, "more values"))
		}
		w.part.Refused = append(w.part.Refused, Refusal{Path: name, Err: err, More: more})
	}
	return nil
}

// findIn names the values in a folder, but the documents of a node. deep is set below one
// that is no node.
func (w *walk) findIn(path string, nodes map[string]bool, deep bool) error {
	at, err := w.root.Join(path)
	if err != nil {
		return err
	}
	how := store.Flat
	if deep {
		how = store.Deep
	}
	for e, err := range store.List(w.ctx, w.store, at, how) {
		name := strings.TrimPrefix(path+"/"+e.Name, "/")
		switch {
		case errors.Is(err, store.ErrUnusable) && !deep:
			return nil // the members of the group have named them
		case errors.Is(err, store.ErrUnusable):
			w.part.Refused = append(w.part.Refused, Refusal{Path: path, Err: err})
			return nil
		case err != nil:
			return err
		case own.IsReserved(e.Name) || nodes[name] || !deep && nodename.IsDocument(e.Name):
		case e.Dir:
			if err := w.findIn(name, nodes, true); err != nil {
				return err
			}
		default:
			w.leaveOut(name)
		}
	}
	return nil
}

// mostStrangers bounds the values that are named.
const mostStrangers = 100

// leaveOut counts and names a value that no document describes.
func (w *walk) leaveOut(name string) {
	switch {
	case own.IsBelow(name):
	case len(w.strangers) < mostStrangers:
		w.strangers = append(w.strangers, name)
	default:
		w.more++
	}
}

// toV3 returns the document of an array in format 3. The fill value of format 2, which
// marks missing values there, becomes an attribute.
func (w *walk) toV3(path string, n *zarr.Array) (*metadata.Array, error) {
	node := n.Core().Node
	if w.images.Store == nil {
		w.images.Reader = node.Reader()
	}
	filled, err := w.images.MasksFill(w.ctx, node.Path, n.Metadata())
	if err != nil {
		return nil, err
	}
	doc := n.Metadata()
	if doc.Format() == 3 {
		return doc, nil
	}
	m, err := masking.ToV3(doc, filled)
	if err != nil {
		return nil, err
	}
	// xarray does not read the values as before.
	if m.Lost || m.Refused {
		w.part.Refused = append(w.part.Refused, Refusal{Path: path + ":" + missing.FillValue, Err: errors.New(m.Note)})
	}
	return m.Array, nil
}

// checkMemory returns an error if the references of an array would take too much memory.
// Those of others must have earned it, too: v shows them, or is nil.
func (w *walk) checkMemory(v *view, at store.Path, g *grid.Grid) error {
	chunks, ok := g.NumChunks()
	if !ok || chunks > mostChunks {
		return nil // newArray refuses it
	}
	if err := w.room.take(chunks * referenceBytes); err != nil || v == nil {
		return err
	}
	stored, err := v.content.countStored(w.ctx, at.String(), chunks)
	if err == nil {
		err = checkAbsent(g, stored)
	}
	return err
}

// addReferences adds an array that consists of references already.
func (w *walk) addReferences(v *view, at store.Path, a *Array, keys metadata.KeyEncoding) error {
	m, count := w.part.Manifest, a.Grid.Chunks()
	if n, ok := v.content.(*nodes); ok {
		a.points = n.arrays[at.String()].points
	}
	numbers := map[string]uint32{} // of the sources
	index, key := make([]int64, len(count)), []byte(nil)
	for k := range a.refs.len() {
		indexOf(int64(k), count, a.Axis, index)
		key = keys.AppendKey(key[:0], index)
		f, err := v.found(w.ctx, at.MustKey(string(key)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case f.bytes != nil:
			if err := w.room.take(int64(len(f.bytes))); err != nil {
				return err
			}
			a.setInline(int64(k), f.bytes)
			continue
		}
		if numbers[f.source.Location] == 0 {
			source := f.source
			if source.Location, err = w.rename(source.Location); err != nil {
				return err
			}
			if err := w.room.take(source.bytes()); err != nil {
				return err
			}
			m.Sources = append(m.Sources, source)
			numbers[f.source.Location] = uint32(len(m.Sources))
		}
		f.ref.source = numbers[f.source.Location]
		a.refs.set(k, f.ref)
	}
	m.Arrays = append(m.Arrays, a)
	return nil
}

// checkLocation returns an error if a location of chunks below a path would not lead a
// reader back to them, because it has characters that programs read in different ways.
func (w *walk) checkLocation(path string) error {
	node := place{scheme: w.scheme, host: "host", path: "/node"}
	if w.scheme == "file" {
		node.host = ""
	}
	at, err := node.join(path)
	if err != nil {
		return scan.Unsupportedf("the path %q has characters that locations of chunks cannot have: copy it under another name (varve copy)", path)
	}
	// A key of an object store may have characters that begin a query in a URL.
	if again, err := placeOf(at.String()); err != nil || again.path != at.path {
		return scan.Unsupportedf("in a location of its chunks, %q would be read as something else: copy it under another name (varve copy)", path)
	}
	return nil
}

// room is how many bytes of memory references may still take. Manifests and documents of
// arrays claim chunks without having bytes for them: one byte may stand for thousands.
type room struct {
	most int64
	left atomic.Int64
}

// take takes n bytes of the room, or returns an [ErrLimit].
func (r *room) take(n int64) error {
	if r.left.Add(-n) < 0 {
		return fmt.Errorf("%w: the references of all manifests and Zarr nodes among the files would take more than %s of memory; name the files that they lead to, or make several manifests", ErrLimit, quantity.Count(r.most, "bytes"))
	}
	return nil
}

// newRoom returns room for a number of bytes; 0 is mostTaken.
func newRoom(most int64) *room {
	if most <= 0 {
		most = mostTaken
	}
	r := &room{most: most}
	r.left.Store(most)
	return r
}

const (
	// mostTaken is the default of [Collector.Memory]: 67 million references.
	mostTaken = mostReferred * referenceBytes
	// mostReferred is the number of references without the files that they lead to.
	mostReferred = 1 << 26
	// referenceBytes is the memory of a reference, and sourceBytes that of a source
	// besides its location and its version.
	referenceBytes = 20
	sourceBytes    = 64
)

// bytes returns the memory of a source.
func (s *Source) bytes() int64 { return sourceBytes + int64(len(s.Location)+len(s.Version)) }
