package blosc

import (
	"fmt"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
)

// all has the names of the compressors.
var all = []string{"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"}

func newCodec(t testing.TB, o Options) codec.BytesBytes {
	t.Helper()
	c, err := codec.Default.New(Extension(o))
	if err != nil {
		t.Fatal(err)
	}
	return c.(codec.BytesBytes)
}

func TestContract(t *testing.T) {
	for i, name := range all {
		for j, shuffle := range []string{"noshuffle", "shuffle", "bitshuffle"} {
			o := Options{Compressor: name, Level: 1 + (i+2*j)%5, Shuffle: shuffle, Element: []int{1, 2, 4, 8, 3, 16, 17}[(i+j)%7]}
			t.Run(fmt.Sprintf("%s/%s/%d", name, shuffle, o.Element), func(t *testing.T) {
				codectest.Run(t, func() any { return newCodec(t, o) }, nil)
			})
		}
	}
}

func FuzzDecode(f *testing.F) {
	codectest.Fuzz(f, func() any { return newCodec(f, Options{Compressor: "lz4", Level: 5, Element: 4}) })
}
