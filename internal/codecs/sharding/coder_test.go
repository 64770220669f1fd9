// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	_ "varve.dev/zarr/internal/codecs/bytescodec"
	_ "varve.dev/zarr/internal/codecs/crc32c"
	_ "varve.dev/zarr/internal/codecs/gzipcodec"
	_ "varve.dev/zarr/internal/codecs/transpose"
	_ "varve.dev/zarr/internal/codecs/zstd"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
)

// Codecs as metadata has them.
const (
	jsonBytes  = `{"name":"bytes","configuration":{"endian":"little"}}`
	jsonBig    = `{"name":"bytes","configuration":{"endian":"big"}}`
	jsonCRC    = `{"name":"crc32c"}`
	jsonGzip   = `{"name":"gzip","configuration":{"level":1}}`
	jsonIndex  = jsonBytes + "," + jsonCRC
	jsonValues = jsonBytes // of inner chunks that are not compressed
)

// sharded returns the configuration of shards of inner chunks of a shape.
func sharded(shape []int64, codecs, index, location string) string {
	list := make([]string, len(shape))
	for i, n := range shape {
		list[i] = fmt.Sprint(n)
	}
	return fmt.Sprintf(`{"chunk_shape":[%s],"codecs":[%s],"index_codecs":[%s],"index_location":%q}`, joined(list), codecs, index, location)
}

func joined(list []string) string {
	all := ""
	for i, s := range list {
		if i > 0 {
			all += ","
		}
		all += s
	}
	return all
}

// nested returns a codec of shards, to be used within others.
func nested(configuration string) string {
	return `{"name":"sharding_indexed","configuration":` + configuration + `}`
}

// uint16s is what most tests store: numbers with the fill value 7.
func uint16s(rank int) codec.Spec {
	typ, err := dtype.Parse("uint16", nil)
	if err != nil {
		panic(err)
	}
	fill := make([]byte, 2)
	binary.NativeEndian.PutUint16(fill, 7)
	return codec.Spec{Type: typ, Fill: fill, Rank: rank}
}

// newCoder returns the codec of a configuration, bound to arrays of uint16.
func newCoder(t testing.TB, configuration string, rank int, env codec.Environment) *coder {
	t.Helper()
	made, err := New([]byte(configuration))
	if err != nil {
		t.Fatal(err)
	}
	c := made.(*coder)
	if err = c.Nest(&env); err == nil {
		err = c.Bind(uint16s(rank))
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newChain returns the chain of nothing but shards.
func newChain(configuration string, rank int, env codec.Environment) (*coding.Chain, error) {
	return coding.NewChain(&env, []metadata.Extension{{Name: Name, Configuration: []byte(configuration)}}, uint16s(rank))
}

func newLayout(t testing.TB, c *coder, shape ...int64) *layout {
	t.Helper()
	l, err := c.layout(shape)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// values returns n numbers, none of which is the fill value.
func values(n int) []byte {
	var b []byte
	for i := range n {
		b = binary.NativeEndian.AppendUint16(b, uint16(100+i))
	}
	return b
}

// edit returns the edit that stores values in a part of a shard.
func edit(shape, start, count []int64, data []byte) coding.Edit {
	return coding.Edit{
		Shape: shape, Part: strided.Part{Start: start, Step: slices.Repeat([]int64{1}, len(shape)), Count: count},
		Values: strided.Contiguous(data, count, 2),
	}
}
