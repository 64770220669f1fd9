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
	"varve.dev/zarr/serve/internal/plain"
	"varve.dev/zarr/serve/internal/reply"
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
	listeners map[*listener]bool // whether it has the state
	known     map[string]Event   // the state of each array
	stop      context.CancelFunc
	ready     chan struct{} // closed when known is complete
}

// listener is somebody who listens. A channel with room for all events would take memory
// for each of many that wait.
type listener struct {
	waiting []Event       // under the mutex of the watcher
	news    chan struct{} // has an element if events wait; closed for a slow reader
}

// add adds an event. The mutex of the watcher is held.
func (l *listener) add(e ...Event) {
	l.waiting = append(l.waiting, e...)
	select {
	case l.news <- struct{}{}:
	default: // it knows
	}
}

// listen returns a listener, whose channel is closed if its reader is too slow. Its first
// result is the state of each array.
func (w *watcher) listen(ctx context.Context) ([]Event, *listener, error) {
	w.mu.Lock()
	if len(w.listeners) >= mostListeners {
		w.mu.Unlock()
		return nil, nil, errTooManyListeners
	}
	if w.listeners == nil {
		w.listeners = map[*listener]bool{}
	}
	if w.stop == nil {
		work, stop := context.WithCancel(context.WithoutCancel(ctx))
		w.stop, w.ready, w.known = stop, make(chan struct{}), map[string]Event{}
		go w.run(work, w.ready)
	}
	l := &listener{news: make(chan struct{}, 1)}
	ready := w.ready
	w.listeners[l] = false // not yet
	w.mu.Unlock()
	select {
	case <-ready:
	case <-ctx.Done():
		w.leave(l)
		return nil, nil, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	present := make([]Event, 0, len(w.known))
	for _, path := range slices.Sorted(maps.Keys(w.known)) {
		is := w.known[path]
		is.Kind, is.Before = "present", nil
		present = append(present, is)
	}
	w.listeners[l] = true
	return present, l, nil
}

// take returns the events that wait.
func (w *watcher) take(l *listener) []Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	events := l.waiting
	l.waiting = nil
	return events
}

var errTooManyListeners = errors.New("too many clients listen to this node")

// leave ends a listener. With the last one, the watching ends.
func (w *watcher) leave(l *listener) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.listeners, l)
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
	if w.known[e.Path] = e; e.ends() {
		delete(w.known, e.Path)
	}
	for l, begun := range w.listeners {
		switch {
		case !begun: // it gets the state
		case len(l.waiting) >= waitingEvents: // the client connects again, and gets the state
			delete(w.listeners, l)
			close(l.news)
		default:
			l.add(e)
		}
	}
}

// ends reports whether an array is not watched after the event. If another one is there,
// it is found as a new one.
func (e Event) ends() bool { return e.Kind == "deleted" || e.Kind == "replaced" }

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
				if w.tell(ctx, e); e.ends() {
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
	found := func(path string, n zarr.Node) (more bool) {
		if a, ok := n.(*zarr.Array); ok && arrays[path] == nil && len(arrays) < watchedArrays {
			one := &watched{path: path, array: a, state: a.Core().State()}
			arrays[path] = one
			w.tell(ctx, one.event("created"))
		}
		return len(arrays) < watchedArrays
	}
	if len(arrays) >= watchedArrays {
		return
	}
	node, err := w.node.Open(ctx, nil)
	if err != nil {
		return
	}
	found("", node)
	if g, ok := node.(*zarr.Group); ok {
		for m, err := range plain.Members(ctx, g, true) {
			if err == nil && m.Err == nil && !found(m.Path, m.Node) {
				return // members are opened on the way
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
		reply.Refuse(w, http.StatusNotFound, "no node of this name is served: events are those of a whole node, at /@events/NAME")
		return nil
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "text/event-stream")
		return nil
	}
	events, l, err := n.watcher.listen(r.Context())
	if err != nil {
		reply.Refuse(w, http.StatusServiceUnavailable, err.Error())
		return nil
	}
	defer n.watcher.leave(l)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would keep events back
	stream := http.NewResponseController(w)
	beats := time.NewTicker(beatInterval)
	defer beats.Stop()
	for {
		for _, e := range events {
			data, err := json.Marshal(e)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.Kind, data); err != nil {
				return nil // the client has gone
			}
		}
		if stream.Flush() != nil {
			return nil
		}
		events = nil
		select {
		case _, open := <-l.news:
			if !open {
				return nil
			}
			events = n.watcher.take(l)
		case <-beats.C:
			if _, err := fmt.Fprint(w, ":\n\n"); err != nil {
				return nil
			}
		case <-r.Context().Done():
			return nil
		}
	}
}
