// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
)

// fuzzed are the shards that are fuzzed: those of golden arrays, whose first shard is the
// seed, of 16×16 elements of four bytes, here taken for twice as many of two.
var fuzzed = []struct{ name, configuration string }{
	{"shard_index_no_crc", sharded([]int64{4, 16}, jsonBytes, jsonBytes, "end")},
	{"shard_index_start", sharded([]int64{4, 16}, jsonBytes+`,{"name":"zstd","configuration":{"level":1,"checksum":false}}`, jsonIndex, "start")},
	{"shard_index_big_endian", sharded([]int64{4, 16}, jsonBig+","+jsonGzip, jsonBig+","+jsonCRC, "end")},
	{"shard_nested", sharded([]int64{8, 16}, nested(sharded([]int64{4, 4}, jsonIndex, jsonIndex, "end")), jsonIndex, "end")},
	{"shard_partial_nested", sharded([]int64{8, 16}, nested(sharded([]int64{4, 4}, jsonBytes, jsonIndex, "end")), jsonIndex, "end")},
}

// goldenShard returns the first shard of an array of testdata/stores.zip.
func goldenShard(f *testing.F, name string) []byte {
	f.Helper()
	z, err := zip.OpenReader("../../../testdata/stores.zip")
	if err != nil {
		f.Fatal(err)
	}
	defer z.Close()
	file, err := z.Open(name + ".zarr/c/0/0")
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	if err != nil {
		f.Fatal(err)
	}
	return data
}

// fuzzCoder returns the codec of a configuration.
func fuzzCoder(t testing.TB, configuration string, strategy codec.Strategy) *coder {
	t.Helper()
	return newCoder(t, configuration, 2, codec.Environment{Strategy: strategy})
}

// fuzzShape is the shape of the shards.
var fuzzShape = []int64{16, 32}

// repaired returns a shard whose index has the right checksum, so that changes of it are
// not all refused for that.
func repaired(c *coder, l *layout, shard []byte) []byte {
	if !c.index.HasChecksum() || int64(len(shard)) < l.index {
		return shard
	}
	shard = bytes.Clone(shard)
	raw, err := c.cutIndex(l, shard)
	if err != nil {
		return shard
	}
	n := len(raw) - 4
	binary.LittleEndian.PutUint32(raw[n:], crc32.Checksum(raw[:n], crc32.MakeTable(crc32.Castagnoli)))
	return shard
}

// FuzzIndex decodes any bytes as an index: what it says is within the shard, and it
// encodes to the same bytes.
func FuzzIndex(f *testing.F) {
	for _, s := range fuzzed {
		shard := goldenShard(f, s.name)
		f.Add(shard[max(0, len(shard)-192):], uint32(len(shard)), false)
		f.Add(shard[:min(192, len(shard))], uint32(len(shard)), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, size uint32, start bool) {
		location := map[bool]string{true: "start", false: "end"}[start]
		c := newCoder(t, sharded([]int64{2, 3}, jsonBytes, jsonBytes, location), 2, codec.Environment{})
		l := newLayout(t, c, 4, 9)
		x, err := c.decodeIndex(l, data, store.Info{Size: int64(size)})
		if int64(len(data)) != l.index || int64(size) < l.index {
			if err == nil && int64(len(data)) != l.index {
				t.Fatalf("an index of %d bytes is accepted, it has %d", len(data), l.index)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		first, last := int64(0), int64(size)
		if start {
			first = l.index
		} else {
			last -= l.index
		}
		for k := range l.n {
			off, n, stored, err := x.span(k)
			switch {
			case err != nil && !errors.Is(err, codec.ErrCorrupt):
				t.Fatal(err)
			case err == nil && stored && (off < first || n < 0 || n > l.most || off > last-n):
				t.Fatalf("inner chunk %d has %d bytes from offset %d on, the shard has those from %d to %d", k, n, off, first, last)
			}
		}
		again, err := c.encodeIndex(nil, l, x)
		if err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%x became %x (%v)", data, again, err)
		}
	})
}

// FuzzShard decodes any bytes as a shard, whole and inner chunk by inner chunk, and
// stepEncode some of its elements: what is read agrees, and what is not changed stays.
func FuzzShard(f *testing.F) {
	for i, s := range fuzzed {
		shard := goldenShard(f, s.name)
		if _, err := stored(fuzzCoder(f, s.configuration, codec.Rewrite), fuzzShape, shard); err != nil {
			f.Fatalf("%s: %v", s.name, err)
		}
		f.Add(shard, uint8(i), false, uint8(3), uint8(0))
		f.Add(shard, uint8(i), true, uint8(100), uint8(17))
		c := fuzzCoder(f, s.configuration, codec.Rewrite)
		f.Add(written(f, c, fuzzShape), uint8(i), true, uint8(40), uint8(30))
	}
	f.Fuzz(func(t *testing.T, shard []byte, which uint8, repair bool, at, way uint8) {
		s := fuzzed[int(which)%len(fuzzed)]
		c := fuzzCoder(t, s.configuration, codec.Strategy(way%3))
		l := newLayout(t, c, fuzzShape...)
		if repair {
			shard = repaired(c, l, shard)
		}
		before := innerChunks(t, c, l, shard)
		whole, err := stored(c, fuzzShape, shard)
		for _, inner := range before {
			if inner == nil && err == nil || err != nil && !errors.Is(err, codec.ErrCorrupt) {
				t.Fatalf("the shard is accepted (%v), an inner chunk is not", err)
			}
		}
		start := []int64{int64(at) / 16, int64(at) % 32}
		size := []int64{min(16-start[0], int64(way/3%5)+1), min(32-start[1], int64(way/15)+1)}
		data := values(int(size[0] * size[1]))
		e := edit(fuzzShape, start, size, data)
		e.Splices, e.Patches = way&64 != 0, way&128 != 0
		changed, editErr := apply(c, e, shard)
		if editErr != nil {
			if err == nil || !errors.Is(editErr, codec.ErrCorrupt) {
				t.Fatalf("a sound shard cannot be changed: %v", editErr)
			}
			return
		}
		after := innerChunks(t, c, l, changed)
		box := grid.Box{{Start: start[0], Stop: start[0] + size[0]}, {Start: start[1], Stop: start[1] + size[1]}}
		for k := range l.n {
			cell, _ := l.grid.Chunk(l.place(nil, k))
			if !overlap(cell, box) && !bytes.Equal(before[k], after[k]) {
				t.Fatalf("inner chunk %d was %x and is %x", k, before[k], after[k])
			}
			if overlap(cell, box) && after[k] == nil {
				t.Fatalf("inner chunk %d was changed and cannot be read", k)
			}
		}
		if err == nil {
			strided.Copy(strided.Contiguous(whole, fuzzShape, 2).Sub(box), e.Values)
			if now, err := stored(c, fuzzShape, changed); err != nil || !bytes.Equal(now, whole) {
				t.Fatalf("other elements were stored (%v)", err)
			}
		}
	})
}

// innerChunks returns the elements of every inner chunk of a stored shard, each read by
// itself; nil where that fails.
func innerChunks(t *testing.T, c *coder, l *layout, shard []byte) [][]byte {
	t.Helper()
	src := newObject(t, memtest.New(), shard)
	var list [][]byte
	for k := range l.n {
		cell, _ := l.grid.Chunk(l.place(nil, k))
		data := make([]byte, 2*cell.Encoded[0]*cell.Encoded[1])
		src.pinned = nil
		err := c.DecodePart(t.Context(), work(), coding.Extract{
			Shape: l.shape, Part: strided.Part{Start: cell.Start, Step: []int64{1, 1}, Count: cell.Encoded}, Into: strided.Contiguous(data, cell.Encoded, 2)}, src)
		if err != nil && !errors.Is(err, codec.ErrCorrupt) {
			t.Fatal(err)
		}
		if err != nil {
			data = nil
		}
		list = append(list, data)
	}
	return list
}

// FuzzMend restores the index of any bytes as a shard. A shard that is restored has an
// index that decodes, and all other bytes as they were.
func FuzzMend(f *testing.F) {
	s := fuzzed[2] // its inner chunks have checksums
	shard := goldenShard(f, s.name)
	f.Add(shard, uint16(len(shard)-1), byte(1))
	f.Add(shard, uint16(len(shard)-9), byte(0xff))
	f.Add(shard, uint16(0), byte(0))
	f.Fuzz(func(t *testing.T, shard []byte, at uint16, flip byte) {
		c := fuzzCoder(t, s.configuration, codec.Rewrite)
		l := newLayout(t, c, fuzzShape...)
		shard = bytes.Clone(shard)
		if int(at) < len(shard) {
			shard[at] ^= flip
		}
		out, err := c.EncodePart(t.Context(), work(), coding.Edit{Shape: fuzzShape, Mend: true}, newObject(t, memtest.New(), shard))
		if err != nil {
			if !errors.Is(err, codec.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		defer out.Release()
		if out.Same {
			return
		}
		made := out.AppendTo(nil)
		if _, err := c.indexOf(l, made); err != nil || !bytes.Equal(made[:len(made)-int(l.index)], shard[:len(shard)-int(l.index)]) {
			t.Fatalf("%x became %x (%v)", shard, made, err)
		}
	})
}
