// SPDX-License-Identifier: Apache-2.0

package pyramid

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/attributes"
	"varve.dev/zarr/internal/failure"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Make makes the levels of an array, or brings them up to date, and returns what was
// done. The array must be open for writing, like the levels. An interrupted call can be
// repeated; see the package comment for the order of its steps.
//
// The error wraps [zarr.ErrInvalidArgument] if the array is the root of its store, or if
// the options do not fit it, and [fs.ErrExist] if another program has made a node where a
// level belongs. It wraps [zarr.ErrConflict] if another process has made the pyramid at
// the same time.
func Make(ctx context.Context, a *zarr.Array, opt *Options) (*Plan, error) {
	w, err := newWork(ctx, a, opt)
	if err == nil {
		err = w.make(ctx)
	}
	if err != nil {
		return nil, failure.On(a, "pyramid", err)
	}
	return w.plan(), nil
}

// make takes the steps 2 to 5 of the package comment.
func (w *work) make(ctx context.Context) error {
	if err := w.at.Writable(); err != nil {
		return err
	}
	if err := w.remove(ctx); err != nil {
		return err
	}
	if err := w.create(ctx); err != nil {
		return err
	}
	if len(w.grids) > 0 && !w.current() {
		if err := w.makeTiles(ctx); err != nil {
			return err
		}
	}
	return w.describe(ctx, len(w.grids))
}

// remove removes all levels that are made anew, or those that are too many. It first
// takes them out of the metadata of the group, which never name a level that is not
// whole. The record goes with the first level.
func (w *work) remove(ctx context.Context) error {
	keep := len(w.grids)
	if w.rebuild {
		keep = 0
	}
	if !w.rebuild && keep > 0 && w.record.Levels <= keep {
		return nil
	}
	if err := w.undescribe(ctx, keep); err != nil {
		return err
	}
	if w.rebuild {
		w.record = &record{}
		clear(w.arrays)
	}
	return w.removeAbove(ctx, keep)
}

// current reports whether the record says what the levels are made of.
func (w *work) current() bool {
	if w.total() > 0 || w.rebuild || len(w.grids) != w.record.Levels || w.Levels != w.record.Asked {
		return false
	}
	for k, a := range w.arrays {
		if !slices.Equal(a.Shape(), w.grids[k].Shape()) {
			return false
		}
	}
	is, err := w.meaning(w.present.Doc.Attributes)
	return err == nil && bytes.Equal(w.record.Attributes, attributes.Compact(is))
}

// makeTiles makes the tiles, and records of what. One batch has all of them: directories
// are synced once, before the record is stored.
func (w *work) makeTiles(ctx context.Context) error {
	do := w.update
	if w.rebuild {
		do = w.cascade
	}
	err := publish.Batch(store.WithLocking(ctx, w.at.Node.Locking), w.at.Node.Store, w.at.Node.Durability, func(ctx context.Context, b store.Batch) error {
		w.batch = b
		return do(ctx)
	})
	for _, a := range w.arrays {
		if a != nil {
			a.Core().Flush(ctx)
		}
	}
	if err != nil {
		return err
	}
	is, err := w.meaning(w.present.Doc.Attributes)
	if err == nil {
		err = w.redescribe(ctx, is)
	}
	if err != nil {
		return err
	}
	r := &record{
		Made: w.made, Asked: w.Levels, Levels: len(w.grids), Shape: w.present.Grid.Shape(), Tiles: appendFolds(nil, w.grids[0], w.listing.folds),
		Attributes: attributes.Compact(is),
	}
	return r.put(ctx, w.at.Node.Store, w.recordKey(), w.record, w.at.Node.Durability)
}

// meaning returns attributes of the array without the names of dimensions, which they
// have in format 2. A level may have other names.
func (w *work) meaning(raw []byte) ([]byte, error) {
	if w.base.Format() != 2 {
		return raw, nil
	}
	return metadata.UnsetAttribute(raw, "_ARRAY_DIMENSIONS")
}

// redescribe sets the attributes of the array that have changed in all levels: they say
// what numbers mean. is are those of the array.
func (w *work) redescribe(ctx context.Context, is []byte) error {
	for _, a := range w.arrays {
		next, err := attributes.Follow(a.Attributes(), w.record.Attributes, is)
		if err == nil && !bytes.Equal(next, a.Attributes()) {
			err = a.UpdateAttributes(ctx, func(now []byte) ([]byte, error) {
				return attributes.Follow(now, w.record.Attributes, is)
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// create creates the levels that are not in the record. What an interrupted call has left
// there may have been made of other elements.
func (w *work) create(ctx context.Context) error {
	if err := w.createGroups(ctx); err != nil {
		return err
	}
	for k, g := range w.grids {
		if !w.isNew(k) {
			continue
		}
		spec := w.base.Spec()
		spec.Shape, spec.Grid = g.Shape(), g
		spec.DimensionNames = w.layout.names(spec.DimensionNames, w.Block, k+1)
		var err error
		if spec.Attributes, err = w.attributes(k + 1); err != nil {
			return err
		}
		opt := &zarr.CreateOptions{Options: *w.options(), Overwrite: w.arrays[k] != nil}
		if w.arrays[k], err = w.place(k+1).CreateArray(ctx, spec, opt); err != nil {
			return err
		}
	}
	return nil
}

// createGroups creates the group of all levels, and the one of each. Their attribute says
// that they are about one array.
func (w *work) createGroups(ctx context.Context) error {
	if len(w.grids) == 0 {
		return nil
	}
	paths := []string{w.layout.group()}
	for k := range w.grids {
		if !w.layout.image && w.isNew(k) {
			paths = append(paths, w.layout.home(k+1))
		}
	}
	note := map[string]any{own.Pyramid: map[string]string{"of": w.layout.name}}
	for _, path := range paths {
		if path == "" {
			continue // the levels lie beside the array
		}
		_, err := w.group.At(path).CreateGroup(ctx, note, &zarr.CreateOptions{Options: *w.options()})
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// attributes returns the attributes of a level: those of the array, which say what its
// numbers mean, and how it was made.
func (w *work) attributes(level int) (json.RawMessage, error) {
	note, err := json.Marshal(struct {
		Of      string  `json:"of"`
		Level   int     `json:"level"`
		Method  Method  `json:"method"`
		Factors []int64 `json:"factors"`
	}{w.layout.name, level, w.Method, w.Block})
	if err != nil {
		return nil, err
	}
	raw, err := w.meaning(w.present.Doc.Attributes)
	if err == nil {
		raw, err = metadata.UnsetAttribute(raw, own.Growth)
	}
	if err != nil {
		return nil, err
	}
	return metadata.SetAttribute(raw, own.Pyramid, note)
}

// removeAbove deletes the levels after the given one.
func (w *work) removeAbove(ctx context.Context, level int) error {
	last := level
	for last < MaxLevels {
		home, err := w.find(ctx, w.layout.home(last+1))
		if err != nil && !errors.Is(err, errForeign) {
			return err
		}
		if home == nil {
			break
		}
		last++
	}
	// The lowest goes last: as long as it is there, the next call finds the others.
	for ; last > level; last-- {
		if err := w.removeLevel(ctx, last); err != nil {
			return err
		}
	}
	if level > 0 {
		return nil
	}
	return w.removeFolder(ctx)
}

// removeFolder deletes the group that has held the levels, if nothing is left in it.
func (w *work) removeFolder(ctx context.Context) error {
	name := path.Dir(w.layout.home(1))
	if name == "." {
		return nil // the levels lie beside the image
	}
	home, err := w.find(ctx, name)
	g, ok := home.(*zarr.Group)
	if errors.Is(err, errForeign) || err == nil && !ok {
		return nil
	}
	if err != nil {
		return err
	}
	// Another program may have described it.
	rest, err := metadata.UnsetAttribute(g.Attributes(), own.Pyramid)
	if err != nil || string(attributes.Compact(rest)) != "{}" {
		return err
	}
	for _, err := range g.Unconsolidated().Members(ctx, false) {
		return err // it has one, or that is not known
	}
	return w.group.At(name).Delete(ctx, w.options())
}

// removeLevel deletes a level, and its group unless that has members of others, such as
// coordinates.
func (w *work) removeLevel(ctx context.Context, level int) error {
	home, err := w.find(ctx, w.layout.home(level))
	if err != nil {
		return err
	}
	if g, ok := home.(*zarr.Group); ok {
		// Also if the layout has become that of an image, which has no groups.
		apart := w.layout
		apart.image = false
		switch n, err := w.find(ctx, apart.path(level)); {
		case errors.Is(err, errForeign):
		case err != nil:
			return err
		case n != nil:
			if err := w.group.At(apart.path(level)).Delete(ctx, w.options()); err != nil {
				return err
			}
		}
		for m, err := range g.Unconsolidated().Members(ctx, false) {
			if err == nil && w.layout.image {
				err = fmt.Errorf("%s: the level takes the place of this group, which has a node of others, %q: move that elsewhere: %w", w.group.At(w.layout.home(level)), m.Path, fs.ErrExist)
			}
			return err // it has one, or that is not known
		}
	}
	return w.group.At(w.layout.home(level)).Delete(ctx, w.options())
}
