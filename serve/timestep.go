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
	"varve.dev/zarr/grid"
	"varve.dev/zarr/serve/internal/plain"
	"varve.dev/zarr/serve/internal/reply"
	"varve.dev/zarr/store"
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

// longestLook is how long the store may take for one look at all arrays.
const longestLook = 30 * time.Second

// timeline knows the newest time step of a node. All requests share one look.
type timeline struct {
	node     *zarr.Location
	interval time.Duration // between two looks

	mu      sync.Mutex
	looking *looking
	last    *looking  // the last one that has ended
	rested  time.Time // when the next look may begin
}

// looking is a look at a node.
type looking struct {
	ctx     context.Context
	cancel  context.CancelFunc
	waiters int           // under the mutex of the timeline
	done    chan struct{} // closed when step and err are there
	step    int64
	err     error
}

// newest returns the index of the last time step that has a stored chunk.
func (t *timeline) newest(ctx context.Context) (int64, error) {
	t.mu.Lock()
	if t.last != nil && time.Now().Before(t.rested) {
		defer t.mu.Unlock()
		return t.last.step, t.last.err
	}
	l := t.looking
	if l == nil {
		l = &looking{done: make(chan struct{})}
		l.ctx, l.cancel = context.WithTimeout(context.WithoutCancel(ctx), longestLook)
		t.looking = l
		go t.run(l)
	}
	l.waiters++
	t.mu.Unlock()
	select {
	case <-l.done:
		return l.step, l.err
	case <-ctx.Done():
		t.leave(l)
		return 0, ctx.Err()
	case <-l.ctx.Done(): // also for a store that does not notice
	}
	select {
	case <-l.done:
		return l.step, l.err
	default:
		return 0, l.ctx.Err()
	}
}

// leave ends a look that nobody waits for any more.
func (t *timeline) leave(l *looking) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.waiters--; l.waiters == 0 && t.looking == l {
		l.cancel()
		t.looking = nil
	}
}

// run looks. The next look comes after as long a time, so that a large node does not keep
// the store busy.
func (t *timeline) run(l *looking) {
	begun := time.Now()
	l.step, l.err = t.look(l.ctx)
	t.mu.Lock()
	if t.looking == l {
		t.looking, t.last = nil, l
		t.rested = time.Now().Add(max(t.interval, time.Since(begun)))
	}
	t.mu.Unlock()
	close(l.done)
	l.cancel()
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
		for m, memberErr := range plain.Members(ctx, node, true) {
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
		err = fmt.Errorf("there is no time step: %w", fs.ErrNotExist)
	}
	return step, err
}

// mostStored bounds the stored chunks of an array that a look lists.
const mostStored = 100_000

// storedAlong returns the number of elements along an axis up to the end of the last
// chunk that is stored anywhere. It is the length of the axis if nothing is stored, such
// as in an array of fill values, and if too much is.
func storedAlong(ctx context.Context, a *zarr.Array, axis int) (int64, error) {
	last, seen := int64(-1), 0
	chunks := a.Core().State()
	for index, err := range chunks.Engine.Listed(ctx, grid.BoxOf(chunks.Grid.Chunks())) {
		if errors.Is(err, store.ErrUnsupported) {
			last, err = lastInCorner(ctx, a, axis)
			if err == nil {
				break
			}
		}
		if err != nil {
			return 0, err
		}
		last = max(last, index[axis])
		if seen++; seen > mostStored {
			last = -1
			break
		}
	}
	n := chunks.Grid.Shape()[axis]
	if last < 0 {
		return n, nil
	}
	c, _ := chunks.Grid.Axis(axis).Cell(last)
	return min(c.Start+c.Encoded, n), nil
}

// lastInCorner returns the index along an axis of the last stored chunk of those that are
// first along all other axes, -1 if there is none, for a store that cannot list. It takes
// for granted that of these, all before a stored one are stored.
func lastInCorner(ctx context.Context, a *zarr.Array, axis int) (int64, error) {
	index := make([]int64, a.Rank())
	var failed error
	// The number of stored chunks is the first index that is not.
	n := sort.Search(int(a.Grid().Chunks()[axis]), func(k int) bool {
		index[axis] = int64(k)
		_, err := a.ChunkInfo(ctx, index)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = err
		}
		return err != nil
	})
	return int64(n) - 1, failed
}

// serveTimestep answers with the newest time step, or when there is the next one.
func (s *served) serveTimestep(w http.ResponseWriter, r *http.Request, next bool) error {
	ctx := r.Context()
	step, err := s.timeline.newest(ctx)
	if next && r.Method == http.MethodGet {
		ticks := time.NewTicker(s.timeline.interval)
		defer ticks.Stop()
		for was, end := step, time.Now().Add(longestWait); (err != nil || step == was) && time.Now().Before(end); {
			select {
			case <-ticks.C:
			case <-ctx.Done():
				reply.Refuse(w, http.StatusServiceUnavailable, "the server ends: ask it again later")
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
