// SPDX-License-Identifier: Apache-2.0

// Package blosc is the codec "blosc" (zarr-specs v3), which stores chunks as Blosc frames
// of c-blosc 1. Importing the package registers it.
//
// A chunk is cut into blocks. The bytes or bits of each block are shuffled, and then
// compressed. The decoder reads version 2 of the format, which c-blosc 1.3 to 1.21 write.
// The encoder cuts and splits blocks as c-blosc 1.21 does. c-blosc reads its frames, but
// writes other bytes, because its compressors are other implementations.
package blosc

import (
	"bytes"
	"fmt"
	"math"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/metadata"
)

func init() { codec.Register("blosc", New) }

// configuration has the members of the specification.
type configuration struct {
	Element    codec.Int `json:"typesize"`
	Compressor string    `json:"cname"`
	Level      codec.Int `json:"clevel"`
	Shuffle    string    `json:"shuffle"`
	Block      codec.Int `json:"blocksize"`
}

// New is the [codec.Factory] of the codec. It returns a [codec.BytesBytes] that is a
// [codec.RangeDecoder]. The defaults are "zstd", level 5, and automatic blocks. There is
// no default for typesize, which is required unless shuffle is "noshuffle".
func New(raw []byte) (any, error) {
	c := configuration{Element: -1, Compressor: "zstd", Level: 5, Shuffle: "noshuffle"}
	if err := codec.DecodeConfiguration(raw, &c); err != nil {
		return nil, fmt.Errorf("%w: blosc: %w", codec.ErrConfiguration, err)
	}
	if c.Shuffle != "noshuffle" && c.Element == 0 {
		made, err := c.coder()
		if err != nil {
			return nil, err
		}
		return &unsized{made.(coder), c}, nil
	}
	if c.Shuffle != "noshuffle" && !bytes.Contains(raw, []byte(`"typesize"`)) {
		return nil, invalid("typesize is missing: shuffling needs the bytes of an element, such as 4 for float32")
	}
	if c.Shuffle != "noshuffle" && c.Element < 1 {
		return nil, invalid("typesize %d: shuffling needs the bytes of an element, at least 1", c.Element)
	}
	return c.coder()
}

// unsized is a coder with the typesize 0, which the library of Blosc and format 2 take
// for the size of the data type. Frames have the size that they were made with, so only
// encoding needs it.
type unsized struct {
	coder
	configuration configuration
}

// Bind implements [codec.Binder].
func (u *unsized) Bind(spec codec.Spec) error {
	if size := spec.Type.Size(); size >= 1 && size <= maxElement {
		u.element = size
	}
	return nil
}

// Repaired returns the codec with the size that 0 stands for.
func (u *unsized) Repaired() (metadata.Extension, []coding.Repair) {
	c := u.configuration
	return codec.Blosc(codec.BloscOptions{Compressor: c.Compressor, Level: int(c.Level), Shuffle: c.Shuffle, Element: u.element, Block: int(c.Block)}), []coding.Repair{{
		Note:   fmt.Sprintf("the typesize of blosc is 0, which was read as the size of the data type, %d", u.element),
		Strict: invalid("typesize 0: shuffling needs the bytes of an element, at least 1"),
	}}
}

var filters = map[string]filter{"noshuffle": noFilter, "shuffle": byBytes, "bitshuffle": byBits}

// coder returns the codec of the configuration. It does not check typesize.
func (c configuration) coder() (any, error) {
	kind, ok := compressorNames[c.Compressor]
	if !ok {
		return nil, invalid("cname %q is none of blosclz, lz4, lz4hc, snappy, zlib and zstd", c.Compressor)
	}
	filter, ok := filters[c.Shuffle]
	if !ok {
		return nil, invalid("shuffle %q is none of noshuffle, shuffle and bitshuffle", c.Shuffle)
	}
	if c.Level < 0 || c.Level > 9 {
		return nil, invalid("clevel %d is not within 0 to 9", c.Level)
	}
	if c.Block < 0 {
		return nil, invalid("blocksize %d is negative", c.Block)
	}
	element := c.Element
	if element < 1 || element > maxElement {
		element = 1 // as c-blosc does; without shuffling it hardly matters
	}
	return coder{kind, int(c.Level), filter, int(element), int(min(c.Block, maxBlock))}, nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: blosc: %s", codec.ErrConfiguration, fmt.Sprintf(format, args...))
}

// coder writes frames of one kind and reads frames of all kinds.
type coder struct {
	kind    compressorKind
	level   int
	filter  filter
	element int // bytes, 1 to 255
	forced  int // bytes of a block, or 0
}

// MaxEncoded implements [codec.BytesBytes]. c-blosc and this package store content as a
// copy if it does not shrink. The rest allows for writers that do not.
func (coder) MaxEncoded(n int64) int64 {
	const table = 1 << 10
	return min(n, math.MaxInt64/2) + min(n, math.MaxInt64/2)/64 + table
}
