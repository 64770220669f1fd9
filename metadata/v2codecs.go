// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/shuffle"
	"varve.dev/zarr/internal/strictjson"
)

// numcodecsPrefix begins the names that the codecs of numcodecs have in format 3. Codecs
// of format 2 that this package does not know are looked up with that prefix.
const numcodecsPrefix = "numcodecs."

// imagecodecsPrefix begins the names of the codecs of imagecodecs, in both formats.
const imagecodecsPrefix = "imagecodecs_"

// stageV2 is the position in a chain where a codec of numcodecs belongs.
type stageV2 int

const (
	bytesStage stageV2 = iota
	arrayStage
	serialStage
)

// stagesV2 lists the codecs that are not from bytes to bytes (numcodecs 0.17, imagecodecs
// 2026.3).
var stagesV2 = map[string]stageV2{
	"delta": arrayStage, "fixedscaleoffset": arrayStage, "quantize": arrayStage, "bitround": arrayStage, "packbits": arrayStage,
	"astype": arrayStage, "categorize": arrayStage,
	imagecodecsPrefix + "delta": arrayStage, imagecodecsPrefix + "floatpred": arrayStage,
	"vlen-utf8": serialStage, "vlen-bytes": serialStage, "vlen-array": serialStage, "json": serialStage, "json2": serialStage,
	"msgpack": serialStage, "msgpack2": serialStage, "pickle": serialStage,
}

// objectsV2 maps the codec that encodes elements of variable length to their data type in
// format 3.
var objectsV2 = map[string]string{"vlen-utf8": "string", "vlen-bytes": "bytes"}

// typeMembers are the members of filters that hold type strings. The first one present
// gives the type of the filter's output.
var typeMembers = []string{"encode_dtype", "astype", "dtype", "decode_dtype"}

// chainV2 is the chain of codecs of an array of format 2 in terms of format 3.
type chainV2 struct {
	arrays     []Extension
	serial     Extension
	bytes      []Extension
	big        bool   // the output of the array codecs is stored in big-endian order
	orders     []bool // the same for every field with a byte order; nil if all agree
	unit       int    // bytes per number of that output
	size       int    // bytes that the next codec takes for an element, at least 1
	element    int    // bytes of an element of that output, 0 if they differ
	objectName string // name of the codec that encodes objects
}

// codecs reads order, filters and compressor. Format 2 stores a chunk in its order,
// passes it through the filters in turn, and then through the compressor.
func (r *readerV2) codecs() error {
	c := &chainV2{big: r.elements.big, orders: r.elements.orders, unit: r.elements.typ.Unit(), size: max(1, r.elements.typ.Size()), element: r.elements.typ.Size()}
	if err := r.order(c); err != nil {
		return err
	}
	// A missing member has kind Null, too.
	filters, compressor := r.members[v2Filters], r.members[v2Compressor]
	if filters.Kind() != strictjson.Null && filters.Kind() != strictjson.Array {
		return filters.Errorf("filters must be an array or null, got %s", filters.Kind())
	}
	if n := filters.Len(); n > maxChain {
		return filters.Errorf("%s, at most %d are allowed", quantity.Count(n, "filters"), maxChain)
	}
	var err error
	if r.array.v2.filters, err = r.addAll(c, filters); err != nil {
		return err
	}
	r.array.v2.compressor = compressor.Raw()
	if compressor.Kind() != strictjson.Null {
		if r.array.v2.compressor, err = r.add(c, compressor); err != nil {
			return err
		}
	}
	r.array.Codecs = c.extensions()
	if r.elements.object {
		return r.objects(c)
	}
	return nil
}

// order reads the order of the axes in stored chunks.
func (r *readerV2) order(c *chainV2) error {
	v, err := r.required(v2Order)
	if err != nil {
		return err
	}
	s, err := v.Str()
	if err != nil {
		return err
	}
	if s != "C" && s != "F" {
		return v.Errorf(`order must be "C" or "F", got %q`, strictjson.Abbreviate(s))
	}
	r.array.v2.order = v.Raw()
	// The order F is a transpose that reverses the axes.
	if n := len(r.array.Shape); s == "F" && n > 1 {
		axes := make([]int64, n)
		for i := range axes {
			axes[i] = int64(n - 1 - i)
		}
		w := new(writer)
		w.shape(axes)
		c.arrays = append(c.arrays, Extension{Name: "transpose", Configuration: fmt.Appendf(nil, `{"order":%s}`, w.buf)})
	}
	return nil
}

// objects sets the data type of elements of variable length, which follows from their
// codec.
func (r *readerV2) objects(c *chainV2) error {
	name := objectsV2[c.objectName]
	switch {
	case c.objectName == "":
		return r.members[v2DType].Errorf(`objects ("|O") need a filter that tells what they are, as "vlen-utf8"`)
	case name == "":
		r.refused = r.members[v2Filters].Errorf("%w", unsupportedf("objects in the form of codec %q are not supported", strictjson.Abbreviate(c.objectName)))
		name = "object"
	}
	r.array.DataType = Extension{Name: name}
	return nil
}

// extensions returns the chain in the order of encoding.
func (c *chainV2) extensions() []Extension {
	if c.serial.Name == "" {
		// No filter makes bytes, so the elements are stored in their byte order.
		c.serial = Extension{Name: "bytes"}
		switch {
		case c.orders != nil:
			c.serial = bytesByField(c.orders)
		case c.unit != 1 && c.big:
			c.serial.Configuration = []byte(`{"endian":"big"}`)
		case c.unit != 1:
			c.serial.Configuration = []byte(`{"endian":"little"}`)
		}
	}
	return slices.Concat(c.arrays, []Extension{c.serial}, c.bytes)
}

// bytesByField returns the codec for structs whose fields have different byte orders.
func bytesByField(orders []bool) Extension {
	list := make([]string, len(orders))
	for i, big := range orders {
		if list[i] = `"little"`; big {
			list[i] = `"big"`
		}
	}
	return Extension{Name: own.BytesByField, Configuration: fmt.Appendf(nil, `{"endian":[%s]}`, strings.Join(list, ","))}
}

// addAll appends the filters to the chain. It returns the JSON to write for them, which
// is what was read unless a filter was repaired.
func (r *readerV2) addAll(c *chainV2, filters strictjson.Value) (written []byte, err error) {
	var list [][]byte
	same := true
	for _, f := range filters.Elements() {
		raw, err := r.add(c, f)
		if err != nil {
			return nil, err
		}
		list = append(list, raw)
		same = same && bytes.Equal(raw, f.Raw())
	}
	if same {
		return filters.Raw(), nil
	}
	return slices.Concat([]byte{'['}, bytes.Join(list, []byte{','}), []byte{']'}), nil
}

// add appends a filter or the compressor to the chain, and returns the JSON to write for
// it. If it is unsupported, the array can only be described.
func (r *readerV2) add(c *chainV2, v strictjson.Value) (written []byte, err error) {
	written = v.Raw()
	id, _ := v.Member("id")
	switch string(id.Raw()) {
	case `"zstd"`:
		written, v, err = r.zstd(v)
	case `"shuffle"`:
		written, v, err = r.shuffle(v, c.element)
	}
	if err != nil {
		return nil, err
	}
	err = c.add(v)
	if errors.Is(err, ErrUnsupported) {
		r.refused, err = cmp.Or(r.refused, err), nil
	}
	return written, err
}

// zstd reads the checksum of zstd, which may be a word, and returns the JSON to write for
// the codec. A checksum of false is omitted, as zarr-python does: numcodecs before 0.13
// and TensorStore do not know the member. Decoders do not need it.
func (r *readerV2) zstd(v strictjson.Value) (written []byte, read strictjson.Value, err error) {
	sum, ok := v.Member("checksum")
	if !ok {
		return v.Raw(), v, nil
	}
	on, notBool := sum.Bool()
	if notBool != nil {
		word, _ := sum.Str()
		// GDAL's spellings of booleans.
		switch strings.ToUpper(word) {
		case "NO", "FALSE", "OFF":
		case "YES", "TRUE", "ON":
			on = true
		default:
			return v.Raw(), v, nil // the codec refuses it
		}
		r.repair(wordForChecksum)
	}
	if on {
		written, err = SetAttribute(v.Raw(), "checksum", []byte("true"))
	} else {
		written, err = UnsetAttribute(v.Raw(), "checksum")
	}
	if err == nil {
		read, err = object(written)
	}
	return written, read, err
}

// shuffle reads the element size of shuffle, and returns the JSON to write for the codec.
// netcdf-c ignores the size, takes that of the type, and writes 0 or a text; numcodecs
// takes 0 for elements of one byte, and 4 if the member is missing. Filters may have
// changed the type, so element is the size at this place of the chain.
func (r *readerV2) shuffle(v strictjson.Value, element int) (written []byte, read strictjson.Value, err error) {
	const member = "elementsize"
	size, ok := v.Member(member)
	if !ok {
		if read, err = withMember(v, member, "4"); err != nil {
			return nil, v, err
		}
		return v.Raw(), read, nil
	}
	text := string(size.Raw())
	if word, err := size.Str(); err == nil {
		if number, ok := shuffle.Size(word); ok {
			text = number
			r.repair(wordForElementSize)
		}
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && n == 0 && element > 1 {
		text = strconv.Itoa(element)
		r.repair(zeroElementSize)
	}
	if text == string(size.Raw()) {
		return v.Raw(), v, nil
	}
	read, err = withMember(v, member, text)
	return read.Raw(), read, err
}

// withMember returns an object with another value of a member.
func withMember(v strictjson.Value, name, raw string) (strictjson.Value, error) {
	changed, err := SetAttribute(v.Raw(), name, []byte(raw))
	if err != nil {
		return v, err
	}
	return object(changed)
}

// add appends a filter or the compressor. It does so even if it returns an error that
// wraps ErrUnsupported.
func (c *chainV2) add(v strictjson.Value) error {
	id, members, err := codecV2(v)
	if err != nil {
		return err
	}
	// Codecs that are not listed take bytes and return bytes.
	stage := stagesV2[id]
	if stage != bytesStage && (c.serial.Name != "" || len(c.bytes) > 0) {
		// Keep the codec, so that the array can be described.
		c.bytes = append(c.bytes, extensionV2(id, members))
		return v.Errorf("%w", unsupportedf("codec %q after one that makes bytes is not supported", strictjson.Abbreviate(id)))
	}
	switch stage {
	case arrayStage:
		err = c.viewed(v, id, members)
		c.result(id, members)
		c.arrays = append(c.arrays, extensionV2(id, members))
	case serialStage:
		c.objectName, c.size, c.element = id, 1, 1
		c.serial = extensionV2(id, members)
		if objectsV2[id] != "" {
			// Format 3 has these two codecs under the same names.
			c.serial = Extension{Name: id}
		}
	default:
		c.bytes = append(c.bytes, bytesV2(id, members, c.size))
		// A compressor after another one sees plain bytes.
		c.size = 1
	}
	return err
}

// codecV2 reads the object of a codec. It returns the id and all other members that are
// not null.
func codecV2(v strictjson.Value) (id string, members []member, err error) {
	if v.Kind() != strictjson.Object {
		return "", nil, v.Errorf("a codec must be an object, got %s", v.Kind())
	}
	if err := checkTexts(v); err != nil {
		return "", nil, err
	}
	for name, m := range v.Members() {
		switch {
		case name == "id":
			if id, err = extensionName(m); err != nil {
				return "", nil, err
			}
		case m.Kind() != strictjson.Null: // null means missing
			members = append(members, member{name, m.Raw()})
		}
	}
	if id == "" {
		return "", nil, v.Errorf(`member "id" is missing`)
	}
	return id, members, nil
}

// viewed returns an error for an array codec whose type has another byte order than its
// input. numcodecs reinterprets the bytes of its input as that type, whatever the type of
// the array, so it would encode other numbers than those that were written.
func (c *chainV2) viewed(v strictjson.Value, id string, members []member) error {
	for _, m := range members {
		if m.name != "dtype" && m.name != "decode_dtype" || c.unit <= 1 {
			continue
		}
		text, ok := typeText(m)
		if !ok {
			continue
		}
		// Types of single bytes have no byte order.
		if t, big, err := dtype.FromNumPy(ordered(text)); err == nil && t.Unit() > 1 && big != c.big {
			return v.Errorf("%w", unsupportedf("codec %q with %s %q is not supported where elements are in the other byte order", strictjson.Abbreviate(id), m.name, text))
		}
	}
	return nil
}

// typeText returns the text of a member that names a type. It returns false if it is not
// a text; the codec then refuses it.
func typeText(m member) (text string, ok bool) {
	v, err := strictjson.Parse(m.raw, strictjson.Limits{})
	if err == nil {
		text, err = v.Str()
	}
	return text, err == nil && text != ""
}

// result records the output of an array codec. Type strings lose their byte order, which
// becomes that of the chain, because elements in memory have the byte order of the host.
func (c *chainV2) result(id string, members []member) {
	// packbits turns bools into bytes.
	if id == "packbits" {
		c.big, c.orders, c.unit, c.size, c.element = false, nil, 1, 1, 1
	}
	for _, name := range typeMembers {
		i := slices.IndexFunc(members, func(m member) bool { return m.name == name })
		// The first member present decides.
		if i < 0 {
			continue
		}
		text, ok := typeText(members[i])
		if !ok {
			continue
		}
		if t, big, err := dtype.FromNumPy(ordered(text)); err == nil && t.Size() > 0 && c.unit >= 0 {
			c.big, c.orders, c.unit, c.size, c.element = big, nil, t.Unit(), t.Size(), t.Size()
		}
		break
	}
	// imagecodecs sees the elements in their stored order in format 3, too.
	if strings.HasPrefix(id, imagecodecsPrefix) {
		return
	}
	for i, m := range members {
		// In memory elements have the byte order of the host, which "<" stands for here.
		if slices.Contains(typeMembers, m.name) && bytes.HasPrefix(m.raw, []byte(`">`)) {
			members[i].raw = append([]byte(`"<`), m.raw[2:]...)
		}
	}
}

// ordered returns a type string with a byte order. A type string without one came from a
// little-endian machine.
func ordered(text string) string {
	if text[0]|0x20 < 'a' || text[0]|0x20 > 'z' {
		return text
	}
	if t, _, err := dtype.FromNumPy("|" + text); err == nil && t.Unit() == 1 {
		return "|" + text
	}
	return "<" + text
}

// extensionV2 returns the extension of format 3 for a codec of numcodecs or imagecodecs.
func extensionV2(id string, members []member) Extension {
	if strings.HasPrefix(id, imagecodecsPrefix) {
		return Extension{Name: id, Configuration: configuration(members)}
	}
	return Extension{Name: numcodecsPrefix + id, Configuration: configuration(members)}
}

// configuration returns a JSON object of the members.
func configuration(members []member) []byte {
	w := &writer{buf: []byte{'{'}}
	w.entries(members)
	return append(w.buf, '}')
}

// bytesV2 returns the extension of format 3 for a codec from bytes to bytes. It uses the
// name of the core specification if that has the same meaning.
func bytesV2(id string, members []member, size int) Extension {
	raw := func(name, missing string) []byte {
		for _, m := range members {
			if m.name == name {
				return m.raw
			}
		}
		return []byte(missing)
	}
	only := func(names ...string) bool {
		return !slices.ContainsFunc(members, func(m member) bool { return !slices.Contains(names, m.name) })
	}
	isDigit := func(raw []byte) bool { return len(raw) == 1 && raw[0]-'0' < 10 }
	// Missing members have the defaults of numcodecs.
	switch level := raw("level", "1"); {
	// Every other configuration goes to the codec of numcodecs, which checks it.
	case id == "gzip" && only("level") && isDigit(level):
		return Extension{Name: id, Configuration: fmt.Appendf(nil, `{"level":%s}`, level)}
	case id == "zstd" && only("level", "checksum"):
		return Extension{Name: id, Configuration: fmt.Appendf(nil, `{"level":%s,"checksum":%s}`, raw("level", "0"), raw("checksum", "false"))}
	case id == "crc32c" && only("location") && string(raw("location", `"end"`)) == `"end"`:
		return Extension{Name: id}
	case id == "blosc" && only("cname", "clevel", "shuffle", "blocksize", "typesize") && isDigit(raw("clevel", "5")):
		element := raw("typesize", "0")
		if string(element) == "0" { // as for the library of Blosc, the size of the type
			element = fmt.Append(nil, bloscTypeSize(size))
		}
		if shuffle := bloscShuffle(string(raw("shuffle", "1")), size); shuffle != "" {
			return Extension{Name: id, Configuration: fmt.Appendf(nil, `{"cname":%s,"clevel":%s,"shuffle":%q,"typesize":%s,"blocksize":%s}`,
				raw("cname", `"lz4"`), raw("clevel", "5"), shuffle, element, raw("blocksize", "0"))}
		}
	}
	return extensionV2(id, members)
}

// bloscShuffle returns the name of a shuffle by its number, "" if there is none. -1
// selects one by the size of the elements.
func bloscShuffle(number string, size int) string {
	switch {
	case number == "0":
		return "noshuffle"
	case number == "1" || number == "-1" && size > 1:
		return "shuffle"
	case number == "2" || number == "-1":
		return "bitshuffle"
	}
	return ""
}

// bloscTypeSize returns the element size that blosc uses, which it stores in one byte.
func bloscTypeSize(size int) int {
	if size > 255 {
		return 1
	}
	return size
}
