// SPDX-License-Identifier: Apache-2.0

// Package array has the inner side of an open array: its present state, how its document
// is read and changed, and how elements are read and written whatever other writers do
// meanwhile.
//
// The root package opens arrays, and its calls work on an [Array]. Packages above it get
// that of a *zarr.Array by its method Core.
package array

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/dimension"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/nodelock"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

// Setup is what opening an array decides for as long as it is open.
type Setup struct {
	// Node is the place of the array, its limits, and the options for changing it.
	Node tree.Node
	// Name is the location of the array for messages, without credentials.
	Name string
	// Refusal says why the array must not be changed. It is nil if it may be.
	Refusal error
	// What follows is what engine.Array says of the fields with these names.
	Budget, MaxChunk        int64
	Gap, Span               int64
	KeepFill, RequireChunks bool
	Observer                observe.Observer
	// Codecs and Grids are the options with which documents are read.
	Codecs codec.Environment
	Grids  grid.ParseOptions
	// Block bounds a block that is allocated for elements, in bytes.
	Block int64
	// Rehearsed is set if changes are a dry run.
	Rehearsed bool
	// Handle is the *zarr.Array.
	Handle any
}

// Keeper keeps beside an array what its chunks hold, and in step while they are stored.
type Keeper interface {
	// Recorder returns what notes the chunks that are stored for a state of the array.
	Recorder(s *snapshot.Array) engine.Recorder
	// Flush stores what was noted. What it cannot store is not known, so nothing fails.
	Flush(ctx context.Context)
}

// NewKeeper, if not nil, returns the keeper of an array that was opened for writing.
// Package internal/statistics sets it when the program begins.
var NewKeeper func(a *Array) Keeper

// Array is an open array. Any number of goroutines may use it.
type Array struct {
	Setup
	state  atomic.Pointer[snapshot.Array]
	recent publish.Recent
	keeper Keeper // nil if nothing is kept in step
}

// New returns the array that a document of the given version describes.
func New(setup Setup, doc *metadata.Array, version store.Version) (*Array, error) {
	a := &Array{Setup: setup}
	if NewKeeper != nil && setup.Refusal == nil {
		a.keeper = NewKeeper(a)
	}
	// The array has no state yet, so Bind makes a new codec chain.
	s, err := a.Binding().Bind(doc, nil, version)
	if err != nil {
		return nil, err
	}
	s.Numbering = new(snapshot.Numbering)
	a.state.Store(s)
	return a, nil
}

// State returns the state of the document that was read or published last.
func (a *Array) State() *snapshot.Array { return a.state.Load() }

// Binding returns the binding that turns a document of the array into a state.
func (a *Array) Binding() *snapshot.Binding {
	_, locks := store.As[store.Locker](a.Node.Store)
	codecs := a.Codecs
	b := &snapshot.Binding{
		Engine: &engine.Array{
			Store: a.Node.Store, Path: a.Node.Path, Concurrency: a.Node.Concurrency, Budget: a.Budget,
			MaxChunk: a.MaxChunk, KeepFill: a.KeepFill, Fenced: !locks && !a.Node.SingleWriter, RequireChunks: a.RequireChunks,
			Gap: a.Gap, Span: a.Span, Observer: a.Observer,
		},
		Codecs: &codecs, Grids: a.Grids, Limits: a.Node.Limits, Present: a.State(),
	}
	if a.keeper != nil {
		b.Record = a.keeper.Recorder
	}
	return b
}

// Keeper returns the keeper of the array, or nil.
func (a *Array) Keeper() Keeper { return a.keeper }

// Flush stores what was noted of the chunks that were stored. Every change of the array
// ends with it.
func (a *Array) Flush(ctx context.Context) {
	if a.keeper != nil {
		a.keeper.Flush(store.WithLocking(ctx, a.Node.Locking))
	}
}

// Bind describes the array by another document. change sets fields of the engine that
// differ from those of the array; it may be nil. With adapt, codecs choose settings for
// each chunk ([codec.Environment]).
func (a *Array) Bind(doc *metadata.Array, adapt bool, change func(*engine.Array)) (*snapshot.Array, error) {
	b := a.Binding()
	if adapt && !b.Codecs.Adapt {
		b.Codecs.Adapt, b.Present = true, nil // the codecs of the present state do not adapt
	}
	if change != nil {
		change(b.Engine)
	}
	return b.Bind(doc, nil, store.Version{})
}

// Writable returns an error if the array must not be changed.
func (a *Array) Writable() error { return a.Refusal }

// Lock returns the lock that orders the calls of this process on the array.
func (a *Array) Lock() nodelock.Node {
	return nodelock.Node{Store: a.Node.Store, Path: a.Node.Path, Locking: a.Node.Locking}
}

// parse binds a document of this array. attributes is its attributes document in format
// 2.
func (a *Array) parse(data, attributes []byte, version store.Version) (*snapshot.Array, error) {
	doc, err := a.ParseDocument(data, attributes)
	if err != nil {
		return nil, err
	}
	s, err := a.Binding().Bind(doc, nil, version)
	if err != nil {
		return nil, fault.InDocument(err)
	}
	s.Warned = publish.Warned(data)
	return s, nil
}

// ParseDocument parses a document of this array.
func (a *Array) ParseDocument(data, attributes []byte) (*metadata.Array, error) {
	l := a.Node.Limits
	if a.Node.IsV2() {
		// In format 2 the attributes are in a document of their own, .zattrs.
		return metadata.ParseArrayV2(data, attributes, l)
	}
	return metadata.ParseArray(data, l)
}

// Reload reads the document again, and the array takes it over. It returns the state of
// that document, or a newer one that another call of this process has published
// meanwhile.
func (a *Array) Reload(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error) {
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
	data, info, err := a.Node.Store.Get(ctx, a.Node.Key(), store.Request{Limit: a.Node.Limit}, nil)
	if err != nil {
		return nil, err
	}
	var attributes []byte
	if a.Node.IsV2() {
		if attributes, err = a.Node.Reader().Attributes(ctx, a.Node.Path); err != nil {
			return nil, err
		}
	}
	next, err := a.parse(data, attributes, info.Version)
	if err != nil {
		return nil, fault.InFile(a.Node.Key(), err)
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

// Look returns s if the document still has the version of s, or else a newer state. The
// array takes that over only if elements have the same indices there. In a store without
// versions Look always returns s.
func (a *Array) Look(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error) {
	now := time.Now()
	info, err := store.Stat(ctx, a.Node.Store, a.Node.Key())
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

// LookUnmoved returns s or a newer state, like [Array.Look]. If elements have other
// indices there, it returns s and [ErrMoved].
func (a *Array) LookUnmoved(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error) {
	now, err := a.Look(ctx, s)
	if err == nil && now.Numbering != s.Numbering {
		err = MovedSince(s)
	}
	if err != nil {
		return s, err
	}
	return now, nil
}

// Newest is [Array.Look] for calls that are given no indices: the array takes over the
// newer state in any case.
func (a *Array) Newest(ctx context.Context) (*snapshot.Array, error) {
	s := a.state.Load()
	now, err := a.Look(ctx, s)
	if err != nil || now.Numbering == s.Numbering {
		return now, err
	}
	return a.adopt(s, now), nil
}

// Reshaping describes a change of the shape to package dimension.
func (a *Array) Reshaping(after func(shape []int64) []int64) dimension.Change {
	now := func() dimension.Array {
		s := a.state.Load()
		return dimension.Array{Path: a.Node.Path, Names: s.DimensionNames(), Shape: s.Grid.Shape()}
	}
	return dimension.Change{Path: a.Node.Path, Current: now, Refresh: a.refresh, After: after}
}

// refresh reads the document again.
func (a *Array) refresh(ctx context.Context) error {
	_, err := a.Reload(ctx, a.State())
	return err
}

// DimensionsOf returns the group at a path for package dimension, without its document.
// concurrency bounds the requests, as [engine.InFlight] does.
func DimensionsOf(r tree.Reader, p store.Path, concurrency int) dimension.Group {
	return dimension.Group{Reader: r, Path: p, InFlight: engine.InFlight(r.Store, concurrency, runtime.GOMAXPROCS(0))}
}

// CheckShared returns an error if arrays of one group would differ along a dimension
// after the changes, of which there is one for each array. at is the array that it is
// about.
func CheckShared(ctx context.Context, arrays []*Array, changes []dimension.Change) (at int, err error) {
	if len(arrays) == 0 {
		return 0, nil
	}
	n := arrays[0].Node
	return dimension.Changes{
		List:  changes,
		Group: func(p store.Path) dimension.Group { return DimensionsOf(n.Reader(), p, n.Concurrency) },
		Finish: func(ctx context.Context, p store.Path) {
			if arrays[0].Writable() != nil {
				return
			}
			other := n
			other.Path = p
			// Errors do not matter: the document is read afterwards.
			_ = other.FinishPending(ctx)
		},
	}.Check(ctx)
}

// CheckDimensions returns an error that wraps [fault.ErrInvalidArgument] if the array,
// with the given shape, would differ in length from other arrays of its group along a
// shared dimension whose length changes. It looks at what zarr.Group.CheckDimensions
// compares.
func (a *Array) CheckDimensions(ctx context.Context, shape []int64) error {
	if rank := a.State().Grid.Rank(); len(shape) != rank {
		return fault.Argument("the shape %v has %s, the array has %d", shape, quantity.Count(len(shape), "axes"), rank)
	}
	change := a.Reshaping(func([]int64) []int64 { return shape })
	_, err := CheckShared(ctx, []*Array{a}, []dimension.Change{change})
	return err
}

// Place says where in a node an error is. Fields that do not apply are empty, and Axis is
// -1.
type Place struct {
	Key   string
	Chunk []int64
	Axis  int
	Codec string
}

// PlaceOf returns the place that an error names.
func PlaceOf(err error) Place {
	p := Place{Axis: -1}
	var chunk *engine.ChunkError
	if errors.As(err, &chunk) {
		p.Key, p.Chunk = chunk.Key, chunk.Index
	}
	var file *fault.FileError
	if errors.As(err, &file) {
		p.Key = file.Key
	}
	var axis *grid.AxisError
	if errors.As(err, &axis) {
		p.Axis = axis.Axis
	}
	var coder *coding.Error
	if errors.As(err, &coder) {
		p.Codec = coder.Codec
	}
	return p
}
