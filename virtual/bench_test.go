// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"fmt"
	"testing"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/filetest"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual/scan"
)

// storedManifest stores a manifest of n references, 84 for each file, of lengths that
// differ.
func storedManifest(b *testing.B, n int) (filetest.Store, store.Path) {
	b.Helper()
	return storedWith(b, n, int64(n/84), []int64{1, 1, 1})
}

// storedWith does the same for an array of any length and chunks.
func storedWith(b testing.TB, n int, length int64, chunk []int64) (filetest.Store, store.Path) {
	b.Helper()
	s := filetest.Open(b, b.TempDir())
	path, err := store.ParsePath("m.vz")
	if err != nil {
		b.Fatal(err)
	}
	t, name := dtype.Float32, "time"
	g, err := grid.New([]int64{length, 12, 7}, grid.Chunks(chunk...)...)
	if err != nil {
		b.Fatal(err)
	}
	doc := &metadata.Array{
		DataType: metadata.Extension{Name: t.Name()}, ChunkKeyEncoding: metadata.DefaultSlash.Extension(), FillValue: []byte("0.0"),
		Codecs: []metadata.Extension{scan.Plain(t, false)}, Attributes: []byte("{}"), DimensionNames: []*string{&name, nil, nil},
	}
	a, err := newArray("v", withGrid(doc, g), g, 0)
	if err != nil {
		b.Fatal(err)
	}
	m := &Manifest{Groups: []Group{{"", &metadata.Group{Attributes: []byte("{}")}}}, Arrays: []*Array{a}}
	for i := range a.refs.len() {
		if i%84 == 0 {
			m.Sources = append(m.Sources, Source{Location: fmt.Sprintf("../data/3B-HHR.MS.MRG.3IMERG.%08d.HDF5", i/84), Size: 9 << 20, Modified: int64(i) * 1_000_003})
		}
		a.refs.set(i, reference{uint32(i/84 + 1), uint64(i%84*100_000 + 4096), uint64(90_000 + i*7919%10_000)})
	}
	if err := m.Create(b.Context(), s, path); err != nil {
		b.Fatal(err)
	}
	return s, path
}

// BenchmarkOpen opens a manifest of a million references, and finds one of them.
func BenchmarkOpen(b *testing.B) { benchmarkOpen(b, 1_000_000) }

// BenchmarkOpenLarge does the same with 40 million.
func BenchmarkOpenLarge(b *testing.B) { benchmarkOpen(b, 40_000_000) }

func benchmarkOpen(b *testing.B, n int) {
	s, path := storedManifest(b, n)
	size := int64(0)
	for e, err := range store.List(b.Context(), s, path, store.Deep) {
		if err != nil {
			b.Fatal(err)
		}
		size += e.Size
	}
	b.ReportMetric(float64(size)/float64(n), "B/reference")
	b.ReportAllocs()
	for b.Loop() {
		m, err := Open(b.Context(), s, path)
		if err != nil {
			b.Fatal(err)
		}
		a := m.Arrays[0]
		ref, _, err := m.reference(b.Context(), a, int64(n/84*84/2))
		if err == nil {
			_, err = m.source(b.Context(), ref.source)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoad finds every reference of a manifest of a million.
func BenchmarkLoad(b *testing.B) {
	s, path := storedManifest(b, 1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		m, err := Open(b.Context(), s, path)
		if err == nil {
			err = m.load(b.Context(), m.Arrays[0], 0)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkList lists all chunks of a manifest of a million.
func BenchmarkList(b *testing.B) { benchmarkList(b, "v", store.Deep) }

// BenchmarkListFolder lists the folder of the same array, which has one entry.
func BenchmarkListFolder(b *testing.B) { benchmarkList(b, "v", store.Flat) }

func benchmarkList(b *testing.B, dir string, how store.Listing) {
	s, path := storedManifest(b, 1_000_000)
	at, err := store.ParsePath(dir)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		m, err := Open(b.Context(), s, path)
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range newStore(m, nil).List(b.Context(), at, how) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
