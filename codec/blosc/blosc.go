// Package blosc is the codec that stores chunks as Blosc frames (zarr-specs v3, codec
// "blosc"; the chunk format of c-blosc 1). Importing the package registers it as "blosc".
//
// A chunk is cut into blocks, the bytes or bits of each block are shuffled, and the
// blocks compressed. The decoder reads whatever c-blosc 1.3 to 1.21 writes, which is
// version 2 of the format. The encoder cuts and splits blocks as c-blosc 1.21 does, and
// what it writes c-blosc reads; bytes may differ, because the compressors are other
// programs.
package blosc

import (
	"encoding/json"
	"fmt"
	"math"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/config"
	"varve.dev/zarr/metadata"
)

func init() { codec.Register("blosc", New) }

// Options are what a frame is written with. Reading needs none of them.
type Options struct {
	// Compressor is "blosclz", "lz4", "lz4hc", "snappy", "zlib" or "zstd". "" stands for
	// "zstd".
	Compressor string
	// Level goes from 1, the fastest, to 9, the smallest; 0 stores chunks as they are.
	Level int
	// Shuffle is "noshuffle", "shuffle" or "bitshuffle". "" and "auto" stand for
	// "bitshuffle" where Element is 1, else "shuffle".
	Shuffle string
	// Element is how many bytes an element has, at least one. Shuffling does nothing for
	// more than 255.
	Element int
	// Block is how many bytes a block has; 0 lets the level and the compressor decide.
	Block int
}

// Extension returns the metadata of the codec, which state everything. [New] refuses
// options that are not valid.
func Extension(o Options) metadata.Extension {
	var c configuration
	c.Compressor, c.Level, c.Block = o.Compressor, config.Int(o.Level), config.Int(o.Block)
	if c.Compressor == "" {
		c.Compressor = "zstd"
	}
	c.Shuffle, c.Element = o.Shuffle, config.Int(o.Element)
	if c.Shuffle == "" || c.Shuffle == "auto" {
		c.Shuffle = automatic(c.Element)
	}
	raw, err := json.Marshal(c)
	if err != nil {
		panic(err) // numbers and strings
	}
	return metadata.Extension{Name: "blosc", Configuration: raw}
}

// configuration has the members of the specification.
type configuration struct {
	Element    config.Int `json:"typesize"`
	Compressor string     `json:"cname"`
	Level      config.Int `json:"clevel"`
	Shuffle    string     `json:"shuffle"`
	Block      config.Int `json:"blocksize"`
}

// New is the [codec.Factory] of the codec. It returns a [codec.BytesBytes] that is a
// [codec.RangeDecoder], too. A member that is missing is "zstd", level 5, automatic
// blocks; typesize has to be there where something is shuffled.
func New(raw []byte) (any, error) {
	c := configuration{Compressor: "zstd", Level: 5, Shuffle: "noshuffle"}
	if err := config.Decode(raw, &c); err != nil {
		return nil, fmt.Errorf("%w: blosc: %w", codec.ErrConfiguration, err)
	}
	if c.Shuffle != "noshuffle" && c.Element < 1 {
		return nil, invalid("typesize %d: shuffling needs the bytes of an element, at least 1", c.Element)
	}
	return c.coder()
}

// automatic returns how elements of that many bytes are best shuffled.
func automatic(element config.Int) string {
	if element == 1 {
		return "bitshuffle"
	}
	return "shuffle"
}

var filters = map[string]filter{"noshuffle": noFilter, "shuffle": byBytes, "bitshuffle": byBits}

// coder checks the configuration, but for the bytes of an element.
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

// coder writes frames of one kind and reads all.
type coder struct {
	kind    compressorKind
	level   int
	filter  filter
	element int // bytes, 1 to 255
	forced  int // bytes of a block, or 0
}

// MaxEncoded implements [codec.BytesBytes]. c-blosc and this package copy what would take
// more than the header besides; the rest allows for writers that do not.
func (coder) MaxEncoded(n int64) int64 {
	const table = 1 << 10
	return min(n, math.MaxInt64/2) + min(n, math.MaxInt64/2)/64 + table
}
