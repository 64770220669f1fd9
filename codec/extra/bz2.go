// SPDX-License-Identifier: Apache-2.0

package extra

import (
	"fmt"
	"sync"

	"github.com/dsnet/compress/bzip2"
)

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
