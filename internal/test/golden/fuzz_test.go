// SPDX-License-Identifier: Apache-2.0

package golden_test

import (
	"context"
	"io/fs"
	"path"
	"runtime"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// seedDocuments calls add with the documents of every golden array and one of its
// chunks.
func seedDocuments(f *testing.F, document string, add func(document, attributes, chunk []byte)) {
	f.Helper()
	z := fixture.OpenZip(f, "stores.zip")
	err := fs.WalkDir(z, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || path.Base(name) != document {
			return err
		}
		raw, err := fs.ReadFile(z, name)
		if err != nil {
			return err
		}
		attributes, _ := fs.ReadFile(z, path.Dir(name)+"/.zattrs")
		add(raw, attributes, someChunk(z, path.Dir(name)))
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
}

// someChunk returns the first small file below a folder that is not a document.
func someChunk(z fs.FS, dir string) (chunk []byte) {
	_ = fs.WalkDir(z, dir, func(name string, d fs.DirEntry, err error) error {
		if base := path.Base(name); err != nil || d.IsDir() || base == "zarr.json" || strings.HasPrefix(base, ".z") {
			return err
		}
		if chunk, err = fs.ReadFile(z, name); err != nil || len(chunk) > 1<<12 {
			chunk = nil
			return err
		}
		return fs.SkipAll
	})
	return chunk
}

// FuzzArray opens an array of format 3 with arbitrary bytes as document, and reads
// elements from chunks of arbitrary bytes.
func FuzzArray(f *testing.F) {
	seedDocuments(f, "zarr.json", func(document, _, chunk []byte) { f.Add(document, chunk) })
	f.Fuzz(func(t *testing.T, document, chunk []byte) {
		readHostile(t, map[string][]byte{"zarr.json": document}, chunk)
	})
}

// FuzzArrayV2 is [FuzzArray] for format 2.
func FuzzArrayV2(f *testing.F) {
	seedDocuments(f, ".zarray", func(document, attributes, chunk []byte) { f.Add(document, attributes, chunk) })
	f.Fuzz(func(t *testing.T, document, attributes, chunk []byte) {
		readHostile(t, map[string][]byte{".zarray": document, ".zattrs": attributes}, chunk)
	})
}

// FuzzPending opens an array for writing with arbitrary pointers and journals beside it,
// and writes to it.
func FuzzPending(f *testing.F) {
	const document = `{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},` +
		`"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}]}`
	f.Add([]byte(`{}`), []byte(nil))
	f.Add([]byte(`{"holder":"x","note":{"axis":0,"start":4,"lengths":[2,2]}}`), []byte(nil))
	f.Add([]byte(`{"journal":"__varve/j"}`), []byte(`{"parts":[{"path":"","was":"","document":"{}","sum":"f9cf9d72028ccaeb6d8818defa0d45844bd5216bdaeae08ed042132a73464990"}]}`))
	f.Add([]byte(`{"journal":"../../j"}`), []byte(`{"aborted":true}`))
	f.Fuzz(func(t *testing.T, pending, journal []byte) {
		ctx, s := context.Background(), memstore.New()
		fixture.Put(t, s, "zarr.json", document)
		fixture.Put(t, s, "__varve/pending.json", string(pending))
		fixture.Put(t, s, "__varve/j", string(journal))
		bounded(t, func() {
			a, err := zarr.At(s, "").OpenArray(ctx, &zarr.Options{Write: true})
			if err != nil {
				return
			}
			_, _ = a.Reservation(ctx)
			_ = zarr.Write(ctx, a, nil, []int8{1, 2, 3, 4})
			_ = a.Resize(ctx, []int64{6}, nil)
		})
	})
}

// readHostile opens an array and, if that succeeds, reads its first elements. This must
// be quick and take little memory.
func readHostile(t *testing.T, documents map[string][]byte, chunk []byte) {
	t.Helper()
	ctx, s := context.Background(), memstore.New()
	for name, data := range documents {
		fixture.Put(t, s, name, string(data))
	}
	bounded(t, func() {
		a, err := zarr.At(s, "").OpenArray(ctx, &zarr.Options{Limits: zarr.Limits{Chunk: 1 << 20, InnerChunks: 1 << 10, Block: 1 << 20}})
		if err != nil {
			return
		}
		box, n := make(selection.Box, a.Rank()), int64(1)
		for i, length := range a.Shape() {
			box[i][1] = min(length, max(1, fixture.FuzzElements/max(1, n)))
			n *= box[i][1]
		}
		if n == 0 || n > fixture.FuzzElements || a.Type().Size() > 1<<10 {
			return
		}
		for c := range a.Chunks() {
			if documents[c.Key] == nil {
				fixture.Put(t, s, c.Key, string(chunk))
			}
			break
		}
		if a.Type().Variable() {
			_, _ = zarr.Read[[]byte](ctx, a, box)
			return
		}
		_ = a.ReadBytes(ctx, box, make([]byte, n*int64(a.Type().Size())))
	})
}

// bounded fails the test if run takes too much memory.
func bounded(t *testing.T, run func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > fixture.FuzzMemory {
		t.Errorf("%d MiB were allocated", used>>20)
	}
}
