// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
)

// ToV3 returns the array in format 3. Chunk keys and chunk bytes stay the same, and the
// attribute that names the dimensions is removed. Unknown members of the document of
// format 2 are dropped ([Array.UnknownMembers]). It returns an array of format 3
// unchanged. If fields have different byte orders within an element, format 3 cannot
// express the array: Marshal returns an error for the result.
func (a *Array) ToV3() *Array {
	if a.v2 == nil {
		return a
	}
	b := *a
	b.v2 = nil
	if b.DimensionNames != nil {
		// There is no error, because attributes are an object.
		b.Attributes, _ = UnsetAttribute(b.Attributes, dimensionsAttribute)
	}
	return &b
}

// ToV3 returns the group in format 3, without consolidated metadata and unknown members.
// It returns a group of format 3 unchanged.
func (g *Group) ToV3() *Group {
	if g.v2 == nil {
		return g
	}
	return &Group{Attributes: g.Attributes}
}

// ToV2 returns the group in format 2, without consolidated metadata and unknown members.
// It returns a group of format 2 unchanged.
func (g *Group) ToV2() *Group {
	if g.v2 != nil {
		return g
	}
	return &Group{Attributes: g.Attributes, v2: new(groupV2)}
}

// UnknownMembers returns the names of members of the document that this library does not
// know. They are written again, but the other format has no such members.
func (a *Array) UnknownMembers() []string {
	if a.v2 != nil {
		return names(a.v2.kept)
	}
	return names(a.kept)
}

// UnknownMembers returns the names of members of the document that this library does not
// know. They are written again, but the other format has no such members.
func (g *Group) UnknownMembers() []string {
	if g.v2 != nil {
		return names(g.v2.kept)
	}
	return names(g.kept)
}

func names(members []member) (list []string) {
	for _, m := range members {
		list = append(list, m.name)
	}
	return list
}

// writerV2 converts the document of an array of format 3 to format 2.
type writerV2 struct {
	array   *Array
	typ     dtype.Type
	big     bool
	orders  []bool // big-endian order for every field with a byte order; nil if all agree
	order   string
	filters [][]byte
	object  bool
}

// ToV2 returns the array in format 2. Chunk keys and chunk bytes stay the same. It
// returns an array of format 2 unchanged.
//
// Format 2 can express arrays with regular chunks, a data type of NumPy, codecs of
// numcodecs, a v2 key encoding, and names for all dimensions or for none. For any other
// array the error wraps [ErrUnsupported] and has the position in the document of format
// 3. The names of the dimensions become the attribute that xarray uses. An array without
// dimensions has that attribute, too.
func (a *Array) ToV2(l Limits) (*Array, error) {
	if a.v2 != nil {
		return a, nil
	}
	// Format 2 requires an order. It is C unless there is a transpose.
	w := &writerV2{array: a, order: "C"}
	if err := w.extensions(); err != nil {
		return nil, err
	}
	attributes, err := w.attributes()
	if err != nil {
		return nil, err
	}
	document, err := w.document()
	if err != nil {
		return nil, err
	}
	// Both were parsed before: a string in them that stands for a bare NaN is no text.
	b, err := parseV2(nodename.V2Array, document, attributes, l)
	if err != nil {
		return nil, err
	}
	return b.(*Array), nil
}

// extensions converts the extension points.
func (w *writerV2) extensions() error {
	a := w.array
	var err error
	if len(a.StorageTransformers) > 0 {
		return unsupportedV2("/storage_transformers", "it has no storage transformers")
	}
	if len(a.kept) > 0 {
		// Dropping a member that must be understood could change the meaning of the
		// array.
		return unsupportedV2(strictjson.Token(a.kept[0].name), "it has no such member")
	}
	if w.typ, err = dtype.Parse(a.DataType.Name, a.DataType.Configuration); err != nil {
		return &Error{"/data_type", fmt.Errorf("%w: %w", unsupported("not known here"), err)}
	}
	return w.codecs()
}

// codecs splits the chain into order, byte order and filters. The last filter may become
// the compressor.
func (w *writerV2) codecs() error {
	made := false // whether a codec has made bytes of the array
	for i, c := range w.array.Codecs {
		at := fmt.Sprintf("/codecs/%d", i)
		v, err := configurationOf(c)
		if err != nil {
			return prefixPointer(err, at)
		}
		switch {
		// Only the first codec sees the axes of the array, as the order of format 2 does.
		case c.Name == "transpose" && i == 0:
			err = w.transpose(v)
		case (c.Name == "bytes" || c.Name == "endian") && !made:
			endian, _ := v.Member("endian")
			order, _ := endian.Str()
			// In format 2 the byte order is part of the data type.
			w.big, made = order == "big", true
		case c.Name == own.BytesByField && !made:
			made = true
			endian, _ := v.Member("endian")
			for _, e := range endian.Elements() {
				order, _ := e.Str()
				w.orders = append(w.orders, order == "big")
			}
		case objectsV2[c.Name] != "" && !made:
			w.object, made = true, true
			w.filters = append(w.filters, fmt.Appendf(nil, `{"id":%q}`, c.Name))
		case c.Name == "transpose":
			err = unsupportedV2("", "a transpose must be the first codec")
		default:
			err = w.filter(c.Name, v)
		}
		if err != nil {
			return prefixPointer(err, at)
		}
	}
	w.orderFilters()
	return nil
}

// configurationOf returns the configuration of a codec, an empty object if it has none.
func configurationOf(e Extension) (strictjson.Value, error) {
	if e.Configuration == nil {
		return object([]byte("{}"))
	}
	v, err := object(e.Configuration)
	if err != nil {
		err = prefixPointer(err, "/configuration")
	}
	return v, err
}

// transpose reads the order of axes, which must be C order or the reverse.
func (w *writerV2) transpose(v strictjson.Value) error {
	order, _ := v.Member("order")
	// Early drafts had a name here.
	if name, err := order.Str(); err == nil && (name == "C" || name == "F") {
		w.order = name
		return nil
	}
	axes, err := extents(order, len(w.array.Shape))
	if err != nil || len(axes) != len(w.array.Shape) {
		return unsupportedV2("/configuration/order", "an order of axes is %q or %q there", "C", "F")
	}
	// With fewer than two axes both are true, and the order is C.
	forth, back := true, true
	for i, axis := range axes {
		forth = forth && axis == int64(i)
		back = back && axis == int64(len(axes)-1-i)
	}
	if !forth && !back {
		return unsupportedV2("/configuration/order", "%s; axes can be in order or in reverse there", order.Raw())
	}
	if !forth {
		w.order = "F"
	}
	return nil
}

// filter appends a codec that numcodecs or imagecodecs has as well.
func (w *writerV2) filter(name string, v strictjson.Value) error {
	id, ok := strings.CutPrefix(name, numcodecsPrefix)
	members := []member{}
	for name, m := range v.Members() {
		members = append(members, member{name, m.Raw()})
	}
	switch {
	// Older readers do not know the member, and false is its default.
	case ok && id == "zstd", name == "zstd":
		members = slices.DeleteFunc(members, func(m member) bool { return m.name == "checksum" && string(m.raw) == "false" })
	case ok, name == "gzip":
	case strings.HasPrefix(name, imagecodecsPrefix):
		if id = name; stagesV2[id] == arrayStage {
			var err error
			if members, err = w.shaped(members); err != nil {
				return err
			}
		}
	case name == "crc32c":
		members = []member{{"location", []byte(`"end"`)}}
	case name == "blosc":
		members = bloscV2(members)
	default:
		return unsupportedV2("", "codec %q", strictjson.Abbreviate(name))
	}
	w.filters = append(w.filters, configuration(append([]member{{"id", strictjson.AppendQuote(nil, id)}}, members...)))
	return nil
}

// shaped returns the members of a predictor of imagecodecs with the shape and the type of
// chunks. It gets bytes in format 2, which it would otherwise take for a row of bytes.
func (w *writerV2) shaped(members []member) ([]member, error) {
	members = slices.DeleteFunc(members, func(m member) bool { return string(m.raw) == "null" })
	lacks := func(name string) bool {
		return !slices.ContainsFunc(members, func(m member) bool { return m.name == name })
	}
	if lacks("shape") {
		chunks, err := w.array.chunksV2()
		if err != nil {
			return nil, err
		}
		members = append(members, member{"shape", chunks})
	}
	if name, ok := w.typ.NumPy(); ok && lacks("dtype") {
		members = append(members, member{"dtype", strictjson.AppendQuote(nil, name)})
	}
	return members, nil
}

// bloscV2 returns the members of blosc for numcodecs: the shuffle as a number, and no
// element size, which numcodecs takes from the data.
func bloscV2(members []member) []member {
	numbers := map[string]string{`"noshuffle"`: "0", `"shuffle"`: "1", `"bitshuffle"`: "2"}
	list := []member{}
	for _, m := range members {
		if number := numbers[string(m.raw)]; m.name == "shuffle" && number != "" {
			m.raw = []byte(number)
		}
		// numcodecs takes the size of elements from the data.
		if m.name != "typesize" {
			list = append(list, m)
		}
	}
	return list
}

// orderFilters sets the byte order of the type strings of array codecs to that of the
// stored elements.
func (w *writerV2) orderFilters() {
	if !w.big {
		return
	}
	for i, f := range w.filters {
		v, err := object(f)
		id, members, idErr := codecV2(v)
		if err != nil || idErr != nil || stagesV2[id] != arrayStage {
			continue
		}
		for j, m := range members {
			if slices.Contains(typeMembers, m.name) && bytes.HasPrefix(m.raw, []byte(`"<`)) {
				members[j].raw = append([]byte(`">`), m.raw[2:]...)
			}
		}
		w.filters[i] = configuration(append([]member{{"id", strictjson.AppendQuote(nil, id)}}, members...))
	}
}

// attributes returns the attributes with the names of the dimensions.
func (w *writerV2) attributes() ([]byte, error) {
	a := w.array
	raw := a.Attributes
	if raw == nil {
		raw = []byte("{}")
	}
	names := a.DimensionNames
	_, taken, err := Attribute(raw, dimensionsAttribute)
	if names == nil && len(a.Shape) == 0 && !taken {
		// Without the attribute xarray opens no array of the group.
		names = []*string{}
	}
	if err != nil || names == nil {
		return raw, err
	}
	// Do not overwrite an attribute of the user.
	if taken && !slices.EqualFunc(namesV2(raw, len(a.Shape)), names, sameName) {
		return nil, unsupportedV2("/attributes/"+dimensionsAttribute, "the attribute that names the dimensions says something else")
	}
	if i := slices.Index(names, nil); i >= 0 {
		if slices.ContainsFunc(names, func(n *string) bool { return n != nil }) {
			return nil, unsupportedV2(fmt.Sprintf("/dimension_names/%d", i), "either all dimensions have names there or none has")
		}
		// No dimension has a name, so no attribute is needed.
		return raw, nil
	}
	n := new(writer)
	n.names(names)
	return SetAttribute(raw, dimensionsAttribute, n.buf)
}

func sameName(a, b *string) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

// document returns the document of format 2.
func (w *writerV2) document() ([]byte, error) {
	a := w.array
	chunks, err := a.chunksV2()
	if err != nil {
		return nil, err
	}
	keys, err := ParseKeyEncoding(a.ChunkKeyEncoding)
	if err != nil {
		return nil, prefixPointer(err, "/chunk_key_encoding")
	}
	// Format 2 has only the keys of the encoding v2.
	if keys.isDefault() {
		return nil, unsupportedV2("/chunk_key_encoding", "chunk keys like %q", keys)
	}
	compressor := []byte("null")
	// The last codec becomes the compressor if it takes bytes.
	if n := len(w.filters); n > 0 && w.compresses(w.filters[n-1]) {
		compressor, w.filters = w.filters[n-1], w.filters[:n-1]
	}
	filters := []byte("null")
	if len(w.filters) > 0 {
		filters = slices.Concat([]byte{'['}, bytes.Join(w.filters, []byte{','}), []byte{']'})
	}
	descr, err := w.descr()
	if err != nil {
		return nil, err
	}
	fill, err := w.fill()
	if err != nil {
		return nil, err
	}
	shape := new(writer)
	shape.shape(a.Shape)
	return fmt.Appendf(nil, `{"shape":%s,"chunks":%s,"dtype":%s,"fill_value":%s,"order":%q,"filters":%s,"dimension_separator":"%c","compressor":%s,"zarr_format":2}`,
		shape.buf, chunks, descr, fill, w.order, filters, keys.Separator(), compressor), nil
}

// compresses reports whether a filter takes bytes, so that it can be the compressor.
func (w *writerV2) compresses(filter []byte) bool {
	v, err := object(filter)
	if err != nil {
		return false
	}
	id, _, err := codecV2(v)
	return err == nil && stagesV2[id] == bytesStage
}

// descr returns the data type as JSON.
func (w *writerV2) descr() ([]byte, error) {
	if w.object {
		return []byte(`"|O"`), nil
	}
	next := 0
	descr, ok := appendDescr(nil, w.typ, func() bool {
		next++
		return next <= len(w.orders) && w.orders[next-1] || w.orders == nil && w.big
	})
	if w.orders != nil && next != len(w.orders) {
		return nil, unsupportedV2("/codecs", "byte orders of %s for %d", quantity.Count(len(w.orders), "fields"), next)
	}
	if !ok {
		return nil, unsupportedV2("/data_type", "NumPy has no data type %s", w.typ)
	}
	return descr, nil
}

// fill returns the fill value as JSON.
func (w *writerV2) fill() ([]byte, error) {
	fill := w.array.FillValue
	if w.object {
		return fill, nil
	}
	element, err := w.typ.ParseFill(fill)
	if err != nil {
		return nil, &Error{"/fill_value", err}
	}
	e := elementV2{typ: w.typ, big: w.big, orders: w.orders}
	return e.fillV2(element)
}
