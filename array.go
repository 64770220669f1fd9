// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Array is a node that has elements: a large block that is cut into chunks.
//
// Any number of goroutines may use an Array at the same time, also while it grows. A call
// works on one published version of the array. Within this process, writers of one chunk
// wait for each other, and a change of the extent waits for writes that have begun.
// Between processes, a change of the extent excludes other such changes, and writes to
// boundary chunks. The last writer of any other chunk wins, unless
// [Options.SharedWriters] is set.
//
// Indices mean the elements that the array had when it was opened, also after another
// process has dropped or inserted elements. Calls that are given indices then read those
// elements as long as they are stored, or return an error that wraps [ErrConflict].
// [Array.Refresh], and calls that append or change the array otherwise, take over the new
// indices.
type Array struct {
	node
	state  atomic.Pointer[snapshot.Array]
	recent publish.Recent
}

// newArray returns the array that a document of the given version describes.
func newArray(base node, doc *metadata.Array, version store.Version) (*Array, error) {
	a := &Array{node: base}
	// The array has no state yet, so Bind makes a new codec chain.
	s, err := a.binding().Bind(doc, nil, version)
	if err != nil {
		return nil, err
	}
	s.Numbering = new(snapshot.Numbering)
	a.state.Store(s)
	return a, nil
}

// binding returns the binding that turns a document of the array into a state.
func (a *Array) binding() *snapshot.Binding {
	o := &a.options
	_, locks := store.As[store.Locker](a.hierarchy.store)
	return &snapshot.Binding{
		Engine: &engine.Array{
			Store: a.hierarchy.store, Path: a.path, Concurrency: o.Concurrency, Budget: o.Budget,
			MaxChunk: o.Limits.chunk(), KeepFill: o.StoreFill, Fenced: !locks && !o.SingleWriter, RequireChunks: o.RequireChunks,
			Gap: o.Shards.Gap, Span: o.Shards.Span, Observer: a.hierarchy.observer,
		},
		Codecs: o.environment(), Grids: grid.ParseOptions{EncodedShapes: o.Experimental.EncodedShapes},
		Limits: o.Limits.metadata(), Present: a.state.Load(),
	}
}

// Shape returns the length of every axis in elements.
func (a *Array) Shape() []int64 { return a.state.Load().Grid.Shape() }

// Rank returns the number of axes.
func (a *Array) Rank() int { return a.state.Load().Grid.Rank() }

// Grid returns the chunk grid.
func (a *Array) Grid() *grid.Grid { return a.state.Load().Grid }

// Type returns the data type of the elements.
func (a *Array) Type() dtype.Type { return a.state.Load().Type }

// FillValue returns the value of elements that were never written.
func (a *Array) FillValue() FillValue {
	s := a.state.Load()
	return fillValueOf(s.Type, s.Fill, s.Doc.HasNullFill())
}

// HasChecksum reports whether a codec stores a checksum of every chunk or, in shards, of
// every inner chunk. Without one, damage that decodes to other values is read as them.
func (a *Array) HasChecksum() bool { return a.state.Load().Engine.Chain.HasChecksum() }

// Attributes returns the user attributes as a JSON object, in their stored spelling.
func (a *Array) Attributes() []byte { return bytes.Clone(a.state.Load().Doc.Attributes) }

// Metadata returns a copy of the document that describes the array.
func (a *Array) Metadata() *metadata.Array { return a.state.Load().Doc.Clone() }

// String describes the array in one line: data type, shape, chunks and location.
func (a *Array) String() string {
	s := a.state.Load()
	return fmt.Sprintf("%s %s at %s", s.Type, s.Grid, a.Location())
}

// DimensionNames returns the name of every axis, "" for an axis without one. It is nil if
// the array names none.
func (a *Array) DimensionNames() []string { return a.state.Load().DimensionNames() }

// parse binds a document of this array. attributes is its attributes document in format
// 2.
func (a *Array) parse(data, attributes []byte, version store.Version) (*snapshot.Array, error) {
	doc, err := a.parseDocument(data, attributes)
	if err != nil {
		return nil, err
	}
	s, err := a.binding().Bind(doc, nil, version)
	if err != nil {
		return nil, fault.InDocument(err)
	}
	s.Warned = publish.Warned(data)
	return s, nil
}

// parseDocument parses a document of this array.
func (a *Array) parseDocument(data, attributes []byte) (*metadata.Array, error) {
	l := a.options.Limits.metadata()
	if a.isV2() {
		// In format 2 the attributes are in a document of their own, .zattrs.
		return metadata.ParseArrayV2(data, attributes, l)
	}
	return metadata.ParseArray(data, l)
}

// Refresh reads the document again. Later calls see what other processes have published.
// If they have dropped or inserted elements, indices mean other elements from now on.
func (a *Array) Refresh(ctx context.Context) error {
	_, err := a.reload(ctx, a.state.Load())
	return a.fail("refresh", err)
}

// reload reads the document again, and the array takes it over. It returns the state of
// that document, or a newer one that another call of this process has published
// meanwhile.
func (a *Array) reload(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error) {
	next, err := a.load(ctx, s)
	if err != nil {
		return nil, err
	}
	return a.adopt(s, next), nil
}

// load reads the document again. s is an older state.
func (a *Array) load(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error) {
	// Take the time before the request. A chunk that is stored while it runs may belong
	// to a later document.
	now := time.Now()
	data, info, err := a.hierarchy.store.Get(ctx, a.key(), store.Request{Limit: a.options.Limits.document()}, nil)
	if err != nil {
		return nil, err
	}
	var attributes []byte
	if a.isV2() {
		if attributes, err = a.hierarchy.reader(a.options.Limits).Attributes(ctx, a.path); err != nil {
			return nil, err
		}
	}
	next, err := a.parse(data, attributes, info.Version)
	if err != nil {
		return nil, fault.InFile(a.key(), err)
	}
	next.Confirm(now)
	next.SetWritten(info.Modified)
	// The same version says the same, except for attributes of format 2.
	if next.Inherit(s); next.Version != s.Version || next.Version.IsZero() {
		a.number(ctx, s, next)
	}
	return next, ctx.Err()
}

// adopt makes next the state of the array, unless another call has published or reloaded
// since s was loaded: that state may be newer, so it wins.
func (a *Array) adopt(s, next *snapshot.Array) *snapshot.Array {
	if !a.state.CompareAndSwap(s, next) {
		return a.state.Load()
	}
	return next
}

// look returns s if the document still has the version of s, or else a newer state. The
// array takes that over only if elements have the same indices there. In a store without
// versions look always returns s.
func (a *Array) look(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error) {
	now := time.Now()
	info, err := store.Stat(ctx, a.hierarchy.store, a.key())
	if err != nil {
		return s, err
	}
	if info.Version == s.Version {
		s.Confirm(now)
		s.SetWritten(info.Modified)
		return s, nil
	}
	if is := a.state.Load(); is.Version == info.Version {
		return is, nil
	}
	next, err := a.load(ctx, s)
	if err != nil {
		return s, err
	}
	// If another call has published meanwhile, its state stays.
	if next.Numbering == s.Numbering {
		a.state.CompareAndSwap(s, next)
	}
	return next, nil
}

// fresh returns s or a newer state, like look. If elements have other indices there, it
// returns s and [errMoved].
func (a *Array) fresh(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error) {
	now, err := a.look(ctx, s)
	if err == nil && now.Numbering != s.Numbering {
		err = movedSince(s)
	}
	if err != nil {
		return s, err
	}
	return now, nil
}

// newest is look for calls that are given no indices: the array takes over the newer
// state in any case.
func (a *Array) newest(ctx context.Context) (*snapshot.Array, error) {
	s := a.state.Load()
	now, err := a.look(ctx, s)
	if err != nil || now.Numbering == s.Numbering {
		return now, err
	}
	return a.adopt(s, now), nil
}
