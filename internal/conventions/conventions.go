// SPDX-License-Identifier: Apache-2.0

// Package conventions finds what breaks the conventions that documents follow: CF,
// OME-Zarr, the conventions that the attribute zarr_conventions registers, and anndata.
//
// A [Tree] collects what the rules read of each node: the shape, the names of dimensions,
// the data type and the attributes. Then [Tree.Findings] asks the rules about each node.
// The rules say only what the documents themselves show. There is no table of units or of
// standard names, so an unknown one is no finding. Nor is a reference that leads out of
// the nodes that the tree knows.
package conventions

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/quantity"
)

// Rule is one requirement of a convention, or one recommendation.
type Rule struct {
	// Name is the name of the convention and that of the rule: "cf/calendar".
	Name string
	// Section is where the convention asks for it: "CF 4.4.3".
	Section string
	// Advice is set for what a convention recommends. Else it says "must".
	Advice bool
	// Remedy is what would help.
	Remedy string
}

// convention is the rules of a convention, and the method that asks them about a node.
type convention struct {
	name  string
	rules []Rule
	ask   func(*judge)
}

var all = []convention{
	{"cf", cfRules, (*judge).cf},
	{"ome", omeRules, (*judge).ome},
	{"geozarr", geoRules, (*judge).geo},
	{"anndata", anndataRules, (*judge).anndata},
}

// Names returns the names of the conventions.
func Names() (names []string) {
	for _, c := range all {
		names = append(names, c.name)
	}
	return names
}

// Rules returns the rules of all conventions.
func Rules() (rules []Rule) {
	for _, c := range all {
		rules = append(rules, c.rules...)
	}
	return rules
}

// Finding says that a node breaks a rule.
type Finding struct {
	Rule
	Path    string // of the node, relative to the one at the top of the tree
	Message string
}

// Tree is what the rules read of a node and of those below it. A nil Tree has no rules.
type Tree struct {
	values   bool // elements may be read
	whole    bool // the top is the root of a store: no name leads above it
	partial  bool // nodes below the top may be missing from the tree
	at       *zarr.Location
	names    []string
	nodes    []*node
	byPath   map[string]*node
	decoded  map[*node]object // of the nodes that were looked at last
	members  map[string][]*node
	root     object          // the attributes of the first node
	dims     map[string]bool // of all arrays
	attached bool            // some array has attributes of CF
	indirect bool            // some array connects dimensions by its values
	found    []Finding
	count    map[string]int64 // findings by the name of the rule
}

// node is what the rules read of one node.
type node struct {
	path, kind string // "" for a node that cannot be read
	name       string // that of its folder
	coordinate bool   // of a dimension
	format     int
	shape      []int64
	dims       []string // "" for a dimension without a name; nil if there are no names
	typ        dtype.Type
	attributes []byte
	disorder   string // how the values of a coordinate are out of order
}

// New returns a tree for a node, which is added first, and conventions by their names;
// without names it is nil. If values is set, the rules may read elements, of arrays with
// at most a million of them.
func New(names []string, top zarr.Node, values bool) (*Tree, error) {
	if len(names) == 0 {
		return nil, nil
	}
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("%w: convention %q; there are %s", zarr.ErrInvalidArgument, name, strings.Join(Names(), ", "))
		}
	}
	t := newTree(names)
	_, isGroup := top.(*zarr.Group)
	t.values, t.whole, t.at = values, isGroup && top.Path() == "", top.Location()
	return t, nil
}

func newTree(names []string) *Tree {
	return &Tree{
		names: names, byPath: map[string]*node{}, decoded: map[*node]object{}, members: map[string][]*node{},
		dims: map[string]bool{}, count: map[string]int64{},
	}
}

// Miss says that an error keeps nodes below the top out of the tree. No name is known to
// lead nowhere then.
func (t *Tree) Miss() {
	if t != nil {
		t.partial = true
	}
}

// Add adds the top, and then a node below it, which is nil if it cannot be read. disorder
// says how the values of a coordinate are out of order, or is "".
func (t *Tree) Add(at string, n zarr.Node, disorder string) {
	if t == nil {
		return
	}
	one := &node{path: at, disorder: disorder}
	switch n := n.(type) {
	case *zarr.Array:
		doc := n.Metadata()
		one.kind, one.name, one.format, one.attributes = "array", path.Base(n.Path()), doc.Format(), doc.Attributes
		one.coordinate = cf.IsCoordinate(n)
		one.shape, one.dims, one.typ = doc.Shape, n.DimensionNames(), n.Type()
	case *zarr.Group:
		doc := n.Metadata()
		one.kind, one.name, one.format, one.attributes = "group", path.Base(n.Path()), doc.Format(), doc.Attributes
	}
	t.nodes = append(t.nodes, one)
	t.byPath[at] = one
	if at != "" {
		t.members[parent(at)] = append(t.members[parent(at)], one)
	}
	for _, name := range one.dims {
		t.dims[name] = true
	}
}

// mostListed bounds the findings of one rule that are listed. An archive may have a
// hundred thousand arrays with the same fault.
const mostListed = 100

// Findings asks the rules about each node. It fails only if ctx ends.
func (t *Tree) Findings(ctx context.Context) ([]Finding, error) {
	if t == nil {
		return nil, nil
	}
	t.root = t.attributesOf(t.nodes[0])
	for _, n := range t.nodes {
		a := t.attributesOf(n)
		t.attached = t.attached || n.kind == "array" && carriesCF(a)
		for _, name := range []string{"sample_dimension", "instance_dimension", "compress"} {
			t.indirect = t.indirect || a[name] != nil
		}
	}
	for _, c := range all {
		if !slices.Contains(t.names, c.name) {
			continue
		}
		for _, n := range t.nodes {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if n.kind != "" {
				c.ask(&judge{Tree: t, ctx: ctx, by: &c, node: n, a: t.attributesOf(n)})
			}
		}
		for _, r := range c.rules {
			if more := t.count[r.Name] - mostListed; more > 0 {
				t.found = append(t.found, Finding{r, "", "this rule has " + quantity.Count(more, "more findings")})
			}
		}
	}
	return t.found, ctx.Err()
}

// attributesOf returns the attributes of a node. Those of the nodes that were looked at
// last are kept, because a group and its members are looked at together.
func (t *Tree) attributesOf(n *node) object {
	if a, ok := t.decoded[n]; ok {
		return a
	}
	if len(t.decoded) >= 1000 {
		clear(t.decoded)
	}
	var a object
	_ = json.Unmarshal(n.attributes, &a) // the document was parsed before
	t.decoded[n] = a
	return a
}

// judge asks the rules of a convention about one node, whose attributes are a.
type judge struct {
	*Tree
	*node
	ctx context.Context
	by  *convention
	a   object
}

// broken records that the node breaks a rule of the convention.
func (j *judge) broken(rule, format string, args ...any) {
	name := j.by.name + "/" + rule
	if t := j.Tree; t.count[name] < mostListed {
		i := slices.IndexFunc(j.by.rules, func(r Rule) bool { return r.Name == name })
		t.found = append(t.found, Finding{j.by.rules[i], j.path, fmt.Sprintf(format, args...)})
	}
	j.Tree.count[name]++
}

// member returns the node at a path below a group, or nil. judged is false if there may
// be one that the tree does not know.
func (j *judge) member(group, name string) (n *node, judged bool) {
	n = j.byPath[joined(group, name)]
	return n, n != nil || !j.partial && (j.whole || !strings.HasPrefix(path.Join(group, name), ".."))
}

// joined returns the path of a node below a group.
func joined(group, name string) string {
	return strings.TrimPrefix(path.Join("/", group, name), "/")
}

// parent returns the path of the group around a node.
func parent(of string) string { return joined(of, "..") }

// find returns the array that a name in the attributes of an array means (CF 2.7): one
// beside it, else one of the nearest group above, or one at a path. It returns nil if
// there is none; judged is false if it may be where the tree does not reach.
func (j *judge) find(name string) (n *node, judged bool) {
	group := parent(j.path)
	if strings.Contains(name, "/") {
		if strings.HasPrefix(name, "/") {
			group = ""
		}
		n = j.byPath[joined(group, name)]
		return n, n != nil || j.whole && !j.partial
	}
	for {
		if n = j.byPath[joined(group, name)]; n != nil || group == "" {
			return n, n != nil || j.whole && !j.partial
		}
		group = parent(group)
	}
}
