// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/serve/internal/plain"
	"varve.dev/zarr/serve/internal/reply"
	"varve.dev/zarr/store"
)

// views are the views of all nodes, at /@VIEW/NAME.
type views struct {
	cache *plain.Cache
	mu    sync.Mutex
	held  map[string]*view // by settings and name

	pinned int // of those held
}

// mostViews bounds the views that are held whose settings may be any of many. None that
// has shown an array is forgotten, because its elements must keep their indices. The
// others are few, so nobody can keep them from other clients.
const mostViews = 1000

// view is a view of a node. Each generation shows it as it was when the one before could
// no longer do so.
type view struct {
	key      string // in views
	users    int    // requests
	name     string
	settings plain.Settings
	node     *served
	cache    *plain.Cache

	mu          sync.Mutex
	generations []*generation // the first one, and the last few
}

// generation is a view between two changes that have given elements other indices.
type generation struct {
	id   string // "" for the first one
	view *plain.View
	served
}

// keptGenerations is how many generations a view keeps besides the first one.
const keptGenerations = 8

// serveView answers a request for /@VIEW/NAME/REST.
func (h *Handler) serveView(w http.ResponseWriter, r *http.Request, options, path string) error {
	settings, others, err := plain.ParseSettings(options)
	at := others["at"]
	delete(others, "at")
	for option := range others {
		if strings.Contains(option, ":") {
			err = errors.Join(err, errors.New("dimensions are joined by +, such as coarsen=lat:8+lon:8"))
		}
		err = errors.Join(err, fmt.Errorf("views have no option %q: they have chunks, codec, coarsen, method and at", option))
	}
	if err != nil {
		reply.Refuse(w, http.StatusBadRequest, err.Error())
		return nil
	}
	name, rest, below := strings.Cut(path, "/")
	switch n := h.nodes[name]; {
	case name == "" && !below:
		h.listNodes(w, r, "")
		return nil
	case n == nil:
		reply.Refuse(w, http.StatusNotFound, "no node of this name is served: / lists those that are")
		return nil
	case !below:
		redirectToDirectory(w, r)
		return nil
	default:
		v := h.views.get(settings, name, n)
		if v == nil {
			reply.Refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("the server holds %s: ask for one of them, or start it again", quantity.Count(mostViews, "views")))
			return nil
		}
		defer h.views.put(v)
		return v.serve(w, r, at, rest)
	}
}

// get returns the view of a node, or nil if there are too many. The caller gives it back
// with put.
func (s *views) get(settings plain.Settings, name string, node *served) *view {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := settings.String() + "/" + name
	v := s.held[key]
	if v == nil {
		if settings.IsPinned() {
			if s.pinned >= mostViews {
				return nil
			}
			s.pinned++
		}
		v = &view{key: key, name: name, settings: settings, node: node, cache: s.cache}
		v.generations = []*generation{v.generation("")}
		s.held[key] = v
	}
	v.users++
	return v
}

// put ends the use of a view by a request. One that has shown nothing is forgotten.
func (s *views) put(v *view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v.users--; v.users == 0 && v.last().view.IsEmpty() && v.last().id == "" {
		delete(s.held, v.key)
		if v.settings.IsPinned() {
			s.pinned--
		}
	}
}

// generation returns a view of the node as it is now.
func (v *view) generation(id string) *generation {
	g := &generation{id: id, view: plain.New(v.node.location, v.settings, v.cache)}
	g.served = served{store: g.view, Bounds: &plain.Bounds{Directories: store.DirectoriesOf(g.view)}, near: true, timeline: v.node.timeline}
	g.successor = func(ctx context.Context) string { return v.successor(ctx, g) }
	return g
}

// serve answers a request for a path below the node.
func (v *view) serve(w http.ResponseWriter, r *http.Request, at, path string) error {
	g := v.find(at)
	if g == nil {
		gone(w, "there is no such state of the view", v.address(v.last()))
		return nil
	}
	return g.served.serve(w, r, path)
}

// find returns the generation with an ID, or nil.
func (v *view) find(id string) *generation {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, g := range v.generations {
		if g.id == id {
			return g
		}
	}
	return nil
}

// last returns the newest generation.
func (v *view) last() *generation {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.generations[len(v.generations)-1]
}

// successor returns the address of the state of the view that follows a generation, ""
// if the generation is still whole.
func (v *view) successor(ctx context.Context, g *generation) string {
	if !g.view.Moved() {
		return ""
	}
	v.last().view.Look(ctx) // it may have ended, too
	v.mu.Lock()
	defer v.mu.Unlock()
	if last := v.generations[len(v.generations)-1]; last.view.Moved() {
		v.generations = append(v.generations, v.generation(strings.ToLower(rand.Text()[:12])))
		if len(v.generations) > keptGenerations+1 {
			v.generations[1].view.Close()
			v.generations = slices.Delete(v.generations, 1, 2)
		}
	}
	return v.address(v.generations[len(v.generations)-1])
}

// present returns a generation that has not ended, as far as is known.
func (v *view) present(ctx context.Context) *plain.View {
	g := v.last()
	if v.successor(ctx, g) != "" {
		g = v.last()
	}
	return g.view
}

// address returns the address of a generation on this server.
func (v *view) address(g *generation) string {
	text := v.settings.String()
	if g.id != "" {
		text += ",at=" + g.id
	}
	return (&url.URL{Path: "/@" + text + "/" + v.name + "/"}).String()
}

// gone answers a request for what a view no longer shows.
func gone(w http.ResponseWriter, detail, successor string) {
	p := reply.Problem{Status: http.StatusGone, Detail: detail, Successor: successor}
	if successor != "" {
		w.Header().Set("Link", "<"+successor+`>; rel="successor-version"`)
		p.Detail += ": open " + successor
	}
	p.Write(w)
}
