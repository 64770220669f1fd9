package rewrite

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

// errUntrimmed refuses to copy chunks of which some are put aside, to where nobody looks
// aside.
var errUntrimmed = fmt.Errorf("%w: a trim was not finished; whoever opens the array for writing finishes it", zarr.ErrConflict)

// asides yields the keys, below the array, under which a trim that was not finished may
// have put chunks aside. It is for stores that cannot be listed. A trim makes the last
// chunks along listed axes end at the extent, so these are asked for, and no others.
func asides(ctx context.Context, a *zarr.Array) iter.Seq2[string, error] {
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
			// There may be very many before the next one that is asked for.
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

// lastTrimmed returns the number of the last chunk of every axis where a trim may have
// made it shorter, -1 elsewhere; nil where that is so along no axis.
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

// notAside refuses an array whose chunks are partly put aside, where readers of format 2
// do not look. The array of a store that cannot be listed is opened to know the keys.
func notAside(ctx context.Context, s store.Store, p store.Path, open func() (*zarr.Array, error)) error {
	for _, deep := range [...]bool{false, true} { // few arrays have such a directory
		found := false
		for e, err := range store.List(ctx, s, p, deep) {
			if errors.Is(err, store.ErrUnsupported) {
				a, err := open()
				if err != nil {
					return err
				}
				return noneAside(ctx, s, p, a)
			}
			if err != nil {
				return err
			}
			if _, isOwn := kept(e.Name); isOwn && isData(e.Name) {
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

// askedAtOnce is how many keys are asked for at one time.
const askedAtOnce = 16

// noneAside is notAside of an array in a store that cannot be listed.
func noneAside(ctx context.Context, s store.Store, p store.Path, a *zarr.Array) error {
	g, each := parallel.New(ctx)
	g.SetLimit(askedAtOnce)
	var failed error
	for name, err := range asides(each, a) {
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
