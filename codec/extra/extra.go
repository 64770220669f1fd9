// SPDX-License-Identifier: Apache-2.0

// Package extra adds codecs whose libraries few programs need: LZMA, and writing bzip2,
// which the core of Varve only reads. It is a separate module. Importing the package
// registers them:
//
//	import _ "varve.dev/zarr/codec/extra"
//
// The codecs are numcodecs.bz2 and numcodecs.lzma of package numcodecs.
package extra

import (
	"fmt"
	"sync"

	"github.com/dsnet/compress/bzip2"
	"varve.dev/zarr/internal/codecs/numcodecs"
)

func init() {
	numcodecs.ProvideBZ2(encodeBZ2)
	numcodecs.ProvideLZMA(newLZMA)
}

// sink appends what is written to a slice.
type sink struct{ out []byte }

// Write implements [io.Writer].
func (s *sink) Write(p []byte) (int, error) {
	s.out = append(s.out, p...)
	return len(p), nil
}

// WriteByte implements [io.ByteWriter].
func (s *sink) WriteByte(b byte) error {
	s.out = append(s.out, b)
	return nil
}

// bz2Writers has a pool of compressors for each level. A compressor takes several times
// the memory of a block.
var bz2Writers [10]sync.Pool

// bz2Writer is a compressor with its destination.
type bz2Writer struct {
	sink
	z *bzip2.Writer
}

// encodeBZ2 is a [numcodecs.BZ2Encoder].
func encodeBZ2(dst, src []byte, level int) ([]byte, error) {
	w, ok := bz2Writers[level].Get().(*bz2Writer)
	if !ok {
		w = new(bz2Writer)
		var err error
		if w.z, err = bzip2.NewWriter(&w.sink, &bzip2.WriterConfig{Level: level}); err != nil {
			return dst, fmt.Errorf("bz2: %w", err)
		}
	}
	w.out = dst
	if err := w.encode(src); err != nil {
		return dst, fmt.Errorf("bz2: %w", err)
	}
	dst, w.out = w.out, nil
	bz2Writers[level].Put(w)
	return dst, nil
}

func (w *bz2Writer) encode(src []byte) error {
	if err := w.z.Reset(&w.sink); err != nil {
		return err
	}
	if _, err := w.z.Write(src); err != nil {
		return err
	}
	return w.z.Close()
}
