// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"net/http"
	"path"
	"strconv"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/nonfinite"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// arrayFacts is what a page needs to draw an array.
type arrayFacts struct {
	Path       string            `json:"path"`
	Version    string            `json:"version"`
	Format     int               `json:"format"`
	Shape      []int64           `json:"shape"`
	DataType   string            `json:"data_type"`
	Kind       string            `json:"kind"`
	Fields     []string          `json:"fields,omitempty"`
	Dimensions []string          `json:"dimensions"`
	Fill       json.RawMessage   `json:"fill_value"`
	Attributes json.RawMessage   `json:"attributes"`
	LongName   string            `json:"long_name"`
	Units      string            `json:"units"`
	Missing    []json.RawMessage `json:"missing"`
	Factor     float64           `json:"scale"`
	Offset     float64           `json:"offset"`
	Flags      []flag            `json:"flags"`
	Axes       []axisFacts       `json:"axes"`
	Plane      *planeOf          `json:"plane"`
	Levels     []level           `json:"levels"`
	Stored     *storedFacts      `json:"stored"`
	Statistics *statisticsFacts  `json:"statistics"`
	Facts
	Pair    []string `json:"pair"`
	Ragged  string   `json:"ragged,omitempty"` // the ragged set that the array belongs to
	Problem string   `json:"problem,omitempty"`
}

func (f *arrayFacts) tag() string { return f.Version }

// axisFacts is an axis.
type axisFacts struct {
	Name       string      `json:"name"`
	Length     int64       `json:"length"`
	Edges      runs        `json:"edges"` // of chunks or shards; null if they are too many
	Inner      runs        `json:"inner"` // of inner chunks; null if there are none
	Coordinate *coordinate `json:"coordinate"`
	Role       string      `json:"role"`
}

// flag is a value with a meaning.
type flag struct {
	Value   json.RawMessage `json:"value"`
	Meaning string          `json:"meaning"`
	Color   string          `json:"color,omitempty"`
}

// describeArray describes an array.
func (h *Handler) describeArray(ctx context.Context, q *query) (any, error) {
	p, err := h.find(q.node)
	if err != nil {
		return nil, err
	}
	n, counter, err := h.open(ctx, p)
	if problemOf(err) != "" {
		return h.describeDocument(ctx, p, err)
	}
	if err != nil {
		return nil, err
	}
	opened, is := n.(*zarr.Array)
	if !is {
		return nil, refuse(400, "this is a group: group describes it, and members lists the nodes below it")
	}
	a := h.newArray(p, opened, counter)
	defer a.Close() // it was only read
	f := documentFacts(a.state.Doc)
	f.Path, f.Version, f.DataType, f.Kind = a.node(), a.version, a.state.Type.String(), a.kind(ctx)
	f.Fill = json.RawMessage(a.FillValue().JSON())
	for _, one := range a.state.Type.Fields() {
		f.Fields = append(f.Fields, one.Name)
	}
	if packing, err := cf.PackingOf(ctx, a.Array); err == nil && cf.IsNumeric(a.state.Type) {
		if x, y := packing.Scale(); !math.IsInf(x, 0) && !math.IsInf(y, 0) && x == x && y == y { // JSON has no others
			f.Factor, f.Offset = x, y
		}
		for _, elem := range packing.Missing() {
			f.Missing = append(f.Missing, packing.Type().AppendJSON(nil, elem))
		}
	}
	for i := range a.Rank() {
		axis := axisFacts{Name: f.Dimensions[i], Length: f.Shape[i], Edges: runsIn(a.state.Grid.Axis(i))}
		if a.units != a.state.Grid {
			axis.Inner = runsIn(a.units.Axis(i))
		}
		c, err := a.coordinateOf(ctx, i)
		if err != nil {
			return nil, err
		}
		if axis.Role = roleOf(axis.Name, c); c != nil {
			axis.Coordinate = c
			err = errors.Join(c.measure(ctx, h), c.array.Close())
		}
		if f.Axes = append(f.Axes, axis); err != nil {
			return nil, err
		}
	}
	f.Plane = proposePlane(f.Axes, f.Shape)
	if f.Levels, err = a.levels(ctx); err != nil {
		return nil, err
	}
	if f.Pair, err = a.pairs(ctx); err != nil {
		return nil, err
	}
	if err := a.addHoldings(ctx, f); err != nil {
		return nil, err
	}
	return f, h.addFacts(ctx, p, opened, &f.Facts)
}

// addFacts adds what the program says of a node.
func (h *Handler) addFacts(ctx context.Context, p *place, n zarr.Node, to *Facts) error {
	*to = Facts{[][2]string{}, []Finding{}, []Code{}}
	if h.Options.Facts == nil {
		return nil
	}
	name := p.name
	if p.path != "" {
		name += "/" + p.path
	}
	found, err := h.Options.Facts(ctx, name, p.at, n)
	if err != nil || found == nil {
		return err
	}
	to.Facts, to.Findings, to.Open = append(to.Facts, found.Facts...), append(to.Findings, found.Findings...), append(to.Open, found.Open...)
	return nil
}

// describeDocument describes an array that cannot be opened, as far as its document does.
func (h *Handler) describeDocument(ctx context.Context, p *place, problem error) (any, error) {
	doc, err := p.at.Metadata(ctx, nil)
	d, is := doc.(*metadata.Array)
	if !is {
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			err = problem
		}
		return nil, describable(err)
	}
	f := documentFacts(d)
	f.Path, f.Problem = strings.TrimSuffix(p.name+"/"+p.path, "/"), problemOf(problem)
	for i, n := range f.Shape {
		f.Axes = append(f.Axes, axisFacts{Name: f.Dimensions[i], Length: n, Role: roleOf(f.Dimensions[i], nil)})
	}
	return f, h.addFacts(ctx, p, nil, &f.Facts)
}

// documentFacts returns what a document says.
func documentFacts(doc *metadata.Array) *arrayFacts {
	f := &arrayFacts{
		Format: doc.Format(), Shape: append([]int64{}, doc.Shape...), DataType: doc.DataType.Name, Kind: "number", Dimensions: make([]string, len(doc.Shape)),
		Fill: doc.FillValue, Attributes: doc.Attributes, LongName: titleOf(doc.Attributes, "long_name"), Units: titleOf(doc.Attributes, "units"),
		Missing: []json.RawMessage{}, Factor: 1, Flags: flagsOf(doc.Attributes), Axes: []axisFacts{}, Levels: []level{}, Pair: []string{},
	}
	for i, name := range doc.DimensionNames {
		if name != nil {
			f.Dimensions[i] = *name
		}
	}
	if len(f.Attributes) == 0 {
		f.Attributes = json.RawMessage("{}")
	}
	if len(f.Fill) == 0 {
		f.Fill = json.RawMessage("null")
	}
	return f
}

// kind returns what the elements are for people.
func (a *array) kind(ctx context.Context) string {
	t := a.state.Type
	if len(flagsOf(a.state.Doc.Attributes)) > 0 && cf.IsNumeric(t) {
		return "enum"
	}
	if cf.IsNumeric(t) {
		if d, err := cf.DecodingOf(ctx, a.Array); err == nil && d != nil {
			if _, is := d.Units().Times(); is {
				return "time"
			}
			t = d.Type()
		}
	}
	switch t.Kind() {
	case dtype.KindBool:
		return "bool"
	case dtype.KindComplex:
		return "complex"
	case dtype.KindString, dtype.KindUTF32:
		return "text"
	case dtype.KindBytes, dtype.KindTerminated, dtype.KindRaw:
		return "bytes"
	case dtype.KindDatetime:
		return "time"
	case dtype.KindTimedelta:
		return "duration"
	case dtype.KindStruct:
		return "struct"
	}
	return "number"
}

// mostFlags bounds the flags that are told.
const mostFlags = 1024

// flagsOf returns the meanings of values (CF conventions, section 3.5).
func flagsOf(object []byte) []flag {
	flags, colors := []flag{}, strings.Fields(titleOf(object, "flag_colors"))
	meanings := strings.Fields(titleOf(object, "flag_meanings"))
	raw, _, err := metadata.Attribute(object, "flag_values")
	if err != nil || raw == nil || len(meanings) == 0 {
		return flags
	}
	values := strictjson.Parsed(raw)
	if values.Kind() != strictjson.Array {
		// A single value may stand alone.
		return append(flags, flag{nonfinite.Bare(raw), meanings[0], colorOf(colors, 0)})
	}
	for i, v := range values.Elements() {
		if i >= min(len(meanings), mostFlags) {
			break
		}
		if _, err := strconv.ParseFloat(string(v.Raw()), 64); err == nil {
			flags = append(flags, flag{v.Raw(), meanings[i], colorOf(colors, i)})
		}
	}
	return flags
}

func colorOf(colors []string, i int) string {
	if i < len(colors) {
		return colors[i]
	}
	return ""
}

// mostPairs bounds the arrays that are proposed to be shown beside another one.
const mostPairs = 100

// pairs returns the arrays of the same group with the same dimensions.
func (a *array) pairs(ctx context.Context) ([]string, error) {
	list := []string{}
	if a.path == "" {
		return list, nil
	}
	below := path.Dir(a.path)
	if below == "." {
		below = ""
	}
	q := &query{node: strings.TrimSuffix(a.name+"/"+below, "/"), limit: mostPairs}
	found, err := a.h.listMembers(ctx, q)
	if err != nil {
		return list, ctx.Err() // such as of a store that cannot list
	}
	names, shape := a.DimensionNames(), a.Shape()
	for _, m := range found.(*members).Members {
		if m.Kind != "array" || m.Problem != "" || m.Path == a.node() || len(m.Shape) != len(shape) || len(shape) == 0 {
			continue
		}
		same := len(m.Dimensions) == len(names)
		for i := range shape {
			same = same && m.Shape[i] == shape[i] && (names == nil || m.Dimensions[i] == names[i])
		}
		if same {
			list = append(list, m.Path)
		}
	}
	return list, nil
}

// describedGroup is a group.
type describedGroup struct {
	Path       string          `json:"path"`
	Format     int             `json:"format"`
	Attributes json.RawMessage `json:"attributes"`
	Members    int             `json:"members"` // -1 if they cannot be listed
	Title      string          `json:"title"`
	Table      *tableFacts     `json:"table,omitempty"`
	Facts
}

// tableFacts names the columns of a group that is a table.
type tableFacts struct {
	Columns []string `json:"columns"`
}

// describeGroup describes a group.
func (h *Handler) describeGroup(ctx context.Context, q *query) (any, error) {
	p, err := h.find(q.node)
	if err != nil {
		return nil, err
	}
	n, _, err := h.open(ctx, p)
	if err != nil {
		return nil, describable(err)
	}
	defer n.Close() // it was only read
	g, is := n.(*zarr.Group)
	if !is {
		return nil, refuse(http.StatusBadRequest, "this is an array: array describes it")
	}
	doc := g.Metadata()
	d := &describedGroup{Path: strings.TrimSuffix(p.name+"/"+p.path, "/"), Format: g.Format(), Attributes: g.Attributes(), Members: -1, Title: titleOf(doc.Attributes, "title")}
	if len(d.Attributes) == 0 {
		d.Attributes = json.RawMessage("{}")
	}
	names, err := h.namesIn(ctx, p, doc)
	if err == nil {
		d.Members = len(names)
	} else if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if d.Table, err = h.tableOf(ctx, p, doc, names); err != nil {
		return nil, err
	}
	return d, h.addFacts(ctx, p, g, &d.Facts)
}

// mostColumns bounds the columns of a table.
const mostColumns = 256

// tableOf returns the columns of a group that is a table: some arrays of one axis that
// all have the same length, and nothing else.
func (h *Handler) tableOf(ctx context.Context, p *place, g *metadata.Group, names []string) (*tableFacts, error) {
	if len(names) < 2 || len(names) > mostColumns {
		return nil, nil
	}
	t, length := &tableFacts{}, int64(-1)
	for _, name := range names {
		m := h.member(ctx, p, g, name)
		if m == nil {
			continue
		}
		if m.Kind != "array" || len(m.Shape) != 1 || length >= 0 && m.Shape[0] != length {
			return nil, ctx.Err()
		}
		length = m.Shape[0]
		t.Columns = append(t.Columns, name)
	}
	if len(t.Columns) < 2 {
		return nil, ctx.Err()
	}
	return t, ctx.Err()
}
