// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/test/memtest"
)

// lie is an entry of an index for inner chunk 1 of four, given the bytes of an inner
// chunk, and the first and the last byte that inner chunks may have.
type lie struct {
	name  string
	entry func(inner, first, last uint64) (off, n uint64)
	wild  bool // it leads out of the shard, or no inner chunk has so many bytes: it cannot be taken over
	sound bool
}

var lies = []lie{
	{"offset behind the end", func(inner, _, last uint64) (uint64, uint64) { return last + 1<<20, inner }, true, false},
	{"offset at the end", func(inner, _, last uint64) (uint64, uint64) { return last, inner }, true, false},
	{"length beyond the end", func(inner, _, last uint64) (uint64, uint64) { return last - inner + 1, inner }, true, false},
	{"offset of 2^63", func(inner, _, _ uint64) (uint64, uint64) { return 1 << 63, inner }, true, false},
	{"length of 2^63", func(_, first, _ uint64) (uint64, uint64) { return first, 1 << 63 }, true, false},
	{"length of 2^62", func(_, first, _ uint64) (uint64, uint64) { return first, 1 << 62 }, true, false},
	{"the sum wraps to what would do", func(inner, first, _ uint64) (uint64, uint64) { return -inner, 2*inner + first }, true, false},
	{"the sum wraps to 0", func(_, first, _ uint64) (uint64, uint64) { return first + 1, -first - 1 }, true, false},
	{"the offset alone is missing", func(inner, _, _ uint64) (uint64, uint64) { return absent, inner }, true, false},
	{"the length alone is missing", func(_, first, _ uint64) (uint64, uint64) { return first, absent }, true, false},
	{"all bytes", func(_, first, last uint64) (uint64, uint64) { return first, last - first }, true, false},
	{"no bytes", func(_, first, _ uint64) (uint64, uint64) { return first, 0 }, false, false},
	{"no bytes at the end", func(_, _, last uint64) (uint64, uint64) { return last, 0 }, false, false},
	{"a byte less", func(inner, first, _ uint64) (uint64, uint64) { return first, inner - 1 }, false, false},
	{"a byte more", func(inner, first, _ uint64) (uint64, uint64) { return first, inner + 1 }, true, false},
	{"bytes of another", func(inner, first, _ uint64) (uint64, uint64) { return first, inner }, false, true},
	{"bytes of two others", func(inner, first, _ uint64) (uint64, uint64) { return first + inner/2, inner }, false, true},
}

// within is a lie about bytes of the index.
func within(size int64, atStart bool) []lie {
	at := func(by int64) func(inner, first, last uint64) (uint64, uint64) {
		return func(inner, _, last uint64) (uint64, uint64) {
			if atStart {
				return uint64(by), inner
			}
			return last - min(uint64(by), inner/2), inner
		}
	}
	return []lie{{"in the index", at(0), true, false}, {"across the border of the index", at(size - 2), true, false}}
}

// hostile is a shard with a lie in it.
type hostile struct {
	lie
	*coder
	shape []int64
	inner int64 // elements
	shard []byte
	want  []byte // elements, where they can be read
}

// makeHostile makes a shard of four inner chunks, one of which has the lie as its entry.
func makeHostile(t testing.TB, l lie, n int64, index, location string, env codec.Environment) *hostile {
	t.Helper()
	h := &hostile{lie: l, coder: newCoder(t, sharded([]int64{n / 4}, jsonBytes, index, location), 1, env), shape: []int64{n}, inner: n / 4}
	sound := written(t, h.coder, h.shape)
	lay := newLayout(t, h.coder, n)
	x, err := h.indexOf(lay, sound)
	if err != nil {
		t.Fatal(err)
	}
	first, last := uint64(0), uint64(len(sound))
	payload := sound[:int64(len(sound))-lay.index]
	if h.atStart {
		first, payload = uint64(lay.index), sound[lay.index:]
	} else {
		last -= uint64(lay.index)
	}
	x.entries[2], x.entries[3] = l.entry(uint64(2*h.inner), first, last)
	h.shard = makeShard(t, h.coder, h.shape, payload, x.entries...)
	h.want = values(int(n))
	if l.sound {
		off := x.entries[2]
		copy(h.want[2*h.inner:4*h.inner], h.shard[off:])
	}
	return h
}

// kinds has the kinds of shards to test.
func kinds(do func(name string, n int64, index, location string)) {
	for _, n := range []int64{small, large} {
		for _, index := range []string{jsonIndex, jsonBytes, jsonBig} {
			for _, location := range []string{"start", "end"} {
				if n == large && (index != jsonIndex || location != "end") {
					continue
				}
				do(fmt.Sprintf("%d elements, index %s at the %s", n, index, location), n, index, location)
			}
		}
	}
}

// allLies calls do for every lie.
func allLies(t *testing.T, do func(t *testing.T, h func(codec.Environment) *hostile)) {
	kinds(func(name string, n int64, index, location string) {
		for _, l := range append(within(64, location == "start"), lies...) {
			t.Run(name+": "+l.name, func(t *testing.T) {
				do(t, func(env codec.Environment) *hostile { return makeHostile(t, l, n, index, location, env) })
			})
		}
	})
}

// TestLiesRead reads shards with lies, whole and in parts, from memory and from a store,
// with the index cached and not.
func TestLiesRead(t *testing.T) {
	racing.Skip(t)
	allLies(t, func(t *testing.T, makeLie func(codec.Environment) *hostile) {
		h := makeLie(codec.Environment{})
		got, err := stored(h.coder, h.shape, h.shard)
		h.check(t, got, 0, err, true)
		src := newObject(t, memtest.New(), h.shard)
		for range 2 {
			for k := range int64(4) {
				got := make([]byte, 2)
				at := (k+1)*h.inner - 1
				src.pinned = nil
				err := h.DecodePart(t.Context(), work(), coding.Extract{
					Shape: h.shape, Part: strided.Part{Start: []int64{at}, Step: []int64{1}, Count: []int64{1}}, Into: strided.Contiguous(got, []int64{1}, 2)}, src)
				h.check(t, got, at, err, k == 1)
			}
		}
	})
}

// check expects the elements from one on, or an error that names inner chunk 1 if that is
// touched and its entry is a lie.
func (h *hostile) check(t *testing.T, got []byte, from int64, err error, touched bool) {
	t.Helper()
	if touched && !h.sound {
		wantCorrupt(t, err, 1)
		return
	}
	if err != nil || !bytes.Equal(got, h.want[2*from:2*from+int64(len(got))]) {
		t.Errorf("elements from %d on differ (%v)", from, err)
	}
}

// TestLiesWritten changes shards with lies in every way. Inner chunks that could be read
// before still can, those that could not still cannot, and written ones are repaired.
func TestLiesWritten(t *testing.T) {
	racing.Skip(t)
	allLies(t, func(t *testing.T, makeLie func(codec.Environment) *hostile) {
		ways(func(name string, env codec.Environment, splices, patches bool) {
			h := makeLie(env)
			if h.shape[0] == large && !splices {
				return // which is as with small ones
			}
			write := func(start, n int64) ([]byte, error) {
				e := edit(h.shape, []int64{start}, []int64{n}, bytes.Repeat([]byte{1, 2}, int(n)))
				e.Splices, e.Patches = splices, patches
				return apply(h.coder, e, h.shard)
			}
			if _, err := write(h.inner, 1); !h.sound {
				wantCorrupt(t, err, 1)
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, part := range [][2]int64{{2 * h.inner, 1}, {3 * h.inner, h.inner}} {
				shard, err := write(part[0], part[1])
				if err != nil {
					if !h.wild {
						t.Errorf("%s: %v", name, err)
					}
					wantCorrupt(t, err, 1)
					continue
				}
				copy(h.want[2*part[0]:], bytes.Repeat([]byte{1, 2}, int(part[1])))
				h.compare(t, shard, name, !h.sound)
				copy(h.want[2*part[0]:], values(int(4 * h.inner))[2*part[0]:2*(part[0]+part[1])])
			}
			shard, err := write(h.inner, h.inner)
			if err != nil {
				t.Errorf("%s: writing all of it: %v", name, err)
				return
			}
			copy(h.want[2*h.inner:], bytes.Repeat([]byte{1, 2}, int(h.inner)))
			h.compare(t, shard, name+", all of it", false)
		})
	})
}

// compare reads the inner chunks of a shard one by one.
func (h *hostile) compare(t *testing.T, shard []byte, name string, lost bool) {
	t.Helper()
	for k := range int64(4) {
		got := make([]byte, 2*h.inner)
		err := h.DecodePart(t.Context(), work(), coding.Extract{
			Shape: h.shape, Part: strided.Part{Start: []int64{k * h.inner}, Step: []int64{1}, Count: []int64{h.inner}}, Into: strided.Contiguous(got, []int64{h.inner}, 2)}, coding.Stored(shard))
		switch {
		case lost && k == 1:
			wantCorrupt(t, err, 1)
		case err != nil || !bytes.Equal(got, h.want[2*k*h.inner:2*(k+1)*h.inner]):
			t.Errorf("%s: inner chunk %d differs (%v)", name, k, err)
		}
	}
}

// TestLiesNested reads a shard with a lie in an inner shard. The error names both.
func TestLiesNested(t *testing.T) {
	for _, location := range []string{"start", "end"} {
		for _, l := range append(within(64, location == "start"), lies...) {
			t.Run(location+l.name, func(t *testing.T) {
				h := makeHostile(t, l, small, jsonIndex, location, codec.Environment{})
				c := newCoder(t, sharded([]int64{small}, nested(sharded([]int64{small / 4}, jsonBytes, jsonIndex, location)), jsonIndex, "end"), 1, codec.Environment{})
				shard := makeShard(t, c, []int64{3 * small}, h.shard, absent, absent, 0, uint64(len(h.shard)))
				_, err := stored(c, []int64{3 * small}, shard)
				var inner *InnerError
				switch {
				case l.sound:
					if err != nil {
						t.Error(err)
					}
				case !errors.As(err, &inner) || inner.Index[0] != 1:
					t.Errorf("error is %v, want inner chunk 1", err)
				default:
					wantCorrupt(t, inner.Err, 1)
				}
			})
		}
	}
}

// TestCountsLie reads shards whose index has too few or too many entries. With a checksum
// that is an error. Without one it is an error unless the entries happen to fit.
func TestCountsLie(t *testing.T) {
	for _, location := range []string{"start", "end"} {
		for _, chunks := range []int64{1, 3, 5, 8} {
			t.Run(fmt.Sprint(location, chunks), func(t *testing.T) {
				c := newCoder(t, sharded([]int64{2}, jsonBytes, jsonIndex, location), 1, codec.Environment{})
				shard := written(t, c, []int64{2 * chunks})
				if _, err := stored(c, []int64{8}, shard); !errors.Is(err, codec.ErrCorrupt) {
					t.Errorf("error is %v, want ErrCorrupt", err)
				}
				src := newObject(t, memtest.New(), shard)
				err := c.DecodePart(t.Context(), work(), coding.Extract{
					Shape: []int64{8}, Part: strided.Part{Start: []int64{0}, Step: []int64{1}, Count: []int64{1}}, Into: strided.Contiguous(make([]byte, 2), []int64{1}, 2)}, src)
				if !errors.Is(err, codec.ErrCorrupt) {
					t.Errorf("error is %v, want ErrCorrupt", err)
				}
			})
		}
	}
}
