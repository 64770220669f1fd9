// SPDX-License-Identifier: Apache-2.0

package imagecodecs

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/metadata"
)

// made returns a codec of bytes.
func made(t testing.TB, e metadata.Extension) codec.BytesBytes {
	t.Helper()
	c, err := codec.Default.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return c.(codec.BytesBytes)
}

// unframed are the options of codecs whose end other readers of TIFF do not check.
var unframed = &codectest.Options{Unframed: true}

func TestLZWContract(t *testing.T) {
	codectest.Run(t, func() any { return made(t, LZW()) }, unframed)
}

func FuzzLZW(f *testing.F) { codectest.Fuzz(f, func() any { return made(f, LZW()) }) }

func BenchmarkLZW(b *testing.B) { codectest.Benchmark(b, func() any { return made(b, LZW()) }) }

// lzwBytes returns codes as bytes, each with so many bits.
func lzwBytes(codes ...[2]int) (out []byte) {
	word, held := 0, 0
	for _, c := range codes {
		word, held = word<<c[1]|c[0], held+c[1]
		for ; held >= 8; held -= 8 {
			out = append(out, byte(word>>(held-8)))
		}
		word &= 1<<held - 1
	}
	if held > 0 {
		out = append(out, byte(word<<(8-held)))
	}
	return out
}

// nine returns codes of nine bits.
func nine(codes ...int) []byte {
	var list [][2]int
	for _, c := range codes {
		list = append(list, [2]int{c, 9})
	}
	return lzwBytes(list...)
}

// TestLZWExample has the example of section 13.
func TestLZWExample(t *testing.T) {
	plain := []byte{7, 7, 7, 8, 8, 7, 7, 6, 6}
	want := nine(256, 7, 258, 8, 8, 258, 6, 6, 257)
	c := made(t, LZW())
	if got, err := c.Encode(nil, plain); err != nil || !bytes.Equal(got, want) {
		t.Errorf("encodes to %x, want %x: %v", got, want, err)
	}
	if got, err := c.Decode(nil, want, 9); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("decodes to %d, want %d: %v", got, plain, err)
	}
}

// TestLZWSources decodes what programs write, and what none does.
func TestLZWSources(t *testing.T) {
	for _, tt := range []struct {
		name string
		src  []byte
		want string // what it decodes to, with room for as many bytes, or for three before an error
		err  string
	}{
		{"no clear code", nine('a', 'b', 257), "ab", ""},
		{"several clear codes", nine(256, 256, 'a', 256, 'b', 256, 257), "ab", ""},
		{"no end code", nine(256, 'a', 'b'), "ab", ""},
		{"a clear code at the end", nine(256, 'a', 'b', 256), "ab", ""},
		{"bytes behind the end code", append(nine(256, 'a', 257), 0, 1, 2), "a", ""},
		{"a string that begins with itself", nine(256, 'a', 258, 259, 260, 257), "aaaaaaaaaa", ""},
		{"nothing", nine(256, 257), "", ""},
		{"no bytes", nil, "", "no end code"},
		{"a code before its string", nine(256, 'a', 259, 257), "", "code 259 at bit 27, where codes are less than 259"},
		{"a string after a clear code", nine(256, 258), "", "code 258 at bit 18, where codes are less than 258"},
		{"a string of a table that was cleared", nine(256, 'a', 'b', 256, 258), "", "code 258"},
		{"cut", nine(256, 'a', 'b')[:3], "aa", "decode to 1 of 3"},
		{"the lowest bits first", []byte{0x00, 0x03, 0x02, 0x04}, "ab", "lowest bit"},
	} {
		most := len(tt.want)
		if tt.err != "" {
			most = 3
		}
		got, err := made(t, LZW()).Decode(nil, tt.src, int64(most))
		if tt.err == "" && (err != nil || string(got) != tt.want) {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
		if tt.err != "" && (!errors.Is(err, codec.ErrCorrupt) || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %v, want ErrCorrupt and %q", tt.name, err, tt.err)
		}
	}
}

// TestLZWFull decodes a table that is full and not cleared: its strings stay.
func TestLZWFull(t *testing.T) {
	var list [][2]int
	var plain []byte
	width, next := 9, 258
	put := func(code int, text ...byte) {
		list, plain = append(list, [2]int{code, width}), append(plain, text...)
		if len(list) > 1 && next < 4096 {
			if next++; next == 1<<width-1 && width < 12 {
				width++
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		b := byte(r.IntN(256))
		put(int(b), b)
	}
	// The first string has the first two bytes, and the last one the bytes around the
	// code that filled the table.
	put(258, plain[0], plain[1])
	put(4095, plain[4095-258], plain[4095-258+1])
	list = append(list, [2]int{257, 12})
	got, err := made(t, LZW()).Decode(nil, lzwBytes(list...), int64(len(plain)))
	if err != nil || !bytes.Equal(got, plain) {
		t.Errorf("%d of %d bytes, %v", len(got), len(plain), err)
	}
}

// model decodes LZW as section 13 describes it, with a list of strings.
func model(src []byte) (out []byte, ok bool) {
	var table []string
	at, width := 0, 9
	last := ""
	for {
		code := 0
		for range width {
			if at/8 >= len(src) {
				return out, false
			}
			code = code<<1 | int(src[at/8]>>(7-at%8)&1)
			at++
		}
		text := ""
		switch {
		case code == 256:
			table, last, width = nil, "", 9
			continue
		case code == 257:
			return out, true
		case code < 256:
			text = string([]byte{byte(code)})
		case code-258 < len(table):
			text = table[code-258]
		case code-258 == len(table) && last != "":
			text = last + last[:1]
		default:
			return out, false
		}
		if last != "" && len(table) < 4096-258 {
			table = append(table, last+text[:1])
		}
		for width < 12 && len(table)+258 >= 1<<width-1 {
			width++
		}
		out, last = append(out, text...), text
	}
}

// TestLZWModel compares with the model, on encoded inputs and on codes at random.
func TestLZWModel(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	c := made(t, LZW())
	for i := range 150 {
		plain := make([]byte, r.IntN(20000))
		few := 1 + r.IntN(256)
		for k := range plain {
			plain[k] = byte(r.IntN(few))
		}
		encoded, err := c.Encode(nil, plain)
		if out, ok := model(encoded); err != nil || !ok || !bytes.Equal(out, plain) {
			t.Fatalf("input %d of %d bytes: the model decodes %d, %v", i, len(plain), len(out), err)
		}
		// Damage may lead to other strings, and must lead to the same ones.
		encoded[r.IntN(len(encoded))] ^= 1 << r.IntN(8)
		if encoded[0] == 0 {
			continue
		}
		want, ok := model(encoded)
		got, err := c.Decode(nil, encoded, int64(len(want)))
		if !bytes.Equal(got, want) || ok && err != nil || err != nil && !errors.Is(err, codec.ErrCorrupt) {
			t.Fatalf("input %d, damaged: %d bytes and %v, the model has %d and %t", i, len(got), err, len(want), ok)
		}
	}
}

// TestLZWBomb decodes the longest form of a few codes with too little room.
func TestLZWBomb(t *testing.T) {
	src, err := made(t, LZW()).Encode(nil, make([]byte, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int64{0, 1, 1000, 1<<20 - 1} {
		if _, err := made(t, LZW()).Decode(nil, src, most); !errors.Is(err, codec.ErrTooLong) {
			t.Errorf("into %d bytes: %v, want ErrTooLong", most, err)
		}
	}
}

// TestNoAllocation decodes chunks without taking memory.
func TestNoAllocation(t *testing.T) {
	racing.Skip(t)
	plain := bytes.Repeat([]byte("strata"), 5000)
	for _, e := range []metadata.Extension{LZW(), PackBits()} {
		c := made(t, e)
		src, err := c.Encode(nil, plain)
		if err != nil {
			t.Fatal(err)
		}
		dst := make([]byte, 0, len(plain))
		n := testing.AllocsPerRun(100, func() { _, err = c.Decode(dst, src, int64(len(plain))) })
		if err != nil || n >= 1 { // the pool may lose its decoder now and then
			t.Errorf("%s: %v allocations, %v", e.Name, n, err)
		}
	}
}
