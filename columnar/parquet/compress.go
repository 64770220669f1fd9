// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"varve.dev/zarr/columnar"
)

// Compression is how the pages of a file are compressed.
type Compression uint8

// The compressions that are written. Gzip and raw LZ4 are read besides.
const (
	Zstandard Compression = iota
	Snappy
	None
)

// Numbers of compressions in files.
const (
	codecNone   = 0
	codecSnappy = 1
	codecGzip   = 2
	codecZstd   = 6
	codecLZ4    = 7
)

var codecs = [...]string{"no compression", "Snappy", "gzip", "LZO", "Brotli", "LZ4 with Hadoop's frames", "Zstandard", "LZ4"}

// codecName returns the name of a compression.
func codecName(codec int64) string {
	if codec < 0 || codec >= int64(len(codecs)) {
		return fmt.Sprintf("compression %d", codec)
	}
	return codecs[codec]
}

func corruptf(format string, a ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{columnar.ErrCorrupt}, a...)...)
}

func unsupportedf(format string, a ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{columnar.ErrUnsupported}, a...)...)
}

// budget is the memory that may still be taken, in bytes.
type budget struct {
	left   atomic.Int64
	unread atomic.Int64 // bytes of pages that may still be decompressed
	all    int64
	remedy string // after the limit in an error
}

func newBudget(n int64, remedy string) *budget {
	b := &budget{all: n, remedy: remedy}
	b.left.Store(n)
	b.unread.Store(4 * n)
	return b
}

// reserve takes memory. It returns an error at the limit.
func (b *budget) reserve(n int64) error {
	if n < 0 || b.left.Add(-n) < 0 {
		return unsupportedf("it needs more memory than %d bytes%s", b.all, b.remedy)
	}
	return nil
}

// spend counts the bytes of pages, which mostly are fewer than those of their columns. It
// bounds the time for small pages that become large ones.
func (b *budget) spend(n int64) error {
	if b.unread.Add(-n) < 0 {
		return b.reserve(-1)
	}
	return nil
}

func (b *budget) release(n int64) { b.left.Add(n) }

// inflate decompresses a page of n bytes. It refuses pages whose compression cannot make
// so many bytes of so few, before it takes memory for them.
func inflate(codec int64, src []byte, n int, b *budget) ([]byte, error) {
	if len(src) == 0 && n == 0 { // some writers have nothing for nothing
		return nil, nil
	}
	var err error
	switch most := mostInflated(codec, src); {
	case most < 0:
		return nil, unsupportedf("%s; Zstandard, Snappy, gzip and LZ4 can be read", codecName(codec))
	case int64(n) > most:
		err = errSize
	case codec == codecNone:
		if n == len(src) {
			return src, nil
		}
		err = errSize
	default:
		if err := b.reserve(int64(n)); err != nil {
			return nil, err
		}
	}
	var page []byte
	if err == nil {
		switch codec {
		case codecZstd:
			page, err = inflateZstd(src, n)
		case codecSnappy:
			page, err = s2.Decode(make([]byte, n), src)
		case codecGzip:
			page, err = inflateGzip(src, n)
		case codecLZ4:
			page = make([]byte, n)
			var k int
			k, err = lz4.UncompressBlock(src, page)
			page = page[:max(k, 0)]
		}
	}
	if err == nil && len(page) != n {
		err = errSize
	}
	if err != nil {
		return nil, corruptf("a page of %d bytes (%s): %v", n, codecName(codec), err)
	}
	return page, nil
}

var errSize = errors.New("it has another size")

// mostInflated returns how many bytes a page may have, and -1 for compressions that are
// not read.
func mostInflated(codec int64, src []byte) int64 {
	n := int64(len(src))
	switch codec {
	case codecNone:
		return n
	case codecZstd:
		const mostBlock, leastBlock = 128 << 10, 3 // a run of one byte takes four, with its head
		return (n/leastBlock + 1) * mostBlock
	case codecSnappy: // which begins with the size; a copy of 64 bytes takes three
		if size, err := s2.DecodedLen(src); err != nil || int64(size) > 22*n {
			return 0
		}
		return 22 * n
	case codecGzip: // 258 bytes take two bits
		return 1032 * n
	case codecLZ4: // each byte of a length stands for 255
		return 255*n + 16
	}
	return -1
}

var zstdDecoders sync.Pool // of *zstd.Decoder

func inflateZstd(src []byte, n int) ([]byte, error) {
	d, ok := zstdDecoders.Get().(*zstd.Decoder)
	if !ok {
		var err error
		d, err = zstd.NewReader(nil,
			zstd.WithDecoderConcurrency(1),
			zstd.WithDecodeAllCapLimit(true),         // the page bounds the decoder
			zstd.WithDecoderMaxWindow(math.MaxInt32), // a window takes no memory: the page is the history
		)
		if err != nil {
			return nil, err
		}
	}
	defer zstdDecoders.Put(d)
	return d.DecodeAll(src, make([]byte, 0, n))
}

func inflateGzip(src []byte, n int) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(src))
	if err != nil {
		return nil, err
	}
	page := make([]byte, n)
	if _, err := io.ReadFull(r, page); err != nil {
		return nil, err
	}
	if k, err := r.Read(make([]byte, 1)); k != 0 || err != io.EOF {
		return nil, errSize
	}
	return page, nil
}

// deflater compresses pages. It may be used by many at once.
type deflater struct {
	codec int64
	zstd  *zstd.Encoder
}

func newDeflater(o Options) (*deflater, error) {
	switch o.Compression {
	case Snappy:
		return &deflater{codec: codecSnappy}, nil
	case None:
		return &deflater{codec: codecNone}, nil
	case Zstandard:
	default:
		return nil, unsupportedf("compression %d", o.Compression)
	}
	level := o.Level
	if level == 0 {
		level = defaultLevel
	}
	if e, ok := zstdEncoders.Load(level); ok {
		return &deflater{codecZstd, e.(*zstd.Encoder)}, nil
	}
	e, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)),
		zstd.WithEncoderCRC(false), // a page has a checksum of its own
		zstd.WithZeroFrames(true),
		zstd.WithWindowSize(pageBytes),
		// Numbers have zeros in their upper bytes, and mostly nothing else that repeats.
		zstd.WithAllLitEntropyCompression(true),
	)
	if err == nil {
		zstdEncoders.Store(level, e)
	}
	return &deflater{codecZstd, e}, err
}

// zstdEncoders has an encoder for each level, because encoders take much memory.
var zstdEncoders sync.Map // of *zstd.Encoder

// deflate appends the compressed page.
func (d *deflater) deflate(dst, page []byte) []byte {
	switch d.codec {
	case codecZstd:
		return d.zstd.EncodeAll(page, dst)
	case codecSnappy:
		n := s2.MaxEncodedLen(len(page))
		buffer := make([]byte, n)
		return append(dst, s2.EncodeSnappy(buffer, page)...)
	}
	return append(dst, page...)
}
