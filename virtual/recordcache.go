// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"sync"

	"varve.dev/zarr/virtual/kerchunk"
)

// recordCache keeps the records of the files that were used last. Its zero value is
// empty.
type recordCache struct {
	mu    sync.Mutex
	kept  map[recordFile]*keptRecords
	bytes int64 // of all
	turn  int64 // counts uses
}

// recordFile is a file of records.
type recordFile struct {
	array  string
	number int64
}

// keptRecords are the records of a file. The lock is held while the file is read.
type keptRecords struct {
	mu      sync.Mutex
	records *kerchunk.Records // nil if there is no file
	done    bool
	used    int64 // under the lock of the cache, as is bytes
	bytes   int64
}

const (
	// mostRecordBytes bounds the records in memory: some 400 files of fsspec's size.
	mostRecordBytes = 128 << 20
	// fileBytes is counted for each file besides its records. It bounds the files that
	// are known not to be there.
	fileBytes = 16 << 10
)

// get returns the records of a file, which read reads unless they are kept.
func (c *recordCache) get(f recordFile, read func() (*kerchunk.Records, error)) (*kerchunk.Records, error) {
	x := c.entry(f)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.done {
		return x.records, nil
	}
	records, err := read()
	if err != nil {
		return nil, err
	}
	x.records, x.done = records, true
	if records != nil {
		c.account(f, x, records.Bytes())
	}
	return records, nil
}

// entry returns the entry of a file.
func (c *recordCache) entry(f recordFile) *keptRecords {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = map[recordFile]*keptRecords{}
	}
	c.turn++
	x := c.kept[f]
	if x == nil {
		x = &keptRecords{bytes: fileBytes, used: c.turn}
		c.kept[f] = x
		c.bytes += x.bytes
		c.shrink(x)
	}
	x.used = c.turn
	return x
}

// account adds the memory of records that were read, unless they were dropped meanwhile.
func (c *recordCache) account(f recordFile, x *keptRecords, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept[f] != x {
		return
	}
	x.bytes += n
	c.bytes += n
	c.shrink(x)
}

// shrink drops the entries that were not used for longest, but not x.
func (c *recordCache) shrink(x *keptRecords) {
	for c.bytes > mostRecordBytes && len(c.kept) > 1 {
		var oldest recordFile
		least := c.turn + 1
		for f, y := range c.kept {
			if y != x && y.used < least {
				oldest, least = f, y.used
			}
		}
		c.bytes -= c.kept[oldest].bytes
		delete(c.kept, oldest)
	}
}
