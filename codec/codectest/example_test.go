// SPDX-License-Identifier: Apache-2.0

package codectest_test

import (
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
	"varve.dev/zarr/metadata"
)

// A codec of one's own is three methods and a name, by which the metadata of arrays call
// for it.
func Example() {
	codec.Register("example.invert", func([]byte) (any, error) { return invert{}, nil })

	fmt.Println("faults:", codectest.Test(func() any { return invert{} }, &codectest.Options{Unframed: true}))
	c, err := codec.Default.New(metadata.Extension{Name: "example.invert"})
	if err != nil {
		fmt.Println(err)
		return
	}
	stored, err := c.(codec.BytesBytes).Encode(nil, []byte{0x00, 0x0f})
	fmt.Printf("%x %v\n", stored, err)
	// Output:
	// faults: <nil>
	// fff0 <nil>
}

// invert stores every bit as its contrary.
type invert struct{}

func (invert) MaxEncoded(n int64) int64 { return n }

func (invert) Encode(dst, src []byte) ([]byte, error) {
	for _, b := range src {
		dst = append(dst, ^b)
	}
	return dst, nil
}

func (i invert) Decode(dst, src []byte, most int64) ([]byte, error) {
	if int64(len(src)) > most {
		return dst, codec.ErrTooLong
	}
	return i.Encode(dst, src)
}
