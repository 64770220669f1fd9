// SPDX-License-Identifier: Apache-2.0

package blosc

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"varve.dev/zarr/codec"
)

// sample returns a frame of several blocks, and its content.
func sample(t testing.TB) (frame, src []byte) {
	t.Helper()
	src = content(4, 40_003)
	frame, err := newCodec(t, codec.BloscOptions{Compressor: "lz4", Level: 5, Shuffle: "shuffle", Element: 4, Block: 4 << 10}).Encode(nil, src)
	if err != nil {
		t.Fatal(err)
	}
	return frame, src
}

// TestLies changes one thing of a frame at a time.
func TestLies(t *testing.T) {
	good, src := sample(t)
	first := int(number(good[headerSize:]))
	for name, lie := range map[string]struct {
		change func(b []byte) []byte
		want   string
	}{
		"version 1":            {func(b []byte) []byte { b[0] = 1; return b }, "version 1 of the format"},
		"Blosc2":               {func(b []byte) []byte { b[0] = 5; return b }, "version 5 of the format"},
		"compressor's version": {func(b []byte) []byte { b[1] = 2; return b }, "version 2 of the format of compressor"},
		"compressor 5":         {func(b []byte) []byte { b[2] |= 5 << formatShift; return b }, "compressor number 5"},
		"reserved flag":        {func(b []byte) []byte { b[2] |= flagReserved; return b }, "later version"},
		"copied":               {func(b []byte) []byte { b[2] |= flagCopy; return b }, "are stored for a content"},
		"no element":           {func(b []byte) []byte { b[3] = 0; return b }, "elements of 0 bytes"},
		"other element":        {func(b []byte) []byte { b[3] = 7; return b }, "into 7 streams"},
		"content of 4 GiB":     {func(b []byte) []byte { putNumber(b[4:], -1); return b }, "cannot decode"},
		"content of 2 GiB":     {func(b []byte) []byte { putNumber(b[4:], math.MaxInt32-16); return b }, "cannot decode"},
		"more content":         {func(b []byte) []byte { putNumber(b[4:], len(src)+1); return b }, "at most"},
		"no content":           {func(b []byte) []byte { putNumber(b[4:], 0); return b }, "empty frame"},
		"blocks of nothing":    {func(b []byte) []byte { putNumber(b[8:], 0); return b }, "blocks of 0 bytes"},
		"blocks of a byte":     {func(b []byte) []byte { putNumber(b[8:], 1); return b }, "no room for the table"},
		"blocks of 4 GiB":      {func(b []byte) []byte { putNumber(b[8:], -1); return b }, "blocks of 4294967295 bytes"},
		"more bytes":           {func(b []byte) []byte { putNumber(b[12:], len(b)+1); return b }, "there are"},
		"no bytes":             {func(b []byte) []byte { putNumber(b[12:], 0); return b }, "there are"},
		"cut":                  {func(b []byte) []byte { return b[:len(b)-1] }, "there are"},
		"cut, and told":        {func(b []byte) []byte { putNumber(b[12:], len(b)-1); return b[:len(b)-1] }, "block"},
		"cut header":           {func(b []byte) []byte { return b[:15] }, "too few for a header"},
		"nothing":              {func([]byte) []byte { return nil }, "too few for a header"},
		"followed":             {func(b []byte) []byte { return append(b, 0) }, "there are"},
		"block in the header":  {func(b []byte) []byte { putNumber(b[headerSize:], 3); return b }, "within the header"},
		"block in the table":   {func(b []byte) []byte { putNumber(b[headerSize:], headerSize+4); return b }, "within the header"},
		"block at the end":     {func(b []byte) []byte { putNumber(b[headerSize:], len(b)); return b }, "stream 0 begins"},
		"block behind the end": {func(b []byte) []byte { putNumber(b[headerSize:], -1); return b }, "stream 0 begins"},
		"stream of 4 GiB":      {func(b []byte) []byte { putNumber(b[first:], -1); return b }, "stream 0 has"},
		"stream of nothing":    {func(b []byte) []byte { putNumber(b[first:], 0); return b }, "stream 0"},
	} {
		out, err := coder{}.Decode(make([]byte, 0, len(src)), lie.change(bytes.Clone(good)), int64(len(src)))
		if !errors.Is(err, codec.ErrCorrupt) || !strings.Contains(err.Error(), lie.want) || len(out) != 0 {
			t.Errorf("%s: %d bytes, error is %v, want ErrCorrupt and %q", name, len(out), err, lie.want)
		}
		if unsupported := strings.Contains(lie.want, "version") || strings.Contains(lie.want, "number"); errors.Is(err, codec.ErrUnsupported) != unsupported {
			t.Errorf("%s: %v, is ErrUnsupported: %t", name, err, !unsupported)
		}
	}
}

// TestMemory decodes short frames that claim much: no more memory is taken than the
// caller allows, and none for a claim beyond that.
func TestMemory(t *testing.T) {
	for _, name := range all {
		frame, err := newCodec(t, codec.BloscOptions{Compressor: name, Level: 5, Shuffle: "bitshuffle", Element: 4}).Encode(nil, make([]byte, 8<<20))
		if err != nil {
			t.Fatal(err)
		}
		least := uint64(math.MaxUint64)
		for range 3 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := (coder{}).Decode(nil, frame, 8<<20-1); !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("%s: error is %v, want ErrCorrupt", name, err)
			}
			runtime.ReadMemStats(&after)
			least = min(least, after.TotalAlloc-before.TotalAlloc)
		}
		if least > 64<<10 {
			t.Errorf("%s: %d bytes of memory for a claim that is refused", name, least)
		}
	}
}

// TestAnyOrder reads blocks in another order than they are written, as threads of c-blosc
// leave them.
func TestAnyOrder(t *testing.T) {
	good, src := sample(t)
	h, err := parse(good, int64(len(src)))
	if err != nil {
		t.Fatal(err)
	}
	table := headerSize + 4*h.blocks()
	frame := bytes.Clone(good[:table])
	for i := h.blocks() - 1; i >= 0; i-- {
		from, to := int(number(good[headerSize+4*i:])), len(good)
		if i < h.blocks()-1 {
			to = int(number(good[headerSize+4*(i+1):]))
		}
		putNumber(frame[headerSize+4*i:], len(frame))
		frame = append(frame, good[from:to]...)
	}
	got, err := coder{}.Decode(nil, frame, int64(len(src)))
	if err != nil || !bytes.Equal(got, src) || bytes.Equal(frame, good) {
		t.Errorf("other content, or %v", err)
	}
}

// TestBloscLZ reads instructions by hand.
func TestBloscLZ(t *testing.T) {
	for stream, want := range map[string]string{
		"\x22abc":                     "abc",
		"\x02abc\x40\x02\x00d":        "abcabcad",     // a match of 4 that overlaps what it makes
		"\x00a\xe0\x01\x00\x00b":      "aaaaaaaaaaab", // of 10
		"\x01ab\x20\x01\x20\x00\x00c": "ababaaaac",    // two in a row
		"\x00a\xe0\xff\x00\x00\x00b":  "a" + strings.Repeat("a", 264) + "b",
		"\x02abc":                     "abc",
	} {
		dst := make([]byte, len(want))
		if err := (blosclz{}).decompress(dst, []byte(stream)); err != nil || string(dst) != want {
			t.Errorf("%q decodes to %q, %v; want %q", stream, dst, err, want)
		}
	}
	for _, stream := range []string{
		"", "\x00", "\x02ab", "\x00a\x20", "\x00a\x20\x00", "\x00a\x20\x01\x00b", "\x00a\xe0", "\x00a\xe0\xff", "\x00a\xe0\x01\x00",
		"\x00a\x3f\xff\x00", "\x00a\x3f\xff\x00\x00", "\x00a\x3f\xff\x00\x00\x00b", "\x07abcdefgh",
	} {
		dst := make([]byte, 5)
		if err := (blosclz{}).decompress(dst, []byte(stream)); err == nil {
			t.Errorf("%q decodes to %q", stream, dst)
		}
	}
}
