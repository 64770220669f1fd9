// SPDX-License-Identifier: Apache-2.0

// Package serve publishes Zarr nodes over HTTP, for reading.
//
// A [Handler] serves the keys of each node as they are stored, at /NAME/KEY: with ranges,
// validators and listings, so that every program that reads Zarr over HTTP can open
// http://ADDRESS/NAME. It answers GET, HEAD, and the questions that browsers ask before
// another page may read (OPTIONS).
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
//   - cmap: the colors of a picture: viridis (the default), grey or RdBu, or viridis_r and
//     so on for the reverse.
//   - range: the numbers with the first and the last color, such as range=250,310. The
//     default is the least and the greatest selected number.
//
// Every answer has the headers Varve-Shape, such as 12,721, and Varve-Data-Type. HEAD
// tells them, and the length of npy and raw, without reading elements. With decode=1,
// times that datetime64 cannot represent become text. HEAD calls them datetime64, and
// leaves out the length of all times, because it does not read them.
//
// A picture has two axes, after those of length 1 are left out, and at most 4096 pixels
// along each. Row 0 is at the top. Missing elements and NaN are transparent. The header
// Varve-Range has the numbers with the first and the last color.
//
// A selection has at most 256 MiB, decoded. Beyond that the status is 413, and the answer
// proposes a smaller selection. Each request opens the array anew, so it sees it as it is
// now. The answers have no validators. An answer ends after five minutes.
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
// [Options.Origins]. With [Options.Token], requests must have the token.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/serve/internal/plain"
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
	// Budget bounds the bytes that views take, with what they keep. 0 is 256 MiB. The
	// least is 16 MiB. A chunk of a view has at most a sixteenth of it, decoded. Values
	// take a quarter of it besides.
	Budget int64
	// Log, if not nil, receives a record for each request that was answered, and the
	// errors of stores. Answers do not have the texts of these errors, because they may
	// name files.
	Log *slog.Logger
}

// defaultBudget is the default of [Options.Budget].
const defaultBudget = 256 << 20

// Handler serves nodes. It is safe for concurrent use.
type Handler struct {
	nodes  map[string]*served
	guard  guard
	log    *slog.Logger
	views  views
	values values
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
	h := &Handler{nodes: map[string]*served{}, guard: guard, log: opt.Log}
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
		if h.nodes[n.Name], err = newServed(n); err != nil {
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
	case isHidden(name) || strings.ContainsAny(name, "/\\\x00"):
		return fmt.Errorf("%q cannot be the name of a node that is served: give another name", name)
	}
	return nil
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun, counted := time.Now(), &counter{ResponseWriter: w, status: http.StatusOK}
	defer func() {
		h.log.Info("request", "method", r.Method, "path", r.URL.Path, "status", counted.status, "bytes", counted.bytes, "duration", time.Since(begun), "remote", r.RemoteAddr)
	}()
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cross-Origin-Resource-Policy", "same-origin") // except for what CORS permits
	w.Header().Set("Referrer-Policy", "no-referrer")
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
		refuse(w, http.StatusMethodNotAllowed, "nodes are served for reading")
		return
	}
	// The time to follow links grows with the square of the length.
	if len(r.URL.Path) > longestPath {
		refuse(w, http.StatusRequestURITooLong, "the path is longer than that of any key")
		return
	}
	// A slash in a name of a key would be another key.
	if strings.Contains(strings.ToLower(r.URL.EscapedPath()), "%2f") {
		refuse(w, http.StatusBadRequest, "the path has an escaped slash")
		return
	}
	name, rest, below := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if name == "" && !below {
		h.listNodes(w)
		return
	}
	if name == "@values" {
		h.end(r, h.serveValues(w, r, rest))
		return
	}
	if options, is := strings.CutPrefix(name, "@"); is {
		h.end(r, h.serveView(w, r, options, rest))
		return
	}
	n := h.nodes[name]
	if n == nil {
		refuse(w, http.StatusNotFound, "no node of this name is served")
		return
	}
	if !below {
		redirectToDirectory(w, r)
		return
	}
	h.end(r, n.serve(w, r, rest))
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

// counter counts what is answered.
type counter struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader implements [http.ResponseWriter].
func (c *counter) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (c *counter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.bytes += int64(n)
	return n, err
}

// ReadFrom implements [io.ReaderFrom]. [http.ServeContent] copies a value with it.
func (c *counter) ReadFrom(from io.Reader) (n int64, err error) {
	limited, ok := from.(*io.LimitedReader)
	if ok {
		if value, is := limited.R.(*reader); is {
			n, err = value.writeTo(c, limited.N)
			limited.N -= n
			return n, err
		}
	}
	return io.Copy(struct{ io.Writer }{c}, from)
}

// Unwrap is for [http.ResponseController].
func (c *counter) Unwrap() http.ResponseWriter { return c.ResponseWriter }
