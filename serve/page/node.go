// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"sort"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/serve/internal/plain"
	"varve.dev/zarr/store"
)

// place is a node that a question is about.
type place struct {
	*shown
	path string // below the node that is shown
	at   *zarr.Location
}

// find returns the place of a node NAME or NAME/PATH. Hidden nodes have none.
func (h *Handler) find(node string) (*place, error) {
	name, path, _ := strings.Cut(strings.TrimSuffix(node, "/"), "/")
	s := h.nodes[name]
	if s == nil {
		return nil, refuse(http.StatusNotFound, "no node of this name is shown: nodes lists those that are")
	}
	p := &place{s, path, s.at}
	if path == "" {
		return p, nil
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || plain.IsHidden(part) {
			return nil, errNoNode
		}
	}
	if p.at = s.at.At(path); strings.ContainsAny(path, "\\\x00") {
		return nil, errNoNode
	}
	if _, err := store.ParsePath(p.at.Path()); err != nil {
		return nil, errNoNode
	}
	return p, nil
}

var errNoNode = refuse(http.StatusNotFound, "there is no node here")

// node returns the name of the node at a path of the store, or false if it is not shown.
func (s *shown) node(path string) (string, bool) {
	if root := s.Root.String(); root != "" {
		below, is := strings.CutPrefix(path, root)
		if path = strings.TrimPrefix(below, "/"); !is || below != "" && below == path {
			return "", false
		}
	}
	if path == "" {
		return s.name, true
	}
	return s.name + "/" + path, s.Check(path) == nil
}

// open opens the node, and counts the requests to its store.
func (h *Handler) open(ctx context.Context, p *place) (zarr.Node, *observe.Counter, error) {
	counter := new(observe.Counter)
	n, err := p.at.Open(ctx, &zarr.Options{Budget: h.Memory / 16, Observer: counter})
	if errors.Is(err, fs.ErrNotExist) {
		err = errNoNode
	}
	return n, counter, err
}

// openArray opens an array.
func (h *Handler) openArray(ctx context.Context, node string) (*array, error) {
	p, err := h.find(node)
	if err != nil {
		return nil, err
	}
	n, counter, err := h.open(ctx, p)
	if err != nil {
		return nil, describable(err)
	}
	a, is := n.(*zarr.Array)
	if !is {
		n.Close() // it was only read
		return nil, refuse(http.StatusBadRequest, "this is a group: ask for one of the arrays below it")
	}
	return h.newArray(p, a, counter), nil
}

// openAlong opens an array that has the axis of a question.
func (h *Handler) openAlong(ctx context.Context, q *query) (*array, error) {
	a, err := h.openArray(ctx, q.node)
	if err == nil && (q.axis < 0 || q.axis >= a.Rank()) {
		a.Close() // it was only read
		err = refuse(http.StatusBadRequest, "axis= is the number of no axis")
	}
	return a, err
}

// openSelected opens an array, and selects the elements of a question.
func (h *Handler) openSelected(ctx context.Context, q *query) (*array, *zarr.View, error) {
	a, err := h.openArray(ctx, q.node)
	if err != nil {
		return nil, nil, err
	}
	v, err := cf.Select(ctx, a.Array, q.sel)
	if err != nil {
		err = a.unselected(ctx, err)
		a.Close() // it was only read
	}
	return a, v, err
}

// describable returns an error with a text for the client if it is about the document.
func describable(err error) error {
	if text := problemOf(err); text != "" {
		return refuse(http.StatusNotAcceptable, "%s", text)
	}
	return err
}

// problemOf says why a node cannot be opened, "" if the store is the reason.
func problemOf(err error) string {
	if place := (*zarr.Error)(nil); errors.As(err, &place) && !errors.Is(err, store.ErrUnsupported) {
		switch zarr.KindOf(err) {
		case "unsupported", "invalid-metadata", "limit", "overflow":
			return place.Err.Error()
		}
	}
	return ""
}

// member is a node in a list.
type member struct {
	Name       string   `json:"name"`
	Path       string   `json:"path,omitempty"` // NAME/PATH
	Kind       string   `json:"kind"`
	Title      string   `json:"title,omitempty"`
	Shape      []int64  `json:"shape,omitempty"`
	DataType   string   `json:"data_type,omitempty"`
	Dimensions []string `json:"dimensions,omitempty"`
	Problem    string   `json:"problem,omitempty"`
}

// describe sets what the document of a node says.
func (m *member) describe(doc metadata.Node, err error) {
	switch doc := doc.(type) {
	case *metadata.Array:
		m.Kind, m.Shape, m.Dimensions = "array", doc.Shape, snapshot.NamesOf(doc)
		m.DataType, m.Title = doc.DataType.Name, titleOf(doc.Attributes, "long_name")
	case *metadata.Group:
		m.Kind, m.Title = "group", titleOf(doc.Attributes, "title")
	}
	if err != nil {
		if m.Problem = problemOf(err); m.Problem == "" {
			m.Problem = "it cannot be read"
		}
	}
}

// titleOf returns an attribute that is a text.
func titleOf(object []byte, name string) string {
	raw, _, err := metadata.Attribute(object, name)
	if err != nil || raw == nil {
		return ""
	}
	text, err := strictjson.Parsed(raw).Str()
	if err != nil {
		return ""
	}
	return text
}

// listNodes lists the nodes.
func (h *Handler) listNodes(ctx context.Context, _ *query) (any, error) {
	list := make([]member, len(h.names))
	for i, name := range h.names {
		list[i].Name = name
		list[i].describe(h.nodes[name].at.Metadata(ctx, nil))
	}
	return map[string]any{"nodes": list, "program": h.Program}, ctx.Err()
}

// Limits of lists of members.
const (
	mostFound     = 100_000 // nodes that a search looks at
	mostSearch    = 2 * time.Second
	mostNames     = 2_000_000 // of one group
	defaultListed = 500
	defaultFound  = 200
)

// members is an answer.
type members struct {
	Members  []member `json:"members"`
	After    string   `json:"next"` // the last name, "" if there are no others
	Complete bool     `json:"complete"`
}

// listMembers lists the members of a group, or searches all nodes below it.
func (h *Handler) listMembers(ctx context.Context, q *query) (any, error) {
	p, err := h.find(q.node)
	if err != nil {
		return nil, err
	}
	doc, err := p.at.Metadata(ctx, nil)
	g, is := doc.(*metadata.Group)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errNoNode
	case err != nil:
		return nil, describable(err)
	case !is:
		return nil, refuse(http.StatusBadRequest, "this is an array, which has no members")
	}
	if q.find != "" {
		return h.search(ctx, p, q)
	}
	names, err := h.namesIn(ctx, p, g)
	if err != nil {
		return nil, err
	}
	if q.after != "" {
		names = names[sort.Search(len(names), func(i int) bool { return natural(q.after, names[i]) < 0 }):]
	}
	most, answer := int(max(q.limit, 0)), &members{Members: []member{}, Complete: true}
	if most == 0 {
		most = defaultListed
	}
	if len(names) > most {
		names, answer.After, answer.Complete = names[:most], names[most-1], false
	}
	list := make([]*member, len(names))
	group, within := parallel.New(ctx)
	group.SetLimit(engine.InFlight(p.at.Store(), 0, 2))
	for i, name := range names {
		group.Go(func() error {
			list[i] = h.member(within, p, g, name)
			return within.Err()
		})
	}
	if err := group.Wait(nil); err != nil {
		return nil, err
	}
	for _, m := range list {
		if m != nil {
			answer.Members = append(answer.Members, *m)
		}
	}
	return answer, nil
}

// namesIn returns the names of the members of a group, with those of other directories.
func (h *Handler) namesIn(ctx context.Context, p *place, g *metadata.Group) (names []string, err error) {
	if c := g.Consolidated; c != nil {
		for path := range c.Nodes() {
			if !strings.Contains(path, "/") {
				names = append(names, path)
			}
		}
	} else {
		root, err := store.ParsePath(p.at.Path())
		if err == nil {
			names, err = tree.Directories(ctx, p.at.Store(), root)
		}
		if errors.Is(err, store.ErrUnsupported) {
			return nil, refuse(http.StatusNotAcceptable, "the store cannot list, and the group has no consolidated metadata: ask for arrays by their names")
		}
		if err != nil && !errors.Is(err, store.ErrUnusable) {
			return nil, err
		}
	}
	if names = slices.DeleteFunc(names, plain.IsHidden); len(names) > mostNames {
		return nil, refuse(http.StatusRequestEntityTooLarge, "the group has more members than can be listed")
	}
	sort.Slice(names, func(i, j int) bool { return natural(names[i], names[j]) < 0 })
	return names, nil
}

// member describes a member, or returns nil if it is no node, or nobody may read it.
func (h *Handler) member(ctx context.Context, p *place, g *metadata.Group, name string) *member {
	m := &member{Name: name, Path: p.name + "/" + strings.TrimPrefix(p.path+"/"+name, "/")}
	if g.Consolidated != nil {
		m.describe(g.Consolidated.Entry(name, metadata.Limits{}))
		return m
	}
	doc, err := p.at.At(name).Metadata(ctx, nil)
	if doc == nil && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || ctx.Err() != nil) {
		return nil
	}
	m.describe(doc, err)
	return m
}

// search returns the nodes below a group whose paths have a text.
func (h *Handler) search(ctx context.Context, p *place, q *query) (any, error) {
	n, _, err := h.open(ctx, p)
	if err != nil {
		return nil, describable(err)
	}
	limited, cancel := context.WithTimeout(ctx, mostSearch)
	defer cancel()
	answer, text, looked := &members{Members: []member{}}, strings.ToLower(q.find), 0
	most := int(q.limit)
	if most < 0 {
		most = defaultFound
	}
	for m, err := range plain.Members(limited, n.(*zarr.Group), true) {
		looked++
		if limited.Err() != nil || looked > mostFound || len(answer.Members) >= most {
			return answer, ctx.Err()
		}
		if err != nil && m.Path == "" {
			return nil, err
		}
		if !strings.Contains(strings.ToLower(m.Path), text) {
			continue
		}
		found := member{Name: m.Name(), Path: p.name + "/" + strings.TrimPrefix(p.path+"/"+m.Path, "/"), Kind: m.Kind}
		switch n := m.Node.(type) {
		case *zarr.Array:
			found.describe(n.Metadata(), nil)
		case *zarr.Group:
			found.describe(n.Metadata(), nil)
		}
		if m.Err != nil {
			found.describe(nil, m.Err)
		}
		answer.Members = append(answer.Members, found)
	}
	answer.Complete = limited.Err() == nil
	return answer, ctx.Err()
}

// natural compares names as people do: numbers in them by their values.
func natural(a, b string) int {
	whole, other := a, b
	for a != "" && b != "" {
		m, n := digits(a), digits(b)
		if m == 0 || n == 0 {
			if a[0] != b[0] {
				return strings.Compare(a, b)
			}
			a, b = a[1:], b[1:]
			continue
		}
		x, y := strings.TrimLeft(a[:m], "0"), strings.TrimLeft(b[:n], "0")
		if len(x) != len(y) {
			return len(x) - len(y)
		}
		if x != y {
			return strings.Compare(x, y)
		}
		a, b = a[m:], b[n:]
	}
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(whole, other) // such as 01 and 1
}

// digits returns the number of digits that a text begins with.
func digits(text string) int {
	return len(text) - len(strings.TrimLeft(text, "0123456789"))
}
