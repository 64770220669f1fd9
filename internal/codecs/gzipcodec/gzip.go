// SPDX-License-Identifier: Apache-2.0

// Package gzipcodec is the codec "gzip" (zarr-specs v3, "Gzip codec"; RFC 1952), which
// stores chunks as gzip files. Importing the package registers it.
//
// Its output depends only on the data and the level: it has no time, name or host. It
// reads files with one or more members from any writer.
package gzipcodec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"varve.dev/zarr/codec"
)

// defaultLevel is the default level of zarr-python.
const defaultLevel = 5

func init() { codec.Register("gzip", New) }

// New is the [codec.Factory] of the codec. It returns a [codec.BytesBytes]. A missing
// level means 5.
func New(configuration []byte) (any, error) {
	c := struct {
		Level codec.Int `json:"level"`
	}{defaultLevel}
	if err := codec.DecodeConfiguration(configuration, &c); err != nil {
		return nil, fmt.Errorf("%w: gzip: %w", codec.ErrConfiguration, err)
	}
	if c.Level < gzip.NoCompression || c.Level > gzip.BestCompression {
		return nil, fmt.Errorf("%w: gzip level %d is not within 0 to 9", codec.ErrConfiguration, c.Level)
	}
	return coder{efforts[c.Level]}, nil
}

// efforts maps levels to those of the library. Its levels below 6 are much faster than
// those of zlib, but lose up to a fifth of the ratio on shuffled numbers. The mapped
// levels are about as good as those of zlib and at least as fast.
var efforts = [10]int{0, 6, 6, 7, 7, 7, 7, 7, 8, 9}

type coder struct{ effort int }

// MaxEncoded implements [codec.BytesBytes]. The worst choice of a simple writer is fixed
// codes, which take nine bits for each byte.
func (coder) MaxEncoded(n int64) int64 {
	const header = 1 << 10
	return min(n, math.MaxInt64/2) + min(n, math.MaxInt64/2)/8 + header
}

// Guarded implements [codec.Guarded].
func (coder) Guarded() bool { return true }

// Encode implements [codec.BytesBytes].
func (c coder) Encode(dst, src []byte) ([]byte, error) {
	w, err := takeWriter(c.effort, dst)
	if err != nil {
		return dst, fmt.Errorf("gzip: %w", err)
	}
	defer w.release(c.effort)
	if _, err := w.gz.Write(src); err != nil {
		return dst, fmt.Errorf("gzip: %w", err)
	}
	if err := w.gz.Close(); err != nil {
		return dst, fmt.Errorf("gzip: %w", err)
	}
	return w.out, nil
}

// Decode implements [codec.BytesBytes].
func (coder) Decode(dst, src []byte, most int64) ([]byte, error) {
	r := takeReader(src)
	defer r.release()
	out, err := r.appendTo(dst, int(most))
	switch {
	case errors.Is(err, gzip.ErrChecksum):
		return dst, fmt.Errorf("%w: gzip: CRC-32 or length of a member", codec.ErrChecksum)
	case errors.Is(err, codec.ErrTooLong):
		return dst, fmt.Errorf("gzip: %w", err)
	case err != nil:
		return dst, fmt.Errorf("%w: gzip: %w", codec.ErrCorrupt, err)
	}
	return out, nil
}

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
