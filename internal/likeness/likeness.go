// SPDX-License-Identifier: Apache-2.0

// Package likeness compares arrays by what their documents say, whatever their spelling.
//
// Programs spell a document in their own ways: white space, the order of members, 0 or
// 0.0 as a fill value, a name or an object for a codec, members that have a default. And
// a program that changes a document writes all of it in its own way, also what it leaves
// as it is. So two states of an array must not be told apart by bytes. Values that differ
// stay different: -0.0 is not 0.0, a NaN with a payload is another one, and numbers have
// all their digits.
//
// Which write a document was is another question. Its version answers that.
package likeness

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/metadata"
)

// SameElements reports whether chunks of one shape with the same bytes have the same
// elements in two arrays: whether these have one data type, one fill value and the same
// codecs. What this program does not know is compared as JSON.
func SameElements(a, b *metadata.Array) bool {
	if len(a.Shape) != len(b.Shape) {
		return false
	}
	if sameParts(a, b) { // as most are, and completing takes longer
		return true
	}
	return sameParts(Complete(a), Complete(b))
}

// Identity returns a text that two arrays share exactly if their documents say the same
// about which elements are where, and name the same dimensions. Attributes do not count.
func Identity(a *metadata.Array) ([]byte, error) {
	b := Complete(a)
	if b.Format() == 2 {
		b.DimensionNames = nil // an attribute
	}
	raw, err := json.Marshal([]any{
		b.Format(), b.Shape, b.DataType, b.ChunkGrid, b.ChunkKeyEncoding, json.RawMessage(b.FillValue), b.HasNullFill(),
		b.Codecs, b.StorageTransformers, b.DimensionNames,
	})
	return Plain(raw), err
}

func sameParts(a, b *metadata.Array) bool {
	return sameExtension(a.DataType, b.DataType) && Same(a.FillValue, b.FillValue) && slices.EqualFunc(a.Codecs, b.Codecs, sameExtension)
}

func sameExtension(a, b metadata.Extension) bool {
	a, b = a.Plain(), b.Plain()
	return a.Name == b.Name && a.Optional == b.Optional && Same(a.Configuration, b.Configuration)
}

// Complete returns an array in which every part that this program knows has one spelling:
// configurations have their optional members, and values the form that this program
// writes. In format 2 these are the parts as they would be in format 3; the documents
// stay as they are.
func Complete(a *metadata.Array) *metadata.Array {
	b := *a
	b.DataType, b.ChunkGrid, b.ChunkKeyEncoding = a.DataType.Plain(), a.ChunkGrid.Plain(), a.ChunkKeyEncoding.Plain()
	b.Codecs = slices.Clone(a.Codecs)
	for i, c := range a.Codecs {
		b.Codecs[i] = c.Plain()
	}
	// A list of nulls names no dimension, like no list.
	if !slices.ContainsFunc(b.DimensionNames, func(n *string) bool { return n != nil }) {
		b.DimensionNames = nil
	}
	if len(b.StorageTransformers) == 0 {
		b.StorageTransformers = nil
	}
	if g, err := grid.Parse(b.Shape, b.ChunkGrid.Name, b.ChunkGrid.Configuration, nil); err == nil {
		b.ChunkGrid.Name, b.ChunkGrid.Configuration = g.Name(), g.AppendConfiguration(nil)
	}
	if k, err := metadata.ParseKeyEncoding(b.ChunkKeyEncoding); err == nil {
		b.ChunkKeyEncoding.Configuration = k.Extension().Configuration
	}
	completeElements(&b)
	return &b
}

// completeElements completes the parts that depend on the data type: fill value and
// codecs.
func completeElements(a *metadata.Array) {
	t, err := dtype.Parse(a.DataType.Name, a.DataType.Configuration)
	if err != nil {
		return
	}
	a.DataType.Name, a.DataType.Configuration = t.Name(), t.Configuration()
	fill, err := t.ParseFill(a.FillValue)
	if err != nil {
		return
	}
	if text, err := t.FormatFill(fill); err == nil {
		a.FillValue = text
	}
	// Experimental inner chunks need Unaligned, which leaves others as they are.
	for _, unaligned := range [...]bool{false, true} {
		env := codec.Environment{Unaligned: unaligned}
		c, err := coding.NewChain(&env, a.Codecs, codec.Spec{Type: t, Fill: fill, Rank: len(a.Shape)})
		if err == nil {
			a.Codecs = c.Complete(a.Codecs)
			return
		}
	}
}

// Same reports whether two JSON texts have the same value: white space, the order of
// members and the spelling of texts and numbers do not count. Numbers are compared
// exactly, and -0 is not 0. Text that is not JSON equals itself only. Nil is no value.
func Same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return (a == nil) == (b == nil)
	}
	x, isJSON := valueOf(a)
	y, also := valueOf(b)
	return isJSON && also && reflect.DeepEqual(x, y)
}

// Plain returns a JSON text in the one spelling that its value has here, and any other
// text as it is.
func Plain(text []byte) []byte {
	if v, ok := valueOf(text); ok {
		text, _ = json.Marshal(v) // it was JSON
	}
	return text
}

// valueOf returns the value of a JSON text, in which every number has one spelling.
func valueOf(text []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // float64 does not hold every number
	if d.Decode(&v) != nil || d.More() {
		return nil, false
	}
	return plain(v), true
}

func plain(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for name, m := range v {
			v[name] = plain(m)
		}
	case json.Number:
		return number(string(v))
	}
	return v
}

// number returns the one spelling of a number: its digits without zeros at either end, as
// a whole number, and its exponent. An exponent that is no int64 keeps its text.
func number(text string) json.Number {
	rest, negative := strings.CutPrefix(text, "-")
	digits, power, _ := strings.Cut(strings.ToLower(rest), "e")
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	sign := ""
	if negative {
		sign = "-"
	}
	if digits == "" {
		return json.Number(sign + "0")
	}
	exponent := int64(0)
	if power != "" {
		n, err := strconv.ParseInt(power, 10, 64)
		if err != nil {
			return json.Number(text)
		}
		exponent = n
	}
	exponent -= int64(len(fraction))
	short := strings.TrimRight(digits, "0")
	exponent += int64(len(digits) - len(short))
	return json.Number(sign + short + "e" + strconv.FormatInt(exponent, 10))
}
