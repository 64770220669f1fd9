// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
)

// spec describes an array for both implementations.
type spec struct {
	Shape       []int64        `json:"shape"`
	Type        string         `json:"type"`
	Chunks      []cut          `json:"chunks"`
	Fill        element        `json:"fill"`
	Filters     []codecJSON    `json:"filters"`
	Serializer  codecJSON      `json:"serializer"`
	Compressors []codecJSON    `json:"compressors"`
	Keys        keys           `json:"keys"`
	Names       []*string      `json:"names"`
	Attributes  map[string]any `json:"attributes"`

	ListAxes    bool    `json:"-"` // write every axis as a list; only in Varve
	Order       string  `json:"order"`
	rectilinear bool    // by name, even if no axis is listed
	units       []int64 // for shards: lengths of inner chunks, which divide all edges
}

// listed reports whether an axis has a list of edges.
func (s spec) listed() bool {
	return slices.ContainsFunc(s.Chunks, func(c cut) bool { return c.edges != nil })
}

// grid returns the name of the chunk grid and the declared edges, a number or a list for
// every axis.
func (s spec) grid() string {
	name := "regular"
	if s.rectilinear || s.listed() {
		name = "rectilinear"
	}
	return fmt.Sprint(name, " ", s.Chunks)
}

// String writes a number or a list.
func (c cut) String() string {
	if c.edges != nil {
		return fmt.Sprint(c.edges)
	}
	return fmt.Sprint(c.step)
}

// cut is the grid of an axis: a step, or a list of edges if that is not nil.
type cut struct {
	step  int64
	edges []int64
}

// MarshalJSON writes a number or a list.
func (c cut) MarshalJSON() ([]byte, error) {
	if c.edges != nil {
		return json.Marshal(c.edges)
	}
	return json.Marshal(c.step)
}

// element is the bytes of one element, hexadecimal in JSON.
type element []byte

// MarshalText writes hexadecimal digits.
func (e element) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(e)), nil }

type codecJSON struct {
	Name          string         `json:"name"`
	Configuration map[string]any `json:"configuration,omitzero"`
}

type keys struct {
	Name      string `json:"name"`
	Separator string `json:"separator"`
}

// types are the data types that both implementations have, with the bytes of a number
// and the numbers of an element.
var types = []struct {
	name         string
	unit, number int
}{
	{"bool", 1, 1}, {"int8", 1, 1}, {"int16", 2, 1}, {"int32", 4, 1}, {"int64", 8, 1},
	{"uint8", 1, 1}, {"uint16", 2, 1}, {"uint32", 4, 1}, {"uint64", 8, 1},
	{"float16", 2, 1}, {"float32", 4, 1}, {"float64", 8, 1}, {"complex64", 4, 2}, {"complex128", 8, 2},
}

// randomSpec returns an array of up to four axes, some of them empty, with any grid,
// type, chain, keys and fill value.
func randomSpec(r *rand.Rand) spec {
	typ := types[r.IntN(len(types))]
	s := spec{
		Shape: randomShape(r), Type: typ.name, Keys: pick(r, keys{"default", "/"}, keys{"default", "."}, keys{"v2", "."}, keys{"v2", "/"}),
		Attributes: randomAttributes(r), Filters: []codecJSON{}, Compressors: randomCompressors(r),
		Serializer: codecJSON{Name: "bytes"}, Chunks: []cut{},
	}
	s.Fill = randomElements(r, typ.name, 1)
	for typ.number == 2 && hasNaN(s.Fill, typ.unit) {
		// zarr-python does not distinguish complex numbers with a NaN: it would drop
		// chunks of others than this one.
		s.Fill = randomElements(r, typ.name, 1)
	}
	if typ.unit > 1 {
		s.Serializer.Configuration = map[string]any{"endian": pick(r, "little", "big")}
	}
	listed := r.IntN(3)
	for _, extent := range s.Shape {
		s.Chunks = append(s.Chunks, randomCut(r, extent, listed))
	}
	if len(s.Shape) > 0 && r.IntN(3) == 0 {
		s.Filters = []codecJSON{{"transpose", map[string]any{"order": r.Perm(len(s.Shape))}}}
	}
	if len(s.Shape) > 0 && r.IntN(2) == 0 {
		s.Names = randomNames(r, len(s.Shape))
	}
	return s
}

func randomShape(r *rand.Rand) []int64 {
	shape := make([]int64, r.IntN(5))
	most := []int{1, 300, 30, 12, 6}[len(shape)]
	for i := range shape {
		if shape[i] = 1 + r.Int64N(int64(most)); r.IntN(20) == 0 {
			shape[i] = 0
		}
	}
	return shape
}

// randomCut returns a step if listed is 0, edges if it is 2, and either if it is 1. Both
// may reach beyond the extent.
func randomCut(r *rand.Rand, extent int64, listed int) cut {
	if listed == 0 || listed == 1 && r.IntN(2) == 0 {
		return cut{step: 1 + r.Int64N(extent+3)}
	}
	c := cut{edges: []int64{}}
	for sum := int64(0); sum < extent || len(c.edges) == 0 || r.IntN(4) == 0; {
		edge := 1 + r.Int64N(max(extent/2, 1)+1)
		for range 1 + r.IntN(3) {
			c.edges = append(c.edges, edge)
			sum += edge
		}
	}
	return c
}

func randomCompressors(r *rand.Rand) []codecJSON {
	chain := []codecJSON{}
	for range r.IntN(3) {
		chain = append(chain, pick(r,
			codecJSON{"gzip", map[string]any{"level": r.IntN(10)}},
			codecJSON{"zstd", map[string]any{"level": r.IntN(10), "checksum": r.IntN(2) == 0}},
			codecJSON{Name: "crc32c"}))
	}
	return chain
}

// randomNames returns a name or none for every axis.
func randomNames(r *rand.Rand, rank int) []*string {
	names := make([]*string, rank)
	for i := range names {
		if name := string(rune('s' + i)); r.IntN(3) > 0 {
			names[i] = &name
		}
	}
	return names
}

func randomAttributes(r *rand.Rand) map[string]any {
	all := map[string]any{
		"units": "m s⁻¹", "count": json.Number("9007199254740993"), "scale": json.Number("0.1"), "none": nil,
		"nested": map[string]any{"list": []any{true, "a\"b\\c\n", map[string]any{}}, "": []any{}}, "<&>": "\u2028",
	}
	for name := range all {
		if r.IntN(2) == 0 {
			delete(all, name)
		}
	}
	return all
}

// special are numbers at the ends of every type, in little endian, by the bytes of a
// number.
var special = map[string][]string{
	"float16": {"0000", "0080", "007c", "00fc", "007e", "0100", "ff7b"},
	"float32": {"00000000", "00000080", "0000807f", "000080ff", "0000c07f", "01000000", "ffff7f7f"},
	"float64": {
		"0000000000000000", "0000000000000080", "000000000000f07f", "000000000000f0ff",
		"000000000000f87f", "0100000000000000", "ffffffffffffef7f",
	},
}

// hasNaN reports whether one of the numbers in data is the NaN in special.
func hasNaN(data []byte, unit int) bool {
	for number := range slices.Chunk(data, unit) {
		if text := hex.EncodeToString(number); text == "0000c07f" || text == "000000000000f87f" {
			return true
		}
	}
	return false
}

// randomElements returns n elements of a type. NaN has one representation, because
// zarr-python keeps no other in fill values.
func randomElements(r *rand.Rand, typ string, n int) []byte {
	i := slices.IndexFunc(types, func(t struct {
		name         string
		unit, number int
	}) bool {
		return t.name == typ
	})
	unit := types[i].unit
	var data []byte
	for range n * types[i].number {
		data = append(data, randomNumber(r, typ, unit)...)
	}
	return data
}

// randomNumber returns the bytes of a number; every fourth is a special one.
func randomNumber(r *rand.Rand, typ string, unit int) []byte {
	number := make([]byte, unit)
	switch {
	case typ == "bool":
		number[0] = byte(r.IntN(2))
	case floatOf[typ] != "" && r.IntN(4) == 0:
		number, _ = hex.DecodeString(pick(r, special[floatOf[typ]]...))
	case floatOf[typ] == "" && r.IntN(4) == 0:
		extreme(number, pick(r, 0, 1, 2, 3))
	default:
		for i := range number {
			number[i] = byte(r.Uint32())
		}
		if floatOf[typ] != "" {
			number[unit-1] &= 0xbf // an exponent in the lower half, so neither infinite nor NaN
		}
	}
	return number
}

// floatOf returns the type of the numbers of an element if they are floats.
var floatOf = map[string]string{
	"float16": "float16", "float32": "float32", "float64": "float64", "complex64": "float32", "complex128": "float64",
}

// extreme makes an integer zero, all ones, or the largest or smallest signed one.
func extreme(number []byte, which int) {
	last := len(number) - 1
	for i := range number {
		number[i] = []byte{0, 0xff, 0xff, 0}[which]
	}
	number[last] = []byte{0, 0xff, 0x7f, 0x80}[which]
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
