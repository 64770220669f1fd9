// SPDX-License-Identifier: Apache-2.0

package extra

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
	"varve.dev/zarr/internal/codecs/numcodecs"
	"varve.dev/zarr/metadata"
)

func made(t testing.TB, ext metadata.Extension) codec.BytesBytes {
	t.Helper()
	c, err := codec.Default.New(ext)
	if err != nil {
		t.Fatal(err)
	}
	return c.(codec.BytesBytes)
}

func lzmaOf(configuration string) metadata.Extension {
	return metadata.Extension{Name: "numcodecs.lzma", Configuration: []byte(configuration)}
}

// lzma1 is the number of a filter.
const lzma1 = `4611686018427387905`

func TestContract(t *testing.T) {
	const most = 70_000 // the libraries are slow
	checked, loose := &codectest.Options{Checksum: true, Largest: most}, &codectest.Options{Largest: most}
	blocks := &codectest.Options{Checksum: true, Largest: 1000, Memory: 9 * 400_000}
	for _, c := range []struct {
		ext metadata.Extension
		o   *codectest.Options
	}{
		{numcodecs.BZ2(1), checked}, {numcodecs.BZ2(9), blocks},
		{numcodecs.LZMA(0), checked}, {numcodecs.LZMA(6), checked},
		{lzmaOf(`{"format":1,"check":0}`), loose}, {lzmaOf(`{"check":1}`), checked}, {lzmaOf(`{"check":10}`), checked},
		{lzmaOf(`{"filters":[{"id":33,"lc":0,"lp":2,"pb":2}]}`), checked},
		{lzmaOf(`{"format":3,"filters":[{"id":3,"dist":4},{"id":3,"dist":7},{"id":33,"lc":0,"lp":2,"pb":2}]}`), loose},
		{lzmaOf(`{"format":2}`), loose},
		{lzmaOf(`{"format":3,"filters":[{"id":` + lzma1 + `,"lc":0,"lp":3}]}`), loose},
		{lzmaOf(`{"format":3,"filters":[{"id":3,"dist":2},{"id":33,"dict_size":65536}]}`), loose},
	} {
		t.Run(string(c.ext.Configuration), func(t *testing.T) {
			codectest.Run(t, func() any { return made(t, c.ext) }, c.o)
		})
	}
}

// TestDrawn encodes and decodes random bytes. Fuzz targets only decode, because
// encoding is too slow for them.
func TestDrawn(t *testing.T) {
	codecs := []codec.BytesBytes{made(t, numcodecs.BZ2(1)), made(t, numcodecs.LZMA(0)), made(t, lzmaOf(`{"format":2}`))}
	rapid.Check(t, func(t *rapid.T) {
		data := bytes.Repeat(rapid.SliceOfN(rapid.ByteRange(0, 5), 0, 300).Draw(t, "data"), rapid.IntRange(1, 5).Draw(t, "times"))
		for _, c := range codecs {
			stored, err := c.Encode(nil, data)
			if err != nil {
				t.Fatal(err)
			}
			if out, err := c.Decode(nil, stored, int64(len(data))); err != nil || !bytes.Equal(out, data) {
				t.Fatalf("%T: %d bytes, %v", c, len(out), err)
			}
		}
	})
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func Benchmark(b *testing.B) {
	for _, ext := range []metadata.Extension{
		numcodecs.BZ2(1), numcodecs.BZ2(9), numcodecs.LZMA(0), numcodecs.LZMA(6), lzmaOf(`{"format":2,"preset":0}`),
	} {
		b.Run(strings.TrimPrefix(ext.Name, "numcodecs.")+string(ext.Configuration), func(b *testing.B) {
			codectest.Benchmark(b, func() any { return made(b, ext) })
		})
	}
}

func Example() {
	c, err := codec.Default.New(numcodecs.LZMA(6))
	if err != nil {
		fmt.Println(err)
		return
	}
	stored, err := c.(codec.BytesBytes).Encode(nil, make([]byte, 1000))
	fmt.Println(len(stored) < 100, err)
	// Output: true <nil>
}
