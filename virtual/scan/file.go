// SPDX-License-Identifier: Apache-2.0

// Package scan has what scanners of foreign files share: a [File] that is read by few
// requests, and a [Dataset] that says where its chunks are.
//
// A scanner reads only metadata. It returns every array that it finds, with the codecs of
// Zarr that decode its chunks and the bytes of the file that hold each of them. An array
// that Zarr cannot express has a reason why, in [Array.Refused]. Nothing else is dropped
// without a word either: it is in [Dataset.Omitted].
//
// Files are hostile until proven otherwise. A scanner checks every offset and count that
// it reads, and its memory is bounded by the bytes of metadata that the file really has.
package scan

import (
	"context"
	"errors"
	"fmt"
	"io"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/store"
)

// File is a foreign file that is scanned: one version of a value of a store. Reads go
// through blocks, which are kept, so that the many small reads of a scanner become few
// requests. A File is for one goroutine.
type File struct {
	ctx       context.Context // of the scan, which is one call
	pinned    *store.Pinned
	info      store.Info
	blocks    map[int64][]byte // by number
	order     []int64          // numbers of blocks, oldest first
	following int64            // the number of the block after the last request
	ahead     int64            // blocks of the next request, if it begins there
}

const (
	// firstBytes are read by the first request. The metadata of most files lies within.
	firstBytes = 4 * blockBytes
	blockBytes = 64 << 10
	// mostAhead bounds the blocks of a request.
	mostAhead = 64
	// mostBlocks bounds the blocks that are kept.
	mostBlocks = 1024
)

// Open reads the beginning of the value at a key. The caller calls [File.Close].
func Open(ctx context.Context, s store.Store, key store.Key) (*File, error) {
	f := &File{ctx: ctx, pinned: store.Pin(s, key, store.Info{}), blocks: map[int64][]byte{}, ahead: 1}
	head, err := f.begin()
	if err != nil {
		f.Close()
		return nil, err
	}
	f.keep(0, head)
	// A scanner that reads on from here counts as sequential at once.
	f.following = firstBytes / blockBytes
	return f, nil
}

// begin returns the first bytes of the file. A file that is shorter takes a second
// request.
func (f *File) begin() ([]byte, error) {
	head, info, err := f.pinned.Read(f.ctx, store.Request{Range: store.Span(0, firstBytes)}, nil)
	// A range beyond the end is an error of stores. A limit is not.
	if errors.Is(err, io.ErrUnexpectedEOF) {
		head, info, err = f.pinned.Read(f.ctx, store.Request{Limit: firstBytes}, nil)
	}
	if err != nil {
		return nil, err
	}
	f.info = info
	if n := min(firstBytes, info.Size); int64(len(head)) != n {
		return nil, fmt.Errorf("%w: %s at 0 are %d", io.ErrUnexpectedEOF, quantity.Count(n, "bytes"), len(head))
	}
	return head, nil
}

// Close releases the value.
func (f *File) Close() error { return f.pinned.Close() }

// Info describes the version of the file.
func (f *File) Info() store.Info { return f.info }

// Size returns the size of the file in bytes.
func (f *File) Size() int64 { return f.info.Size }

// ReadAt implements [io.ReaderAt]. It fails with [io.EOF] only at the end of the file.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, Corruptf("an offset of %d", off)
	}
	n := 0
	for n < len(p) && off < f.Size() {
		block, err := f.block(off / blockBytes)
		if err != nil {
			return n, err
		}
		k := copy(p[n:], block[off%blockBytes:])
		n, off = n+k, off+int64(k)
	}
	// io.ReaderAt wants an error with fewer bytes than were asked for.
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Bytes returns n bytes from an offset on. If the file does not have them, the error is
// [ErrCorrupt]. It allocates only what the file really has.
func (f *File) Bytes(off, n int64) ([]byte, error) {
	// Written as a difference, because the sum of hostile numbers may overflow.
	if off < 0 || n < 0 || off > f.Size() || n > f.Size()-off {
		return nil, Corruptf("%s at %d, in a file of %d", quantity.Count(n, "bytes"), off, f.Size())
	}
	p := make([]byte, n)
	if _, err := f.ReadAt(p, off); err != nil {
		return nil, err
	}
	return p, nil
}

// block returns the bytes of a block.
func (f *File) block(number int64) ([]byte, error) {
	if b, ok := f.blocks[number]; ok {
		return b, nil
	}
	// A scanner that reads on where the last request ended reads sequentially, so the
	// requests become longer.
	if number == f.following {
		f.ahead = min(2*f.ahead, mostAhead)
	} else {
		f.ahead = 1
	}
	off := number * blockBytes
	n := min(f.ahead*blockBytes, f.Size()-off)
	b, _, err := f.pinned.Read(f.ctx, store.Request{Range: store.Span(off, n)}, nil)
	if err == nil && int64(len(b)) != n {
		err = fmt.Errorf("%w: %s at %d are %d", io.ErrUnexpectedEOF, quantity.Count(n, "bytes"), off, len(b))
	}
	if err != nil {
		return nil, err
	}
	f.keep(number, b)
	f.following = number + f.ahead
	return f.blocks[number], nil
}

// keep keeps bytes as blocks, and drops the oldest blocks.
func (f *File) keep(number int64, b []byte) {
	for len(b) > 0 {
		n := min(len(b), blockBytes)
		if _, known := f.blocks[number]; !known {
			f.order = append(f.order, number)
		}
		f.blocks[number] = b[:n:n]
		number, b = number+1, b[n:]
	}
	// At most 64 MiB. The oldest blocks go first: scanners move forward through a file.
	for len(f.order) > mostBlocks {
		delete(f.blocks, f.order[0])
		f.order = f.order[1:]
	}
}
