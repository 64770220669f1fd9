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

// A drawing must appear quickly, whatever the array holds. Stored chunks are therefore
// shaded only if finding them is cheap.
const (
	fewChunks = 4096                   // chunks of an array that is always listed fully,
	fewTime   = 200 * time.Millisecond // unless the store takes longer than this
	listTime  = 25 * time.Millisecond  // time for listing more chunks
	listMost  = 1 << 15                // most chunks in a list
	probeMost = 512                    // most chunks that are looked up singly, without a list
	sampled   = 512                    // chunks that are kept of an incomplete list
)

var errTooMany = errors.New("too many chunks to count them for a drawing")

// shading finds the stored chunks of a drawing.
type shading struct {
	Context  context.Context
	Of       *Grid
	all      [][]int64 // stored chunks: all, sorted by their first index, if listed; else a sample
	listed   bool
	Asked    int64 // chunks that were looked up singly
	Deadline time.Time
}

// Stored returns a function that counts the stored chunks in a box. The function
// returns -1 if counting would take too long. Stored returns nil if chunks cannot be
// counted.
func (d *Grid) Stored(cmd *cobra.Command) (func(grid.Box) int64, error) {
	n, ok := d.Chunks.NumChunks()
	if d.Each == nil || ok && n == 0 {
		return nil, nil
	}
	s := &shading{Context: cmd.Context(), Of: d}
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
	return s.probe, nil
}

// list lists stored chunks until all are found or the time limit expires.
func (s *shading) list(limit time.Duration) error {
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

// first returns the index along the first axis, or 0 if there are no axes.
func first(index []int64) int64 {
	if len(index) == 0 {
		return 0
	}
	return index[0]
}

// among counts the listed chunks in a box.
func (s *shading) among(chunks grid.Box) (n int64) {
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

// probe looks up each chunk of a box if they are few. Otherwise it returns 1 if the
// sample contains a chunk of the box. It returns -1 if the number is unknown.
func (s *shading) probe(chunks grid.Box) (n int64) {
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
