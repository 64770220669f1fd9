// SPDX-License-Identifier: Apache-2.0

// Package page has the page of varve view, and answers its questions: what a node is,
// planes of any array as numbers, what is stored of it, and what reading it would cost.
// Package serve mounts a [Handler] behind its checks of who may ask.
//
// The page is at /@view/ and its questions at /@view/api/. docs/view.md has their
// parameters and answers. Every answer is made within [Options.Memory] and 30 s. A chunk
// that is damaged, or that nobody may read, is a state of its elements and not an error.
package page

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"varve.dev/zarr"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/serve/internal/plain"
	"varve.dev/zarr/serve/internal/reply"
)

// Node is a node that is shown.
type Node struct {
	Name     string // as in package serve
	Location *zarr.Location
}

// Options are the options of a [Handler]. A nil *Options is the zero value.
type Options struct {
	// Program is the name and the version of the program, which the page shows.
	Program string
	// Memory bounds the bytes of decoded elements, with those that are kept for later
	// questions. 0 is 256 MiB. The least is 16 MiB.
	Memory int64
	// Facts, if not nil, returns what the program says of a node, which may be nil if it
	// could not be opened. The error is one of the store.
	Facts func(ctx context.Context, name string, at *zarr.Location, n zarr.Node) (*Facts, error)
	// Named, if not nil, returns how the program names a node in a command, quoted for a
	// shell.
	Named func(name string) string
	// Export, if not nil, answers requests for /@view/api/export in place of this
	// package, which makes NetCDF, GeoTIFF and CSV.
	Export http.Handler
	// Log, if not nil, receives the errors of stores. Answers do not have their texts,
	// because they may name files.
	Log *slog.Logger
}

// Facts are what a program says of a node.
type Facts struct {
	Facts    [][2]string `json:"facts"` // labels and values
	Findings []Finding   `json:"findings"`
	Open     []Code      `json:"open"` // how to open the node
}

// Finding is a sentence about a node, and the command that changes it, or "".
type Finding struct {
	Text    string `json:"text"`
	Command string `json:"command"`
}

// Code opens a node in a language: shell, python, r, go or javascript.
type Code struct {
	Language string `json:"language"`
	Code     string `json:"code"`
}

// Handler answers the requests for /@view and those below it. It is safe for concurrent
// use.
type Handler struct {
	Options
	names  []string
	nodes  map[string]*shown
	files  map[string]*file
	room   chan struct{}  // has an element for each question in work
	making chan struct{}  // the same for files
	kept   *plain.Shelf   // decoded units
	work   *budget.Budget // of units that are being decoded, and of answers
	seen   sightings
	lists  lists
}

// Limits of one question.
const (
	mostTime     = 30 * time.Second
	mostReading  = 5 * time.Second // of chunks
	mostUnits    = 2048            // chunks or inner chunks that are read
	mostRequests = 64              // questions in work
	leastMemory  = 16 << 20
)

// shown is a node that is shown.
type shown struct {
	*plain.Bounds
	name string
	at   *zarr.Location
}

// New returns a handler for nodes with different names.
func New(nodes []Node, opt *Options) (*Handler, error) {
	if opt == nil {
		opt = new(Options)
	}
	h := &Handler{Options: *opt, nodes: map[string]*shown{}, room: make(chan struct{}, mostRequests), making: make(chan struct{}, mostFiles)}
	h.Memory = max(cmp.Or(opt.Memory, 256<<20), leastMemory)
	h.kept, h.work = plain.NewShelf(h.Memory/2), budget.NewInTwo(h.Memory/2, h.Memory/4)
	if h.Log == nil {
		h.Log = slog.New(slog.DiscardHandler)
	}
	for _, n := range nodes {
		bounds, at, err := plain.Confine(n.Location)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name, err)
		}
		if h.nodes[n.Name] != nil {
			return nil, fmt.Errorf("two nodes have the name %s: give one another name", n.Name)
		}
		h.nodes[n.Name] = &shown{bounds, n.Name, at}
		h.names = append(h.names, n.Name)
	}
	var err error
	h.files, err = bundle(dist)
	return h, err
}

// policy lets the page run its own script only, and ask this server only.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Security-Policy", policy)
	_, path, below := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if !below {
		http.Redirect(w, r, "/@view/", http.StatusMovedPermanently)
		return
	}
	if name, is := strings.CutPrefix(path, "api/"); is {
		h.answer(w, r, name)
		return
	}
	f := h.files[cmp.Or(path, "index.html")]
	if f == nil {
		reply.Refuse(w, http.StatusNotFound, "the page has no such file")
		return
	}
	f.serve(w, r)
}

// answer answers a question.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request, name string) {
	w.Header().Set("Cache-Control", "no-store")
	question := questions[name]
	if name == "export" && h.Export != nil {
		h.Export.ServeHTTP(w, r)
		return
	}
	if question == nil {
		reply.Refuse(w, http.StatusNotFound, "there is no such question")
		return
	}
	q, err := parse(r.URL.RawQuery)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), mostTime)
	defer cancel()
	select {
	case h.room <- struct{}{}:
		defer func() { <-h.room }()
	case <-ctx.Done():
		reply.Refuse(w, http.StatusServiceUnavailable, "the server has as many questions in work as it takes: repeat the request later")
		return
	}
	made, err := question(h, ctx, q)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if v, is := made.(versioned); is && v.tag() != "" {
		w.Header().Set("Varve-Version", v.tag())
	}
	switch made := made.(type) {
	case *pixels:
		made.write(w)
		return
	case *download:
		made.write(w)
		return
	}
	body, err := json.Marshal(made)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	text := reply.NewText(w, r)
	_, _ = text.Write(append(body, '\n')) // the client may have gone
	_ = text.Close()
}

// versioned is an answer about a version of an array.
type versioned interface{ tag() string }

// refusal is an error whose text the client may have.
type refusal struct{ reply.Problem }

// Error implements error.
func (e *refusal) Error() string { return e.Detail }

func refuse(status int, format string, args ...any) error {
	return &refusal{reply.Problem{Status: status, Detail: fmt.Sprintf(format, args...)}}
}

// fail answers with an error.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	if t := (*refusal)(nil); errors.As(err, &t) {
		t.Problem.Write(w)
		return
	}
	if reply.StatusOf(err) >= http.StatusInternalServerError && r.Context().Err() == nil {
		h.Log.Error("reading", "path", r.URL.Path, "error", err)
	}
	reply.Fail(w, err)
}

// dist is the page, as tools/page bundles it.
//
//go:generate go -C ../../tools run ./page
//go:embed dist
var dist embed.FS

// file is a file of the page.
type file struct {
	name   string
	data   []byte
	zipped bool
	tag    string
}

// bundle returns the files of the page. Those whose names end with .gz are sent as they
// are.
func bundle(from fs.FS) (map[string]*file, error) {
	files := map[string]*file{}
	entries, err := fs.ReadDir(from, "dist")
	for _, e := range entries {
		data, err := fs.ReadFile(from, "dist/"+e.Name())
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(data)
		f := &file{data: data, tag: base64.RawURLEncoding.EncodeToString(sum[:12])}
		f.name, f.zipped = strings.CutSuffix(e.Name(), ".gz")
		files[f.name] = f
	}
	return files, err
}

// serve answers with the file.
func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h, data, tag := w.Header(), f.data, f.tag
	h.Set("Cache-Control", "no-cache")
	h.Add("Vary", "Accept-Encoding")
	switch {
	case f.zipped && reply.AcceptsGzip(r.Header.Values("Accept-Encoding")):
		h.Set("Content-Encoding", "gzip")
		tag += "-gzip"
	case f.zipped:
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err == nil {
			data, err = io.ReadAll(z)
		}
		if err != nil {
			reply.Fail(w, err)
			return
		}
	}
	h.Set("ETag", `"`+tag+`"`)
	h.Set("Content-Type", mediaTypes[f.name[strings.LastIndexByte(f.name, '.')+1:]])
	r.Header.Del("Range") // nobody needs a part of a page
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// mediaTypes are those of files, whatever the system says.
var mediaTypes = map[string]string{
	"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8",
	"svg": "image/svg+xml", "png": "image/png", "txt": "text/plain; charset=utf-8",
}
