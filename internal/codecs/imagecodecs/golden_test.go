// SPDX-License-Identifier: Apache-2.0

package imagecodecs

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	_ "varve.dev/zarr/internal/codecs/bytescodec"
	"varve.dev/zarr/internal/coding"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
)

// chunk is a line of testdata/chunks.jsonl, which interop/imagecodecs_testdata.py wrote
// with imagecodecs.
type chunk struct {
	Codec          string
	Configuration  json.RawMessage
	Shape          []int64
	DType          string
	Plain, Encoded string

	typ            dtype.Type
	big            bool
	plain, encoded []byte // plain is in host byte order
}

func chunks(t testing.TB) (list []chunk) {
	t.Helper()
	text, err := os.ReadFile("testdata/chunks.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var c chunk
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		if c.typ, c.big, err = dtype.FromNumPy(c.DType); err != nil {
			t.Fatal(err)
		}
		c.plain, err = hex.DecodeString(c.Plain)
		if err == nil {
			c.encoded, err = hex.DecodeString(c.Encoded)
		}
		if err != nil {
			t.Fatal(err)
		}
		if c.big == byteorder.Little() {
			c.typ.Swap(c.plain, c.plain)
		}
		list = append(list, c)
	}
	return list
}

// chain returns the chain of codecs that stores chunks as imagecodecs has encoded them.
func (c *chunk) chain(t *testing.T) *coding.Chain {
	t.Helper()
	endian := "little"
	if c.big {
		endian = "big"
	}
	list := []metadata.Extension{{Name: prefix + c.Codec, Configuration: c.Configuration}, codec.Bytes(endian)}
	if c.Codec == lzwID || c.Codec == packBitsID {
		list[0], list[1] = list[1], list[0]
	}
	spec := codec.Spec{Type: c.typ, Fill: make([]byte, c.typ.Size()), Rank: len(c.Shape)}
	made, err := coding.NewChain(new(codec.Environment), list, spec)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestGolden decodes what imagecodecs has encoded, and encodes the same bytes, except
// where encoders have a choice. imagecodecs may write a byte behind the end of LZW.
func TestGolden(t *testing.T) {
	count := map[string]int{}
	for _, c := range chunks(t) {
		count[c.Codec]++
		what := c.Codec + " " + string(c.Configuration) + " " + c.DType
		chain := c.chain(t)
		v := strided.Contiguous(make([]byte, len(c.plain)), c.Shape, c.typ.Size())
		if err := chain.Decode(&v, c.encoded); err != nil || !bytes.Equal(v.Data, c.plain) {
			t.Errorf("%s: %d bytes decode to other ones: %v", what, len(c.plain), err)
		}
		got, err := chain.Encode(nil, strided.Contiguous(c.plain, c.Shape, c.typ.Size()))
		chosen := c.Codec == packBitsID || len(c.plain) >= 10000 // when the table of LZW is full
		if err != nil || !chosen && !bytes.Equal(got, c.encoded) && !bytes.Equal(append(got, 0), c.encoded) {
			t.Errorf("%s: %d bytes encode to %d, and to other ones than %d: %v", what, len(c.plain), len(got), len(c.encoded), err)
		}
	}
	if count[lzwID] < 20 || count[packBitsID] < 18 || count[deltaID] < 100 || count[floatID] < 35 {
		t.Errorf("%v chunks", count)
	}
}
