// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"bytes"
	"hash/maphash"
	"slices"
)

// seed makes the hashes of member names unpredictable, so that no document can force
// collisions.
var seed = maphash.MakeSeed()

// key identifies a member name: the high half is the hash of the unescaped text, the low
// half its offset. Eight bytes suffice, so keys take hardly more memory than the shortest
// members. As a single number it sorts by hash and then by position, twice as fast as a
// pair.
type key uint64

func (s *scanner) key(i, end int) key {
	hash := maphash.Bytes(seed, s.name(i, end))
	return key(hash<<32 | uint64(uint32(i))) // documents have less than 2 GiB
}

func (k key) hash() uint32 { return uint32(k >> 32) }
func (k key) off() int     { return int(uint32(k)) }

// name returns the unescaped text of the string in [i, end). It is valid until the next
// call.
func (s *scanner) name(i, end int) []byte {
	raw := s.data[i+1 : end-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	s.text = appendUnescaped(s.text[:0], raw)
	return s.text
}

// unique reports whether all names from first on are different.
func (s *scanner) unique(first int) bool {
	keys := s.keys[first:]
	twice := -1
	if len(keys) <= fewNames {
		twice = s.twiceAmongFew(keys)
	} else {
		twice = s.twice(keys)
	}
	if twice < 0 || s.mayRepeat(twice) {
		return true
	}
	s.failTwice(twice)
	return false
}

// fewNames is the number of names up to which comparing all pairs is faster than sorting.
const fewNames = 12

// twiceAmongFew returns the offset of the first repeated name, or -1. It compares each
// name with all earlier ones.
func (s *scanner) twiceAmongFew(keys []key) int {
	for i := range keys {
		for j := range i {
			// Compare hashes first. The text must be unescaped for a comparison.
			if keys[i].hash() == keys[j].hash() && s.same(keys[i], keys[j]) {
				return keys[i].off()
			}
		}
	}
	return -1
}

// twice is twiceAmongFew for any number of names, which it sorts.
func (s *scanner) twice(keys []key) int {
	slices.Sort(keys)
	twice := -1
	for i := 1; i < len(keys); i++ {
		// Report the first repetition in the document, as twiceAmongFew does.
		if s.isKnown(keys, i) && (twice < 0 || keys[i].off() < twice) {
			twice = keys[i].off()
		}
	}
	return twice
}

// mayRepeat reports whether the object that contains the name at off may repeat names.
// Finding its pointer takes a pass over the document, so only one object may have this
// permission.
func (s *scanner) mayRepeat(off int) bool {
	if s.repeated == "" || pointer(s.data, off) != s.repeated {
		return false
	}
	s.repeated = ""
	return true
}

// mayHaveHalves reports whether the object that contains the name at off may have halves
// of surrogate pairs in its names. first is the begin of the keys of that object.
func (s *scanner) mayHaveHalves(off, first int) bool {
	if s.loose == 0 && pointer(s.data, off) == s.repeated {
		s.loose = first + 1
	}
	return s.loose == first+1
}

// isKnown reports whether one of the sorted keys before i has the same text. Different
// texts rarely have the same hash: some thousand pairs among ten million names.
func (s *scanner) isKnown(keys []key, i int) bool {
	for j := i - 1; j >= 0 && keys[j].hash() == keys[i].hash(); j-- {
		if s.same(keys[i], keys[j]) {
			return true
		}
	}
	return false
}

func (s *scanner) same(a, b key) bool {
	// name reuses its buffer, so keep the first text.
	x := bytes.Clone(s.name(a.off(), skipText(s.data, a.off())))
	return bytes.Equal(x, s.name(b.off(), skipText(s.data, b.off())))
}

func (s *scanner) failTwice(off int) {
	end := skipText(s.data, off)
	value := space(s.data, end) + 1
	name := Abbreviate(s.name(off, end))
	s.err = &Error{pointer(s.data, value), int64(off), because(ErrDuplicate, "member %q is given twice (byte %d)", name, off)}
}
