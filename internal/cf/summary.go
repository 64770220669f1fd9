// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/extremes"
	"varve.dev/zarr/internal/strided"
)

// Summary says what the elements of a chunk have in common.
type Summary struct {
	// Minimum and Maximum are stored elements, in host byte order. They are nil if all
	// elements are missing.
	Minimum, Maximum []byte
	// Missing counts the missing elements and NaN, and Fill those that equal the fill
	// value: NaN equals NaN here, and -0 equals 0.
	Missing, Fill int64
}

// Type returns the data type of the elements.
func (c *Comparer) Type() dtype.Type { return c.typ }

// CanSummarize returns an error that wraps [zarr.ErrUnsupported] if there are no
// summaries of the elements.
func (c *Comparer) CanSummarize() error {
	if c.scale == nil {
		return fmt.Errorf("%w: there are no statistics of text yet, and the elements are of type %s", zarr.ErrUnsupported, c.typ)
	}
	return nil
}

// Summarize summarizes elements, which are those of an array in memory. fill is the fill
// value. It panics if CanSummarize returns an error.
func (c *Comparer) Summarize(elems, fill []byte) (s Summary) {
	s, elems = c.summarizeFast(elems, fill)
	if len(elems) == 0 {
		return s
	}
	c.Merge(&s, c.summarizeRanks(elems, fill))
	return s
}

// summarizeFast summarizes elements from the first one on, of the common types, and
// returns the others. Its numbers are those of summarizeRanks.
func (c *Comparer) summarizeFast(elems, fill []byte) (s Summary, rest []byte) {
	n, ok := c.scale.numbers()
	if !ok {
		return s, elems
	}
	filled := c.rank(fill)
	n.Fill = c.scale.key(n, filled)
	f, done := n.Scan(elems)
	if done == 0 {
		return s, elems
	}
	if s.Missing, s.Fill = f.Missing, f.Fill; n.Float && filled == nanRank {
		s.Fill = f.NaN
	}
	if s.Missing < int64(done/n.Size) {
		element := func(key int64) []byte {
			var bits [8]byte
			if binary.NativeEndian.PutUint64(bits[:], n.Bits(key)); isBigEndian {
				return bits[8-n.Size:]
			}
			return bits[:n.Size]
		}
		s.Minimum, s.Maximum = element(f.Least), element(f.Most)
	}
	return s, elems[done:]
}

// isBigEndian reports whether the last byte of a number in memory is the least.
var isBigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// numbers returns how package extremes reads the elements, without the fill value. It
// returns false if it does not.
func (s *scale) numbers() (n *extremes.Numbers, ok bool) {
	n = &extremes.Numbers{Size: s.stored.Size()}
	switch k := s.stored.Kind(); {
	case s.stored == dtype.Float32 || s.stored == dtype.Float64:
		n.Float = true
	case s.stored == dtype.Bool, k == dtype.KindUint && s.most == math.MaxUint64>>(64-8*n.Size):
	case k == dtype.KindInt && s.most == sign+math.MaxUint64>>(65-8*n.Size), k == dtype.KindDatetime, k == dtype.KindTimedelta:
		n.Signed = true
	default:
		return nil, false
	}
	for _, rank := range s.absent {
		if n.Float && rank == nanRank {
			continue
		}
		key := s.key(n, rank)
		if n.HasAbsent && n.Absent != key {
			return nil, false
		}
		n.Absent, n.HasAbsent = key, true
	}
	return n, true
}

// key returns the key of the number with a rank.
func (s *scale) key(n *extremes.Numbers, rank uint64) int64 {
	switch {
	case n.Float && n.Size == 4:
		return n.Key(uint64(math.Float32bits(float32(floatOf(rank)))))
	case n.Float:
		return n.Key(math.Float64bits(floatOf(rank)))
	case n.Signed:
		return int64(rank ^ sign)
	}
	return n.Key(rank)
}

// summarizeRanks is Summarize for elements of any type.
func (c *Comparer) summarizeRanks(elems, fill []byte) (s Summary) {
	var ranks [stripe]uint64
	size := c.typ.Size()
	filled, least, most := c.rank(fill), uint64(math.MaxUint64), uint64(0)
	for len(elems) > 0 {
		k := min(stripe, len(elems)/size)
		c.scale.load(ranks[:k], elems[:k*size])
		numbers := ranks[:k]
		s.Fill += int64(count(numbers, filled))
		missing, low, high := c.scale.extent(numbers)
		if s.Missing += int64(missing); missing < k {
			if low < least || s.Minimum == nil {
				i := slices.Index(numbers, low)
				least, s.Minimum = low, bytes.Clone(elems[i*size:][:size])
			}
			if high > most || s.Maximum == nil {
				i := slices.Index(numbers, high)
				most, s.Maximum = high, bytes.Clone(elems[i*size:][:size])
			}
		}
		elems = elems[k*size:]
	}
	return s
}

// SummarizeView is Summarize for elements that need not be contiguous.
func (c *Comparer) SummarizeView(v strided.View, fill []byte) Summary {
	if data, ok := v.Bytes(); ok {
		return c.Summarize(data, fill)
	}
	n := v.ElementBytes()
	room := budget.Get(n)
	defer room.Put()
	data := room.Bytes(n)
	strided.Copy(strided.Contiguous(data, v.Shape, v.Size), v)
	return c.Summarize(data, fill)
}

// count returns how many ranks are the given one.
func count(ranks []uint64, rank uint64) (n int) {
	for _, r := range ranks {
		if r == rank {
			n++
		}
	}
	return n
}

// extent returns how many of some elements are missing, and the least and the largest
// rank of the others. It changes the ranks of missing ones.
func (s *scale) extent(ranks []uint64) (missing int, low, high uint64) {
	low = math.MaxUint64
	if s.most == math.MaxUint64 { // the rank of a number, and of no missing element
		for _, r := range ranks {
			if slices.Contains(s.absent, r) {
				missing++
			} else {
				low, high = min(low, r), max(high, r)
			}
		}
		return missing, low, high
	}
	// Give all missing elements the largest rank, as NaN has it: it is never the least,
	// and one more is 0, which is never the largest. So there is no branch.
	for _, a := range s.absent {
		if a == nanRank {
			continue
		}
		for i, r := range ranks {
			if r == a {
				ranks[i] = nanRank
			}
		}
	}
	for _, r := range ranks {
		low, high = min(low, r), max(high, r+1)
		if r == nanRank {
			missing++
		}
	}
	return missing, low, high - 1
}

// Orders returns the orders that elements may have beside a value, by order plus one. n
// is the number of elements of the summary. It returns false if the summary is none of
// such elements.
func (c *Comparer) Orders(s Summary, n int64, v Value) (possible [4]bool, ok bool) {
	if s.Missing < 0 || s.Missing > n || n == 0 {
		return possible, false
	}
	possible[Absent+1] = s.Missing > 0
	if s.Missing == n {
		return possible, true
	}
	var ends [2]Order
	if len(s.Minimum) != c.typ.Size() || len(s.Maximum) != c.typ.Size() {
		return possible, false
	}
	c.Compare(ends[:], slices.Concat(s.Minimum, s.Maximum), v)
	if ends[0] == Absent || ends[1] == Absent {
		return possible, false
	}
	// Ranks rise with the stored numbers, and orders rise or fall with the ranks. So no
	// element between the ends has an order that is not between theirs.
	for o := min(ends[0], ends[1]); o <= max(ends[0], ends[1]); o++ {
		possible[o+1] = true
	}
	return possible, true
}

// AppendMeaning appends what the numbers of a summary depend on besides the elements: as
// which type the elements are read, and the ranks of missing ones, each once and in
// order. It panics if CanSummarize returns an error.
func (c *Comparer) AppendMeaning(dst []byte) []byte {
	dst = append(dst, c.scale.stored.String()...)
	ranks := slices.Clone(c.scale.absent)
	slices.Sort(ranks)
	for _, r := range slices.Compact(ranks) {
		dst = fmt.Appendf(dst, " %016x", r)
	}
	return dst
}

// Merge adds a summary of other elements of the array to s.
func (c *Comparer) Merge(s *Summary, o Summary) {
	s.Missing, s.Fill = s.Missing+o.Missing, s.Fill+o.Fill
	switch {
	case o.Minimum == nil:
	case s.Minimum == nil:
		s.Minimum, s.Maximum = o.Minimum, o.Maximum
	default:
		if c.rank(o.Minimum) < c.rank(s.Minimum) {
			s.Minimum = o.Minimum
		}
		if c.rank(o.Maximum) > c.rank(s.Maximum) {
			s.Maximum = o.Maximum
		}
	}
}

// Equal reports whether two summaries say the same.
func (c *Comparer) Equal(a, b Summary) bool {
	if a.Missing != b.Missing || a.Fill != b.Fill || (a.Minimum == nil) != (b.Minimum == nil) {
		return false
	}
	return a.Minimum == nil || c.rank(a.Minimum) == c.rank(b.Minimum) && c.rank(a.Maximum) == c.rank(b.Maximum)
}

// rank returns the rank of an element.
func (c *Comparer) rank(elem []byte) uint64 {
	var rank [1]uint64
	c.scale.load(rank[:], elem)
	return rank[0]
}
