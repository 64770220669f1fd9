// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/virtual/scan"
)

// over returns a cursor with addresses and lengths of 8 bytes.
func over(list ...any) *cursor { return &cursor{data: parts(list...), sizes: sizes{8, 8}} }

// TestLayouts reads layouts of versions that no library writes any more.
func TestLayouts(t *testing.T) {
	zeros := func(n int) []byte { return make([]byte, n) }
	for _, c := range []struct {
		bytes *cursor
		want  layout
	}{
		{over(byte(1), byte(2), byte(layoutContiguous), zeros(5), uint64(99), uint32(3), uint32(4)), layout{class: layoutContiguous, address: 99, size: undefined}},
		{over(byte(2), byte(1), byte(layoutCompact), zeros(5), uint32(3), uint32(2), "ab"), layout{class: layoutCompact, size: undefined, data: []byte("ab")}},
		{over(byte(1), byte(3), byte(layoutChunked), zeros(5), uint64(99), uint32(5), uint32(6), uint32(4)), layout{class: layoutChunked, address: 99, size: undefined, chunk: []int64{5, 6}, element: 4}},
		{over(byte(3), byte(layoutChunked), byte(2), uint64(99), uint32(5), uint32(8)), layout{class: layoutChunked, address: 99, size: undefined, chunk: []int64{5}, element: 8}},
	} {
		got, err := parseLayout(c.bytes)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v, want %+v: %v", got, c.want, err)
		}
	}
	for _, c := range []*cursor{
		over(byte(6)), over(byte(3)), over(byte(3), byte(layoutChunked), byte(0), uint64(1)),
		over(byte(3), byte(layoutChunked), byte(2), uint64(99), uint32(0), uint32(8)),
		over(byte(4), byte(layoutChunked), byte(0), byte(2), byte(9), zeros(40)),
	} {
		if _, err := parseLayout(c); err == nil {
			t.Errorf("%x is a layout", c.data)
		}
	}
}

// TestFills reads all forms of fill values.
func TestFills(t *testing.T) {
	for _, c := range []struct {
		bytes *cursor
		want  string
	}{
		{over(byte(1), byte(0), byte(0), byte(1), uint32(2), "ab"), "ab"},
		{over(byte(2), byte(0), byte(0), byte(0)), ""},
		{over(byte(2), byte(0), byte(0), byte(1), uint32(0)), ""},
		{over(byte(2), byte(0), byte(0), byte(1), ^uint32(0)), ""},
		{over(byte(3), byte(0x2a), uint32(2), "ab"), "ab"},
		{over(byte(3), byte(0x1a)), ""},
	} {
		if got, err := parseFill(c.bytes); err != nil || string(got.value) != c.want {
			t.Errorf("%x: %q, want %q: %v", c.bytes.data, got.value, c.want, err)
		}
	}
	if _, err := parseFill(over(byte(3), byte(0x2a), uint32(9), "ab")); !errors.Is(err, scan.ErrCorrupt) {
		t.Error(err)
	}
	data := newBuilder()
	at := data.put("12345678")
	a := scanOne(t, data.one(space([]uint64{2}, []uint64{2}), msg(kindDatatype, int32s), msg(kindOldFill, uint32(4), "wxyz"),
		msg(kindLayout, byte(3), byte(layoutContiguous), at, uint64(8))))
	if string(a.Fill) != "wxyz" || a.Refused != nil {
		t.Errorf("%q: %v", a.Fill, a.Refused)
	}
}

// The properties of types.
var (
	single32  = parts(byte(0x11), byte(0x20), byte(31), byte(0), uint32(4), uint16(0), uint16(32), byte(23), byte(8), byte(0), byte(23), uint32(127))
	brain16   = parts(byte(0x11), byte(0x20), byte(15), byte(0), uint32(2), uint16(0), uint16(16), byte(7), byte(8), byte(0), byte(7), uint32(127))
	vax32     = parts(byte(0x31), byte(0x61), byte(31), byte(0), uint32(4), uint16(0), uint16(32), byte(23), byte(8), byte(0), byte(23), uint32(127))
	int24s    = parts(byte(0x10), byte(8), byte(0), byte(0), uint32(3), uint16(0), uint16(24))
	oddBits   = parts(byte(0x10), byte(8), byte(0), byte(0), uint32(4), uint16(3), uint16(12))
	timeType  = parts(byte(0x12), byte(0), byte(0), byte(0), uint32(4), uint16(32))
	bitType   = parts(byte(0x14), byte(0), byte(0), byte(0), uint32(1), uint16(0), uint16(8))
	reference = parts(byte(0x17), byte(1), byte(0), byte(0), uint32(12))
	spaced    = parts(byte(0x13), byte(2), byte(0), byte(0), uint32(5))
	opaque    = parts(byte(0x15), byte(8), byte(0), byte(0), uint32(5), "a tag\x00\x00\x00")
	complex8  = parts(byte(0x5b), byte(1), byte(0), byte(0), uint32(8), single32)
	// oldArray is a compound of version 1 whose field is an array of two rows of three.
	oldArray = parts(byte(0x16), uint16(1), byte(0), uint32(24), "field\x00\x00\x00", uint32(0), byte(2), "\x00\x00\x00", uint32(0), uint32(0),
		uint32(2), uint32(3), uint32(0), uint32(0), int32s)
	padded = parts(byte(0x26), uint16(2), byte(0), uint32(8), "seven77\x00", uint32(4), int32s, "eight888\x00\x00\x00\x00\x00\x00\x00\x00", uint32(0), int32s)
	array2 = parts(byte(0x2a), "\x00\x00\x00", uint32(12), byte(1), "\x00\x00\x00", uint32(3), uint32(0), int32s)
)

// TestTypes maps types that no file of the fixtures has.
func TestTypes(t *testing.T) {
	for _, c := range []struct {
		bytes []byte
		want  string // the type, or a part of the reason for refusing it
	}{
		{int32s, "int32"}, {single32, "float32"}, {brain16, "bfloat16"}, {complex8, "complex64"},
		{vax32, "not of IEEE 754"}, {int24s, "integer, and have 3 bytes"}, {oddBits, "12 bits from bit 3 on"},
		{timeType, "class time"}, {bitType, "class bit field"}, {reference, "reference to a region"}, {spaced, "filled up with spaces"},
		{opaque, "raw_bytes[5]"}, {oldArray, "struct{field: struct{0: struct{0: int32, 1: int32, 2: int32}, 1: struct{0: int32, 1: int32, 2: int32}}}"}, {padded, "struct{eight888: int32, seven77: int32}"}, {array2, "struct{0: int32, 1: int32, 2: int32}"},
		{parts(byte(0x1c), make([]byte, 12)), "without bytes"}, {parts(byte(0x1c), "\x00\x00\x00", uint32(1)), "class 12"},
		{parts(byte(0x60), "\x00\x00\x00", uint32(1)), "version 6"}, {int32s[:9], "too few"},
		{slices.Repeat(parts(byte(0x19), "\x00\x00\x00", uint32(16)), 20), "nested more than 16 deep"},
		{parts(byte(0x36), uint16(1), byte(0), uint32(4), "a\x00", byte(1), int32s), "4 bytes at 1, in 4"},
		{parts(byte(0x38), uint16(0), byte(0), uint32(4), single32), "of the class float"},
		{parts(byte(0x3a), "\x00\x00\x00", uint32(13), byte(1), uint32(3), int32s), "12 bytes, not 13"},
	} {
		d, err := parseDatatype(&cursor{data: c.bytes, sizes: sizes{8, 8}}, 0)
		var got string
		if err == nil {
			typ, refused := d.element()
			got, err = typ.String(), refused
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%x: %s, want %s", c.bytes, got, c.want)
		}
	}
}

// TestFilters reads pipelines of both versions, and makes codecs of them.
func TestFilters(t *testing.T) {
	list, err := parseFilters(over(byte(1), byte(2), make([]byte, 6),
		uint16(1), uint16(8), uint16(0), uint16(1), "deflate\x00", uint32(12), uint32(0),
		uint16(999), uint16(8), uint16(0), uint16(2), "strange\x00", uint32(7), uint32(8)))
	want := []filter{{1, "deflate", []uint32{12}}, {999, "strange", []uint32{7, 8}}}
	if err != nil || !reflect.DeepEqual(list, want) {
		t.Fatalf("%v, want %v: %v", list, want, err)
	}
	for _, c := range []struct {
		f    filter
		want string
	}{
		{list[0], `{"name":"numcodecs.zlib","configuration":{"level":9}}`},
		{list[1], `there is no codec for its filter "strange" (999)`},
		{filter{id: filterShuffle}, `{"name":"numcodecs.shuffle","configuration":{"elementsize":4}}`},
		{filter{id: filterZstd, values: []uint32{^uint32(6)}}, `{"name":"zstd","configuration":{"level":-7,"checksum":false}}`},
		{filter{id: filterBZ2}, `{"name":"numcodecs.bz2","configuration":{"level":9}}`},
		{filter{id: filterBlosc, values: []uint32{2, 2, 0, 0, 99, 0, 5}}, `{"name":"blosc","configuration":{"typesize":1,"cname":"zstd","clevel":9,"shuffle":"noshuffle","blocksize":0}}`},
		{filter{id: filterBlosc, values: []uint32{2, 2, 4, 0, 5, 3, 0}}, "has the values"},
	} {
		x, err := c.f.codec(4)
		got := string(x.Append(nil))
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// TestLinks reads links of all kinds.
func TestLinks(t *testing.T) {
	for _, c := range []struct {
		bytes *cursor
		want  link
	}{
		{over(byte(1), byte(0), byte(1), "a", uint64(9)), link{name: "a", address: 9}},
		{over(byte(1), byte(0x1d), byte(0), uint64(7), byte(1), uint16(2), "ab", uint64(9)), link{name: "ab", address: 9}},
		{over(byte(1), byte(0x0a), byte(1), uint32(1), "a", uint16(1), "b"), link{name: "a", kind: linkSoft, target: "b"}},
		{over(byte(1), byte(8), byte(64), byte(1), "a", uint16(6), byte(0), "f\x00/b\x00"), link{name: "a", kind: linkExternal, file: "f", target: "/b"}},
		{over(byte(1), byte(8), byte(99), byte(1), "a", uint16(1), "b"), link{name: "a", kind: 99}},
	} {
		if got, err := parseLink(c.bytes); err != nil || got != c.want {
			t.Errorf("%+v, want %+v: %v", got, c.want, err)
		}
	}
	for _, name := range []string{"", "a/b"} {
		b := newBuilder()
		if _, err := Scan(openBytes(t, b.done(b.header(hard(name, 0))))); !errors.Is(err, scan.ErrCorrupt) {
			t.Errorf("%q: %v", name, err)
		}
	}
	b := newBuilder()
	group := b.header(msg(kindGroupInfo, byte(0), byte(0)))
	set, err := Scan(openBytes(t, b.done(b.header(hard("..", group)))))
	if err != nil || len(set.Arrays) != 1 || !errors.Is(set.Arrays[0].Refused, scan.ErrUnsupported) {
		t.Errorf("arrays %v: %v", set.Arrays, err)
	}
}

// TestUniformMask leaves out a filter that all chunks have skipped.
func TestUniformMask(t *testing.T) {
	for _, c := range []struct {
		second uint32
		want   string
	}{{2, "[bytes numcodecs.shuffle]"}, {0x12, "[bytes numcodecs.shuffle]"}, {0, "chunk [0] has skipped filters (mask 0x2)"}, {3, "chunk [1] has skipped filters (mask 0x3)"}} {
		b := newBuilder()
		data := b.put(make([]byte, 8))
		leaf := b.sum("BTLF", byte(0), byte(11), data, uint32(8), uint32(2), uint64(0), data, uint32(8), c.second, uint64(1))
		tree := b.sum("BTHD", byte(0), byte(11), uint32(512), uint16(24), uint16(0), byte(100), byte(40), leaf, uint16(2), uint64(2))
		filters := msg(kindFilters, byte(2), byte(2), uint16(2), uint16(0), uint16(1), uint32(4), uint16(1), uint16(0), uint16(0))
		a := scanOne(t, b.one(space([]uint64{4}, []uint64{unlimited}), msg(kindDatatype, int32s), filters, chunkedLayout(2, indexTree2, make([]byte, 6), tree)))
		names := []string{}
		for _, x := range a.Codecs {
			names = append(names, x.Name)
		}
		got := fmt.Sprint(names)
		if a.Refused != nil {
			got = a.Refused.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("mask %#x: %s, want %s", c.second, got, c.want)
		}
	}
}
