// SPDX-License-Identifier: Apache-2.0

package imagecodecs

import (
	"bytes"
	"errors"
	"strconv"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
	"varve.dev/zarr/dtype"
	_ "varve.dev/zarr/internal/codecs/transpose"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
)

func TestChunkyContract(t *testing.T) {
	for _, configuration := range []string{`{"endian":"little"}`, `{"endian":"big"}`} {
		codectest.Run(t, func() any {
			c, err := codec.Default.New(metadata.Extension{Name: chunkyName, Configuration: []byte(configuration)})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}, &codectest.Options{Specs: specs(t, reals, 0)})
	}
}

// TestChunky stores pixels of two samples one after the other, in big-endian order.
func TestChunky(t *testing.T) {
	list := []metadata.Extension{
		{Name: horizontalName},
		{Name: "transpose", Configuration: []byte(`{"order":[0,2,1]}`)},
		{Name: chunkyName, Configuration: []byte(`{"endian":"big"}`)},
	}
	typ := dtype.Uint16
	chain, err := coding.NewChain(new(codec.Environment), list, codec.Spec{Type: typ, Fill: make([]byte, 2), Rank: 3})
	if err != nil {
		t.Fatal(err)
	}
	// Two samples, two rows, three columns; the differences of 7 9 12 are 7 2 3.
	rows := []uint64{7, 9, 12, 1, 1, 1, 70, 60, 50, 5, 6, 7}
	want := []byte{0, 7, 0, 70, 0, 2, 255, 246, 0, 3, 255, 246, 0, 1, 0, 5, 0, 0, 0, 1, 0, 0, 0, 1}
	plain := make([]byte, 2*len(rows))
	for i, x := range rows {
		setNumber(plain[2*i:2*i+2], x)
	}
	v := strided.Contiguous(plain, []int64{2, 2, 3}, 2)
	got, err := chain.Encode(nil, v)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("encodes to %d, want %d: %v", got, want, err)
	}
	back := strided.Contiguous(make([]byte, len(plain)), []int64{2, 2, 3}, 2)
	if err := chain.Decode(&back, want); err != nil || !bytes.Equal(back.Data, plain) {
		t.Errorf("decodes to %d, want %d: %v", back.Data, plain, err)
	}
	// The detector empties the pools. On processors with 32 bits, strides escape.
	if racing.Detector || strconv.IntSize == 32 {
		return
	}
	if n := testing.AllocsPerRun(100, func() { err = chain.Decode(&back, want) }); n >= 1 || err != nil {
		t.Errorf("%v allocations, %v", n, err)
	}
}

// TestChunkyRefused has what the codec cannot take, such as what predictor 3 makes.
func TestChunkyRefused(t *testing.T) {
	floats := metadata.Extension{Name: prefix + floatID, Configuration: []byte(`{"shape":[3,4,5],"dtype":"<f4"}`)}
	for _, list := range [][]metadata.Extension{
		{floats, {Name: chunkyName}},
		{{Name: chunkyName, Configuration: []byte(`{"endian":"middle"}`)}},
		{{Name: chunkyName, Configuration: []byte(`{"order":"F"}`)}},
		{{Name: horizontalName, Configuration: []byte(`{"axis":0}`)}, {Name: chunkyName}},
	} {
		_, err := coding.NewChain(new(codec.Environment), list, codec.Spec{Type: dtype.Float32, Fill: make([]byte, 4), Rank: 3})
		if !errors.Is(err, codec.ErrConfiguration) {
			t.Errorf("%s: %v, want ErrConfiguration", list[0].Name, err)
		}
	}
}
