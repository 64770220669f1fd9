package gzip

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"varve.dev/zarr/codec"
)

// Compressors take up to a megabyte each and decompressors 40 KiB: both are kept between chunks, for all arrays.
var (
	writers [10]sync.Pool // of *writer, by effort
	readers sync.Pool     // of *reader
)

// writer is a compressor and the slice that it appends to.
type writer struct {
	gz  *gzip.Writer
	out []byte
}

// Write implements [io.Writer].
func (w *writer) Write(p []byte) (int, error) {
	w.out = append(w.out, p...)
	return len(p), nil
}

func takeWriter(effort int, dst []byte) (*writer, error) {
	w, ok := writers[effort].Get().(*writer)
	if !ok {
		w = new(writer)
		var err error
		if w.gz, err = gzip.NewWriterLevel(w, effort); err != nil {
			return nil, err
		}
	}
	w.out = dst
	w.gz.Reset(w)
	w.gz.ModTime = time.Unix(0, 0) // "no time"; the zero Time is written as one in 2042
	return w, nil
}

func (w *writer) release(effort int) {
	w.out = nil
	writers[effort].Put(w)
}

// reader is a decompressor and the slice that it reads.
type reader struct {
	gz  gzip.Reader
	src bytes.Reader
	one [1]byte // room for what should not follow
}

func takeReader(src []byte) *reader {
	r, ok := readers.Get().(*reader)
	if !ok {
		r = new(reader)
	}
	r.src.Reset(src)
	return r
}

func (r *reader) release() {
	r.src.Reset(nil)
	readers.Put(r)
}

// appendTo appends all that the source decodes to, at most most bytes.
func (r *reader) appendTo(dst []byte, most int) ([]byte, error) {
	if err := r.gz.Reset(&r.src); err != nil {
		return dst, unexpected(err)
	}
	dst = slices.Grow(dst, most)
	limit := len(dst) + most
	for {
		if len(dst) == limit {
			return dst, r.end(most)
		}
		n, err := r.gz.Read(dst[len(dst):limit])
		dst = dst[:len(dst)+n]
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

// end checks that nothing follows: the format states no size that could be trusted.
func (r *reader) end(most int) error {
	switch n, err := r.gz.Read(r.one[:]); {
	case n > 0:
		return fmt.Errorf("%w: it decodes to more than %d bytes", codec.ErrTooLong, most)
	case err == io.EOF:
		return nil
	default:
		return unexpected(err)
	}
}

// unexpected turns the end of a source without any member, which the library calls a clean one, into an error.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
