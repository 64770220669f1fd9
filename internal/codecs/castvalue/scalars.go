// SPDX-License-Identifier: Apache-2.0

package castvalue

import (
	"fmt"
	"math"
	"sync"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/number"
)

// few is the largest number of mapped values for which a linear search is faster than a
// map.
const few = 4

// scalars maps values of one data type to elements of another.
type scalars struct {
	carrier number.Carrier
	keys    []uint64 // of the first few
	place   map[uint64]int
	values  [][]byte // elements of the target
}

// newScalars returns the map of the pairs, nil if there are none. The first of several
// pairs for one value counts.
func newScalars(pairs []codec.CastPair, source, target dtype.Type) (*scalars, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	f, _ := number.Of(source)
	s := &scalars{carrier: f.Carrier, place: make(map[uint64]int, len(pairs))}
	b := number.NewBlock()
	defer b.Free()
	for i, p := range pairs {
		from, err := parseScalar(source, p[0])
		if err != nil {
			return nil, fmt.Errorf("entry %d: from: %w", i, err)
		}
		to, err := parseScalar(target, p[1])
		if err != nil {
			return nil, fmt.Errorf("entry %d: to: %w", i, err)
		}
		f.Load(b, from)
		k := key(b, f.Carrier, 0)
		// The first of several pairs for a value counts.
		if _, taken := s.place[k]; !taken {
			s.place[k] = len(s.values)
			s.keys, s.values = append(s.keys, k), append(s.values, to)
		}
	}
	return s, nil
}

// parseScalar parses a fill value. It also accepts "+Infinity", as the page of the codec
// in zarr-extensions spells it.
func parseScalar(t dtype.Type, text []byte) ([]byte, error) {
	if string(text) == `"+Infinity"` {
		text = []byte(`"Infinity"`)
	}
	return t.ParseFill(text)
}

// key returns a key that is the same for two numbers of a carrier if they are equal. All
// NaNs have one key, and both zeros have one.
func key(b *number.Block, c number.Carrier, i int) uint64 {
	switch c {
	case number.Signed:
		return uint64(b.I[i])
	case number.Unsigned:
		return b.U[i]
	}
	switch x := b.F[i]; {
	case x == 0:
		return 0
	case math.IsNaN(x):
		return math.Float64bits(math.NaN())
	default:
		return math.Float64bits(x)
	}
}

// find returns the position of the value with a key, or -1.
func (s *scalars) find(k uint64) int {
	if len(s.keys) > few {
		if at, ok := s.place[k]; ok {
			return at
		}
		return -1
	}
	for i, have := range s.keys {
		if have == k {
			return i
		}
	}
	return -1
}

// matches has the mapped elements of a block: their indices, and the positions of their
// values.
type matches struct {
	n         int
	at, place [number.Size]int32
}

var spare = sync.Pool{New: func() any { return new(matches) }}

func (m *matches) free() { spare.Put(m) }

// take finds the numbers of a block that are mapped. It replaces each by 1, which every
// data type has, so that the cast does not fail.
func (s *scalars) take(b *number.Block, n int) *matches {
	m := spare.Get().(*matches)
	m.n = 0
	for i := range n {
		place := s.find(key(b, s.carrier, i))
		if place < 0 {
			continue
		}
		m.at[m.n], m.place[m.n] = int32(i), int32(place)
		m.n++
		b.I[i], b.U[i], b.F[i] = 1, 1, 1
	}
	return m
}

// put writes the values of the matches to dst.
func (s *scalars) put(dst []byte, m *matches) {
	size := len(s.values[0])
	for i := range m.n {
		copy(dst[int(m.at[i])*size:][:size], s.values[m.place[i]])
	}
}
