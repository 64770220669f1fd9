// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
)

// The functions in this file return the name and configuration of a codec as metadata
// documents have them. Creating or opening an array checks them, so a wrong level or
// order is an error there.

// Bytes specifies the codec "bytes", which stores elements as they are in memory. The
// byte order is "little", "big", or "" for data types of single bytes, which have none.
func Bytes(endian string) metadata.Extension {
	e := metadata.Extension{Name: "bytes"}
	if endian != "" {
		e.Configuration = fmt.Appendf(nil, `{"endian":%q}`, endian)
	}
	return e
}

// VariableLength specifies the codec of a data type whose elements differ in length:
// "vlen-utf8" or "vlen-bytes".
func VariableLength(t dtype.Type) metadata.Extension {
	if t.Kind() == dtype.KindString {
		return metadata.Extension{Name: "vlen-utf8"}
	}
	return metadata.Extension{Name: "vlen-bytes"}
}

// Transpose specifies the codec "transpose": axis i of the stored chunk is axis order[i]
// of the array. The order is a permutation of 0, 1, ... len(order)-1.
func Transpose(order ...int) metadata.Extension {
	list, _ := json.Marshal(append([]int{}, order...)) // integers always have a JSON form
	return metadata.Extension{Name: "transpose", Configuration: fmt.Appendf(nil, `{"order":%s}`, list)}
}

// Gzip specifies the codec "gzip". The level is from 0, which does not compress, to 9,
// which compresses best and slowest.
func Gzip(level int) metadata.Extension {
	return metadata.Extension{Name: "gzip", Configuration: fmt.Appendf(nil, `{"level":%d}`, level)}
}

// Zstd specifies the codec "zstd". The level is from -131072, the fastest, to 22, the
// smallest; 0 means 3. The library has four efforts: for levels up to 2, 3 to 5, 6 to 9,
// and above. New arrays of format 3 have checksums then, those of format 2 have not; see
// [ZstdChecksum].
func Zstd(level int) metadata.Extension {
	return metadata.Extension{Name: "zstd", Configuration: fmt.Appendf(nil, `{"level":%d}`, level)}
}

// ZstdChecksum is [Zstd], with or without a checksum. A checksum of 4 bytes at the end of
// a chunk lets decoding detect any damage that changes its content.
func ZstdChecksum(level int, checksum bool) metadata.Extension {
	return metadata.Extension{Name: "zstd", Configuration: fmt.Appendf(nil, `{"level":%d,"checksum":%t}`, level, checksum)}
}

// CRC32C specifies the codec "crc32c", which adds a checksum of 4 bytes.
func CRC32C() metadata.Extension { return metadata.Extension{Name: "crc32c"} }

// BloscOptions say how [Blosc] writes. Reading does not need them.
type BloscOptions struct {
	// Compressor is "blosclz", "lz4", "lz4hc", "snappy", "zlib" or "zstd". "" means
	// "zstd".
	Compressor string
	// Level is from 1, the fastest, to 9, which compresses best; 0 does not compress.
	Level int
	// Shuffle is "noshuffle", "shuffle" or "bitshuffle". "" and "auto" mean "bitshuffle"
	// if Element is 1, else "shuffle".
	Shuffle string
	// Element is the size of an element in bytes, at least 1. Elements of more than 255
	// bytes are not shuffled.
	Element int
	// Block is the size of a block in bytes; 0 chooses by the level and the compressor.
	Block int
}

// Blosc specifies the codec "blosc", with all options.
func Blosc(o BloscOptions) metadata.Extension {
	if o.Compressor == "" {
		o.Compressor = "zstd"
	}
	if o.Shuffle == "" || o.Shuffle == "auto" {
		o.Shuffle = "shuffle"
		if o.Element == 1 {
			o.Shuffle = "bitshuffle"
		}
	}
	return metadata.Extension{Name: "blosc", Configuration: fmt.Appendf(nil,
		`{"typesize":%d,"cname":%q,"clevel":%d,"shuffle":%q,"blocksize":%d}`, o.Element, o.Compressor, o.Level, o.Shuffle, o.Block)}
}

// Sharding is the configuration of [Shards].
type Sharding struct {
	// Inner has the cuts of a shard into inner chunks, one for each axis. A cut has one
	// edge ([grid.Every]) or several, which [Environment] must permit.
	Inner []grid.Cut
	// Codecs is the chain of the inner chunks.
	Codecs []metadata.Extension
	// IndexCodecs is the chain of the index. Nil means little-endian "bytes" and
	// "crc32c", which every reader supports.
	IndexCodecs []metadata.Extension
	// AtStart stores the index before the inner chunks instead of after them.
	AtStart bool
}

// Shards specifies the codec "sharding_indexed", which divides a chunk into inner chunks
// that are read one by one. Errors wrap [ErrConfiguration].
func Shards(s Sharding) (metadata.Extension, error) {
	zero := make([]int64, len(s.Inner)) // lists of edges imply the extent of a shard
	g, err := grid.New(zero, s.Inner...)
	if err != nil {
		return metadata.Extension{}, fmt.Errorf("%w: inner chunks: %w", ErrConfiguration, err)
	}
	raw, err := appendInner([]byte{'{'}, g)
	if err != nil {
		return metadata.Extension{}, fmt.Errorf("%w: %w", ErrConfiguration, err)
	}
	index := s.IndexCodecs
	if index == nil {
		index = []metadata.Extension{Bytes("little"), CRC32C()}
	}
	raw = appendCodecs(append(raw, `,"codecs":`...), s.Codecs)
	raw = appendCodecs(append(raw, `,"index_codecs":`...), index)
	location := "end"
	if s.AtStart {
		location = "start"
	}
	raw = strconv.AppendQuote(append(raw, `,"index_location":`...), location)
	return metadata.Extension{Name: "sharding_indexed", Configuration: append(raw, '}')}, nil
}

// appendInner appends the member for the shape or the edges of inner chunks.
func appendInner(dst []byte, g *grid.Grid) ([]byte, error) {
	if g.Name() == "regular" {
		dst = append(dst, `"chunk_shape":[`...)
		for i := range g.Rank() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = strconv.AppendInt(dst, g.Axis(i).Step(), 10)
		}
		return append(dst, ']'), nil
	}
	for i := range g.Rank() {
		if g.Axis(i).IsRegular() {
			return nil, errors.New("inner chunks must have one length along all axes or along none; list the lengths in a shard instead")
		}
	}
	dst = append(append(dst, `"chunk_grid":{"name":"`...), g.Name()...)
	dst = g.AppendListed(append(dst, `","configuration":`...))
	return append(dst, '}'), nil
}

func appendCodecs(dst []byte, list []metadata.Extension) []byte {
	dst = append(dst, '[')
	for i, e := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = e.Append(dst)
	}
	return append(dst, ']')
}

// BitRound specifies the codec "bitround", which keeps the first keepbits bits, at least
// one, of the fraction of numbers, so that they compress better.
func BitRound(keepbits int) metadata.Extension {
	return metadata.Extension{Name: "bitround", Configuration: fmt.Appendf(nil, `{"keepbits":%d}`, keepbits)}
}

// CastPair maps one value to another, both as the JSON of fill values.
type CastPair [2]json.RawMessage

// CastOptions are the optional parts of [CastValue]. A nil *CastOptions is the zero
// CastOptions.
type CastOptions struct {
	// Rounding is how a value is rounded that the other type does not have:
	// "nearest-even", which is the same as "", "towards-zero", "towards-positive",
	// "towards-negative" or "nearest-away".
	Rounding string
	// OutOfRange is what becomes of a value out of range. "clamp" stores the nearest
	// value of the type, or an infinity if it has them. "wrap" stores it modulo 2^N, for
	// integers of N bits. By default it is an error.
	OutOfRange string
	Encode     []CastPair // from a value of the array to one that is stored
	Decode     []CastPair // from a stored value to one of the array
}

// CastValue specifies the codec "cast_value", which stores values as t.
func CastValue(t dtype.Type, o *CastOptions) metadata.Extension {
	if o == nil {
		o = new(CastOptions)
	}
	type scalarMap struct {
		Encode []CastPair `json:"encode,omitempty"`
		Decode []CastPair `json:"decode,omitempty"`
	}
	c := struct {
		DataType   string     `json:"data_type"`
		Rounding   string     `json:"rounding,omitempty"`
		OutOfRange string     `json:"out_of_range,omitempty"`
		ScalarMap  *scalarMap `json:"scalar_map,omitempty"`
	}{t.Name(), o.Rounding, o.OutOfRange, nil}
	if len(o.Encode)+len(o.Decode) > 0 {
		c.ScalarMap = &scalarMap{o.Encode, o.Decode}
	}
	text, _ := json.Marshal(c) // fails if a pair is not JSON; the codec then refuses the empty text
	return metadata.Extension{Name: "cast_value", Configuration: text}
}

// ScaleOffset specifies the codec "scale_offset". Offset and scale are fill values of the
// array's data type as JSON, or nil for none. The scale is not 0.
func ScaleOffset(offset, scale json.RawMessage) metadata.Extension {
	e := metadata.Extension{Name: "scale_offset"}
	if offset != nil || scale != nil {
		e.Configuration, _ = json.Marshal(struct { // fails if a value is not JSON; the codec then refuses the empty text
			Offset json.RawMessage `json:"offset,omitempty"`
			Scale  json.RawMessage `json:"scale,omitempty"`
		}{offset, scale})
	}
	return e
}

// PackBitsOptions are the optional parts of [PackBits]. A nil *PackBitsOptions is the
// zero PackBitsOptions.
type PackBitsOptions struct {
	// Padding is where the number of unused bits of the last byte is stored:
	// "first_byte", "last_byte", or "none", which is the same as "".
	Padding string
	// FirstBit and LastBit are the first and the last bit to store, counted from the
	// least significant one. Nil means the first, and the last, of the data type.
	FirstBit, LastBit *int
}

// PackBits specifies the codec "packbits", which stores only some bits of each element.
func PackBits(o *PackBitsOptions) metadata.Extension {
	if o == nil {
		o = new(PackBitsOptions)
	}
	text, _ := json.Marshal(struct { // texts and integers always have a JSON form
		Padding string `json:"padding_encoding,omitempty"`
		First   *int   `json:"first_bit,omitempty"`
		Last    *int   `json:"last_bit,omitempty"`
	}{o.Padding, o.FirstBit, o.LastBit})
	return metadata.Extension{Name: "packbits", Configuration: text}
}

// Reshape specifies the codec "reshape" by the axes of the stored chunk. Each is an int,
// its length in elements, or -1 for what remains; or an []int, the axes of the array
// whose product it is, which must ascend. An empty []int is the length 1.
func Reshape(axes ...any) metadata.Extension {
	list, _ := json.Marshal(append([]any{}, axes...)) // fails for other types; the codec then refuses the empty text
	return metadata.Extension{Name: "reshape", Configuration: fmt.Appendf(nil, `{"shape":%s}`, list)}
}

// Conditional specifies the codec "conditional", which uses each of the given codecs only
// where it makes a chunk smaller. maskBits is the length of its mask, a multiple of 8; 0
// means the smallest number of bytes that has a bit for every codec.
func Conditional(maskBits int, codecs ...metadata.Extension) metadata.Extension {
	text := appendCodecs([]byte(`{"codecs":`), codecs)
	if maskBits != 0 {
		text = fmt.Appendf(text, `,"header_bits":%d`, maskBits)
	}
	return metadata.Extension{Name: "conditional", Configuration: append(text, '}')}
}

// N5Default specifies the codec "n5_default", the blocks of N5. A block has three codecs:
// a transposition that reverses all axes, "bytes" in big-endian order, and at most one
// compressor.
func N5Default(codecs ...metadata.Extension) metadata.Extension {
	return metadata.Extension{Name: "n5_default", Configuration: append(appendCodecs([]byte(`{"codecs":`), codecs), '}')}
}
