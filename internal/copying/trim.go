// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/store"
)

// errUntrimmed refuses chunks that an unfinished trim has set aside. Readers of the new
// format would not look there.
var errUntrimmed = fmt.Errorf("%w: a trim was not finished; opening the array for writing finishes it", zarr.ErrConflict)

// CheckTrimmed refuses an array of a hierarchy with chunks that are set aside. If the
// store cannot be listed, it opens the array to find the possible keys.
func CheckTrimmed(ctx context.Context, hierarchy *zarr.Location, p store.Path, o *zarr.Options) error {
	s := hierarchy.Store()
	for _, how := range [...]store.Listing{store.Flat, store.Deep} { // a flat listing shows that most arrays have no such directory
		found := false
		for e, err := range store.List(ctx, s, p, how) {
			if errors.Is(err, store.ErrUnsupported) {
				a, err := hierarchy.At(p.String()).OpenArray(ctx, o)
				if err != nil {
					return err
				}
				return noneAside(ctx, s, p, a)
			}
			if err != nil {
				return err
			}
			// Among the records of Varve, only chunks that are set aside are data.
			if _, isOwn := Record(e.Name); isOwn && IsData(e.Name) {
				return errUntrimmed
			}
			found = found || e.Dir && e.Name == own.Dir
		}
		if !found {
			return nil
		}
	}
	return nil
}

// noneAside is CheckTrimmed for a store that cannot be listed.
func noneAside(ctx context.Context, s store.Store, p store.Path, a *zarr.Array) error {
	g, each := parallel.New(ctx)
	g.SetLimit(askedAtOnce)
	var failed error
	for name, err := range Asides(each, a) {
		if err != nil || each.Err() != nil {
			failed = err
			break
		}
		g.Go(func() error {
			found, err := store.Exists(each, s, p.MustKey(name))
			if found {
				err = errUntrimmed
			}
			return err
		})
	}
	return g.Wait(failed)
}

// askedAtOnce is the number of concurrent requests.
const askedAtOnce = 16

// Asides yields the keys, relative to the array, under which an unfinished trim may have
// set chunks aside, for stores that cannot be listed. A trim shortens only the last
// chunks along listed axes, so Asides yields no others.
func Asides(ctx context.Context, a *zarr.Array) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		ends := lastTrimmed(a.Grid())
		if ends == nil {
			return
		}
		p, err := store.ParsePath(a.Path())
		if err != nil {
			yield("", err)
			return
		}
		for chunk := range a.Chunks() {
			// Check here too: there may be very many chunks between two that
			// are yielded.
			if err := ctx.Err(); err != nil {
				yield("", err)
				return
			}
			if !isLast(chunk.Index, ends) {
				continue
			}
			key, err := store.ParseKey(chunk.Key)
			if !yield(engine.AsideName(chunk.Encoded, p.Rel(key)), err) || err != nil {
				return
			}
		}
	}
}

// lastTrimmed returns the index of the last chunk of every axis along which a trim may
// have shortened it, and -1 for the others. It returns nil if there is no such axis.
func lastTrimmed(g *grid.Grid) (ends []int64) {
	found := false
	for i := range g.Rank() {
		a, end := g.Axis(i), int64(-1)
		last, ok := a.Cell(a.Chunks() - 1)
		if ok && !a.IsRegular() && !last.IsBoundary() {
			end, found = last.Index, true
		}
		ends = append(ends, end)
	}
	if !found {
		return nil
	}
	return ends
}

func isLast(index, ends []int64) bool {
	for i, end := range ends {
		if index[i] == end {
			return true
		}
	}
	return false
}
