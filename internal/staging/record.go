// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/store"
)

// Digest is a short hash of the version of a value. It is 0 for a value that does not
// exist.
type Digest uint64

// DigestOf returns the digest of a version. A store without versions gives every value
// the same.
func DigestOf(v store.Version) Digest {
	return DigestOfText(v.String())
}

// DigestOfText returns the digest of a text that identifies elements.
func DigestOfText(text string) Digest {
	sum := sha256.Sum256([]byte(text))
	return Digest(binary.LittleEndian.Uint64(sum[:]) | 1)
}

// digestOrZero is DigestOf, but 0 for the zero version, which the store does not know.
func digestOrZero(v store.Version) Digest {
	if v.IsZero() {
		return 0
	}
	return DigestOf(v)
}

// mixedDigest is the digest of a value that was read in two versions. No version has it.
const mixedDigest Digest = 2

// Fold is a hash of the place of a target chunk, of the pieces of an object of scratch,
// and of the versions of the source chunks that it was made from. It is zero if none of
// them was stored.
type Fold [16]byte

// Record describes a staged chunk.
type Record struct {
	Index []int64 // of the chunk in the target
	Fold  Fold
	// Stored is set if the chunk is stored. Otherwise it has only the fill value.
	Stored bool
	// Version is the digest of the staged value, or 0 if it is not known.
	Version Digest
}

// fold returns the fold of the target chunk at an index, given the versions of source
// chunks.
func (j *Job) fold(p part, at []int64, listed *Table, version func(source []int64) Digest) Fold {
	// The place of the chunk is part of the fold, because an index may mean other
	// elements once the grid is computed again.
	var room [256]byte
	data, found := room[:0], false
	for i, k := range at {
		is, _ := j.axes[i].target.Cell(k)
		data = binary.AppendVarint(data, is.Start)
		data = binary.AppendVarint(data, is.Logical)
		data = binary.AppendVarint(data, is.Encoded)
		data = j.axes[i].appendMoved(data, is)
		if j.cuts != nil {
			data = appendCuts(data, j.cuts.Axis(i), is)
		}
		if p.cell(i, at).given {
			data, found = binary.LittleEndian.AppendUint64(data, uint64(j.given.Digest)), true
		}
	}
	for source := range j.sources(p, at, listed) {
		v := version(source)
		if v == 0 {
			continue
		}
		found = true
		for _, k := range source {
			data = binary.AppendVarint(data, k)
		}
		data = binary.LittleEndian.AppendUint64(data, uint64(v))
	}
	// A chunk without sources is not staged, unless the target has another fill value.
	if !found && !j.fills {
		return Fold{}
	}
	sum := sha256.Sum256(data)
	return Fold(sum[:16])
}

// appendCuts appends the lengths of the pieces into which the cells of an axis cut a
// block.
func appendCuts(data []byte, cuts grid.Axis, block grid.Cell) []byte {
	stop := block.Start + block.Logical
	k, _, ok := cuts.Locate(block.Start)
	for at := block.Start; ok && at < stop; k++ {
		c, more := cuts.Cell(k)
		if !more || c.Logical == 0 {
			break
		}
		next := min(stop, c.Start+c.Logical)
		data, at = binary.AppendVarint(data, next-at), next
	}
	return data
}

// recordsMagic begins the encoded records.
const recordsMagic = "varve staging 1\n"

// How a record says what is stored.
const (
	kindAbsent byte = iota
	kindUnversioned
	kindVersioned
)

// AppendRecords appends the encoded form of records to dst.
func AppendRecords(dst []byte, records []Record) []byte {
	dst = append(dst, recordsMagic...)
	for _, r := range records {
		kind := kindAbsent
		if r.Stored {
			kind = kindUnversioned
			if r.Version != 0 {
				kind = kindVersioned
			}
		}
		dst = append(dst, kind)
		for _, k := range r.Index {
			dst = binary.AppendUvarint(dst, uint64(k))
		}
		dst = append(dst, r.Fold[:]...)
		if kind == kindVersioned {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(r.Version))
		}
	}
	return dst
}

// errRecords is the error of damaged records. The caller may ignore them and stage the
// chunks again.
var errRecords = errors.New("staging: the records of staged chunks are damaged")

// ParseRecords parses what [AppendRecords] has encoded, for an array of the given rank.
func ParseRecords(data []byte, rank int) ([]Record, error) {
	data, ok := bytes.CutPrefix(data, []byte(recordsMagic))
	if !ok {
		return nil, errRecords
	}
	var records []Record
	index := make([]int64, rank)
	for len(data) > 0 {
		kind := data[0]
		data = data[1:]
		r := Record{Stored: kind != kindAbsent}
		for i := range index {
			k, n := binary.Uvarint(data)
			if n <= 0 || int64(k) < 0 {
				return nil, errRecords
			}
			index[i], data = int64(k), data[n:]
		}
		if kind > kindVersioned || len(data) < len(r.Fold) {
			return nil, errRecords
		}
		data = data[copy(r.Fold[:], data):]
		if kind == kindVersioned {
			if len(data) < 8 {
				return nil, errRecords
			}
			r.Version, data = Digest(binary.LittleEndian.Uint64(data)), data[8:]
		}
		r.Index = slices.Clone(index)
		records = append(records, r)
	}
	return records, nil
}

// Records is the memory of staged chunks, by their numbers in one target.
type Records struct {
	cells []int64
	list  []numberedRecord
}

type numberedRecord struct {
	number  int64
	fold    Fold
	stored  bool
	version Digest
}

// Records returns a memory of records. It drops those that are not about a chunk of the
// target.
//
// Several may be about one chunk: from before and after a change of its sources, or from
// two processes whose clocks differ, so their order says little. A record that names the
// version of the staged value tells what that was made from, whatever came later, so any
// of them may be the valid one. Of records without a version, only the last one counts.
func (j *Job) Records(records []Record) *Records {
	r := &Records{cells: j.Target.Grid.Cells()}
	chunks := grid.BoxOf(j.Target.Grid.Chunks())
	for _, rec := range records {
		if chunks.Contains(rec.Index) {
			r.list = append(r.list, numberedRecord{numberIn(r.cells, rec.Index), rec.Fold, rec.Stored, rec.Version})
		}
	}
	sort.SliceStable(r.list, func(i, j int) bool { return r.list[i].number < r.list[j].number })
	return r
}

// Recorded returns a table of the target chunks as records say that they were stored, for
// callers that need not ask the store.
func (j *Job) Recorded(records []Record) *Table {
	t, last := &Table{cells: j.Target.Grid.Cells()}, map[int64]Record{}
	chunks := grid.BoxOf(j.Target.Grid.Chunks())
	for _, rec := range records {
		if chunks.Contains(rec.Index) {
			last[numberIn(t.cells, rec.Index)] = rec
		}
	}
	for n, rec := range last {
		if rec.Stored {
			t.entries = append(t.entries, entry{n, rec.Version, -1})
		}
	}
	slices.SortFunc(t.entries, func(a, b entry) int { return cmp.Compare(a.number, b.number) })
	return t
}

// ofChunk returns the records about a chunk, oldest first.
func (r *Records) ofChunk(number int64) []numberedRecord {
	byNumber := func(n numberedRecord, k int64) int { return cmp.Compare(n.number, k) }
	from, _ := slices.BinarySearchFunc(r.list, number, byNumber)
	to, _ := slices.BinarySearchFunc(r.list[from:], number+1, byNumber)
	return r.list[from : from+to]
}

// matching yields the records that may be about the value that is stored now, or about
// its absence.
func (r *Records) matching(number int64, is *entry) func(yield func(numberedRecord) bool) {
	return func(yield func(numberedRecord) bool) {
		all := r.ofChunk(number)
		for i, n := range all {
			switch {
			case n.stored != (is != nil):
				continue // another program has changed or deleted it
			case n.stored && n.version == 0 && i+1 < len(all):
				continue // a later one is about another value
			case n.stored && n.version != 0 && n.version != is.digest:
				continue
			}
			if !yield(n) {
				return
			}
		}
	}
}

// Wanted returns the numbers of the target chunks that take elements from stored chunks
// of the source, in C order.
func (j *Job) Wanted(sources *Table) ([]int64, error) {
	cells := j.Target.Grid.Cells()
	if _, ok := checked.Product(cells...); !ok {
		return nil, fmt.Errorf("%w: %v chunks", grid.ErrOverflow, cells)
	}
	var numbers []int64
	add := func(box grid.Box) bool {
		for at := range box.IndicesInto(make([]int64, len(box))) {
			if n := numberIn(cells, at); len(numbers) == 0 || numbers[len(numbers)-1] != n {
				numbers = append(numbers, n)
			}
		}
		return true
	}
	// With another fill value, missing chunks of the source are stored in the target.
	if j.fills {
		all := grid.BoxOf(j.Target.Grid.Chunks())
		if n, ok := all.Len(); !ok || n > mostFilled {
			return nil, fmt.Errorf("%w: another fill value would store all of the %v chunks, at most %d", codec.ErrLimit, all.Shape(), int64(mostFilled))
		}
		add(all)
		return numbers, nil
	}
	if err := j.wantGiven(add); err != nil {
		return nil, err
	}
	for source := range sources.All() {
		for box := range j.targetBoxes(source) {
			if n, ok := box.Len(); !ok || n > mostFilled {
				return nil, fmt.Errorf("%w: chunk %v of the source has elements of more than %s of the new grid", codec.ErrLimit, source, quantity.Count(int64(mostFilled), "chunks"))
			} else if int64(len(numbers)) > mostWanted-n {
				return nil, fmt.Errorf("%w: more than %s of the new grid, of %v", codec.ErrLimit, quantity.Count(int64(mostWanted), "chunks"), cells)
			}
			add(box)
		}
		// Many small source chunks have the same targets, but not one after the other
		// in C order. Compact the list before it grows: it may be much longer than the
		// result.
		if len(numbers) > 1<<20 && len(numbers) == cap(numbers) {
			slices.Sort(numbers)
			numbers = slices.Compact(numbers)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// mostWanted bounds the chunks of a target that are staged. Their numbers take 8 bytes
// each.
const mostWanted = 1 << 28

// mostFilled bounds the chunks of a target with another fill value.
const mostFilled = 1 << 24

// Stale returns the indices of the target chunks that must be staged: those that were
// not staged yet, and those whose sources have changed since. sources and targets list
// what is stored now.
func (j *Job) Stale(wanted []int64, sources, targets *Table, records *Records) (list [][]int64, err error) {
	cells, index := j.Target.Grid.Cells(), make([]int64, j.Target.Grid.Rank())
	for _, n := range wanted {
		indexIn(cells, index, n)
		valid, err := j.valid(index, n, sources, targets, records)
		if err != nil {
			return nil, err
		}
		if !valid {
			list = append(list, slices.Clone(index))
		}
	}
	return list, nil
}

// valid reports whether a target chunk is staged.
func (j *Job) valid(index []int64, n int64, sources, targets *Table, records *Records) (bool, error) {
	var fold Fold
	known := false
	// Compute the fold only if a record may match: it takes the versions of all sources.
	for r := range records.matching(n, targets.find(index)) {
		if !known {
			box := make(grid.Box, len(index))
			for i, k := range index {
				box[i] = grid.Interval{Start: k, Stop: k + 1}
			}
			p, err := j.partWithoutUnits(box)
			if err != nil {
				return false, err
			}
			fold, known = j.fold(p, index, sources, sources.Digest), true
		}
		if r.fold == fold {
			return true, nil
		}
	}
	return false, nil
}

// Surplus yields the indices of target chunks that are stored and must not be: nothing of
// the source belongs there. The next iteration overwrites the index.
func (j *Job) Surplus(wanted []int64, targets *Table) func(yield func([]int64) bool) {
	return func(yield func([]int64) bool) {
		index := make([]int64, len(targets.cells))
		for _, e := range targets.entries {
			if _, ok := slices.BinarySearch(wanted, e.number); ok {
				continue
			}
			if indexIn(targets.cells, index, e.number); !yield(index) {
				return
			}
		}
	}
}
