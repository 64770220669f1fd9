// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"context"
	"os"
	"testing"

	"varve.dev/zarr/internal/test/scanned"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/virtual/scan"
)

// counted counts requests and bytes.
type counted struct {
	store.Store
	gets  int
	bytes int64
}

// Get implements [store.Store].
func (c *counted) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	c.gets++
	b, info, err := c.Store.Get(ctx, key, q, dst)
	c.bytes += int64(len(b) - len(dst))
	return b, info, err
}

// scanCounted scans a file, and returns what that took.
func scanCounted(t *testing.T, b []byte) (*scan.Dataset, *counted) {
	t.Helper()
	s := memstore.New()
	key := store.MustKey("a.h5")
	if _, err := store.Write(t.Context(), s, store.Put(key, b), store.Flush); err != nil {
		t.Fatal(err)
	}
	c := &counted{Store: s}
	f, err := scan.Open(t.Context(), c, key)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	set, err := Scan(f)
	if err != nil {
		t.Fatal(err)
	}
	return set, c
}

// TestRequests scans every file by at most two requests. The first one asks for more
// than a small file has.
func TestRequests(t *testing.T) {
	for _, name := range scanned.Files(t, "hdf5") {
		b, err := os.ReadFile("../../testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, c := scanCounted(t, b); c.gets > 2 {
			t.Errorf("%s: %d requests", name, c.gets)
		}
	}
}

// TestReadsNoChunks scans a file whose arrays are large, with metadata before, between
// and behind them.
func TestReadsNoChunks(t *testing.T) {
	const elements = 1 << 20 // of 4 bytes
	b := newBuilder()
	layout := func(address uint64) []byte {
		return msg(kindLayout, byte(3), byte(layoutContiguous), address, uint64(4*elements))
	}
	shape := space([]uint64{elements}, []uint64{elements})
	b.pad(1 << 20)
	begin := len(b.file)
	b.pad(begin + 4*elements)
	first := b.header(shape, msg(kindDatatype, int32s), layout(uint64(begin)))
	// A thousand chunks of 4 KiB.
	chunks := len(b.file)
	b.pad(chunks + 4*elements)
	var slots []uint64
	for i := range elements / 1024 {
		slots = append(slots, uint64(chunks+4096*i))
	}
	head := uint64(len(b.file) + 4 + 2 + 8 + 8*len(slots) + 4)
	block := b.sum("FADB", byte(0), byte(0), head, slots)
	b.sum("FAHD", byte(0), byte(0), byte(8), byte(10), uint64(len(slots)), block)
	second := b.header(shape, msg(kindDatatype, int32s), chunkedLayout(1024, indexFixed, []byte{10}, head))
	set, c := scanCounted(t, b.done(b.header(hard("a", first), hard("b", second))))
	if n := len(set.Arrays[0].Chunks) + len(set.Arrays[1].Chunks); n != 1+1024 {
		t.Errorf("%d chunks, want %d", n, 1+1024)
	}
	if c.gets > 3 || c.bytes > 1<<19 {
		t.Errorf("%d requests for %d bytes, of a file of %d", c.gets, c.bytes, len(b.file))
	}
	t.Logf("%d requests for %d bytes, of a file of %d", c.gets, c.bytes, len(b.file))
}
