// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bufio"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"varve.dev/zarr/serve/internal/plain"
	"varve.dev/zarr/serve/internal/reply"
	"varve.dev/zarr/store"
)

// redirectToDirectory leads to the address with a slash at its end, which links of a
// listing are relative to.
func redirectToDirectory(w http.ResponseWriter, r *http.Request) {
	there := url.URL{Path: r.URL.Path + "/", RawQuery: r.URL.RawQuery}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Location", local(there))
	w.WriteHeader(http.StatusMovedPermanently)
}

// listNodes answers with the names of all nodes, below each of the directories.
func (h *Handler) listNodes(w http.ResponseWriter, r *http.Request, directories ...string) {
	page := newPage(w, r)
	for _, dir := range directories {
		for _, name := range slices.Sorted(maps.Keys(h.nodes)) {
			page.link(dir, name+"/")
		}
	}
	page.end()
}

// list answers with the names in a directory of the node.
func (s *served) list(w http.ResponseWriter, r *http.Request, path string) error {
	dir, err := s.Root, error(nil)
	if path != "" {
		dir, err = s.Root.Join(path)
	}
	if err != nil {
		reply.Refuse(w, http.StatusBadRequest, "the path is no legal key")
		return nil
	}
	if path != "" {
		if err := s.Check(path); err != nil {
			return s.answer(w, r, err)
		}
	}
	var page *page
	for e, err := range store.List(r.Context(), s.store, dir, store.Flat) {
		switch {
		case errors.Is(err, store.ErrUnusable):
			continue // names that no key can have
		case errors.Is(err, store.ErrUnsupported):
			reply.Refuse(w, http.StatusNotFound, "the store cannot list: ask for keys, or open consolidated metadata")
			return nil
		case err != nil && page == nil:
			return s.answer(w, r, err)
		case err != nil:
			return &cutShort{err} // half a list would be a wrong one
		case plain.IsHidden(e.Name):
			continue
		}
		if page == nil {
			page = newPage(w, r)
		}
		name := e.Name
		if e.Dir {
			name += "/"
		}
		page.link("", name)
	}
	if page == nil {
		return s.answer(w, r, errNotThere)
	}
	page.end()
	return nil
}

// isDirectory reports whether the node serves something below a path.
func (s *served) isDirectory(r *http.Request, path string) bool {
	dir, err := s.Root.Join(path)
	if err != nil {
		return false
	}
	for e, err := range store.List(r.Context(), s.store, dir, store.Flat) {
		if err != nil || !plain.IsHidden(e.Name) {
			return err == nil
		}
	}
	return false
}

// page is a list of links in HTML, as web servers list directories. The HTTP file system
// of fsspec reads it.
type page struct {
	w *bufio.Writer
	*reply.Text
}

func newPage(w http.ResponseWriter, r *http.Request) *page {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	w.Header().Set("Cache-Control", "no-store")
	body := reply.NewText(w, r)
	p := &page{bufio.NewWriter(body), body}
	_, _ = io.WriteString(p.w, "<!DOCTYPE html>\n<title>Zarr</title>\n<ul>\n")
	return p
}

// link adds a name below dir, which is empty or ends with a slash.
func (p *page) link(dir, name string) {
	bare, isDir := strings.CutSuffix(name, "/")
	// What precedes a colon would be the scheme of an address.
	to := dir + strings.ReplaceAll(url.PathEscape(bare), ":", "%3A")
	if isDir {
		to += "/"
	}
	fmt.Fprintf(p.w, "<li><a href=\"%s\">%s</a>\n", html.EscapeString(to), html.EscapeString(dir+name))
}

func (p *page) end() {
	_, _ = io.WriteString(p.w, "</ul>\n")
	_, _ = p.w.Flush(), p.Text.Close() // the client may have gone
}
