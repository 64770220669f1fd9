// SPDX-License-Identifier: Apache-2.0

package coding_test

import (
	"bytes"
	"fmt"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
)

// marker puts one byte before its content. That of an adapted one differs.
type marker struct{}

func (marker) MaxEncoded(n int64) int64 { return n + 1 }

func (marker) Encode(dst, src []byte) ([]byte, error) { return append(append(dst, 'c'), src...), nil }

func (marker) EncodeAdapted(dst, src []byte) ([]byte, error) {
	return append(append(dst, 'a'), src...), nil
}

func (marker) Decode(dst, src []byte, _ int64) ([]byte, error) {
	if len(src) == 0 {
		return dst, codec.ErrCorrupt
	}
	return append(dst, src[1:]...), nil
}

// TestAdapter encodes with chains in which the codec is last, not last, and in shards. It
// adapts in all of them if the environment says so, and only then.
func TestAdapter(t *testing.T) {
	r := new(codec.Registry)
	r.Register("marker", func([]byte) (any, error) { return marker{}, nil })
	for _, name := range []string{"bytes", "crc32c", "sharding_indexed"} {
		r.Register(name, func(configuration []byte) (any, error) {
			return codec.Default.New(metadata.Extension{Name: name, Configuration: configuration})
		})
	}
	little, mark := codec.Bytes("little"), metadata.Extension{Name: "marker"}
	shards, err := codec.Shards(codec.Sharding{Inner: grid.Chunks(2), Codecs: []metadata.Extension{little, mark}})
	if err != nil {
		t.Fatal(err)
	}
	for _, exts := range [][]metadata.Extension{{little, mark}, {little, mark, codec.CRC32C()}, {shards}} {
		for _, adapt := range []bool{false, true} {
			c, err := coding.NewChain(&codec.Environment{Registry: r, Adapt: adapt}, exts, specOf(dtype.Int16, 1))
			if err != nil {
				t.Fatal(err)
			}
			v := strided.Contiguous([]byte("wxyz"), []int64{2}, 2)
			stored, err := c.Encode(nil, v)
			mark := map[bool]string{false: "cwxyz", true: "awxyz"}[adapt]
			if err != nil || !bytes.Contains(stored, []byte(mark)) {
				t.Errorf("%s, adapt %t: stored %q, %v", fmt.Sprint(c.Names()), adapt, stored, err)
			}
			got := strided.Contiguous(make([]byte, 4), []int64{2}, 2)
			if err := c.Decode(&got, stored); err != nil || string(got.Data) != "wxyz" {
				t.Errorf("%s, adapt %t: decoded %q, %v", fmt.Sprint(c.Names()), adapt, got.Data, err)
			}
		}
	}
}
