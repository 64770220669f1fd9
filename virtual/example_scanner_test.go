// SPDX-License-Identifier: Apache-2.0

package virtual_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
	"varve.dev/zarr/virtual/scan"
)

// Files of a sounding begin with the word SOUNDING and the number of levels, 4 bytes
// each, least significant first. The temperatures follow, a float32 for each level.
const sounding = "SOUNDING"

// isSounding reports whether a file is a sounding.
func isSounding(f *scan.File) bool {
	word, err := f.Bytes(0, int64(len(sounding)))
	return err == nil && string(word) == sounding
}

// scanSounding finds the temperatures. The number of levels is what the file claims, so
// the bytes have to be there.
func scanSounding(f *scan.File) (*scan.Dataset, error) {
	head, err := f.Bytes(int64(len(sounding)), 4)
	if err != nil {
		return nil, err
	}
	levels, begin := int64(binary.LittleEndian.Uint32(head)), int64(len(sounding)+4)
	if levels == 0 || levels > (f.Size()-begin)/4 {
		return nil, scan.Corruptf("%d levels, in a file of %d bytes", levels, f.Size())
	}
	t := dtype.Float32
	return &scan.Dataset{
		Format: "soundings", Groups: []scan.Group{{}},
		Arrays: []*scan.Array{{
			Path: "t", Shape: []int64{levels}, Chunk: []int64{levels}, Type: t, Names: []string{"level"},
			Codecs: []metadata.Extension{scan.Plain(t, false)}, Chunks: []scan.Chunk{{Number: 0, Offset: begin, Length: 4 * levels}},
		}},
	}, nil
}

// A program that has files of its own form shows them as Zarr: it registers a scanner,
// and joins them as others.
func ExampleRegister() {
	virtual.Register(virtual.Scanner{Format: "soundings", Version: 1, Matches: isSounding, Scan: scanSounding})

	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	var files []string
	for i, levels := range [][]float32{{15, 9, 2}, {14, 8}} {
		b := binary.LittleEndian.AppendUint32([]byte(sounding), uint32(len(levels)))
		if b, err = binary.Append(b, binary.LittleEndian, levels); err != nil {
			log.Fatal(err)
		}
		files = append(files, filepath.Join(dir, fmt.Sprint(i, ".sounding")))
		if err := os.WriteFile(files[i], b, 0o666); err != nil {
			log.Fatal(err)
		}
	}
	if err := joinSoundings(dir, files); err != nil {
		log.Fatal(err)
	}
	a, err := zarr.OpenArray(context.Background(), filepath.Join(dir, "all.vz/t"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	values, err := zarr.Read[float32](context.Background(), a, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Grid(), values.Data)
	// Output: (5) in chunks of ([3 2]) [15 9 2 14 8]
}

// joinSoundings makes the manifest all.vz of soundings.
func joinSoundings(dir string, files []string) error {
	ctx := context.Background()
	j, err := virtual.NewJoined(virtual.Join{Concat: "level"})
	if err != nil {
		return err
	}
	c, err := virtual.NewCollector(filepath.Join(dir, "all.vz"))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Collect(ctx, j, files); err != nil {
		return err
	}
	m, err := j.Finish()
	if err != nil {
		return err
	}
	s, path, err := store.OpenLocation(ctx, dir, store.Create)
	if err == nil {
		path, err = path.Join("all.vz")
	}
	if err == nil {
		err = m.Create(ctx, s, path)
	}
	return err
}
