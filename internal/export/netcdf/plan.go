// SPDX-License-Identifier: Apache-2.0

package netcdf

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/quantity"
)

// group is a group of a file.
type group struct {
	name       string
	at         string // for messages
	above      *group
	attributes []attribute
	dimensions []*dimension // that are defined here
	variables  []*variable
	groups     []*group
}

// dimension is a shared dimension.
type dimension struct {
	name      string
	length    int64
	unlimited bool
	id        int32
	// coordinate is the variable of the same name whose first axis the dimension is, in
	// the group of the dimension; nil if there is none.
	coordinate *variable
}

// variable is an array of a file.
type variable struct {
	form
	name       string
	at         string // for messages
	source     *export.Source
	dimensions []*dimension
	attributes []attribute
	// fill is the element, in host byte order, of places that were never written. It is
	// nil for zero, and for text of variable length.
	fill []byte
	// pad is the same element as the array has it, for what chunks have beyond the array:
	// the elements of an axis that grows. It is nil for zero.
	pad   []byte
	chunk []int64 // of the elements; without the axis of characters
}

// shape returns the lengths of the dimensions.
func (v *variable) shape() []int64 {
	shape := make([]int64, len(v.dimensions))
	for i, d := range v.dimensions {
		shape[i] = d.length
	}
	return shape
}

// isUnlimited reports whether an axis can grow.
func (v *variable) isUnlimited() bool {
	return slices.ContainsFunc(v.dimensions, func(d *dimension) bool { return d.unlimited })
}

// planner makes the plan of a file.
type planner struct {
	Format
	ctx   context.Context
	ids   int32
	names map[string]bool // of all dimensions
}

// plan returns what a file has. It reads no elements.
func (f Format) plan(ctx context.Context, d *export.Dataset) (*group, error) {
	p := &planner{Format: f, ctx: ctx, names: map[string]bool{}}
	root, err := p.group(nil, "", d)
	if err != nil {
		return nil, err
	}
	for _, name := range f.Unlimited {
		if !p.names[name] {
			return nil, unfit("no array has a dimension %q, which is to be unlimited: there are %s", name, quantity.List(slices.Sorted(maps.Keys(p.names))...))
		}
	}
	return root, f.checkVariant(root)
}

// group plans a group and all below it. Dimensions of the groups above come first,
// because the groups below use them.
func (p *planner) group(above *group, at string, d *export.Dataset) (*group, error) {
	g := &group{name: d.Name, at: at, above: above}
	for _, a := range d.Attributes {
		if !strings.HasPrefix(a.Name, own.Attributes) {
			g.attributes = append(g.attributes, attributeOf(a.Name, a.Value, 0))
		}
	}
	for _, v := range d.Variables {
		if err := p.variable(g, v); err != nil {
			return nil, fmt.Errorf("%s: %w", path.Join(at, v.Name), err)
		}
	}
	for _, v := range g.variables {
		if len(v.dimensions) > 0 && v.dimensions[0].name == v.name && slices.Contains(g.dimensions, v.dimensions[0]) {
			v.dimensions[0].coordinate = v
		}
	}
	for _, below := range d.Groups {
		child, err := p.group(g, path.Join(at, below.Name), below)
		if err != nil {
			return nil, err
		}
		g.groups = append(g.groups, child)
	}
	return g, nil
}

// variable plans an array.
func (p *planner) variable(g *group, from *export.Variable) (err error) {
	v := &variable{name: from.Name, at: path.Join(g.at, from.Name), source: from.Source}
	decoded := v.source.Decoding != nil
	// Decoded times would only be encoded again: programs that read netCDF decode them.
	if _, times := v.source.Units.Times(); decoded && times || v.source.Type.Variable() && !v.source.Stored.Variable() {
		v.source, decoded = v.source.Undecoded(), false
	}
	if k := v.source.Type.Kind(); decoded && k == dtype.KindTimedelta {
		v.source, decoded = v.source.Undecoded(), false
	}
	if v.form, err = formOf(v.source.Type); err != nil {
		return err
	}
	if err := p.narrow(v, from, decoded); err != nil {
		return err
	}
	unlimited := growing(from, v.source.Array)
	for i, name := range from.Dimensions {
		d, err := p.dimension(g, v, name, v.source.Shape[i], slices.Contains(unlimited, i))
		if err != nil {
			return err
		}
		v.dimensions = append(v.dimensions, d)
	}
	if v.length > 0 {
		// As xarray names the axis of the characters.
		d, err := p.dimension(g, v, "string"+strconv.FormatInt(v.length, 10), v.length, false)
		if err != nil {
			return err
		}
		v.dimensions = append(v.dimensions, d)
	}
	if err := p.attributes(v, from, decoded); err != nil {
		return err
	}
	v.chunk = chunkOf(v)
	g.variables = append(g.variables, v)
	return nil
}

// dimension returns the dimension of an axis: one of the group or of a group above with
// the name and the length, or a new one of the group.
func (p *planner) dimension(g *group, v *variable, name string, length int64, grows bool) (*dimension, error) {
	if name == "" {
		return p.anonymous(g, v, length), nil
	}
	p.names[name] = true
	grows = slices.Contains(p.Unlimited, name) || grows && p.Unlimited == nil
	for at := g; at != nil; at = at.above {
		i := slices.IndexFunc(at.dimensions, func(d *dimension) bool { return d.name == name })
		switch {
		case i < 0:
			continue
		case at.dimensions[i].length == length:
			at.dimensions[i].unlimited = at.dimensions[i].unlimited || grows
			return at.dimensions[i], nil
		case at == g:
			return nil, unfit("its dimension %q has length %d, and that of other arrays of the group has %d: in netCDF all have one length. Export the arrays one by one, or give some another dimension name", name, length, at.dimensions[i].length)
		}
		break // the group has one of its own, as a group of xarray may
	}
	return p.add(g, name, length, grows), nil
}

// anonymous returns a dimension for an axis without a name. Like netCDF-C, which invents
// such names for other files of HDF5, it takes one of the length that the array does not
// have yet.
func (p *planner) anonymous(g *group, v *variable, length int64) *dimension {
	n := 0
	for _, d := range g.dimensions {
		if number, ok := phonyNumber(d.name); ok {
			if n = max(n, number+1); d.length == length && !slices.Contains(v.dimensions, d) {
				return d
			}
		}
	}
	return p.add(g, phony+strconv.Itoa(n), length, false)
}

const phony = "phony_dim_"

// phonyNumber returns the number in the name of a dimension that was invented.
func phonyNumber(name string) (int, bool) {
	if len(name) <= len(phony) || name[:len(phony)] != phony {
		return 0, false
	}
	n, err := strconv.Atoi(name[len(phony):])
	return n, err == nil
}

// add adds a dimension to a group. NetCDF has no dimension of length 0 that cannot grow.
func (p *planner) add(g *group, name string, length int64, grows bool) *dimension {
	d := &dimension{name: name, length: length, unlimited: grows || length == 0, id: p.ids}
	p.ids++
	g.dimensions = append(g.dimensions, d)
	return d
}

// growing returns the axes of a selection along which the array grows by its policy.
func growing(v *export.Variable, a *zarr.Array) []int {
	for _, attribute := range v.Attributes {
		if attribute.Name != own.Growth {
			continue
		}
		axis := int64(0)
		if member, ok := attribute.Value.Member("axis"); ok {
			if name, err := member.Str(); err == nil {
				return []int{slices.Index(v.Dimensions, name)}
			}
			axis, _ = member.Int64()
		}
		if names := a.DimensionNames(); names != nil && axis >= 0 && axis < int64(len(names)) {
			return []int{slices.Index(v.Dimensions, names[axis])}
		}
	}
	return nil
}

// decodedAttributes are the attributes that do not hold for decoded elements.
var decodedAttributes = []string{
	missing.FillValue, missing.Value, missing.Unsigned, "scale_factor", "add_offset", "valid_min", "valid_max", "valid_range",
}

// attributes sets the attributes of a variable and its fill value.
func (p *planner) attributes(v *variable, from *export.Variable, decoded bool) error {
	absent, err := p.absent(v, from, decoded)
	if err != nil {
		return err
	}
	if v.kind == kindString {
		absent = nil
	}
	if v.pad = absent; absent != nil {
		v.fill = v.element(absent)
		v.attributes = append(v.attributes, attribute{name: missing.FillValue, kind: v.kind, data: v.fill})
	} else if !decoded && v.kind != kindString && v.length == 0 {
		v.pad = cf.FillOf(v.source.Array)
		v.fill = v.element(v.pad)
	}
	if !slices.ContainsFunc(v.fill, func(b byte) bool { return b != 0 }) {
		v.fill = nil
	}
	for _, a := range from.Attributes {
		if decoded && slices.Contains(decodedAttributes, a.Name) || absent != nil && a.Name == missing.FillValue || strings.HasPrefix(a.Name, own.Attributes) {
			continue
		}
		v.attributes = append(v.attributes, attributeOf(a.Name, a.Value, v.kind))
	}
	v.describe("units", v.units)
	v.describe("dtype", v.label)
	if v.source.Type.Kind() == dtype.KindDatetime {
		v.describe("calendar", "proleptic_gregorian")
	}
	return nil
}

// describe adds an attribute that says what the type of the array has said, unless there
// is one.
func (v *variable) describe(name, text string) {
	if text != "" && !slices.ContainsFunc(v.attributes, func(a attribute) bool { return a.name == name }) {
		v.attributes = append(v.attributes, textAttribute(name, text))
	}
}

// absent returns the element of the stored type that marks missing values, or nil.
func (p *planner) absent(v *variable, from *export.Variable, decoded bool) ([]byte, error) {
	t, a := v.source.Type, v.source.Array
	if decoded {
		if t.Kind() != dtype.KindFloat || !v.source.Decoding.Packing.IsMasked() {
			return nil, nil
		}
		return t.ParseFill([]byte(`"NaN"`))
	}
	if k := t.Kind(); k == dtype.KindDatetime || k == dtype.KindTimedelta {
		return t.ParseFill([]byte(`"NaT"`))
	}
	filled, err := cf.MasksFill(p.ctx, a)
	if err != nil {
		return nil, err
	}
	if filled && missing.Coded(t) {
		return cf.FillOf(a), nil
	}
	var unsigned, raw []byte
	for _, attribute := range from.Attributes {
		switch attribute.Name {
		case missing.Unsigned:
			unsigned = attribute.Value.Raw()
		case missing.FillValue:
			raw = attribute.Value.Raw()
		}
	}
	if raw == nil {
		return nil, nil
	}
	for _, one := range missing.List(t, raw) {
		elem, err := missing.ParseSpelled(t, unsigned, one)
		if err == nil {
			return elem, nil
		}
	}
	return nil, nil
}

// mostNarrowed bounds the elements of an array that is read to find out whether int has
// all of them.
const mostNarrowed = 1 << 20

// narrow makes int of an int64 with at most one axis, if the variant has no int64 and int
// has all elements: a coordinate that counts times usually is of that type.
func (p *planner) narrow(v *variable, from *export.Variable, decoded bool) error {
	short := len(v.source.Shape) == 0 || len(v.source.Shape) == 1 && v.source.Shape[0] <= mostNarrowed
	if p.permits(v.kind) || v.kind != kindInt64 || !short {
		return nil
	}
	absent, err := p.absent(v, from, decoded)
	if err != nil {
		return err
	}
	fits := true
	check := func(data []byte) {
		for b := range slices.Chunk(data, 8) {
			n := int64(binary.NativeEndian.Uint64(b))
			fits = fits && n == int64(int32(n))
		}
	}
	check(absent)
	err = v.source.Blocks(p.ctx, func(e export.Values) error {
		check(e.Data)
		return p.ctx.Err()
	})
	if err == nil && fits {
		v.kind, v.narrower = kindInt, true
	}
	return err
}

// element returns an element as the file has it, in host byte order.
func (v *variable) element(elem []byte) []byte { return v.converted(nil, elem) }

// converted appends elements as the file has them, in host byte order.
func (v *variable) converted(dst, elems []byte) []byte {
	switch {
	case v.wider:
		return v.widened(dst, elems)
	case v.narrower:
		for b := range slices.Chunk(elems, 8) {
			dst = binary.NativeEndian.AppendUint32(dst, uint32(binary.NativeEndian.Uint64(b)))
		}
		return dst
	}
	return append(dst, elems...)
}

// widened appends floats of 16 bits or fewer as floats of 32.
func (v *variable) widened(dst, elems []byte) []byte {
	list := make([]float32, len(elems)/v.source.Type.Size())
	v.source.Type.Float32s(list, elems)
	for _, x := range list {
		dst = append(dst, floatElement(kindFloat, float64(x))...)
	}
	return dst
}

// The bytes of chunks.
const (
	// leastChunk is what chunks have at least if the array has it: filters and indexes
	// cost much for each chunk.
	leastChunk = 64 << 10
	// mostChunk is what chunks have at most. HDF5 permits less than 4 GiB, but programs
	// that read a file decode one chunk as a whole.
	mostChunk = 1 << 30
)

// chunkOf returns the shape of the chunks of a variable: that of the array where it is
// regular, and else the most frequent length along the axis. Small chunks are joined, and
// very large ones are cut.
func chunkOf(v *variable) []int64 {
	s := v.source
	width := int64(max(v.kind.size(), 1)) * max(v.length, 1)
	if v.kind == kindString {
		width = referenceBytes
	}
	chunk := make([]int64, len(s.Shape))
	for i := range chunk {
		chunk[i] = min(export.ChunkAlong(s, i), max(1, s.Shape[i]))
	}
	bytes := func() int64 { return checked.Capped(append([]int64{width}, chunk...)...) }
	for i := range slices.Backward(chunk) {
		if b := bytes(); b < leastChunk {
			length := checked.Capped(checked.CeilDiv(leastChunk, b), chunk[i])
			// The chunks of an axis that grows are for what comes, too.
			if !v.dimensions[i].unlimited {
				length = min(length, max(1, s.Shape[i]))
			}
			chunk[i] = min(length, math.MaxInt32)
		}
	}
	for bytes() > mostChunk {
		longest := 0
		for i := range chunk {
			if chunk[i] > chunk[longest] {
				longest = i
			}
		}
		if chunk[longest] == 1 {
			break // a single text
		}
		chunk[longest] = (chunk[longest] + 1) / 2
	}
	return chunk
}

// referenceBytes are the bytes of a reference to text.
const referenceBytes = 16
