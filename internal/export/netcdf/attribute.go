// SPDX-License-Identifier: Apache-2.0

package netcdf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/nonfinite"
	"varve.dev/zarr/internal/strictjson"
)

// attribute is an attribute as netCDF has it: one text, a list of texts, or numbers of
// one kind.
type attribute struct {
	name  string
	kind  kind
	text  string
	texts []string
	data  []byte // numbers in host byte order
}

// ofVariable are the attributes whose numbers have the type of the variable (CF
// conventions, 2.5.1, 3.5 and 8.1; NetCDF user guide, appendix A).
var ofVariable = map[string]bool{
	"missing_value": true, "valid_min": true, "valid_max": true, "valid_range": true, "flag_values": true, "flag_masks": true,
}

// textAttribute returns an attribute that is text.
func textAttribute(name, text string) attribute {
	return attribute{name: name, kind: kindChar, text: text}
}

// attributeOf returns an attribute for a value in JSON. own is the kind of the variable,
// or 0 for a group. Numbers are of the smallest of int, int64 and uint64 that has all of
// them, or double if one is spelled as a fraction. What netCDF cannot express, such as
// objects, stays JSON, as text.
func attributeOf(name string, v strictjson.Value, own kind) attribute {
	list := []strictjson.Value{v}
	if v.Kind() == strictjson.Array {
		list = nil
		for _, e := range v.Elements() {
			list = append(list, e)
		}
	}
	if a, ok := numbersOf(list, own, ofVariable[name]); ok {
		a.name = name
		return a
	}
	var texts []string
	for _, e := range list {
		text, err := e.Str()
		if err != nil {
			return textAttribute(name, documentOf(v))
		}
		texts = append(texts, text)
	}
	if v.Kind() == strictjson.Array {
		return attribute{name: name, kind: kindString, texts: texts}
	}
	return textAttribute(name, texts[0])
}

// documentOf returns a value as JSON in one line.
func documentOf(v strictjson.Value) string {
	var b bytes.Buffer
	if json.Compact(&b, v.Raw()) != nil {
		return string(v.Raw()) // it was parsed before, so this does not happen
	}
	return string(nonfinite.Bare(b.Bytes()))
}

// numbersOf returns an attribute without a name for a list of numbers. ok is false if one
// of them is something else.
func numbersOf(list []strictjson.Value, own kind, prefer bool) (a attribute, ok bool) {
	kinds := []kind{kindInt, kindInt64, kindUInt64, kindDouble}
	if prefer && own.isNumber() {
		kinds = append([]kind{own}, kinds...)
	}
	if len(list) == 1 && list[0].Kind() == strictjson.Bool || len(list) == 0 {
		kinds = append([]kind{kindByte}, kinds...)
	}
	for _, k := range kinds {
		if a.data, ok = appendNumbers(nil, list, k); ok {
			a.kind = k
			return a, true
		}
	}
	return a, false
}

// appendNumbers appends numbers of a kind. ok is false if a value is no such number.
func appendNumbers(data []byte, list []strictjson.Value, k kind) (_ []byte, ok bool) {
	for _, v := range list {
		raw := v.Raw()
		special := false
		switch v.Kind() {
		case strictjson.Number:
			// 4.0 is a float in Python, and stays one.
			if k != kindFloat && k != kindDouble && strings.ContainsAny(string(raw), ".eE") {
				return data, false
			}
		case strictjson.Bool:
			value, _ := v.Bool()
			raw = []byte{'0'}
			if value {
				raw = []byte{'1'}
			}
		case strictjson.String:
			if special = bare[string(raw)] != 0; !special {
				return data, false
			}
		default:
			return data, false
		}
		var elem []byte
		if special {
			if k != kindFloat && k != kindDouble {
				return data, false
			}
			elem = floatElement(k, bare[string(raw)])
		} else {
			var err error
			if elem, err = k.dataType().ParseFill(raw); err != nil {
				return data, false
			}
		}
		data = append(data, elem...)
	}
	return data, true
}

// bare are the strings that stand for bare numbers of Python in attributes
// ([metadata.Array.Attributes]).
var bare = map[string]float64{
	`"\u004eaN"`: math.NaN(), `"\u0049nfinity"`: math.Inf(1), `"\u002dInfinity"`: math.Inf(-1),
}

// floatElement returns a float as an element in host byte order.
func floatElement(k kind, v float64) []byte {
	if k == kindFloat {
		return binary.NativeEndian.AppendUint32(nil, math.Float32bits(float32(v)))
	}
	return binary.NativeEndian.AppendUint64(nil, math.Float64bits(v))
}

// swapped returns the numbers of an attribute in the byte order of a file.
func (a *attribute) swapped(order binary.ByteOrder) []byte {
	data := append([]byte(nil), a.data...)
	swap(a.kind.dataType(), data, order)
	return data
}

// swap converts elements between host byte order and another one, in place.
func swap(t dtype.Type, data []byte, order binary.ByteOrder) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != order.Uint16([]byte{1, 0}) {
		t.Swap(data, data)
	}
}

// parseInteger parses an integer that an int64 holds.
func parseInteger(text []byte) (int64, error) { return strconv.ParseInt(string(text), 10, 64) }
