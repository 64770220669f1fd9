// SPDX-License-Identifier: Apache-2.0

package pyramid_test

import (
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/pyramid"
	"varve.dev/zarr/store/filestore"
)

// BenchmarkPyramid makes the levels of an image of 8192 × 8192, and for comparison reads
// the image and writes elements of the same levels.
func BenchmarkPyramid(b *testing.B) {
	for _, codecs := range []struct {
		name string
		list []metadata.Extension
	}{{"raw", fixture.Plain()}, {"zstd", fixture.Packed()}} {
		b.Run("uint8-"+codecs.name, func(b *testing.B) { bench[uint8](b, codecs.list) })
		b.Run("uint16-"+codecs.name, func(b *testing.B) { bench[uint16](b, codecs.list) })
		b.Run("float32-"+codecs.name, func(b *testing.B) { bench[float32](b, codecs.list) })
	}
}

func bench[T uint8 | uint16 | float32](b *testing.B, codecs []metadata.Extension) {
	const side = 8192
	s, err := filestore.Open(b.TempDir(), nil)
	check1(b, err)
	spec := zarr.Spec{Shape: []int64{side, side}, Type: dtype.Of[T](), Chunks: every(512, 512), Codecs: codecs}
	a, err := zarr.At(s, "g/0").CreateArray(b.Context(), spec, nil)
	check1(b, err)
	data := make([]T, side*side)
	for i := range data {
		y, x := i/side, i%side
		data[i] = T((y*y>>9 + x*3>>4 + int(uint32(i)*2654435761>>29)) & 0xff)
	}
	check1(b, zarr.Write(b.Context(), a, nil, data))
	bytes := int64(len(data)) * int64(dtype.Of[T]().Size())
	for _, m := range []pyramid.Method{pyramid.Mean, pyramid.Nearest, pyramid.Mode, pyramid.Max} {
		b.Run(string(m), func(b *testing.B) {
			b.SetBytes(bytes)
			for b.Loop() {
				b.StopTimer() // without levels, everything is made
				_, err := pyramid.Make(b.Context(), a, &pyramid.Options{Levels: -1})
				check1(b, err)
				b.StartTimer()
				_, err = pyramid.Make(b.Context(), a, &pyramid.Options{Method: m})
				check1(b, err)
			}
		})
	}
	b.Run("read-and-write", func(b *testing.B) {
		b.SetBytes(bytes)
		levels, blocks := openLevels[T](b, a)
		for b.Loop() {
			b.StopTimer() // the levels are new, as above
			for _, l := range levels {
				check1(b, recreate(b, l))
			}
			b.StartTimer()
			check1(b, zarr.ReadInto(b.Context(), a, nil, data))
			for i, l := range levels {
				check1(b, zarr.Write(b.Context(), l, nil, blocks[i]))
			}
		}
	})
}

// recreate makes an array anew, without chunks.
func recreate(b *testing.B, a *zarr.Array) error {
	_, err := a.Location().CreateArray(b.Context(), a.Spec(), &zarr.CreateOptions{Overwrite: true})
	return err
}

// openLevels opens the levels of an array for writing, and reads them.
func openLevels[T dtype.Element](b *testing.B, a *zarr.Array) (levels []*zarr.Array, blocks [][]T) {
	plan, err := pyramid.Make(b.Context(), a, nil)
	check1(b, err)
	for _, l := range plan.Levels {
		level, err := a.Location().Root().At("g/"+l.Path).OpenArray(b.Context(), &zarr.Options{Write: true})
		check1(b, err)
		data, err := zarr.Read[T](b.Context(), level, nil)
		check1(b, err)
		levels, blocks = append(levels, level), append(blocks, data.Data)
	}
	return levels, blocks
}
