// SPDX-License-Identifier: Apache-2.0

package scanned

import (
	"context"
	"errors"
	"testing"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/virtual/scan"
)

// Counted is a store that counts requests. It has no powers.
type Counted struct {
	below *memstore.Store
	Gets  int
	Bytes int64 // that were read
}

// Get implements [store.Store].
func (c *Counted) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	c.Gets++
	out, info, err := c.below.Get(ctx, key, q, dst)
	c.Bytes += int64(len(out) - len(dst))
	return out, info, err
}

// Memory opens a file of these bytes.
func Memory(t testing.TB, data []byte) (*scan.File, *Counted) {
	t.Helper()
	s, key := &Counted{below: memstore.New()}, store.MustKey("file")
	if _, err := s.below.Put(t.Context(), key, data, store.Flush); err != nil {
		t.Fatal(err)
	}
	f, err := scan.Open(t.Context(), s, key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, s
}

// Sound scans any bytes: the scanner returns a reason, or arrays that keep the contract
// of package scan.
func Sound(t *testing.T, data []byte, s Scanner) {
	t.Helper()
	f, _ := Memory(t, data)
	d, err := s(f)
	if err != nil {
		if !errors.Is(err, scan.ErrCorrupt) && !errors.Is(err, scan.ErrUnsupported) {
			t.Errorf("%v, want ErrCorrupt or ErrUnsupported", err)
		}
		return
	}
	names := map[string]bool{}
	for _, a := range d.Arrays {
		if names[a.Path] {
			t.Errorf("two arrays are %q", a.Path)
		}
		names[a.Path] = true
		if _, err := a.Attributes.JSON(); err != nil {
			t.Errorf("%s: %v", a.Path, err)
		}
		if a.Refused == nil {
			soundChunks(t, a, int64(len(data)))
		} else if !errors.Is(a.Refused, scan.ErrUnsupported) {
			t.Errorf("%s is refused: %v, want ErrUnsupported", a.Path, a.Refused)
		}
	}
}

// soundChunks checks the chunks of an array in a file of a size.
func soundChunks(t *testing.T, a *scan.Array, size int64) {
	t.Helper()
	n, ok := checked.Product(a.Count()...)
	if !ok || len(a.Chunk) != len(a.Shape) || len(a.Codecs) == 0 || a.Type.IsZero() || a.Names != nil && len(a.Names) != len(a.Shape) {
		t.Fatalf("%s has the shape %d, chunks of %d, the names %q, %d codecs and the type %s", a.Path, a.Shape, a.Chunk, a.Names, len(a.Codecs), a.Type)
	}
	seen := map[int64]bool{}
	for _, c := range a.Chunks {
		if c.Number < 0 || c.Number >= n || seen[c.Number] {
			t.Errorf("%s: chunk %d is one of %d, or there twice", a.Path, c.Number, n)
		}
		seen[c.Number] = true
		if c.Offset < 0 || c.Length < 0 || c.Length > size-c.Offset {
			t.Errorf("%s: chunk %d has %d bytes at %d, in a file of %d", a.Path, c.Number, c.Length, c.Offset, size)
		}
	}
}
