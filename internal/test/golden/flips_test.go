// SPDX-License-Identifier: Apache-2.0

package golden_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
)

// checksums are the codecs that guard every byte of a chunk if they are last in the
// chain.
var checksums = []string{
	"crc32c", "numcodecs.crc32", "numcodecs.crc32c", "numcodecs.adler32", "numcodecs.fletcher32", "numcodecs.jenkins_lookup3",
}

// TestGoldenFlips changes bytes in the stored chunks of every golden array, one at a
// time, and reads the array: some bytes of each array, or with VARVE_LONG all. A chain
// that ends in a checksum must report each change, with key, chunk and codec. Other
// chains may decode the change to other elements, but they never panic, and their errors
// name the place.
func TestGoldenFlips(t *testing.T) {
	racing.Skip(t)
	const short, most = 4 << 10, 150 // bytes of a chunk, and flips of one array
	z := fixture.OpenZip(t, "stores.zip")
	var manifest struct{ Cases map[string]golden }
	fixture.ReadJSON(t, z, "manifest.json", &manifest)
	flips, guarded := 0, 0
	for _, name := range slices.Sorted(maps.Keys(manifest.Cases)) {
		folder, path, _ := strings.Cut(name, "::")
		files := map[store.Key][]byte{}
		sub := fixture.Must(fs.Sub(z, folder+".zarr"))
		err := fs.WalkDir(sub, ".", func(p string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				files[store.MustKey(p)], err = fs.ReadFile(sub, p)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		f := newFlipped(t, files, path)
		if f == nil {
			continue // its codec is not in the core
		}
		flips += f.flipAll(t, short, most)
		if f.guarded {
			guarded++
		}
	}
	t.Logf("%d bytes were changed; %d arrays have a checksum of whole chunks", flips, guarded)
	if flips < 10_000 || guarded < 5 {
		t.Errorf("%d bytes of chunks were changed, %d arrays have a checksum of whole chunks: too few", flips, guarded)
	}
}

// flipped is a golden array in a store that returns one chunk with a changed byte.
type flipped struct {
	name    string
	store   *fixture.Rotten
	files   map[store.Key][]byte
	array   *zarr.Array
	guarded bool // the chain ends in a checksum
}

func newFlipped(t *testing.T, files map[store.Key][]byte, path string) *flipped {
	t.Helper()
	s := memtest.New()
	for key, data := range files {
		fixture.Must(store.Write(t.Context(), s, store.Put(key, data), store.Flush))
	}
	f := &flipped{name: path, store: &fixture.Rotten{ObjectStore: stepping.Conditional(s, stepping.Hooks{})}, files: files}
	a, err := zarr.At(f.store, path).OpenArray(t.Context(), nil)
	if errors.Is(err, zarr.ErrUnsupported) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	codecs := a.Metadata().Codecs
	f.array = a
	f.guarded = len(codecs) > 0 && slices.Contains(checksums, codecs[len(codecs)-1].Name)
	return f
}

// chunks returns the keys of the stored chunks of at most short bytes.
func (f *flipped) chunks(short int) []store.Key {
	var keys []store.Key
	for chunk := range f.array.Chunks() {
		key := store.MustKey(chunk.Key)
		if data, ok := f.files[key]; ok && len(data) <= short {
			keys = append(keys, key)
		}
	}
	return keys
}

// flipAll changes bytes in all chunks of at most short bytes: at most most of them,
// unless the test is a long one.
func (f *flipped) flipAll(t *testing.T, short, most int) (flips int) {
	t.Helper()
	keys, total := f.chunks(short), 0
	for _, key := range keys {
		total += len(f.files[key])
	}
	step, at := 1, 0
	if !fixture.Long() {
		step = 1 + total/most
	}
	for _, key := range keys {
		for ; at < len(f.files[key]); at += step {
			f.flip(t, key, at)
			flips++
		}
		at -= len(f.files[key])
	}
	return flips
}

// flip changes one byte of a chunk and reads the array.
func (f *flipped) flip(t *testing.T, key store.Key, at int) {
	t.Helper()
	f.store.Key, f.store.Data = key, slices.Clone(f.files[key])
	f.store.Data[at] ^= 1 << (at % 8)
	err := f.read(t.Context())
	var where *zarr.Error
	switch {
	case err == nil && f.guarded:
		t.Fatalf("%s: %s: byte %d was changed: got no error", f.name, key, at)
	case err == nil:
	case !errors.As(err, &where) || where.Key != key.String() || where.Chunk == nil:
		t.Fatalf("%s: %s: byte %d was changed: the error names no place: %v", f.name, key, at, err)
	case f.guarded && (!errors.Is(err, zarr.ErrCorrupt) || where.Codec == ""):
		t.Fatalf("%s: %s: byte %d was changed: got %v, want damage that a codec found", f.name, key, at, err)
	}
}

func (f *flipped) read(ctx context.Context) error {
	if f.array.Type().Variable() {
		_, err := zarr.Read[[]byte](ctx, f.array, nil)
		return err
	}
	n := int64(f.array.Type().Size())
	for _, l := range f.array.Shape() {
		n *= l
	}
	return f.array.ReadBytes(ctx, nil, make([]byte, n))
}
