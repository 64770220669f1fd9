// SPDX-License-Identifier: Apache-2.0

package grib2_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math"
	"testing"

	"varve.dev/zarr/codec"
)

// sections is a message that a test builds: its sections without length, in order.
type sections [][]byte

// bytes returns the message.
func (s sections) bytes() []byte {
	b := append([]byte("GRIB\xff\xff\x00\x02"), make([]byte, 8)...)
	for _, body := range s {
		b = binary.BigEndian.AppendUint32(b, uint32(len(body)+4))
		b = append(b, body...)
	}
	b = append(b, "7777"...)
	binary.BigEndian.PutUint64(b[8:], uint64(len(b)))
	return b
}

// grid returns section 3 of a regular grid of 2 x 3 points with a scanning mode.
func grid(mode byte) []byte {
	s := make([]byte, 72)
	binary.BigEndian.PutUint32(s[6:], 6)
	binary.BigEndian.PutUint32(s[30:], 3)
	binary.BigEndian.PutUint32(s[34:], 2)
	s[4], s[71] = 3, mode
	return s[4:]
}

// packed returns section 5: so many values of some bits, with the reference 10, in a
// template that has more octets.
func packed(template uint16, n uint32, bits byte, more ...byte) []byte {
	s := binary.BigEndian.AppendUint32([]byte{5}, n)
	s = binary.BigEndian.AppendUint16(s, template)
	s = binary.BigEndian.AppendUint32(s, math.Float32bits(10))
	s = append(s, 0, 1, 0x80, 1, bits, 0) // x * 2^1 / 10^-1
	return append(s, more...)
}

func wants(x ...float64) []float64 {
	for i := range x {
		x[i] = (10 + 2*x[i]) * 10
	}
	return x
}

var (
	plain  = []byte{6, 255}
	digits = []byte{7, 0x12, 0x34, 0x56}
	nan    = math.NaN()
)

// groups returns what template 5.2 adds: n groups of 3 values, with widths of 4 bits, and
// kinds of missing values.
func groups(n uint32, missing byte) []byte {
	b := []byte{1, missing, 0, 0, 0, 0, 0, 0, 0, 0}
	b = binary.BigEndian.AppendUint32(b, n)
	b = append(b, 0, 4) // widths: reference 0, 4 bits
	b = binary.BigEndian.AppendUint32(b, 3)
	b = append(b, 1)
	b = binary.BigEndian.AppendUint32(b, 3)
	return append(b, 0) // all lengths are 3
}

// image24 is a PNG file of 2 x 3 pixels of three samples.
func image24() []byte {
	m := image.NewRGBA(image.Rect(0, 0, 3, 2))
	for i := range 6 {
		m.Set(i%3, i/3, color.RGBA{uint8(i), 0, 7, 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// built returns messages that no file has.
func built() map[string]sections {
	return map[string]sections{
		"to and fro": {grid(0x10), packed(0, 6, 4), plain, digits},
		"columns":    {grid(0x30), packed(0, 6, 4), plain, digits},
		"two fields": {
			grid(0), packed(0, 3, 8), {6, 0, 0b10101000}, {7, 1, 2, 3},
			packed(0, 3, 8), {6, 254}, {7, 4, 5, 6},
		},
		// Two groups of width 4, references 0 and 1 of 2 bits.
		"missing":        {grid(0), packed(2, 6, 2, groups(2, 1)...), plain, {7, 0b00010000, 0x44, 0x12, 0xf4, 0x5f}},
		"secondary":      {grid(0), packed(2, 6, 2, groups(2, 2)...), plain, {7, 0b00110000, 0x40, 0x1e, 0xf0}},
		"no groups":      {grid(0), packed(2, 6, 2, groups(0, 0)...), plain, {7}},
		"no differences": {grid(0), packed(3, 3, 0, append(groups(0, 1), 2, 1)...), {6, 0, 0b10101000}, {7}},
		// The first values are 5 and 7, the least difference is -1, and two are missing.
		"second order": {grid(0), packed(3, 6, 2, append(groups(2, 1), 2, 1)...), plain, {7, 5, 7, 0x81, 0, 0x44, 0x0f, 0x01, 0x2f}},
		"first order":  {grid(0), packed(3, 6, 2, append(groups(2, 0), 1, 1)...), plain, {7, 5, 0x81, 0, 0x44, 0x00, 0x11, 0x23}},
		"24 bits":      {grid(0), packed(41, 6, 24), plain, append([]byte{7}, image24()...)},
		"doubles":      {grid(0), {5, 0, 0, 0, 1, 0, 4, 2}, {6, 0, 0b01000000}, {7, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0}},
	}
}

func TestBuilt(t *testing.T) {
	colours := make([]float64, 6)
	for i := range colours {
		colours[i] = float64(i<<16 | 7)
	}
	for _, tt := range []struct {
		name  string
		field int
		want  []float64
	}{
		{"to and fro", 0, wants(1, 2, 3, 6, 5, 4)},
		{"columns", 0, wants(1, 2, 4, 3, 5, 6)},
		{"two fields", 0, wants(1, nan, 2, nan, 3, nan)},
		{"two fields", 1, wants(4, nan, 5, nan, 6, nan)},
		{"missing", 0, wants(1, 2, nan, 5, 6, nan)},
		{"secondary", 0, wants(1, nan, nan, nan, nan, nan)},
		{"no groups", 0, []float64{10, 10, 10, 10, 10, 10}},
		{"no differences", 0, []float64{10, nan, 10, nan, 10, nan}},
		{"second order", 0, wants(5, nan, 7, 9, 12, nan)},
		{"first order", 0, wants(5, 4, 4, 4, 5, 7)},
		{"24 bits", 0, wants(colours...)},
		{"doubles", 0, []float64{nan, 1.5, nan, nan, nan, nan}},
	} {
		got, err := decode(t, tt.field, built()[tt.name].bytes(), 2, 3)
		if err != nil || !same(got, tt.want) {
			t.Errorf("%s: %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
}

// TestCorrupt checks messages whose parts contradict each other.
func TestCorrupt(t *testing.T) {
	for name, s := range map[string]sections{
		"too few values":        {grid(0), packed(0, 5, 4), plain, digits},
		"too few bits":          {grid(0), packed(0, 6, 5), plain, digits},
		"a short bitmap":        {grid(0), packed(0, 3, 8), {6, 0}, digits},
		"no bitmap before":      {grid(0), packed(0, 3, 8), {6, 254}, digits},
		"no grid":               {packed(0, 6, 4), plain, digits},
		"too many groups":       {grid(0), packed(2, 6, 2, groups(7, 0)...), plain, digits},
		"too long groups":       {grid(0), packed(2, 6, 2, groups(3, 0)...), plain, {7, 0, 0, 0, 0}},
		"too few groups":        {grid(0), packed(2, 6, 2, groups(1, 0)...), plain, {7, 0, 0, 0, 0}},
		"3 kinds of missing":    {grid(0), packed(2, 6, 2, groups(2, 3)...), plain, {7, 0, 0, 0, 0}},
		"no image":              {grid(0), packed(41, 6, 24), plain, digits},
		"an image of 24 bits":   {grid(0), packed(41, 6, 8), plain, append([]byte{7}, image24()...)},
		"no block":              {grid(0), packed(42, 6, 4, 8, 0, 0, 1), plain, digits},
		"no interval":           {grid(0), packed(42, 6, 4, 8, 8, 0, 0), plain, digits},
		"restricted":            {grid(0), packed(42, 6, 5, 8|16, 8, 0, 1), plain, digits},
		"too few samples":       {grid(0), packed(42, 6, 16, 8, 8, 0, 1), plain, {7, 0xff, 0}},
		"too many zeros":        {grid(0), packed(42, 6, 4, 8, 8, 0, 1), plain, {7, 0, 0b00000100, 0, 0}},
		"a pair beyond":         {grid(0), packed(42, 6, 4, 8, 8, 0, 1), plain, append([]byte{7, 0b00010000}, make([]byte, 100)...)},
		"zeros without an end":  {grid(0), packed(42, 6, 4, 8, 8, 0, 1), plain, append([]byte{7, 0b00100000}, make([]byte, 100)...)},
		"too large differences": {grid(0), packed(42, 6, 4, 8, 8, 0, 1), plain, {7, 0b00100000, 0, 0, 0, 0x7f, 0xff}},
	} {
		if _, err := decode(t, 0, s.bytes(), 2, 3); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
}

// TestUnsupported checks that valid messages that are not decoded say why.
func TestUnsupported(t *testing.T) {
	quasi := grid(0)
	quasi[10-4] = 2
	for name, s := range map[string]sections{
		"a predefined bitmap": {grid(0), packed(0, 6, 4), {6, 1}, digits},
		"quasi-regular":       {quasi, packed(0, 6, 4), plain, digits},
		"spectral":            {grid(0), packed(50, 6, 4), plain, digits},
		"signed samples":      {grid(0), packed(42, 6, 4, 1|8, 8, 0, 1), plain, digits},
		"order 3":             {grid(0), packed(3, 6, 2, append(groups(2, 0), 3, 1)...), plain, digits},
		"edition 1":           nil,
	} {
		msg := s.bytes()
		if s == nil {
			msg[7] = 1
		}
		if _, err := decode(t, 0, msg, 2, 3); !errors.Is(err, codec.ErrUnsupported) {
			t.Errorf("%s: %v, want ErrUnsupported", name, err)
		}
	}
}
