// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"varve.dev/zarr/internal/strictjson"
)

// members returns the named members of an object. The first ones are required, the others
// are optional, and no other members are permitted.
func members(v strictjson.Value, required int, names ...string) ([]strictjson.Value, error) {
	if v.Kind() != strictjson.Object {
		return nil, located(v, "configuration must be an object")
	}
	found := make([]strictjson.Value, len(names))
	for name, value := range v.Named() {
		i := slices.IndexFunc(names, func(n string) bool { return n == string(name) })
		if i < 0 {
			return nil, located(value, "unknown member %q of the configuration, which has %q", strictjson.Abbreviate(name), names)
		}
		found[i] = value
	}
	if slices.ContainsFunc(found[:required], strictjson.Value.IsZero) {
		return nil, located(v, "configuration must have the members %q", names[:required])
	}
	return found, nil
}

// axisCuts reads a list with one entry per axis.
func axisCuts(list strictjson.Value, cut func(strictjson.Value) (Cut, error)) ([]Cut, error) {
	if list.Kind() != strictjson.Array {
		return nil, located(list, "must be a list with one entry per axis")
	}
	var cuts []Cut
	for i, v := range list.Elements() {
		// Check this first, because a hostile document may have a very long list.
		if i == MaxRank {
			return nil, located(v, "at most %d axes are possible", MaxRank)
		}
		c, err := cut(v)
		if err != nil {
			return nil, onAxis(i, err)
		}
		cuts = append(cuts, c)
	}
	return cuts, nil
}

// everyCut reads a bare integer.
func everyCut(v strictjson.Value) (Cut, error) {
	n, err := integer(v)
	return Every(n), err
}

// shapeCut reads a bare integer, or a list of edges and runs.
func shapeCut(v strictjson.Value) (Cut, error) {
	if v.Kind() != strictjson.Array {
		return everyCut(v)
	}
	c := listed(listSource(v))
	// [[1, 1]] stands for no edges if the extent is 0, and is an ordinary run otherwise.
	c.vacant = isPlaceholder(v)
	return c, c.err
}

// listSource returns a source of the edges of one axis: integers and pairs
// [length, count].
func listSource(list strictjson.Value) runSource {
	if packed := pack(list); packed != nil {
		return packedSource(packed, list)
	}
	return spelledSource(list)
}

// spelledSource returns a source that reads a list from its text each time.
func spelledSource(list strictjson.Value) runSource {
	return func(add func(length, count int64) error) error {
		for _, v := range list.Elements() {
			length, count, err := edge(v)
			if err != nil {
				return err
			}
			if err := add(length, count); err != nil {
				return notAdded(err, v)
			}
		}
		return nil
	}
}

// notAdded adds the position of v in the document to err.
func notAdded(err error, v strictjson.Value) error {
	return fmt.Errorf("%w at %w", err, v.Errorf("%s", v.Brief()))
}

// mostPacked is the number of integers up to which a list is read once, into at most
// 8 MiB. A longer list is read from its text twice.
const mostPacked = 1 << 21

// pack reads a list into integers. An edge is its length; a pair is its count, negated,
// and its length. They have 32 bits, because an edge in a document may take two bytes.
// pack returns nil if the list is too long or has longer integers, or if it has a fault,
// which [spelledSource] then reports.
func pack(list strictjson.Value) []int32 {
	// A pair has one comma more than an edge, and one integer more.
	n := bytes.Count(list.Raw(), []byte(",")) + 1
	if n > mostPacked {
		return nil
	}
	packed := make([]int32, 0, n)
	for _, v := range list.Elements() {
		length, count, err := edge(v)
		// Negative numbers would be taken for counts. spelledSource reports the fault.
		if err != nil || length < 1 || count < 1 || max(length, count) > math.MaxInt32 {
			return nil
		}
		if v.Kind() == strictjson.Array {
			packed = append(packed, int32(-count))
		}
		packed = append(packed, int32(length))
	}
	return packed
}

// packedSource returns a source of a packed list. It reports faults as spelledSource
// does.
func packedSource(packed []int32, list strictjson.Value) runSource {
	return func(add func(length, count int64) error) error {
		count, entry := int64(1), 0
		for _, n := range packed {
			if n < 0 {
				count = -int64(n)
				continue
			}
			if err := add(int64(n), count); err != nil {
				return notAdded(err, list.Element(entry))
			}
			count, entry = 1, entry+1
		}
		return nil
	}
}

// edge reads an entry of a list: a length, or a pair [length, count].
func edge(v strictjson.Value) (length, count int64, err error) {
	if v.Kind() != strictjson.Array {
		length, err = integer(v)
		return length, 1, err
	}
	// The fast path for the usual spelling. Everything else, and every fault, takes the
	// long way.
	if length, count, ok := v.ShortPair(); ok {
		return length, count, nil
	}
	if v.Len() != 2 {
		return 0, 0, located(v, "a run must be a pair [length, count]")
	}
	var pair [2]int64
	for i, n := range v.Elements() {
		if pair[i], err = integer(n); err != nil {
			return 0, 0, err
		}
	}
	return pair[0], pair[1], nil
}

func integer(v strictjson.Value) (int64, error) {
	n, err := v.Int64()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return n, nil
}

func located(v strictjson.Value, format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, v.Errorf(format, args...))
}

func regularCuts(v strictjson.Value) ([]Cut, error) {
	m, err := members(v, 1, "chunk_shape")
	if err != nil {
		return nil, err
	}
	return axisCuts(m[0], everyCut)
}

// isPlaceholder reports whether a list of edges stands for none. It reads at most two
// entries.
func isPlaceholder(list strictjson.Value) bool {
	found := false
	for i, v := range list.Elements() {
		length, count, err := edge(v)
		if found = i == 0 && v.Kind() == strictjson.Array && err == nil && length == 1 && count == 1; !found {
			break
		}
	}
	return found
}
