// SPDX-License-Identifier: Apache-2.0

// Package serve publishes Zarr nodes over HTTP, for reading.
//
// A [Handler] serves the keys of each node as they are stored, at /NAME/KEY: with ranges,
// validators and listings, so that every program that reads Zarr over HTTP can open
// http://ADDRESS/NAME. It answers GET, HEAD, and the questions that browsers ask before
// another page may read (OPTIONS). At /@health it answers that it works.
//
// # Values
//
// Elements of an array are at /@values/NAME, or at /@values/NAME/PATH if the node is a
// group, as in
//
//	/@values/era5/t2m?select=time=-1,lat=0..10&decode=1&format=csv&header=1
//
// These are the parameters, of which none is required:
//
//   - select: a selection as [varve.dev/zarr/selection.Parser] reads it, without masks.
//     Coordinates are found if they are in the node.
//   - format: json, csv, npy, raw or png. Without it, the header Accept decides, and json
//     is the default.
//   - decode=1: numbers are decoded by CF attributes.
//   - header=1: a table in CSV gets a line of names, and the values of coordinates.
//   - cmap: the colors of a picture: viridis (the default), grey or RdBu. With _r, as in
//     viridis_r, they are reversed.
//   - range: the numbers with the first and the last color, such as range=250,310. The
//     default is the least and the greatest selected number.
//
// Every answer has the headers Varve-Shape, such as 12,721, Varve-Bounds, the indices of
// each axis, such as 45,0:721, and Varve-Data-Type. HEAD tells them, and the length of
// npy and raw, without reading elements. With decode=1, times that datetime64 cannot
// represent become text. HEAD calls them datetime64, and leaves out the length of all
// times, because it does not read them.
//
// A picture has two axes, after those of length 1 are left out, and at most 4096 pixels
// along each. Row 0 is at the top. Missing elements and NaN are transparent. The header
// Varve-Range has the numbers with the first and the last color.
//
// A selection has at most 256 MiB, decoded. Beyond that the status is 413, and the answer
// proposes a smaller selection. Each request opens the array anew, so it sees it as it is
// now. The answers have no validators. An answer that is not whole after five minutes is
// cut, however fast the client takes it.
//
// # What is not served
//
// Only the nodes that are named are served, and what lies below them in their store.
// Never served are Varve's own files (names that begin with __varve and temporary names),
// names that begin with a period, except for the documents of format 2, and the manifests
// of virtual nodes, which have the locations of files.
//
// A symbolic link to these, or out of the node, is not followed. The status is 403,
// because readers take 404 for a chunk that has the fill value.
//
// # Who may ask
//
// A web page can make the browser of a user send requests to this machine, also under a
// name that the owner of the page points at it (DNS rebinding). So the Host of a request
// must be one of [Options.Hosts], and its Origin, if it is not the server itself, one of
// [Options.Origins]. Browsers send no Origin for images and other parts of a page without
// CORS, but tell that a page of another site asks (Sec-Fetch-Site): that is refused. With
// [Options.Token], requests must have the token.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/serve/internal/plain"
	"varve.dev/zarr/serve/internal/reply"
)

// Node is a node that is served.
type Node struct {
	// Name is the first part of its addresses. It is a name that a node may have.
	Name string
	// Location is where the node is. Its options apply to what is read. The caller closes
	// the store after the last request.
	Location *zarr.Location
}

// Options are the options of a [Handler]. The zero value serves programs on this machine.
type Options struct {
	// Hosts are the host names, without ports, that requests may name besides localhost
	// and the loopback addresses. "*" permits every name.
	Hosts []string
	// Origins are the origins of other web pages that may read, such as
	// "https://example.org". "*" permits every page.
	Origins []string
	// Token, if not empty, must come with each request, in the header "Authorization:
	// Bearer TOKEN" or in a cookie. An address with the query ?token=TOKEN sets the
	// cookie and leads to the address without the query. Requests of other pages need
	// the header.
	Token string
	// Mount has further handlers, each for the address /@NAME and those below it. They
	// get GET and HEAD of the requests that are permitted, with the whole path. The names
	// events, health, regular, v2 and values are those of this package.
	Mount map[string]http.Handler
	// Requests is the number of requests for nodes that are in work at once, by default
	// 256. Four times as many wait for up to 3 s. Further ones are answered with 503, and
	// are to be repeated.
	Requests int
	// Stall is how long a client may take for 64 KiB of an answer before its connection
	// is closed, by default 30 s. There is no limit if it is negative.
	Stall time.Duration
	// Budget bounds the bytes that views take, with what they keep. 0 is 256 MiB. The
	// least is 16 MiB. A chunk of a view has at most a sixteenth of it, decoded, and one
	// of a coarsened view is made from at most a quarter. Values take a quarter of it
	// besides.
	Budget int64
	// Log, if not nil, receives the errors of stores. Answers do not have the texts of
	// these errors, because they may name files.
	Log *slog.Logger
	// Answered, if not nil, is called after each request.
	Answered func(Answer)

	interval time.Duration // of looks for changes, in tests
	most     time.Duration // in place of mostTime, in tests
}

// mostTime is the time after which an answer with values is cut short. A store may take
// as long for what precedes a stored value or one of a view, and for each part of it.
const mostTime = 5 * time.Minute

// mostWaiting bounds the requests that wait for changes: they take little.
const mostWaiting = 4096

// defaultBudget is the default of [Options.Budget].
const defaultBudget = 256 << 20

// Handler serves nodes. It is safe for concurrent use.
type Handler struct {
	nodes    map[string]*served
	own      map[string]http.Handler // by @NAME
	guard    guard
	log      *slog.Logger
	stall    time.Duration
	most     time.Duration   // for a request, see mostTime
	room     chan struct{}   // has an element for each request in work
	queue    chan struct{}   // the same for requests that wait for room
	waiting  chan struct{}   // the same for requests that wait for changes
	lasting  context.Context // of these
	endAll   context.CancelFunc
	answered func(Answer)
	views    views
	values   values
}

// New returns a handler for nodes with different names.
func New(nodes []Node, opt *Options) (*Handler, error) {
	if opt == nil {
		opt = new(Options)
	}
	guard, err := newGuard(opt)
	if err != nil {
		return nil, err
	}
	h := &Handler{
		nodes: map[string]*served{}, guard: guard, log: opt.Log, stall: cmp.Or(opt.Stall, 30*time.Second), most: cmp.Or(opt.most, mostTime),
		room: make(chan struct{}, cmp.Or(max(opt.Requests, 0), 256)), waiting: make(chan struct{}, mostWaiting), answered: opt.Answered,
	}
	h.queue = make(chan struct{}, queued*cap(h.room))
	h.lasting, h.endAll = context.WithCancel(context.Background())
	if h.own, err = mounted(opt.Mount); err != nil {
		return nil, err
	}
	h.values = newValues(max(cmp.Or(opt.Budget, defaultBudget), plain.Least) / 4)
	h.views = views{cache: plain.NewCache(cmp.Or(opt.Budget, defaultBudget)), held: map[string]*view{}}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	for _, n := range nodes {
		if err := checkName(n.Name); err != nil {
			return nil, err
		}
		if h.nodes[n.Name] != nil {
			return nil, fmt.Errorf("two nodes would have the address /%s: give one another name", n.Name)
		}
		if h.nodes[n.Name], err = newServed(n, cmp.Or(opt.interval, watchInterval)); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// checkName returns an error for a name that cannot begin an address.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("a node needs a name, which begins its addresses")
	case strings.HasPrefix(name, "@"):
		return fmt.Errorf("the name %q begins with @, as the addresses of the server itself do: give another name", name)
	case plain.IsHidden(name) || strings.ContainsAny(name, "/\\\x00"):
		return fmt.Errorf("%q cannot be the name of a node that is served: give another name", name)
	}
	return nil
}

// Close ends the answers that last: streams of events, and waits for the next time step.
// A server ends when they have ended, so its method RegisterOnShutdown should get Close.
func (h *Handler) Close() { h.endAll() }

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun, counted := time.Now(), &response{ResponseWriter: w, status: http.StatusOK, stall: h.stall, streams: r.ProtoMajor > 1}
	defer func() {
		counted.limit(time.Now())
		if h.answered != nil {
			h.answered(Answer{r.Method, r.URL.Path, h.kindOf(r.URL.Path), r.RemoteAddr, counted.status, counted.bytes, time.Since(begun)})
		}
	}()
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cross-Origin-Resource-Policy", "same-origin") // except for what CORS permits
	w.Header().Set("Referrer-Policy", "no-referrer")
	if r.ContentLength != 0 {
		// Package net/http would wait for the end of a body, which nobody reads.
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(begun) // writers of tests have none
	}
	if !h.guard.admits(counted, r) {
		return
	}
	h.route(counted, r)
}

// longestPath is the longest path of a request. File systems have at most 4096 bytes, and
// object stores 1024.
const longestPath = 5000

// route answers a request that is permitted.
func (h *Handler) route(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		reply.Refuse(w, http.StatusMethodNotAllowed, "nodes are served for reading")
		return
	}
	// The time to follow links grows with the square of the length.
	if len(r.URL.Path) > longestPath {
		reply.Refuse(w, http.StatusRequestURITooLong, "the path is longer than that of any key")
		return
	}
	// A slash in a name of a key would be another key.
	if strings.Contains(strings.ToLower(r.URL.EscapedPath()), "%2f") {
		reply.Refuse(w, http.StatusBadRequest, "the path has an escaped slash")
		return
	}
	name, rest, below := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if own := h.own[name]; own != nil {
		own.ServeHTTP(w, r)
		return
	}
	room := h.room
	if name == "@events" || path.Base(r.URL.Path) == nextTimestep {
		room = h.waiting
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(h.lasting, cancel)()
		r = r.WithContext(ctx)
	}
	if !h.enters(r.Context(), room) {
		reply.Refuse(w, http.StatusServiceUnavailable, "the server has as many requests in work as it takes: repeat the request later")
		return
	}
	defer func() { <-room }()
	if name == "" && !below {
		h.listNodes(w, r, "", "@regular/")
		return
	}
	if name == "@events" {
		h.end(r, h.serveEvents(w, r, rest))
		return
	}
	if name == "@values" {
		h.end(r, h.serveValues(w, r, rest))
		return
	}
	n := h.nodes[name]
	if n != nil && n.isQuick(rest) {
		h.end(r, n.serve(w, r, rest))
		return
	}
	r, cancel := h.within(r)
	defer cancel()
	if options, is := strings.CutPrefix(name, "@"); is {
		h.end(r, h.serveView(w, r, options, rest))
		return
	}
	if n == nil {
		reply.Refuse(w, http.StatusNotFound, "no node of this name is served: / lists those that are")
		return
	}
	if !below {
		redirectToDirectory(w, r)
		return
	}
	h.end(r, n.serve(w, r, rest))
}

// A request waits for a place, because some programs take a refusal for missing values.
const (
	queued    = 4 // requests that wait, for each that may be in work
	mostQueue = 3 * time.Second
)

// enters reports whether a request has taken a place.
func (h *Handler) enters(ctx context.Context, room chan struct{}) bool {
	select {
	case room <- struct{}{}:
		return true
	default:
	}
	select {
	case h.queue <- struct{}{}:
		defer func() { <-h.queue }()
	default:
		return false
	}
	timer := time.NewTimer(mostQueue)
	defer timer.Stop()
	select {
	case room <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// within returns a request for stored keys or for a view with the time that its store may
// take, so that one that hangs does not keep the place of the request.
func (h *Handler) within(r *http.Request) (*http.Request, context.CancelFunc) {
	most := h.most
	if path.Base(r.URL.Path) == nextTimestep {
		most += longestWait
	}
	ctx := context.WithValue(r.Context(), patienceKey{}, &patience{r.Context(), most})
	ctx, cancel := context.WithTimeout(ctx, most)
	return r.WithContext(ctx), cancel
}

// patience is how long a read may take that a value is sent in. A long value may take
// longer, because clients may be slow.
type patience struct {
	request context.Context // without an end in time
	most    time.Duration
}

type patienceKey struct{}

// patient returns the context for a further read of a request.
func patient(ctx context.Context) (context.Context, context.CancelFunc) {
	if p, ok := ctx.Value(patienceKey{}).(*patience); ok {
		return context.WithTimeout(p.request, p.most)
	}
	return ctx, func() {}
}

// end ends an answer with the error of a store, if there is one.
func (h *Handler) end(r *http.Request, err error) {
	if err == nil {
		return
	}
	// A client that goes away makes reads fail, too.
	if !errors.Is(r.Context().Err(), context.Canceled) {
		h.log.Error("reading", "path", r.URL.Path, "error", err)
	}
	if short := new(cutShort); errors.As(err, &short) {
		// The status was sent. A connection that breaks is an error for the client.
		panic(http.ErrAbortHandler)
	}
}

// reserved are the names of addresses that this package has, or will have.
var reserved = []string{"events", "health", "regular", "v2", "values"}

// mounted returns the handlers of addresses that begin with @.
func mounted(mount map[string]http.Handler) (map[string]http.Handler, error) {
	own := map[string]http.Handler{"@health": http.HandlerFunc(health)}
	for name, h := range mount {
		switch {
		case slices.Contains(reserved, name):
			return nil, fmt.Errorf("/@%s is an address of package serve: mount the handler under another name", name)
		case name == "" || h == nil || strings.ContainsAny(name, "@,/"):
			return nil, fmt.Errorf("there can be no handler at /@%s: give one, and a name without @, commas and slashes", name)
		}
		own["@"+name] = h
	}
	return own, nil
}

// health answers that the server works.
func health(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/@health" {
		reply.Refuse(w, http.StatusNotFound, "the address is /@health")
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, "ok\n") // the client may have gone
}
