// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"varve.dev/zarr"
	"varve.dev/zarr/serve/internal/plain"
	"varve.dev/zarr/store"
)

// Answer describes a request that was answered.
type Answer struct {
	Method string
	Path   string // of the address, without the query, which may have had the token
	// Kind is the name of a node, or @NAME for an address of the server itself. It is
	// empty for the list of nodes, and if nothing of that name is served.
	Kind     string
	Remote   string // the address of the client
	Status   int
	Bytes    int64 // of the body
	Duration time.Duration
}

// response counts what is answered, and breaks the connection of a client that takes too
// little of it.
type response struct {
	http.ResponseWriter
	status int
	bytes  int64

	stall   time.Duration // for leastTaken bytes
	streams bool          // the connection has several (HTTP/2)
	taken   int64         // bytes since the time was last renewed
	waited  time.Duration // that writes have taken since then
	end     time.Time     // after it nothing is written; zero if there is no end
	set     time.Time     // the deadline of the connection, zero if it is not known
}

// leastTaken is the number of bytes that a client must take within [Options.Stall].
const leastTaken = 64 << 10

// WriteHeader implements [http.ResponseWriter].
func (w *response) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *response) Write(p []byte) (n int, err error) {
	for {
		part := p[n:min(len(p), n+leastTaken)]
		m, err := w.write(part)
		if n += m; err != nil || n == len(p) {
			return n, err
		}
	}
}

// write writes at most leastTaken bytes. The time between two writes is not that of the
// client, and does not count.
func (w *response) write(p []byte) (int, error) {
	begun := time.Now()
	w.limit(begun)
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	w.taken += int64(n)
	w.waited += time.Since(begun)
	if w.taken >= leastTaken {
		w.taken, w.waited = 0, 0
	}
	if err == nil && w.stall > 0 && w.streams {
		// A deadline would end a stream of HTTP/2 also between two writes.
		w.setDeadline(w.end)
	}
	return n, err
}

// limit sets the time until which the client has to take what is written next. Package
// net/http writes the last bytes after the handler.
func (w *response) limit(now time.Time) {
	until := w.end
	if w.stall > 0 {
		if until = now.Add(w.stall - w.waited); !w.end.IsZero() && w.end.Before(until) {
			until = w.end
		}
	}
	// A deadline costs about as much as the headers of a short answer, so one that
	// differs little stays.
	if difference := until.Sub(w.set); !until.IsZero() && (difference < 0 || difference > w.stall/32) {
		w.setDeadline(until)
	}
}

func (w *response) setDeadline(t time.Time) {
	// Writers of tests have no deadlines.
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(t)
	w.set = t
}

// ReadFrom implements [io.ReaderFrom]. [http.ServeContent] copies a value with it.
func (w *response) ReadFrom(from io.Reader) (n int64, err error) {
	if limited, ok := from.(*io.LimitedReader); ok {
		if value, is := limited.R.(*reader); is {
			n, err = value.writeTo(w, limited.N)
			limited.N -= n
			return n, err
		}
	}
	return io.Copy(struct{ io.Writer }{w}, from)
}

// Unwrap is for [http.ResponseController].
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// kindOf returns [Answer.Kind].
func (h *Handler) kindOf(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if h.nodes[name] != nil {
		return name
	}
	name, _, _ = strings.Cut(name, ",") // settings follow
	if own, is := strings.CutPrefix(name, "@"); is && (h.own[name] != nil || slices.Contains(reserved, own)) {
		return name
	}
	return ""
}

// text is the body of an answer that is text. It is compressed if the client accepts that
// and the first write has many bytes. Stored values and chunks are sent as they are.
type text struct {
	to      http.ResponseWriter
	accepts bool
	begun   bool
	zip     *gzip.Writer // nil if the text is not compressed
}

// leastZipped is the number of bytes from which on compression is worth it. Writers hand
// over more at once, unless the text is shorter.
const leastZipped = 1 << 10

// newText returns the body of the answer to a request. The caller closes it if the text
// is whole.
func newText(w http.ResponseWriter, r *http.Request) *text {
	w.Header().Add("Vary", "Accept-Encoding")
	return &text{to: w, accepts: acceptsGzip(r.Header.Values("Accept-Encoding"))}
}

// Write implements [io.Writer].
func (t *text) Write(p []byte) (int, error) {
	if !t.begun && t.accepts && len(p) >= leastZipped {
		t.to.Header().Set("Content-Encoding", "gzip")
		t.zip = zippers.Get().(*gzip.Writer)
		t.zip.Reset(t.to)
	}
	t.begun = true
	if t.zip != nil {
		return t.zip.Write(p)
	}
	return t.to.Write(p)
}

// Close ends the text. Without it, the client sees that the text is not whole.
func (t *text) Close() error {
	if t.zip == nil {
		return nil
	}
	defer zippers.Put(t.zip)
	return t.zip.Close()
}

// zippers are writers, which have tables of much memory.
var zippers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is one
	return w
}}

// acceptsGzip reports whether a client prefers gzip to what is not compressed (RFC 9110,
// section 12.5.3).
func acceptsGzip(headers []string) bool {
	for part := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		name, weight, weighted := strings.Cut(part, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(weight), "q="), 64)
		return !weighted || err == nil && q > 0
	}
	return false
}

// problem is the body of an answer that is no success (RFC 9457).
type problem struct {
	Title  string    `json:"title"`
	Status int       `json:"status"`
	Detail string    `json:"detail,omitempty"`
	Kind   zarr.Kind `json:"kind,omitempty"`
	// Limit is what a selection has exceeded, in bytes or in pixels, and Select one that
	// has less.
	Limit  int64  `json:"limit,omitempty"`
	Select string `json:"select,omitempty"`
	// Successor is the address of what has taken the place of a view.
	Successor string `json:"successor,omitempty"`
}

// refuse answers a request that cannot be served.
func refuse(w http.ResponseWriter, status int, detail string) {
	problem{Status: status, Detail: detail}.write(w)
}

// fail answers a request whose key cannot be read. The text of the error may name files
// and accounts, so only its kind is told.
func fail(w http.ResponseWriter, err error) {
	p := problem{Status: statusOf(err), Kind: zarr.KindOf(err)}
	if told := (*plain.Refusal)(nil); errors.As(err, &told) {
		p.Detail = told.Error()
	} else if p.Status == http.StatusNotFound {
		p.Detail = "there is no such key"
	} else if p.Status >= http.StatusInternalServerError {
		p.Detail = "the log of the server says why"
	}
	p.write(w)
}

// statusOf returns the status for an error of a store. Only a key without a value is
// [http.StatusNotFound], because readers take that for the fill value.
func statusOf(err error) int {
	told := (*plain.Refusal)(nil)
	switch {
	case errors.Is(err, plain.ErrGone):
		return http.StatusGone
	case errors.Is(err, plain.ErrBusy):
		return http.StatusServiceUnavailable
	case errors.As(err, &told) && errors.Is(err, zarr.ErrLimit):
		return http.StatusRequestEntityTooLarge
	case errors.As(err, &told) && errors.Is(err, zarr.ErrUnsupported):
		// Clients ask again after a status from 500 on.
		return http.StatusNotAcceptable
	case errors.As(err, &told):
		return http.StatusBadRequest
	case errors.Is(err, fs.ErrNotExist):
		return http.StatusNotFound
	case errors.Is(err, store.ErrInvalidKey):
		return http.StatusBadRequest // such as a name that is too long for a file
	case errors.Is(err, fs.ErrPermission):
		return http.StatusForbidden
	case errors.Is(err, zarr.ErrConflict), errors.Is(err, zarr.ErrSourceChanged):
		return http.StatusServiceUnavailable // changed during the request
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}

func (p problem) write(w http.ResponseWriter) {
	p.Title = http.StatusText(p.Status)
	body, _ := json.Marshal(p) // it has only text and numbers
	h := w.Header()
	h.Del("ETag")
	h.Del("Last-Modified")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "application/problem+json")
	if p.Status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "1")
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // the client may have gone
}
