// SPDX-License-Identifier: Apache-2.0

package blosc

import "sync"

// decompressors are pools that all arrays share.
var decompressors = [formats]sync.Pool{
	formatBloscLZ: {New: func() any { return blosclz{} }},
	formatLZ4:     {New: func() any { return lz4Streams{} }},
	formatSnappy:  {New: func() any { return snappyStreams{} }},
	formatZlib:    {New: func() any { return new(zlibReader) }},
	formatZstd:    {New: newZstdReader},
}

// compressorKind is one of the compressors.
type compressorKind uint8

const (
	kindBloscLZ compressorKind = iota
	kindLZ4
	kindLZ4HC
	kindSnappy
	kindZlib
	kindZstd
	kinds
)

var compressorNames = map[string]compressorKind{
	"blosclz": kindBloscLZ, "lz4": kindLZ4, "lz4hc": kindLZ4HC, "snappy": kindSnappy, "zlib": kindZlib, "zstd": kindZstd,
}

// format returns the format of the streams that the compressor makes.
func (k compressorKind) format() format {
	return [kinds]format{formatBloscLZ, formatLZ4, formatLZ4, formatSnappy, formatZlib, formatZstd}[k]
}

// large reports whether the compressor needs large blocks.
func (k compressorKind) large() bool { return k == kindLZ4HC || k == kindZlib || k == kindZstd }

// compressors has a pool for each kind and level, which all arrays share.
var compressors [kinds][10]sync.Pool

func init() {
	for level := range 10 {
		compressors[kindBloscLZ][level].New = func() any { return &bloscLZWriter{level: level} }
		compressors[kindLZ4][level].New = func() any { return newLZ4Writer(level) }
		compressors[kindLZ4HC][level].New = func() any { return newLZ4HCWriter(level) }
		compressors[kindSnappy][level].New = func() any { return snappyStreams{} }
		compressors[kindZlib][level].New = func() any { return newZlibWriter(level) }
		compressors[kindZstd][level].New = func() any { return newZstdWriter(level) }
	}
}

// pool returns the pool of compressors of a level.
func (k compressorKind) pool(level int) *sync.Pool { return &compressors[k][level] }
