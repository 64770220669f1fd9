// SPDX-License-Identifier: Apache-2.0

package blosc

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/shuffle"
)

// Encode implements [codec.BytesBytes]. It stores a copy if the content does not shrink.
// It returns [codec.ErrLimit] for more than 2^31-17 bytes, the most that a frame holds.
func (c coder) Encode(dst, src []byte) ([]byte, error) {
	if len(src) > maxContent {
		return dst, fmt.Errorf("%w: blosc: %s, a frame has at most %d; use smaller chunks", codec.ErrLimit, quantity.Count(len(src), "bytes"), maxContent)
	}
	dst = slices.Grow(dst, headerSize+len(src))
	frame := dst[len(dst) : len(dst)+headerSize+len(src)]
	block, split := c.blockFor(len(src))
	n := 0
	if c.level > 0 && len(src) >= minStream {
		n = c.pack(frame, src, block, split)
	}
	flags := c.flags(split)
	// Store a copy if the content does not shrink.
	if n == 0 {
		flags |= flagCopy
		n = headerSize + copy(frame[headerSize:], src)
	}
	frame[0], frame[1], frame[2], frame[3] = formatVersion, streamVersion, flags, byte(c.element)
	putNumber(frame[4:], len(src))
	putNumber(frame[8:], block)
	putNumber(frame[12:], n)
	return dst[:len(dst)+n], nil
}

// flags returns the flags of a frame whose blocks are split or not.
func (c coder) flags(split bool) byte {
	flags := byte(c.kind.format()) << formatShift
	switch c.filter {
	case byBytes:
		flags |= flagShuffle
	case byBits:
		flags |= flagBitshuffle
	}
	if !split {
		flags |= flagWhole
	}
	return flags
}

// compressor makes streams. One goroutine uses it at a time.
type compressor interface {
	// compress encodes src into dst. It returns the number of bytes, 0 if dst is too
	// short.
	compress(dst, src []byte) int
}

// pack writes the table and the blocks of a frame. It returns the bytes of the frame, 0
// if dst is too short.
func (c coder) pack(frame, src []byte, block int, split bool) int {
	blocks := (len(src) + block - 1) / block
	at := headerSize + 4*blocks
	if at > len(frame) {
		return 0
	}
	pool := c.kind.pool(c.level)
	comp := pool.Get().(compressor)
	defer pool.Put(comp)
	var filtered *budget.Buffer
	if c.filter != noFilter {
		filtered = budget.Get(int64(block))
		defer filtered.Put()
	}
	for i := range blocks {
		putNumber(frame[headerSize+4*i:], at)
		b := src[i*block : min((i+1)*block, len(src))]
		streams := 1
		// A last block that is shorter is not split.
		if split && len(b) == block {
			streams = c.element
		}
		if at = packBlock(frame, at, c.filtered(filtered, b), streams, comp); at == 0 {
			return 0
		}
	}
	return at
}

// filtered returns the shuffled bytes of a block, in buf.
func (c coder) filtered(buf *budget.Buffer, b []byte) []byte {
	switch c.filter {
	case byBytes:
		out := buf.Bytes(int64(len(b)))
		shuffle.Shuffle(out, b, c.element)
		return out
	case byBits:
		out := buf.Bytes(int64(len(b)))
		shuffle.Bitshuffle(out, b, c.element)
		return out
	}
	return b
}

// packBlock writes a block at byte at of the frame. It returns where the block ends, 0 if
// dst is too short.
func packBlock(frame []byte, at int, b []byte, streams int, c compressor) int {
	n := len(b) / streams
	for j := range streams {
		src := b[j*n : (j+1)*n]
		room := len(frame) - at - 4
		if room <= 0 {
			return 0
		}
		length := c.compress(frame[at+4:at+4+min(room, n)], src)
		// Store the content if it does not shrink.
		if length == 0 || length >= n {
			if room < n {
				return 0
			}
			length = copy(frame[at+4:], src)
		}
		putNumber(frame[at:], length)
		at += 4 + length
	}
	return at
}

func putNumber(b []byte, n int) { binary.LittleEndian.PutUint32(b, uint32(n)) }

// Every frame says how it is shuffled, so each chunk can be shuffled in its own way. The
// best one depends on the data: shuffling helps numbers that change a little, and harms
// values that repeat, such as codes, or zeros between other values.

const (
	mostSampled  = 64 << 10 // bytes of a sample, at most
	sampleShare  = 4        // a sample has at most this part of the content
	samplePieces = 4        // it has pieces from everywhere, as parts of a chunk may differ
	leastPiece   = 1 << 10  // bytes of a piece, at least
	sampleLevel  = 3        // faster, and as good a judge as higher ones
	leastSaved   = 32       // the configured shuffle stays unless another one saves this part
)

// EncodeAdapted implements [coding.Adapter]: it encodes with the shuffle that makes a
// sample of src the smallest. The configured one stays if src is short, or if no other
// saves at least a thirty-second.
func (c coder) EncodeAdapted(dst, src []byte) ([]byte, error) {
	n := min(mostSampled, len(src)/sampleShare)
	if c.level == 0 || n < samplePieces*max(leastPiece, c.element) {
		return c.Encode(dst, src)
	}
	sample := budget.Get(int64(n))
	defer sample.Put()
	sample.B = c.appendSample(sample.B, src, n)
	best, err := c.bestFilter(sample.B)
	if err != nil {
		return dst, err
	}
	c.filter = best
	return c.Encode(dst, src)
}

// appendSample appends pieces of src to dst, together at most n bytes. They are whole
// elements at equal distances, the first and the last of src among them.
func (c coder) appendSample(dst, src []byte, n int) []byte {
	piece := n / samplePieces / c.element * c.element
	for i := range samplePieces {
		at := (len(src) - piece) / c.element * i / (samplePieces - 1) * c.element
		dst = append(dst, src[at:at+piece]...)
	}
	return dst
}

// bestFilter returns the filter for data like the sample.
func (c coder) bestFilter(sample []byte) (filter, error) {
	frame := budget.Get(int64(headerSize + len(sample)))
	defer frame.Put()
	c.level = min(c.level, sampleLevel)
	out, err := c.Encode(frame.B, sample)
	configured := c.filter
	best, least := configured, len(out)-len(out)/leastSaved
	// The order is fixed, so that equal data are always encoded equally.
	for _, c.filter = range [...]filter{byBytes, noFilter, byBits} {
		if err != nil || c.filter == configured {
			continue
		}
		if out, err = c.Encode(frame.B, sample); len(out) < least {
			best, least = c.filter, len(out)
		}
	}
	return best, err
}

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

const (
	cache         = 32 << 10  // an L1 cache: the unit of block sizes
	smallestSplit = 64 << 10  // the smallest block that is split on purpose
	largestStream = 256 << 10 // of a block that is split
	largestSplit  = 1 << 20   // the largest block that is split on purpose
	maxBlock      = (math.MaxInt32 - 4*maxElement) / 3
)

// blockFactors has the size of a block by level, in caches.
var blockFactors = [10]float64{0.25, 0.5, 1, 2, 4, 4, 8, 8, 8, 8}

// blockFor returns the bytes of a block for a content of n bytes, and whether blocks are
// split. It decides as c-blosc 1.21 does in its forward-compatible mode, whose frames all
// versions since 1.3 can read.
func (c coder) blockFor(n int) (block int, split bool) {
	if n < c.element {
		return 1, false
	}
	block = n
	if c.forced > 0 {
		block = max(c.forced, minStream)
	} else if n >= cache {
		block = int(cache * blockFactors[c.level])
		if c.kind.large() {
			block *= 2
			if c.level == 9 {
				block *= 2
			}
		}
	}
	if c.level > 0 && c.splits(block) {
		block = min(block, largestStream) * c.element
		block = min(max(block, smallestSplit), largestSplit)
	}
	block = min(block, n)
	// Shuffling needs whole elements.
	if block > c.element {
		block = block / c.element * c.element
	}
	return block, c.splits(block)
}

// splits reports whether blocks of the given size in bytes are split.
func (c coder) splits(block int) bool { return c.kind != kindZstd && splits(c.element, block) }
