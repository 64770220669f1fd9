// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zlib"
	"github.com/pierrec/lz4/v4"
	"varve.dev/zarr/codec"
	_ "varve.dev/zarr/internal/codecs/blosc" // registers the codec that newBlosc makes
	"varve.dev/zarr/internal/codecs/gzipcodec"
	"varve.dev/zarr/internal/codecs/zstd"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/metadata"
)

func init() {
	register("zlib", newZlib, "zlib", "https://codec.zarrs.dev/bytes_to_bytes/zlib")
}

// Zlib returns the metadata of numcodecs.zlib, which stores a zlib stream (RFC 1950). The
// level is from 0, which does not compress, to 9, which compresses best and slowest; -1
// means 6.
func Zlib(level int) metadata.Extension { return extension("zlib", `{"level":%d}`, level) }

func newZlib(configuration []byte) (any, error) {
	level, err := deflateLevel("zlib", configuration)
	if err != nil {
		return nil, err
	}
	return zlibCoder{efforts[level]}, nil
}

// Deflate returns the codec of [Zlib] for a level from 0 to 9, for programs that write
// other formats than Zarr.
func Deflate(level int) codec.BytesBytes { return zlibCoder{efforts[level]} }

// efforts maps levels to those of the library, as package gzipcodec does.
var efforts = [10]int{0, 6, 6, 7, 7, 7, 7, 7, 8, 9}

type zlibCoder struct{ effort int }

// MaxEncoded implements [codec.BytesBytes]. The worst choice of a simple writer is fixed
// codes, which take nine bits for each byte.
func (zlibCoder) MaxEncoded(n int64) int64 {
	const header = 1 << 10
	return min(n, math.MaxInt64/2) + min(n, math.MaxInt64/2)/8 + header
}

// All arrays share pools of compressors, which take up to 1 MiB each, and decompressors,
// which take 40 KiB.
var (
	zlibWriters [10]sync.Pool // of *zlibWriter, by effort
	zlibReaders sync.Pool     // of *zlibReader
)

// zlibWriter is a compressor and the slice that it appends to.
type zlibWriter struct {
	z   *zlib.Writer
	out []byte
}

// Write implements [io.Writer].
func (w *zlibWriter) Write(p []byte) (int, error) {
	w.out = append(w.out, p...)
	return len(p), nil
}

// Guarded implements [codec.Guarded].
func (zlibCoder) Guarded() bool { return true }

// Encode implements [codec.BytesBytes].
func (c zlibCoder) Encode(dst, src []byte) ([]byte, error) {
	w, ok := zlibWriters[c.effort].Get().(*zlibWriter)
	if !ok {
		w = new(zlibWriter)
		var err error
		if w.z, err = zlib.NewWriterLevel(w, c.effort); err != nil {
			return dst, fmt.Errorf("zlib: %w", err)
		}
	}
	// Append to the buffer of the caller, without a copy.
	w.out = dst
	w.z.Reset(w)
	_, err := w.z.Write(src)
	if err == nil {
		err = w.z.Close()
	}
	out := w.out
	// The pool must not keep the buffer of the caller.
	w.out = nil
	zlibWriters[c.effort].Put(w)
	if err != nil {
		return dst, fmt.Errorf("zlib: %w", err)
	}
	return out, nil
}

// zlibReader is a decompressor and the slice that it reads.
type zlibReader struct {
	z   io.ReadCloser
	src bytes.Reader
}

// Decode implements [codec.BytesBytes].
func (zlibCoder) Decode(dst, src []byte, most int64) ([]byte, error) {
	r, ok := zlibReaders.Get().(*zlibReader)
	if !ok {
		r = new(zlibReader)
	}
	r.src.Reset(src)
	out, err := r.appendTo(dst, int(most))
	// The library stops reading at the end of the stream.
	if err == nil && r.src.Len() > 0 {
		err = fmt.Errorf("%s the end", quantity.Count(r.src.Len(), "bytes follow"))
	}
	// The pool must not keep the bytes of the caller.
	r.src.Reset(nil)
	zlibReaders.Put(r)
	switch {
	case errors.Is(err, zlib.ErrChecksum):
		return dst, fmt.Errorf("%w: zlib: Adler-32 of the stream", codec.ErrChecksum)
	case errors.Is(err, codec.ErrTooLong):
		return dst, fmt.Errorf("zlib: %w", err)
	case err != nil:
		return dst, fmt.Errorf("%w: zlib: %w", codec.ErrCorrupt, err)
	}
	return out, nil
}

// appendTo appends the decoded source, at most most bytes.
func (r *zlibReader) appendTo(dst []byte, most int) ([]byte, error) {
	if err := r.reset(); err != nil {
		return dst, err
	}
	return codec.ReadAll(slices.Grow(dst, most), r.z, most)
}

// reset begins with another source.
func (r *zlibReader) reset() (err error) {
	if r.z == nil {
		r.z, err = zlib.NewReader(&r.src)
	} else {
		err = r.z.(zlib.Resetter).Reset(&r.src, nil)
	}
	// An empty source is a stream that was cut off.
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func init() { register("gzip", newGZip) }

// GZip returns the metadata of numcodecs.gzip, which is the codec "gzip" with the levels
// of [Zlib].
func GZip(level int) metadata.Extension { return extension("gzip", `{"level":%d}`, level) }

func newGZip(configuration []byte) (any, error) {
	level, err := deflateLevel("gzip", configuration)
	if err != nil {
		return nil, err
	}
	return gzipcodec.New(codec.Gzip(level).Configuration)
}

// deflateLevel returns a level from 0 to 9. Level -1 means 6, as in zlib. The default is
// 1, as in numcodecs.
func deflateLevel(id string, configuration []byte) (int, error) {
	c := struct {
		Level codec.Int `json:"level"`
	}{1}
	if err := decode(id, configuration, &c); err != nil {
		return 0, err
	}
	if c.Level < -1 || c.Level > 9 {
		return 0, fmt.Errorf("%w: %s: level %d is not within -1 to 9", codec.ErrConfiguration, id, c.Level)
	}
	if c.Level == -1 {
		c.Level = 6
	}
	return int(c.Level), nil
}

func init() { register("zstd", newZstd) }

// Zstd returns the metadata of numcodecs.zstd, which is the codec of package zstd.
func Zstd(level int, checksum bool) metadata.Extension {
	return extension("zstd", `{"level":%d,"checksum":%t}`, level, checksum)
}

// newZstd clamps levels above the highest one, as numcodecs does.
func newZstd(configuration []byte) (any, error) {
	const last = 22
	var c struct {
		Level    codec.Int `json:"level"`
		Checksum bool      `json:"checksum"`
	}
	if err := decode("zstd", configuration, &c); err != nil {
		return nil, err
	}
	// As in the C library, higher levels mean the last one.
	return zstd.New(codec.ZstdChecksum(int(min(c.Level, last)), c.Checksum).Configuration)
}

func init() { register("blosc", newBlosc) }

// Blosc returns the metadata of numcodecs.blosc, which is the codec "blosc" with the
// element size of the data type. The shuffle is 0 for none, 1 for bytes, 2 for bits, and
// -1 for bits if elements have one byte and for bytes otherwise. For a blocksize of 0,
// the codec chooses one.
func Blosc(cname string, clevel, shuffle, blocksize int) metadata.Extension {
	return extension("blosc", `{"cname":%q,"clevel":%d,"shuffle":%d,"blocksize":%d}`, cname, clevel, shuffle, blocksize)
}

// newBlosc makes numcodecs.blosc. The codec "blosc" checks most members.
func newBlosc(configuration []byte) (any, error) {
	b := &blosc{CName: "lz4", Level: 5, Shuffle: 1}
	if err := decode("blosc", configuration, b, "typesize"); err != nil {
		return nil, err
	}
	if b.Shuffle < -1 || b.Shuffle > 2 {
		return nil, fmt.Errorf("%w: blosc: shuffle %d is not within -1 to 2", codec.ErrConfiguration, b.Shuffle)
	}
	if b.Size < 0 || b.Size > 255 {
		return nil, fmt.Errorf("%w: blosc: typesize %d is not within 1 to 255", codec.ErrConfiguration, b.Size)
	}
	return b, b.make()
}

// blosc is the codec "blosc" of format 2. Bind sets the size of its elements.
type blosc struct {
	CName     string    `json:"cname"`
	Level     codec.Int `json:"clevel"`
	Shuffle   codec.Int `json:"shuffle"`
	BlockSize codec.Int `json:"blocksize"`
	Size      codec.Int `json:"typesize"`
	codec.BytesBytes
}

// make makes the codec "blosc". The default element size is 1.
func (b *blosc) make() error {
	size, names := max(1, b.Size), [...]string{"noshuffle", "shuffle", "bitshuffle"}
	kind := b.Shuffle
	if kind == -1 {
		// Shuffling the bytes of one-byte elements would change nothing.
		if kind = 1; size == 1 {
			kind = 2
		}
	}
	c, err := codec.Default.New(metadata.Extension{Name: "blosc", Configuration: fmt.Appendf(nil,
		`{"cname":%q,"clevel":%d,"shuffle":%q,"typesize":%d,"blocksize":%d}`, b.CName, b.Level, names[kind], size, b.BlockSize)})
	if err != nil {
		return err
	}
	made, ok := c.(codec.BytesBytes)
	if !ok {
		return fmt.Errorf("%w: the codec \"blosc\" is a %T", codec.ErrUnsupported, c)
	}
	b.BytesBytes = made
	return nil
}

// Bind implements [codec.Binder]. The size of elements affects encoding only. To decode,
// a frame is enough.
func (b *blosc) Bind(spec codec.Spec) error {
	// A typesize in the configuration takes precedence. A frame has one byte for the
	// size.
	if b.Size != 0 || spec.Type.Size() == 0 || spec.Type.Size() > 255 {
		return nil
	}
	b.Size = codec.Int(spec.Type.Size())
	return b.make()
}

func init() { register("lz4", newLZ4) }

// LZ4 returns the metadata of numcodecs.lz4. It stores the number of bytes as 32 bits in
// little-endian order, and an LZ4 block. A higher acceleration is faster and compresses
// less; less than 1 means 1.
func LZ4(acceleration int) metadata.Extension {
	return extension("lz4", `{"acceleration":%d}`, acceleration)
}

const (
	lz4Header = 4          // bytes of the size
	lz4Most   = 0x7E000000 // bytes of a block, at most
	lz4Times  = 255        // decoded bytes for each byte of a block, at most
)

func newLZ4(configuration []byte) (any, error) {
	c := struct {
		Acceleration codec.Int `json:"acceleration"`
	}{1}
	if err := decode("lz4", configuration, &c); err != nil {
		return nil, err
	}
	if c.Acceleration > math.MaxInt32 {
		return nil, fmt.Errorf("%w: lz4: acceleration %d does not fit 32 bits", codec.ErrConfiguration, c.Acceleration)
	}
	return lz4Coder{int(max(1, c.Acceleration))}, nil
}

type lz4Coder struct{ acceleration int }

// MaxEncoded implements [codec.BytesBytes]. A literal takes a byte, and 255 of them one
// more.
func (lz4Coder) MaxEncoded(n int64) int64 {
	const ends = 64
	n = min(n, math.MaxInt64/2)
	return lz4Header + n + n/255 + ends
}

// compressors have tables of 16 KiB each. Their output equals that of the C library.
var compressors = sync.Pool{New: func() any { return new(lz4.CompressorCCompat) }}

// Encode implements [codec.BytesBytes].
func (c lz4Coder) Encode(dst, src []byte) ([]byte, error) {
	if len(src) > lz4Most {
		return dst, fmt.Errorf("%w: lz4: %s, one block has at most %d; use shorter chunks", codec.ErrUnsupported, quantity.Count(len(src), "bytes"), lz4Most)
	}
	n := len(dst)
	bound := lz4.CompressBlockBound(len(src))
	dst = slices.Grow(dst, lz4Header+bound)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(src)))
	// The C library stores an empty source as one zero byte.
	if len(src) == 0 {
		return append(dst, 0), nil
	}
	z := compressors.Get().(*lz4.CompressorCCompat)
	defer compressors.Put(z)
	z.Acceleration = c.acceleration
	k, err := z.CompressBlock(src, dst[n+lz4Header:][:bound])
	if err != nil || k == 0 {
		return dst[:n], fmt.Errorf("lz4: %s not fit %d: %w", quantity.Count(len(src), "bytes do"), bound, err)
	}
	return dst[:n+lz4Header+k], nil
}

// Decode implements [codec.BytesBytes].
func (lz4Coder) Decode(dst, src []byte, most int64) ([]byte, error) {
	if len(src) <= lz4Header {
		return dst, fmt.Errorf("%w: lz4: %s too few for a size and a block", codec.ErrCorrupt, quantity.Count(len(src), "bytes are"))
	}
	size := int64(binary.LittleEndian.Uint32(src))
	src = src[lz4Header:]
	switch {
	case size/lz4Times > int64(len(src)): // check before the caller allocates them
		return dst, fmt.Errorf("%w: lz4: claims to have %s, which %d cannot be", codec.ErrCorrupt, quantity.Count(size, "bytes"), len(src))
	case size > most:
		return dst, fmt.Errorf("%w: lz4: claims to have %s, want at most %d", codec.ErrTooLong, quantity.Count(size, "bytes"), most)
	case size == 0:
		if len(src) != 1 || src[0] != 0 {
			return dst, fmt.Errorf("%w: lz4: %s nothing", codec.ErrCorrupt, quantity.Count(len(src), "bytes encode"))
		}
		return dst, nil
	}
	n := len(dst)
	dst = slices.Grow(dst, int(size))
	k, err := lz4.UncompressBlock(src, dst[n:n+int(size):n+int(size)])
	if err != nil || int64(k) != size {
		return dst[:n], fmt.Errorf("%w: lz4: the block does not have the %s that it claims (error: %v)", codec.ErrCorrupt, quantity.Count(size, "bytes"), err)
	}
	return dst[:n+k], nil
}

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
	// The limit protects against bombs: a file of a few bytes may decode to gigabytes.
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

func init() { register("lzma", newLZMA) }

// LZMA returns the metadata of numcodecs.lzma, which stores an .xz file. The preset, 0 to
// 9, is the effort; above 6 it takes much memory. Other containers and filters have the
// members of Python's module lzma. Reading and writing require an import of
// varve.dev/zarr/codec/extra.
func LZMA(preset int) metadata.Extension { return extension("lzma", `{"preset":%d}`, preset) }

var lzmaFactory atomic.Pointer[codec.Factory]

// ProvideLZMA sets the factory of numcodecs.lzma. It replaces an earlier one. f gets
// configurations whose preset and filters are not null.
func ProvideLZMA(f codec.Factory) { lzmaFactory.Store(&f) }

func newLZMA(configuration []byte) (any, error) {
	f := lzmaFactory.Load()
	if f == nil {
		return nil, fmt.Errorf("%w: %q needs a library that few programs use; import varve.dev/zarr/codec/extra", codec.ErrUnsupported, prefix+"lzma")
	}
	return (*f)(WithoutNulls(configuration, "preset", "filters"))
}
