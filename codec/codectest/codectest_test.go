// SPDX-License-Identifier: Apache-2.0

package codectest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/racing"
)

// framed is a right codec: every byte with its complement, then a zero.
type framed struct{}

func (framed) MaxEncoded(n int64) int64 { return 2*n + 1 }

func (framed) Encode(dst, src []byte) ([]byte, error) {
	dst = slices.Grow(dst, 2*len(src)+1)
	for _, b := range src {
		dst = append(dst, b, ^b)
	}
	return append(dst, 0), nil
}

func (framed) Decode(dst, src []byte, most int64) ([]byte, error) {
	n := len(src) - 1
	if n < 0 || n%2 != 0 || src[n] != 0 {
		return dst, codec.ErrCorrupt
	}
	if int64(n/2) > most {
		return dst, codec.ErrTooLong
	}
	for i := 0; i < n; i += 2 {
		if src[i] != ^src[i+1] {
			return dst, codec.ErrChecksum
		}
		dst = append(dst, src[i])
	}
	return dst, nil
}

// wrong is framed with one method replaced.
type wrong struct {
	framed
	encode func(dst, src []byte) ([]byte, error)
	decode func(dst, src []byte, most int64) ([]byte, error)
	most   int64
	bomb   bool // it is to fail the demand of that name
}

func (w wrong) MaxEncoded(n int64) int64 {
	if w.most != 0 {
		return w.most
	}
	return w.framed.MaxEncoded(n)
}

func (w wrong) Encode(dst, src []byte) ([]byte, error) {
	if w.encode != nil {
		return w.encode(dst, src)
	}
	return w.framed.Encode(dst, src)
}

func (w wrong) Decode(dst, src []byte, most int64) ([]byte, error) {
	if w.decode != nil {
		return w.decode(dst, src, most)
	}
	return w.framed.Decode(dst, src, most)
}

func TestRightCodecs(t *testing.T) {
	Run(t, func() any { return framed{} }, &Options{Checksum: true})
	Run(t, func() any { return new(reverse) }, nil)
	Run(t, func() any { return new(raw) }, nil)
}

// TestWrongCodecs breaks one demand of the contract at a time, and expects to hear of it.
func TestWrongCodecs(t *testing.T) {
	racing.Skip(t)
	var calls byte
	for want, w := range map[string]wrong{
		"MaxEncoded says 1": {most: 1},
		"deterministic: input": {encode: func(dst, src []byte) ([]byte, error) {
			calls++
			return append(dst, calls), nil
		}},
		"encoding does not append": {encode: func(_, src []byte) ([]byte, error) { return framed{}.Encode(nil, src) }},
		"encoding changes its source": {encode: func(dst, src []byte) ([]byte, error) {
			if dst != nil {
				defer clear(src)
			}
			return framed{}.Encode(dst, src)
		}},
		"decoding does not append": {decode: func(_, src []byte, most int64) ([]byte, error) { return framed{}.Decode(nil, src, most) }},
		"leaves a buffer": {decode: func(dst, src []byte, most int64) ([]byte, error) {
			return framed{}.Decode(bytes.Clone(dst), src, most)
		}},
		"beyond the limit": {decode: func(dst, src []byte, most int64) ([]byte, error) {
			out, err := framed{}.Decode(dst, src, most)
			if err == nil && cap(out) > len(out) {
				out[:len(out)+1][len(out)] = 'x'
			}
			return out, err
		}},
		"limit: input": {decode: func(dst, src []byte, _ int64) ([]byte, error) { return framed{}.Decode(dst, src, 1<<40) }},
		"want ErrTooLong": {decode: func(dst, src []byte, most int64) ([]byte, error) {
			out, err := framed{}.Decode(dst, src, most)
			if errors.Is(err, codec.ErrTooLong) {
				err = codec.ErrCorrupt
			}
			return out, err
		}},
		"memory, want at":  {decode: greedy, bomb: true},
		"truncated: input": {decode: func(dst, src []byte, most int64) ([]byte, error) { return framed{}.Decode(dst, padded(src), most) }},
		"trailing: input": {decode: func(dst, src []byte, most int64) ([]byte, error) {
			return framed{}.Decode(dst, trimmedZeros(src), most)
		}},
		"damage: input": {decode: blind},
		"panic":         {decode: func(dst, src []byte, most int64) ([]byte, error) { return append(dst, src[:len(src)-1]...), nil }},
		"want ErrCorrupt": {decode: func(dst, src []byte, most int64) ([]byte, error) {
			out, err := framed{}.Decode(dst, src, most)
			if err != nil {
				err = errors.New("some other error")
			}
			return out, err
		}},
	} {
		if got := failures(w, want); !strings.Contains(got, want) {
			t.Errorf("want a failure with %q, got %s", want, got)
		}
	}
}

// failures runs the suite until a failure has the wanted text. It leaves the slow demands
// to the codec that breaks one.
func failures(w wrong, want string) string {
	var text string
	for _, c := range bytesBytesChecks(w, &Options{Checksum: true}) {
		if (c.name == "bomb") != w.bomb || c.name == "concurrent" {
			continue
		}
		if err := c.safely(); err != nil {
			text += c.name + ": " + err.Error() + "\n"
		}
		if strings.Contains(text, want) {
			break
		}
	}
	return text
}

// TestMemory allows a codec what it says that it takes.
func TestMemory(t *testing.T) {
	for memory, want := range map[int]bool{0: false, 8 << 20: true} {
		if err := bomb(wrong{decode: greedy}, &Options{Largest: 64 << 10, Memory: memory}); (err == nil) != want {
			t.Errorf("%d bytes: %v", memory, err)
		}
	}
}

var sink []byte

// greedy takes memory as the source claims.
func greedy(dst, src []byte, most int64) ([]byte, error) {
	sink = make([]byte, len(src))
	return framed{}.Decode(dst, src, most)
}

// padded makes up for a missing end.
func padded(src []byte) []byte {
	if len(src)%2 == 0 {
		return append(bytes.Clone(src), 0)
	}
	return src
}

// trimmedZeros ignores what follows the end.
func trimmedZeros(src []byte) []byte {
	for i := 0; i+1 < len(src); i += 2 {
		if src[i] != ^src[i+1] {
			return src[:i+1]
		}
	}
	return src
}

// blind does not look at the complements.
func blind(dst, src []byte, most int64) ([]byte, error) {
	if len(src)%2 == 0 || src[len(src)-1] != 0 {
		return dst, codec.ErrCorrupt
	}
	if int64(len(src)/2) > most {
		return dst, codec.ErrTooLong
	}
	for i := 0; i+1 < len(src); i += 2 {
		dst = append(dst, src[i])
	}
	return dst, nil
}

// raw stores elements as they are.
type raw struct{ bools bool }

func (r *raw) Bind(s codec.Spec) error {
	r.bools = s.Type.Kind() == dtype.KindBool
	return nil
}
func (r *raw) EncodedSize(_ []int64, n int64) (int64, bool) { return n, true }
func (r *raw) Transparent() bool                            { return true }
func (r *raw) Encode(dst []byte, src codec.Block) ([]byte, error) {
	return append(dst, src.Data...), nil
}
func (r *raw) Decode(dst *codec.Block, src []byte) error {
	if len(src) != len(dst.Data) {
		return codec.ErrCorrupt
	}
	copy(dst.Data, src)
	return r.Validate(src)
}
func (r *raw) Validate(data []byte) error {
	if r.bools && bytes.ContainsFunc(data, func(c rune) bool { return c > 1 }) {
		return codec.ErrCorrupt
	}
	return nil
}

// careless is raw without the look at the length or the values.
type careless struct{ raw }

func (*careless) Decode(dst *codec.Block, src []byte) error { copy(dst.Data, src); return nil }

// padding is raw that makes the length even, and does not say that it hides one element.
type padding struct{ raw }

func (*padding) Transparent() bool                            { return false }
func (*padding) EncodedSize(_ []int64, n int64) (int64, bool) { return n + n%2, true }
func (*padding) Encode(dst []byte, src codec.Block) ([]byte, error) {
	return append(append(dst, src.Data...), make([]byte, len(src.Data)%2)...), nil
}
func (p *padding) Decode(dst *codec.Block, src []byte) error {
	if n := len(dst.Data); len(src) != n+n%2 || !bytes.Equal(src[n:], make([]byte, n%2)) {
		return codec.ErrCorrupt
	}
	return p.raw.Decode(dst, src[:len(dst.Data)])
}

// doubling is raw that says it takes twice as much.
type doubling struct{ raw }

func (*doubling) EncodedSize(_ []int64, n int64) (int64, bool) { return 2*n + 1, true }

// inverting is raw that says its bytes are the elements when they are not.
type inverting struct{ raw }

func (*inverting) Encode(dst []byte, src codec.Block) ([]byte, error) {
	for _, b := range src.Data {
		dst = append(dst, ^b)
	}
	return dst, nil
}

func (*inverting) Decode(dst *codec.Block, src []byte) error {
	if len(src) != len(dst.Data) {
		return codec.ErrCorrupt
	}
	for i, b := range src {
		dst.Data[i] = ^b
	}
	return nil
}

// reverse reverses the axes.
type reverse struct{ rank, size int }

func (r *reverse) Bind(s codec.Spec) (codec.Spec, error) {
	r.rank, r.size = s.Rank, s.Type.Size()
	return s, nil
}

func (r *reverse) Order() []int {
	var order []int
	for i := range r.rank {
		order = append(order, r.rank-1-i)
	}
	return order
}

func (r *reverse) EncodedShape(dst, shape []int64) ([]int64, error) {
	for _, axis := range r.Order() {
		dst = append(dst, shape[axis])
	}
	return dst, nil
}

func (r *reverse) Encode(dst *codec.Block, src codec.Block) error {
	copy(dst.Data, Permuted(src, r.Order(), r.size))
	return nil
}

func (r *reverse) Decode(dst *codec.Block, src codec.Block) error { return r.Encode(dst, src) }

// unchanged is reverse that leaves the elements where they are.
type unchanged struct{ reverse }

func (*unchanged) Encode(dst *codec.Block, src codec.Block) error {
	copy(dst.Data, src.Data)
	return nil
}
func (*unchanged) Decode(dst *codec.Block, src codec.Block) error {
	copy(dst.Data, src.Data)
	return nil
}

// forgetful is reverse that does not append.
type forgetful struct{ reverse }

func (f *forgetful) EncodedShape(_, shape []int64) ([]int64, error) {
	return f.reverse.EncodedShape(nil, shape)
}

// lossy is reverse that loses a bit.
type lossy struct{ reverse }

func (l *lossy) Decode(dst *codec.Block, src codec.Block) error {
	err := l.reverse.Decode(dst, src)
	for i := range dst.Data {
		dst.Data[i] &^= 1
	}
	return err
}

func TestWrongArrayCodecs(t *testing.T) {
	for want, c := range map[string]any{
		"error is <nil>":             &careless{},
		"is not Uncounted":           &padding{},
		"EncodedSize says":           &doubling{},
		"is transparent, but":        &inverting{},
		"not what Order says":        &unchanged{},
		"does not append":            &forgetful{},
		"decoded other values":       &lossy{},
		"is not a codec of any kind": fmt.Stringer(nil),
		"int is not a codec":         7,
	} {
		err := Test(func() any { return c }, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: want a failure with %q, got %v", c, want, err)
		}
	}
	if err := Test(func() any { return new(lossy) }, &Options{Lossy: true}); err != nil {
		t.Errorf("lossy: %v", err)
	}
}

func TestSeeds(t *testing.T) {
	if n := len(seeds(framed{})); n < 20 {
		t.Errorf("%d seeds", n)
	}
}

// TestOffsets uses elements of different width.
func TestOffsets(t *testing.T) {
	varying := codec.Spec{Rank: 2}
	block := newBlock(varying.Type, []int64{3, 4}, newRand())
	if len(block.Offsets) != 13 || block.Offsets[12] != int64(len(block.Data)) {
		t.Errorf("offsets %d for %d bytes", block.Offsets, len(block.Data))
	}
	if err := same(block, block, new(Options)); err != nil {
		t.Error(err)
	}
	if err := same(emptyBlock(varying.Type, block.Shape), block, new(Options)); err == nil {
		t.Error("an empty block passes for one of texts")
	}
}

func TestPermuted(t *testing.T) {
	src := codec.Block{Shape: []int64{2, 3}, Data: []byte("abcdef")}
	if got := string(Permuted(src, []int{1, 0}, 1)); got != "adbecf" {
		t.Errorf("permuted %q", got)
	}
}

func FuzzFramed(f *testing.F) { Fuzz(f, func() any { return framed{} }) }

func ExampleTest() {
	err := Test(func() any { return new(raw) }, nil)
	fmt.Println(err)
	// Output: <nil>
}
