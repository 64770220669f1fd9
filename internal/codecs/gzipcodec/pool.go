// SPDX-License-Identifier: Apache-2.0

package gzipcodec

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"varve.dev/zarr/codec"
)

// All arrays share pools of compressors, which take up to 1 MiB each, and decompressors,
// which take 40 KiB.
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

// appendTo appends the decoded source, at most most bytes.
func (r *reader) appendTo(dst []byte, most int) ([]byte, error) {
	if err := r.gz.Reset(&r.src); err != nil {
		return dst, unexpected(err)
	}
	return codec.ReadAll(slices.Grow(dst, most), &r.gz, most)
}

// unexpected turns io.EOF into an error: the library returns it for a source without any
// member.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
