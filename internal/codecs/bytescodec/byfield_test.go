// SPDX-License-Identifier: Apache-2.0

package bytescodec

import (
	"errors"
	"strings"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/metadata"
)

// station has numbers, one of them in a struct of its own, and what has no byte order.
func station(t testing.TB, flag string) dtype.Type {
	t.Helper()
	field := func(name, typ string) dtype.Field { return dtype.Field{Name: name, Type: parse(t, typ)} }
	at, err := dtype.StructOf(field("x", "complex64"), field("flag", flag))
	if err != nil {
		t.Fatal(err)
	}
	typ, err := dtype.StructOf(field("a", "int16"), field("b", "uint8"), dtype.Field{Name: "at", Type: at}, field("c", "int16"))
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

func byField(t testing.TB, configuration string) any {
	t.Helper()
	c, err := codec.Default.New(metadata.Extension{Name: own.BytesByField, Configuration: []byte(configuration)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestByFieldContract(t *testing.T) {
	o := &codectest.Options{Specs: []codec.Spec{{Type: station(t, "uint8"), Rank: 1}, {Type: station(t, "uint8"), Rank: 3}}}
	for _, configuration := range []string{`{"endian":["little","big","big"]}`, `{"endian":["big","little","little"]}`, `{"endian":["little","little","little"]}`} {
		codectest.Run(t, func() any { return byField(t, configuration) }, o)
	}
}

// TestByField has an element as it is stored.
func TestByField(t *testing.T) {
	c := byField(t, `{"endian":["little","big","big"]}`).(codec.ArrayBytes)
	if err := c.Bind(codec.Spec{Type: station(t, "bool"), Rank: 1}); err != nil {
		t.Fatal(err)
	}
	stored := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 13, 14}
	want := []byte{1, 2, 3, 7, 6, 5, 4, 11, 10, 9, 8, 1, 14, 13}
	if !byteorder.Little() {
		want = []byte{2, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 13, 14}
	}
	block := codec.Block{Shape: []int64{1}, Data: make([]byte, len(want))}
	if err := c.Decode(&block, stored); err != nil || string(block.Data) != string(want) {
		t.Errorf("%v, %v, want %v", block.Data, err, want)
	}
	stored[11] = 2
	if err := c.Decode(&block, stored); !errors.Is(err, codec.ErrCorrupt) || !strings.Contains(err.Error(), `"flag"`) {
		t.Error(err)
	}
}

func TestByFieldRefuses(t *testing.T) {
	for _, configuration := range []string{`{}`, `{"endian":[]}`, `{"endian":"big"}`, `{"endian":["big","middle"]}`, `{"endian":["big"],"more":1}`} {
		if _, err := codec.Default.New(metadata.Extension{Name: own.BytesByField, Configuration: []byte(configuration)}); !errors.Is(err, codec.ErrConfiguration) {
			t.Errorf("%s: %v", configuration, err)
		}
	}
	c := byField(t, `{"endian":["little","big"]}`).(codec.ArrayBytes)
	for _, typ := range []dtype.Type{parse(t, "int16"), station(t, "bool")} {
		if err := c.Bind(codec.Spec{Type: typ, Rank: 1}); !errors.Is(err, codec.ErrConfiguration) {
			t.Errorf("%s: %v", typ, err)
		}
	}
}
