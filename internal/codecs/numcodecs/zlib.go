// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/klauspost/compress/zlib"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/metadata"
)

func init() {
	register("zlib", newZlib, "zlib", "https://codec.zarrs.dev/bytes_to_bytes/zlib")
}

// Zlib returns the metadata of numcodecs.zlib, which stores a zlib stream (RFC 1950). The
// level is from 0, which does not compress, to 9, which compresses best and slowest; -1
// means 6.
func Zlib(level int) metadata.Extension { return extension("zlib", `{"level":%d}`, level) }

func newZlib(configuration []byte) (any, error) {
	level, err := deflateLevel("zlib", configuration)
	if err != nil {
		return nil, err
	}
	return zlibCoder{efforts[level]}, nil
}

// efforts maps levels to those of the library, as package gzipcodec does.
var efforts = [10]int{0, 6, 6, 7, 7, 7, 7, 7, 8, 9}

type zlibCoder struct{ effort int }

// MaxEncoded implements [codec.BytesBytes]. The worst choice of a simple writer is fixed
// codes, which take nine bits for each byte.
func (zlibCoder) MaxEncoded(n int64) int64 {
	const header = 1 << 10
	return min(n, math.MaxInt64/2) + min(n, math.MaxInt64/2)/8 + header
}

// All arrays share pools of compressors, which take up to 1 MiB each, and decompressors,
// which take 40 KiB.
var (
	zlibWriters [10]sync.Pool // of *zlibWriter, by effort
	zlibReaders sync.Pool     // of *zlibReader
)

// zlibWriter is a compressor and the slice that it appends to.
type zlibWriter struct {
	z   *zlib.Writer
	out []byte
}

// Write implements [io.Writer].
func (w *zlibWriter) Write(p []byte) (int, error) {
	w.out = append(w.out, p...)
	return len(p), nil
}

// Guarded implements [codec.Guarded].
func (zlibCoder) Guarded() bool { return true }

// Encode implements [codec.BytesBytes].
func (c zlibCoder) Encode(dst, src []byte) ([]byte, error) {
	w, ok := zlibWriters[c.effort].Get().(*zlibWriter)
	if !ok {
		w = new(zlibWriter)
		var err error
		if w.z, err = zlib.NewWriterLevel(w, c.effort); err != nil {
			return dst, fmt.Errorf("zlib: %w", err)
		}
	}
	w.out = dst
	w.z.Reset(w)
	_, err := w.z.Write(src)
	if err == nil {
		err = w.z.Close()
	}
	out := w.out
	// The pool must not keep the buffer of the caller.
	w.out = nil
	zlibWriters[c.effort].Put(w)
	if err != nil {
		return dst, fmt.Errorf("zlib: %w", err)
	}
	return out, nil
}

// zlibReader is a decompressor and the slice that it reads.
type zlibReader struct {
	z   io.ReadCloser
	src bytes.Reader
}

// Decode implements [codec.BytesBytes].
func (zlibCoder) Decode(dst, src []byte, most int64) ([]byte, error) {
	r, ok := zlibReaders.Get().(*zlibReader)
	if !ok {
		r = new(zlibReader)
	}
	r.src.Reset(src)
	out, err := r.appendTo(dst, int(most))
	// The library stops reading at the end of the stream.
	if err == nil && r.src.Len() > 0 {
		err = fmt.Errorf("%d bytes follow the end", r.src.Len())
	}
	// The pool must not keep the bytes of the caller.
	r.src.Reset(nil)
	zlibReaders.Put(r)
	switch {
	case errors.Is(err, zlib.ErrChecksum):
		return dst, fmt.Errorf("%w: zlib: Adler-32 of the stream", codec.ErrChecksum)
	case errors.Is(err, codec.ErrTooLong):
		return dst, fmt.Errorf("zlib: %w", err)
	case err != nil:
		return dst, fmt.Errorf("%w: zlib: %w", codec.ErrCorrupt, err)
	}
	return out, nil
}

// appendTo appends the decoded source, at most most bytes.
func (r *zlibReader) appendTo(dst []byte, most int) ([]byte, error) {
	if err := r.reset(); err != nil {
		return dst, err
	}
	return codec.ReadAll(slices.Grow(dst, most), r.z, most)
}

// reset begins with another source.
func (r *zlibReader) reset() (err error) {
	if r.z == nil {
		r.z, err = zlib.NewReader(&r.src)
	} else {
		err = r.z.(zlib.Resetter).Reset(&r.src, nil)
	}
	// An empty source is a stream that was cut off.
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}
