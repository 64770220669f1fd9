// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
)

// TestAdaptedCodecs lets zarr-python read an array, of chunks and of shards, whose chunks
// are shuffled in several ways. The metadata name one of them.
func TestAdaptedCodecs(t *testing.T) {
	t.Parallel()
	p := startPython(t)
	want := measured()
	for _, inner := range []rechunk.Cuts{nil, {grid.Every(1 << 14)}} {
		path := filepath.Join(t.TempDir(), "a.zarr")
		a, err := zarr.CreateArray(t.Context(), path, zarr.Spec{
			Shape: []int64{int64(len(want) / 4)}, Type: dtype.Float32, Chunks: grid.Chunks(1 << 15),
		}, nil)
		check(t, err)
		defer a.Close()
		check(t, a.WriteBytes(t.Context(), nil, want))
		_, err = rechunk.Do(t.Context(), a, rechunk.Rechunking{
			Codecs: []metadata.Extension{codec.Bytes("little"), codec.Blosc(codec.BloscOptions{Level: 5, Element: 4})},
			Inner:  inner, Adapt: true,
		}, nil)
		check(t, err)
		theirs, ours := p.read(t, path), varve{}.read(t, path)
		compare(t, p, theirs, ours)
		if string(theirs.Data) != string(want) {
			t.Error("zarr-python reads other elements than were written")
		}
		if inner != nil {
			continue
		}
		kinds := map[byte]bool{}
		for _, name := range []string{"0", "1", "2", "3"} {
			frame, err := os.ReadFile(filepath.Join(path, name))
			check(t, err)
			kinds[frame[2]&0x05] = true // the bits of both shuffles
		}
		if len(kinds) < 2 {
			t.Errorf("the chunks are shuffled in one way: %v", kinds)
		}
	}
}

// measured has float32 numbers that are smooth in the first half. The second half has
// records of ten numbers, out of sixteen records.
func measured() (data []byte) {
	const n = 1 << 17
	r := rand.New(rand.NewPCG(1, 2))
	add := func(v float64) { data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v))) }
	for i := range n / 2 {
		add(280 + 15*math.Sin(float64(i)/2999) + r.Float64()/500)
	}
	for len(data) < 4*n {
		record := 10 * r.IntN(16)
		for i := range 10 {
			add(math.Sin(float64(record + i + 1)))
		}
	}
	return data[:4*n]
}
