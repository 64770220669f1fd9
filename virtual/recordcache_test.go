// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/kerchunk"
	"varve.dev/zarr/internal/racing"
)

// TestRecordCache reads files through the cache, at once and more than it keeps. Each is
// read once while it is kept, and again after an error.
func TestRecordCache(t *testing.T) {
	c := newRecordCache()
	reads := 0
	read := func() (*kerchunk.Records, int64, error) {
		reads++
		r := kerchunk.NewRecords(kerchunk.MostRecords / 2)
		return r, r.Bytes(), nil
	}
	failed := errors.New("failed")
	if _, err := c.get(t.Context(), recordFile{"a", 0}, func() (*kerchunk.Records, int64, error) { return nil, 0, failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if r, err := c.get(t.Context(), recordFile{"a", 0}, read); err != nil || r == nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if reads != 1 {
		t.Errorf("%d reads of one file", reads)
	}
	racing.Skip(t) // the rest has one goroutine, and much memory
	const most = mostRecordBytes / (kerchunk.RecordBytes * kerchunk.MostRecords / 2)
	for k := range int64(3 * most) {
		for range 2 {
			if _, err := c.get(t.Context(), recordFile{"a", k}, read); err != nil {
				t.Fatal(err)
			}
		}
		if c.size > mostRecordBytes || len(c.kept) > most+1 {
			t.Fatalf("%d files are kept, %d bytes", len(c.kept), c.size)
		}
	}
	if reads != 3*most {
		t.Errorf("%d reads of %d files", reads, 3*most)
	}
	if _, err := c.get(t.Context(), recordFile{"a", 0}, read); err != nil || reads != 3*most+1 {
		t.Errorf("a file that was dropped: %d reads (%v)", reads, err)
	}
	// Files that are not there are kept, too, but not too many.
	for k := range int64(2 * mostRecordBytes / fileBytes) {
		if r, err := c.get(t.Context(), recordFile{"b", k}, func() (*kerchunk.Records, int64, error) { return nil, 0, nil }); r != nil || err != nil {
			t.Fatal(r, err)
		}
	}
	if c.size > mostRecordBytes {
		t.Errorf("%d files are kept, %d bytes", len(c.kept), c.size)
	}
}

// TestNoParquet opens references in Parquet files in a program without their library.
func TestNoParquet(t *testing.T) {
	_, err := zarr.Open(t.Context(), filepath.Join("testdata", "nc4_basic.pyarrow.parq"), nil)
	if !errors.Is(err, zarr.ErrUnsupported) || !strings.Contains(err.Error(), `import _ "varve.dev/zarr/virtual/parquet"`) {
		t.Error(err)
	}
}
