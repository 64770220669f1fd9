// SPDX-License-Identifier: Apache-2.0

// Package extra adds codecs whose libraries few programs need: LZMA, and writing bzip2,
// which the core of Varve only reads. It is a separate module. Importing the package
// registers them:
//
//	import _ "varve.dev/zarr/codec/extra"
//
// The codecs are numcodecs.bz2 and numcodecs.lzma of package numcodecs.
package extra

import "varve.dev/zarr/internal/codecs/numcodecs"

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
