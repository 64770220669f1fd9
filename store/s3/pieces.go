// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"errors"
	"io"
	"sync/atomic"
)

// pieces are the bytes of a request's body: the slices, one after the other. They are not
// copied.
type pieces [][]byte

func (p pieces) size() (n int64) {
	for _, b := range p {
		n += int64(len(b))
	}
	return n
}

// cut returns the n bytes from offset off on, which p must have.
func (p pieces) cut(off, n int64) (out pieces) {
	for _, b := range p {
		size := int64(len(b))
		if off < size && n > 0 {
			k := min(size-off, n)
			out = append(out, b[off:off+k])
			off, n = off+k, n-k
		}
		off -= size
		if n == 0 {
			break
		}
	}
	return out
}

// body returns a reader of the bytes. The SDK reads a body several times.
func (p pieces) body() *body { return &body{pieces: p, n: p.size()} }

type body struct {
	pieces pieces
	at     atomic.Int64
	n      int64
}

// unsent reports whether bytes were never read. Then no service can have the whole body.
func (b *body) unsent() bool { return b.at.Load() < b.n }

func (b *body) Read(dst []byte) (int, error) {
	off := b.at.Load()
	if off >= b.n {
		return 0, io.EOF
	}
	for _, piece := range b.pieces {
		if size := int64(len(piece)); off >= size {
			off -= size
			continue
		}
		k := copy(dst, piece[off:])
		b.at.Add(int64(k))
		return k, nil
	}
	return 0, io.EOF
}

func (b *body) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += b.at.Load()
	case io.SeekEnd:
		offset += b.n
	}
	if offset < 0 {
		return 0, errors.New("s3: seek before the begin of a body")
	}
	b.at.Store(offset)
	return offset, nil
}
