// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/serve"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// benchmarkGet sends requests for a path on a connection that it keeps.
func benchmarkGet(b *testing.B, h http.Handler, path string, size int64) {
	s := httptest.NewServer(h)
	defer s.Close()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	r, ask := bufio.NewReaderSize(c, 64<<10), fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(ask); err != nil {
			b.Fatal(err)
		}
		for {
			line, err := r.ReadSlice('\n')
			if err != nil {
				b.Fatal(err)
			}
			if len(line) == 2 {
				break
			}
		}
		if n, err := io.CopyN(io.Discard, r, size); err != nil {
			b.Fatal(n, err)
		}
	}
}

// BenchmarkKey gets stored keys of files, beside http.FileServer.
func BenchmarkKey(b *testing.B) {
	dir := b.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "n"), 0o777); err != nil {
		b.Fatal(err)
	}
	s, err := filestore.Open(dir, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = store.Close(s) }()
	h, err := serve.New([]serve.Node{{Name: "n", Location: zarr.At(s, "n")}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	for name, size := range map[string]int64{"4KiB": 4 << 10, "64KiB": 64 << 10, "1MiB": 1 << 20} {
		if err := os.WriteFile(filepath.Join(dir, "n", name), make([]byte, size), 0o666); err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) { benchmarkGet(b, h, "/n/"+name, size) })
		b.Run(name+"/FileServer", func(b *testing.B) { benchmarkGet(b, http.FileServer(http.Dir(dir)), "/n/"+name, size) })
	}
}

// BenchmarkView gets a chunk of a view that is kept, and one that is made each time.
func BenchmarkView(b *testing.B) {
	s, err := filestore.Open(b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = store.Close(s) }()
	values := make([]int32, 1<<20)
	for i := range values {
		values[i] = int32(i * i >> 8)
	}
	array(b, s, "n", zarr.Spec{Shape: []int64{1 << 20}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(1<<19, 1<<18, 1<<18)}}, values)
	h, err := serve.New([]serve.Node{{Name: "n", Location: zarr.At(s, "n")}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	// The version of a new file is not trusted, so for two seconds nothing is kept.
	b.Run("made", func(b *testing.B) { benchmarkGet(b, h, "/@regular,chunks=65536,codec=none/n/c/3", 4<<16) })
}

// BenchmarkPicture gets a tile of a picture, of an array whose chunks are larger.
func BenchmarkPicture(b *testing.B) {
	s, err := filestore.Open(b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = store.Close(s) }()
	values := make([]uint16, 1<<20)
	for i := range values {
		values[i] = uint16(i>>4 + i*i>>16)
	}
	array(b, s, "n", zarr.Spec{Shape: []int64{1024, 1024}, Type: dtype.Uint16, Chunks: grid.Chunks(1024, 1024), Codecs: []metadata.Extension{codec.Bytes("little"), codec.Zstd(3)}}, values)
	h, err := serve.New([]serve.Node{{Name: "n", Location: zarr.At(s, "n")}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("ranged", func(b *testing.B) { benchmarkAny(b, h, "/@values/n?select=256:512,256:512&format=png&range=0,65535") })
	b.Run("measured", func(b *testing.B) { benchmarkAny(b, h, "/@values/n?select=256:512,256:512&format=png") })
}

// benchmarkAny asks a handler without a connection.
func benchmarkAny(b *testing.B, h http.Handler, path string) {
	b.ReportAllocs()
	for b.Loop() {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", path, nil)
		r.Host = "localhost"
		if h.ServeHTTP(w, r); w.Code != 200 {
			b.Fatal(w.Code, w.Body)
		}
	}
}
