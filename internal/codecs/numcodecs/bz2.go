// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/metadata"
)

func init() { register("bz2", newBZ2, "bz2", "https://codec.zarrs.dev/bytes_to_bytes/bz2") }

// BZ2 returns the metadata of numcodecs.bz2, which stores a bzip2 file. The level, 1 to
// 9, is the size of a block in units of 100,000 bytes. Writing requires an import of
// varve.dev/zarr/codec/extra.
func BZ2(level int) metadata.Extension { return extension("bz2", `{"level":%d}`, level) }

// BZ2Encoder appends a bzip2 file with the bytes of src to dst. The level is from 1 to 9.
type BZ2Encoder func(dst, src []byte, level int) ([]byte, error)

var bz2Encoder atomic.Pointer[BZ2Encoder]

// ProvideBZ2 sets the encoder of numcodecs.bz2. It replaces an earlier one.
func ProvideBZ2(e BZ2Encoder) { bz2Encoder.Store(&e) }

func newBZ2(configuration []byte) (any, error) {
	c := struct {
		Level codec.Int `json:"level"`
	}{1}
	if err := decode("bz2", configuration, &c); err != nil {
		return nil, err
	}
	if c.Level < 1 || c.Level > 9 {
		return nil, fmt.Errorf("%w: bz2: level %d is not within 1 to 9", codec.ErrConfiguration, c.Level)
	}
	return bz2Coder{int(c.Level)}, nil
}

type bz2Coder struct{ level int }

// MaxEncoded implements [codec.BytesBytes]. Codes for 256 bytes that are equally
// frequent, and tables for every block; a file may have several.
func (bz2Coder) MaxEncoded(n int64) int64 {
	const tables = 4 << 10
	n = min(n, math.MaxInt64/2)
	return n + n/32 + tables
}

// Guarded implements [codec.Guarded].
func (bz2Coder) Guarded() bool { return true }

// Encode implements [codec.BytesBytes].
func (c bz2Coder) Encode(dst, src []byte) ([]byte, error) {
	e := bz2Encoder.Load()
	if e == nil {
		return dst, fmt.Errorf("%w: bzip2 is only read; to write it import varve.dev/zarr/codec/extra", codec.ErrUnsupported)
	}
	return (*e)(dst, src, c.level)
}

// Decode implements [codec.BytesBytes]. The library cannot reuse memory: every call takes
// four bytes for each byte of a block, 400 kB times the level of the file, even if it
// decodes to a few bytes.
func (bz2Coder) Decode(dst, src []byte, most int64) ([]byte, error) {
	out, err := codec.ReadAll(slices.Grow(dst, int(most)), bzip2.NewReader(bytes.NewReader(src)), int(most))
	switch {
	case err == nil:
		return out, nil
	case errors.Is(err, codec.ErrTooLong):
		return dst, fmt.Errorf("bz2: %w", err)
	case errors.Is(err, wrongBlock), errors.Is(err, wrongFile):
		return dst, fmt.Errorf("%w: bz2: %w", codec.ErrChecksum, err)
	}
	return dst, fmt.Errorf("%w: bz2: %w", codec.ErrCorrupt, err)
}

// The library's messages for wrong checksums. If it changes them, a wrong checksum is
// only reported as corrupt data.
const (
	wrongBlock = bzip2.StructuralError("block checksum mismatch")
	wrongFile  = bzip2.StructuralError("file checksum mismatch")
)
