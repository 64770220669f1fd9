// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/snapshot"
)

// Event is what has become of an array, as /@events tells it.
type Event struct {
	// Kind is "present" for each array when a client connects, "grown" or "shrunk" for
	// another shape, "rechunked" for other chunks, "moved" if elements were dropped or
	// inserted, "attributes", "replaced", "deleted", or "created".
	Kind  string  `json:"-"`
	Path  string  `json:"path"` // of the array, relative to the node
	Shape []int64 `json:"shape,omitempty"`
	// Before is the shape that the array had, if it has another one.
	Before []int64 `json:"before,omitempty"`
	Chunks []int64 `json:"chunks,omitempty"` // the number of chunks along each axis
}

// Watching is how documents are watched.
const (
	watchedArrays  = 1000             // of one node, at most
	watchInterval  = time.Second      // the default of the time between two looks
	memberInterval = 30               // looks between two searches for new arrays
	beatInterval   = 15 * time.Second // between signs of life of a quiet stream
	mostListeners  = 1000             // of one node
	waitingEvents  = 256              // for a client that does not read
)

// watcher watches the arrays of a node while somebody listens.
type watcher struct {
	node     *zarr.Location
	interval time.Duration // between two looks at all documents

	mu        sync.Mutex
	listeners map[chan Event]bool
	known     map[string]Event // the state of each array
	stop      context.CancelFunc
	ready     chan struct{} // closed when known is complete
}

// listen returns a channel of events, which is closed if its reader is too slow, and the
// function that ends it. It first gets the state of each array.
func (w *watcher) listen(ctx context.Context) (<-chan Event, func(), error) {
	w.mu.Lock()
	if len(w.listeners) >= mostListeners {
		w.mu.Unlock()
		return nil, nil, errTooManyListeners
	}
	if w.listeners == nil {
		w.listeners = map[chan Event]bool{}
	}
	if w.stop == nil {
		work, stop := context.WithCancel(context.WithoutCancel(ctx))
		w.stop, w.ready, w.known = stop, make(chan struct{}), map[string]Event{}
		go w.run(work, w.ready)
	}
	events := make(chan Event, watchedArrays+waitingEvents)
	ready := w.ready
	w.listeners[events] = false // not yet
	w.mu.Unlock()
	leave := func() { w.leave(events) }
	select {
	case <-ready:
	case <-ctx.Done():
		leave()
		return nil, nil, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(w.known)) {
		is := w.known[path]
		is.Kind = "present"
		events <- is // there is room for all
	}
	w.listeners[events] = true
	return events, leave, nil
}

var errTooManyListeners = errors.New("too many clients listen to this node")

// leave ends a listener. With the last one, the watching ends.
func (w *watcher) leave(events chan Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.listeners, events)
	if len(w.listeners) == 0 && w.stop != nil {
		w.stop()
		w.stop = nil
	}
}

// tell passes an event on.
func (w *watcher) tell(ctx context.Context, e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return // another run may have begun
	}
	if w.known[e.Path] = e; e.Kind == "deleted" {
		delete(w.known, e.Path)
	}
	for events, begun := range w.listeners {
		if !begun {
			continue // it gets the state
		}
		select {
		case events <- e:
		default: // the client connects again, and gets the state
			delete(w.listeners, events)
			close(events)
		}
	}
}

// run watches until ctx ends.
func (w *watcher) run(ctx context.Context, ready chan struct{}) {
	arrays := map[string]*watched{}
	w.search(ctx, arrays)
	close(ready)
	ticks := time.NewTicker(w.interval)
	defer ticks.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		for _, path := range slices.Sorted(maps.Keys(arrays)) {
			if e, changed := arrays[path].look(ctx); changed {
				if w.tell(ctx, e); e.Kind == "deleted" || e.Kind == "replaced" {
					delete(arrays, path)
					n = memberInterval // look for what is there now
				}
			}
		}
		if n >= memberInterval {
			w.search(ctx, arrays)
			n = 0
		}
	}
}

// search finds arrays that are not watched yet. An error of the store leaves them to the
// next search.
func (w *watcher) search(ctx context.Context, arrays map[string]*watched) {
	found := func(path string, n zarr.Node) {
		if a, ok := n.(*zarr.Array); ok && arrays[path] == nil && len(arrays) < watchedArrays {
			one := &watched{path: path, array: a, state: a.Core().State()}
			arrays[path] = one
			w.tell(ctx, one.event("created"))
		}
	}
	node, err := w.node.Open(ctx, nil)
	if err != nil {
		return
	}
	found("", node)
	if g, ok := node.(*zarr.Group); ok {
		for m, err := range g.Members(ctx, true) {
			if err == nil && m.Err == nil {
				found(m.Path, m.Node)
			}
		}
	}
}

// watched is an array that is watched.
type watched struct {
	path  string
	array *zarr.Array
	state *snapshot.Array
}

// event describes the present state.
func (a *watched) event(kind string) Event {
	return Event{Kind: kind, Path: a.path, Shape: a.state.Grid.Shape(), Chunks: a.state.Grid.Chunks()}
}

// look compares the array with what was known of it.
func (a *watched) look(ctx context.Context) (Event, bool) {
	was := a.state
	now, err := a.array.Core().Look(ctx, was)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Event{Kind: "deleted", Path: a.path}, true
	case errors.Is(err, zarr.ErrInvalidMetadata):
		return Event{Kind: "replaced", Path: a.path}, true // by a group, or damaged
	case err != nil || now == was:
		return Event{}, false
	}
	a.state = now
	e := a.event("attributes")
	switch shape := was.Grid.Shape(); {
	case now.Type != was.Type || now.Grid.Rank() != was.Grid.Rank() || string(now.Fill) != string(was.Fill):
		e.Kind, e.Before = "replaced", shape
	case now.Numbering != was.Numbering:
		e.Kind, e.Before = "moved", shape
	case !slices.Equal(e.Shape, shape):
		if e.Kind, e.Before = "grown", shape; isShorter(e.Shape, shape) {
			e.Kind = "shrunk"
		}
	case !now.Grid.Equal(was.Grid) || now.Engine.Keys != was.Engine.Keys || !likeness.SameElements(now.Doc, was.Doc):
		e.Kind = "rechunked"
	case string(now.Doc.Attributes) == string(was.Doc.Attributes):
		return Event{}, false // only written again
	}
	return e, true
}

// isShorter reports whether an axis is shorter than before.
func isShorter(shape, before []int64) bool {
	for i, n := range shape {
		if n < before[i] {
			return true
		}
	}
	return false
}

// serveEvents answers with the events of a node (server-sent events, in the HTML
// standard) until the client goes.
func (h *Handler) serveEvents(w http.ResponseWriter, r *http.Request, path string) error {
	n := h.nodes[strings.TrimSuffix(path, "/")]
	if n == nil {
		refuse(w, http.StatusNotFound, "no node of this name is served")
		return nil
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "text/event-stream")
		return nil
	}
	events, leave, err := n.watcher.listen(r.Context())
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err.Error())
		return nil
	}
	defer leave()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would keep events back
	stream := http.NewResponseController(w)
	beats := time.NewTicker(beatInterval)
	defer beats.Stop()
	for {
		select {
		case e, open := <-events:
			if !open {
				return nil
			}
			data, err := json.Marshal(e)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.Kind, data)
			if err != nil {
				return nil // the client has gone
			}
			if len(events) > 0 {
				continue
			}
		case <-beats.C:
			if _, err := fmt.Fprint(w, ":\n\n"); err != nil {
				return nil
			}
		case <-r.Context().Done():
			return nil
		}
		if stream.Flush() != nil {
			return nil
		}
	}
}
