// SPDX-License-Identifier: Apache-2.0

package imagecodecs

import (
	"encoding/hex"
	"errors"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
)

func TestPackBitsContract(t *testing.T) {
	codectest.Run(t, func() any { return made(t, PackBits()) }, unframed)
}

func FuzzPackBits(f *testing.F) { codectest.Fuzz(f, func() any { return made(f, PackBits()) }) }

// TestPackBitsExample has the example that Apple gives in Technical Note TN1023.
func TestPackBitsExample(t *testing.T) {
	const packed, plain = "fe aa 02 80 00 2a fd aa 03 80 00 2a 22 f7 aa", "aaaaaa80002aaaaaaaaa80002a22aaaaaaaaaaaaaaaaaaaa"
	src, err := hex.DecodeString("feaa0280002afdaa0380002a22f7aa")
	if err != nil {
		t.Fatal(err)
	}
	got, err := made(t, PackBits()).Decode(nil, src, 24)
	if err != nil || hex.EncodeToString(got) != plain {
		t.Errorf("%s decodes to %x, want %s: %v", packed, got, plain, err)
	}
	if again, err := made(t, PackBits()).Encode(nil, got); err != nil || string(again) != string(src) {
		t.Errorf("encodes to %x, want %s: %v", again, packed, err)
	}
}

// TestPackBitsCut decodes runs without their bytes.
func TestPackBitsCut(t *testing.T) {
	for _, src := range []string{"\x00", "\x02ab", "\xfe", "\x00a\x81"} {
		if got, err := made(t, PackBits()).Decode(nil, []byte(src), 1000); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%q: %q, %v", src, got, err)
		}
	}
	if got, err := made(t, PackBits()).Decode(nil, []byte("\x80\x00a\x80"), 1); err != nil || string(got) != "a" {
		t.Errorf("bytes that mean nothing: %q, %v", got, err)
	}
}
