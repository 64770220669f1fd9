// SPDX-License-Identifier: Apache-2.0

package codectest

import (
	"bytes"
	"errors"
	"testing"

	"varve.dev/zarr/codec"
)

// Seeds returns a seed corpus for fuzzing a decoder: encoded short inputs, intact and
// damaged.
func seeds(c codec.BytesBytes) [][]byte {
	list := [][]byte{nil}
	for _, in := range inputs(new(Options)) {
		encoded, err := c.Encode(nil, in)
		if err != nil || len(encoded) > 1<<12 {
			continue
		}
		half := encoded[:len(encoded)/2]
		list = append(list, encoded, half, append(bytes.Clone(encoded), encoded...))
	}
	return list
}

// Fuzz fuzzes a bytes-to-bytes codec. It checks that decoding never panics or exceeds its
// limit, and that encoded bytes decode to themselves. It adds [Seeds] to the corpus.
func Fuzz(f *testing.F, newCodec func() any) {
	f.Helper()
	c, ok := newCodec().(codec.BytesBytes)
	if !ok {
		f.Fatalf("codectest: %T is not a bytes-to-bytes codec", newCodec())
	}
	if err := bind(c, new(Options)); err != nil {
		f.Fatal(err)
	}
	for _, s := range seeds(c) {
		f.Add(s, uint16(1000))
	}
	f.Fuzz(func(t *testing.T, data []byte, most uint16) {
		out, err := c.Decode(make([]byte, 0, most), data, int64(most))
		if err != nil && !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("error is %v, want ErrCorrupt", err)
		}
		if err == nil && len(out) > int(most) {
			t.Errorf("decoded %d bytes, the limit is %d", len(out), most)
		}
		if err := again(c, data); err != nil {
			t.Error(err)
		}
	})
}

// again encodes and decodes data. A codec may refuse some lengths, or to encode at all.
func again(c codec.BytesBytes, data []byte) error {
	encoded, err := c.Encode(nil, data)
	if errors.Is(err, codec.ErrConfiguration) || errors.Is(err, codec.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	return roundTrip(pair{c, data, encoded})
}
