// SPDX-License-Identifier: Apache-2.0

package codec_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"varve.dev/zarr/codec"
)

func TestReadAll(t *testing.T) {
	const text = "all of it"
	cut := errors.New("cut")
	for name, read := range map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "with its end": iotest.DataErrReader,
	} {
		for most, want := range map[int]error{len(text): nil, len(text) + 1: nil, 100: nil, len(text) - 1: codec.ErrTooLong, 0: codec.ErrTooLong} {
			out, err := codec.ReadAll(append(make([]byte, 0, 200), "kept"...), read(strings.NewReader(text)), most)
			if !errors.Is(err, want) || want == nil && string(out) != "kept"+text || len(out) > 4+most {
				t.Errorf("%s, most %d: %q, %v", name, most, out, err)
			}
			broken := io.MultiReader(strings.NewReader(text), iotest.ErrReader(cut))
			if _, err := codec.ReadAll(make([]byte, 0, 200), read(broken), most); most >= len(text) && !errors.Is(err, cut) {
				t.Errorf("%s, most %d: %v, want %v", name, most, err, cut)
			}
		}
	}
	if out, err := codec.ReadAll(nil, strings.NewReader(""), 0); len(out) > 0 || err != nil {
		t.Errorf("%q, %v", out, err)
	}
}
