// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"reflect"
	"slices"
	"testing"

	"varve.dev/zarr/virtual/scan"
)

// attr returns an attribute message of version 3.
func attr(name string, typ []byte, shape []uint64, data ...any) []byte {
	s := parts(byte(2), byte(len(shape)), byte(0), byte(1), shape)
	return msg(kindAttribute, byte(3), byte(0), uint16(len(name)+1), uint16(len(typ)), uint16(len(s)), byte(1), name, byte(0), typ, s, parts(data...))
}

// bools is the type of truth values of h5py.
var bools = parts(byte(0x38), uint16(2), byte(0), uint32(1), byte(0x10), "\x08\x00\x00", uint32(1), uint16(0), uint16(8), "FALSE\x00TRUE\x00", byte(0), byte(1))

// TestAttributes reads values of types that no fixture has in attributes.
func TestAttributes(t *testing.T) {
	b := newBuilder()
	collection := b.put("GCOL", byte(1), "\x00\x00\x00", uint64(64), uint16(3), make([]byte, 6), uint64(8), int32(7), int32(-8), make([]byte, 24))
	integers := parts(byte(0x19), "\x00\x00\x00", uint32(16), int32s)
	space := byte(2)
	nullText := msg(kindAttribute, byte(2), byte(0), uint16(2), uint16(8), uint16(4), "z\x00", parts(byte(0x13), "\x00\x00\x00", uint32(1)), byte(2), byte(0), byte(0), byte(2))
	named := b.header(msg(kindDatatype, int32s))
	ofNamed := msg(kindAttribute, byte(2), byte(1), uint16(2), uint16(10), uint16(4), "n\x00", byte(3), byte(2), named, byte(2), byte(0), byte(0), byte(1), int32(77))
	root := b.header(msg(kindGroupInfo, byte(0), byte(0)),
		attr("scalar", int32s, nil, int32(-5)),
		attr("one", int32s, []uint64{1}, int32(-5)),
		attr("square", int32s, []uint64{1, 1}, int32(-5)),
		attr("none", int32s, []uint64{0}),
		attr("rows", int32s, []uint64{2, 2}, int32(1), int32(2), int32(3), int32(4)),
		attr("array", array2, nil, int32(1), int32(2), int32(3)),
		attr("complex", complex8, nil, float32(1), float32(-2)),
		attr("brain", brain16, nil, uint16(0x3f80)),
		attr("spaces", parts(byte(0x13), space, byte(0), byte(0), uint32(4)), nil, "ab  "),
		attr("bool", bools, []uint64{2}, byte(0), byte(1)),
		attr("ragged", integers, []uint64{2}, uint32(2), collection, uint32(3), make([]byte, 16)),
		attr("reference", reference, nil, make([]byte, 12)),
		attr("class 12", parts(byte(0x1c), "\x00\x00\x00", uint32(1)), nil, byte(0)),
		nullText, ofNamed)
	set, err := Scan(openBytes(t, b.done(root)))
	if err != nil {
		t.Fatal(err)
	}
	want := scan.Attributes{
		{Name: "scalar", Value: int32(-5)}, {Name: "one", Value: int32(-5)}, {Name: "square", Value: []any{[]int32{-5}}}, {Name: "none", Value: []int32{}},
		{Name: "rows", Value: []any{[]int32{1, 2}, []int32{3, 4}}}, {Name: "array", Value: []int32{1, 2, 3}}, {Name: "complex", Value: []float32{1, -2}},
		{Name: "brain", Value: float32(1)}, {Name: "spaces", Value: "ab"}, {Name: "bool", Value: []bool{false, true}},
		{Name: "ragged", Value: []any{[]int32{7, -8}, []int32{}}}, {Name: "z", Value: ""}, {Name: "n", Value: int32(77)},
	}
	if got := set.Groups[0].Attributes; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if text, err := set.Groups[0].Attributes.JSON(); err != nil {
		t.Errorf("%s: %v", text, err)
	}
}

// TestDimensions names the dimensions of a coordinate of two axes, as netCDF stores it,
// and of an array whose second dimension has no scale.
func TestDimensions(t *testing.T) {
	text := func(s string) (typ []byte, shape []uint64, data string) {
		return parts(byte(0x13), "\x00\x00\x00", uint32(len(s))), nil, s
	}
	with := func(name, value string) []byte {
		typ, shape, data := text(value)
		return attr(name, typ, shape, data)
	}
	b := newBuilder()
	array := func(shape []uint64, more ...[]byte) uint64 {
		return b.header(slices.Concat([][]byte{space(shape, shape), msg(kindDatatype, int32s), msg(kindLayout, byte(3), byte(layoutContiguous), unlimited, uint64(0))}, more)...)
	}
	station := array([]uint64{3, 4}, with(attrClass, classOfScale), with(attrName, "station"), attr(attrDimension, int32s, nil, int32(7)),
		attr(attrCoordinates, int32s, []uint64{2}, int32(7), int32(9)))
	letters := array([]uint64{4}, with(attrClass, classOfScale), with(attrName, noVariable+"         4"), attr(attrDimension, int32s, nil, int32(9)))
	collection := b.put("GCOL", byte(1), "\x00\x00\x00", uint64(48), uint16(1), make([]byte, 6), uint64(8), station, make([]byte, 8))
	references := parts(byte(0x19), "\x00\x00\x00", uint32(16), byte(0x17), "\x00\x00\x00", uint32(8))
	image := array([]uint64{3, 5}, with(attrClass, "IMAGE"), attr(attrList, references, []uint64{2}, uint32(1), collection, uint32(1), make([]byte, 16)))
	loose := array([]uint64{4, 3}, attr(attrCoordinates, int32s, []uint64{2}, int32(9), int32(7)))
	set, err := Scan(openBytes(t, b.done(b.header(hard("station", station), hard("letters", letters), hard("image", image), hard("loose", loose)))))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, a := range set.Arrays {
		got[a.Path] = a.Names
	}
	want := map[string][]string{"station": {"station", "letters"}, "image": {"station", ""}, "loose": {"letters", "station"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if a := set.Arrays[0].Attributes; len(a) != 1 || a.Get(attrClass) != "IMAGE" {
		t.Errorf("attributes %v", a)
	}
}
