// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/byteorder"
	_ "varve.dev/zarr/internal/codecs/zstd"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
)

// filterStore is an array that zarr-python wrote with one filter and one compressor.
type filterStore struct {
	fsys    fs.FS
	typ     dtype.Type
	filter  metadata.Extension
	shape   []int64
	chunk   []int64
	key     string // of a chunk
	inflate func(stored []byte) ([]byte, error)
}

// TestFilterStores reads whole arrays chunk by chunk, one codec after the other.
func TestFilterStores(t *testing.T) {
	z, err := zip.OpenReader("../../../testdata/stores.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var manifest struct {
		Cases map[string]struct{ SHA256 string }
	}
	decodeFile(t, z, "manifest.json", &manifest)
	for _, name := range []string{"numcodecs_astype", "numcodecs_bitround", "numcodecs_delta", "numcodecs_fixedscaleoffset", "numcodecs_packbits", "numcodecs_quantize", "v2_zlib_delta"} {
		t.Run(name, func(t *testing.T) {
			sub, err := fs.Sub(z, name+".zarr")
			if err != nil {
				t.Fatal(err)
			}
			open := openFilterStore
			if strings.HasPrefix(name, "v2") {
				open = openOldFilterStore
			}
			if got := fmt.Sprintf("%x", sha256.Sum256(readFilterStore(t, open(t, sub)))); got != manifest.Cases[name].SHA256 {
				t.Errorf("SHA-256 of the elements is %s, want %s", got, manifest.Cases[name].SHA256)
			}
		})
	}
}

func decodeFile(t *testing.T, fsys fs.FS, name string, v any) {
	t.Helper()
	text, err := fs.ReadFile(fsys, name)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func openFilterStore(t *testing.T, fsys fs.FS) filterStore {
	var m struct {
		Shape    []int64
		DataType string `json:"data_type"`
		Grid     struct {
			Configuration struct {
				Chunk []int64 `json:"chunk_shape"`
			}
		} `json:"chunk_grid"`
		Codecs []struct {
			Name          string
			Configuration json.RawMessage
		}
	}
	decodeFile(t, fsys, "zarr.json", &m)
	unpack, err := codec.Default.New(metadata.Extension{Name: m.Codecs[2].Name, Configuration: m.Codecs[2].Configuration})
	if err != nil {
		t.Fatal(err)
	}
	return filterStore{
		fsys, numPyType(t, m.DataType), metadata.Extension{Name: m.Codecs[0].Name, Configuration: m.Codecs[0].Configuration},
		m.Shape, m.Grid.Configuration.Chunk, "c/%d/%d",
		func(stored []byte) ([]byte, error) {
			return unpack.(codec.BytesBytes).Decode(make([]byte, 0, 1<<16), stored, 1<<16)
		},
	}
}

func openOldFilterStore(t *testing.T, fsys fs.FS) filterStore {
	var m struct {
		Shape, Chunks []int64
		DType         string
		Filters       []map[string]any
	}
	decodeFile(t, fsys, ".zarray", &m)
	delete(m.Filters[0], "id")
	text, err := json.Marshal(m.Filters[0])
	if err != nil {
		t.Fatal(err)
	}
	return filterStore{
		fsys, numPyType(t, m.DType), metadata.Extension{Name: "numcodecs.delta", Configuration: text}, m.Shape, m.Chunks, "%d.%d",
		func(stored []byte) ([]byte, error) {
			r, err := zlib.NewReader(bytes.NewReader(stored))
			if err != nil {
				return nil, err
			}
			return io.ReadAll(r)
		},
	}
}

// readFilterStore returns the elements of an array of two axes in little-endian order;
// chunks that are not stored are zeros.
func readFilterStore(t *testing.T, s filterStore) []byte {
	t.Helper()
	f, out := boundFilter(t, s.filter, s.typ)
	size := s.typ.Size()
	all := strided.Contiguous(make([]byte, s.shape[0]*s.shape[1]*int64(size)), s.shape, size)
	for i := int64(0); i*s.chunk[0] < s.shape[0]; i++ {
		for j := int64(0); j*s.chunk[1] < s.shape[1]; j++ {
			stored, err := fs.ReadFile(s.fsys, fmt.Sprintf(s.key, i, j))
			if err != nil {
				continue
			}
			data, err := s.inflate(stored)
			if err != nil {
				t.Fatal(err)
			}
			if !byteorder.Little() {
				byteorder.Bytes(data, data, out.Type.Unit())
			}
			chunk := codec.Block{Shape: s.chunk, Data: make([]byte, s.chunk[0]*s.chunk[1]*int64(size))}
			shape, err := f.EncodedShape(nil, s.chunk)
			if err == nil {
				err = f.Decode(&chunk, codec.Block{Shape: shape, Data: data})
			}
			if err != nil {
				t.Fatal(err)
			}
			rows, columns := min(s.chunk[0], s.shape[0]-i*s.chunk[0]), min(s.chunk[1], s.shape[1]-j*s.chunk[1])
			from := strided.Contiguous(chunk.Data, chunk.Shape, size).Sub(grid.BoxOf([]int64{rows, columns}))
			strided.Copy(all.Sub(grid.Box{
				{Start: i * s.chunk[0], Stop: i*s.chunk[0] + rows}, {Start: j * s.chunk[1], Stop: j*s.chunk[1] + columns},
			}), from)
		}
	}
	if !byteorder.Little() {
		byteorder.Bytes(all.Data, all.Data, s.typ.Unit())
	}
	return all.Data
}
