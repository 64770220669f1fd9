// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"sort"
	"sync"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/serve/internal/plain"
)

// The names of the two documents with which the viewer GridLook follows a data set that
// grows (docs/live-datasets.md of its repository): beside the documents of a node, and
// {"timestep": N} in both. The second one is answered when there is another step.
const (
	currentTimestep = "current-timestep"
	nextTimestep    = "next-timestep"
)

// longestWait is how long a client waits for the next step. It then gets the present one,
// and asks again.
const longestWait = 5 * time.Minute

// timeline knows the newest time step of a node.
type timeline struct {
	node     *zarr.Location
	interval time.Duration // between two looks

	mu     sync.Mutex
	looked time.Time
	step   int64
	err    error
}

// newest returns the index of the last time step whose chunks are stored.
func (t *timeline) newest(ctx context.Context) (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); now.Sub(t.looked) >= t.interval {
		t.step, t.err = t.look(ctx)
		if t.looked = now; ctx.Err() != nil {
			t.looked = time.Time{}
		}
	}
	return t.step, t.err
}

// look finds the newest step: of the variables along the dimension time, or along the
// first axis of an array without it, the one that has the fewest.
func (t *timeline) look(ctx context.Context) (int64, error) {
	node, err := t.node.Open(ctx, nil)
	if err != nil {
		return 0, err
	}
	step, along := int64(-1), 0 // the rank of the variables found so far
	consider := func(a *zarr.Array) error {
		axis := max(0, slices.Index(a.DimensionNames(), "time"))
		// Coordinates are often complete before the variables are.
		if a.Rank() == 0 || min(a.Rank(), 2) < along {
			return nil
		}
		n, err := storedAlong(ctx, a, axis)
		if err != nil {
			return err
		}
		if min(a.Rank(), 2) > along || n-1 < step {
			step, along = n-1, min(a.Rank(), 2)
		}
		return nil
	}
	switch node := node.(type) {
	case *zarr.Array:
		err = consider(node)
	case *zarr.Group:
		seen := 0
		for m, memberErr := range node.Members(ctx, true) {
			if plain.IsWithheld(m, memberErr) {
				continue
			}
			if memberErr != nil {
				return 0, memberErr
			}
			a, ok := m.Node.(*zarr.Array)
			if !ok || !slices.Contains(a.DimensionNames(), "time") {
				continue
			}
			if seen++; seen > watchedArrays {
				break
			}
			if err = consider(a); err != nil {
				return 0, err
			}
		}
	}
	if err == nil && step < 0 {
		err = fmt.Errorf("no time step is stored: %w", fs.ErrNotExist)
	}
	return step, err
}

// storedAlong returns the number of elements along an axis up to the end of its last
// stored chunk. It looks at the chunks that are first along all other axes. Of these,
// those before a stored one are stored.
func storedAlong(ctx context.Context, a *zarr.Array, axis int) (int64, error) {
	g := a.Grid()
	index := make([]int64, a.Rank())
	var failed error
	// The number of stored chunks is the first index that is not.
	n := sort.Search(int(g.Chunks()[axis]), func(k int) bool {
		index[axis] = int64(k)
		_, err := a.ChunkInfo(ctx, index)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = err
		}
		return err != nil
	})
	if n == 0 || failed != nil {
		return 0, failed
	}
	c, _ := g.Axis(axis).Cell(int64(n - 1))
	return min(c.Start+c.Encoded, a.Shape()[axis]), nil
}

// serveTimestep answers with the newest time step, or when there is the next one.
func (s *served) serveTimestep(w http.ResponseWriter, r *http.Request, next bool) error {
	ctx := r.Context()
	step, err := s.timeline.newest(ctx)
	if next && r.Method == http.MethodGet {
		ticks := time.NewTicker(s.timeline.interval)
		defer ticks.Stop()
		for was, end := step, time.Now().Add(longestWait); (err != nil || step <= was) && time.Now().Before(end); {
			select {
			case <-ticks.C:
			case <-ctx.Done():
				return nil
			}
			if err != nil {
				was = -1 // there was none
			}
			step, err = s.timeline.newest(ctx)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				break
			}
		}
	}
	if err != nil {
		return s.answer(w, r, err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(map[string]int64{"timestep": step}) // the client may have gone
	return nil
}
