// SPDX-License-Identifier: Apache-2.0

package blosc

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"

	"varve.dev/zarr/codec"
)

// zlibReader decompresses zlib streams. It takes 40 KiB of memory.
type zlibReader struct {
	src bytes.Reader
	r   io.ReadCloser
	one [1]byte // for a byte after the last, which should not come
}

func (z *zlibReader) decompress(dst, src []byte) error {
	z.src.Reset(src)
	defer z.src.Reset(nil)
	if err := z.reset(); err != nil {
		return err
	}
	n, err := io.ReadFull(z.r, dst)
	if err == nil {
		n, err = z.r.Read(z.one[:]) // checks the checksum
	}
	switch {
	case errors.Is(err, zlib.ErrChecksum):
		return fmt.Errorf("%w: zlib", codec.ErrChecksum)
	case n > 0 && (err == nil || err == io.EOF):
		return fmt.Errorf("more than %d bytes", len(dst))
	case err != io.EOF:
		return err
	case z.src.Len() > 0:
		return fmt.Errorf("%d bytes too many", z.src.Len())
	}
	return nil
}

// reset begins again at the source.
func (z *zlibReader) reset() (err error) {
	if z.r == nil {
		z.r, err = zlib.NewReader(&z.src)
		return err
	}
	return z.r.(zlib.Resetter).Reset(&z.src, nil)
}

// zlibWriter makes zlib streams.
type zlibWriter struct {
	w   *zlib.Writer
	dst []byte
	n   int
}

func newZlibWriter(level int) *zlibWriter {
	z := new(zlibWriter)
	w, err := zlib.NewWriterLevel(z, level)
	if err != nil {
		panic(err) // impossible: the level is valid
	}
	z.w = w
	return z
}

// Write implements [io.Writer]. It fails if the destination is too short.
func (z *zlibWriter) Write(p []byte) (int, error) {
	n := copy(z.dst[z.n:], p)
	z.n += n
	if n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

func (z *zlibWriter) compress(dst, src []byte) int {
	z.dst, z.n = dst, 0
	defer func() { z.dst = nil }()
	z.w.Reset(z)
	if _, err := z.w.Write(src); err != nil {
		return 0
	}
	if err := z.w.Close(); err != nil {
		return 0
	}
	return z.n
}
