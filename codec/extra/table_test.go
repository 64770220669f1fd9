// SPDX-License-Identifier: Apache-2.0

package extra_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	_ "varve.dev/zarr/internal/codecs/bytescodec"
	_ "varve.dev/zarr/internal/codecs/castvalue"
	_ "varve.dev/zarr/internal/codecs/conditional"
	_ "varve.dev/zarr/internal/codecs/gzipcodec"
	_ "varve.dev/zarr/internal/codecs/reshape"
	"varve.dev/zarr/internal/coding"

	_ "varve.dev/zarr" // which registers all codecs
	"varve.dev/zarr/codec"
	_ "varve.dev/zarr/codec/extra"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
)

// tablePath is the document that this test generates. VARVE_UPDATE=1 go test -run
// TestTable . in this folder writes it.
const tablePath = "../../docs/codecs.md"

// TestTable generates the table of data types and codecs, by passing elements of every
// type through every registered codec. It compares the table with the documentation.
func TestTable(t *testing.T) {
	got := table(t)
	if os.Getenv("VARVE_UPDATE") != "" {
		if err := os.WriteFile(tablePath, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(tablePath)
	if err != nil || string(want) != got {
		t.Errorf("%s is not what the codecs do (%v); VARVE_UPDATE=1 writes it anew:\n%s", tablePath, err, got)
	}
}

// types returns one data type of every name, and a few more.
func types(t *testing.T) []dtype.Type {
	t.Helper()
	list := dtype.All()
	for name, configuration := range map[string]string{
		"r24":                   "",
		"raw_bytes":             `{"length_bytes":3}`,
		"null_terminated_bytes": `{"length_bytes":4}`,
		"fixed_length_utf32":    `{"length_bytes":12}`,
		"numpy.datetime64":      `{"unit":"s","scale_factor":1}`,
		"numpy.timedelta64":     `{"unit":"D","scale_factor":7}`,
		"struct":                `{"fields":[{"name":"a","data_type":"int16"},{"name":"b","data_type":"float64"}]}`,
	} {
		if slices.ContainsFunc(list, func(t dtype.Type) bool { return t.Name() == name }) {
			continue
		}
		typ, err := dtype.Parse(name, []byte(configuration))
		if configuration == "" {
			typ, err = dtype.Parse(name, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, typ)
	}
	slices.SortStableFunc(list, func(a, b dtype.Type) int {
		if a.Kind() != b.Kind() {
			return int(a.Kind()) - int(b.Kind())
		}
		return strings.Compare(sortable(a), sortable(b))
	})
	return list
}

// sortable returns the name of a type such that int8 comes before int16.
func sortable(t dtype.Type) string { return fmt.Sprintf("%08d %s", t.Size(), t.Name()) }

// configuration returns a sensible configuration of a codec for arrays of a type and
// two axes. It may be nil.
func configuration(name string, typ dtype.Type) []byte {
	numPy, _ := typ.NumPy()
	switch name[strings.LastIndexByte(name, '/')+1:] { // others are URLs of the same
	case "transpose":
		return []byte(`{"order":[1,0]}`)
	case "reshape":
		return codec.Reshape(-1).Configuration
	case "bitround", "numcodecs.bitround":
		return []byte(`{"keepbits":3}`)
	case "cast_value":
		return codec.CastValue(dtype.Float64, nil).Configuration
	case "scale_offset":
		return []byte(`{"scale":1}`)
	case "bytes":
		return codec.Bytes("little").Configuration
	case "n5_default":
		return []byte(`{"codecs":[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"big"}}]}`)
	case "conditional":
		return codec.Conditional(0, codec.Gzip(1)).Configuration
	case "sharding_indexed":
		inner, _ := serial(typ).MarshalJSON()
		return fmt.Appendf(nil, `{"chunk_shape":[1,3],"codecs":[%s],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}`, inner)
	case "blosc":
		return []byte(`{"cname":"lz4","clevel":5,"shuffle":"noshuffle","blocksize":0}`)
	case "numcodecs.delta":
		return fmt.Appendf(nil, `{"dtype":%q}`, numPy)
	case "numcodecs.fixedscaleoffset", "fixedscaleoffset":
		return fmt.Appendf(nil, `{"offset":0,"scale":1,"dtype":%q}`, numPy)
	case "numcodecs.quantize":
		return fmt.Appendf(nil, `{"digits":1,"dtype":%q}`, numPy)
	case "numcodecs.astype":
		return fmt.Appendf(nil, `{"encode_dtype":"<f8","decode_dtype":%q}`, numPy)
	}
	return nil
}

// serial returns the metadata of the default array-to-bytes codec for a type.
func serial(typ dtype.Type) metadata.Extension {
	switch typ.Kind() {
	case dtype.KindString:
		return metadata.Extension{Name: "vlen-utf8"}
	case dtype.KindBytes:
		return metadata.Extension{Name: "vlen-bytes"}
	}
	return codec.Bytes("little")
}

// kind is the kind of a codec: array to array, array to bytes, or bytes to bytes.
type kind int

const (
	arrays kind = iota
	serials
	packers
	refused
)

// kindOf creates the named codec for a type that it supports, and returns its kind.
func kindOf(name string, all []dtype.Type) (kind, error) {
	var first error
	for _, typ := range all {
		made, err := codec.Default.New(metadata.Extension{Name: name, Configuration: configuration(name, typ)})
		switch made.(type) {
		case codec.ArrayArray:
			return arrays, nil
		case codec.ArrayBytes:
			return serials, nil
		case codec.BytesBytes:
			return packers, nil
		}
		if first == nil {
			first = err
		}
	}
	return refused, first
}

// Marks of the table.
const (
	exact  = "✓" // the same elements come back
	close_ = "≈" // others come back, which the codec is for
	reads  = "r" // it is only read
	never  = " " // arrays of the type are refused
)

// cell encodes and decodes elements of a type with a codec, and returns the cell of the
// table.
func cell(t *testing.T, name string, k kind, typ dtype.Type) string {
	t.Helper()
	exts := []metadata.Extension{{Name: name, Configuration: configuration(name, typ)}}
	switch k {
	case arrays:
		exts = append(exts, codec.Bytes("little"))
		if typ.Variable() {
			exts[1] = serial(typ)
		}
	case packers:
		exts = slices.Insert(exts, 0, serial(typ))
	}
	spec := codec.Spec{Type: typ, Fill: typ.Default(), Rank: 2}
	c, err := coding.NewChain(new(codec.Environment), exts, spec)
	if err != nil {
		if !errors.Is(err, codec.ErrConfiguration) && !errors.Is(err, codec.ErrUnsupported) {
			t.Errorf("%s of %s: %v", name, typ, err)
		}
		return never
	}
	view, texts := elements(t, typ, spec)
	stored, err := c.Encode(nil, view)
	if errors.Is(err, codec.ErrUnsupported) {
		return reads
	}
	if err != nil {
		t.Errorf("%s of %s: %v", name, typ, err)
		return never
	}
	back := strided.Contiguous(make([]byte, len(view.Data)), view.Shape, coding.Width(spec))
	back.Heap = coding.HeapOf(spec)
	if err := c.Decode(&back, stored); err != nil {
		t.Errorf("%s of %s: %v", name, typ, err)
		return never
	}
	for i, text := range texts {
		at := []int64{int64(i) / view.Shape[1], int64(i) % view.Shape[1]}
		if !bytes.Equal(element(back, at), text) {
			return close_
		}
	}
	return exact
}

// element returns the bytes of one element.
func element(v strided.View, at []int64) []byte {
	off := v.Offset + at[0]*v.Strides[0] + at[1]*v.Strides[1]
	b := v.Data[off:][:v.Size]
	if v.Heap != nil {
		return v.Heap.Bytes(b)
	}
	return b
}

// elements returns an array of two by six elements, and the bytes of each.
func elements(t *testing.T, typ dtype.Type, spec codec.Spec) (strided.View, [][]byte) {
	t.Helper()
	shape := []int64{2, 6}
	var list [][]byte
	var data []byte
	offsets := []int64{0}
	for i := range 12 {
		e := sample(t, typ, i)
		list, data = append(list, e), append(data, e...)
		offsets = append(offsets, int64(len(data)))
	}
	v := strided.Contiguous(data, shape, coding.Width(spec))
	if typ.Variable() {
		v = strided.Contiguous(make([]byte, 12*coding.Width(spec)), shape, coding.Width(spec))
		if v.Heap = coding.HeapOf(spec); !v.Heap.Add(v.Data, data, offsets) {
			t.Fatal("no room")
		}
	}
	return v, list
}

// sample returns one of a few elements of the type.
func sample(t *testing.T, typ dtype.Type, i int) []byte {
	t.Helper()
	for _, few := range [][]string{
		{"1.1", "2.7", "1.3"}, {"1", "0", "1"}, {"true", "false", "true"}, {"1.1+2.7j", "0+1j", "1+0j"}, {"lay", "sa", "x"},
		{"2001-02-03T04:05:06", "NaT", "1999-01-01T00:00:00"},
	} {
		if e, err := typ.ParseText(few[i%3]); err == nil {
			return e
		}
	}
	e := bytes.Clone(typ.Default())
	for k := range e {
		e[k] = byte(i + k)
	}
	if err := typ.Check(e); err != nil {
		t.Fatalf("%s: %v", typ, err)
	}
	return e
}

// table returns the document.
func table(t *testing.T) string {
	all := types(t)
	names := map[kind][]string{}
	var reasons []string
	for _, name := range codec.Default.Names() {
		if name == own.BytesByField {
			continue // no document names it
		}
		k, err := kindOf(name, all)
		names[k] = append(names[k], name)
		if k == refused && !errors.Is(err, codec.ErrUnsupported) {
			t.Errorf("%s needs a configuration in this test: %v", name, err)
		} else if k == refused {
			why := err.Error()
			why = why[strings.LastIndex(why, `"`)+1:]
			reasons = append(reasons, fmt.Sprintf("| `%s` | %s |", name, strings.TrimSpace(why)))
		}
	}
	var out strings.Builder
	out.WriteString(intro)
	wide := slices.Concat(names[arrays], names[serials])
	for _, name := range wide {
		fmt.Fprintf(&out, " `%s` |", name)
	}
	out.WriteString("\n|---|" + strings.Repeat(":-:|", len(wide)) + "\n")
	for _, typ := range all {
		fmt.Fprintf(&out, "| `%s` |", typ)
		for _, name := range names[arrays] {
			fmt.Fprintf(&out, " %s |", cell(t, name, arrays, typ))
		}
		for _, name := range names[serials] {
			fmt.Fprintf(&out, " %s |", cell(t, name, serials, typ))
		}
		out.WriteByte('\n')
	}
	out.WriteString(middle)
	for _, name := range names[packers] {
		var without []string
		for _, typ := range all {
			if cell(t, name, packers, typ) != exact {
				without = append(without, "`"+typ.String()+"`")
			}
		}
		text := "all"
		if len(without) > 0 {
			text = "all but " + strings.Join(without, ", ")
		}
		fmt.Fprintf(&out, "| `%s` | %s |\n", name, text)
	}
	out.WriteString(end + strings.Join(reasons, "\n") + "\n")
	return out.String()
}

const intro = `# Codecs and data types

A test generates this page: ` + "`TestTable` of `codec/extra`" + ` encodes and decodes elements of every data type with every codec.

## Codecs for elements

| mark | meaning |
|---|---|
| ✓ | decoding returns the same elements |
| ≈ | decoding returns similar elements, by design |
| r | Varve can only decode |
| empty | arrays of this type are refused |

The codecs before ` + "`" + `bytes` + "`" + ` encode arrays as arrays, ` + "`" + `bytes` + "`" + ` and those after it encode arrays as bytes.

| data type |`

const middle = `
## Codecs for bytes

They accept the output of any codec for elements of these types. ` + "`numcodecs.lzma`, and writing `bz2`, need an import of\n`varve.dev/zarr/codec/extra`" + `, which the command has.

| codec | data types |
|---|---|
`

const end = `
## Refused

| codec | why |
|---|---|
`
