// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"bytes"
	"errors"
	"io"
	"math"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"varve.dev/zarr/virtual/scan"
)

// inflate decompresses a page of n bytes. It refuses pages whose compression cannot make
// so many bytes of so few, before it takes memory for them.
func inflate(codec format.CompressionCodec, src []byte, n int) ([]byte, error) {
	var page []byte
	var err error
	switch codec {
	case format.Uncompressed:
		page = src
	case format.Zstd:
		page, err = inflateZstd(src, n)
	case format.Snappy:
		page, err = inflateSnappy(src, n)
	case format.Gzip:
		page, err = inflateGzip(src, n)
	default:
		return nil, scan.Unsupportedf("the compression %v; Zstandard, Snappy and gzip can be read", codec)
	}
	if err == nil && len(page) != n {
		err = errSize
	}
	if err != nil {
		return nil, scan.Corruptf("a page of %d bytes (%v): %v", n, codec, err)
	}
	return page, nil
}

var errSize = errors.New("it has another size")

var zstdDecoders sync.Pool // of *zstd.Decoder

func inflateZstd(src []byte, n int) ([]byte, error) {
	const mostBlock, leastBlock = 128 << 10, 3 // a run of one byte takes four, with its head
	if int64(n) > (int64(len(src))/leastBlock+1)*mostBlock {
		return nil, errSize
	}
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

func inflateSnappy(src []byte, n int) ([]byte, error) {
	const mostRatio = 22 // a copy of 64 bytes takes three
	if size, err := s2.DecodedLen(src); err != nil || size != n || int64(n) > mostRatio*int64(len(src)) {
		return nil, errSize
	}
	return s2.Decode(make([]byte, n), src)
}

func inflateGzip(src []byte, n int) ([]byte, error) {
	const mostRatio = 1032 // 258 bytes take two bits
	if int64(n) > mostRatio*int64(len(src)) {
		return nil, errSize
	}
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
