// SPDX-License-Identifier: Apache-2.0

package blosc

import (
	"fmt"

	"github.com/pierrec/lz4/v4"
)

// lz4Streams decompresses LZ4 blocks.
type lz4Streams struct{}

func (lz4Streams) decompress(dst, src []byte) error {
	n, err := lz4.UncompressBlock(src, dst)
	if err != nil {
		return err
	}
	return filled(dst, n)
}

// filled returns an error unless n is the length of dst.
func filled(dst []byte, n int) error {
	if n != len(dst) {
		return fmt.Errorf("%d bytes instead of %d", n, len(dst))
	}
	return nil
}

// lz4Writer is the fast compressor.
type lz4Writer struct{ c lz4.CompressorCCompat }

// newLZ4Writer returns a compressor with the acceleration of c-blosc.
func newLZ4Writer(level int) *lz4Writer {
	return &lz4Writer{lz4.CompressorCCompat{Acceleration: 10 - level}}
}

func (w *lz4Writer) compress(dst, src []byte) int {
	n, err := w.c.CompressBlock(src, dst)
	if err != nil {
		return 0 // no room
	}
	return n
}

// lz4HCWriter is the high-compression compressor.
type lz4HCWriter struct{ c lz4.CompressorHC }

func newLZ4HCWriter(level int) *lz4HCWriter {
	return &lz4HCWriter{lz4.CompressorHC{Level: lz4.CompressionLevel(1 << max(level-1, 1))}} // candidates for each match
}

func (w *lz4HCWriter) compress(dst, src []byte) int {
	n, err := w.c.CompressBlock(src, dst)
	if err != nil {
		return 0 // no room
	}
	return n
}
