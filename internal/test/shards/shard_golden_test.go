// SPDX-License-Identifier: Apache-2.0

package shards_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// goldenShards are the arrays of testdata/stores.zip whose chunks are shards and whose
// codecs are supported, and whether a checksum guards every byte of their inner chunks.
var goldenShards = map[string]bool{
	"shard_basic": false, "shard_3d_boundary": true, "shard_index_start": false, "shard_index_no_crc": false, "shard_index_big_endian": true,
	"shard_missing_inner": false, "shard_nested": true, "shard_partial_nested": false, "rect_shards": false, "rect_shards_zstd_missing": false,
}

// goldenArray is an array of shards that zarr-python wrote.
type goldenArray struct {
	name    string
	files   map[store.Key][]byte
	whole   *fixture.Model
	array   *zarr.Array // in memory
	inner   []int64
	start   bool // index at the start
	order   binary.ByteOrder
	checked bool // inner chunks have checksums
	crc     bool // the index has a checksum
}

// loadGolden reads an array of shards from the archive, and its undamaged elements.
func loadGolden(t testing.TB, name string) *goldenArray {
	t.Helper()
	sub, err := fs.Sub(fixture.OpenZip(t, "stores.zip"), name+".zarr")
	if err != nil {
		t.Fatal(err)
	}
	g := &goldenArray{name: name, files: map[store.Key][]byte{}, order: binary.LittleEndian, checked: goldenShards[name]}
	err = fs.WalkDir(sub, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(sub, p)
		g.files[store.MustKey(p)] = data
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	g.parse(t)
	g.array = fixture.Must(zarr.At(g.inMemory(t), "").OpenArray(context.Background(), nil))
	g.whole = fixture.NewModel(g.array.Shape(), fixture.FillElement(g.array))
	if err := g.array.ReadBytes(context.Background(), nil, g.whole.Data); err != nil {
		t.Fatal(err)
	}
	return g
}

// parse reads the parts of the configuration that the test needs.
func (g *goldenArray) parse(t testing.TB) {
	t.Helper()
	var doc struct {
		Codecs []struct {
			Configuration struct {
				ChunkShape  []int64 `json:"chunk_shape"`
				Location    string  `json:"index_location"`
				IndexCodecs []struct {
					Configuration struct{ Endian string }
				} `json:"index_codecs"`
			}
		}
	}
	if err := json.Unmarshal(g.files[store.MustKey("zarr.json")], &doc); err != nil {
		t.Fatal(err)
	}
	c := doc.Codecs[0].Configuration
	g.inner, g.start, g.crc = c.ChunkShape, c.Location == "start", len(c.IndexCodecs) == 2
	if c.IndexCodecs[0].Configuration.Endian == "big" {
		g.order = binary.BigEndian
	}
}

// inMemory returns a store with the files of the array.
func (g *goldenArray) inMemory(t testing.TB) memtest.Store {
	t.Helper()
	s := memtest.New()
	for key, data := range g.files {
		if _, err := s.Write(context.Background(), store.Put(key, data), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// goldenShard is one stored shard.
type goldenShard struct {
	*goldenArray
	key    store.Key
	at     []int64
	region selection.Box // its place in the array
	shape  []int64
	chunks []int64 // inner chunks along every axis
	n      int
	data   []byte
}

// shards returns the stored shards of the array.
func (g *goldenArray) shards(t testing.TB) []*goldenShard {
	t.Helper()
	var list []*goldenShard
	for c := range g.array.Chunks() {
		s := &goldenShard{goldenArray: g, at: slices.Clone(c.Index), shape: slices.Clone(c.Encoded), n: 1}
		s.key = store.MustKey("c/" + strings.Trim(strings.ReplaceAll(fmt.Sprint(c.Index), " ", "/"), "[]"))
		if s.data = g.files[s.key]; s.data == nil {
			continue
		}
		for i, n := range c.Logical {
			s.region = append(s.region, [2]int64{c.Start[i], c.Start[i] + n})
			s.chunks = append(s.chunks, c.Encoded[i]/g.inner[i])
			s.n *= int(s.chunks[i])
		}
		list = append(list, s)
	}
	return list
}

// indexSpan returns the place of the index in an undamaged shard.
func (s *goldenShard) indexSpan() (from, to int) {
	n := 16 * s.n
	if s.crc {
		n += 4
	}
	if s.start {
		return 0, n
	}
	return len(s.data) - n, len(s.data)
}

// entry returns the place of inner chunk k in the undamaged shard.
func (s *goldenShard) entry(k int) (off, n int, stored bool) {
	from, _ := s.indexSpan()
	o, l := s.order.Uint64(s.data[from+16*k:]), s.order.Uint64(s.data[from+16*k+8:])
	return int(o), int(l), o != 1<<64-1
}

// owner returns the inner chunk that contains byte i, or whose index entry does if the
// index has no checksum. It returns -1 if there is none.
func (s *goldenShard) owner(i int) int {
	from, to := s.indexSpan()
	if i >= from && i < to {
		if s.crc {
			return -1
		}
		return (i - from) / 16
	}
	for k := range s.n {
		if off, n, stored := s.entry(k); stored && i >= off && i < off+n {
			return k
		}
	}
	return -1
}

// inIndex reports whether byte i is in an index that has a checksum.
func (s *goldenShard) inIndex(i int) bool {
	from, to := s.indexSpan()
	return s.crc && i >= from && i < to
}

// place returns the coordinates of inner chunk k in the shard.
func (s *goldenShard) place(k int) []int64 {
	at := make([]int64, len(s.chunks))
	for i := len(at) - 1; i >= 0; i-- {
		at[i] = int64(k) % s.chunks[i]
		k /= int(s.chunks[i])
	}
	return at
}

// box returns the box of inner chunk k in the array. It returns false if the inner chunk
// is outside.
func (s *goldenShard) box(k int) (selection.Box, bool) {
	var box selection.Box
	for i, at := range s.place(k) {
		from := s.region[i][0] + at*s.inner[i]
		to := min(from+s.inner[i], s.region[i][1])
		if from >= to {
			return nil, false
		}
		box = append(box, [2]int64{from, to})
	}
	return box, true
}

// first returns the first element of a box.
func first(b selection.Box) selection.Box {
	var box selection.Box
	for _, in := range b {
		box = append(box, [2]int64{in[0], in[0] + 1})
	}
	return box
}
