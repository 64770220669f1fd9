// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"

	"varve.dev/zarr"
	"varve.dev/zarr/serve/internal/plain"
	"varve.dev/zarr/store"
)

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
