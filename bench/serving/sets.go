// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
)

// The data sets are arrays of one group.
const (
	node    = "n"
	monthly = "monthly" // unequal chunks of float32, zstd, of 256 MB
	wide    = "wide"    // 8192² uint16 in chunks of 1024², zstd
	huge    = "huge"    // 10 GB, of which few chunks are stored
)

// keySize is a size of stored keys.
type keySize struct {
	name  string
	bytes int64
	keys  int64 // that are stored
	asked int   // requests in a round
}

var keySizes = []keySize{
	{"4 KiB", 4 << 10, 256, 16_000},
	{"64 KiB", 64 << 10, 256, 6_000},
	{"1 MiB", 1 << 20, 64, 600},
	{"8 MiB", 8 << 20, 16, 80},
}

// months are the lengths of the chunks of the array monthly along time.
var months = []int64{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 31, 29, 31, 30, 31, 30, 31, 31, 30}

// viewShape is the chunk shape of views of the array monthly.
var viewShape = []int64{31, 90, 180}

// makeAll makes the arrays.
func makeAll(ctx context.Context, dir string) error {
	at := filepath.Join(dir, node)
	if g, err := zarr.CreateGroup(ctx, at, nil, nil); err != nil {
		return err
	} else if err := g.Close(); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range keySizes {
		spec := zarr.Spec{Shape: []int64{size.keys * size.bytes}, Type: dtype.Uint8, Chunks: grid.Chunks(size.bytes), Codecs: []metadata.Extension{codec.Bytes("")}}
		values := make([]uint8, size.keys*size.bytes)
		for i := range values {
			values[i] = uint8(random.Uint32())
		}
		if err := makeArray(ctx, filepath.Join(at, keyArray(size)), spec, values); err != nil {
			return err
		}
	}
	if err := makeMonthly(ctx, filepath.Join(at, monthly), random); err != nil {
		return err
	}
	tiles := zarr.Spec{Shape: []int64{8192, 8192}, Type: dtype.Uint16, Chunks: grid.Chunks(1024, 1024), Codecs: packed()}
	if err := makeArray(ctx, filepath.Join(at, wide), tiles, heights(8192, random)); err != nil {
		return err
	}
	a, err := zarr.CreateArray(ctx, filepath.Join(at, huge), zarr.Spec{Shape: []int64{2500, 1000, 1000}, Type: dtype.Float32, Chunks: grid.Chunks(50, 100, 100), Codecs: packed()}, nil)
	if err != nil {
		return err
	}
	part := make([]byte, 4*50*100*100)
	for i := 0; i < len(part); i += 4 {
		binary.LittleEndian.PutUint32(part[i:], math.Float32bits(float32(random.IntN(4000))/10))
	}
	for k := range int64(10) {
		if err := a.WriteChunk(ctx, []int64{k, k, k}, part); err != nil {
			return errors.Join(err, a.Close())
		}
	}
	if err := a.Close(); err != nil {
		return err
	}
	return age(dir)
}

func keyArray(size keySize) string { return "keys" + size.name[:len(size.name)-4] }

func packed() []metadata.Extension {
	return []metadata.Extension{codec.Bytes("little"), codec.ZstdChecksum(0, false)}
}

// makeArray makes an array with values.
func makeArray[T dtype.Element](ctx context.Context, at string, spec zarr.Spec, values []T) error {
	a, err := zarr.CreateArray(ctx, at, spec, nil)
	if err != nil {
		return err
	}
	return errors.Join(zarr.Write(ctx, a, nil, values), a.Close())
}

// makeMonthly makes the array of months: a field that changes slowly, in tenths.
func makeMonthly(ctx context.Context, at string, random *rand.Rand) error {
	days := int64(0)
	for _, n := range months {
		days += n
	}
	const rows, columns = 180, 360
	values := make([]float32, days*rows*columns)
	for i := range values {
		day, y, x := i/(rows*columns), i/columns%rows, i%columns
		v := 280 + 20*math.Sin(float64(y)/57) + 8*math.Sin(float64(x)/30+float64(day)/9) + random.Float64()
		values[i] = float32(math.Round(v*10) / 10)
	}
	spec := zarr.Spec{Shape: []int64{days, rows, columns}, Type: dtype.Float32, Chunks: []grid.Cut{grid.Edges(months...), grid.Every(90), grid.Every(180)}, Codecs: packed()}
	return makeArray(ctx, at, spec, values)
}

// heights returns a surface of n² numbers.
func heights(n int, random *rand.Rand) []uint16 {
	values := make([]uint16, n*n)
	for i := range values {
		y, x := i/n, i%n
		values[i] = uint16(2000 + 1000*math.Sin(float64(y)/700)*math.Cos(float64(x)/500) + 20*random.Float64())
	}
	return values
}

// age gives all files the time of an hour ago: what was just written may be written again
// within the resolution of the clock, so servers do not keep it.
func age(dir string) error {
	then := time.Now().Add(-time.Hour)
	return filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(name, then, then)
	})
}
