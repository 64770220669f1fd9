// SPDX-License-Identifier: Apache-2.0

package conventions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/store/memstore"
)

// cases are, for each rule, nodes that replace those of a right hierarchy and break the
// rule, and others that do not. Each line is a node: its path, "group" or a data type,
// and the attributes. An array also has a shape and names of dimensions, "-" for none.
// "none" takes a node away.
type cases []struct {
	rule   string
	broken string
	right  string
	values map[string][]int32
}

// parse returns the nodes of lines.
func parse(t *testing.T, lines ...string) map[string]string {
	nodes := map[string]string{}
	for _, text := range lines {
		for line := range strings.Lines(text) {
			if path, rest, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
				nodes[strings.Trim(path, "/")] = rest
			}
		}
	}
	return nodes
}

// specOf returns the spec of a node. An array has no attributes if its line ends early.
func specOf(t *testing.T, line string) zarr.NodeSpec {
	t.Helper()
	kind, rest, _ := strings.Cut(line, " ")
	var s zarr.Spec
	if kind != "group" {
		shape, names, _ := strings.Cut(rest, " ")
		names, rest, _ = strings.Cut(names, " ")
		typ, err := dtype.Parse(kind, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Type = typ
		for n := range strings.SplitSeq(shape, ",") {
			if size, err := strconv.ParseInt(n, 10, 64); err == nil {
				s.Shape = append(s.Shape, size)
			}
		}
		if names != "-" && names != "" {
			s.DimensionNames = strings.Split(names, ",")
		}
	}
	a := json.RawMessage(cmp.Or(rest, "{}")) // numbers keep their digits
	if kind == "group" {
		return zarr.GroupSpec{Attributes: a}
	}
	s.Attributes = a
	return s
}

// kindsOf returns the names of the rules that nodes break, without duplicates.
func kindsOf(t *testing.T, names []string, format int, nodes map[string]string, values map[string][]int32) (kinds []string, said string) {
	t.Helper()
	ctx := t.Context()
	at := zarr.At(memstore.New(), "")
	specs := map[string]zarr.NodeSpec{}
	for path, line := range nodes {
		if line != "none" {
			specs[path] = specOf(t, line)
		}
	}
	if _, err := at.Create(ctx, specs, &zarr.CreateOptions{Format: format}); err != nil {
		t.Fatal(err)
	}
	for path, list := range values {
		a, err := at.At(path).OpenArray(ctx, &zarr.Options{Write: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := zarr.Write(ctx, a, nil, list); err != nil {
			t.Fatal(err)
		}
		a.Close()
	}
	g, err := at.OpenGroup(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := New(names, g, true)
	if err != nil {
		t.Fatal(err)
	}
	tree.Add("", g, "")
	for m, err := range g.Members(ctx, true) {
		if err != nil {
			t.Fatal(err)
		}
		disorder := ""
		if strings.HasSuffix(m.Path, "disordered") {
			disorder = "out of order"
		}
		tree.Add(m.Path, m.Node, disorder)
	}
	found, err := tree.Findings(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		said += fmt.Sprintf("%s: %s: %s\n", f.Path, f.Name, f.Message)
		if !slices.Contains(kinds, f.Name) {
			kinds = append(kinds, f.Name)
		}
	}
	return kinds, said
}

// run checks cases beside a right hierarchy.
func (s cases) run(t *testing.T, name, base string, format int) {
	for _, c := range s {
		t.Run(c.rule, func(t *testing.T) {
			rule := name + "/" + c.rule
			values := c.values
			if c.broken != "" {
				got, said := kindsOf(t, []string{name}, format, parse(t, base, c.broken), values)
				if !slices.Equal(got, []string{rule}) {
					t.Errorf("broken: %q, want only %s\n%s", got, rule, said)
				}
			}
			if got, said := kindsOf(t, []string{name}, format, parse(t, base, c.right), nil); got != nil {
				t.Errorf("right: %q\n%s", got, said)
			}
			tried[rule] = tried[rule] || c.broken != ""
		})
	}
}

// tried are the rules that some case breaks.
var tried = map[string]bool{}

// TestMain fails if a rule has no case.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && len(tried) > 40 { // not a single test
		for _, r := range Rules() {
			if !tried[r.Name] {
				fmt.Println("no case breaks", r.Name)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// TestDocument compares docs/conventions.md with the rules.
func TestDocument(t *testing.T) {
	document, err := os.ReadFile("../../docs/conventions.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows, rules [][]string
	for line := range strings.Lines(string(document)) {
		if strings.HasPrefix(line, "| `") {
			cells := strings.Split(strings.TrimSpace(line), " | ")
			if len(cells) != 5 || cells[3] == "" {
				t.Fatalf("%s is not a row of five cells", line)
			}
			rows = append(rows, []string{strings.Trim(cells[0], "| `"), cells[1], cells[2], strings.TrimSuffix(cells[4], " |")})
		}
	}
	for _, r := range Rules() {
		rules = append(rules, []string{r.Name, r.Section, map[bool]string{true: "should", false: "must"}[r.Advice], r.Remedy})
	}
	if !slices.EqualFunc(rows, rules, slices.Equal) {
		t.Errorf("docs/conventions.md has\n%q\nand the rules are\n%q", rows, rules)
	}
}

// FuzzRules asks all rules about nodes with any attributes. They may not panic, and their
// findings have names of rules.
func FuzzRules(f *testing.F) {
	for _, lines := range []string{weather, slide, flat, old, table} {
		for line := range strings.Lines(lines) {
			if i := strings.Index(line, "{"); i > 0 {
				f.Add([]byte(strings.TrimSpace(line[i:])), uint8(i))
			}
		}
	}
	for _, text := range []string{proj, spatial, multiscales} {
		f.Add([]byte(`{"zarr_conventions":[`+text+`],"spatial:bbox":[1],"multiscales":{"layout":[{"asset":1}]}}`), uint8(1))
	}
	f.Fuzz(func(t *testing.T, attributes []byte, shape uint8) {
		one := newTree(Names())
		one.whole = true
		rank := int(shape % 4)
		dims := [][]string{nil, {"a"}, {"b", "a"}, {"", "a", "a"}}[shape/4%4]
		for _, n := range []*node{
			{path: "", kind: "group", name: "labels"}, {path: "0", kind: "array", name: "0", shape: make([]int64, rank), dims: dims, typ: dtype.Int16},
			{path: "a", kind: "array", name: "a", shape: []int64{0}, dims: []string{"a"}, typ: dtype.Float32, coordinate: true}, {path: "obs", kind: "group"}, {path: "gone"},
		} {
			n.attributes, n.format = attributes, 2+rank%2
			one.nodes = append(one.nodes, n)
			one.byPath[n.path] = n
			one.members[""] = append(one.members[""], n)
		}
		found, err := one.Findings(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if f.Section == "" || f.Message == "" || f.Remedy == "" {
				t.Errorf("%+v", f)
			}
		}
	})
}

// TestUnknown says nothing about what the tree does not know: names that may lead above
// the node that is checked, and nodes that could not be listed.
func TestUnknown(t *testing.T) {
	ctx := t.Context()
	s := memstore.New()
	at := zarr.At(s, "")
	nodes := parse(t, `
		/ group
		/lat float32 3 lat
		/sub group {"ome": {"version": "0.5", "multiscales": [{"axes": [{"name": "y", "type": "space", "unit": "m"}, {"name": "x", "type": "space", "unit": "m"}], "datasets": [{"path": "gone", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}]}]}}
		/sub/t float32 3 lat {"units": "K", "coordinates": "/gone lat elsewhere"}`)
	specs := map[string]zarr.NodeSpec{}
	for path, line := range nodes {
		specs[path] = specOf(t, line)
	}
	if _, err := at.Create(ctx, specs, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		top  string
		miss bool
		want []string
	}{
		{"", false, []string{"cf/conventions", "cf/coordinates", "ome/dataset"}},
		{"", true, []string{"cf/conventions"}},
		{"sub", false, []string{"ome/dataset"}},
		{"sub", true, nil},
		{"sub/t", false, nil},
	} {
		n, err := at.At(c.top).Open(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := New(Names(), n, true)
		if err != nil {
			t.Fatal(err)
		}
		tree.Add("", n, "")
		if g, ok := n.(*zarr.Group); ok {
			for m, err := range g.Members(ctx, true) {
				if err != nil {
					t.Fatal(err)
				}
				tree.Add(m.Path, m.Node, "")
			}
		}
		if c.miss {
			tree.Miss()
		}
		tree.Add("unreadable", nil, "")
		found, err := tree.Findings(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, f := range found {
			kinds = append(kinds, f.Name)
		}
		if slices.Sort(kinds); !slices.Equal(slices.Compact(kinds), c.want) {
			t.Errorf("%q, miss %v: %q, want %q", c.top, c.miss, kinds, c.want)
		}
	}
	g, err := at.OpenGroup(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := New([]string{"cf"}, g, true)
	if err != nil {
		t.Fatal(err)
	}
	plain.Add("", g, "")
	if found, err := plain.Findings(ctx); found != nil || err != nil {
		t.Errorf("a group without CF: %v, %v", found, err)
	}
	if _, err := New([]string{"acdd"}, g, true); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Errorf("an unknown convention: %v", err)
	}
	none, err := New(nil, g, true)
	none.Add("", g, "")
	none.Miss()
	if found, bad := none.Findings(ctx); err != nil || bad != nil || found != nil {
		t.Errorf("no convention: %v, %v, %v", found, err, bad)
	}
}

// TestMany lists the first findings of a rule, counts the others, and forgets what it has
// decoded.
func TestMany(t *testing.T) {
	tree := newTree([]string{"cf"})
	for i := range 3000 {
		n := &node{path: strconv.Itoa(i), kind: "array", attributes: []byte(`{"axis": "N"}`)}
		tree.nodes = append(tree.nodes, n)
		tree.byPath[n.path] = n
	}
	found, err := tree.Findings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	listed := 0
	for _, f := range found {
		if f.Name == "cf/axis" {
			listed++
		}
	}
	if last := found[len(found)-1]; listed != mostListed+1 || !strings.Contains(last.Message, "2,900 more") && !strings.Contains(last.Message, "2900 more") {
		t.Errorf("%d findings are listed, the last is %v", listed, last)
	}
	if len(tree.decoded) > 1000 {
		t.Errorf("the attributes of %d nodes are in memory", len(tree.decoded))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tree.Findings(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}
