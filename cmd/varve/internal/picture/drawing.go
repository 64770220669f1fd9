// SPDX-License-Identifier: Apache-2.0

// Package picture prepares drawings of chunk grids. It finds stored chunks and the
// names of times.
package picture

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"sort"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/consolidated"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/grid"
)

// Grid is a grid to draw, with what is known about its chunks.
type Grid struct {
	Title  string
	Chunks *grid.Grid
	Inner  *grid.Grid                                                     // nil if chunks are not shards
	Array  *zarr.Array                                                    // nil if there is no array, or it cannot be opened
	Each   func(ctx context.Context, use func(index []int64) error) error // visits the stored chunks; nil if they are unknown
	Names  []string
	Axes   []int // axes to draw
}

// OfArray returns the grid of an array.
func OfArray(title string, a *zarr.Array) *Grid {
	each := func(ctx context.Context, use func([]int64) error) error {
		for index, err := range a.StoredChunks(ctx) {
			if err := cmp.Or(err, use(index)); err != nil {
				return err
			}
		}
		return nil
	}
	d := &Grid{Title: title, Chunks: a.Grid(), Array: a, Each: each, Names: a.DimensionNames()}
	if n := a.Inner(); n != nil {
		d.Inner, _ = n.Grid() // nil if there are too many lists to draw
	}
	return d
}

// OfDocument returns the grid of an array that cannot be opened because of reason.
func OfDocument(cmd *cobra.Command, location string, reason error) (*Grid, error) {
	if !consolidated.Undecodable(reason) {
		return nil, reason
	}
	doc := facts.ReadDocument(cmd.Context(), location, session.Permitted(cmd))
	if doc == nil || doc.Grid == nil {
		return nil, reason
	}
	d := &Grid{Title: location, Chunks: doc.Grid, Inner: doc.Inner}
	for _, name := range doc.DimensionNames {
		if name == nil {
			name = new(string)
		}
		d.Names = append(d.Names, *name)
	}
	if doc.Counted {
		d.Each = func(ctx context.Context, use func([]int64) error) error {
			// Stored takes a function without an error. Cancelling is the way to stop it.
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			err := doc.Stored(ctx, func(index []int64, _ int64) {
				if err := use(index); err != nil {
					cancel(err)
				}
			})
			return cmp.Or(context.Cause(ctx), err)
		}
	}
	return d, nil
}

// ParseAxes parses one or two different axes. The empty text has none.
func ParseAxes(text string) ([]string, error) {
	axes, err := argument.ParseAxes(text)
	if err == nil && (len(axes) > 2 || len(axes) == 2 && axes[0] == axes[1]) {
		err = errors.New("give one or two different axes, as numbers from 0 or names of dimensions")
	}
	return axes, err
}

// Bounds of the search for stored chunks, because a drawing must appear at once.
const (
	fewChunks = 4096                   // an array of up to so many is always listed
	fewTime   = 200 * time.Millisecond // bound for that, in case the store is slow
	listTime  = 25 * time.Millisecond  // bound for listing more chunks
	listMost  = 1 << 15                // most chunks in a list
	probeMost = 512                    // most chunks that are requested one by one, without a list
	sampled   = 512                    // chunks that are kept from an incomplete list, as a sample
)

var errTooMany = errors.New("too many chunks to count them for a drawing")

// shading determines which chunks of a drawing are stored.
type shading struct {
	Context  context.Context
	Grid     *Grid
	chunks   [][]int64 // the stored chunks, sorted by first index, if listed; else a sample
	listed   bool
	Asked    int64 // chunks requested one by one
	Deadline time.Time
}

// Stored returns a function that counts the stored chunks of a box. It returns a negative
// number if that takes too long. The function is nil if the chunks are unknown.
func (d *Grid) Stored(cmd *cobra.Command) (func(grid.Box) int64, error) {
	n, ok := d.Chunks.NumChunks()
	if d.Each == nil || ok && n == 0 {
		return nil, nil
	}
	s := &shading{Context: cmd.Context(), Grid: d}
	limit := listTime
	if ok && n <= fewChunks {
		limit = fewTime
	}
	if err := s.list(limit); err != nil {
		return nil, err
	}
	if s.listed {
		return s.count, nil
	}
	s.Deadline = time.Now().Add(fewTime)
	return s.probe, nil
}

// list lists the stored chunks until the time is over.
func (s *shading) list(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(s.Context, limit)
	defer cancel()
	var flat []int64
	err := s.Grid.Each(ctx, func(index []int64) error {
		if len(s.chunks) == listMost {
			return errTooMany
		}
		from := len(flat)
		// One slice has all indices, because thousands of small ones would cost more than
		// the listing. Indices from before it grew keep the old memory.
		flat = append(flat, index...)
		s.chunks = append(s.chunks, flat[from:len(flat):len(flat)])
		return nil
	})
	switch {
	case err == nil:
		sort.Slice(s.chunks, func(i, j int) bool { return firstIndex(s.chunks[i]) < firstIndex(s.chunks[j]) })
		s.listed = true
	// The time is over, but not for the command. Keep a sample.
	case s.Context.Err() == nil && (errors.Is(err, errTooMany) || errors.Is(err, context.DeadlineExceeded)):
		s.chunks = s.chunks[:min(sampled, len(s.chunks))]
		return nil
	}
	return err
}

// firstIndex returns the index along the first axis, or 0 if there is none.
func firstIndex(index []int64) int64 {
	if len(index) == 0 {
		return 0
	}
	return index[0]
}

// count counts the listed chunks in a box.
func (s *shading) count(chunks grid.Box) (n int64) {
	all := s.chunks
	if len(chunks) > 0 {
		all = all[sort.Search(len(all), func(i int) bool { return all[i][0] >= chunks[0].Start }):]
	}
	for _, index := range all {
		if len(chunks) > 0 && index[0] >= chunks[0].Stop {
			break
		}
		if chunks.Contains(index) {
			n++
		}
	}
	return n
}

// probe requests each chunk of a box if there are few enough, or else one known chunk. It
// returns a negative number if it cannot tell.
func (s *shading) probe(chunks grid.Box) (n int64) {
	all, ok := chunks.Len()
	// There are too many to ask for. One known chunk shows that the box is not empty.
	if s.Grid.Array == nil || !ok || all > probeMost-s.Asked {
		if slices.ContainsFunc(s.chunks, chunks.Contains) {
			return 1
		}
		return -1
	}
	s.Asked += all
	ctx, cancel := context.WithDeadline(s.Context, s.Deadline)
	defer cancel()
	for index := range chunks.IndicesInto(make([]int64, len(chunks))) {
		switch _, err := s.Grid.Array.ChunkInfo(ctx, index); {
		case err == nil:
			n++
		case !errors.Is(err, fs.ErrNotExist):
			return -1
		}
	}
	return n
}
