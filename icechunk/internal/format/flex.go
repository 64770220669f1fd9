// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Types of FlexBuffers, which the documentation of FlatBuffers describes as
// "FlexBuffers".
const (
	flexNull = iota
	flexInt
	flexUint
	flexFloat
	flexKey
	flexString
	flexIndirectInt
	flexIndirectUint
	flexIndirectFloat
	flexMap
	flexVector
	flexVectorInt
	flexVectorUint
	flexVectorFloat
	flexVectorKey
	flexVectorString
	flexBlob       = 25
	flexBool       = 26
	flexVectorBool = 36
)

// flex is a FlexBuffer that is not trusted.
type flex struct {
	data []byte
	left int // values that may still be visited
}

// mostFlex bounds how deep values lie in others.
const mostFlex = 64

// ParseFlex parses a FlexBuffer. Values are nil, bool, int64, uint64, float64, string,
// []byte, []any and map[string]any.
func ParseFlex(data []byte) (any, error) {
	if len(data) < 3 {
		return nil, fmt.Errorf("%w: a FlexBuffer is too short (length: %d)", ErrDamaged, len(data))
	}
	f := &flex{data, 4*len(data) + 1} // keys may be shared
	width := int(data[len(data)-1])
	if !isWidth(width) || width > len(data)-2 {
		return nil, errFlex
	}
	return f.value(len(data)-2-width, width, data[len(data)-2], 0)
}

var errFlex = fmt.Errorf("%w: a FlexBuffer leads out of itself", ErrDamaged)

func isWidth(n int) bool { return n == 1 || n == 2 || n == 4 || n == 8 }

// uint reads a number of some bytes.
func (f *flex) uint(at, width int) (uint64, error) {
	if at < 0 || at > len(f.data)-width {
		return 0, errFlex
	}
	return number(f.data[at : at+width]), nil
}

// int reads a signed number of some bytes.
func (f *flex) int(at, width int) (int64, error) {
	n, err := f.uint(at, width)
	shift := 64 - 8*width
	return int64(n<<shift) >> shift, err
}

// float reads a number of 2, 4 or 8 bytes.
func (f *flex) float(at, width int) (float64, error) {
	n, err := f.uint(at, width)
	switch width {
	case 4:
		return float64(math.Float32frombits(uint32(n))), err
	case 8:
		return math.Float64frombits(n), err
	}
	return 0, fmt.Errorf("%w: a FlexBuffer has a number of unknown width: %d", ErrDamaged, width)
}

// to returns where an offset leads, which is backwards.
func (f *flex) to(at, width int) (int, error) {
	n, err := f.uint(at, width)
	if err != nil || n > uint64(at) { // an empty list is where its offset is
		return 0, errFlex
	}
	return at - int(n), nil
}

// value returns the value of a type at a place of a parent whose elements have a width.
func (f *flex) value(at, width int, packed byte, depth int) (any, error) {
	if f.left--; f.left < 0 || depth > mostFlex {
		return nil, fmt.Errorf("%w: a FlexBuffer has more values than bytes", ErrDamaged)
	}
	kind, below := int(packed>>2), 1<<(packed&3)
	switch kind {
	case flexNull:
		return nil, nil
	case flexInt:
		return f.int(at, width)
	case flexUint:
		return f.uint(at, width)
	case flexFloat:
		return f.float(at, width)
	case flexBool:
		n, err := f.uint(at, width)
		return n != 0, err
	}
	there, err := f.to(at, width)
	if err != nil {
		return nil, err
	}
	switch kind {
	case flexIndirectInt:
		return f.int(there, below)
	case flexIndirectUint:
		return f.uint(there, below)
	case flexIndirectFloat:
		return f.float(there, below)
	case flexKey:
		return f.key(there)
	case flexString, flexBlob:
		return f.text(there, below, kind)
	case flexMap:
		return f.dictionary(there, below, depth)
	case flexVector:
		return f.list(there, below, depth, func(i, n int) (byte, error) {
			t, err := f.uint(there+n*below+i, 1)
			return byte(t), err
		})
	}
	if element, ok := flexElements[kind]; ok {
		return f.list(there, below, depth, func(int, int) (byte, error) { return element<<2 | packed&3, nil })
	}
	return nil, fmt.Errorf("%w: a FlexBuffer has a value of type %d", ErrDamaged, kind)
}

// flexElements are the types of elements of lists whose elements have one.
var flexElements = map[int]byte{flexVectorInt: flexInt, flexVectorUint: flexUint, flexVectorFloat: flexFloat, flexVectorKey: flexKey, flexVectorString: flexString, flexVectorBool: flexBool}

// length returns the length that is stored before a place.
func (f *flex) length(at, width int) (int, error) {
	n, err := f.uint(at-width, width)
	if err != nil || n > uint64(len(f.data)-at) {
		return 0, errFlex
	}
	return int(n), nil
}

// key returns the text up to a zero.
func (f *flex) key(at int) (string, error) {
	end := bytes.IndexByte(f.data[at:], 0)
	if end < 0 || !utf8.Valid(f.data[at:at+end]) {
		return "", errFlex
	}
	if f.left -= end; f.left < 0 {
		return "", fmt.Errorf("%w: a FlexBuffer has more values than bytes", ErrDamaged)
	}
	return string(f.data[at : at+end]), nil
}

func (f *flex) text(at, width, kind int) (any, error) {
	n, err := f.length(at, width)
	if err != nil {
		return nil, err
	}
	raw := f.data[at : at+n]
	if f.left -= n; f.left < 0 {
		return nil, fmt.Errorf("%w: a FlexBuffer has more values than bytes", ErrDamaged)
	}
	if kind == flexBlob {
		return bytes.Clone(raw), nil
	}
	if !utf8.Valid(raw) {
		return nil, fmt.Errorf("%w: a text of a FlexBuffer is not UTF-8", ErrDamaged)
	}
	return string(raw), nil
}

// list returns the elements of a list, of types that kind tells.
func (f *flex) list(at, width, depth int, kind func(i, n int) (byte, error)) ([]any, error) {
	n, err := f.length(at, width)
	if err != nil || n > (len(f.data)-at)/width {
		return nil, errFlex
	}
	list := make([]any, 0, min(n, 1024))
	for i := range n {
		t, err := kind(i, n)
		if err != nil {
			return nil, err
		}
		v, err := f.value(at+i*width, width, t, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// dictionary returns a map. Its keys are a list before its values.
func (f *flex) dictionary(at, width, depth int) (map[string]any, error) {
	keys, err := f.to(at-3*width, width)
	if err != nil {
		return nil, err
	}
	keyWidth, err := f.uint(at-2*width, width)
	if err != nil || keyWidth > 8 || !isWidth(int(keyWidth)) {
		return nil, errFlex
	}
	names, err := f.list(keys, int(keyWidth), depth, func(int, int) (byte, error) { return flexKey << 2, nil })
	if err != nil {
		return nil, err
	}
	values, err := f.list(at, width, depth, func(i, n int) (byte, error) {
		t, err := f.uint(at+n*width+i, 1)
		return byte(t), err
	})
	if err != nil {
		return nil, err
	}
	if len(names) != len(values) {
		return nil, fmt.Errorf("%w: a map of a FlexBuffer has other lengths of keys and values: %d, %d", ErrDamaged, len(names), len(values))
	}
	is := make(map[string]any, len(names))
	for i, name := range names {
		is[name.(string)] = values[i]
	}
	return is, nil
}

// EncodeFlex encodes a value that encoding/json can marshal, as the reference encodes
// JSON: whole numbers are int64 or uint64, others float64.
func EncodeFlex(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	w := flexWriter{}
	root := w.value(v)
	w.put(root)
	data := append(w.data, root.kind<<2|flexWide, 1<<flexWide)
	// What cannot be read must not be published.
	if _, err = ParseFlex(data); err != nil {
		return nil, err
	}
	return data, nil
}

// flexWide is the code of a width of 8 bytes. All numbers and offsets that are written
// have it.
const flexWide = 3

// flexWriter writes values, each behind those that it leads to.
type flexWriter struct{ data []byte }

// flexField is a value as its parent has it.
type flexField struct {
	kind byte
	bits uint64 // the number, or where the bytes are
	away bool   // the bytes are elsewhere
}

// put writes a field.
func (w *flexWriter) put(f flexField) {
	w.align()
	if f.away {
		f.bits = uint64(len(w.data)) - f.bits
	}
	w.data = binary.LittleEndian.AppendUint64(w.data, f.bits)
}

func (w *flexWriter) number(n int) { w.put(flexField{bits: uint64(n)}) }

// align fills up to the next multiple of 8 bytes.
func (w *flexWriter) align() { w.data = append(w.data, make([]byte, -len(w.data)&7)...) }

// value writes what a value leads to.
func (w *flexWriter) value(v any) flexField {
	switch v := v.(type) {
	case bool:
		f := flexField{kind: flexBool}
		if v {
			f.bits = 1
		}
		return f
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return flexField{kind: flexInt, bits: uint64(n)}
		}
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return flexField{kind: flexUint, bits: n}
		}
		n, _ := v.Float64() // encoding/json has written it
		return flexField{kind: flexFloat, bits: math.Float64bits(n)}
	case string:
		w.number(len(v))
		f := flexField{flexString, uint64(len(w.data)), true}
		w.data = append(append(w.data, v...), 0)
		return f
	case []any:
		fields := make([]flexField, len(v))
		for i, x := range v {
			fields[i] = w.value(x)
		}
		return w.list(flexVector, fields)
	case map[string]any:
		var names, fields []flexField
		for _, name := range slices.Sorted(maps.Keys(v)) {
			names = append(names, flexField{flexKey, uint64(len(w.data)), true})
			w.data = append(append(w.data, name...), 0)
			fields = append(fields, w.value(v[name]))
		}
		keys := w.list(flexVectorKey, names)
		w.put(keys)
		w.number(1 << flexWide)
		return w.list(flexMap, fields)
	}
	return flexField{kind: flexNull}
}

// list writes the elements of a list, with their types unless all are keys.
func (w *flexWriter) list(kind byte, fields []flexField) flexField {
	w.number(len(fields))
	at := uint64(len(w.data))
	for _, f := range fields {
		w.put(f)
	}
	for _, f := range fields {
		if kind != flexVectorKey {
			w.data = append(w.data, f.kind<<2|flexWide)
		}
	}
	return flexField{kind, at, true}
}
