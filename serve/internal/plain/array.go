// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	core "varve.dev/zarr/internal/array"
	"varve.dev/zarr/internal/attributes"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/masking"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/ome"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// ErrGone means that what a view has shown is no longer there: the array was deleted or
// replaced, elements have other indices, or a chunk lies beyond the end of an array that
// has shrunk. A new view shows what is there.
var ErrGone = errors.New("the view shows what was there before")

// array is one array of a view. Its grid, data type and the indices of its elements stay.
type array struct {
	view   *View
	path   string
	source *zarr.Array
	near   bool // a request to the store costs little
	edges  []int64
	block  []int64 // of elements of the source for one of the view; nil for one each
	spans  []int64 // the elements of the source that a chunk has along each axis

	face       atomic.Pointer[face]
	mu         sync.Mutex // of a change of face
	gone       atomic.Pointer[error]
	attributes atomic.Pointer[store.Version] // of the document of attributes in format 2

	sightings sightings
}

// face is how the view shows one state of the source.
type face struct {
	state  *snapshot.Array
	units  *grid.Grid  // what is decoded at once
	target *zarr.Array // in memory: it has the document, and encodes chunks
	files  store.Store // of target
	size   []int64     // the number of chunks along each axis
	kind   mapping
	level  *level       // nil if the array is not coarsened
	coding string       // what the stored bytes of chunks mean
	looked atomic.Int64 // when the document was last compared, in nanoseconds since 1970
}

// newArray opens the view of an array.
func (v *View) newArray(ctx context.Context, path string, source *zarr.Array) (*array, error) {
	a := &array{view: v, path: path, source: source, near: engine.Near(source.Location().Store())}
	state := source.Core().State()
	kind, err := mappingOf(state.Type, source.Attributes())
	if err != nil {
		return nil, err
	}
	size := kind.shown.Size()
	if kind.shown.Variable() {
		if size, err = a.textSize(ctx, state); err != nil {
			return nil, err
		}
	}
	l, err := a.coarsen(ctx, state)
	if err != nil {
		return nil, err
	}
	if err := a.cut(state, l, size); err != nil {
		return nil, err
	}
	f, err := a.newFace(ctx, state, kind, l)
	if err != nil {
		return nil, err
	}
	a.face.Store(f)
	return a, nil
}

// coarsen finds out whether the array is coarsened, and how.
func (a *array) coarsen(ctx context.Context, s *snapshot.Array) (*level, error) {
	names := axes(s)
	if a.path == "" { // it is the whole node
		if err := a.view.settings.unmatched(setOf(names), map[int]bool{len(names): true}); err != nil {
			return nil, err
		}
	}
	a.block = a.view.settings.block(names)
	return a.newLevel(ctx, s)
}

// cut sets the chunk shape. size is that of an element of the view, in bytes.
func (a *array) cut(s *snapshot.Array, l *level, size int) (err error) {
	v, most := a.view, min(mostProposed, a.view.cache.Limits.Chunk)
	if s.Type.Variable() {
		most = min(most, v.cache.Limits.Chunk/spareText)
	}
	if l == nil {
		a.edges, err = v.settings.edges(s.Finest(), size, most, v.cache.Limits)
	} else {
		a.edges, err = v.settings.coarseEdges(a.newDemand(s, l, size), most, axes(s))
	}
	a.spans = slices.Clone(a.edges)
	for i, n := range a.block {
		if err == nil {
			a.spans[i] *= n
		}
	}
	return err
}

// newFace makes the document of a state of the source.
func (a *array) newFace(ctx context.Context, state *snapshot.Array, kind mapping, l *level) (*face, error) {
	f := &face{state: state, units: state.Finest(), kind: kind, level: l, files: memstore.New()}
	spec, changes, err := a.translated(ctx, state.Doc)
	if err != nil {
		return nil, refusal(err)
	}
	if spec.FillValue, err = kind.fill(spec); err != nil {
		return nil, err
	}
	spec.Type = kind.shown
	spec = a.view.settings.spec(spec, a.edges)
	if l != nil {
		spec.Shape, changes = l.Shape(spec.Shape), append(changes, l.note)
	}
	if spec.Attributes, err = a.served(spec, kind, changes); err != nil {
		return nil, err
	}
	f.target, err = zarr.At(f.files, "").CreateArray(ctx, spec, &zarr.CreateOptions{Options: zarr.Options{StoreFill: true}})
	if err != nil {
		return nil, refusal(withoutPlace(err))
	}
	f.size, f.coding = f.target.Grid().Chunks(), codingOf(state)
	f.looked.Store(time.Now().UnixNano())
	return f, nil
}

// codingOf returns a text that differs for documents by which the same stored bytes are
// other elements.
func codingOf(s *snapshot.Array) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %q %q %d", s.Type, s.Fill, s.Doc.DataType.Append(nil), s.Engine.Keys)
	for _, c := range s.Doc.Codecs {
		fmt.Fprintf(h, " %s", c.Append(nil))
	}
	return string(h.Sum(nil)[:12])
}

// translated returns the source as an array of the other format, so that xarray takes the
// same elements for missing ones, and says what that takes.
func (a *array) translated(ctx context.Context, doc *metadata.Array) (spec zarr.Spec, changes []string, err error) {
	to, null := a.view.settings.format(), false
	if doc.Format() != to {
		if to == 2 && slices.Contains(doc.DimensionNames, nil) {
			doc = doc.Clone()
			doc.DimensionNames = nil
			changes = append(changes, "dimension names are left out: in format 2, all dimensions have names or none has")
		}
		at := a.source.Core().Node
		images := ome.Images{Reader: tree.Reader{Store: at.Store, Limits: metadata.Limits{}}}
		translate, filled := masking.ToV3, false
		if to == 2 {
			translate = masking.ToV2
			if attributes.Unnamed(doc) == "" {
				filled, err = images.IsLevel(ctx, at.Path)
				filled = !filled
			}
		} else {
			filled, err = images.MasksFill(ctx, at.Path, doc)
		}
		if err != nil {
			return spec, nil, err
		}
		mask, err := translate(doc, filled)
		if err != nil {
			return spec, nil, err
		}
		if doc, null = mask.Array, mask.Null; mask.Lost || mask.Refused {
			changes = append(changes, mask.Note)
		}
	}
	if spec, err = zarr.SpecOf(doc); err != nil {
		return spec, nil, err
	}
	if null {
		spec.FillValue = zarr.FillJSON("null")
	}
	return spec, changes, nil
}

// refusal marks the error for an array that cannot be read or described, which names
// types and codecs.
func refusal(err error) error {
	if errors.Is(err, zarr.ErrUnsupported) && !errors.Is(err, store.ErrUnsupported) {
		return &Refusal{err}
	}
	return err
}

// withoutPlace takes the place of an array in memory out of an error.
func withoutPlace(err error) error {
	if e := (*zarr.Error)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// current returns how the view shows the present state of the source. A far store is
// asked at most once in a while, except where must is set.
func (a *array) current(ctx context.Context, must bool) (*face, error) {
	if err := a.gone.Load(); err != nil {
		return nil, *err
	}
	f := a.face.Load()
	now := time.Now()
	if !must && !a.near && now.Sub(time.Unix(0, f.looked.Load())) < trusted {
		return f, nil
	}
	state, err := a.look(ctx, f.state)
	switch {
	case errors.Is(err, core.ErrMoved):
		return nil, a.leave(fmt.Errorf("%w: elements of %s were dropped or inserted", ErrGone, a.name()))
	case errors.Is(err, fs.ErrNotExist):
		return nil, a.leave(fmt.Errorf("%w: %s was deleted", ErrGone, a.name()))
	case errors.Is(err, zarr.ErrInvalidMetadata):
		if node, openErr := a.view.node(ctx, a.path); openErr == nil {
			if _, isGroup := node.(*zarr.Group); isGroup {
				return nil, a.leave(fmt.Errorf("%w: a group is in the place of %s", ErrGone, a.name()))
			}
		}
		return nil, err
	case err != nil:
		return nil, err
	}
	if state == f.state {
		f.looked.Store(now.UnixNano())
		return f, nil
	}
	return a.renew(ctx, state)
}

// look returns the present state of the source. It reads the document again in a store
// without versions, and in format 2 if the attributes, which have a document of their
// own, are others.
func (a *array) look(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error) {
	// Two calls may have read the same document at once, so the source may have another
	// copy of s. Its own state is the one that reads begin with, and that is replaced.
	c := a.source.Core()
	is := c.State()
	var attributes *store.Version
	if !s.Version.IsZero() {
		next, err := c.LookUnmoved(ctx, is)
		if err == nil && next.Numbering != s.Numbering {
			err = core.ErrMoved
		}
		if err != nil || next != is || s.Doc.Format() == 3 {
			return next, err
		}
		info, err := store.Stat(ctx, c.Node.Store, c.Node.Path.MustKey(nodename.V2Attributes))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
		if was := a.attributes.Load(); was != nil && *was == info.Version {
			return next, nil
		}
		attributes = &info.Version
	}
	next, err := c.Reload(ctx, is)
	if err != nil {
		return s, err // the next look compares with the former attributes again
	}
	a.attributes.Store(attributes)
	switch {
	case next.Numbering != s.Numbering:
		return s, core.ErrMoved
	case sameDocument(next.Doc, s.Doc):
		return s, nil
	}
	return next, nil
}

// sameDocument reports whether two documents say the same.
func sameDocument(a, b *metadata.Array) bool {
	x, errX := a.Marshal(metadata.Limits{})
	y, errY := b.Marshal(metadata.Limits{})
	return errX == nil && errY == nil && bytes.Equal(x, y) && bytes.Equal(a.Attributes, b.Attributes)
}

// renew takes over a newer state of the source.
func (a *array) renew(ctx context.Context, state *snapshot.Array) (*face, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.face.Load()
	if f.state == state {
		return f, nil
	}
	was := f.state
	if was.Type != state.Type || was.Grid.Rank() != state.Grid.Rank() || !bytes.Equal(was.Fill, state.Fill) || !slices.Equal(was.DimensionNames(), state.DimensionNames()) {
		return nil, a.leave(fmt.Errorf("%w: %s was replaced", ErrGone, a.name()))
	}
	// Where nothing can be listed, nobody knows whether elements were moved.
	if _, lists := store.As[store.Lister](a.source.Location().Store()); !lists && was.Engine.Keys != state.Engine.Keys {
		return nil, a.leave(fmt.Errorf("%w: %s has other chunks, and its store does not tell whether elements were dropped", ErrGone, a.name()))
	}
	next, err := a.faceOf(ctx, state)
	if err != nil {
		return nil, err
	}
	if next.kind.shown != f.kind.shown {
		return nil, a.leave(fmt.Errorf("%w: attributes of %s give its elements another type", ErrGone, a.name()))
	}
	a.face.Store(next)
	return next, nil
}

// faceOf returns how the view shows a state of the source.
func (a *array) faceOf(ctx context.Context, state *snapshot.Array) (*face, error) {
	kind, err := mappingOf(state.Type, state.Doc.Attributes)
	if err != nil {
		return nil, err
	}
	l, err := a.newLevel(ctx, state)
	if err != nil {
		return nil, err
	}
	return a.newFace(ctx, state, kind, l)
}

// leave ends the view of the array with an error, which it returns.
func (a *array) leave(err error) error {
	a.gone.CompareAndSwap(nil, &err)
	a.view.moved.Store(true)
	return *a.gone.Load()
}

// name names the array in messages.
func (a *array) name() string {
	if a.path == "" {
		return "the array"
	}
	return "the array " + a.path
}

// document returns a document of the array.
func (a *array) document(ctx context.Context, name string) ([]byte, error) {
	f, err := a.current(ctx, true)
	if err != nil {
		return nil, err
	}
	key, err := store.ParseKey(name)
	if err != nil {
		return nil, err
	}
	data, _, err := f.files.Get(ctx, key, store.Request{}, nil)
	return data, err
}

// sightings are the versions of stored chunks that were seen last. When there are too
// many of them, the older half is forgotten.
type sightings struct {
	mu          sync.Mutex
	seen, older map[store.Key]sighting
}

type sighting struct {
	version string // "" if the bytes must not be kept
	weak    bool
	at      time.Time
}

func (s *sightings) get(key store.Key, now time.Time) (sighting, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	is, ok := s.seen[key]
	if !ok {
		is, ok = s.older[key]
	}
	return is, ok && now.Sub(is.at) < trusted
}

func (s *sightings) put(key store.Key, is sighting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil || len(s.seen) >= mostChunks {
		s.seen, s.older = map[store.Key]sighting{}, s.seen
	}
	s.seen[key] = is
}

// notStored is the version of a chunk that is not stored.
const notStored = "missing"

// version returns the version of a stored chunk of the source. fresh asks a far store in
// any case.
func (a *array) version(ctx context.Context, key store.Key, fresh bool) (sighting, error) {
	now := time.Now()
	if is, ok := a.sightings.get(key, now); ok && !a.near && !fresh {
		return is, nil
	}
	info, err := store.Stat(ctx, a.source.Location().Store(), key)
	is := sighting{VersionOf(info, now), info.Version.IsWeak(), now}
	if errors.Is(err, fs.ErrNotExist) {
		is, err = sighting{version: notStored, at: now}, nil
	}
	if err == nil && !a.near {
		a.sightings.put(key, is)
	}
	return is, err
}

// contains reports whether the view has a chunk of this index.
func (f *face) contains(index []int64) bool {
	for i, n := range index {
		if n >= f.size[i] {
			return false
		}
	}
	return len(index) == len(f.size)
}

// failed returns the error of a read of the source. A read that finds elements moved ends
// the view of the array.
func (a *array) failed(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, core.ErrMoved):
		return a.leave(fmt.Errorf("%w: elements of %s were dropped or inserted", ErrGone, a.name()))
	case errors.Is(err, selection.ErrInvalid):
		// It has shrunk, or lost other elements, since the request was prepared.
		if _, now := a.current(ctx, true); errors.Is(now, ErrGone) {
			return now
		}
		return fmt.Errorf("%w: the chunk lies beyond %s", ErrGone, a.name())
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("what the chunk is made from is gone: %v", err)
	}
	return err
}

// digest returns the version of a document.
func digest(data []byte) store.Version {
	sum := sha256.Sum256(data)
	return store.MakeVersion(base64.RawURLEncoding.EncodeToString(sum[:15]))
}
