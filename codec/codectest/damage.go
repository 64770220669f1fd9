// SPDX-License-Identifier: Apache-2.0

package codectest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"runtime"

	"varve.dev/zarr/codec"
)

// few limits the inputs that are altered at every byte; longer ones are altered at some.
const few = 150

// places returns offsets below n: all, or some.
func places(n int) []int {
	var list []int
	if n <= few {
		for i := range n {
			list = append(list, i)
		}
		return list
	}
	list = append(list, 0, 1, n-4, n-1)
	for r := newRand(); len(list) < 24; {
		list = append(list, r.IntN(n))
	}
	return list
}

func truncated(p pair) error {
	for _, n := range places(len(p.encoded)) {
		out, err := p.decode(p.encoded[:n], len(p.plain))
		if !errors.Is(err, codec.ErrCorrupt) && !p.isWhole(p.encoded[:n], out) {
			return fmt.Errorf("the first %d of %d bytes: error is %v, want ErrCorrupt", n, len(p.encoded), err)
		}
	}
	return nil
}

// isWhole reports whether src is the encoded form of out. Then no codec can detect that
// bytes are missing.
func (p pair) isWhole(src, out []byte) bool {
	whole, err := p.c.Encode(nil, out)
	return err == nil && bytes.Equal(whole, src)
}

func trailing(p pair) error {
	for _, b := range []byte{0, 0x50, 0xff} {
		for _, n := range []int{1, 3, 4, 10, 100} {
			src := append(bytes.Clone(p.encoded), bytes.Repeat([]byte{b}, n)...)
			if _, err := p.decode(src, len(p.plain)); !errors.Is(err, codec.ErrCorrupt) {
				return fmt.Errorf("%d bytes %#x after the end: error is %v, want ErrCorrupt", n, b, err)
			}
		}
	}
	return nil
}

// damaged decodes with single bits flipped. With a checksum, this must fail or give the
// right bytes, because formats have bits without meaning.
func (p pair) damaged(checksum bool) error {
	src := bytes.Clone(p.encoded)
	for _, i := range places(len(src)) {
		for bit := range 8 {
			// Of a long input, flip only one bit of each byte.
			if len(src) > few && bit != i%8 {
				continue
			}
			src[i] ^= 1 << bit
			if err := p.sane(src, checksum); err != nil {
				return fmt.Errorf("bit %d of byte %d flipped: %w", bit, i, err)
			}
			src[i] ^= 1 << bit
		}
	}
	return nil
}

// sane checks that decoding any source returns a proper error, or no more bytes than
// allowed.
func (p pair) sane(src []byte, checksum bool) error {
	out, err := p.decode(src, len(p.plain))
	switch {
	case err != nil && !errors.Is(err, codec.ErrCorrupt):
		return fmt.Errorf("error is %v, want ErrCorrupt", err)
	case err != nil:
		return nil
	case len(out) > len(p.plain):
		return fmt.Errorf("decodes to %d bytes, the limit is %d", len(out), len(p.plain))
	case checksum && !bytes.Equal(out, p.plain):
		return errors.New("decodes to wrong bytes")
	}
	return nil
}

func garbage(c codec.BytesBytes) error {
	r, all := newRand(), noise(1<<12)
	for range 500 {
		from := r.IntN(len(all))
		src := all[from : from+r.IntN(len(all)-from)]
		if err := (pair{c: c, plain: zeros(1000)}).sane(src, false); err != nil {
			return err
		}
	}
	return nil
}

const (
	bombSize  = 64 << 20
	bombTimes = bombSize / largest // of the longest input
	bombLimit = 1 << 10
	bombAlloc = 2 << 20
)

// bomb decodes a short form of many bytes with a small limit. It must stop before it
// allocates much.
func bomb(c codec.BytesBytes, o *Options) error {
	multiple, size := max(1, o.Multiple), min(bombSize, bombTimes*cmp.Or(o.Largest, largest))
	src, err := c.Encode(nil, zeros(size/multiple*multiple))
	if err != nil {
		return err
	}
	p := pair{c: c, encoded: src}
	least := uint64(size)
	for range 3 { // the first fills pools; other tests may run at the same time
		taken, err := p.allocated(bombLimit)
		if !errors.Is(err, codec.ErrCorrupt) {
			return fmt.Errorf("%d bytes into %d: error is %v, want ErrCorrupt", size, bombLimit, err)
		}
		least = min(least, taken)
	}
	if allowed := uint64(bombAlloc + o.Memory); least > allowed {
		return fmt.Errorf("%d bytes into %d: takes %d bytes of memory, want at most %d", size, bombLimit, least, allowed)
	}
	return nil
}

// allocated decodes and returns the bytes that were allocated on the way.
func (p pair) allocated(most int) (uint64, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := p.decode(p.encoded, most)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, err
}
