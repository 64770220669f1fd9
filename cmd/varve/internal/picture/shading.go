// SPDX-License-Identifier: Apache-2.0

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
	"varve.dev/zarr/grid"
)

// A drawing has to be there at once, whatever an array holds: stored chunks are shaded
// where it is cheap to know them.
const (
	fewChunks = 4096                   // of an array, for which there is always time
	fewTime   = 200 * time.Millisecond // unless something is wrong with the store
	listTime  = 25 * time.Millisecond  // for a list of more
	listMost  = 1 << 15                // chunks in a list
	probeMost = 512                    // chunks that are asked for singly, where there is no list
	sampled   = 512                    // chunks of a list that is not whole, which tell of the rest
)

var errTooMany = errors.New("too many chunks to count them for a drawing")

// Shading finds out which chunks of a drawing are stored.
type Shading struct {
	Context  context.Context
	Of       *Grid
	all      [][]int64 // the stored chunks by their first index if listed, else some of them
	listed   bool
	Asked    int64 // chunks, one by one
	Deadline time.Time
}

// Stored returns what counts the stored chunks of a box: fewer than none where that takes
// too long. It is nil where they cannot be known.
func (d *Grid) Stored(cmd *cobra.Command) (func(grid.Box) int64, error) {
	n, ok := d.Chunks.NumChunks()
	if d.Each == nil || ok && n == 0 {
		return nil, nil
	}
	s := &Shading{Context: cmd.Context(), Of: d}
	limit := listTime
	if ok && n <= fewChunks {
		limit = fewTime
	}
	if err := s.list(limit); err != nil {
		return nil, err
	}
	if s.listed {
		return s.among, nil
	}
	s.Deadline = time.Now().Add(fewTime)
	return s.Probe, nil
}

// list looks for all stored chunks, as far as it gets in some time.
func (s *Shading) list(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(s.Context, limit)
	defer cancel()
	var flat []int64
	err := s.Of.Each(ctx, func(index []int64) error {
		if len(s.all) == listMost {
			return errTooMany
		}
		from := len(flat)
		flat = append(flat, index...)
		s.all = append(s.all, flat[from:len(flat):len(flat)])
		return nil
	})
	switch {
	case err == nil:
		slices.SortFunc(s.all, func(a, b []int64) int { return cmp.Compare(first(a), first(b)) })
		s.listed = true
	case s.Context.Err() == nil && (errors.Is(err, errTooMany) || errors.Is(err, context.DeadlineExceeded)):
		s.all = s.all[:min(sampled, len(s.all))]
		return nil
	}
	return err
}

// first returns the index along the first axis, 0 where there is none.
func first(index []int64) int64 {
	if len(index) == 0 {
		return 0
	}
	return index[0]
}

// among counts the listed chunks in a box.
func (s *Shading) among(chunks grid.Box) (n int64) {
	all := s.all
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

// Probe asks for each chunk of a box, if they are not too many, and else for one that is
// known. Nothing is said of what cannot be looked at.
func (s *Shading) Probe(chunks grid.Box) (n int64) {
	all, ok := chunks.Len()
	if s.Of.Array == nil || !ok || all > probeMost-s.Asked {
		if slices.ContainsFunc(s.all, chunks.Contains) {
			return 1
		}
		return -1
	}
	s.Asked += all
	ctx, cancel := context.WithDeadline(s.Context, s.Deadline)
	defer cancel()
	for index := range chunks.IndicesInto(make([]int64, len(chunks))) {
		switch _, err := s.Of.Array.ChunkInfo(ctx, index); {
		case err == nil:
			n++
		case !errors.Is(err, fs.ErrNotExist):
			return -1
		}
	}
	return n
}
