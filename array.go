// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/array"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/nonfinite"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
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
	core *array.Array
}

// newArray returns the array that a document of the given version describes.
func newArray(base node, doc *metadata.Array, version store.Version) (*Array, error) {
	o := &base.options
	a := &Array{node: base}
	core, err := array.New(array.Setup{
		Node: base.place(), Name: base.hierarchy.name(base.path), Refusal: base.writable(),
		Budget: o.Budget, MaxChunk: o.Limits.chunk(), Gap: o.Shards.Gap, Span: o.Shards.Span,
		KeepFill: o.StoreFill, RequireChunks: o.RequireChunks, Observer: base.hierarchy.observer,
		Codecs: *o.environment(), Grids: grid.ParseOptions{EncodedShapes: o.Experimental.EncodedShapes},
		Block: o.Limits.block(), Rehearsed: base.hierarchy.ledger != nil, Handle: a,
	}, doc, version)
	if err != nil {
		return nil, err
	}
	a.core = core
	return a, nil
}

// Core returns what the array is inside, for the other packages of this module: its type
// is internal. It is the same for every call.
func (a *Array) Core() *array.Array { return a.core }

// Shape returns the length of every axis in elements.
func (a *Array) Shape() []int64 { return a.core.State().Grid.Shape() }

// Rank returns the number of axes.
func (a *Array) Rank() int { return a.core.State().Grid.Rank() }

// Grid returns the chunk grid.
func (a *Array) Grid() *grid.Grid { return a.core.State().Grid }

// Type returns the data type of the elements.
func (a *Array) Type() dtype.Type { return a.core.State().Type }

// FillValue returns the value of elements that were never written.
func (a *Array) FillValue() FillValue {
	s := a.core.State()
	return fillValueOf(s.Type, s.Fill, s.Doc.HasNullFill())
}

// Attributes returns the user attributes as a JSON object, in their stored spelling.
func (a *Array) Attributes() []byte { return bytes.Clone(a.core.State().Doc.Attributes) }

// Metadata returns a copy of the document that describes the array.
func (a *Array) Metadata() *metadata.Array { return a.core.State().Doc.Clone() }

// String describes the array in one line: data type, shape, chunks and location.
func (a *Array) String() string {
	s := a.core.State()
	return fmt.Sprintf("%s %s at %s", s.Type, s.Grid, a.Location())
}

// DimensionNames returns the name of every axis, "" for an axis without one. It is nil if
// the array names none.
func (a *Array) DimensionNames() []string { return a.core.State().DimensionNames() }

// Refresh reads the document again. Later calls see what other processes have published.
// If they have dropped or inserted elements, indices mean other elements from now on.
func (a *Array) Refresh(ctx context.Context) error {
	_, err := a.core.Reload(ctx, a.core.State())
	return a.fail("refresh", err)
}

// DecodeAttributes stores the user attributes in the value that v points to, as
// [json.Unmarshal] does.
func (a *Array) DecodeAttributes(v any) error {
	return a.fail("decode attributes", json.Unmarshal(a.Attributes(), v))
}

// DecodeAttributes stores the user attributes in the value that v points to, as
// [json.Unmarshal] does.
func (g *Group) DecodeAttributes(v any) error {
	return g.fail("decode attributes", json.Unmarshal(g.Attributes(), v))
}

// SetAttribute publishes one user attribute, in the form that [json.Marshal] gives to
// value. Other attributes keep their spelling; see [Array.UpdateAttributes].
func (a *Array) SetAttribute(ctx context.Context, name string, value any) error {
	change, err := settingAttribute(name, value)
	if err != nil {
		return a.fail("set attributes", err)
	}
	return a.UpdateAttributes(ctx, change)
}

// SetAttribute publishes one user attribute, as [Array.SetAttribute] does.
func (g *Group) SetAttribute(ctx context.Context, name string, value any) error {
	change, err := settingAttribute(name, value)
	if err != nil {
		return g.fail("set attributes", err)
	}
	return g.UpdateAttributes(ctx, change)
}

// settingAttribute returns the change of attributes that sets one.
func settingAttribute(name string, value any) (func(object []byte) ([]byte, error), error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("%w: attribute %q: %w", ErrInvalidArgument, name, err)
	}
	return func(object []byte) ([]byte, error) {
		return metadata.SetAttribute(object, name, nonfinite.Text(raw))
	}, nil
}

// UpdateAttributes calls change with the newest attributes and publishes those that it
// returns. Both are JSON objects; their spelling and order are kept.
// [metadata.SetAttribute] and [metadata.UnsetAttribute] help to write change. The array
// is locked while change runs, so change must not modify the array itself. It may run
// again if another writer publishes first.
func (a *Array) UpdateAttributes(ctx context.Context, change func(object []byte) ([]byte, error)) error {
	if a.isV2() {
		return a.fail("set attributes", a.core.UpdateAttributesV2(ctx, change))
	}
	err := a.core.Update(ctx, func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
		// The state is shared with concurrent readers, so change gets a copy.
		raw, err := change(bytes.Clone(old.Doc.Attributes))
		if err != nil {
			return nil, nil, err
		}
		doc, err := old.Document().WithAttributes(raw)
		if err != nil {
			return nil, nil, err
		}
		// Pass the grid, so that a long list of edges is not parsed again.
		next, err := a.core.Binding().Bind(doc, old.Grid, store.Version{})
		if err != nil {
			return nil, nil, err
		}
		document, err := doc.Marshal(a.options.Limits.metadata())
		return &publish.Change{Document: document}, next, err
	})
	return a.fail("set attributes", err)
}

// UpdateAttributes calls change with the newest attributes and publishes those that it
// returns, as [Array.UpdateAttributes] does. The group has them after it is opened again.
func (g *Group) UpdateAttributes(ctx context.Context, change func(object []byte) ([]byte, error)) error {
	if err := g.writable(); err != nil {
		return g.fail("set attributes", err)
	}
	update := g.updateAttributes
	if g.isV2() {
		// In format 2 the attributes are in a document of their own. The group document,
		// .zgroup, stays as it is.
		update = func(ctx context.Context, change func([]byte) ([]byte, error)) error {
			_, err := g.place().PublishAttributes(ctx, change)
			return err
		}
	}
	if err := update(ctx, change); err != nil {
		return g.fail("set attributes", err)
	}
	// The attributes are published. A cancellation must not leave the old ones in
	// consolidated metadata.
	return g.fail("set attributes", g.place().RefreshGroup(store.Finishing(ctx)))
}

// updateAttributes is UpdateAttributes for a group of format 3.
func (g *Group) updateAttributes(ctx context.Context, change func(object []byte) ([]byte, error)) error {
	return publish.Update(ctx, g.publisher(), func(d publish.Document) (*publish.Change, error) {
		doc, err := metadata.ParseGroup(d.Bytes, g.options.Limits.metadata())
		if err != nil {
			return nil, err
		}
		raw, err := change(bytes.Clone(doc.Attributes))
		if err != nil {
			return nil, err
		}
		if doc, err = doc.WithAttributes(raw); err != nil {
			return nil, err
		}
		document, err := doc.Marshal(g.options.Limits.metadata())
		return &publish.Change{Document: document}, err
	})
}

// PendingChange is a transaction over several arrays ([Group.Append]) that is not
// complete: its writer is running, or has crashed.
type PendingChange struct {
	// Decided means that the transaction is committed. The next writer of one of the
	// arrays completes it, and it must not be repeated. Until then some of the arrays may
	// have changed and others not. A transaction that is not committed is not visible,
	// and the next writer undoes it.
	Decided bool
	// Arrays are the paths of the arrays that change, or nil if it is not committed.
	Arrays []string
	// Shape is the shape of the array after the transaction, or nil if it is not
	// committed.
	Shape []int64
}

// String says what is pending, and how it ends.
func (p *PendingChange) String() string {
	if !p.Decided {
		return "a change of several arrays was started but not decided: none of it is visible, and the next writer undoes it"
	}
	return fmt.Sprintf("a change of %s is decided but not finished: the shape will be %v, and some arrays may have "+
		"theirs already; the next writer or "+remedy.Finish+" finishes it, so do not repeat it",
		quantity.Of(int64(len(p.Arrays)), "array"), p.Shape)
}

// PendingChange returns the pending transaction that the array is part of. If there is
// none, the error wraps [fs.ErrNotExist]; finding that out takes one request.
func (a *Array) PendingChange(ctx context.Context) (*PendingChange, error) {
	p, err := a.pendingChange(ctx)
	return p, a.fail("pending change", err)
}

func (a *Array) pendingChange(ctx context.Context) (*PendingChange, error) {
	found, err := publish.Look(ctx, a.publisher())
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, fault.NotFound("no change of several arrays is pending")
	}
	p := &PendingChange{Decided: found.Committed}
	for _, node := range found.Nodes {
		p.Arrays = append(p.Arrays, node.String())
	}
	if found.Document == nil {
		return p, nil
	}
	// The journal has the new document of this array. The shape does not depend on the
	// attributes, so those of format 2 are not read.
	doc, err := a.core.ParseDocument(found.Document, nil)
	if err == nil {
		p.Shape = slices.Clone(doc.Shape)
	}
	return p, err
}
