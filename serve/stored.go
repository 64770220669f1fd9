// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/serve/internal/plain"
	"varve.dev/zarr/serve/internal/reply"
	"varve.dev/zarr/store"
)

// served is a node whose keys are served as they are stored.
type served struct {
	*plain.Bounds
	store    store.Store
	near     bool // a request costs little
	location *zarr.Location
	watcher  *watcher
	timeline *timeline
	// successor returns the address of what has taken the place of a view. It is nil for
	// keys that are served as they are stored.
	successor func(context.Context) string
}

func newServed(n Node, interval time.Duration) (*served, error) {
	bounds, at, err := plain.Confine(n.Location)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", n.Name, err)
	}
	s := &served{Bounds: bounds, store: n.Location.Store(), location: at}
	_, s.near = store.As[store.Opener](s.store)
	s.watcher, s.timeline = &watcher{node: at, interval: interval}, &timeline{node: at, interval: interval}
	return s, nil
}

// isChunkName reports whether the last part of a key is one of a chunk: c, or numbers.
func isChunkName(name string) bool {
	return name == "c" || strings.Trim(strings.TrimPrefix(name, "c."), "0123456789.") == ""
}

// serve answers a request for a path below the node. The error is for the log; the
// request is answered.
func (s *served) serve(w http.ResponseWriter, r *http.Request, path string) error {
	name, rest, more := "", strings.TrimSuffix(path, "/"), true
	for more {
		name, rest, more = strings.Cut(rest, "/")
		switch hidden := plain.IsHidden(name); {
		case hidden && more && name != own.Dir && name != "." && name != "..":
			// It may be a chunk of a hidden array. Readers take 404 for the fill value.
			reply.Refuse(w, http.StatusForbidden, "nothing is served below this name: names that begin with a period, of manifests and of files of Varve are hidden")
			return nil
		case hidden:
			reply.Refuse(w, http.StatusNotFound, "there is no such key")
			return nil
		}
	}
	if path == "" || strings.HasSuffix(path, "/") {
		return s.list(w, r, strings.TrimSuffix(path, "/"))
	}
	key, err := s.Root.Key(path)
	if err != nil {
		reply.Refuse(w, http.StatusBadRequest, "the path is no legal key")
		return nil
	}
	if direct, ok := s.store.(unlinkedOpener); ok {
		if object := direct.OpenUnlinked(key); object != nil {
			return s.value(w, r, object)
		}
	}
	if err := s.Check(path); err != nil {
		return s.answer(w, r, err)
	}
	if kept, err := s.isUnchanged(w, r, key); kept || err != nil {
		return err
	}
	object, err := store.Open(r.Context(), s.store, key)
	if err == nil {
		return s.value(w, r, object)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return s.answer(w, r, err)
	}
	if path == currentTimestep || path == nextTimestep {
		return s.serveTimestep(w, r, path == nextTimestep)
	}
	// Programs that list directories leave out the slash at the end. For a missing chunk,
	// a far store is not asked a second time.
	if nodename.IsDocument(key.Base()) || !s.near && isChunkName(key.Base()) || !s.isDirectory(r, path) {
		return s.answer(w, r, errNotThere)
	}
	redirectToDirectory(w, r)
	return nil
}

// isQuick reports whether a path is for a value in files or memory of this machine. To
// read it cannot be cancelled, and a limit of time would cost as much as to open a file.
func (s *served) isQuick(path string) bool {
	return s.near && path != "" && !strings.HasSuffix(path, "/") && path != currentTimestep && path != nextTimestep
}

// errNotThere is the error for a key that the node does not have.
var errNotThere = fmt.Errorf("no such key: %w", fs.ErrNotExist)

// cutShort is an error within an answer.
type cutShort struct{ error }

func (e *cutShort) Unwrap() error { return e.error }

// answer answers with an error, and returns it if the log should have it.
func (s *served) answer(w http.ResponseWriter, r *http.Request, err error) error {
	if errors.Is(err, plain.ErrGone) {
		gone(w, err.Error(), s.successor(r.Context()))
		return nil
	}
	reply.Fail(w, err)
	if reply.StatusOf(err) < http.StatusInternalServerError {
		return nil
	}
	return err
}

// unlinkedOpener is a store of files. OpenUnlinked opens a value to which no symbolic
// link leads, in the call that finds out, so that none can come in between. It returns
// nil if it cannot: then the path has to be looked at.
type unlinkedOpener interface {
	OpenUnlinked(key store.Key) store.Object
}

// value answers with a value, and closes it.
func (s *served) value(w http.ResponseWriter, r *http.Request, object store.Object) error {
	defer object.Close() // it was only read
	info := object.Info()
	h := w.Header()
	// Any value may be written again. A client that kept it asks whether it still holds.
	h.Set("Cache-Control", "private, no-cache")
	if tag := s.tag(info); tag != "" {
		h.Set("ETag", tag)
	}
	h.Set("Content-Type", "application/octet-stream")
	if nodename.IsDocument(path.Base(r.URL.Path)) {
		h.Set("Content-Type", "application/json")
	}
	r = plainly(r, info.Size)
	first, end := spanOf(r.Header.Get("Range"), info.Size)
	body := &reader{ctx: r.Context(), object: object, size: info.Size, last: end, most: farPieceSize}
	if s.near {
		body.most = pieceSize
	}
	defer body.end()
	if r.Method == http.MethodGet && first < end && !isKept(r, h.Get("ETag")) {
		// An error is an answer of its own as long as nothing was sent.
		if err := body.load(first); err != nil {
			return s.answer(w, r, err)
		}
	}
	http.ServeContent(w, r, "", modified(info), body)
	if err := body.end(); err != nil {
		return &cutShort{err}
	}
	return nil
}

// isUnchanged answers a request of a client that has the present version of a chunk of a
// view, which is then not made.
func (s *served) isUnchanged(w http.ResponseWriter, r *http.Request, key store.Key) (bool, error) {
	v, ok := s.store.(*plain.View)
	if !ok || r.Header.Get("If-None-Match") == "" || r.Header.Get("If-Match") != "" {
		return false, nil
	}
	version, err := v.Version(r.Context(), key)
	tag := s.tag(store.Info{Version: version})
	if err != nil || tag == "" || !isKept(r, tag) {
		return false, nil // an error comes again
	}
	w.Header().Set("Cache-Control", "private, no-cache")
	w.Header().Set("ETag", tag)
	w.WriteHeader(http.StatusNotModified)
	return true, nil
}

// plainly returns a request as net/http is to see it: with the ranges that are served,
// and with the lists of conditions in one line each. A server may ignore ranges, and has
// to for HEAD (RFC 9110, section 14.2), and if a range is for the version of a time
// (section 13.1.5): two versions may have the same second.
func plainly(r *http.Request, size int64) *http.Request {
	ranges := rangesOf(r.Header.Get("Range"), size)
	version := r.Header.Get("If-Range")
	if r.Method == http.MethodHead || version != "" && !strings.HasPrefix(version, `"`) {
		ranges = ""
	}
	is := r
	set := func(name, value string) {
		if is.Header.Get(name) == value {
			return
		}
		if is == r {
			is = r.Clone(r.Context())
		}
		is.Header.Set(name, value)
	}
	set("Range", ranges)
	for _, name := range []string{"If-Match", "If-None-Match"} {
		set(name, strings.Join(r.Header.Values(name), ","))
	}
	return is
}

// isKept reports whether the client has the version with a tag, so that the value will
// not be read.
func isKept(r *http.Request, tag string) bool {
	tag = strings.TrimPrefix(tag, "W/")
	rest := strings.Join(r.Header.Values("If-None-Match"), ",")
	for tag != "" {
		rest = strings.TrimPrefix(strings.TrimLeft(rest, ", \t"), "W/")
		_, quoted, begins := strings.Cut(rest, `"`)
		other, after, ends := strings.Cut(quoted, `"`)
		if !begins || !ends || rest[0] != '"' {
			return false
		}
		if `"`+other+`"` == tag {
			return true
		}
		rest = after
	}
	return false
}

// modified returns the time for Last-Modified, which is zero if it is not known. A server
// must not send one of the future (RFC 9110, section 8.8.2.1).
func modified(info store.Info) time.Time {
	t := info.Modified // a copy of a file may have kept its FileTime
	if t.After(time.Now()) {
		return time.Time{}
	}
	return t
}

// tag returns the entity tag of a version. That of a chunk of a view is known before its
// size is.
func (s *served) tag(info store.Info) string {
	if s.successor != nil {
		info.Size = 0
	}
	return tagOf(info)
}

// tagOf returns the entity tag of a version, "" if the store has none. The version itself
// may have the number of a file or a name of the service.
func tagOf(info store.Info) string {
	if info.Version.IsZero() {
		return ""
	}
	sum := sha256.Sum256(strconv.AppendInt(append([]byte(info.Version.String()), ' '), info.Size, 10))
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
	if info.Version.IsWeak() {
		return "W/" + tag
	}
	return tag
}
