// SPDX-License-Identifier: Apache-2.0

package codec_test

import (
	"encoding/json"
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
)

func ExampleBitRound() {
	fmt.Println(string(codec.BitRound(10).Configuration))
	// Output: {"keepbits":10}
}

func ExampleBlosc() {
	e := codec.Blosc(codec.BloscOptions{Compressor: "lz4", Level: 5, Shuffle: "auto", Element: 4})
	fmt.Println(e.Name, string(e.Configuration))
	// Output: blosc {"typesize":4,"cname":"lz4","clevel":5,"shuffle":"shuffle","blocksize":0}
}

func ExampleCRC32C() {
	e := codec.CRC32C()
	fmt.Println(e.Name)
	// Output: crc32c
}

func ExampleCastValue() {
	e := codec.CastValue(dtype.Uint8, &codec.CastOptions{
		Rounding: "towards-zero",
		Encode:   []codec.CastPair{{json.RawMessage(`"NaN"`), json.RawMessage(`0`)}},
	})
	fmt.Println(string(e.Configuration))
	// Output:
	// {"data_type":"uint8","rounding":"towards-zero","scalar_map":{"encode":[["NaN",0]]}}
}

func ExampleGzip() {
	e := codec.Gzip(5)
	fmt.Println(e.Name, string(e.Configuration))
	// Output: gzip {"level":5}
}

func ExamplePackBits() {
	last := 11
	e := codec.PackBits(&codec.PackBitsOptions{Padding: "first_byte", LastBit: &last})
	fmt.Println(e.Name, string(e.Configuration))
	// Output: packbits {"padding_encoding":"first_byte","last_bit":11}
}

func ExampleReshape() {
	e := codec.Reshape([]int{0, 1}, []int{2}, -1)
	fmt.Println(string(e.Configuration))
	// Output: {"shape":[[0,1],[2],-1]}
}

func ExampleScaleOffset() {
	fmt.Println(string(codec.ScaleOffset(json.RawMessage(`1000`), nil).Configuration))
	// Output: {"offset":1000}
}

func ExampleTranspose() {
	e := codec.Transpose(2, 0, 1)
	fmt.Println(e.Name, string(e.Configuration))
	// Output: transpose {"order":[2,0,1]}
}

func ExampleZstd() {
	e := codec.Zstd(3)
	fmt.Println(e.Name, string(e.Configuration))
	// Output: zstd {"level":3}
}

func ExampleZstdChecksum() {
	e := codec.ZstdChecksum(3, false)
	fmt.Println(e.Name, string(e.Configuration))
	// Output: zstd {"level":3,"checksum":false}
}
