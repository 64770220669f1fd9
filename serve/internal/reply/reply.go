// SPDX-License-Identifier: Apache-2.0

// Package reply writes what the answers of package serve and of the pages that it mounts
// have in common: problems, with the status of an error, and text that is compressed.
package reply

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"varve.dev/zarr"
	"varve.dev/zarr/serve/internal/plain"
	"varve.dev/zarr/store"
)

// Text is the body of an answer that is text. It is compressed if the client accepts that
// and the first write has many bytes. Stored values and chunks are sent as they are.
type Text struct {
	to      http.ResponseWriter
	accepts bool
	begun   bool
	zip     *gzip.Writer // nil if the text is not compressed
}

// leastZipped is the number of bytes from which on compression is worth it. Writers hand
// over more at once, unless the text is shorter.
const leastZipped = 1 << 10

// NewText returns the body of the answer to a request. The caller closes it if the text
// is whole.
func NewText(w http.ResponseWriter, r *http.Request) *Text {
	w.Header().Add("Vary", "Accept-Encoding")
	return &Text{to: w, accepts: AcceptsGzip(r.Header.Values("Accept-Encoding"))}
}

// Write implements [io.Writer].
func (t *Text) Write(p []byte) (int, error) {
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
func (t *Text) Close() error {
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

// AcceptsGzip reports whether a client prefers gzip to what is not compressed (RFC 9110,
// section 12.5.3).
func AcceptsGzip(headers []string) bool {
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

// Problem is the body of an answer that is no success (RFC 9457).
type Problem struct {
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

// Refuse answers a request that cannot be served.
func Refuse(w http.ResponseWriter, status int, detail string) {
	Problem{Status: status, Detail: detail}.Write(w)
}

// Fail answers a request whose key cannot be read. The text of the error may name files
// and accounts, so only its kind is told.
func Fail(w http.ResponseWriter, err error) {
	p := Problem{Status: StatusOf(err), Kind: zarr.KindOf(err)}
	if told := (*plain.Refusal)(nil); errors.As(err, &told) {
		p.Detail = told.Error()
	} else if p.Status == http.StatusNotFound {
		p.Detail = "there is no such key"
	} else if p.Status >= http.StatusInternalServerError {
		p.Detail = "the log of the server says why"
	}
	p.Write(w)
}

// StatusOf returns the status for an error of a store. Only a key without a value is
// [http.StatusNotFound], because readers take that for the fill value.
func StatusOf(err error) int {
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

// Write answers with the problem.
func (p Problem) Write(w http.ResponseWriter) {
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
